//! Writes sealed traces.

use std::{
    fs,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use super::{
    block,
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
    let temporary = temporary_beside(path);
    let written = create(trace, &temporary).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|source| {
        // The first error is the one to report; a temporary file that stays behind does no harm.
        let _ = fs::remove_file(&temporary);
        Error::Io {
            path: path.display().to_string(),
            source,
        }
    })
}

fn create(trace: &Trace, path: &Path) -> io::Result<()> {
    let mut out = BufWriter::new(fs::File::create_new(path)?);
    put(trace, &mut out)?;
    // Without this a crash of the system soon after the renaming could leave an empty file under the final name.
    out.into_inner()?.sync_all()
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
    let mut cpu_times = vec![None; trace.threads.len()];
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
