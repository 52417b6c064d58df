//! Opens any file that holds a trace.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use crate::{
    Error, Nanos, Trace, journal, journal::ProcessUsage, oddities, sealed, text, validate,
    validate::validate as check,
};

/// Reads a trace from a sealed trace, a journal or a text trace, told by its first bytes.
///
/// What is odd about the trace, though valid, is added to its warnings.
///
/// # Errors
///
/// When the file cannot be read, is none of these, or is damaged.
pub fn read(path: &Path) -> Result<Trace, Error> {
    let source = path.display().to_string();
    let mut trace = read_any(path, &source).map_err(|error| match error {
        Failed::Io(error) => Error::Io {
            path: source.clone(),
            source: error,
        },
        Failed::Trace(error) => error,
    })?;
    oddities::warn(&mut trace, validate::event_place);
    Ok(trace)
}

/// Reads a trace from bytes in memory, as [`read`]; `source` names them in errors.
///
/// # Errors
///
/// When the bytes are neither a sealed trace nor a text trace, or are damaged.
pub fn read_bytes(bytes: &[u8], source: &str) -> Result<Trace, Error> {
    let mut trace = read_whole(bytes, source)?;
    oddities::warn(&mut trace, validate::event_place);
    Ok(trace)
}

/// Reads the journals in a directory, as [`read`], and returns also when the trace's time began, by `CLOCK_MONOTONIC`.
///
/// `first` is of the process that the recording was started with.
///
/// # Errors
///
/// As [`read`].
pub fn read_recording(path: &Path, first: ProcessUsage) -> Result<(Trace, Nanos), Error> {
    let (mut trace, start) = read_directory(path, Some(first))?;
    oddities::warn(&mut trace, validate::event_place);
    Ok((trace, start))
}

fn read_directory(path: &Path, first: Option<ProcessUsage>) -> Result<(Trace, Nanos), Error> {
    let (mut trace, start) = journal::read_dir_and_start(path, first)?;
    // So that it is sealed to the same bytes again and again.
    trace.renumber_calls();
    check(&trace)?;
    Ok((trace, start))
}

/// An error whose file is still to be named, or a whole one.
enum Failed {
    Io(io::Error),
    Trace(Error),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Trace(error)
    }
}

fn read_any(path: &Path, source: &str) -> Result<Trace, Failed> {
    // A directory is asked for before it is opened: not every system lets one be opened.
    if std::fs::metadata(path)?.is_dir() {
        return Ok(read_directory(path, None)?.0);
    }
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let mut start = Vec::new();
    (&mut file).take(RECOGNIZED_BYTES).read_to_end(&mut start)?;
    if metadata.is_file() && start.starts_with(&sealed::MAGIC) {
        // Block by block, so that no second copy of a large trace stands in memory.
        let whole = start.as_slice().chain(file);
        return Ok(sealed::read_from(whole, metadata.len(), source)?);
    }
    if let Some(error) = foreign(&start, source) {
        // Not read further: it may be large.
        return Err(error.into());
    }
    file.read_to_end(&mut start)?;
    Ok(read_whole(&start, source)?)
}

fn read_whole(bytes: &[u8], source: &str) -> Result<Trace, Error> {
    if bytes.starts_with(&sealed::MAGIC) {
        return sealed::read_bytes(bytes, source);
    }
    let start = &bytes[..bytes.len().min(RECOGNIZED_BYTES as usize)];
    match foreign(start, source) {
        Some(error) => Err(error),
        None => text::parse_bytes(bytes, source),
    }
}

/// How much of a file's beginning is looked at.
const RECOGNIZED_BYTES: u64 = 512;

/// The first bytes of files that are not traces, what they are, and what to do.
const SIGNATURES: &[(&[u8], &str, &str)] = &[
    (
        b"\x7fELF",
        "an ELF program or library",
        "record it first: foretrace record -- PROGRAM",
    ),
    (
        &journal::layout::MAGIC,
        "one process's journal",
        "name the directory that it lies in",
    ),
    (
        b"#!",
        "a script",
        "record it first: foretrace record -- SCRIPT",
    ),
    (b"\x1f\x8b", "gzip data", "decompress it first: gzip -d"),
    (b"BZh", "bzip2 data", "decompress it first: bzip2 -d"),
    (b"\xfd7zXZ\0", "xz data", "decompress it first: xz -d"),
    (
        b"\x28\xb5\x2f\xfd",
        "zstd data",
        "decompress it first: zstd -d",
    ),
    (
        b"\x04\x22\x4d\x18",
        "lz4 data",
        "decompress it first: lz4 -d",
    ),
    (
        b"PK\x03\x04",
        "a zip archive",
        "unpack it and name the trace in it",
    ),
    (b"PERFILE2", "a recording of perf", RECORD),
    (b"SQLite format 3\0", "an SQLite database", RECORD),
    (b"\xc1\x1f\xfc\xc1", "a Common Trace Format stream", RECORD),
    (b"\xc1\xfc\x1f\xc1", "a Common Trace Format stream", RECORD),
    (b"\x89PNG", "a PNG image", RECORD),
    (b"%PDF", "a PDF document", RECORD),
    (b"\xff\xfe", "UTF-16 text", "save a text trace as UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "save a text trace as UTF-8"),
    (
        b"\x89FTRACE\r",
        "a sealed trace whose line ends were rewritten",
        "copy it again, as a binary file",
    ),
    (b"{", "JSON, or text like it", RECORD),
];

const RECORD: &str = "name a file that `foretrace record` wrote, or a text trace";

/// Returns the error for a file that begins so, when it can be neither a text trace nor empty.
fn foreign(start: &[u8], source: &str) -> Option<Error> {
    let error = |found: &str, remedy: &str| Error::Foreign {
        path: source.to_owned(),
        found: found.to_owned(),
        remedy: remedy.to_owned(),
    };
    let known = SIGNATURES
        .iter()
        .find(|(bytes, _, _)| start.starts_with(bytes));
    if let Some((_, found, remedy)) = known {
        return Some(error(found, remedy));
    }
    if start.get(257..262) == Some(b"ustar") {
        return Some(error("a tar archive", "unpack it and name the trace in it"));
    }
    let is_text = start
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(start)
        .starts_with(b"foretrace-text");
    if !is_text && start.contains(&0) {
        let first = &start[..start.len().min(8)];
        return Some(error(
            &format!("binary data that begins with {first:02x?}"),
            RECORD,
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: &[u8]) -> String {
        read_bytes(bytes, "x").unwrap_err().to_string()
    }

    #[test]
    fn a_foreign_file_is_named_for_what_it_is() {
        assert_eq!(
            message(b"\x1f\x8b\x08\0"),
            "x: is not a foretrace file (found: gzip data); decompress it first: gzip -d"
        );
        assert_eq!(
            message(b"\x7fELF\x02"),
            "x: is not a foretrace file (found: an ELF program or library); record it first: foretrace record -- PROGRAM"
        );
        assert!(message(b"\0\x01\x02").contains("binary data that begins with [00, 01, 02]"));
        assert!(message(b"hello\n").contains("text whose first line is `hello`"));
        assert!(message(b"").contains("is empty"));
    }

    #[test]
    fn a_directory_is_not_read_as_a_file() {
        let error = read(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap_err();
        assert!(
            error.to_string().contains("a directory without a journal"),
            "{error}"
        );
    }
}
