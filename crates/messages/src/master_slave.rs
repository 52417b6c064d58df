//! Master and slaves, found in a program: who receives from anybody and then sends to whom it got something from deals
//! tasks. Which slave did which is an accident of the recording; how long each task took is not.

use foretrace_schedule::SimTime;

use crate::{ANY, Kind, Operation, Program};

/// Tasks that a master deals to slaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dealt {
    /// The master's rank.
    pub master: u32,
    /// The number of slaves.
    pub slaves: u32,
    /// How long each task takes its slave, in the order in which they were dealt.
    pub tasks: Vec<SimTime>,
    /// The size of a task's message, and of a result's: the mean.
    pub task_bytes: u64,
    /// The size of a result's message: the mean.
    pub result_bytes: u64,
    /// The master's own work for each result: the mean.
    pub master_work: SimTime,
}

/// Why no master and slaves were found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoFarm {
    /// Nobody receives from anybody.
    #[error(
        "no rank receives from any source, as a master does that deals tasks to whoever is free"
    )]
    NoMaster,
    /// Several do.
    #[error("ranks {0} and {1} both receive from any source; a farm has one master")]
    SeveralMasters(u32, u32),
    /// A slave does something else than receiving tasks, working and sending results.
    #[error(
        "rank {rank} does {call} with rank {peer}, where a slave receives tasks from rank {master} and sends it results"
    )]
    NoSlave {
        /// The rank.
        rank: u32,
        /// Its call.
        call: &'static str,
        /// With whom.
        peer: u32,
        /// The master.
        master: u32,
    },
    /// There are no tasks.
    #[error("rank {0} receives from any source, but no rank answers its messages")]
    NoTasks(u32),
}

/// Finds a master and its slaves.
///
/// # Errors
///
/// Where the program is nothing of the kind: why.
pub fn dealt(program: &Program) -> Result<Dealt, NoFarm> {
    let is_open = |op: &Operation| op.kind == Kind::Receive && op.peer == ANY;
    let mut masters =
        (0..program.ranks()).filter(|rank| program.of_rank(*rank).any(|op| is_open(&op)));
    let master = masters.next().ok_or(NoFarm::NoMaster)?;
    if let Some(other) = masters.next() {
        return Err(NoFarm::SeveralMasters(master, other));
    }
    let mut tasks: Vec<Vec<Task>> = Vec::new();
    for rank in 0..program.ranks() {
        tasks.push(if rank == master {
            Vec::new()
        } else {
            tasks_of(program, rank, master)?
        });
    }
    let slaves = tasks.iter().filter(|own| !own.is_empty()).count() as u32;
    // The k-th message to a slave is its k-th task.
    let mut next = vec![0; tasks.len()];
    let mut order = Vec::new();
    for op in program.of_rank(master).filter(|op| op.kind == Kind::Send) {
        let place = &mut next[op.peer as usize];
        if let Some(task) = tasks[op.peer as usize].get(*place) {
            order.push(*task);
        }
        *place += 1;
    }
    let count = order.len() as u64;
    if count == 0 {
        return Err(NoFarm::NoTasks(master));
    }
    let mean = |bytes: fn(&Task) -> u64| order.iter().map(bytes).sum::<u64>().div_ceil(count);
    let takes_time = |op: &Operation| matches!(op.kind, Kind::Work | Kind::Pause);
    let own = program.of_rank(master).filter(takes_time);
    Ok(Dealt {
        master,
        slaves,
        task_bytes: mean(|task| task.bytes),
        result_bytes: mean(|task| task.result_bytes),
        master_work: SimTime(own.map(|op| op.value).sum::<u64>() / count),
        tasks: order.iter().map(|task| task.work).collect(),
    })
}

#[derive(Clone, Copy)]
struct Task {
    work: SimTime,
    bytes: u64,
    result_bytes: u64,
}

/// Returns the tasks of a slave; a message that it does not answer (the last, that there is no more) is none.
fn tasks_of(program: &Program, rank: u32, master: u32) -> Result<Vec<Task>, NoFarm> {
    let mut tasks = Vec::new();
    let mut open: Option<Task> = None;
    for op in program.of_rank(rank) {
        match op.kind {
            // Many a program sleeps where another would work.
            Kind::Work | Kind::Pause => {
                if let Some(task) = &mut open {
                    task.work.0 += op.value;
                }
            }
            Kind::Receive if op.peer == master => {
                open = Some(Task {
                    work: SimTime::ZERO,
                    bytes: op.value,
                    result_bytes: 0,
                });
            }
            Kind::Send if op.peer == master => {
                if let Some(task) = open.take() {
                    tasks.push(Task {
                        result_bytes: op.value,
                        ..task
                    });
                }
            }
            Kind::Send | Kind::Receive | Kind::Alone => {
                return Err(NoFarm::NoSlave {
                    rank,
                    call: op.name(),
                    peer: op.peer,
                    master,
                });
            }
            Kind::Wait | Kind::Probe | Kind::Collective => {}
        }
    }
    Ok(tasks)
}
