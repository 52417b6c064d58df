//! What is found out about grids: tables for people, JSON for programs.

use std::fmt::Write as _;

use foretrace_masterslave::{
    Grid,
    plan::{Candidate, Plan, Use},
    select::Round,
    simulate::Run,
};
use serde::Serialize;

use crate::table::{Align, render};

/// As many masters as the table shows.
const MOST_MASTERS: usize = 20;

/// As many slaves as the table shows.
const MOST_SLAVES: usize = 40;

/// As many slaves as all candidates together list in JSON; of larger grids only the best one lists its.
const MOST_LISTED: usize = 200_000;

/// In so many stretches the use of resources over time is told.
const STRETCHES: usize = 20;

/// The document of `grid plan --json`.
#[derive(Debug, Serialize)]
pub struct PlanJson<'a> {
    best: BestJson<'a>,
    candidates: Vec<CandidateJson<'a>>,
}

#[derive(Debug, Serialize)]
struct BestJson<'a> {
    master: &'a str,
    rate: f64,
    greedy_rate: f64,
    bottleneck: &'a str,
    bottleneck_kind: &'static str,
    slaves: Vec<SlaveJson<'a>>,
    resources: Vec<ResourceJson<'a>>,
}

#[derive(Debug, Serialize)]
struct CandidateJson<'a> {
    master: &'a str,
    rate: f64,
    greedy_rate: f64,
    /// Left out where all candidates together would list too many.
    #[serde(skip_serializing_if = "Option::is_none")]
    slaves: Option<Vec<SlaveJson<'a>>>,
    bottleneck: &'a str,
    bottleneck_kind: &'static str,
}

#[derive(Debug, Serialize)]
struct SlaveJson<'a> {
    name: &'a str,
    rate: f64,
}

#[derive(Debug, Serialize)]
struct ResourceJson<'a> {
    name: &'a str,
    kind: &'static str,
    capacity: f64,
    used: f64,
    spare: f64,
}

impl<'a> PlanJson<'a> {
    /// Makes the document.
    pub fn new(grid: &'a Grid, plan: &Plan) -> Self {
        let best = &plan.candidates[plan.best];
        let processors = plan.candidates.len();
        let lists = processors.saturating_mul(processors) <= MOST_LISTED;
        let candidate = |candidate: &Candidate| CandidateJson {
            master: &grid.processors[candidate.master].name,
            rate: candidate.rate,
            greedy_rate: candidate.greedy_rate,
            slaves: lists.then(|| slaves(grid, plan, candidate)),
            bottleneck: candidate.bottleneck.name(grid),
            bottleneck_kind: candidate.bottleneck.kind(),
        };
        Self {
            best: BestJson {
                master: &grid.processors[best.master].name,
                rate: best.rate,
                greedy_rate: best.greedy_rate,
                bottleneck: best.bottleneck.name(grid),
                bottleneck_kind: best.bottleneck.kind(),
                slaves: slaves(grid, plan, best),
                resources: plan.uses(best).iter().map(|u| resource(grid, u)).collect(),
            },
            candidates: plan.candidates.iter().map(candidate).collect(),
        }
    }
}

fn slaves<'a>(grid: &'a Grid, plan: &Plan, candidate: &Candidate) -> Vec<SlaveJson<'a>> {
    let chosen = plan.slaves(candidate).slaves.into_iter();
    chosen
        .map(|(slave, rate)| SlaveJson {
            name: &grid.processors[slave].name,
            rate,
        })
        .collect()
}

fn resource<'a>(grid: &'a Grid, of: &Use) -> ResourceJson<'a> {
    ResourceJson {
        name: of.resource.name(grid),
        kind: of.resource.kind(),
        capacity: of.capacity,
        used: of.used,
        spare: of.spare(),
    }
}

