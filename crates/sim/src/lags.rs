//! Whether threads that sleep are still in their CPUs' queues, as those are that ran more than their share.
//!
//! All that run or want to on a CPU have the same share of its time. Who has had more than that when it goes to sleep is kept in the queue
//! until the others have caught up and it would be its turn: if it wakes before, it is there, and looks for no other CPU.
//!
//! # Source
//!
//! Linux since 6.12, `kernel/sched/fair.c`: `entity_eligible`, `set_delayed`, and `ttwu_runnable` in `kernel/sched/core.c`.

/// Who waits in which CPU's queue although it sleeps.
pub(crate) struct Lags {
    cpus: Vec<Cpu>,
    threads: Vec<Thread>,
}

/// What a CPU did.
#[derive(Clone, Copy, Default)]
struct Cpu {
    /// What each that was there all the time has had as its share, in picoseconds.
    share: u64,
    /// Until when that is counted.
    at: u64,
    /// How many run or want to.
    count: u32,
    /// How many turns began on it.
    turns: u32,
    /// How often it became idle: nobody is left in its queue then.
    idles: u32,
}

/// What a thread did since it came to its CPU.
#[derive(Clone, Copy, Default)]
struct Thread {
    /// The CPU's share when it came.
    share: u64,
    /// What it had run by then, in picoseconds.
    ran: u64,
    /// It sleeps ahead of others.
    asleep: Option<Asleep>,
}

/// A thread that sleeps ahead of others.
#[derive(Clone, Copy)]
struct Asleep {
    cpu: u32,
    /// When the CPU's share has come to this, the others have caught up.
    until: u64,
    /// The turns that had begun there, and how often it had become idle.
    turns: u32,
    idles: u32,
}

impl Lags {
    pub fn new(cpus: u32, threads: usize) -> Self {
        Self {
            cpus: vec![Cpu::default(); cpus as usize],
            threads: vec![Thread::default(); threads],
        }
    }

    /// So many threads run on a CPU or want to from now on.
    pub fn set_count(&mut self, cpu: u32, count: u32, now: u64) {
        let of = self.at(cpu, now);
        of.idles += u32::from(count == 0 && of.count > 0);
        of.count = count;
    }

    /// Brings a CPU's share up to date.
    fn at(&mut self, cpu: u32, now: u64) -> &mut Cpu {
        let of = &mut self.cpus[cpu as usize];
        if of.count > 0 {
            of.share += (now - of.at) / u64::from(of.count);
        }
        of.at = now;
        of
    }

    /// A thread begins a turn on a CPU: whoever sleeps there and has been caught up with has been looked at, and is no longer in the queue.
    pub fn begin_turn(&mut self, cpu: u32) {
        self.cpus[cpu as usize].turns += 1;
    }

    /// A thread that has run for so long comes to a CPU, or wakes there: it is neither ahead nor behind.
    pub fn place(&mut self, thread: u32, cpu: u32, ran: u64, now: u64) {
        let share = self.at(cpu, now).share;
        self.threads[thread as usize] = Thread {
            share,
            ran,
            asleep: None,
        };
    }

    /// A thread that has run for so long goes to sleep on a CPU, which still counts it.
    pub fn sleep(&mut self, thread: u32, cpu: u32, ran: u64, now: u64) {
        let of = *self.at(cpu, now);
        let own = &mut self.threads[thread as usize];
        let until = own.share + ran.saturating_sub(own.ran);
        own.asleep = (of.count > 1 && until > of.share).then_some(Asleep {
            cpu,
            until,
            turns: of.turns,
            idles: of.idles,
        });
    }

    /// Returns whether a thread that wakes is still in the queue of the CPU that it ran on: the one that came after it still runs, or the others have
    /// not caught up.
    pub fn is_queued(&mut self, thread: u32, now: u64) -> bool {
        let Some(asleep) = self.threads[thread as usize].asleep else {
            return false;
        };
        let of = self.at(asleep.cpu, now);
        of.idles == asleep.idles && (of.turns <= asleep.turns + 1 || of.share < asleep.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two threads of one CPU, the first of which runs for 100 and goes to sleep; the other begins.
    fn one_sleeps() -> Lags {
        let mut lags = Lags::new(1, 2);
        lags.set_count(0, 2, 0);
        lags.begin_turn(0);
        lags.sleep(0, 0, 100, 100);
        lags.set_count(0, 1, 100);
        lags.begin_turn(0);
        lags
    }

    #[test]
    fn who_ran_more_than_its_share_stays_in_the_queue_until_others_caught_up() {
        let mut lags = one_sleeps();
        assert!(lags.is_queued(0, 120));
        // It has not been looked at while the other runs.
        assert!(lags.is_queued(0, 500));
        lags.begin_turn(0);
        assert!(
            lags.is_queued(0, 140),
            "they had 50 each, and the other 40 since"
        );
        assert!(!lags.is_queued(0, 150));
    }

    #[test]
    fn nobody_is_left_in_the_queue_of_a_cpu_that_was_idle() {
        let mut lags = one_sleeps();
        lags.set_count(0, 0, 110);
        lags.set_count(0, 1, 115);
        assert!(!lags.is_queued(0, 120));
    }

    #[test]
    fn who_is_alone_or_ran_less_than_others_leaves_the_queue_at_once() {
        let mut lags = Lags::new(1, 2);
        lags.set_count(0, 1, 0);
        lags.sleep(0, 0, 100, 100);
        assert!(!lags.is_queued(0, 100));
        lags.set_count(0, 2, 100);
        lags.place(0, 0, 100, 100);
        lags.sleep(0, 0, 140, 200);
        assert!(!lags.is_queued(0, 200), "of 100 it had 40");
    }
}
