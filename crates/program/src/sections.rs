//! Sections that were counted, not recorded one by one.

use foretrace_trace::ObjectId;

use crate::{Action, lower::Lowering};

/// The work that one lowered section stands for, at least: the replay need not be finer than this.
const GRAIN_NANOS: u64 = 10_000;

impl Lowering<'_> {
    /// Lowers sections that were counted to a bounded number of them: as many as there were, but no more than one for
    /// each 10 microseconds of their work. Work and time held are exact, and shared out evenly.
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
        let sections = count.min((work / GRAIN_NANOS).max(1));
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
