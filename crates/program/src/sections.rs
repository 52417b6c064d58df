//! Sections that were counted, not recorded one by one.

use foretrace_trace::{Call, ObjectId, Operation, Trace};

use crate::{Action, lower::Lowering};

/// How many sections of a program are replayed one by one, at most: what they take is what as many recorded ones would.
const ONE_BY_ONE: u64 = 4_000_000;

/// Returns how many counted sections have to be replayed as one, for no more of them than can be.
pub(crate) fn as_one(trace: &Trace) -> u64 {
    let counted = |call: &Call| match call.operation {
        Operation::LockSections { count, .. } => count,
        _ => 0,
    };
    if trace.calls.iter().all(|call| counted(call) == 0) {
        return 1;
    }
    let counts = trace.events.iter().map(|event| counted(trace.call(event)));
    let all = counts.fold(0, u64::saturating_add);
    all.div_ceil(ONE_BY_ONE).max(1)
}

impl Lowering<'_> {
    /// Lowers sections that were counted, to as many as there were; but to a part of them where a program has more than 4 million. Work and
    /// time held are exact, and shared out evenly.
    pub fn sections(
        &mut self,
        index: usize,
        thread: u32,
        mutex: ObjectId,
        (count, held): (u64, u64),
    ) {
        let work = self.work.take(index) + std::mem::take(&mut self.carried[thread as usize]);
        if count == 0 {
            self.carried[thread as usize] = work;
            return;
        }
        let held = held.min(work);
        let outside = work - held;
        let sections = count.div_ceil(self.sections_as_one);
        for section in 0..sections {
            self.work.set_left(share(outside, section, sections));
            let lock = self.push(index, thread, Action::Lock(mutex));
            self.acquired(lock, mutex, 1);
            self.work.set_left(share(held, section, sections));
            self.unlock(index, thread, mutex);
        }
    }
}

/// Returns one of so many even parts, which together are the whole.
fn share(whole: u64, part: u64, parts: u64) -> u64 {
    let until = |part: u64| u128::from(whole) * u128::from(part) / u128::from(parts);
    u64::try_from(until(part + 1) - until(part)).unwrap_or(whole)
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn the_parts_make_up_the_whole() {
        for (whole, parts) in [(0, 1), (10, 3), (7, 10), (u64::MAX, 4)] {
            let sum: u128 = (0..parts)
                .map(|part| u128::from(share(whole, part, parts)))
                .sum();
            assert_eq!(sum, u128::from(whole));
        }
    }
}
