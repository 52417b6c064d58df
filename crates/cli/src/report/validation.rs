//! Predictions beside real runs, as a table and as JSON.

use foretrace_trace::{Nanos, Trace};
use serde::Serialize;

use super::{
    json::TraceJson,
    machine::{self, MachineJson},
};
use crate::{
    core::Prediction,
    table::{Align, render, unknown},
};

/// The share of the machine that others may use without a warning.
const QUIET: f64 = 0.05;

/// The times of several runs of the same kind.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The median.
    pub median: Nanos,
    /// The shortest.
    pub least: Nanos,
    /// The longest.
    pub most: Nanos,
}

impl Measured {
    /// Sums the runs up; there must be one.
    pub fn of(mut times: Vec<Nanos>) -> Self {
        times.sort_unstable();
        let middle = times.len() / 2;
        let median = match times.len() % 2 {
            0 if middle > 0 => Nanos(u64::midpoint(times[middle - 1].0, times[middle].0)),
            _ => times.get(middle).copied().unwrap_or(Nanos(0)),
        };
        let end = |time: Option<&Nanos>| time.copied().unwrap_or(Nanos(0));
        Self {
            median,
            least: end(times.first()),
            most: end(times.last()),
        }
    }

    fn range(&self) -> String {
        format!("{} to {}", self.least, self.most)
    }
}

/// A recording, what was predicted from it, and what was measured.
#[derive(Debug)]
pub struct Comparison {
    /// What was recorded.
    pub trace: Trace,
    /// On one CPU, and on several.
    pub predictions: [Prediction; 2],
    /// The real runs on one CPU, and on several.
    pub measured: [Measured; 2],
    /// The share of all CPUs that others used during the real runs, where it is known.
    pub foreign_load: Option<f64>,
}

/// A line of a comparison: one number of CPUs.
struct Row<'a> {
    prediction: &'a Prediction,
    real: Measured,
    real_speedup: f64,
}

impl Row<'_> {
    fn predicted(&self) -> Option<Nanos> {
        let answer = self.prediction.answered()?;
        Some(Nanos(answer.run.end.as_nanos()))
    }

    fn predicted_speedup(&self) -> Option<f64> {
        let answer = self.prediction.answered()?;
        Some(self.prediction.speedup(&answer.run))
    }

    fn error(&self) -> Option<f64> {
        Some(self.predicted()?.0 as f64 / self.real.median.0.max(1) as f64 - 1.0)
    }

    fn speedup_error(&self) -> Option<f64> {
        Some(self.predicted_speedup()? / self.real_speedup - 1.0)
    }
}

impl Comparison {
    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.predictions
            .iter()
            .zip(self.measured)
            .map(|(prediction, real)| Row {
                prediction,
                real,
                real_speedup: self.measured[0].median.0 as f64 / real.median.0.max(1) as f64,
            })
    }
}

/// All that was compared.
#[derive(Debug)]
pub struct Validation {
    /// How often each was run.
    pub rounds: u32,
    /// One for each number of CPUs.
    pub comparisons: Vec<Comparison>,
}

impl Validation {
    /// Returns the largest relative error of a speed-up; `None` where there is no prediction.
    pub fn worst_error(&self) -> Option<f64> {
        self.comparisons
            .iter()
            .flat_map(Comparison::rows)
            .map(|row| row.speedup_error().map(f64::abs))
            .try_fold(0.0, |worst: f64, error| Some(worst.max(error?)))
    }

    /// Returns what limits the comparison.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = Vec::new();
        for comparison in &self.comparisons {
            for warning in &comparison.trace.warnings {
                if !warnings.contains(warning) {
                    warnings.push(warning.clone());
                }
            }
            if let Some(load) = comparison.foreign_load.filter(|&load| load > QUIET) {
                warnings.push(format!(
                    "others used {:.0} % of the CPUs during the real runs, which made them slower: run it again on a quiet \
                     machine",
                    100.0 * load
                ));
            }
        }
        warnings
    }
}

