//! What was measured on this machine, as a machine's file and as warnings.

use std::fmt::Write as _;

use foretrace_calibrate::{Between, Calibration, Estimate, Placement, Streams};
use foretrace_machine::Share;
use foretrace_trace::Nanos;

/// As much of all CPUs' time as others may have used before the measurements are doubtful.
const MUCH_LOAD: f64 = 0.05;

/// How many times as long something must take for that to be told from noise.
const NOTICEABLE: f64 = 1.03;

/// Returns what was measured, as comments at the head of a file.
pub fn head(measured: &Calibration) -> String {
    let mut text = String::from(
        "# Measured by `foretrace machine --calibrate`: medians, and between what the middle half was.\n#\n",
    );
    row(&mut text, "hop on one CPU", &measured.one_cpu_hop);
    if let Some(between) = &measured.between {
        row(&mut text, "hop between CPUs", &between.hop);
        for (name, estimate) in costs(between) {
            row(&mut text, name, &estimate);
        }
        let [here, there] = between.cpus;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "#\n# CPUs {here} and {there}; a hop is one thread's letting another go on. {}",
            leaving(&between.placement)
        );
        text.push_str(&shallow(between));
    }
    if let Some(streams) = &measured.streams {
        text.push_str(&memory(streams));
    }
    text
}

/// What a program took on one CPU, alone and beside copies of itself on the other CPUs.
#[derive(Clone, Copy, Debug)]
pub struct Copies {
    /// How many copies there were, with the one that was looked at.
    cpus: usize,
    alone: Nanos,
    beside: Nanos,
}

impl Copies {
    /// Takes the medians of both.
    pub fn new(cpus: usize, mut alone: Vec<Nanos>, mut beside: Vec<Nanos>) -> Self {
        let median = |times: &mut Vec<Nanos>| {
            times.sort_unstable();
            times.get(times.len() / 2).copied().unwrap_or(Nanos(0))
        };
        Self {
            cpus,
            alone: median(&mut alone),
            beside: median(&mut beside),
        }
    }

    /// Returns how many times as long it took beside the copies.
    fn slowdown(&self) -> f64 {
        self.beside.0 as f64 / self.alone.0.max(1) as f64
    }

    /// Returns the share of its CPU time that goes on accesses to memory of such a bandwidth, in CPUs that it serves at once:
    /// all copies together took as much of it as there is. None, where they did not slow each other down, or where it is not known
    /// what there is.
    pub fn memory_bound(&self, bandwidth: Option<f64>) -> f64 {
        match bandwidth {
            Some(bandwidth) if self.slowdown() > NOTICEABLE => {
                bandwidth * self.slowdown() / self.cpus as f64
            }
            _ => 0.0,
        }
    }

    /// Returns what the model does not explain.
    pub fn warning(&self, bandwidth: Option<f64>) -> Option<String> {
        (bandwidth.is_none() && self.slowdown() > NOTICEABLE).then(|| {
            format!(
                "the program takes {:.0} % longer beside copies of itself, though the memory has bandwidth for all CPUs: they may \
                 share a cache or a core, which --memory-bound does not describe",
                100.0 * (self.slowdown() - 1.0)
            )
        })
    }

    /// Returns it as comments for a file's head.
    pub fn text(&self) -> String {
        format!(
            "#\n# The program took {} of CPU time alone, and {} beside copies of itself, {} in all.\n",
            self.alone, self.beside, self.cpus
        )
    }
}

/// Returns, as comments for a file's head, what a program does not need when its threads take long turns.
pub fn refill_text(refill: Option<Share>) -> String {
    match refill {
        Some(share) => format!(
            "# Of its CPU time alone, {share} is not needed when its threads take long turns: it goes on filling caches again.\n"
        ),
        None => String::new(),
    }
}

/// Tells for how long a CPU that is idle wakes sooner.
fn shallow(between: &Between) -> String {
    if between.shallow_idle.is_zero() {
        return "# A CPU that was idle for a short time wakes no sooner than one that was for a long one.\n".to_owned();
    }
    let micros = between.shallow_idle.as_micros();
    format!("# A CPU that was idle for less than some {micros} us wakes in shallow_latency.\n")
}

