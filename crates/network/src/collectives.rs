//! How collective operations are carried out.

use foretrace_schedule::SimTime;
use foretrace_trace::CollectiveKind;
use serde::Deserialize;

use crate::{Growth, PerByte};

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
    /// Returns those that carry a collective operation out; the first is the one for small messages.
    pub fn of(kind: CollectiveKind) -> &'static [Self] {
        use Algorithm as A;
        match kind {
            CollectiveKind::Barrier => &[
                A::Dissemination,
                A::Linear,
                A::Binomial,
                A::RecursiveDoubling,
            ],
            CollectiveKind::Bcast => &[A::Binomial, A::Linear, A::Ring],
            CollectiveKind::Gather | CollectiveKind::Scatter | CollectiveKind::Reduce => {
                &[A::Binomial, A::Linear]
            }
            CollectiveKind::Allgather => &[A::RecursiveDoubling, A::Ring, A::Linear],
            CollectiveKind::Alltoall => &[A::Linear, A::Pairwise],
            CollectiveKind::Allreduce => &[
                A::RecursiveDoubling,
                A::Rabenseifner,
                A::Ring,
                A::Binomial,
                A::Linear,
            ],
            CollectiveKind::ReduceScatter => &[A::RecursiveDoubling, A::Pairwise, A::Ring],
            CollectiveKind::Scan => &[A::RecursiveDoubling, A::Linear],
        }
    }

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
    /// What combining takes a CPU for each byte of what it receives (gamma).
    pub combine_per_byte: PerByte,
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
            // Two members have half of it each to combine.
            CollectiveKind::Allreduce if bytes >= LARGE && members > 1 => Algorithm::Rabenseifner,
            CollectiveKind::Allgather if large => Algorithm::Ring,
            CollectiveKind::Alltoall | CollectiveKind::ReduceScatter if large => {
                Algorithm::Pairwise
            }
            CollectiveKind::Bcast if bytes >= 64 * LARGE && members > 8 => Algorithm::Ring,
            _ => Algorithm::of(kind)[0],
        }
    }

    /// Returns what it takes to combine what two members give to a collective, so many bytes each.
    pub fn combining(&self, kind: CollectiveKind, bytes: u64) -> SimTime {
        use CollectiveKind as Kind;
        match kind {
            Kind::Reduce | Kind::Allreduce | Kind::ReduceScatter | Kind::Scan => {
                self.combine_per_byte.times(bytes)
            }
            _ => SimTime::ZERO,
        }
    }
}
