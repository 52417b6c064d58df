//! What holds for every schedule.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use crate::{Lane, Schedule, Segment, SimTime, State};

/// How a schedule contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// A lane names a process that is not there.
    #[error("lane {lane} names process {process} of {processes}")]
    Process {
        /// The lane's position.
        lane: usize,
        /// The process that it names.
        process: u32,
        /// How many there are.
        processes: usize,
    },
    /// A segment names an object that is not there.
    #[error("segment {segment} of lane {lane} names object {object} of {objects}")]
    Object {
        /// The lane's position.
        lane: usize,
        /// The segment's position in the lane.
        segment: usize,
        /// The object that it names.
        object: u32,
        /// How many there are.
        objects: usize,
    },
    /// A thread runs on a CPU that is not there.
    #[error("segment {segment} of lane {lane} runs on CPU {cpu} of {cpus}")]
    Cpu {
        /// The lane's position.
        lane: usize,
        /// The segment's position in the lane.
        segment: usize,
        /// The CPU that it names.
        cpu: u32,
        /// How many there are.
        cpus: u32,
    },
    /// A segment ends when or before it begins.
    #[error("segment {segment} of lane {lane} is empty at {at}")]
    Empty {
        /// The lane's position.
        lane: usize,
        /// The segment's position in the lane.
        segment: usize,
        /// When it begins.
        at: SimTime,
    },
    /// A segment does not begin where the one before it ended.
    #[error(
        "segment {segment} of lane {lane} begins at {found}, the one before it ends at {expected}"
    )]
    Gap {
        /// The lane's position.
        lane: usize,
        /// The segment's position in the lane.
        segment: usize,
        /// When the one before it ends.
        expected: SimTime,
        /// When it begins.
        found: SimTime,
    },
    /// A segment and the one before it should have been one.
    #[error("segment {segment} of lane {lane} repeats the one before it")]
    Repeated {
        /// The lane's position.
        lane: usize,
        /// The segment's position in the lane.
        segment: usize,
    },
    /// A lane's segments end at another time than its thread.
    #[error("the segments of lane {lane} end at {found}, its thread at {expected}")]
    End {
        /// The lane's position.
        lane: usize,
        /// When its thread ends, or the schedule where the thread does not.
        expected: SimTime,
        /// When its last segment ends.
        found: SimTime,
    },
    /// Something happens after the schedule's end.
    #[error("lane {lane} goes on until {found}, after the schedule's end at {end}")]
    AfterEnd {
        /// The lane's position.
        lane: usize,
        /// The schedule's end.
        end: SimTime,
        /// The time found.
        found: SimTime,
    },
    /// Two threads run on one CPU at once.
    #[error("lanes {first} and {second} both run on CPU {cpu} at {at}")]
    SharedCpu {
        /// The CPU.
        cpu: u32,
        /// The lane that ran on it first.
        first: usize,
        /// The lane that began to run on it before the first one was done.
        second: usize,
        /// When it did.
        at: SimTime,
    },
    /// A wake names a lane that is not there.
    #[error("wake {wake} names lane {lane} of {lanes}")]
    WakeLane {
        /// The wake's position.
        wake: usize,
        /// The lane that it names.
        lane: u32,
        /// How many there are.
        lanes: usize,
    },
    /// A wake is older than the one before it, later than the schedule's end, or was sent before its begin.
    #[error("wake {wake} is out of order at {at}")]
    WakeOrder {
        /// The wake's position.
        wake: usize,
        /// When it is.
        at: SimTime,
    },
    /// A lane's operations are out of order, or of events or a lane that are not there.
    #[error("the operations of lane {lane} are out of order, or name what is not there")]
    Marks {
        /// The lane's position.
        lane: usize,
    },
    /// An event names something that is not there.
    #[error("event {event} names what is not there")]
    Event {
        /// The event's position.
        event: usize,
    },
}

impl Schedule {
    /// Checks what every schedule promises: lanes without gaps, empty or repeated segments, up to their threads' ends;
    /// no two threads on one CPU at once; wakes in order; and no position that points nowhere.
    ///
    /// Takes time linear in the segments, times the logarithm of the lanes.
    ///
    /// # Errors
    ///
    /// The first contradiction found.
    pub fn check(&self) -> Result<(), Contradiction> {
        for (position, lane) in self.lanes.iter().enumerate() {
            self.check_lane(position, lane)?;
        }
        self.check_cpus()?;
        self.check_wakes()
    }

    /// Checks one lane by itself.
    fn check_lane(&self, position: usize, lane: &Lane) -> Result<(), Contradiction> {
        if lane.process as usize >= self.processes.len() {
            return Err(Contradiction::Process {
                lane: position,
                process: lane.process,
                processes: self.processes.len(),
            });
        }
        for index in 0..lane.segments.len() {
            self.check_segment(position, lane, index)?;
        }
        let Some(found) = lane.segments.last().map(|s| s.end) else {
            return Ok(());
        };
        if found > self.end {
            return Err(Contradiction::AfterEnd {
                lane: position,
                end: self.end,
                found,
            });
        }
        let expected = lane.end.unwrap_or(self.end);
        if found != expected {
            return Err(Contradiction::End {
                lane: position,
                expected,
                found,
            });
        }
        Ok(())
    }

