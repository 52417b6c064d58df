//! Programs to measure with.

use std::str::FromStr;

use foretrace_network::CollectiveKind;

use crate::{ANY, BLOCKING, Builder, Collective, Operation, Program};

/// A pattern of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A grid whose ends meet; at every iteration each rank exchanges a halo of 8 KiB with its four neighbours, and 8 bytes
    /// are reduced for all.
    Stencil,
    /// A master that receives from anybody, and sends the next task to whom it got the last result from.
    MasterSlave,
    /// Each rank sends 20 messages to its neighbour, which receives them in the opposite order.
    Reversed,
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "stencil" => Ok(Self::Stencil),
            "master-slave" => Ok(Self::MasterSlave),
            "reversed" => Ok(Self::Reversed),
            _ => Err("there are stencil, master-slave and reversed".to_owned()),
        }
    }
}

const HALO_BYTES: u64 = 8192;
const WORK_PICOS: u64 = 100_000_000;

/// Makes a program with at least so many messages, those of collectives (by recursive doubling) among them.
pub fn generate(pattern: Pattern, ranks: u32, messages: u64) -> Program {
    let ranks = ranks.max(2);
    let program = match pattern {
        Pattern::Stencil => stencil(ranks, messages),
        Pattern::MasterSlave => master_slave(ranks, messages),
        Pattern::Reversed => reversed(ranks, messages),
    };
    program.finish(format!("{pattern:?} of {ranks} ranks"))
}

fn stencil(ranks: u32, messages: u64) -> Builder {
    let mut builder = Builder::new(ranks);
    let width = (1..=ranks.isqrt())
        .rev()
        .find(|width| ranks.is_multiple_of(*width))
        .unwrap_or(1);
    let height = ranks / width;
    // Ranks that are too many for a power of two reduce with fewer messages.
    let reduced = ranks.ilog2() - u32::from(!ranks.is_power_of_two());
    let each = 4 + u64::from(reduced);
    let iterations = messages.div_ceil(u64::from(ranks) * each);
    let reduce = Collective {
        kind: CollectiveKind::Allreduce,
        root: 0,
        sent: 8,
        received: 8,
        work: 0,
    };
    for rank in 0..ranks {
        let (x, y) = (rank % width, rank / width);
        let at = |x: u32, y: u32| y % height * width + x % width;
        let neighbours = [
            at(x + 1, y),
            at(x + width - 1, y),
            at(x, y + 1),
            at(x, y + height - 1),
        ];
        for _ in 0..iterations {
            builder.push(rank, Operation::work(WORK_PICOS));
            for (side, neighbour) in neighbours.iter().enumerate() {
                // What my right neighbour sends to its left comes to my right.
                let tag = side as u32 ^ 1;
                let receive = Operation::receive(*neighbour, tag, HALO_BYTES);
                builder.push(rank, receive.with_request(side as u32));
            }
            for (side, neighbour) in neighbours.iter().enumerate() {
                let send = Operation::send(*neighbour, side as u32, HALO_BYTES);
                builder.push(rank, send.with_request(4 + side as u32));
            }
            builder.wait_all(rank, &[0, 1, 2, 3, 4, 5, 6, 7]);
            builder.collective(rank, 0, BLOCKING, reduce);
        }
    }
    builder
}

fn master_slave(ranks: u32, messages: u64) -> Builder {
    let mut builder = Builder::new(ranks);
    let slaves = ranks - 1;
    let rounds = messages.div_ceil(2 * u64::from(slaves)).max(1);
    for slave in 1..ranks {
        builder.push(0, Operation::send(slave, 1, 1));
        for _ in 0..rounds {
            builder.push(slave, Operation::receive(0, 1, 1));
            // Not all alike, so that the order of results is not that of ranks.
            builder.push(
                slave,
                Operation::work(WORK_PICOS + u64::from(slave * 7919 % 101) * 10_000),
            );
            builder.push(slave, Operation::send(0, 2, 1));
        }
    }
    for round in 0..rounds {
        for slave in 1..ranks {
            let from = Operation {
                value: u64::from(slave),
                ..Operation::receive(ANY, 2, 1)
            };
            builder.push(0, from);
            if round + 1 < rounds {
                builder.push(0, Operation::send(slave, 1, 1));
            }
        }
    }
    builder
}

fn reversed(ranks: u32, messages: u64) -> Builder {
    const BURST: u32 = 20;
    let mut builder = Builder::new(ranks);
    let rounds = messages.div_ceil(u64::from(ranks) * u64::from(BURST));
    for rank in 0..ranks {
        let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        for _ in 0..rounds {
            for tag in 0..BURST {
                builder.push(rank, Operation::send(next, tag, 8));
            }
            for tag in (0..BURST).rev() {
                builder.push(rank, Operation::receive(previous, tag, 8));
            }
        }
    }
    builder
}
