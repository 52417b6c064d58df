//! The text form of models: tokens, syntax, and from the syntax and values of parameters to a [`Model`](crate::model::Model).

mod expand;
mod expressions;
mod grammar;
mod names;
mod syntax;
mod tokens;
mod transitions;

pub use expand::{Parameters, Source};