/// Returns the table.
pub fn text(validation: &Validation) -> String {
    let columns = [
        ("CPUs", Align::Right),
        ("model", Align::Left),
        ("predicted", Align::Right),
        ("real", Align::Right),
        ("error", Align::Right),
        ("speed-up: predicted", Align::Right),
        ("real", Align::Right),
        ("error", Align::Right),
        ("shortest and longest real run", Align::Left),
    ];
    let rows = validation
        .comparisons
        .iter()
        .flat_map(Comparison::rows)
        .map(|row| {
            let or_dash = |text: Option<String>| text.unwrap_or_else(unknown);
            let percent =
                |error: Option<f64>| error.map(|error| format!("{:+.1} %", 100.0 * error));
            let model = row.prediction.answered().map(|answer| answer.model.name());
            [
                row.prediction.cpus().to_string(),
                model.unwrap_or("deadlock").to_owned(),
                or_dash(row.predicted().map(|time| time.to_string())),
                row.real.median.to_string(),
                or_dash(percent(row.error())),
                or_dash(
                    row.predicted_speedup()
                        .map(|speedup| format!("{speedup:.2}")),
                ),
                format!("{:.2}", row.real_speedup),
                or_dash(percent(row.speedup_error())),
                row.real.range(),
            ]
        });
    let table = render(columns, rows);
    let rounds = validation.rounds;
    let plural = if rounds == 1 { "run" } else { "runs" };
    let mut text = format!(
        "{table}\nReal times are medians of {rounds} {plural} each, in turn on one CPU and on several.\n"
    );
    if let Some(comparison) = validation.comparisons.last() {
        text += &machine::text(&comparison.predictions[1].result.machine);
        text.push('\n');
    }
    text
}

/// The document of `validate --json`.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    rounds: u32,
    validations: Vec<ComparisonJson<'a>>,
}

impl<'a> Document<'a> {
    /// Makes the document.
    pub fn new(validation: &'a Validation) -> Self {
        Self {
            rounds: validation.rounds,
            validations: validation
                .comparisons
                .iter()
                .map(ComparisonJson::new)
                .collect(),
        }
    }
}

#[derive(Debug, Serialize)]
struct ComparisonJson<'a> {
    trace: TraceJson<'a>,
    foreign_load: Option<f64>,
    results: Vec<RowJson>,
}

impl<'a> ComparisonJson<'a> {
    fn new(comparison: &'a Comparison) -> Self {
        Self {
            trace: TraceJson::new(&comparison.trace),
            foreign_load: comparison.foreign_load,
            results: comparison.rows().map(|row| RowJson::new(&row)).collect(),
        }
    }
}

/// What is predicted is `null` where every model ended in a deadlock. Errors are relative: 0.1 is 10 % too much.
#[derive(Debug, Serialize)]
struct RowJson {
    cpus: u32,
    model: Option<&'static str>,
    predicted_ns: Option<u64>,
    real_ns: u64,
    real_least_ns: u64,
    real_most_ns: u64,
    error: Option<f64>,
    predicted_speedup: Option<f64>,
    real_speedup: f64,
    speedup_error: Option<f64>,
    machine: MachineJson,
}

impl RowJson {
    fn new(row: &Row<'_>) -> Self {
        Self {
            cpus: row.prediction.cpus(),
            model: row.prediction.answered().map(|answer| answer.model.name()),
            predicted_ns: row.predicted().map(|time| time.0),
            real_ns: row.real.median.0,
            real_least_ns: row.real.least.0,
            real_most_ns: row.real.most.0,
            error: row.error(),
            predicted_speedup: row.predicted_speedup(),
            real_speedup: row.real_speedup,
            speedup_error: row.speedup_error(),
            machine: MachineJson::new(&row.prediction.result.machine),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_in_the_middle() {
        let measured = |times: &[u64]| Measured::of(times.iter().copied().map(Nanos).collect());
        assert_eq!(measured(&[3, 1, 2]).median, Nanos(2));
        let even = measured(&[4, 1, 2, 9]);
        assert_eq!(
            (even.median, even.least, even.most),
            (Nanos(3), Nanos(1), Nanos(9))
        );
    }
}