/// Tells whether threads that wake leave a CPU that is busy for one that is idle.
fn leaving(placement: &Placement) -> String {
    let times = placement.samples();
    let percent = |share: f64| 100.0 * share;
    match placement.searches_from() {
        None => format!(
            "Threads that wake where\n# another works go on there while the other CPU is idle (looked at {times} times)."
        ),
        Some(0.0) => format!(
            "Threads that wake where\n# another works go on on the CPU that is idle (looked at {times} times)."
        ),
        Some(from) => {
            let between = placement.middle_half().map(|[low, high]| {
                format!(
                    "; the middle half {:.0} to {:.0}",
                    percent(low),
                    percent(high)
                )
            });
            format!(
                "Threads that wake where\n# another works go on on the CPU that is idle once that one was busy for {:.0} % of the time \
                 lately\n# (looked at {times} times{}).",
                percent(from),
                between.unwrap_or_default()
            )
        }
    }
}

fn memory(streams: &Streams) -> String {
    let mut text = String::from("#\n");
    row(&mut text, "memory, one CPU", &streams.alone);
    row(&mut text, "memory, all CPUs", &streams.together);
    let cpus = streams.cpus;
    // Writing to a string cannot fail.
    let _ = match streams.bandwidth() {
        Some(_) => writeln!(
            text,
            "#\n# CPU time to go through 64 MiB on one CPU, and on {cpus} at once, each its own."
        ),
        None => writeln!(
            text,
            "#\n# {cpus} CPUs go through their memory as fast as one: it may have bandwidth for more of them than that."
        ),
    };
    text
}

fn row(text: &mut String, name: &str, estimate: &Estimate) {
    let [middle, low, high] =
        [estimate.nanos, estimate.low, estimate.high].map(|n| Nanos(n).to_string());
    // Writing to a string cannot fail.
    let _ = writeln!(text, "#   {name:<17} {middle:>8}  ({low} to {high})");
}

fn costs(between: &Between) -> Vec<(&'static str, Estimate)> {
    let create = between
        .create_cost
        .map(|estimate| ("create_cost", estimate));
    let mut costs = vec![
        ("wake_latency", between.wake_latency),
        ("shallow_latency", between.shallow_latency),
        ("wake_cost", between.wake_cost),
        ("preempt_cost", between.preempt_cost),
        ("block_cost", between.block_cost),
        ("lock_transfer", between.lock_transfer),
        ("call_cost", between.call_cost),
        ("offer_cost", between.offer_cost),
        ("remap_cost", between.remap_cost),
    ];
    costs.extend(create);
    costs
}

