//! What is wrong with a file, and where.

use std::{io, path::Path};

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
    pub fn in_file(self, path: &Path, text: &str) -> MachineError {
        let before = &text.as_bytes()[..self.at.min(text.len())];
        MachineError::Invalid {
            path: path.display().to_string(),
            line: 1 + before.split(|byte| *byte == b'\n').skip(1).count(),
            message: self.message,
        }
    }
}

impl From<toml::de::Error> for Fault {
    fn from(error: toml::de::Error) -> Self {
        let at = error.span().map_or(0, |span| span.start);
        Self::new(at, nearest_named(error.message()))
    }
}

/// Names the nearest key or value where an unknown one is complained of, as serde does: with the known ones in quotes
/// behind it.
fn nearest_named(message: &str) -> String {
    let what = if message.starts_with("unknown field") {
        "is not a key here"
    } else if message.starts_with("unknown variant") {
        "is not known here"
    } else {
        let message = message.replace('\n', " ");
        let remedy = if message.ends_with("expected a string") {
            "; write it in quotes, and times with their unit, as in \"15us\""
        } else {
            ""
        };
        return format!("{}{remedy}", message.trim_end());
    };
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted.next().unwrap_or_default();
    let known: Vec<&str> = quoted.collect();
    let near = known
        .iter()
        .map(|name| (distance(unknown, name), name))
        .min()
        .filter(|(distance, name)| *distance <= name.len().div_ceil(2));
    let hint = match near {
        Some((_, name)) => format!("did you mean `{name}`?"),
        None => format!("known are {}", known.join(", ")),
    };
    format!("`{unknown}` {what}; {hint}")
}

/// Returns how many letters must be put in, left out or changed to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
