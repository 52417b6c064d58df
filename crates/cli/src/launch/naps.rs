//! Whether threads of a program that is recorded sleep so often that they may look for something in between.

use std::{
    fs::{self, File},
    io,
    mem::offset_of,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use foretrace_trace::journal::layout::{self, FLAG_NAPS, Header};

/// The journals in which a program is recorded.
pub struct Naps {
    directory: PathBuf,
}

impl Naps {
    /// Of the journals in a directory.
    pub fn in_journals(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
        }
    }

    /// Returns whether one of them says that its threads sleep so.
    pub fn are_taken(&self) -> bool {
        let entries = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten();
        let paths = entries.map(|entry| entry.path());
        let is_journal = |path: &PathBuf| {
            let extension = path.extension();
            extension.is_some_and(|extension| extension == layout::FILE_EXTENSION)
        };
        let mut journals = paths.filter(is_journal);
        journals.any(|path| says_so(&path).unwrap_or(false))
    }
}

fn says_so(journal: &Path) -> io::Result<bool> {
    let mut flags = [0; size_of::<u64>()];
    let place = offset_of!(Header, flags) as u64;
    File::open(journal)?.read_exact_at(&mut flags, place)?;
    Ok(u64::from_ne_bytes(flags) & FLAG_NAPS != 0)
}
