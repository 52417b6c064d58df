//! How much others used the machine's CPUs for a while, or one of them.

use std::{fs, time::Instant};

use foretrace_trace::Nanos;

/// What the kernel counts CPU time in, in `/proc/stat`: hundredths of a second, whatever the kernel was built for.
const TICK: Nanos = Nanos(10_000_000);

/// A moment from which on to count.
#[derive(Debug)]
pub struct Load {
    begun: Instant,
    /// Which CPU is counted; `None` for all.
    cpu: Option<u32>,
    busy: Option<(Nanos, u32)>,
}

impl Load {
    /// Begins to count on all CPUs.
    pub fn start() -> Self {
        Self::begin(None)
    }

    /// Begins to count on one.
    pub fn start_on(cpu: u32) -> Self {
        Self::begin(Some(cpu))
    }

    fn begin(cpu: Option<u32>) -> Self {
        Self {
            begun: Instant::now(),
            cpu,
            busy: busy(cpu),
        }
    }

    /// Returns the share of the CPUs' time since then that others used, given what `ours` was; `None` where the kernel
    /// does not tell.
    pub fn of_others(&self, ours: Nanos) -> Option<f64> {
        let ((before, _), (after, cpus)) = (self.busy?, busy(self.cpu)?);
        let elapsed = self.begun.elapsed().as_secs_f64() * f64::from(cpus);
        let others = after.since(before).since(ours);
        (elapsed > 0.0).then(|| (others.0 as f64 / 1e9 / elapsed).min(1.0))
    }
}

/// Returns the time that a CPU, or all, were busy since the system started, and how many those are.
fn busy(cpu: Option<u32>) -> Option<(Nanos, u32)> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    parse(&text, cpu)
}

fn parse(text: &str, cpu: Option<u32>) -> Option<(Nanos, u32)> {
    let start = cpu.map_or("cpu ".to_owned(), |cpu| format!("cpu{cpu} "));
    let times = text.lines().find_map(|line| line.strip_prefix(&start))?;
    // user, nice, system, idle, iowait, irq, softirq, steal; what follows is counted in user and nice already.
    let ticks: Vec<u64> = times
        .split_whitespace()
        .take(8)
        .map_while(|field| field.parse().ok())
        .collect();
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    let busy = Nanos((ticks.iter().sum::<u64>() - idle) * TICK.0);
    if cpu.is_some() {
        return Some((busy, 1));
    }
    let cpus = text
        .lines()
        .filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "))
        .count();
    Some((busy, u32::try_from(cpus).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_not_busy_and_guests_are_not_counted_twice() {
        let text = "cpu  100 10 50 9000 40 3 2 1 77 7\ncpu0 1\ncpu1 1\nintr 5\n";
        assert_eq!(parse(text, None), Some((Nanos(1_660_000_000), 2)));
        assert_eq!(parse("no such line", None), None);
    }

    #[test]
    fn one_cpu_is_told_from_those_whose_numbers_begin_alike() {
        let text = "cpu  9 0 0 9\ncpu1 3 0 1 5 1\ncpu10 6 0 0 4\n";
        assert_eq!(parse(text, Some(1)), Some((Nanos(40_000_000), 1)));
        assert_eq!(parse(text, Some(10)), Some((Nanos(60_000_000), 1)));
        assert_eq!(parse(text, Some(2)), None);
    }
}
