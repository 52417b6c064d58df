//! The queueing simulation: processors and networks serve one task at a time, in the order of arrival.
//!
//! A task crosses the networks on the way to its slave, is computed there, crosses them back, and is taken in by the master,
//! who then gives the slave its next task.
//!
//! # Source
//!
//! Shao, Berman, Wolski, "Master/slave computing on the Grid", 2000, section 4.2.

use std::{cmp::Reverse, collections::BinaryHeap};

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

use crate::{error::GridError, grid::Grid, plan::Resource, quantity::Quantity, rates::Rates};

/// A time in attoseconds: sums of decimal times are exact, however small the times and long the run.
pub type Time = u128;

/// Attoseconds of a second.
const SECOND: f64 = 1e18;

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The number of tasks.
    pub tasks: u64,
    /// The share of a task's data that travels to the slave; the rest comes back.
    pub split: f64,
    /// How many tasks each slave has in flight.
    pub in_flight: u32,
    /// Where random numbers begin.
    pub seed: u64,
    /// Whether to keep when each server was busy.
    pub keep_intervals: bool,
}

/// How a simulated run went.
#[derive(Clone, Debug)]
pub struct Run {
    /// The master.
    pub master: usize,
    /// When the master was done with the last task.
    pub makespan: Time,
    /// The slaves, and the tasks that each did.
    pub tasks: Vec<(usize, u64)>,
    /// The servers: the master, networks, slaves.
    pub servers: Vec<Server>,
    /// The number of tasks.
    pub total: u64,
    /// Who handed an idle server its next task: from, to, when; only where intervals are kept.
    pub handovers: Vec<(usize, usize, Time)>,
}

/// Something that serves one task after the other.
#[derive(Clone, Debug)]
pub struct Server {
    /// What it is.
    pub resource: Resource,
    /// How long it served.
    pub busy: Time,
    /// How long it served in each of equally long stretches of the run.
    pub over_time: Stretches,
    /// When it served, where that was kept; what follows without a break is one.
    pub intervals: Vec<(Time, Time)>,
    free_at: Time,
}

/// Busy times in equally long stretches, whose length doubles whenever the run outgrows them.
#[derive(Clone, Debug)]
pub struct Stretches {
    /// How long each is.
    pub length: Time,
    busy: [Time; STRETCHES],
}

/// Into so many stretches a run is divided at most; at least half as many.
const STRETCHES: usize = 64;

impl Stretches {
    fn new() -> Self {
        Self {
            length: 1 << 20,
            busy: [0; STRETCHES],
        }
    }

    fn add(&mut self, start: Time, end: Time) {
        while end > self.length * STRETCHES as Time {
            for pair in 0..STRETCHES / 2 {
                self.busy[pair] = self.busy[2 * pair] + self.busy[2 * pair + 1];
            }
            self.busy[STRETCHES / 2..].fill(0);
            self.length *= 2;
        }
        let mut at = start;
        while at < end {
            let stretch = at / self.length;
            let until = end.min((stretch + 1) * self.length);
            self.busy[stretch as usize] += until - at;
            at = until;
        }
    }

    /// Returns the share of each of `parts` equal parts of a run in which the server was busy.
    pub fn shares(&self, makespan: Time, parts: usize) -> Vec<f64> {
        let length = self.length as f64;
        let part = makespan as f64 / parts as f64;
        let busy_until = |time: f64| {
            #[expect(clippy::cast_sign_loss, reason = "times are not negative")]
            let index = ((time / length) as usize).min(STRETCHES);
            let begin = length * index as f64;
            let before: f64 = self.busy[..index].iter().map(|busy| *busy as f64).sum();
            let within = self.busy.get(index).map_or(0.0, |busy| *busy as f64);
            // The last stretch ends with the run.
            let room = length.min(makespan as f64 - begin);
            let share = if room > 0.0 {
                (time - begin) / room
            } else {
                0.0
            };
            before + within * share
        };
        (0..parts)
            .map(|index| {
                let (from, to) = (part * index as f64, part * (index + 1) as f64);
                ((busy_until(to) - busy_until(from)) / part).clamp(0.0, 1.0)
            })
            .collect()
    }
}

