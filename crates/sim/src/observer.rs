//! Who watches a simulation: nobody, or the builder of a schedule.

use foretrace_schedule::{Lane, Segment, SimTime, State, Wake};

use crate::core::Core;

/// Sees every change of a thread's state. The engine is generic over it, so that watching costs nothing where nobody
/// watches.
pub(crate) trait Observer {
    /// A thread's state changes now. `object` is what it waits for, `event` the trace's event of its operation.
    fn state(&mut self, thread: u32, now: u64, state: State, object: Option<u32>, event: u32);

    /// A thread let another go on.
    fn wake(&mut self, from: u32, to: u32, now: u64);

    /// A thread ended.
    fn end(&mut self, thread: u32, now: u64);

    /// A thread does its operation now.
    fn operation(&mut self, _core: &Core<'_>, _thread: u32) {}

    /// Returns whether the rest of the run is not wanted any more.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Watches nothing.
pub(crate) struct Nobody;

impl Observer for Nobody {
    fn state(&mut self, _: u32, _: u64, _: State, _: Option<u32>, _: u32) {}

    fn wake(&mut self, _: u32, _: u32, _: u64) {}

    fn end(&mut self, _: u32, _: u64) {}
}

/// Builds lanes and wakes.
pub(crate) struct LaneBuilder {
    lanes: Vec<Lane>,
    current: Vec<Option<Segment>>,
    pub wakes: Vec<Wake>,
}

impl LaneBuilder {
    /// Begins with a lane per thread.
    pub fn new(lanes: Vec<Lane>) -> Self {
        Self {
            current: vec![None; lanes.len()],
            lanes,
            wakes: Vec::new(),
        }
    }

    /// Returns the lanes, with states that last to the end closed there.
    pub fn finish(mut self, now: u64) -> (Vec<Lane>, Vec<Wake>) {
        for thread in 0..self.lanes.len() {
            self.close(thread, now);
        }
        (self.lanes, self.wakes)
    }

    fn close(&mut self, thread: usize, now: u64) {
        let Some(mut segment) = self.current[thread].take() else {
            return;
        };
        segment.end = SimTime(now);
        if segment.start == segment.end {
            return;
        }
        let segments = &mut self.lanes[thread].segments;
        match segments.last_mut() {
            Some(last) if last.state == segment.state && last.object == segment.object => {
                last.end = segment.end;
            }
            _ => segments.push(segment),
        }
    }
}

impl Observer for LaneBuilder {
    fn state(&mut self, thread: u32, now: u64, state: State, object: Option<u32>, event: u32) {
        let index = thread as usize;
        self.close(index, now);
        let start = SimTime(now);
        self.current[index] = Some(Segment {
            start,
            end: start,
            state,
            object,
            event: Some(event),
        });
    }

    fn wake(&mut self, from: u32, to: u32, now: u64) {
        if from != to {
            self.wakes.push(Wake::at_once(from, to, SimTime(now)));
        }
    }

    fn end(&mut self, thread: u32, now: u64) {
        self.close(thread as usize, now);
        self.lanes[thread as usize].end = Some(SimTime(now));
    }
}