/// Returns a rate with the digits that matter.
fn rate(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    #[expect(clippy::cast_sign_loss, reason = "it is clamped")]
    let digits = (3.0 - value.abs().log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{value:.digits$}")
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Shows a plan as tables.
pub fn plan_text(grid: &Grid, plan: &Plan) -> String {
    let best = &plan.candidates[plan.best];
    let name = |processor: usize| grid.processors[processor].name.clone();
    let mut text = format!(
        "{} tasks/s with the master {}, limited by the {} {}\n\n",
        rate(best.rate),
        name(best.master),
        best.bottleneck.kind(),
        best.bottleneck.name(grid)
    );
    let mut order: Vec<&Candidate> = plan.candidates.iter().collect();
    order.sort_by(|a, b| b.rate.total_cmp(&a.rate).then(a.master.cmp(&b.master)));
    let masters = order.iter().take(MOST_MASTERS).map(|candidate| {
        [
            name(candidate.master),
            grid.networks[plan.rates.cluster[candidate.master]]
                .name
                .clone(),
            rate(candidate.rate),
            rate(candidate.greedy_rate),
            format!(
                "{} {}",
                candidate.bottleneck.kind(),
                candidate.bottleneck.name(grid)
            ),
        ]
    });
    text += &render(
        [
            ("master", Align::Left),
            ("cluster", Align::Left),
            ("tasks/s", Align::Right),
            ("greedy", Align::Right),
            ("limited by", Align::Left),
        ],
        masters,
    );
    more(&mut text, order.len(), MOST_MASTERS, "masters");
    let uses = plan.uses(best);
    let resources = uses.iter().take(MOST_SLAVES).map(|u| {
        [
            u.resource.name(grid).to_owned(),
            u.resource.kind().to_owned(),
            rate(u.capacity),
            rate(u.used),
            rate(u.spare()),
            percent(u.used / u.capacity),
        ]
    });
    text.push('\n');
    text += &render(
        [
            ("resource", Align::Left),
            ("as", Align::Left),
            ("tasks/s", Align::Right),
            ("used", Align::Right),
            ("spare", Align::Right),
            ("use", Align::Right),
        ],
        resources,
    );
    more(&mut text, uses.len(), MOST_SLAVES, "resources");
    text
}

fn more(text: &mut String, all: usize, shown: usize, what: &str) {
    if all > shown {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "and {} more {what} (--json lists all)", all - shown);
    }
}

/// The document of `grid simulate --json`.
#[derive(Debug, Serialize)]
pub struct RunJson<'a> {
    master: &'a str,
    makespan: f64,
    rate: f64,
    tasks: u64,
    slaves: Vec<TasksJson<'a>>,
    resources: Vec<ServerJson<'a>>,
}

#[derive(Debug, Serialize)]
struct TasksJson<'a> {
    name: &'a str,
    tasks: u64,
}

#[derive(Debug, Serialize)]
struct ServerJson<'a> {
    name: &'a str,
    kind: &'static str,
    utilization: f64,
    /// The shares of equal parts of the run in which it was busy.
    over_time: Vec<f64>,
}

impl<'a> RunJson<'a> {
    /// Makes the document.
    pub fn new(grid: &'a Grid, run: &Run) -> Self {
        let tasks = run.tasks.iter().map(|(slave, tasks)| TasksJson {
            name: &grid.processors[*slave].name,
            tasks: *tasks,
        });
        let servers = run.servers.iter().map(|server| ServerJson {
            name: server.resource.name(grid),
            kind: server.resource.kind(),
            utilization: run.utilization(server),
            over_time: server.over_time.shares(run.makespan, STRETCHES),
        });
        Self {
            master: &grid.processors[run.master].name,
            makespan: run.makespan_seconds(),
            rate: run.rate(),
            tasks: run.total,
            slaves: tasks.collect(),
            resources: servers.collect(),
        }
    }
}

