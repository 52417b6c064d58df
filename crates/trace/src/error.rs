//! What can go wrong with a trace file.

/// Why a trace could not be read or written.
///
/// Every message names the file and the place in it, what stood there, what was expected, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be opened, read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file holds no bytes.
    #[error(
        "{path}: is empty; record again with `foretrace record`, or check that the copy is complete"
    )]
    Empty {
        /// The file.
        path: String,
    },
    /// The file is something else.
    #[error("{path}: is not a foretrace file (found: {found}); {remedy}")]
    Foreign {
        /// The file.
        path: String,
        /// What it seems to be.
        found: String,
        /// What to do.
        remedy: String,
    },
    /// A journal is damaged, or the directory holds none.
    #[error(transparent)]
    Journal(#[from] crate::journal::JournalError),
    /// The file was written by a newer foretrace.
    #[error(
        "{path}: is a foretrace file of version {found}, and this reader knows versions up to {known}; \
         use a newer foretrace, or export the trace as text with the one that wrote it"
    )]
    NewerVersion {
        /// The file.
        path: String,
        /// The file's version.
        found: u32,
        /// The newest version that this reader knows.
        known: u32,
    },
    /// A sealed trace is damaged.
    #[error("{path}: byte {offset}: expected {expected}, found {found}; {remedy}")]
    Damaged {
        /// The file.
        path: String,
        /// Where, in bytes from the beginning of the file.
        offset: u64,
        /// What should stand there.
        expected: String,
        /// What stands there.
        found: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A text trace holds bytes that are not text.
    #[error(
        "{path}: byte {offset}: expected UTF-8 text, found byte {found:#04x}; save the file as UTF-8"
    )]
    NotUtf8 {
        /// The file.
        path: String,
        /// Where, in bytes from the beginning of the file.
        offset: u64,
        /// The byte.
        found: u8,
    },
    /// A text trace says something that cannot be understood.
    #[error("{path}:{line}:{column}: expected {expected}, found {found}; {remedy}")]
    Text {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The column, in characters from 1.
        column: usize,
        /// What should stand there.
        expected: String,
        /// What stands there.
        found: String,
        /// What to do.
        remedy: String,
    },
    /// A text trace has no rows.
    #[error("{path}: holds no events; add rows such as `0 main terminate` below the header")]
    NoEvents {
        /// The file.
        path: String,
    },
    /// The trace contradicts itself.
    #[error("{path}: {place}: {problem}; {remedy}")]
    Invalid {
        /// The file, or what stands in for it.
        path: String,
        /// Where: an event by number, a line, or a table.
        place: String,
        /// What is wrong.
        problem: String,
        /// What to do.
        remedy: &'static str,
    },
}
