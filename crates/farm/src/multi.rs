//! Several masters, each with its part of the ranks and of the tasks.
//!
//! # Source
//!
//! MSE, section 3.2 (ML): of P ranks, each of `P_m` masters has P / `P_m`, itself among them.

use foretrace_network::Network;

use crate::{Farm, Outcome, Share, single};

/// Runs a farm with so many masters, at least one and at most half of the ranks.
pub(crate) fn run(farm: &Farm, network: &Network, masters: u32) -> Outcome {
    let ranks = network.node_of_rank.len() as u32;
    let masters = masters.clamp(1, (ranks / 2).max(1));
    let mut whole = Outcome::default();
    for group in 0..masters {
        // What cannot be divided evenly goes to the first ones, one each.
        let begin = |of: u64, group: u32| {
            let (each, rest) = (of / u64::from(masters), of % u64::from(masters));
            u64::from(group) * each + u64::from(group).min(rest)
        };
        let ranks = u64::from(ranks);
        let (master, last) = (begin(ranks, group) as u32, begin(ranks, group + 1) as u32);
        let first = begin(farm.tasks, group);
        let share = Share {
            first,
            count: begin(farm.tasks, group + 1) - first,
        };
        let part = single::run(farm, network, master, master + 1..last, share);
        whole.makespan = whole.makespan.max(part.makespan);
        if group == 0 {
            whole.master = part.master;
        }
    }
    whole.masters = masters;
    whole
}
