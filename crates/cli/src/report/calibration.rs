//! What was measured on this machine, as a machine's file and as warnings.

use std::fmt::Write as _;

use foretrace_calibrate::{Between, Calibration, Estimate};
use foretrace_trace::Nanos;

/// As much of all CPUs' time as others may have used before the measurements are doubtful.
const MUCH_LOAD: f64 = 0.05;

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
            "#\n# CPUs {here} and {there}; a hop is one thread's letting another go on."
        );
    }
    text.push('\n');
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
        ("wake_cost", between.wake_cost),
        ("block_cost", between.block_cost),
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
                wake_cost: estimate(900, 1_000, 1_100),
                block_cost: estimate(900, 1_000, 1_100),
                create_cost: None,
            }),
        }
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
