//! What can go wrong with a journal.

/// Why a journal directory could not be read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The directory or a file in it could not be read.
    #[error("{path}: {source}")]
    Io {
        /// The directory or file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is no journal in the directory.
    #[error(
        "{path}: a directory without a journal; name a trace file, or, if the directory was made by a recording, record \
         again: the recorder never ran in the program"
    )]
    Empty {
        /// The directory.
        path: String,
    },
    /// A file does not begin as a journal does.
    #[error(
        "{path}: not a journal: byte 0 should begin {expected:?} but begins {found:?}; remove the file if it is not one of foretrace's"
    )]
    Magic {
        /// The file.
        path: String,
        /// What should stand at its beginning.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A journal is of a version that this reader does not know.
    #[error(
        "{path}: byte 8: a journal of version {found}, and this foretrace reads version {expected}; use the foretrace that \
         recorded it"
    )]
    Version {
        /// The file.
        path: String,
        /// The newest version known.
        expected: u32,
        /// The file's.
        found: u32,
    },
    /// A header holds a number that makes no sense.
    #[error(
        "{path}: byte {offset}: {what} is {found}; the file is damaged: record again, or remove it to read the other processes' journals"
    )]
    Damaged {
        /// The file.
        path: String,
        /// Where.
        offset: u64,
        /// Which number.
        what: &'static str,
        /// Its value.
        found: u64,
    },
    /// No journal in the directory is whole enough to hold a process.
    #[error(
        "{path}: every journal here ends before byte 4096, its header's end; the disk may have been full"
    )]
    Truncated {
        /// The directory.
        path: String,
    },
}
