//! The paper's selection of slaves by simulation: more slaves, as long as some idle and there is room for more.
//!
//! # Source
//!
//! Shao, Berman, Wolski, "Master/slave computing on the Grid", 2000, section 4.3.

use crate::{
    error::GridError,
    greedy::{self, Free},
    grid::Grid,
    plan::{Plan, Resource},
    simulate::{Run, Workload, simulate},
};

/// A round of the selection.
#[derive(Clone, Debug)]
pub struct Round {
    /// The slaves, in the order in which they were chosen.
    pub slaves: Vec<usize>,
    /// How the simulated run with them went.
    pub run: Run,
    /// Why this round was made, and what came of it.
    pub reason: String,
    /// Whether it was worth it: the last such round is the answer.
    pub kept: bool,
}

/// Busy for this share of the time, a slave does not idle.
const BUSY: f64 = 0.99;

/// What a round has to gain to be worth having.
const GAIN: f64 = 0.01;

/// Selects slaves for a plan's best master. Of the rounds that are returned the last one that was kept is the answer.
///
/// # Errors
///
/// As [`simulate`].
pub fn select(grid: &Grid, plan: &Plan, workload: &Workload) -> Result<Vec<Round>, GridError> {
    let rates = &plan.rates;
    let candidate = &plan.candidates[plan.best];
    let master = candidate.master;
    let chosen = plan.slaves(candidate);
    let slaves: Vec<usize> = chosen.slaves.iter().map(|(slave, _)| *slave).collect();
    let run = simulate(grid, rates, master, &slaves, workload)?;
    let mut rounds = vec![Round {
        reason: format!(
            "the slaves that the rate model chooses; it expects {:.4} tasks/s of them",
            chosen.rate
        ),
        slaves,
        run,
        kept: true,
    }];
    loop {
        let last = &rounds[rounds.len() - 1];
        let idle = idle_slaves(last);
        if idle == 0 {
            ended(&mut rounds, "all slaves are busy");
            return Ok(rounds);
        }
        // The rate model chooses again, from what the simulated run left free.
        let mut free = left_free(plan, master, last);
        let more = greedy::choose(rates, master, &mut free, |slave| {
            !last.slaves.contains(&slave)
        });
        if more.slaves.is_empty() {
            let reason = format!(
                "{idle} slaves idle, but no other processor finds room on the networks and the master"
            );
            let all = last.slaves.len() + 1 == grid.processors.len();
            let reason = if all {
                format!("{idle} slaves idle, and there are no more processors")
            } else {
                reason
            };
            ended(&mut rounds, &reason);
            return Ok(rounds);
        }
        let before = last.run.rate();
        let mut slaves = last.slaves.clone();
        slaves.extend(more.slaves.iter().map(|(slave, _)| *slave));
        let run = simulate(grid, rates, master, &slaves, workload)?;
        let gain = run.rate() / before - 1.0;
        let kept = gain >= GAIN;
        let added: Vec<&str> = more
            .slaves
            .iter()
            .map(|(slave, _)| grid.processors[*slave].name.as_str())
            .collect();
        rounds.push(Round {
            slaves,
            run,
            reason: format!(
                "{idle} slaves idled, and networks and master had room for {}: {:+.1} %",
                added.join(", "),
                100.0 * gain
            ),
            kept,
        });
        if !kept {
            ended(&mut rounds, "that is not worth having");
            return Ok(rounds);
        }
    }
}

/// Says in the last round why there is no other.
fn ended(rounds: &mut [Round], reason: &str) {
    if let Some(last) = rounds.last_mut() {
        last.reason = format!("{}; then {reason}", last.reason);
    }
}

fn idle_slaves(round: &Round) -> usize {
    let servers = round.run.servers.iter();
    let slaves = servers.filter(|server| matches!(server.resource, Resource::Slave(_)));
    slaves
        .filter(|server| round.run.utilization(server) < BUSY)
        .count()
}

/// Returns what a simulated run left free of master and networks.
fn left_free(plan: &Plan, master: usize, round: &Round) -> Free {
    let rates = &plan.rates;
    let mut free = Free::all(rates, master);
    let seconds = round.run.makespan_seconds();
    for (slave, tasks) in &round.run.tasks {
        let rate = *tasks as f64 / seconds;
        free.master -= rate;
        for network in rates.route(master, *slave) {
            free.network[*network] -= rate;
        }
    }
    free
}
