//! What models of a recording's master and slaves predict, beside each other.

use foretrace_masterslave::fit::Fit;
use foretrace_trace::Nanos;
use serde::Serialize;

use crate::table::{Align, render, unknown};

/// What was recognized, and what the models predict of it.
pub struct Report<'a> {
    /// What was recognized.
    pub fit: &'a Fit,
    /// A row for each number of slaves.
    pub rows: Vec<Row>,
}

/// Tasks per second with a number of slaves.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Row {
    /// The number of slaves.
    pub slaves: u32,
    /// By the rate model.
    pub rate_model: f64,
    /// By the queueing simulation.
    pub queueing: f64,
    /// By the automata network.
    pub network: f64,
    /// By replaying the recording, where it tells of so many slaves.
    pub replay: Option<f64>,
}

/// What more slaves have to gain to be chosen, all together.
const GAIN: f64 = 0.05;

/// The document of `grid fit --json` and `san fit --json`.
#[derive(Debug, Serialize)]
pub struct ReportJson<'a> {
    kind: &'static str,
    master: &'a str,
    slaves: &'a [String],
    tasks: usize,
    task_seconds: TimesJson,
    master_seconds: f64,
    /// `null` where messages have no size.
    message_bytes: Option<f64>,
    predictions: &'a [Row],
    chosen_slaves: ChosenJson,
    model: &'a str,
}

#[derive(Debug, Serialize)]
struct TimesJson {
    mean: f64,
    sd: f64,
    min: f64,
    median: f64,
    max: f64,
}

#[derive(Debug, Serialize)]
struct ChosenJson {
    rate_model: Option<u32>,
    queueing: Option<u32>,
    network: Option<u32>,
    replay: Option<u32>,
}

impl Report<'_> {
    /// Returns the least number of slaves whose rate is within 5 % of the best; none where there is but one rate.
    fn chosen(&self, rate: impl Fn(&Row) -> Option<f64>) -> Option<u32> {
        let rates: Vec<(u32, f64)> = self
            .rows
            .iter()
            .filter_map(|row| Some((row.slaves, rate(row)?)))
            .collect();
        let best = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let first = rates.iter().find(|(_, rate)| *rate >= best * (1.0 - GAIN));
        first.filter(|_| rates.len() > 1).map(|(slaves, _)| *slaves)
    }

    fn choices(&self) -> ChosenJson {
        ChosenJson {
            rate_model: self.chosen(|row| Some(row.rate_model)),
            queueing: self.chosen(|row| Some(row.queueing)),
            network: self.chosen(|row| Some(row.network)),
            replay: self.chosen(|row| row.replay),
        }
    }

    fn times(&self) -> TimesJson {
        let mut sorted = self.fit.tasks.clone();
        sorted.sort_by(f64::total_cmp);
        let mean = self.fit.mean_task();
        let squares: f64 = sorted.iter().map(|time| (time - mean).powi(2)).sum();
        TimesJson {
            mean,
            sd: (squares / sorted.len() as f64).sqrt(),
            min: sorted.first().copied().unwrap_or(0.0),
            median: sorted.get(sorted.len() / 2).copied().unwrap_or(0.0),
            max: sorted.last().copied().unwrap_or(0.0),
        }
    }

    /// Makes the JSON document.
    pub fn json<'a>(&'a self, model: &'a str) -> ReportJson<'a> {
        ReportJson {
            kind: self.fit.kind.described(),
            master: &self.fit.master,
            slaves: &self.fit.slaves,
            tasks: self.fit.tasks.len(),
            task_seconds: self.times(),
            master_seconds: self.fit.master_seconds,
            message_bytes: self.fit.bytes,
            predictions: &self.rows,
            chosen_slaves: self.choices(),
            model,
        }
    }

    /// Shows the report.
    pub fn text(&self) -> String {
        let times = self.times();
        #[expect(clippy::cast_sign_loss, reason = "times are not negative")]
        let time = |seconds: f64| Nanos((1e9 * seconds).round() as u64);
        let mut text = format!(
            "Recognized: {}\nmaster {} works {} for each task; {} slaves did {} tasks\ntask times: mean {}, deviation {}, median {}, \
             from {} to {}\n\nTasks per second, by number of slaves:\n",
            self.fit.kind.described(),
            self.fit.master,
            time(self.fit.master_seconds),
            self.fit.slaves.len(),
            self.fit.tasks.len(),
            time(times.mean),
            time(times.sd),
            time(times.median),
            time(times.min),
            time(times.max)
        );
        let rate = |value: f64| format!("{value:.1}");
        let rows = self.rows.iter().map(|row| {
            [
                row.slaves.to_string(),
                rate(row.rate_model),
                rate(row.queueing),
                rate(row.network),
                row.replay.map_or_else(unknown, rate),
            ]
        });
        let choices = self.choices();
        let last = self.rows.last().map(|row| row.slaves);
        // The last row may not be the best yet.
        let choice = |slaves: Option<u32>| match slaves {
            None => unknown(),
            Some(n) if Some(n) == last => format!("{n} or more"),
            Some(n) => n.to_string(),
        };
        let chosen = [
            "chosen".to_owned(),
            choice(choices.rate_model),
            choice(choices.queueing),
            choice(choices.network),
            choice(choices.replay),
        ];
        text += &render(
            [
                ("slaves", Align::Right),
                ("rate model", Align::Right),
                ("queueing", Align::Right),
                ("automata", Align::Right),
                ("replay", Align::Right),
            ],
            rows.chain([chosen]),
        );
        text += "\nchosen: the least number of slaves within 5 % of the best rate in its column\n";
        text
    }
}
