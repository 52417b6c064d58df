//! Topologies: over which links a message goes from one node to another.

use crate::PerByte;

/// Nodes, switches, and links of one speed; every link is there for each direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// All nodes at one switch: a message shares its sender's and its receiver's link.
    Star {
        /// What a byte takes on a link.
        per_byte: PerByte,
    },
    /// Two levels: switches with so many nodes each, and so many links from each switch up to switches of their own.
    FatTree {
        /// What a byte takes on a link.
        per_byte: PerByte,
        /// The nodes at a switch.
        nodes_per_switch: u32,
        /// The links up; a message takes the one that its receiver's number chooses.
        uplinks: u32,
    },
    /// Nodes in a grid whose ends meet; messages go the shorter way, dimension by dimension.
    Torus {
        /// What a byte takes on a link.
        per_byte: PerByte,
        /// The size of each dimension.
        dimensions: Vec<u32>,
    },
}

impl Topology {
    /// Returns what a byte takes on a link.
    pub fn per_byte(&self) -> PerByte {
        match self {
            Self::Star { per_byte }
            | Self::FatTree { per_byte, .. }
            | Self::Torus { per_byte, .. } => *per_byte,
        }
    }

    /// Returns how many nodes it has, where that is limited.
    pub fn room(&self) -> Option<u32> {
        match self {
            Self::Torus { dimensions, .. } => Some(dimensions.iter().product()),
            _ => None,
        }
    }

    /// Adds the links from one node to another to a list; none for a node to itself.
    pub fn route(&self, from: u32, to: u32, links: &mut Vec<u32>) {
        if from == to {
            return;
        }
        match self {
            Self::Star { .. } => links.extend([2 * from, 2 * to + 1]),
            Self::FatTree {
                nodes_per_switch,
                uplinks,
                ..
            } => {
                // Links of nodes are even numbers' halves, those of switches the odd numbers': neither need a limit.
                let node = |number: u32, into: u32| 4 * number + into;
                let up =
                    |switch: u32, link: u32, down: u32| 4 * (switch * uplinks + link) + 2 + down;
                links.push(node(from, 0));
                let (one, other) = (from / nodes_per_switch, to / nodes_per_switch);
                if one != other {
                    let link = to % uplinks;
                    links.extend([up(one, link, 0), up(other, link, 1)]);
                }
                links.push(node(to, 1));
            }
            Self::Torus { dimensions, .. } => {
                let mut here = from;
                let mut stride = 1;
                for (axis, &size) in dimensions.iter().enumerate() {
                    let (mut at, goal) = (here / stride % size, to / stride % size);
                    while at != goal {
                        let forward = (goal + size - at) % size <= size / 2;
                        let direction = 2 * axis as u32 + u32::from(!forward);
                        links.push(here * 2 * dimensions.len() as u32 + direction);
                        let next = if forward {
                            (at + 1) % size
                        } else {
                            (at + size - 1) % size
                        };
                        here = here - at * stride + next * stride;
                        at = next;
                    }
                    stride *= size;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(topology: &Topology, from: u32, to: u32) -> Vec<u32> {
        let mut links = Vec::new();
        topology.route(from, to, &mut links);
        links
    }

    #[test]
    fn messages_share_the_links_of_their_ends() {
        let star = Topology::Star {
            per_byte: PerByte::ZERO,
        };
        assert_eq!(route(&star, 0, 2), [0, 5]);
        assert_eq!(route(&star, 1, 2)[1], route(&star, 0, 2)[1]);
        assert_eq!(route(&star, 3, 3), []);
    }

    #[test]
    fn only_messages_between_switches_go_up() {
        let tree = Topology::FatTree {
            per_byte: PerByte::ZERO,
            nodes_per_switch: 4,
            uplinks: 2,
        };
        assert_eq!(route(&tree, 0, 3).len(), 2);
        assert_eq!(route(&tree, 0, 4).len(), 4);
        // Two receivers of another switch whose numbers choose the same link share it.
        assert_eq!(route(&tree, 0, 4)[1], route(&tree, 1, 6)[1]);
        assert_ne!(route(&tree, 0, 4)[1], route(&tree, 1, 5)[1]);
    }

    #[test]
    fn the_shorter_way_round_a_torus_is_taken() {
        let torus = Topology::Torus {
            per_byte: PerByte::ZERO,
            dimensions: vec![4, 4],
        };
        assert_eq!(route(&torus, 0, 3).len(), 1);
        assert_eq!(route(&torus, 0, 10).len(), 4);
        assert_eq!(torus.room(), Some(16));
    }
}
