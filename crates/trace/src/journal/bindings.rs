//! What threads were bound to, and for how much of their CPU time.

use crate::ThreadId;

/// A thread is taken to be bound to a CPU where it was not for no more than a tenth of its CPU time, or than this: what it
/// did before it bound itself. A program's first thread starts the program, too.
const STARTING_NANOS: u64 = 5_000_000;

/// The bindings of all threads.
#[derive(Default)]
pub(super) struct Bindings {
    threads: Vec<Binding>,
}

#[derive(Clone, Default)]
struct Binding {
    /// The set in force; 0 for none.
    cpus: u64,
    /// The thread's CPU time when it came into force.
    since: u64,
    /// The thread's latest CPU time.
    latest: u64,
    /// The CPU time spent on each CPU that it was alone bound to.
    spent: Vec<(u32, u64)>,
}

impl Bindings {
    /// Adds the next thread, which was created to run on these CPUs.
    pub fn push(&mut self, cpus: u64) {
        self.threads.push(Binding {
            cpus,
            ..Binding::default()
        });
    }

    /// Notes a thread's CPU time.
    pub fn advance(&mut self, thread: ThreadId, cpu: u64) {
        self.threads[thread.index()].latest = cpu;
    }

    /// Notes that a thread was bound anew.
    pub fn bind(&mut self, thread: ThreadId, cpus: u64) {
        let binding = &mut self.threads[thread.index()];
        binding.close();
        binding.cpus = cpus;
    }

    /// Returns the CPU that each thread is bound to, and lets go of what was noted.
    pub fn cpus(&mut self) -> impl Iterator<Item = Option<u32>> {
        std::mem::take(&mut self.threads)
            .into_iter()
            .map(Binding::cpu)
    }
}

impl Binding {
    fn close(&mut self) {
        let spent = self.latest.saturating_sub(self.since);
        self.since = self.latest;
        if !self.cpus.is_power_of_two() {
            return;
        }
        let cpu = self.cpus.trailing_zeros();
        match self.spent.iter_mut().find(|(known, _)| *known == cpu) {
            Some((_, time)) => *time += spent,
            None => self.spent.push((cpu, spent)),
        }
    }

    fn cpu(mut self) -> Option<u32> {
        self.close();
        let elsewhere = STARTING_NANOS.max(self.latest / 10);
        let enough = self.latest.saturating_sub(elsewhere);
        let last = self
            .cpus
            .is_power_of_two()
            .then(|| self.cpus.trailing_zeros());
        self.spent
            .into_iter()
            .filter(|&(cpu, time)| Some(cpu) == last && time >= enough)
            .map(|(cpu, _)| cpu)
            .next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_bound_where_it_was_for_nearly_all_of_its_time() {
        let mut bindings = Bindings::default();
        for cpus in [0b100, 0, 0b1, 0, 0b11] {
            bindings.push(cpus);
        }
        let thread = ThreadId;
        // Created bound; bound itself at once; left what it was created with; bound itself late; never to one.
        bindings.bind(thread(1), 0b1000);
        bindings.bind(thread(2), 0b10);
        bindings.advance(thread(3), 60_000_000);
        bindings.bind(thread(3), 0b1);
        for index in 0..5 {
            bindings.advance(thread(index), 100_000_000);
        }
        let cpus: Vec<_> = bindings.cpus().collect();
        assert_eq!(cpus, [Some(2), Some(3), Some(1), None, None]);
    }

    #[test]
    fn a_thread_that_looked_at_each_cpu_is_not_bound() {
        let mut bindings = Bindings::default();
        bindings.push(0);
        for cpu in 0..4 {
            bindings.bind(ThreadId(0), 1 << cpu);
        }
        bindings.bind(ThreadId(0), 0b1111);
        bindings.advance(ThreadId(0), 100);
        assert_eq!(bindings.cpus().collect::<Vec<_>>(), [None]);
    }
}
