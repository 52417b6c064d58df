//! Stochastic Automata Networks.

pub mod chain;
pub mod classes;
pub mod descriptor;
mod direct;
mod error;
mod expectation;
pub mod expr;
mod fire;
pub mod generator;
pub mod language;
pub mod lump;
pub mod model;
mod reach;
mod solve;
pub mod space;
pub mod stationary;
pub mod template;
pub mod transient;

pub use error::{Bytes, Place, SanError};
pub use solve::{Options, Solution, Storage, solve};
