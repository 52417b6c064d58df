//! Solutions of automata networks: tables for people, JSON and comma-separated values for programs.

use std::{collections::BTreeMap, fmt::Write as _};

use foretrace_charts::{Panel, Series};
use foretrace_san::{Solution, language::Parameters};
use serde::Serialize;

/// A solved point of a sweep.
#[derive(Clone, Debug)]
pub struct Point {
    /// The values that were given.
    pub parameters: Parameters,
    /// What came of them.
    pub solution: Solution,
}

/// A solution as JSON.
#[derive(Debug, Serialize)]
pub struct SolutionJson<'a> {
    /// Whole numbers up to 2^53, and the nearest number beyond.
    states: serde_json::Value,
    solved_states: usize,
    product_states: f64,
    lumped: &'a [String],
    method: &'static str,
    iterations: u64,
    residual: f64,
    residual_sum: f64,
    results: BTreeMap<&'a str, f64>,
}

impl<'a> SolutionJson<'a> {
    /// Takes it over.
    pub fn new(solution: &'a Solution) -> Self {
        let whole = solution.states <= 9.0e15;
        #[expect(clippy::cast_sign_loss, reason = "a number of states is not negative")]
        let states = if whole {
            serde_json::json!(solution.states as u64)
        } else {
            serde_json::json!(solution.states)
        };
        let results = solution.results.iter();
        Self {
            states,
            solved_states: solution.solved_states,
            product_states: solution.product_states,
            lumped: &solution.lumped,
            method: solution.method,
            iterations: solution.iterations,
            residual: solution.residual,
            residual_sum: solution.residual_sum,
            results: results
                .map(|(name, value)| (name.as_str(), *value))
                .collect(),
        }
    }
}

/// The document of a sweep.
#[derive(Debug, Serialize)]
pub struct SweepJson<'a> {
    points: Vec<PointJson<'a>>,
}

#[derive(Debug, Serialize)]
struct PointJson<'a> {
    parameters: &'a Parameters,
    #[serde(flatten)]
    solution: SolutionJson<'a>,
}

impl<'a> SweepJson<'a> {
    /// Makes the document.
    pub fn new(points: &'a [Point]) -> Self {
        let point = |point: &'a Point| PointJson {
            parameters: &point.parameters,
            solution: SolutionJson::new(&point.solution),
        };
        Self {
            points: points.iter().map(point).collect(),
        }
    }
}

/// Returns a number of states as one reads it.
fn count(states: f64) -> String {
    if states >= 1e15 {
        return format!("{states:.3e}");
    }
    let digits = format!("{states:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Shows one solution.
pub fn solution_text(solution: &Solution) -> String {
    let mut text = format!("{} reachable states", count(solution.states));
    // Writing to a string cannot fail.
    let _ = if solution.lumped.is_empty() {
        write!(text, " of {} combinations", count(solution.product_states))
    } else {
        write!(
            text,
            ", lumped to {}, for the replicas of {} are interchangeable",
            count(solution.solved_states as f64),
            solution.lumped.join(" and ")
        )
    };
    let steps = match solution.iterations {
        0 => String::new(),
        steps => format!(", {steps} iterations"),
    };
    let _ = writeln!(
        text,
        "\n{}{steps}, residual {:.1e}\n",
        solution.method, solution.residual
    );
    let widest = solution
        .results
        .iter()
        .map(|(name, _)| name.chars().count())
        .max();
    for (name, value) in &solution.results {
        let width = widest.unwrap_or(0);
        let _ = writeln!(text, "{name:<width$}  {}", shown(*value));
    }
    text
}

/// Returns a result with nine digits after the point; small ones with an exponent.
fn shown(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-4 {
        format!("{value:.6e}")
    } else {
        format!("{value:.9}")
    }
}

/// Shows a sweep as columns: the parameters that vary, the states, the results.
pub fn sweep_text(points: &[Point], varying: &[String]) -> String {
    let mut rows = vec![header(points, varying)];
    for point in points {
        let mut row: Vec<String> = varying
            .iter()
            .map(|name| point.parameters[name].to_string())
            .collect();
        row.push(count(point.solution.states));
        row.extend(
            point
                .solution
                .results
                .iter()
                .map(|(_, value)| shown(*value)),
        );
        rows.push(row);
    }
    let columns = rows[0].len();
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:>width$}"))
            .collect();
        text += cells.join("  ").trim_end();
        text.push('\n');
    }
    text
}

/// Returns a sweep as comma-separated values with all digits.
pub fn sweep_csv(points: &[Point], varying: &[String]) -> String {
    let mut text = header(points, varying).join(",");
    text.push('\n');
    for point in points {
        let mut row: Vec<String> = varying
            .iter()
            .map(|name| point.parameters[name].to_string())
            .collect();
        row.push(point.solution.states.to_string());
        row.extend(
            point
                .solution
                .results
                .iter()
                .map(|(_, value)| value.to_string()),
        );
        text += &row.join(",");
        text.push('\n');
    }
    text
}

fn header(points: &[Point], varying: &[String]) -> Vec<String> {
    let mut names = varying.to_vec();
    names.push("states".to_owned());
    if let Some(first) = points.first() {
        names.extend(first.solution.results.iter().map(|(name, _)| name.clone()));
    }
    names
}

/// Draws a panel for each result: over the first varying parameter, a curve for each combination of the others.
pub fn sweep_panels(points: &[Point], varying: &[String], wanted: &[String]) -> Vec<Panel> {
    let Some((axis, others)) = varying.split_first() else {
        return Vec::new();
    };
    let names = points.first().map(|point| &point.solution.results);
    let names = names.into_iter().flatten().map(|(name, _)| name);
    names
        .filter(|name| wanted.is_empty() || wanted.contains(name))
        .map(|result| {
            let mut series: Vec<Series> = Vec::new();
            for point in points {
                let label: Vec<String> = others
                    .iter()
                    .map(|name| format!("{name} = {}", point.parameters[name]))
                    .collect();
                let label = if label.is_empty() {
                    result.clone()
                } else {
                    label.join(", ")
                };
                let value = point
                    .solution
                    .results
                    .iter()
                    .find(|(name, _)| name == result);
                let at = (
                    point.parameters[axis],
                    value.map_or(f64::NAN, |(_, value)| *value),
                );
                match series.iter_mut().find(|series| series.name == label) {
                    Some(series) => series.points.push(at),
                    None => series.push(Series {
                        name: label,
                        points: vec![at],
                    }),
                }
            }
            for curve in &mut series {
                curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
            }
            Panel {
                title: result.clone(),
                x: axis.clone(),
                y: result.clone(),
                series,
            }
        })
        .collect()
}
