//! Everything that foretrace prints.

use std::{
    borrow::Cow,
    fmt,
    fs::File,
    io::{self, BufWriter, IsTerminal as _, Write as _},
    path::Path,
};

use anyhow::Context as _;

use crate::launch::system::may_access;

/// The reader of our standard output went away, as `head` does: no error, but a reason to stop.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads the standard output any more")]
pub struct ClosedPipe;

/// Says how many there are of something, whose plural ends with an s.
pub fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Writes to the standard output.
///
/// # Errors
///
/// [`ClosedPipe`] where nobody reads it any more; the system's error otherwise.
pub fn print(contents: impl fmt::Display) -> anyhow::Result<()> {
    print_bytes(harmless(&contents.to_string()).as_bytes())
}

/// Writes a JSON document to the standard output.
///
/// # Errors
///
/// As [`print`].
pub fn print_json(document: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(document).context("cannot make JSON of it")?;
    text.push('\n');
    print(text)
}

fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(ClosedPipe.into()),
        other => other.context("cannot write to the standard output"),
    }
}

/// Writes to a file, or to the standard output where there is none or it is `-`.
///
/// # Errors
///
/// As [`print`], and where the file cannot be written.
pub fn write_to(file: Option<&Path>, contents: &[u8]) -> anyhow::Result<()> {
    match file.filter(|path| *path != Path::new("-")) {
        None => print_bytes(contents),
        Some(path) => {
            let write = || -> io::Result<()> {
                let mut file = BufWriter::new(File::create(path)?);
                file.write_all(contents)?;
                file.flush()
            };
            write().with_context(|| format!("cannot write {}", path.display()))
        }
    }
}

/// Returns a text whose control characters, but for ends of lines, are written out: the names of threads and objects may hold any, and
/// terminals obey them.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let is_meant = |character: char| matches!(character, '\n' | '\t');
    let is_harmful = |character: char| character.is_control() && !is_meant(character);
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if is_harmful(character) {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// Writes a line to the standard error; where nobody reads that, there is nobody to tell.
pub fn note(line: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{}", harmless(&line.to_string()));
}

/// Warns of what limits the result.
pub fn warn(warnings: &[String]) {
    for warning in warnings {
        note(format_args!("foretrace: warning: {warning}"));
    }
}

/// Returns whether somebody watches the standard error.
pub fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// Checks, before any work is done, that a new file can be put there.
///
/// # Errors
///
/// With the remedy, where it exists already and `force` is not given, or could not be written.
pub fn check_new_file(path: &Path, force: bool) -> anyhow::Result<()> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => {
            anyhow::bail!("{} is a directory; name a file with -o", path.display())
        }
        Ok(_) if !force => anyhow::bail!(
            "{} is there already; overwrite it with --force, or name another file with -o",
            path.display()
        ),
        // While a trace is being made, its parts stand beside it; a device's or pipe's directory is no place for them.
        Ok(metadata) if !metadata.is_file() => {
            anyhow::bail!("{} is not a regular file; name one with -o", path.display())
        }
        _ => {}
    }
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    anyhow::ensure!(
        parent.is_dir(),
        "the directory {} does not exist; create it, or name a file elsewhere with -o",
        parent.display()
    );
    anyhow::ensure!(
        may_access(parent, libc::W_OK | libc::X_OK),
        "the directory {} cannot be written; name a file elsewhere with -o",
        parent.display()
    );
    Ok(())
}
