//! What is wrong with a file, and where.

use std::{io, path::Path};

use foretrace_settings::Fault;

/// A machine's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// It cannot be read.
    #[error("cannot read the machine's file {path}")]
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
}

/// Names the file and the line of a fault.
pub(crate) fn in_file(fault: Fault, path: &Path, text: &str) -> MachineError {
    MachineError::Invalid {
        path: path.display().to_string(),
        line: fault.line_in(text),
        message: fault.message,
    }
}
