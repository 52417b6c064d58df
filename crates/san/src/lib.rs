//! Stochastic Automata Networks.

pub mod chain;
mod error;
pub mod expr;
mod fire;
pub mod language;
pub mod lump;
pub mod model;
pub mod space;
pub mod stationary;

pub use error::{Bytes, Place, SanError};
