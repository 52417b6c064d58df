//! The directory of journals of one recording.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use foretrace_trace::journal::layout::CPU_DIRECTORY;

use super::{note, system};
use crate::output;

/// The directory in which the recorder writes while the program runs: `FILE.journal`, beside the trace to be.
pub struct Journal {
    /// Its absolute path, without symbolic links: the program may change its directory.
    pub path: PathBuf,
}

impl Journal {
    /// Makes it.
    ///
    /// # Errors
    ///
    /// When it is there already and not to be discarded, or cannot be made.
    pub fn create(output: &Path, force: bool) -> anyhow::Result<Self> {
        let mut name = output.as_os_str().to_owned();
        name.push(".journal");
        let given = PathBuf::from(name);
        let path = std::path::absolute(&given)
            .with_context(|| format!("cannot tell where {} is", given.display()))?;
        if path.exists() {
            anyhow::ensure!(
                force,
                "{0} is there already: a recording is under way, or one was interrupted. `foretrace recover {0}` \
                 makes a trace of the latter; --force discards it",
                given.display()
            );
            fs::remove_dir_all(&path)
                .with_context(|| format!("cannot remove {}", given.display()))?;
        }
        fs::create_dir(&path).with_context(|| {
            format!(
                "cannot make the directory {}; name a file elsewhere with -o",
                given.display()
            )
        })?;
        if system::is_root() {
            // A program that root runs may become another user's, whose processes have journals, too. Where that is refused, they have none.
            let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o1777));
        }
        // The kernel names what the program opens below it so.
        let path = path.canonicalize().unwrap_or(path);
        Ok(Self { path })
    }

    /// Removes the directory where nothing but our own note is in it, and returns whether that was so.
    pub fn remove_if_empty(&self) -> bool {
        // A directory that cannot be read is not known to be empty.
        let others = fs::read_dir(&self.path).map_or(true, |mut entries| {
            entries.any(|entry| {
                entry.map_or(true, |entry| {
                    let name = entry.file_name();
                    name != note::FILE && name != CPU_DIRECTORY
                })
            })
        });
        if !others {
            self.remove();
        }
        !others
    }

    /// Removes it with all that is in it.
    pub fn remove(&self) {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => output::warn(&[format!(
                "cannot remove {}: {error}; it is not needed any more",
                self.path.display()
            )]),
            _ => {}
        }
    }
}
