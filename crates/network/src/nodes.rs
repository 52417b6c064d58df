//! Which rank lives on which node, and how fast the nodes are.

/// Ranks on nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Nodes {
    /// Neighbouring ranks share a node, so many each.
    pub ranks_per_node: u32,
    /// The node of each rank, where that is said; ranks beyond go on by [`Self::ranks_per_node`] from a new node on.
    pub mapping: Vec<u32>,
    /// How many seconds of recorded work a CPU of a node does a second.
    pub speed: f64,
    /// The same of single nodes.
    pub speeds: Vec<f64>,
}

impl Default for Nodes {
    fn default() -> Self {
        Self {
            ranks_per_node: 1,
            mapping: Vec::new(),
            speed: 1.0,
            speeds: Vec::new(),
        }
    }
}

impl Nodes {
    /// Returns a rank's node.
    pub fn node_of(&self, rank: u32) -> u32 {
        if let Some(node) = self.mapping.get(rank as usize) {
            return *node;
        }
        let beyond = rank - self.mapping.len() as u32;
        let first = self.mapping.iter().max().map_or(0, |last| last + 1);
        first + beyond / self.ranks_per_node.max(1)
    }

    /// Returns the nodes of so many ranks, in the ranks' order.
    pub fn of_ranks(&self, ranks: u32) -> Vec<u32> {
        (0..ranks).map(|rank| self.node_of(rank)).collect()
    }

    /// Returns a node's speed.
    pub fn speed_of(&self, node: u32) -> f64 {
        self.speeds
            .get(node as usize)
            .copied()
            .unwrap_or(self.speed)
    }
}