impl Run {
    /// Returns the makespan in seconds.
    pub fn makespan_seconds(&self) -> f64 {
        seconds(self.makespan)
    }

    /// Returns the tasks per second.
    pub fn rate(&self) -> f64 {
        self.total as f64 / self.makespan_seconds()
    }

    /// Returns the share of the makespan in which a server was busy.
    pub fn utilization(&self, server: &Server) -> f64 {
        server.busy as f64 / self.makespan as f64
    }
}

/// Returns a time in seconds.
pub fn seconds(time: Time) -> f64 {
    time as f64 / SECOND
}

/// A task on its way: which slave's, and the next stage of its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrival {
    at: Time,
    number: u64,
    slave: usize,
    stage: usize,
    from: usize,
}

/// A stage of a route: a server and what it has to do.
#[derive(Clone, Copy)]
struct Stage {
    server: usize,
    work: Work,
}

#[derive(Clone, Copy)]
enum Work {
    /// A share of the task's data.
    Transfer(f64),
    Compute,
    TakeIn,
}

struct Simulation<'a> {
    grid: &'a Grid,
    servers: Vec<Server>,
    routes: Vec<Vec<Stage>>,
    rng: ChaCha8Rng,
    open: BinaryHeap<Reverse<Arrival>>,
    number: u64,
    handovers: Vec<(usize, usize, Time)>,
    keep: bool,
}

/// Simulates a master and its slaves; at 0 each slave gets its first tasks, in the order of `slaves`.
///
/// # Errors
///
/// Where there is nothing to simulate, or a load trace would let a task never end.
pub fn simulate(
    grid: &Grid,
    rates: &Rates,
    master: usize,
    slaves: &[usize],
    workload: &Workload,
) -> Result<Run, GridError> {
    if slaves.is_empty() {
        return Err(grid.asked(format!(
            "no slave can work for the master {}",
            grid.processors[master].name
        )));
    }
    let mut simulation = Simulation::new(grid, rates, master, slaves, workload);
    let mut given = 0;
    for _ in 0..workload.in_flight.max(1) {
        for slave in 0..slaves.len() {
            if given < workload.tasks {
                simulation.arrive(0, slave, 0, usize::MAX);
                given += 1;
            }
        }
    }
    let mut done = vec![0; slaves.len()];
    let mut makespan = 0;
    while let Some(Reverse(arrival)) = simulation.open.pop() {
        if arrival.stage < simulation.routes[arrival.slave].len() {
            simulation.serve(arrival)?;
            continue;
        }
        makespan = arrival.at;
        done[arrival.slave] += 1;
        if given < workload.tasks {
            simulation.arrive(arrival.at, arrival.slave, 0, arrival.from);
            given += 1;
        }
    }
    Ok(Run {
        master,
        makespan,
        tasks: slaves.iter().copied().zip(done).collect(),
        servers: simulation.servers,
        total: workload.tasks,
        handovers: simulation.handovers,
    })
}

