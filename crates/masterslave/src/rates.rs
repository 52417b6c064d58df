//! The rate model's capacities, and which networks the tasks of a slave cross.

use crate::grid::Grid;

/// A grid's capacities in tasks per second, and its routes.
#[derive(Clone, Debug)]
pub struct Rates {
    /// What each processor can take back as a master.
    pub master: Vec<f64>,
    /// What each processor can do as a slave.
    pub slave: Vec<f64>,
    /// What each network can carry.
    pub network: Vec<f64>,
    /// Each processor's cluster.
    pub cluster: Vec<usize>,
    /// The networks that touch each network.
    pub joins: Vec<Vec<usize>>,
    /// For each cluster the networks on the way to each cluster.
    pub routes: Vec<Vec<Vec<usize>>>,
    /// The processors by decreasing rate as slaves; of equal ones the first first.
    pub by_rate: Vec<usize>,
    /// The same for each cluster's own.
    pub members: Vec<Vec<usize>>,
}

impl Rates {
    /// Computes them.
    pub fn new(grid: &Grid) -> Self {
        let processors = 0..grid.processors.len();
        let slave: Vec<f64> = processors.clone().map(|p| grid.slave_rate(p)).collect();
        let mut by_rate: Vec<usize> = processors.clone().collect();
        by_rate.sort_by(|a, b| slave[*b].total_cmp(&slave[*a]).then(a.cmp(b)));
        let cluster: Vec<usize> = grid.processors.iter().map(|p| p.cluster).collect();
        let mut members = vec![Vec::new(); grid.clusters];
        for &processor in &by_rate {
            members[cluster[processor]].push(processor);
        }
        let routes = (0..grid.clusters).map(|cluster| {
            let mut routes = grid.routes_from(cluster);
            routes.truncate(grid.clusters);
            routes
        });
        Self {
            master: processors.map(|p| grid.master_rate(p)).collect(),
            slave,
            network: (0..grid.networks.len())
                .map(|n| grid.network_rate(n))
                .collect(),
            cluster,
            joins: grid.networks.iter().map(|n| n.joins.clone()).collect(),
            routes: routes.collect(),
            by_rate,
            members,
        }
    }

    /// Returns the networks between a master and a slave.
    pub fn route(&self, master: usize, slave: usize) -> &[usize] {
        &self.routes[self.cluster[master]][self.cluster[slave]]
    }
}
