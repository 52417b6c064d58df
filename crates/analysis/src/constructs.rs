//! What a program's source says where calls were recorded that stand for something else.

use std::collections::HashSet;

use foretrace_trace::{Call, ObjectId, ObjectKind, Operation as Op, Outcome, SiteId, Trace};

/// Which calls of a trace stand for OpenMP's constructs.
#[derive(Debug, Default)]
pub struct Constructs {
    /// By what and from where teams are called, as regions begin.
    regions: HashSet<(ObjectId, Option<SiteId>)>,
}

impl Constructs {
    /// Goes through a trace's calls.
    pub fn of(trace: &Trace) -> Self {
        let calls = trace.calls.iter();
        let called = calls.filter_map(|call| match call.operation {
            Op::SemPost(team) if trace.objects[team.index()].is_of_team() => {
                Some((team, call.site))
            }
            _ => None,
        });
        Self {
            regions: called.collect(),
        }
    }

    /// Returns the construct, or what of it, that a call of the trace stands for; `None` of one that is what it says.
    pub fn construct(&self, trace: &Trace, call: &Call) -> Option<&'static str> {
        let of_team = call.operation.object()?;
        let object = &trace.objects[of_team.index()];
        if !object.is_of_team() {
            return None;
        }
        // Whoever begins a region calls the others before it waits for them.
        let begins_region = || self.regions.contains(&(of_team, call.site));
        Some(match call.operation {
            Op::SemTimedWait(_) if !begins_region() => "taskwait",
            Op::SemTryWait(_) if call.outcome != Outcome::Success => "worksharing",
            Op::BarrierWait(_) => "barrier",
            Op::Unlock(_) | Op::SpinUnlock(_) => "end of ordered",
            _ if object.stands_for_tasks() => "task",
            _ if object.kind == ObjectKind::Semaphore => "parallel",
            _ => "ordered",
        })
    }

    /// Returns what users are told that a call of the trace was: the construct, or the operation, as in text traces.
    pub fn name(&self, trace: &Trace, call: &Call) -> &'static str {
        let construct = self.construct(trace, call);
        construct.unwrap_or_else(|| call.operation.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Sample, success};

    #[test]
    fn what_stands_for_openmp_s_constructs_is_named_as_these() {
        let mut sample = Sample::new();
        let mut object = |kind, size: u64| {
            let object = sample.object(kind);
            // An address that no program's objects have tells of which team it is.
            sample.trace.objects[object.index()].address = Some(size << 48 | 0x1000);
            object
        };
        let called = object(ObjectKind::Semaphore, 1);
        let barrier = object(ObjectKind::Barrier, 4);
        let tasks = object(ObjectKind::Doacross, 1);
        let ordered = object(ObjectKind::Mutex, 4);
        let own = sample.mutex();
        let [region, wait] = [sample.site(), sample.site()];
        let mut name = |(operation, outcome), site| {
            sample.event_at(site, 0, 0, (operation, outcome));
            let call = *sample.trace.calls.last().unwrap();
            Constructs::of(&sample.trace).name(&sample.trace, &call)
        };
        assert_eq!(name(success(Op::SemPost(called)), region), "parallel");
        assert_eq!(name(success(Op::SemTimedWait(called)), region), "parallel");
        assert_eq!(name(success(Op::SemWait(called)), region), "parallel");
        assert_eq!(name(success(Op::SemTimedWait(called)), wait), "taskwait");
        let piece = (Op::SemTryWait(called), Outcome::Busy);
        assert_eq!(name(piece, wait), "worksharing");
        assert_eq!(name(success(Op::BarrierWait(barrier)), region), "barrier");
        let task = Op::DoacrossPost {
            loops: tasks,
            iteration: 3,
        };
        assert_eq!(name(success(task), wait), "task");
        assert_eq!(name(success(Op::Lock(ordered)), wait), "ordered");
        assert_eq!(name(success(Op::Unlock(ordered)), wait), "end of ordered");
        assert_eq!(name(success(Op::Lock(own)), wait), "lock");
    }
}
