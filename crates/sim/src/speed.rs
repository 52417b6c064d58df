//! How fast CPUs are: their speeds, what those that share a core or the memory leave each other, and what giving memory back takes of them.

use foretrace_program::Program;

use crate::{Machine, Memory, remaps::Remaps};

/// A speed, or a part of one, in billionths: work a time.
///
/// Rates are rounded once, to a billionth; what is worked at a rate is accounted exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

impl Rate {
    /// The speed of the CPU of the recording.
    pub const ONE: Self = Self(1_000_000_000);
}

/// A CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// How many seconds of recorded work it does a second.
    pub speed: Rate,
    /// The core that it is in.
    pub core: u32,
    /// How many CPUs share a core of this kind, counting those that the machine has not got.
    pub ways: u32,
    /// What a core of this kind does when all its CPUs are busy, where one alone does [`Rate::ONE`].
    pub throughput: Rate,
    /// The socket that its core is in.
    pub socket: u32,
}

impl Processor {
    /// Returns one of speed one that shares nothing.
    fn plain(core: u32) -> Self {
        Self {
            speed: Rate::ONE,
            core,
            ways: 1,
            throughput: Rate::ONE,
            socket: 0,
        }
    }

    /// Returns the rate at which it works when so many CPUs of its core are busy, itself included.
    pub fn rate(&self, busy: u32) -> Rate {
        let (busy, others) = (u128::from(busy.max(1)), u128::from(busy.max(1) - 1));
        let one = u128::from(Rate::ONE.0);
        // Between one busy CPU and all, what the core does grows evenly.
        let most_others = u128::from(self.ways.max(2) - 1);
        let whole = one * most_others - one * others + u128::from(self.throughput.0) * others;
        let rate = u128::from(self.speed.0) * whole / (busy * most_others * one);
        Rate(u64::try_from(rate).unwrap_or(u64::MAX).max(1))
    }
}

/// The rates at which the CPUs work now, and what each thread worked beyond a whole picosecond.
pub(crate) struct Speeds {
    processors: Vec<Processor>,
    rates: Vec<u64>,
    /// What each thread did in advance of its next work, in billionths of a picosecond.
    credits: Vec<u64>,
    /// The CPUs of each core.
    cores: Vec<Vec<u32>>,
    /// How many CPUs of each core are busy.
    busy: Vec<u32>,
    occupied: Vec<bool>,
    /// Cores in which CPUs became busy or idle.
    changed: Vec<u32>,
    /// What all of them share, where that slows them down.
    memory: Option<Memory>,
    /// What giving memory back takes of them, where it takes much.
    remaps: Option<Remaps>,
    /// Whether that is to be settled anew.
    is_remapped: bool,
    /// Whether what one CPU does depends on what others do.
    pub shared: bool,
    /// Whether all CPUs are of speed one, always.
    pub all_one: bool,
}

impl Speeds {
    pub fn new(program: &Program, machine: &Machine) -> Self {
        let mut processors = machine.processors.clone();
        let plain = u64::from(machine.cpus) * Rate::ONE.0;
        let total = match processors.as_slice() {
            [] => plain,
            all => all.iter().map(|cpu| cpu.rate(1).0).sum(),
        };
        let memory = Some(machine.memory).filter(|memory| memory.matters(total));
        let remaps = Remaps::new(program, machine);
        if (memory.is_some() || remaps.is_some()) && processors.is_empty() {
            processors = (0..machine.cpus).map(Processor::plain).collect();
        }
        let count = processors.iter().map(|cpu| cpu.core as usize + 1).max();
        let mut cores = vec![Vec::new(); count.unwrap_or(0)];
        for (index, cpu) in processors.iter().enumerate() {
            cores[cpu.core as usize].push(index as u32);
        }
        let shared = memory.is_some()
            || remaps.is_some()
            || cores.iter().any(|cpus: &Vec<u32>| cpus.len() > 1);
        let all_one = !shared && processors.iter().all(|cpu| cpu.speed == Rate::ONE);
        Self {
            rates: processors.iter().map(|cpu| cpu.rate(1).0).collect(),
            credits: vec![0; if all_one { 0 } else { program.threads.len() }],
            busy: vec![0; cores.len()],
            occupied: vec![false; processors.len()],
            changed: Vec::new(),
            memory,
            remaps,
            is_remapped: false,
            processors,
            cores,
            shared,
            all_one,
        }
    }

