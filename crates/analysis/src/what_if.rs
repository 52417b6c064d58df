//! What a change of a program would be worth: the program with the change, on the same machine.

use std::{borrow::Cow, collections::BTreeSet};

use foretrace_network::Ease;
use foretrace_program::{Action, Program};
use foretrace_schedule::{Schedule, SimTime, WaitKind};
use foretrace_sim::{Costs, Machine};
use foretrace_trace::ObjectId;

use crate::{
    path_shares::{OnPath, PathShare},
    predicted_waits::PredictedWait,
    spots::{Spots, Stretch, Walk},
};

/// As many stretches of code, and as many locks, are worth a try.
const MOST: usize = 8;

/// What takes one part in so many of the run is.
const LEAST: u64 = 100;

/// A change of a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// This code takes half the time, whoever runs it.
    TwiceAsFast(Stretch),
    /// Nobody waits for another at these locks: there is one for each thing that they protect. They are waited for by the same calls.
    FinerLocks(Vec<ObjectId>),
    /// Letting threads go on, and taking CPUs from them, costs nothing: they do more in between.
    FewerHandovers,
    /// Memory is kept, and used again, where it was given back while other threads ran.
    KeptMemory,
    /// Input and output take no time, or others have work meanwhile.
    NoIo,
    /// All ranks have as much work as they have in the mean.
    EvenWork,
    /// The network that ranks pass messages over is better in some way.
    Network(Ease),
}

/// Returns the changes that may be worth something, by what a prediction's critical path goes through and where its threads wait.
pub fn worth_a_try(
    schedule: &Schedule,
    path: &[PathShare],
    waits: &[PredictedWait],
) -> Vec<Change> {
    let is_much = |time: SimTime| is_much(schedule, time);
    let locks = lock_classes(waits).into_iter();
    let locks = locks.filter(|(_, wait)| is_much(*wait)).take(MOST);
    let locks = locks.map(|(locks, _)| Change::FinerLocks(locks));
    let always = [Change::FewerHandovers, Change::KeptMemory, Change::NoIo];
    let code = faster_code(schedule, path);
    code.chain(locks).chain(always).collect()
}

fn is_much(schedule: &Schedule, time: SimTime) -> bool {
    time.0 >= (schedule.end.0 / LEAST).max(1)
}

/// Returns the code that takes most of the path, as changes.
pub(crate) fn faster_code(schedule: &Schedule, path: &[PathShare]) -> impl Iterator<Item = Change> {
    let code = path.iter().filter_map(|share| match share.what {
        OnPath::Code(stretch) if is_much(schedule, share.time) => {
            Some(Change::TwiceAsFast(stretch))
        }
        _ => None,
    });
    code.take(MOST)
}

/// Returns the locks that threads wait for, together those that the same calls wait for, and how long; those waited for longest first.
fn lock_classes(waits: &[PredictedWait]) -> Vec<(Vec<ObjectId>, SimTime)> {
    let mut classes: Vec<(BTreeSet<u32>, SimTime)> = Vec::new();
    for wait in waits {
        if !matches!(wait.kind, WaitKind::Lock | WaitKind::Rwlock) {
            continue;
        }
        let mut class: BTreeSet<u32> = wait.objects.iter().copied().collect();
        let mut total = wait.total;
        classes.retain(|(other, waited)| {
            let is_other = other.is_disjoint(&class);
            if !is_other {
                class.extend(other);
                total = total + *waited;
            }
            is_other
        });
        classes.push((class, total));
    }
    // Stable, so that equals stay in their order.
    classes.sort_by_key(|(_, wait)| std::cmp::Reverse(*wait));
    let classes = classes.into_iter();
    classes
        .map(|(class, wait)| (class.into_iter().map(ObjectId).collect(), wait))
        .collect()
}

impl Change {
    /// Returns the program and the machine as they would be; `None` where nothing would be otherwise, or where a replay cannot tell.
    pub fn apply<'p>(
        &self,
        spots: &Spots<'_>,
        program: &'p Program,
        machine: &Machine,
    ) -> Option<(Cow<'p, Program>, Machine)> {
        let mut machine = machine.clone();
        let program = match self {
            Self::TwiceAsFast(stretch) => Cow::Owned(twice_as_fast(spots, program, *stretch)),
            Self::FinerLocks(locks) => Cow::Owned(program.without_locks(locks)?),
            Self::FewerHandovers => {
                let free = Costs {
                    remap_cost: machine.costs.remap_cost,
                    ..Costs::NONE
                };
                if machine.costs == free {
                    return None;
                }
                machine.costs = free;
                Cow::Borrowed(program)
            }
            Self::KeptMemory => {
                let takes = std::mem::take(&mut machine.costs.remap_cost);
                let any = program.processes.iter().any(|one| one.remaps > 0);
                if takes == SimTime::ZERO || !any {
                    return None;
                }
                Cow::Borrowed(program)
            }
            Self::NoIo => {
                let mut program = program.clone();
                let io = program.delays.iter_mut().filter(|delay| delay.is_io);
                let waits = io.map(|delay| std::mem::take(&mut delay.nanos));
                if waits.sum::<u64>() == 0 {
                    return None;
                }
                Cow::Owned(program)
            }
            // Of ranks.
            Self::EvenWork | Self::Network(_) => return None,
        };
        Some((program, machine))
    }
}

