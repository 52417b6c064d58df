//! The exact answer of the rate model: a maximum flow from the master to the slaves.
//!
//! Vertices are networks, each split in two with its capacity in between; a cluster's slaves are one arc to the sink, as wide
//! as all of them together. So one flow per cluster answers for every master in it: from the master's own network on, the
//! slaves of its cluster and those outside do not get into each other's way.

use petgraph::{
    algo::dinics,
    graph::{DiGraph, EdgeIndex, NodeIndex},
    visit::EdgeRef as _,
};

use crate::{greedy::Selection, rates::Rates};

/// What a cluster's masters can have from the slaves of other clusters.
#[derive(Clone, Debug)]
pub struct Outside {
    /// Tasks per second of all slaves outside together.
    pub rate: f64,
    /// Tasks per second of each cluster's slaves.
    pub slaves: Vec<f64>,
    /// Tasks per second over each network but the master's own.
    pub networks: Vec<f64>,
    /// The networks whose capacity limits the rate.
    pub cut_networks: Vec<usize>,
    /// The clusters whose slaves limit the rate.
    pub cut_clusters: Vec<usize>,
}

/// Of a capacity, as much as counts as nothing: rounding.
const ROUNDING: f64 = 1e-12;

impl Outside {
    /// Finds the maximum flow out of a cluster, of at most so many tasks per second.
    pub fn new(rates: &Rates, home: usize, most: f64) -> Self {
        let networks = rates.network.len();
        let clusters = rates.members.len();
        let mut graph = DiGraph::<(), f64>::new();
        let source = graph.add_node(());
        let sink = graph.add_node(());
        let enter: Vec<NodeIndex> = (0..networks).map(|_| graph.add_node(())).collect();
        let leave: Vec<NodeIndex> = (0..networks).map(|_| graph.add_node(())).collect();
        let slaves = |cluster: usize| -> f64 {
            rates.members[cluster].iter().map(|p| rates.slave[*p]).sum()
        };
        let enough = 1.0 + (0..clusters).map(slaves).sum::<f64>();
        graph.add_edge(source, leave[home], most.min(enough));
        let mut through: Vec<Option<EdgeIndex>> = vec![None; networks];
        let mut done: Vec<Option<EdgeIndex>> = vec![None; clusters];
        for network in (0..networks).filter(|network| *network != home) {
            through[network] =
                Some(graph.add_edge(enter[network], leave[network], rates.network[network]));
            if network < clusters {
                done[network] = Some(graph.add_edge(leave[network], sink, slaves(network)));
            }
        }
        for (network, joins) in rates.joins.iter().enumerate() {
            for next in joins.iter().filter(|next| **next != home) {
                graph.add_edge(leave[network], enter[*next], enough);
            }
        }
        let (rate, flows) = dinics(&graph, source, sink);
        let flow = |edge: &Option<EdgeIndex>| edge.map_or(0.0, |edge| flows[edge.index()]);
        let near = reached(&graph, source, &flows);
        let cut = |from: NodeIndex, to: NodeIndex| near[from.index()] && !near[to.index()];
        Self {
            rate,
            slaves: done.iter().map(flow).collect(),
            networks: through.iter().map(flow).collect(),
            cut_networks: (0..networks)
                .filter(|n| *n != home && cut(enter[*n], leave[*n]))
                .collect(),
            cut_clusters: (0..clusters)
                .filter(|c| *c != home && cut(leave[*c], sink))
                .collect(),
        }
    }
}

/// Returns which vertices the source can still send more to.
fn reached(graph: &DiGraph<(), f64>, source: NodeIndex, flows: &[f64]) -> Vec<bool> {
    let mut near = vec![false; graph.node_count()];
    near[source.index()] = true;
    let mut open = vec![source];
    while let Some(vertex) = open.pop() {
        let flow = |edge: EdgeIndex| flows[edge.index()];
        let onward = graph
            .edges(vertex)
            .filter(|edge| edge.weight() - flow(edge.id()) > ROUNDING * edge.weight())
            .map(|edge| edge.target());
        let back = graph
            .edges_directed(vertex, petgraph::Direction::Incoming)
            .filter(|edge| flow(edge.id()) > ROUNDING * edge.weight())
            .map(|edge| edge.source());
        let next: Vec<NodeIndex> = onward.chain(back).collect();
        for vertex in next {
            if !near[vertex.index()] {
                near[vertex.index()] = true;
                open.push(vertex);
            }
        }
    }
    near
}

/// Divides the rate of a maximum flow among slaves: the master's own first, and fast ones before slow ones.
pub fn divide(rates: &Rates, master: usize, rate: f64, outside: &Outside) -> Selection {
    let home = rates.cluster[master];
    let mut chosen = Selection::default();
    let mut give = |cluster: usize, mut left: f64| {
        for &slave in &rates.members[cluster] {
            let part = rates.slave[slave].min(left);
            if slave != master && part > ROUNDING * rates.slave[slave] {
                chosen.slaves.push((slave, part));
                chosen.rate += part;
                left -= part;
            }
        }
    };
    give(home, rate - outside.rate);
    for (cluster, flow) in outside.slaves.iter().enumerate() {
        give(cluster, *flow);
    }
    chosen
}
