//! The best master, and what limits each.

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::{
    error::GridError,
    flow::{self, Outside},
    greedy::{self, FullLoad, Selection},
    grid::Grid,
    rates::Rates,
};

/// What each processor is worth as a master.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The capacities that it was made from.
    pub rates: Rates,
    /// The processors as masters, in the order of the file.
    pub candidates: Vec<Candidate>,
    /// The position of the best one; of equal ones the first.
    pub best: usize,
    outside: Vec<Outside>,
}

/// A processor as a master.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The processor.
    pub master: usize,
    /// The greatest number of tasks per second that there is with it.
    pub rate: f64,
    /// What the paper's greedy choice of slaves comes to.
    pub greedy_rate: f64,
    /// The resource that limits the rate; of several that do, the one that most tasks use.
    pub bottleneck: Resource,
}

/// Something that tasks use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// A processor's work as the master.
    Master(usize),
    /// A network.
    Network(usize),
    /// A processor's work as a slave.
    Slave(usize),
}

/// How much of a resource is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
    /// The resource.
    pub resource: Resource,
    /// What it could do, in tasks per second.
    pub capacity: f64,
    /// What it does.
    pub used: f64,
}

impl Candidate {
    /// Returns whether the greedy choice of slaves comes to as much as any.
    fn greedy_is_best(&self) -> bool {
        self.greedy_rate >= self.rate * (1.0 - EQUAL)
    }
}

impl Use {
    /// Returns what it could do besides.
    pub fn spare(&self) -> f64 {
        (self.capacity - self.used).max(0.0)
    }
}

impl Resource {
    /// Returns its name in the grid.
    pub fn name(self, grid: &Grid) -> &str {
        match self {
            Self::Master(processor) | Self::Slave(processor) => &grid.processors[processor].name,
            Self::Network(network) => &grid.networks[network].name,
        }
    }

    /// Returns what it is.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Master(_) => "master",
            Self::Network(_) => "network",
            Self::Slave(_) => "slave",
        }
    }
}

/// Rates that differ by less, as a share, count as equal: the greedy choice and the maximum flow add up in other orders.
const EQUAL: f64 = 1e-9;

impl Plan {
    /// Plans a grid.
    pub fn new(grid: &Grid) -> Self {
        let rates = Rates::new(grid);
        let outside: Vec<Outside> = (0..grid.clusters)
            .into_par_iter()
            .map(|cluster| Outside::new(&rates, cluster, f64::INFINITY))
            .collect();
        let loads: Vec<FullLoad> = (0..grid.clusters)
            .map(|cluster| FullLoad::new(&rates, cluster))
            .collect();
        let candidates: Vec<Candidate> = (0..grid.processors.len())
            .into_par_iter()
            .map(|master| {
                let (rate, bottleneck) = exact(&rates, master, &outside[rates.cluster[master]]);
                Candidate {
                    master,
                    rate,
                    greedy_rate: greedy::rate(&rates, master, &loads[rates.cluster[master]]),
                    bottleneck,
                }
            })
            .collect();
        let mut best = 0;
        for (position, candidate) in candidates.iter().enumerate() {
            if candidate.rate > candidates[best].rate {
                best = position;
            }
        }
        Self {
            rates,
            candidates,
            best,
            outside,
        }
    }

    /// Plans a grid whose master is given: the candidate is the best then.
    ///
    /// # Errors
    ///
    /// Where there is no such processor.
    pub fn with_master(grid: &Grid, name: Option<&str>) -> Result<Self, GridError> {
        let mut plan = Self::new(grid);
        if let Some(name) = name {
            plan.best = grid.processor(name)?;
        }
        Ok(plan)
    }

    /// Returns the slaves that make up a candidate's rate: the greedy choice where it is as good as any.
    pub fn slaves(&self, candidate: &Candidate) -> Selection {
        if candidate.greedy_is_best() {
            return greedy::select(&self.rates, candidate.master);
        }
        let outside = self.flow_outside(candidate);
        flow::divide(&self.rates, candidate.master, candidate.rate, &outside)
    }

    /// Returns the use of the master, of all networks and of the slaves that a candidate has.
    pub fn uses(&self, candidate: &Candidate) -> Vec<Use> {
        let rates = &self.rates;
        let selection = self.slaves(candidate);
        let mut networks = vec![0.0; rates.network.len()];
        if candidate.greedy_is_best() {
            for (slave, rate) in &selection.slaves {
                for network in rates.route(candidate.master, *slave) {
                    networks[*network] += rate;
                }
            }
        } else {
            networks = self.flow_outside(candidate).networks;
            networks[rates.cluster[candidate.master]] += selection.rate;
        }
        let mut uses = vec![Use {
            resource: Resource::Master(candidate.master),
            capacity: rates.master[candidate.master],
            used: selection.rate,
        }];
        uses.extend(networks.iter().enumerate().map(|(network, used)| Use {
            resource: Resource::Network(network),
            capacity: rates.network[network],
            used: *used,
        }));
        uses.extend(selection.slaves.iter().map(|(slave, used)| Use {
            resource: Resource::Slave(*slave),
            capacity: rates.slave[*slave],
            used: *used,
        }));
        uses
    }

    /// Returns the flow to other clusters that is left when the master's own has done what it can.
    fn flow_outside(&self, candidate: &Candidate) -> Outside {
        let home = self.rates.cluster[candidate.master];
        let local = local_rate(&self.rates, candidate.master);
        let rest = (candidate.rate - local).max(0.0);
        if rest < self.outside[home].rate {
            Outside::new(&self.rates, home, rest)
        } else {
            self.outside[home].clone()
        }
    }
}

/// Returns what the other processors of a master's cluster can do.
fn local_rate(rates: &Rates, master: usize) -> f64 {
    let members = rates.members[rates.cluster[master]].iter();
    members
        .filter(|p| **p != master)
        .map(|p| rates.slave[*p])
        .sum()
}

/// Returns the greatest rate with a master, and what limits it.
fn exact(rates: &Rates, master: usize, outside: &Outside) -> (f64, Resource) {
    let home = rates.cluster[master];
    let slaves = local_rate(rates, master) + outside.rate;
    let rate = slaves.min(rates.master[master]).min(rates.network[home]);
    let nearly = |capacity: f64| capacity <= rate * (1.0 + EQUAL);
    if nearly(rates.master[master]) {
        return (rate, Resource::Master(master));
    }
    if nearly(rates.network[home]) {
        return (rate, Resource::Network(home));
    }
    let widest = outside.cut_networks.iter().max_by(|a, b| {
        outside.networks[**a]
            .total_cmp(&outside.networks[**b])
            .then(b.cmp(a))
    });
    if let Some(network) = widest {
        return (rate, Resource::Network(*network));
    }
    // No network limits it: all slaves are busy, and the fastest matters most.
    let clusters = outside.cut_clusters.iter().chain([&home]);
    let fastest = clusters
        .filter_map(|cluster| rates.members[*cluster].iter().find(|p| **p != master))
        .max_by(|a, b| rates.slave[**a].total_cmp(&rates.slave[**b]).then(b.cmp(a)));
    (
        rate,
        fastest.map_or(Resource::Master(master), |slave| Resource::Slave(*slave)),
    )
}