impl<'a> Simulation<'a> {
    fn new(
        grid: &'a Grid,
        rates: &Rates,
        master: usize,
        slaves: &[usize],
        workload: &Workload,
    ) -> Self {
        let mut resources = vec![Resource::Master(master)];
        let mut networks: Vec<usize> = slaves
            .iter()
            .flat_map(|slave| rates.route(master, *slave))
            .copied()
            .collect();
        networks.sort_unstable();
        networks.dedup();
        resources.extend(networks.iter().map(|network| Resource::Network(*network)));
        resources.extend(slaves.iter().map(|slave| Resource::Slave(*slave)));
        let network = |network: &usize| 1 + networks.partition_point(|known| known < network);
        let routes = slaves.iter().enumerate().map(|(position, slave)| {
            let transfer = |share| {
                move |server: usize| Stage {
                    server,
                    work: Work::Transfer(share),
                }
            };
            let way: Vec<usize> = rates.route(master, *slave).iter().map(network).collect();
            let there = way.iter().copied().map(transfer(workload.split));
            let back = way
                .iter()
                .rev()
                .copied()
                .map(transfer(1.0 - workload.split));
            let compute = Stage {
                server: 1 + networks.len() + position,
                work: Work::Compute,
            };
            let take_in = Stage {
                server: 0,
                work: Work::TakeIn,
            };
            there
                .chain([compute])
                .chain(back)
                .chain([take_in])
                .collect()
        });
        Self {
            routes: routes.collect(),
            grid,
            servers: resources
                .into_iter()
                .map(|resource| Server {
                    resource,
                    busy: 0,
                    over_time: Stretches::new(),
                    intervals: Vec::new(),
                    free_at: 0,
                })
                .collect(),
            rng: ChaCha8Rng::seed_from_u64(workload.seed),
            open: BinaryHeap::new(),
            number: 0,
            handovers: Vec::new(),
            keep: workload.keep_intervals,
        }
    }

    fn arrive(&mut self, at: Time, slave: usize, stage: usize, from: usize) {
        self.number += 1;
        self.open.push(Reverse(Arrival {
            at,
            number: self.number,
            slave,
            stage,
            from,
        }));
    }

    /// Serves a task as soon as its server is free, and sends it on.
    fn serve(&mut self, arrival: Arrival) -> Result<(), GridError> {
        let stage = self.routes[arrival.slave][arrival.stage];
        let start = arrival.at.max(self.servers[stage.server].free_at);
        let took = self.service(stage, seconds(start));
        #[expect(clippy::cast_sign_loss, reason = "services are not negative")]
        let end = start.saturating_add((took * SECOND).round() as Time);
        // Times from 10^18 seconds on are as good as never.
        if !took.is_finite() || end > Time::MAX / 4 {
            return Err(self.grid.asked(format!(
                "{} {} would never be done: its load leaves it nothing, or the run takes longer than can be counted",
                self.servers[stage.server].resource.kind(),
                self.servers[stage.server].resource.name(self.grid)
            )));
        }
        let server = &mut self.servers[stage.server];
        if self.keep && end > start {
            if server.free_at < start && arrival.from != usize::MAX && arrival.from != stage.server
            {
                self.handovers.push((arrival.from, stage.server, start));
            }
            match server.intervals.last_mut() {
                Some((_, last)) if *last == start => *last = end,
                _ => server.intervals.push((start, end)),
            }
        }
        server.busy += end - start;
        server.over_time.add(start, end);
        server.free_at = end;
        self.arrive(end, arrival.slave, arrival.stage + 1, stage.server);
        Ok(())
    }

    /// Returns how long a server takes for a task that it begins at a time, in seconds.
    fn service(&mut self, stage: Stage, start: f64) -> f64 {
        let grid = self.grid;
        let rng = &mut self.rng;
        match (stage.work, self.servers[stage.server].resource) {
            (Work::Transfer(share), Resource::Network(network)) => {
                let data = share * grid.size.value(start, rng);
                over(&grid.networks[network].bandwidth, data, start, rng)
            }
            (Work::Compute, Resource::Slave(processor)) => {
                let processor = &grid.processors[processor];
                let work = processor.t_slave.value(start, rng);
                over(&processor.avail, work, start, rng)
            }
            (_, Resource::Master(processor)) => {
                let processor = &grid.processors[processor];
                let work = processor.t_master.value(start, rng);
                over(&processor.avail, work, start, rng)
            }
            // Routes are made of nothing else.
            _ => 0.0,
        }
    }
}

/// Returns how long an amount takes at a speed, from a time on.
fn over(speed: &Quantity, amount: f64, start: f64, rng: &mut ChaCha8Rng) -> f64 {
    match speed {
        Quantity::Course(course) => course.time_for(start, amount),
        other => amount / other.value(start, rng),
    }
}