    /// Returns what a thread did in some time on a CPU, of what it had left.
    #[cold]
    pub fn work_done(&mut self, thread: u32, cpu: u32, time: u64, left: u64) -> u64 {
        let one = u128::from(Rate::ONE.0);
        let credit = &mut self.credits[thread as usize];
        let done = u128::from(time) * u128::from(self.rates[cpu as usize]) + u128::from(*credit);
        let whole = (done / one).min(u128::from(left));
        // Less than one picosecond's work: nobody works on beyond that.
        *credit = (done - whole * one) as u64;
        whole as u64
    }

    /// Returns how long a thread needs on a CPU for some work; the picosecond in which it is done counts whole.
    #[cold]
    pub fn time_for(&self, thread: u32, cpu: u32, work: u64) -> u64 {
        let credit = u128::from(self.credits[thread as usize]);
        let work = (u128::from(work) * u128::from(Rate::ONE.0)).saturating_sub(credit);
        let time = work.div_ceil(u128::from(self.rates[cpu as usize]));
        u64::try_from(time).unwrap_or(u64::MAX)
    }

    /// Notes that a CPU runs another thread, or none; what that changes is settled later in the same instant.
    pub fn note(&mut self, cpu: u32, thread: Option<u32>) {
        let occupied = thread.is_some();
        if let Some(remaps) = &mut self.remaps {
            self.is_remapped |= remaps.note(cpu, thread);
        }
        if std::mem::replace(&mut self.occupied[cpu as usize], occupied) != occupied {
            self.changed.push(self.processors[cpu as usize].core);
        }
    }

    /// Returns the CPUs whose rates may be others than before, since those that share something with them became busy or idle;
    /// nothing where that is not so.
    pub fn next_changed(&mut self) -> Option<Vec<u32>> {
        let mut any = std::mem::take(&mut self.is_remapped);
        while let Some(core) = self.changed.pop() {
            let cpus = &self.cores[core as usize];
            let busy = cpus.iter().filter(|&&cpu| self.occupied[cpu as usize]);
            let busy = busy.count() as u32;
            if std::mem::replace(&mut self.busy[core as usize], busy) == busy {
                continue;
            }
            if self.memory.is_none() && !any {
                return Some(cpus.clone());
            }
            any = true;
        }
        any.then(|| (0..self.processors.len() as u32).collect())
    }

    /// Sets the rates of these CPUs by which are busy.
    pub fn settle(&mut self, cpus: &[u32]) {
        for &cpu in cpus {
            let processor = &self.processors[cpu as usize];
            self.rates[cpu as usize] = processor.rate(self.busy[processor.core as usize]).0;
        }
        if let Some(memory) = &self.memory {
            let busy = cpus.iter().filter(|&&cpu| self.occupied[cpu as usize]);
            let total = busy.map(|&cpu| self.rates[cpu as usize]).sum();
            for &cpu in cpus {
                let rate = &mut self.rates[cpu as usize];
                *rate = memory.rate(*rate, total);
            }
        }
        if let Some(remaps) = &self.remaps {
            for &cpu in cpus {
                let rate = &mut self.rates[cpu as usize];
                *rate = remaps.rate(cpu, *rate);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(speed: u64, ways: u32, throughput: u64) -> Processor {
        Processor {
            speed: Rate(speed),
            core: 0,
            ways,
            throughput: Rate(throughput),
            socket: 0,
        }
    }

    #[test]
    fn busy_cpus_share_what_their_core_does() {
        let pair = cpu(1_000_000_000, 2, 1_250_000_000);
        assert_eq!(pair.rate(0), Rate(1_000_000_000));
        assert_eq!(pair.rate(1), Rate(1_000_000_000));
        assert_eq!(pair.rate(2), Rate(625_000_000));
        // Of four ways, the second adds a third of what all three others add.
        let four = cpu(1_000_000_000, 4, 1_600_000_000);
        assert_eq!(four.rate(2), Rate(600_000_000));
        assert_eq!(four.rate(4), Rate(400_000_000));
        assert_eq!(
            cpu(550_000_000, 1, 1_000_000_000).rate(1),
            Rate(550_000_000)
        );
    }
}
