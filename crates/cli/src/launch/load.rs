//! How much others used the machine's CPUs for a while.

use std::{fs, time::Instant};

use foretrace_trace::Nanos;

/// What the kernel counts CPU time in, in `/proc/stat`: hundredths of a second, whatever the kernel was built for.
const TICK: Nanos = Nanos(10_000_000);

/// A moment from which on to count.
#[derive(Debug)]
pub struct Load {
    begun: Instant,
    busy: Option<(Nanos, u32)>,
}

impl Load {
    /// Begins to count.
    pub fn start() -> Self {
        Self {
            begun: Instant::now(),
            busy: busy(),
        }
    }

    /// Returns the share of all CPUs' time since then that others used, given what `ours` was; `None` where the kernel
    /// does not tell.
    pub fn of_others(&self, ours: Nanos) -> Option<f64> {
        let ((before, _), (after, cpus)) = (self.busy?, busy()?);
        let elapsed = self.begun.elapsed().as_secs_f64() * f64::from(cpus);
        let others = after.since(before).since(ours);
        (elapsed > 0.0).then(|| (others.0 as f64 / 1e9 / elapsed).min(1.0))
    }
}

/// Returns the time that all CPUs were busy since the system started, and how many there are.
fn busy() -> Option<(Nanos, u32)> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    parse(&text)
}

fn parse(text: &str) -> Option<(Nanos, u32)> {
    let all = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    // user, nice, system, idle, iowait, irq, softirq, steal; what follows is counted in user and nice already.
    let ticks: Vec<u64> = all
        .split_whitespace()
        .take(8)
        .map_while(|field| field.parse().ok())
        .collect();
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    let busy = ticks.iter().sum::<u64>() - idle;
    let cpus = text
        .lines()
        .filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "))
        .count();
    Some((Nanos(busy * TICK.0), u32::try_from(cpus).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_not_busy_and_guests_are_not_counted_twice() {
        let text = "cpu  100 10 50 9000 40 3 2 1 77 7\ncpu0 1\ncpu1 1\nintr 5\n";
        assert_eq!(parse(text), Some((Nanos(1_660_000_000), 2)));
        assert_eq!(parse("no such line"), None);
    }
}
