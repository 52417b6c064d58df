//! Which threads wait for their OpenMP team awake.
//!
//! OpenMP's libraries let a thread look again and again, for some milliseconds, before it falls asleep, as long as they have a CPU
//! for each of their threads. A recording on one CPU shows nothing of that: there, they are told to sleep.
//!
//! # Source
//!
//! GCC's libgomp, `env.c`: 3 ms are meant, next to nothing where there are more threads than CPUs. LLVM's spins for 200 ms.

use std::collections::BTreeMap;

use foretrace_program::{Action, Program};
use foretrace_trace::{ObjectId, ProcessId};

use crate::Machine;

/// How a thread waits that stays awake, in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AwakeWait {
    /// For how long it does.
    pub limit: u64,
    /// The CPU time in which it goes on when what it waits for is there.
    pub latency: u64,
}

/// The objects at which threads wait awake, and how.
pub(crate) struct Teams {
    wait: AwakeWait,
    /// Of each object, whether those that wait for it stay awake; empty where nobody does.
    awake: Vec<bool>,
}

impl Teams {
    pub fn new(program: &Program, machine: &Machine) -> Self {
        let wait = AwakeWait {
            limit: machine.costs.team_spin.0,
            latency: machine.costs.team_latency.0,
        };
        let nobody = Self {
            wait,
            awake: Vec::new(),
        };
        if wait.limit == 0 || machine.cpus == 1 {
            return nobody;
        }
        let threads = threads_of_teams(program);
        let objects = program.objects.iter();
        let awake: Vec<bool> = objects
            .map(|object| {
                object.is_of_spinning_team()
                    && threads
                        .get(&object.process)
                        .is_some_and(|&threads| threads <= machine.cpus)
            })
            .collect();
        if awake.contains(&true) {
            Self { wait, awake }
        } else {
            nobody
        }
    }

    /// Returns whether any of them wait awake.
    #[inline]
    pub fn wait_awake(&self) -> bool {
        !self.awake.is_empty()
    }

    /// Returns whether threads wait awake at an object.
    pub fn waits_awake_at(&self, object: ObjectId) -> bool {
        self.awake.get(object.index()).is_some_and(|&awake| awake)
    }

    /// Returns how a thread waits awake in an operation of its team's; nothing of others.
    pub fn awake_wait(&self, action: Action) -> Option<AwakeWait> {
        match action {
            Action::TakeToken(object) | Action::Barrier(object) | Action::AwaitWake(object) => {
                self.waits_awake_at(object).then_some(self.wait)
            }
            _ => None,
        }
    }
}

/// Returns how many threads each process has in teams: of each team the largest that it was, its master counted once.
fn threads_of_teams(program: &Program) -> BTreeMap<ProcessId, u32> {
    let mut sizes: BTreeMap<(ProcessId, u64), u32> = BTreeMap::new();
    for object in &program.objects {
        if let Some((team, size)) = object.team() {
            let most = sizes.entry((object.process, team)).or_default();
            *most = size.max(*most);
        }
    }
    let mut threads = BTreeMap::new();
    for ((process, _), size) in sizes {
        *threads.entry(process).or_insert(1) += size - 1;
    }
    threads
}
