//! How far in its work a thread is, from one wait to the next.

use foretrace_trace::{Operation as Op, Trace};

/// What a thread works from one wait to the next, as the CPU times at its ends.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    from: u64,
    to: u64,
}

impl Stretch {
    /// Returns that of a thread in which it goes on after it used so much CPU time; `None` where it does not. `own` are its events, `returns`
    /// the places of those that end a wait.
    pub fn at(trace: &Trace, (own, returns): (&[u32], &[u32]), cpu: u64) -> Option<Self> {
        let used = |place: usize| {
            let event = *own.get(place)?;
            trace.events[event as usize].cpu().map(|used| used.0)
        };
        let next = own.partition_point(|&event| {
            let used = trace.events[event as usize].cpu();
            used.is_none_or(|used| used.0 <= cpu)
        });
        // One that comes next ends the wait that it is in.
        let next_return = returns.partition_point(|&place| place as usize <= next);
        let before = next_return
            .checked_sub(1)
            .map(|last| returns[last] as usize);
        let from = before.map_or(Some(0), used)?;
        let to = match returns.get(next_return) {
            Some(&place) => place as usize - 1,
            None => own.len().checked_sub(1)?,
        };
        let to = used(to)?;
        (to > cpu).then_some(Self { from, to })
    }

    /// Returns how much CPU time its thread has used at its end.
    pub fn end(self) -> u64 {
        self.to
    }

    pub fn length(self) -> u64 {
        self.to.saturating_sub(self.from)
    }

    /// Returns which part of it has been done when its thread has used so much CPU time.
    pub fn part(self, cpu: u64) -> f64 {
        let done = cpu.clamp(self.from, self.to) - self.from;
        done as f64 / self.length().max(1) as f64
    }

    /// Returns how much CPU time its thread has used when such a part of it has been done.
    #[expect(clippy::cast_sign_loss, reason = "no part is negative")]
    pub fn cpu(self, part: f64) -> u64 {
        self.from + (self.length() as f64 * part).round() as u64
    }
}

/// Returns at which places of a thread's events it returned from a wait.
pub(super) fn returns(trace: &Trace, own: &[u32]) -> Vec<u32> {
    let is_return = |&(_, event): &(u32, &u32)| {
        trace.call(&trace.events[*event as usize]).operation == Op::Return
    };
    let places = (0..).zip(own).filter(is_return);
    places.map(|(place, _)| place).collect()
}
