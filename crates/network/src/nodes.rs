//! Which rank lives on which node, how fast the nodes are, and what ranks on one node share.

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
    /// How many CPUs of a node can access its memory at once at full speed; above zero.
    pub memory_bandwidth: f64,
    /// The share of ranks' work that goes on accesses to it, from 0 to 1.
    pub memory_bound: f64,
}

impl Default for Nodes {
    fn default() -> Self {
        Self {
            ranks_per_node: 1,
            mapping: Vec::new(),
            speed: 1.0,
            speeds: Vec::new(),
            memory_bandwidth: 2.0,
            memory_bound: 0.0,
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

    /// Returns how many seconds of recorded work each of the ranks on these nodes does a second, when all of them work: where
    /// those of one node ask for more of its memory's bandwidth than there is, they are slowed down alike.
    pub fn speeds_of_ranks(&self, nodes: &[u32]) -> Vec<f64> {
        let most = nodes.iter().max().map_or(0, |last| *last as usize + 1);
        let mut ranks = vec![0_u32; most];
        for &node in nodes {
            ranks[node as usize] += 1;
        }
        let speed = |&node: &u32| {
            let wanted = f64::from(ranks[node as usize]) * self.memory_bound;
            let served = self.memory_bandwidth / wanted.max(self.memory_bandwidth);
            self.speed_of(node) * served
        };
        nodes.iter().map(speed).collect()
    }

    /// Returns a node's speed.
    fn speed_of(&self, node: u32) -> f64 {
        self.speeds
            .get(node as usize)
            .copied()
            .unwrap_or(self.speed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_share_a_memory_are_slowed_down_where_it_does_not_serve_them_all() {
        let nodes = Nodes {
            speed: 2.0,
            memory_bandwidth: 0.75,
            memory_bound: 0.5,
            ..Nodes::default()
        };
        // Two want 1 of the 0.75 that there are, one wants less than that.
        assert_eq!(nodes.speeds_of_ranks(&[0, 1, 0]), [1.5, 2.0, 1.5]);
        assert_eq!(Nodes::default().speeds_of_ranks(&[0, 0]), [1.0, 1.0]);
        assert_eq!(nodes.speeds_of_ranks(&[]), [0.0; 0]);
    }
}