/// Shows a simulated run as a table.
pub fn run_text(grid: &Grid, run: &Run) -> String {
    let mut text = format!(
        "{} tasks in {} s: {} tasks/s with the master {}\n\n",
        run.total,
        rate(run.makespan_seconds()),
        rate(run.rate()),
        grid.processors[run.master].name
    );
    let tasks = |position: usize| {
        let slaves = run.servers.len() - run.tasks.len();
        position
            .checked_sub(slaves)
            .map_or_else(String::new, |slave| run.tasks[slave].1.to_string())
    };
    let rows = run
        .servers
        .iter()
        .enumerate()
        .take(MOST_SLAVES)
        .map(|(position, server)| {
            [
                server.resource.name(grid).to_owned(),
                server.resource.kind().to_owned(),
                tasks(position),
                percent(run.utilization(server)),
                sparkline(&server.over_time.shares(run.makespan, STRETCHES)),
            ]
        });
    text += &render(
        [
            ("resource", Align::Left),
            ("as", Align::Left),
            ("tasks", Align::Right),
            ("use", Align::Right),
            ("over time", Align::Left),
        ],
        rows,
    );
    more(&mut text, run.servers.len(), MOST_SLAVES, "resources");
    text
}

/// Returns shares from 0 to 1 as a row of bars.
fn sparkline(shares: &[f64]) -> String {
    const BARS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |share: &f64| {
        #[expect(clippy::cast_sign_loss, reason = "it is clamped")]
        let height = (share * 8.0).ceil().clamp(0.0, 8.0) as usize;
        BARS[height]
    };
    shares.iter().map(bar).collect()
}

/// The document of `grid select --json`.
#[derive(Debug, Serialize)]
pub struct SelectJson<'a> {
    master: &'a str,
    /// The slaves of the last round that was kept, and their rate.
    slaves: Vec<&'a str>,
    rate: f64,
    rounds: Vec<RoundJson<'a>>,
}

#[derive(Debug, Serialize)]
struct RoundJson<'a> {
    slaves: Vec<&'a str>,
    rate: f64,
    makespan: f64,
    kept: bool,
    reason: &'a str,
}

impl<'a> SelectJson<'a> {
    /// Makes the document; there is at least one round.
    pub fn new(grid: &'a Grid, rounds: &'a [Round]) -> Self {
        let names = |round: &Round| -> Vec<&'a str> {
            let slaves = round.slaves.iter();
            slaves
                .map(|slave| grid.processors[*slave].name.as_str())
                .collect()
        };
        let answer = answer(rounds);
        Self {
            master: answer.map_or("", |round| &grid.processors[round.run.master].name),
            slaves: answer.map(names).unwrap_or_default(),
            rate: answer.map_or(0.0, |round| round.run.rate()),
            rounds: rounds
                .iter()
                .map(|round| RoundJson {
                    slaves: names(round),
                    rate: round.run.rate(),
                    makespan: round.run.makespan_seconds(),
                    kept: round.kept,
                    reason: &round.reason,
                })
                .collect(),
        }
    }
}

fn answer(rounds: &[Round]) -> Option<&Round> {
    rounds.iter().rev().find(|round| round.kept)
}

/// Shows the rounds of a selection.
pub fn select_text(grid: &Grid, rounds: &[Round]) -> String {
    let mut text = String::new();
    for (number, round) in rounds.iter().enumerate() {
        let names: Vec<&str> = round
            .slaves
            .iter()
            .take(MOST_SLAVES)
            .map(|slave| grid.processors[*slave].name.as_str())
            .collect();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "Round {}: {} tasks/s with {} slaves{}: {}\n  {}\n",
            number + 1,
            rate(round.run.rate()),
            round.slaves.len(),
            if round.kept { "" } else { ", not kept" },
            names.join(", "),
            round.reason
        );
    }
    if let Some(answer) = answer(rounds) {
        let _ = writeln!(
            text,
            "{} slaves for the master {}: {} tasks/s",
            answer.slaves.len(),
            grid.processors[answer.run.master].name,
            rate(answer.run.rate())
        );
    }
    text
}
