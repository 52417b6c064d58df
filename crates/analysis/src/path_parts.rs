//! What the critical path is spent on: running, and waits that nobody could have ended sooner.

use std::collections::BTreeMap;

use foretrace_schedule::{Activity, Schedule, SimTime, WaitKind};

use crate::PathStep;

/// What is done in a step of the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathPart {
    /// Something runs.
    Running,
    /// A thread could run, and waits for a CPU, or for one to wake up.
    NoCpu,
    /// A wait that no other thread ends: for time to pass, for input or output, for what takes time to be handed over.
    Wait(WaitKind),
    /// A message is on its way.
    Message,
}

impl PathPart {
    /// Returns what is done in a step of a schedule's critical path.
    pub fn of(schedule: &Schedule, step: &PathStep) -> Self {
        let is_message = |wake: usize| schedule.wakes[wake].is_message();
        match step.activity {
            Activity::Running => Self::Running,
            Activity::Ready => Self::NoCpu,
            Activity::Blocked(_) if step.via.is_some_and(is_message) => Self::Message,
            Activity::Blocked(kind) => Self::Wait(kind),
        }
    }

    /// Says what it is; ranks wait for other things than threads do.
    pub fn name(self, of_ranks: bool) -> String {
        match self {
            Self::Running => "runs".to_owned(),
            Self::NoCpu => "waits for a CPU".to_owned(),
            Self::Wait(kind) if of_ranks => format!("waits for {}", awaited_by_rank(kind)),
            Self::Wait(kind) => format!("waits: {}", kind.name()),
            Self::Message => "message".to_owned(),
        }
    }
}

/// Returns what a rank waits for.
pub fn awaited_by_rank(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Send => "the receiver",
        WaitKind::Barrier => "others",
        WaitKind::Timeout => "time to pass",
        _ => "a message",
    }
}

/// Returns how long a critical path is spent on what, the most first.
pub fn path_parts(schedule: &Schedule, path: &[PathStep]) -> Vec<(PathPart, SimTime)> {
    let mut parts: BTreeMap<PathPart, SimTime> = BTreeMap::new();
    for step in path {
        let part = parts.entry(PathPart::of(schedule, step)).or_default();
        *part = *part + step.end.since(step.start);
    }
    let mut parts: Vec<_> = parts.into_iter().collect();
    parts.retain(|(_, time)| *time > SimTime::ZERO);
    // Stable, so that equals stay in the order of the parts.
    parts.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        OnPath, critical_path, path_shares,
        sample::{course, replayed},
        spots::Spots,
    };

    #[test]
    fn the_parts_are_the_shares_of_the_path_added_up() {
        let text = "process A\nprocess B\n0 A create B\n1 A lock m\n5 A unlock m\n7 B lock m\n11 B unlock m\n13 B terminate\n\
                    13 A join B\n14 A terminate\n";
        for cpus in [1, 2] {
            let (trace, program, machine) = replayed(text, cpus);
            let course = course(&program, &machine);
            let parts = path_parts(&course.schedule, &critical_path(&course.schedule));
            let shares = path_shares(&Spots::of(&trace), &course.schedule, &course.marks);
            let share = |is: &dyn Fn(&OnPath) -> bool| {
                let of = shares.iter().filter(|share| is(&share.what));
                of.fold(SimTime::ZERO, |sum, share| sum + share.time)
            };
            let part = |wanted: PathPart| {
                let mut parts = parts.iter();
                let found = parts.find(|(part, _)| *part == wanted);
                found.map_or(SimTime::ZERO, |(_, time)| *time)
            };
            let runs = |what: &OnPath| matches!(what, OnPath::Code(_) | OnPath::Call(_));
            assert_eq!(part(PathPart::Running), share(&runs));
            assert_eq!(part(PathPart::NoCpu), share(&|what| *what == OnPath::NoCpu));
            assert_eq!(part(PathPart::NoCpu) > SimTime::ZERO, cpus == 1);
            assert_eq!(parts[0].0, PathPart::Running);
        }
    }

    #[test]
    fn waits_are_named_for_threads_and_for_ranks() {
        let lock = PathPart::Wait(WaitKind::Lock);
        assert_eq!(lock.name(false), "waits: lock");
        let send = PathPart::Wait(WaitKind::Send);
        assert_eq!(send.name(true), "waits for the receiver");
    }
}
