//! What can be told from a recorded trace without simulating: the threads, and the objects and call sites by
//! contention, and where threads spun; and what limits a prediction, of threads or of ranks: its critical path, the waits in it, and what changes of the
//! program would be worth.
//!
//! ```
//! let trace = foretrace_trace::Trace::default();
//! assert!(foretrace_analysis::contention(&trace).is_empty());
//! ```
//!
//! Deliberately absent: making predictions, which is the simulator's, and printing.

mod calls;
mod constructs;
mod contention;
mod critical_path;
mod operations;
mod path_parts;
mod path_shares;
mod predicted_waits;
mod rank_changes;
mod rank_places;
#[cfg(test)]
mod sample;
mod sites;
mod spins;
mod spots;
mod threads;
mod wakes;
mod what_if;

pub use {
    constructs::Constructs,
    contention::{Contention, contention},
    critical_path::{PathStep, critical_path},
    operations::{OperationCount, operation_counts},
    path_parts::{PathPart, awaited_by_rank, path_parts},
    path_shares::{OnPath, PathShare, Within, path_shares},
    predicted_waits::{PredictedWait, predicted_waits},
    rank_changes::{WorkTime, worth_a_try_of_ranks},
    rank_places::RankPlaces,
    sites::{SiteContention, site_contention},
    spins::{Spin, spins},
    spots::{Places, Spot, Spots, Step, Stretch},
    threads::{ThreadSummary, threads},
    what_if::{Change, worth_a_try},
};