/// Returns what makes the measurements doubtful, given the share of the CPUs that others used meanwhile.
pub fn warnings(measured: &Calibration, foreign_load: Option<f64>) -> Vec<String> {
    let mut warnings = Vec::new();
    let Some(between) = &measured.between else {
        warnings.push(
            "only one CPU may be used, so that what is between CPUs cannot be measured: the costs are the usual ones of \
             Linux"
                .to_owned(),
        );
        return warnings;
    };
    if let Some(load) = foreign_load.filter(|load| *load > MUCH_LOAD) {
        warnings.push(format!(
            "others used {:.0} % of the CPUs meanwhile, which makes waking look slower or faster than it is: measure again \
             when the machine is idle",
            100.0 * load
        ));
    }
    let unsure = costs(between)
        .into_iter()
        .filter(|(_, estimate)| estimate.is_unsure());
    let unsure: Vec<&str> = unsure.map(|(name, _)| name).collect();
    if !unsure.is_empty() {
        warnings.push(format!(
            "measurements of {} differ much from each other: the machine was busy, or its CPUs change their speed",
            unsure.join(" and ")
        ));
    }
    if between.share_core {
        warnings.push(
            "the CPUs that may be used share a core: between cores it takes longer".to_owned(),
        );
    }
    warnings
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn estimate(low: u64, nanos: u64, high: u64) -> Estimate {
        Estimate {
            nanos,
            low,
            high,
            samples: 9,
        }
    }

    fn measured(latency: Estimate) -> Calibration {
        Calibration {
            cpu_nanos: 1,
            allowed: vec![0, 1],
            one_cpu_hop: estimate(2_000, 2_100, 2_200),
            between: Some(Between {
                cpus: [0, 1],
                share_core: false,
                hop: estimate(17_000, 18_000, 19_000),
                wake_latency: latency,
                shallow_latency: estimate(4_900, 5_000, 5_100),
                shallow_idle: Duration::from_micros(140),
                wake_cost: estimate(900, 1_000, 1_100),
                preempt_cost: estimate(900, 1_000, 1_100),
                block_cost: estimate(900, 1_000, 1_100),
                lock_transfer: estimate(20, 25, 30),
                call_cost: estimate(400, 600, 800),
                offer_cost: estimate(1_900, 2_000, 2_100),
                remap_cost: estimate(19_000, 20_000, 21_000),
                create_cost: None,
                placement: Placement::of(vec![Some(0.01)]),
            }),
            streams: Some(Streams {
                cpus: 2,
                alone: estimate(9_000_000, 10_000_000, 11_000_000),
                together: estimate(12_000_000, 13_000_000, 14_000_000),
            }),
        }
    }

    #[test]
    fn from_when_on_threads_leave_a_cpu_is_told() {
        let told = |shares: &[Option<f64>]| leaving(&Placement::of(shares.to_vec()));
        assert!(told(&[None]).ends_with("is idle (looked at 1 times)."));
        assert!(told(&[Some(0.02)]).contains("go on on the CPU that is idle ("));
        let three = told(&[Some(0.7), Some(0.65), Some(0.66)]);
        assert!(
            three.contains("busy for 70 % of")
                && three.ends_with("3 times; the middle half 65 to 70)."),
            "{three}"
        );
    }

    #[test]
    fn copies_that_slow_each_other_down_share_the_memory() {
        let times = |millis: [u64; 3]| millis.map(|millis| Nanos(millis * 1_000_000)).to_vec();
        let copies = Copies::new(8, times([99, 100, 300]), times([190, 200, 210]));
        // Eight take all of it, which is two CPUs' worth, at half their speed.
        assert!((copies.memory_bound(Some(2.0)) - 0.5).abs() < 1e-9);
        assert_eq!(copies.warning(Some(2.0)), None);
        assert!(copies.memory_bound(None).abs() < 1e-9);
        let warning = copies.warning(None).expect("it is not the memory");
        assert!(warning.contains("takes 100 % longer"), "{warning}");
        assert!(
            copies
                .text()
                .contains("100 ms of CPU time alone, and 200 ms beside")
        );
        let same = Copies::new(8, times([99, 100, 300]), times([98, 101, 300]));
        assert!(same.memory_bound(Some(2.0)).abs() < 1e-9);
        assert_eq!(same.warning(None), None);
    }

    #[test]
    fn what_is_doubtful_is_said() {
        let sure = measured(estimate(15_000, 15_900, 16_000));
        assert_eq!(warnings(&sure, Some(0.01)), [""; 0]);
        assert!(
            head(&sure).contains("#   wake_latency       15.9 us  (15.0 us to 16.0 us)\n"),
            "{}",
            head(&sure)
        );
        assert!(
            head(&sure).ends_with(
                "# CPU time to go through 64 MiB on one CPU, and on 2 at once, each its own.\n"
            ),
            "{}",
            head(&sure)
        );
        assert!(head(&sure).contains("\n# A CPU that was idle for less than some 140 us wakes in"));
        assert!(warnings(&sure, Some(0.5))[0].starts_with("others used 50 % of the CPUs"));
        let unsure = measured(estimate(5_000, 15_900, 40_000));
        assert!(warnings(&unsure, None)[0].starts_with("measurements of wake_latency differ much"));
        let one = Calibration {
            between: None,
            ..sure
        };
        assert!(warnings(&one, Some(0.5))[0].starts_with("only one CPU"));
    }
}