    /// Checks one segment, and that it fits the one before it.
    fn check_segment(&self, lane: usize, of: &Lane, segment: usize) -> Result<(), Contradiction> {
        let this = of.segments[segment];
        if this.start >= this.end {
            return Err(Contradiction::Empty {
                lane,
                segment,
                at: this.start,
            });
        }
        if let Some(object) = this.object.filter(|o| *o as usize >= self.objects.len()) {
            return Err(Contradiction::Object {
                lane,
                segment,
                object,
                objects: self.objects.len(),
            });
        }
        if let State::Running(cpu) = this.state
            && cpu >= self.cpus
        {
            return Err(Contradiction::Cpu {
                lane,
                segment,
                cpu,
                cpus: self.cpus,
            });
        }
        let Some(before) = segment.checked_sub(1).map(|i| of.segments[i]) else {
            return Ok(());
        };
        if before.end != this.start {
            return Err(Contradiction::Gap {
                lane,
                segment,
                expected: before.end,
                found: this.start,
            });
        }
        if (before.state, before.object) == (this.state, this.object) {
            return Err(Contradiction::Repeated { lane, segment });
        }
        Ok(())
    }

    /// Checks that no two lanes run on one CPU at once, walking all lanes together in order of time.
    fn check_cpus(&self) -> Result<(), Contradiction> {
        let mut next: BinaryHeap<Reverse<(SimTime, usize, usize)>> = self
            .lanes
            .iter()
            .enumerate()
            .filter_map(|(lane, of)| Some(Reverse((of.segments.first()?.start, lane, 0))))
            .collect();
        let mut taken: BTreeMap<u32, (SimTime, usize)> = BTreeMap::new();
        while let Some(Reverse((at, lane, index))) = next.pop() {
            let segments: &[Segment] = &self.lanes[lane].segments;
            if let Some(following) = segments.get(index + 1) {
                next.push(Reverse((following.start, lane, index + 1)));
            }
            let State::Running(cpu) = segments[index].state else {
                continue;
            };
            if let Some((until, first)) = taken.insert(cpu, (segments[index].end, lane))
                && until > at
            {
                return Err(Contradiction::SharedCpu {
                    cpu,
                    first,
                    second: lane,
                    at,
                });
            }
        }
        Ok(())
    }

    /// Checks that wakes name lanes and are in order.
    fn check_wakes(&self) -> Result<(), Contradiction> {
        let mut latest = SimTime::ZERO;
        for (index, wake) in self.wakes.iter().enumerate() {
            for lane in [wake.from, wake.to] {
                if lane as usize >= self.lanes.len() {
                    return Err(Contradiction::WakeLane {
                        wake: index,
                        lane,
                        lanes: self.lanes.len(),
                    });
                }
            }
            if wake.at < latest || wake.at > self.end || wake.delay > wake.at {
                return Err(Contradiction::WakeOrder {
                    wake: index,
                    at: wake.at,
                });
            }
            latest = wake.at;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::two_threads_and_a_lock;

    /// What `check` says after a change to the example.
    fn after(change: impl FnOnce(&mut Schedule)) -> Result<(), Contradiction> {
        let mut schedule = two_threads_and_a_lock();
        change(&mut schedule);
        schedule.check()
    }

    #[test]
    fn the_example_holds() {
        assert_eq!(after(|_| ()), Ok(()));
    }

    #[test]
    fn a_gap_an_empty_and_a_repeated_segment_are_found() {
        let gap = after(|s| s.lanes[1].segments[1].start = SimTime(5));
        assert!(matches!(
            gap,
            Err(Contradiction::Gap {
                lane: 1,
                segment: 1,
                ..
            })
        ));
        let empty = after(|s| s.lanes[0].segments[0].end = SimTime(0));
        assert!(matches!(
            empty,
            Err(Contradiction::Empty {
                lane: 0,
                segment: 0,
                ..
            })
        ));
        let repeated = after(|s| s.lanes[0].segments[1].state = State::Running(0));
        assert_eq!(
            repeated,
            Err(Contradiction::Repeated {
                lane: 0,
                segment: 1
            })
        );
    }

    #[test]
    fn two_threads_on_one_cpu_are_found() {
        let shared = after(|s| s.lanes[1].segments[0].state = State::Running(0));
        let expected = Contradiction::SharedCpu {
            cpu: 0,
            first: 0,
            second: 1,
            at: SimTime(1),
        };
        assert_eq!(shared, Err(expected));
    }

    #[test]
    fn positions_that_point_nowhere_are_found() {
        let process = after(|s| s.lanes[0].process = 1);
        assert!(matches!(
            process,
            Err(Contradiction::Process { process: 1, .. })
        ));
        let object = after(|s| s.lanes[1].segments[1].object = Some(9));
        assert!(matches!(
            object,
            Err(Contradiction::Object { object: 9, .. })
        ));
        let cpu = after(|s| s.cpus = 1);
        assert!(matches!(cpu, Err(Contradiction::Cpu { cpu: 1, .. })));
        let lane = after(|s| s.wakes[0].to = 2);
        assert!(matches!(lane, Err(Contradiction::WakeLane { lane: 2, .. })));
    }

    #[test]
    fn times_that_do_not_fit_the_ends_are_found() {
        let lane_end = after(|s| s.lanes[1].end = Some(SimTime(9)));
        assert!(matches!(lane_end, Err(Contradiction::End { lane: 1, .. })));
        let endless = after(|s| s.lanes[1].end = None);
        assert!(matches!(endless, Err(Contradiction::End { lane: 1, .. })));
        let late = after(|s| s.end = SimTime(10));
        assert!(matches!(late, Err(Contradiction::AfterEnd { lane: 0, .. })));
        let early = after(|s| s.wakes[0].delay = SimTime(7));
        assert!(matches!(
            early,
            Err(Contradiction::WakeOrder { wake: 0, .. })
        ));
        let order = after(|s| s.wakes.swap(0, 1));
        assert!(matches!(
            order,
            Err(Contradiction::WakeOrder { wake: 1, .. })
        ));
    }
}
