//! How collective operations are carried out.

use serde::Deserialize;

use crate::Growth;

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CollectiveKind {
    /// Everybody waits for everybody.
    Barrier,
    /// One gives the same to all.
    Bcast,
    /// One gets something from each.
    Gather,
    /// One gives something to each.
    Scatter,
    /// Everybody gets something from each.
    Allgather,
    /// Everybody gives something else to each.
    Alltoall,
    /// One gets what all have together.
    Reduce,
    /// Everybody gets what all have together.
    Allreduce,
    /// Everybody gets a part of what all have together.
    ReduceScatter,
    /// Everybody gets what those up to it have together.
    Scan,
}

impl CollectiveKind {
    /// All kinds.
    pub const ALL: [Self; 10] = [
        Self::Barrier,
        Self::Bcast,
        Self::Gather,
        Self::Scatter,
        Self::Allgather,
        Self::Alltoall,
        Self::Reduce,
        Self::Allreduce,
        Self::ReduceScatter,
        Self::Scan,
    ];

    /// Returns its name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Bcast => "bcast",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Allgather => "allgather",
            Self::Alltoall => "alltoall",
            Self::Reduce => "reduce",
            Self::Allreduce => "allreduce",
            Self::ReduceScatter => "reduce-scatter",
            Self::Scan => "scan",
        }
    }

    /// Returns the algorithms that carry it out; the first is the one for small messages.
    pub fn algorithms(self) -> &'static [Algorithm] {
        use Algorithm as A;
        match self {
            Self::Barrier => &[
                A::Dissemination,
                A::Linear,
                A::Binomial,
                A::RecursiveDoubling,
            ],
            Self::Bcast => &[A::Binomial, A::Linear, A::Ring],
            Self::Gather | Self::Scatter | Self::Reduce => &[A::Binomial, A::Linear],
            Self::Allgather => &[A::RecursiveDoubling, A::Ring, A::Linear],
            Self::Alltoall => &[A::Linear, A::Pairwise],
            Self::Allreduce => &[
                A::RecursiveDoubling,
                A::Rabenseifner,
                A::Ring,
                A::Binomial,
                A::Linear,
            ],
            Self::ReduceScatter => &[A::RecursiveDoubling, A::Pairwise, A::Ring],
            Self::Scan => &[A::RecursiveDoubling, A::Linear],
        }
    }
}

/// An algorithm of a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// The root sends to or receives from each, one after the other; without a root, everybody sends to everybody.
    Linear,
    /// A tree that doubles at every step.
    Binomial,
    /// Partners at distances 1, 2, 4 ... exchange what they have.
    RecursiveDoubling,
    /// Pieces go round.
    Ring,
    /// Reduce-scatter by halving, then allgather by doubling.
    Rabenseifner,
    /// Each signals those at distances 1, 2, 4 ... ahead.
    Dissemination,
    /// At step i each exchanges with the ranks i before and i after.
    Pairwise,
}

impl Algorithm {
    /// Returns its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Binomial => "binomial",
            Self::RecursiveDoubling => "recursive-doubling",
            Self::Ring => "ring",
            Self::Rabenseifner => "rabenseifner",
            Self::Dissemination => "dissemination",
            Self::Pairwise => "pairwise",
        }
    }
}

/// Whether collectives are carried out as messages or by a formula.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// As messages.
    #[default]
    Messages,
    /// All members leave at once, a time after the last has come that grows so with their number.
    Analytic(Growth),
}

/// How collective operations are carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collectives {
    /// As messages or by a formula.
    pub style: Style,
    /// The algorithms that were asked for; the others are chosen by size.
    pub chosen: Vec<(CollectiveKind, Algorithm)>,
}

/// From how many bytes on the algorithms for large messages are taken, which send less and oftener.
const LARGE: u64 = 8192;

impl Collectives {
    /// Returns the algorithm of a collective of so many bytes for each member, among so many.
    pub fn algorithm(&self, kind: CollectiveKind, bytes: u64, members: u32) -> Algorithm {
        let own = self.chosen.iter().rev().find(|(which, _)| *which == kind);
        if let Some((_, algorithm)) = own {
            return *algorithm;
        }
        let large = bytes >= LARGE && members > 2;
        match kind {
            CollectiveKind::Allreduce if large => Algorithm::Rabenseifner,
            CollectiveKind::Allgather if large => Algorithm::Ring,
            CollectiveKind::Alltoall | CollectiveKind::ReduceScatter if large => {
                Algorithm::Pairwise
            }
            CollectiveKind::Bcast if bytes >= 64 * LARGE && members > 8 => Algorithm::Ring,
            _ => kind.algorithms()[0],
        }
    }
}
