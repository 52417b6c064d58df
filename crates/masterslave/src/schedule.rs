//! A simulated run as a schedule, which pictures and the viewer show.

use foretrace_schedule::{Lane, Outcome, Schedule, Segment, SimTime, State, WaitKind, Wake};

use crate::{
    error::GridError,
    grid::Grid,
    plan::Resource,
    simulate::{Run, Time},
};

/// Attoseconds of a picosecond.
const PICOSECOND: Time = 1_000_000;

/// Makes a schedule of a run that kept its intervals: a lane for each server, running while it serves.
///
/// # Errors
///
/// Where the run is longer than the 213 days that schedules can tell of.
pub fn schedule(grid: &Grid, run: &Run) -> Result<Schedule, GridError> {
    let Ok(end) = u64::try_from(run.makespan / PICOSECOND) else {
        return Err(grid.asked(format!(
            "the run takes {:.3e} s, and a schedule holds no more than 213 days; simulate fewer tasks, or leave -o out",
            run.makespan_seconds()
        )));
    };
    let time = |at: Time| SimTime((at / PICOSECOND) as u64);
    let mut processes: Vec<String> = grid.networks[..grid.clusters]
        .iter()
        .map(|network| network.name.clone())
        .collect();
    processes.push("networks".to_owned());
    let lanes = run.servers.iter().enumerate().map(|(position, server)| {
        let mut segments = Vec::new();
        let mut push = |start: SimTime, end: SimTime, state: State| {
            if start < end {
                let object = None;
                let event = None;
                segments.push(Segment {
                    start,
                    end,
                    state,
                    object,
                    event,
                });
            }
        };
        let running = State::Running(position as u32);
        let mut at = SimTime::ZERO;
        let mut open: Option<(SimTime, SimTime)> = None;
        for (start, end) in &server.intervals {
            let (start, end) = (time(*start), time(*end));
            // Breaks of less than a picosecond are none.
            if let Some((_, until)) = &mut open
                && *until == start
            {
                *until = end;
                continue;
            }
            if let Some((start, until)) = open.take() {
                push(at, start, State::Blocked(WaitKind::Wait));
                push(start, until, running);
                at = until;
            }
            open = (start < end).then_some((start, end));
        }
        if let Some((start, until)) = open {
            push(at, start, State::Blocked(WaitKind::Wait));
            push(start, until, running);
            at = until;
        }
        push(at, SimTime(end), State::Blocked(WaitKind::Wait));
        let (name, process) = match server.resource {
            Resource::Master(p) => (
                format!("{} (master)", grid.processors[p].name),
                grid.processors[p].cluster,
            ),
            Resource::Slave(p) => (grid.processors[p].name.clone(), grid.processors[p].cluster),
            Resource::Network(n) => (format!("network {}", grid.networks[n].name), grid.clusters),
        };
        Lane {
            name,
            process: process as u32,
            segments,
            end: Some(SimTime(end)),
        }
    });
    let mut wakes: Vec<Wake> = run
        .handovers
        .iter()
        .map(|(from, to, at)| Wake::at_once(*from as u32, *to as u32, time(*at)))
        .collect();
    wakes.sort_by_key(|wake| wake.at);
    Ok(Schedule {
        source: grid.path.clone(),
        model: "grid".to_owned(),
        cpus: run.servers.len() as u32,
        network: None,
        end: SimTime(end),
        outcome: Outcome::Completed,
        lanes: lanes.collect(),
        processes,
        objects: Vec::new(),
        wakes,
    })
}
