//! What can be told from a recorded trace without simulating: the threads, and the objects and call sites by
//! contention, and where threads spun.
//!
//! ```
//! let trace = foretrace_trace::Trace::default();
//! assert!(foretrace_analysis::contention(&trace).is_empty());
//! ```
//!
//! Deliberately absent: predictions, which are the simulator's, and printing.

mod calls;
mod contention;
mod operations;
#[cfg(test)]
mod sample;
mod sites;
mod spins;
mod threads;

pub use {
    contention::{Contention, contention},
    operations::{OperationCount, operation_counts},
    sites::{SiteContention, site_contention},
    spins::{Spin, spins},
    threads::{ThreadSummary, threads},
};
