//! What is wrong with a line, before the file and the line's number are known.

use crate::Error;

/// What is wrong with a line.
#[derive(Debug)]
pub(super) struct Problem {
    /// Where in the line, in bytes.
    pub offset: usize,
    /// What should stand there.
    pub expected: String,
    /// What stands there.
    pub found: String,
    /// What to do.
    pub remedy: String,
}

impl Problem {
    pub fn new(
        offset: usize,
        expected: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            offset,
            expected: expected.into(),
            found: found.into(),
            remedy: remedy.into(),
        }
    }

    /// Makes an error of it. `number` counts lines from 1.
    pub fn into_error(self, path: &str, number: usize, line: &str) -> Error {
        // An offset that a parser reports lies on a character boundary; one that did not would count up to it.
        let before = line.char_indices().take_while(|&(at, _)| at < self.offset);
        Error::Text {
            path: path.to_owned(),
            line: number,
            column: before.count() + 1,
            expected: self.expected,
            found: self.found,
            remedy: self.remedy,
        }
    }
}
