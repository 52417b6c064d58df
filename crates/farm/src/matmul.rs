//! Amakata's matrix multiplication: the master starts the slaves, gives each its rows and the other matrix, and takes the
//! results from whoever is ready.
//!
//! # Source
//!
//! Amakata, Shinano, Nakamori, section 3.1.

use foretrace_network::Network;
use foretrace_schedule::SimTime;

use crate::{MasterTime, Outcome, leg::Leg};

/// The time of one multiplication and addition.
const STEP: SimTime = SimTime(50_000);

/// The size of an element.
const ELEMENT_BYTES: u64 = 8;

/// Multiplies two square matrices of this size with all ranks of a network but the first, which is the master.
pub fn matmul(size: u64, network: &Network) -> Outcome {
    let slaves = network.node_of_rank.len() as u64 - 1;
    let created = network.model.process_creation().0;
    let mut clock = 0;
    let mut time = MasterTime::default();
    let mut results = Vec::new();
    for slave in 0..slaves {
        let rows = size / slaves + u64::from(slave < size % slaves);
        let rank = slave as u32 + 1;
        let to = Leg::new(
            network,
            0,
            rank,
            ELEMENT_BYTES * (rows * size + size * size),
        );
        let (seen, sent) = to.send(clock);
        let (begin, released) = to.receive(created, seen);
        let sent = released.unwrap_or(sent);
        time.send.0 += sent - clock;
        clock = sent;
        let speed = network.speed_of_rank[rank as usize];
        #[expect(clippy::cast_sign_loss, reason = "speeds are above zero")]
        let work = ((rows * size * size * STEP.0) as f64 / speed).round() as u64;
        let back = Leg::new(network, rank, 0, ELEMENT_BYTES * rows * size);
        results.push((back.send(begin + work).0, rank, back));
    }
    // Whoever is ready first; of several, the one with the lower number.
    results.sort_by_key(|(seen, rank, _)| (*seen, *rank));
    for (seen, _, back) in results {
        let (taken, _) = back.receive(clock, seen);
        let wait = seen.saturating_sub(clock);
        time.wait.0 += wait;
        time.receive.0 += taken - clock - wait;
        clock = taken;
    }
    Outcome {
        makespan: SimTime(clock),
        master: time,
        masters: 1,
    }
}
