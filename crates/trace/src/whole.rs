//! Files that are there whole or not at all.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// Writes a file: all of what `put` writes, or, when anything goes wrong, what was there before.
///
/// The file that a symbolic link leads to is replaced, not the link. A device or a pipe takes the bytes itself.
///
/// # Errors
///
/// When the file cannot be written, or `put` fails.
pub fn write_whole(
    path: &Path,
    put: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    match fs::metadata(path) {
        // Renaming would put a file in its place.
        Ok(metadata) if !metadata.is_file() => fill(File::create(path), put),
        Ok(_) => fs::canonicalize(path).and_then(|path| replace(&path, put)),
        Err(_) => replace(path, put),
    }
}

/// Writes to a temporary file and gives it its name when it is whole.
fn replace(path: &Path, put: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let temporary = temporary_beside(path);
    let written =
        fill(File::create_new(&temporary), put).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to report; a temporary file that stays behind does no harm.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn fill(
    file: io::Result<File>,
    put: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let file = file?;
    let is_file = file.metadata()?.is_file();
    let mut out = BufWriter::new(file);
    put(&mut out)?;
    let file = out.into_inner()?;
    if is_file {
        // Without this a crash of the system soon after the renaming could leave an empty file under the final name.
        file.sync_all()?;
    }
    Ok(())
}

/// Returns a name beside `path` that no other writer uses: a renaming must stay on one file system.
fn temporary_beside(path: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}-{number}.tmp", std::process::id()));
    PathBuf::from(name)
}
