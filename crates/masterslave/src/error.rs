//! What can be wrong with a grid, and where.

use std::io;

/// Why a grid has no answer.
#[derive(Debug, thiserror::Error)]
pub enum GridError {
    /// The file cannot be read.
    #[error("cannot read the grid's file {path}")]
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
    /// What was asked for is not possible with this grid.
    #[error("{path}: {message}")]
    Asked {
        /// The file.
        path: String,
        /// What is wrong, and what to do.
        message: String,
    },
}

/// A place in a file's text, in bytes, and what is wrong there.
#[derive(Debug)]
pub(crate) struct Fault {
    pub at: usize,
    pub message: String,
}

impl Fault {
    pub fn new(at: usize, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
        }
    }

    /// Names the file and the line.
    pub fn in_file(self, path: &str, text: &str) -> GridError {
        let before = &text.as_bytes()[..self.at.min(text.len())];
        GridError::Invalid {
            path: path.to_owned(),
            line: 1 + before.split(|byte| *byte == b'\n').skip(1).count(),
            message: self.message,
        }
    }
}

impl From<toml::de::Error> for Fault {
    fn from(error: toml::de::Error) -> Self {
        let at = error.span().map_or(0, |span| span.start);
        Self::new(at, error.message().trim().to_owned())
    }
}
