//! Writes sealed traces.

use std::{
    fs,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use super::{
    block::{self, CpuTimes},
    layout::{BLOCK_ROWS, END, EVENTS, MAGIC, META, VERSION},
    metadata::Metadata,
};
use crate::{Error, Trace, trace::used_calls, validate};

pub(super) fn to_bytes(trace: &Trace) -> Result<Vec<u8>, Error> {
    validate(trace)?;
    let mut bytes = Vec::new();
    put(trace, &mut bytes).map_err(|source| Error::Io {
        path: trace.source.clone(),
        source,
    })?;
    Ok(bytes)
}

pub(super) fn write_file(trace: &Trace, path: &Path) -> Result<(), Error> {
    validate(trace)?;
    let written = match fs::metadata(path) {
        // A device or a pipe takes the bytes itself: renaming would put a file in its place.
        Ok(metadata) if !metadata.is_file() => create(trace, fs::File::create(path)),
        // The file that a symbolic link leads to is replaced, not the link.
        Ok(_) => fs::canonicalize(path).and_then(|path| replace(trace, &path)),
        Err(_) => replace(trace, path),
    };
    written.map_err(|source| Error::Io {
        path: path.display().to_string(),
        source,
    })
}

/// Writes to a temporary file and gives it its name when it is whole.
fn replace(trace: &Trace, path: &Path) -> io::Result<()> {
    let temporary = temporary_beside(path);
    let file = fs::File::create_new(&temporary);
    let written = create(trace, file).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to report; a temporary file that stays behind does no harm.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn create(trace: &Trace, file: io::Result<fs::File>) -> io::Result<()> {
    let file = file?;
    let is_file = file.metadata()?.is_file();
    let mut out = BufWriter::new(file);
    put(trace, &mut out)?;
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

/// Writes a valid trace.
fn put(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    out.write_all(&MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())?;
    let (calls, renumbered) = used_calls(trace);
    let metadata = Metadata::of(trace, &calls)
        .encode()
        .map_err(io::Error::other)?;
    section(out, META, &metadata)?;
    let mut cpu_times = CpuTimes::new(trace.threads.len());
    let mut payload = Vec::new();
    let mut blocks = 0u64;
    for events in trace.events.chunks(BLOCK_ROWS) {
        payload.clear();
        block::encode(
            events,
            &trace.calls,
            &renumbered,
            &mut cpu_times,
            &mut payload,
        );
        section(out, EVENTS, &payload)?;
        blocks += 1;
    }
    payload.clear();
    payload.extend_from_slice(&(trace.events.len() as u64).to_le_bytes());
    payload.extend_from_slice(&blocks.to_le_bytes());
    section(out, END, &payload)
}

fn section(out: &mut impl Write, tag: [u8; 4], payload: &[u8]) -> io::Result<()> {
    out.write_all(&tag)?;
    out.write_all(&crc32fast::hash(payload).to_le_bytes())?;
    out.write_all(&(payload.len() as u64).to_le_bytes())?;
    out.write_all(payload)
}
