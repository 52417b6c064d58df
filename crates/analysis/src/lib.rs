//! What can be told from a recorded trace without simulating: the threads, and the objects and call sites by
//! contention, and where threads spun; and the critical path of a prediction.
//!
//! ```
//! let trace = foretrace_trace::Trace::default();
//! assert!(foretrace_analysis::contention(&trace).is_empty());
//! ```
//!
//! Deliberately absent: predictions, which are the simulator's, and printing.

mod calls;
mod contention;
mod critical_path;
mod operations;
#[cfg(test)]
mod sample;
mod sites;
mod spins;
mod threads;

pub use {
    contention::{Contention, contention},
    critical_path::{PathStep, critical_path},
    operations::{OperationCount, operation_counts},
    sites::{SiteContention, site_contention},
    spins::{Spin, spins},
    threads::{ThreadSummary, threads},
};