fn twice_as_fast(spots: &Spots<'_>, program: &Program, stretch: Stretch) -> Program {
    let mut is_in = vec![false; program.operations.len()];
    for thread in &program.threads {
        let mut walk = Walk::new(spots);
        for position in thread.operations.clone() {
            let code = walk.go_to(program.operations.event(position));
            // Looking at memory, and falling asleep, is no code that could be made faster.
            let waits = matches!(
                program.operations.action(position),
                Action::Poll(_) | Action::Linger | Action::Rouse(_)
            );
            is_in[position as usize] = code == Some(stretch) && !waits;
        }
    }
    program.with_work(|position, work| {
        if is_in[position as usize] {
            work / 2
        } else {
            work
        }
    })
}

#[cfg(test)]
mod tests {
    use foretrace_sim::ModelKind;

    use super::*;
    use crate::{
        sample::{course, replayed},
        spots::Spot,
    };

    const TEXT: &str = "process A\nprocess B\n0 A create B\n1 A lock m\n5 A unlock m\n7 B lock m\n11 B unlock m\n13 B terminate\n\
                        13 A join B\n14 A terminate\n";

    fn makespan(change: Option<Change>) -> u64 {
        let (trace, program, machine) = replayed(TEXT, 2);
        let run = |program: &Program, machine: &Machine| {
            foretrace_sim::run(program, machine, ModelKind::Direct)
                .end
                .as_nanos()
        };
        let Some(change) = change else {
            return run(&program, &machine);
        };
        let (program, machine) = change
            .apply(&Spots::of(&trace), &program, &machine)
            .unwrap();
        run(&program, &machine)
    }

    #[test]
    fn changes_are_worth_what_a_replay_of_the_changed_program_says() {
        let lock = Spot::Call("lock", Some(ObjectId(0)));
        let unlock = Spot::Call("unlock", Some(ObjectId(0)));
        let section = Stretch {
            from: lock,
            to: unlock,
        };
        assert_eq!(makespan(None), 12);
        assert_eq!(makespan(Some(Change::TwiceAsFast(section))), 8);
        assert_eq!(makespan(Some(Change::FinerLocks(vec![ObjectId(0)]))), 9);
    }

    #[test]
    fn what_takes_time_is_worth_a_try() {
        let (trace, program, machine) = replayed(TEXT, 2);
        let course = course(&program, &machine);
        let spots = Spots::of(&trace);
        let path = crate::path_shares(&spots, &course.schedule, &course.marks);
        let waits = crate::predicted_waits(&spots, &course.schedule, &course.marks);
        let changes = worth_a_try(&course.schedule, &path, &waits);
        assert!(matches!(changes[0], Change::TwiceAsFast(_)));
        assert!(changes.contains(&Change::FinerLocks(vec![ObjectId(0)])));
    }

    #[test]
    fn locks_that_the_same_calls_wait_for_go_together() {
        let wait = |objects: &[u32], micros| PredictedWait {
            spot: None,
            kind: WaitKind::Lock,
            objects: objects.to_vec(),
            lanes: BTreeSet::new(),
            times: 1,
            total: SimTime(micros),
            longest: crate::Within {
                lane: 0,
                start: SimTime::ZERO,
                end: SimTime(micros),
            },
            ended_by: None,
        };
        let classes = lock_classes(&[
            wait(&[1, 2], 5),
            wait(&[4], 7),
            wait(&[3], 1),
            wait(&[2, 3], 2),
        ]);
        let locks = |of: &[u32]| of.iter().copied().map(ObjectId).collect::<Vec<_>>();
        assert_eq!(
            classes,
            [(locks(&[1, 2, 3]), SimTime(8)), (locks(&[4]), SimTime(7))]
        );
    }

    #[test]
    fn what_is_not_there_cannot_be_changed() {
        let (trace, program, machine) = replayed(TEXT, 2);
        for change in [Change::FewerHandovers, Change::NoIo] {
            assert!(
                change
                    .apply(&Spots::of(&trace), &program, &machine)
                    .is_none()
            );
        }
    }
}
