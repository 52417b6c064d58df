//! A farm's curve: how long it takes with how many ranks.

use foretrace_farm::Outcome;
use foretrace_network::Description;
use foretrace_schedule::SimTime;
use serde_json::{Value, json};

use super::nanos;
use crate::table::{Align, render, unknown};

/// A number of ranks, and how it went with them.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The ranks, with the master.
    pub ranks: u32,
    /// How it went.
    pub outcome: Outcome,
}

/// As long as the longest bar is, in letters.
const LONGEST_BAR: f64 = 40.0;

fn best(points: &[Point]) -> Option<&Point> {
    points
        .iter()
        .min_by_key(|point| (point.outcome.makespan, point.ranks))
}

/// Returns the table, with the curve beside it.
pub fn text(points: &[Point], network: &Description) -> String {
    let columns = [
        ("ranks", Align::Right),
        ("makespan", Align::Right),
        ("master sends", Align::Right),
        ("receives", Align::Right),
        ("waits", Align::Right),
        ("masters", Align::Right),
        ("", Align::Left),
    ];
    let longest = points
        .iter()
        .map(|point| point.outcome.makespan.0)
        .max()
        .unwrap_or_default();
    let share = |time: SimTime, of: SimTime| match of {
        SimTime::ZERO => unknown(),
        whole => format!("{:.0} %", 100.0 * time.0 as f64 / whole.0 as f64),
    };
    let rows = points.iter().map(|point| {
        let Outcome {
            makespan,
            master,
            masters,
        } = point.outcome;
        let length = LONGEST_BAR * makespan.0 as f64 / longest.max(1) as f64;
        #[expect(clippy::cast_sign_loss, reason = "times are not negative")]
        let bar = "█".repeat(length.round() as usize);
        // Beside several masters, the first may be done long before the last.
        let own = master.send + master.receive + master.wait;
        [
            point.ranks.to_string(),
            makespan.to_string(),
            share(master.send, own),
            share(master.receive, own),
            share(master.wait, own),
            masters.to_string(),
            bar,
        ]
    });
    let table = render(columns, rows);
    let Some(best) = best(points) else {
        return table;
    };
    format!(
        "{table}\nFastest with {} ranks: {}. Network: {} ({}).\n",
        best.ranks,
        best.outcome.makespan,
        network.name,
        network.model_name()
    )
}

/// Returns the document of `farm --json`. Times are in nanoseconds, with a fraction where they are not whole.
pub fn json(points: &[Point], network: &Description) -> Value {
    let curve: Vec<Value> = points
        .iter()
        .map(|point| {
            let Outcome { makespan, master, masters } = point.outcome;
            json!({
                "ranks": point.ranks,
                "makespan_ns": nanos(makespan),
                "master": {"send_ns": nanos(master.send), "receive_ns": nanos(master.receive), "wait_ns": nanos(master.wait)},
                "masters": masters,
            })
        })
        .collect();
    json!({
        "curve": curve,
        "best": best(points).map(|point| point.ranks),
        "network": {"name": network.name, "model": network.model_name()},
    })
}
