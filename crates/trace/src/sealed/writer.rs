//! Writes sealed traces.

use std::{
    io::{self, Write},
    path::Path,
};

use super::{
    block::{self, CpuTimes},
    layout::{
        BLOCK_ROWS, END, EVENTS, FIRST_VERSION, HAS_MESSAGES, HAS_REMAPS, MAGIC, MESSAGES, META,
        REMAPS,
    },
    metadata::{Messages, Metadata, Remaps},
};
use crate::{Error, Trace, encoding, trace::used_calls, validate, write_whole};

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
    write_whole(path, |out| put(trace, out)).map_err(|source| Error::Io {
        path: path.display().to_string(),
        source,
    })
}

/// Writes a valid trace.
fn put(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&MAGIC)?;
    let (messages, remaps) = (Messages::of(trace), Remaps::of(trace));
    let bit = |is_there, bit| if is_there { bit } else { 0 };
    let version =
        FIRST_VERSION + bit(messages.is_some(), HAS_MESSAGES) + bit(remaps.is_some(), HAS_REMAPS);
    out.write_all(&version.to_le_bytes())?;
    let (calls, renumbered) = used_calls(trace);
    let metadata = encoding::encode(&Metadata::of(trace, &calls)).map_err(io::Error::other)?;
    section(out, META, &metadata)?;
    if let Some(messages) = &messages {
        let messages = encoding::encode(messages).map_err(io::Error::other)?;
        section(out, MESSAGES, &messages)?;
    }
    if let Some(remaps) = &remaps {
        let remaps = encoding::encode(remaps).map_err(io::Error::other)?;
        section(out, REMAPS, &remaps)?;
    }
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

fn section(out: &mut dyn Write, tag: [u8; 4], payload: &[u8]) -> io::Result<()> {
    out.write_all(&tag)?;
    out.write_all(&crc32fast::hash(payload).to_le_bytes())?;
    out.write_all(&(payload.len() as u64).to_le_bytes())?;
    out.write_all(payload)
}
