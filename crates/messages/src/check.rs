//! What no program may say.

use crate::{ANY, BLOCKING, Kind, Program};

/// A program that cannot be replayed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// There are no ranks, or too many.
    #[error("{path}: has {ranks} ranks; there must be from 1 to {MOST_RANKS}")]
    Ranks {
        /// The file.
        path: String,
        /// How many there are.
        ranks: u32,
    },
    /// A peer is no rank of the program.
    #[error(
        "{path}: rank {rank}, operation {number} ({call}): there is no rank {peer}; ranks are 0 to {last}"
    )]
    Peer {
        /// The file.
        path: String,
        /// The rank that says so.
        rank: u32,
        /// Which of its operations, from 1.
        number: usize,
        /// The call.
        call: &'static str,
        /// What it says.
        peer: u32,
        /// The last rank.
        last: u32,
    },
    /// A rank uses more requests than memory should be given for.
    #[error(
        "{path}: rank {rank} uses request number {request}; number them from 0, and use numbers again"
    )]
    Requests {
        /// The file.
        path: String,
        /// The rank.
        rank: u32,
        /// The number.
        request: u32,
    },
}

/// As many ranks as can be replayed.
pub(crate) const MOST_RANKS: u32 = (1 << 24) - 1;

/// The largest number of a request.
const MOST_REQUESTS: u32 = 1 << 24;

impl Program {
    /// Checks that it can be replayed.
    ///
    /// # Errors
    ///
    /// Where peers are no ranks, or numbers are too large: with the rank and the operation.
    pub fn check(&self) -> Result<(), ProgramError> {
        let ranks = self.ranks();
        if ranks == 0 || ranks > MOST_RANKS {
            return Err(ProgramError::Ranks {
                path: self.source.clone(),
                ranks,
            });
        }
        for rank in 0..ranks {
            for (number, op) in self.of_rank(rank).enumerate() {
                let names_peer = matches!(
                    op.kind,
                    Kind::Send | Kind::Receive | Kind::Probe | Kind::Alone
                );
                let is_open = op.peer == ANY && op.kind != Kind::Send;
                if names_peer && op.peer >= ranks && !is_open {
                    return Err(ProgramError::Peer {
                        path: self.source.clone(),
                        rank,
                        number: number + 1,
                        call: op.name(),
                        peer: op.peer,
                        last: ranks - 1,
                    });
                }
                let has_request = op.request != BLOCKING || op.kind == Kind::Wait;
                if has_request && op.request > MOST_REQUESTS {
                    return Err(ProgramError::Requests {
                        path: self.source.clone(),
                        rank,
                        request: op.request,
                    });
                }
            }
        }
        Ok(())
    }
}
