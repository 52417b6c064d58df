//! Ranks with several threads: what these do by themselves, without MPI.
//!
//! How far the threads of a rank get in some time depends on the CPUs that it has, which whoever replays threads knows; of the network
//! they know nothing, and ranks nothing of threads. So each rank's threads are replayed first, as if calls of MPI took no time, and the rank
//! then works between two calls for as long as its threads took. That is right where the threads wait while one of them is in MPI, as
//! with `MPI_THREAD_FUNNELED`; threads that work on meanwhile have done so before in the replay.

use foretrace_trace::{Event, Nanos, Trace};

use crate::{
    own_time::OwnTime,
    recorded::{NoRanks, owners},
};

/// When the threads of ranks that have several CPUs come to their events.
#[derive(Clone, Debug)]
pub struct Reached {
    /// The CPUs of a rank.
    pub cpus: u32,
    /// Of each event of the recording the time, in picoseconds, if calls of MPI take none; `None` for those of other ranks, and where it is
    /// not known.
    pub times: Vec<Option<u64>>,
}

/// The threads of a rank that has several.
#[derive(Clone, Debug)]
pub struct Team {
    /// What its threads did, without the CPU time that they used in MPI. Calls of MPI are still there.
    pub trace: Trace,
    /// The number that each of its events has in the whole recording.
    pub events: Vec<u32>,
}

/// Returns the ranks with several threads, one after the other.
///
/// # Errors
///
/// As [`recorded`](crate::recorded()).
pub fn teams(trace: &Trace) -> Result<impl Iterator<Item = Team>, NoRanks> {
    let (ranks, owners) = owners(trace)?;
    let mut threads = vec![0; ranks as usize];
    for rank in owners.iter().flatten() {
        threads[*rank as usize] += 1;
    }
    let mut own = OwnTime::new(trace, ranks);
    let mut cpu = vec![0; trace.threads.len()];
    let mut events: Vec<(Vec<Event>, Vec<u32>)> = vec![Default::default(); ranks as usize];
    for (number, event) in (0..).zip(&trace.events) {
        let call = trace.call(event);
        let thread = call.thread.index();
        let Some(rank) = owners[thread] else {
            continue;
        };
        cpu[thread] += own.used(trace, event, rank);
        if threads[rank as usize] > 1 {
            let (events, numbers) = &mut events[rank as usize];
            let mut event = *event;
            event.set_cpu(Some(Nanos(cpu[thread])));
            events.push(event);
            numbers.push(number);
        }
    }
    let events = events.into_iter();
    let teams = events.filter(|(events, _)| !events.is_empty());
    Ok(teams.map(|(events, numbers)| Team {
        trace: Trace {
            events,
            warnings: Vec::new(),
            ..trace.without_events()
        },
        events: numbers,
    }))
}
