//! Master/slave programs on grids: which processor should be the master, which should be slaves, and how fast they will be.
//!
//! A [`Grid`] is clusters of processors, their networks and those in between. [`plan::Plan`] answers for the steady state by
//! maximum flows, [`simulate::simulate`] for a number of tasks with queues, [`select::select`] adds slaves by simulation;
//! [`fit::recognize`] finds master and slaves in a recording.
//!
//! ```
//! use foretrace_masterslave::{Grid, plan::Plan};
//!
//! let text = "size = 1.0
//! [[cluster]]
//! name = \"c\"
//! bandwidth = 10.0
//! [[processor]]
//! name = \"a\"
//! cluster = \"c\"
//! t_slave = 0.5
//! t_master = 0.1
//! [[processor]]
//! name = \"b\"
//! cluster = \"c\"
//! t_slave = 0.25
//! t_master = 0.2
//! ";
//! let grid = Grid::parse(text, std::path::Path::new("grid.toml"))?;
//! let plan = Plan::new(&grid);
//! assert_eq!(plan.candidates[plan.best].rate, 4.0);
//! # Ok::<(), foretrace_masterslave::GridError>(())
//! ```
//!
//! Deliberately absent: automata networks, which are in `san`; printing; replays of recordings.
//!
//! # Source
//!
//! Shao, Berman, Wolski, "Master/slave computing on the Grid", Heterogeneous Computing Workshop, 2000.

mod error;
mod file;
pub mod fit;
pub mod flow;
pub mod greedy;
pub mod grid;
pub mod picture;
pub mod plan;
pub mod quantity;
pub mod rates;
pub mod schedule;
pub mod select;
pub mod simulate;

pub use error::GridError;
pub use grid::Grid;
