//! Master/slave programs on grids.

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
