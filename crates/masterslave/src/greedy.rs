//! The paper's selection of slaves for a master: local ones by decreasing rate, then others.
//!
//! # Source
//!
//! Shao, Berman, Wolski, "Master/slave computing on the Grid", 2000, the algorithm that finds the best processor for the
//! master. Where every slave is reached over one way, and these ways form a tree, nothing better can be found.

use crate::rates::Rates;

/// Slaves and how many tasks a second each takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Processors and rates, in the order in which they were chosen.
    pub slaves: Vec<(usize, f64)>,
    /// The sum of the rates.
    pub rate: f64,
}

/// What of the resources is still free.
#[derive(Clone, Debug)]
pub struct Free {
    /// Of the master.
    pub master: f64,
    /// Of each network.
    pub network: Vec<f64>,
}

/// A share of a slave's rate that is not worth choosing it: rounding leaves about as much of a full network.
const NOTHING: f64 = 1e-12;

impl Free {
    /// Returns everything that there is for a master.
    pub fn all(rates: &Rates, master: usize) -> Self {
        Self {
            master: rates.master[master],
            network: rates.network.clone(),
        }
    }

    /// Takes as much as there is for a slave, up to its rate; none where that is nothing.
    fn take(&mut self, rates: &Rates, master: usize, slave: usize) -> Option<f64> {
        let route = rates.route(master, slave);
        let most = rates.slave[slave];
        let networks = route.iter().map(|network| self.network[*network]);
        let taken = networks.fold(most.min(self.master), f64::min);
        if taken <= NOTHING * most {
            return None;
        }
        self.master -= taken;
        for network in route {
            self.network[*network] -= taken;
        }
        Some(taken)
    }
}

/// Chooses slaves for a master among the processors that `may` take part, from what is free.
pub fn choose(
    rates: &Rates,
    master: usize,
    free: &mut Free,
    may: impl Fn(usize) -> bool,
) -> Selection {
    let mut chosen = Selection::default();
    let home = rates.cluster[master];
    let mut full = vec![false; rates.members.len()];
    let outside = rates.by_rate.iter().filter(|p| rates.cluster[**p] != home);
    for &slave in rates.members[home].iter().chain(outside) {
        let cluster = rates.cluster[slave];
        if slave == master || full[cluster] || !may(slave) {
            continue;
        }
        if let Some(rate) = free.take(rates, master, slave) {
            chosen.slaves.push((slave, rate));
            chosen.rate += rate;
        } else {
            // What has no room for this slave has none for slower ones, but for rounding.
            full[cluster] = true;
        }
        // Every task uses the master and its own network.
        if free.master <= NOTHING * rates.master[master]
            || free.network[home] <= NOTHING * rates.network[home]
        {
            break;
        }
    }
    chosen
}

/// What there would be to do with every slave of other clusters at work, for masters of one cluster.
#[derive(Clone, Debug)]
pub struct FullLoad {
    /// What the slaves outside do together.
    outside: f64,
    /// What they would have each network carry.
    networks: Vec<f64>,
}

impl FullLoad {
    /// Adds up the work of all slaves outside of a cluster.
    pub fn new(rates: &Rates, home: usize) -> Self {
        let mut load = Self {
            outside: 0.0,
            networks: vec![0.0; rates.network.len()],
        };
        for (cluster, members) in rates.members.iter().enumerate().filter(|(c, _)| *c != home) {
            let work: f64 = members.iter().map(|slave| rates.slave[*slave]).sum();
            load.outside += work;
            for network in &rates.routes[home][cluster] {
                load.networks[*network] += work;
            }
        }
        load
    }

    /// Returns the rate with a master where nothing but the slaves themselves limits it.
    fn unlimited(&self, rates: &Rates, master: usize) -> Option<f64> {
        let home = rates.cluster[master];
        let local = rates.members[home].iter().filter(|slave| **slave != master);
        let local: f64 = local.map(|slave| rates.slave[*slave]).sum();
        let rate = local + self.outside;
        let mut loads = self.networks.iter().zip(&rates.network).enumerate();
        let fits = loads.all(|(network, (load, capacity))| {
            let own = if network == home { local } else { 0.0 };
            load + own <= *capacity
        });
        (fits && rate <= rates.master[master]).then_some(rate)
    }
}

/// Returns the rate of [`select`] without the slaves, which on large grids with wide networks takes much less time.
pub fn rate(rates: &Rates, master: usize, load: &FullLoad) -> f64 {
    let unlimited = load.unlimited(rates, master);
    unlimited.unwrap_or_else(|| select(rates, master).rate)
}

/// Chooses slaves for a master among all other processors.
pub fn select(rates: &Rates, master: usize) -> Selection {
    choose(rates, master, &mut Free::all(rates, master), |_| true)
}
