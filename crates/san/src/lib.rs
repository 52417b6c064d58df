//! Stochastic automata networks: models of automata that move by events, alone or several at once, and their distributions.
//!
//! A text is read ([`language::Source`]), gets values for its parameters, and becomes a [`model::Model`] with all replicas
//! written out, which [`solve`] solves: in the long run or at a time, with a sparse matrix or without any.
//!
//! ```
//! use foretrace_san::{Options, language::{Parameters, Source}, solve};
//!
//! let text = "event break rate 0.5; event repair rate 2;
//!             automaton Machine { state up { break -> down; } state down { repair -> up; } }
//!             result working = st Machine == up;";
//! let model = Source::read(text, "machine.san")?.model(&Parameters::new())?;
//! let solution = solve(&model, &Options::default())?;
//! assert!((solution.results[0].1 - 0.8).abs() < 1e-12);
//! # Ok::<(), foretrace_san::SanError>(())
//! ```
//!
//! Deliberately absent: files, sweeps over parameters, and how results are shown. Whoever asks brings the text and the values.
//!
//! # Source
//!
//! Plateau and Atif, "Stochastic automata network for modelling parallel systems", IEEE Transactions on Software Engineering,
//! 1991; Baldo, Brenner, Fernandes, Fernandes, Sales, "Performance models for master/slave parallel programs", 2005.

pub mod chain;
mod classes;
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
mod product;
mod reach;
mod solve;
pub mod space;
pub mod stationary;
pub mod template;
pub mod transient;

pub use error::{Bytes, Place, SanError};
pub use solve::{Options, Solution, Storage, solve, solve_watched};
