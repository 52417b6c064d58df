//! What is wrong with a network's file.

use std::io;

/// A network's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// It cannot be read.
    #[error("cannot read the network's file {path}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// What it says is not possible.
    #[error("{path}, line {line}: {message}")]
    Invalid {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what to do.
        message: String,
    },
    /// It does not fit the program.
    #[error("{path}: {message}")]
    Unfit {
        /// The file.
        path: String,
        /// What is wrong, and what to do.
        message: String,
    },
}
