//! Everything of a sealed trace but its events: the one place that knows bincode.
//!
//! bincode is at its last release. Its encoding is simple and written down, so a successor could be written here
//! without another file changing.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{CallSite, Module, Object, Process, Recording, Returns, Thread, Trace, event::Call};

/// The payload of a `META` section, version 1. The order of the fields is the format.
#[derive(Serialize, Deserialize)]
pub(super) struct Metadata<'a> {
    /// The number of events in the whole file.
    pub event_count: u64,
    recording: Option<Cow<'a, Recording>>,
    returns: Returns,
    processes: Cow<'a, [Process]>,
    threads: Cow<'a, [Thread]>,
    objects: Cow<'a, [Object]>,
    modules: Cow<'a, [Module]>,
    sites: Cow<'a, [CallSite]>,
    calls: Cow<'a, [Call]>,
    warnings: Cow<'a, [String]>,
}

impl<'a> Metadata<'a> {
    /// Borrows the metadata of a trace; `calls` stands in for the trace's own.
    pub fn of(trace: &'a Trace, calls: &'a [Call]) -> Self {
        Self {
            event_count: trace.events.len() as u64,
            recording: trace.recording.as_ref().map(Cow::Borrowed),
            returns: trace.returns,
            processes: Cow::Borrowed(&trace.processes),
            threads: Cow::Borrowed(&trace.threads),
            objects: Cow::Borrowed(&trace.objects),
            modules: Cow::Borrowed(&trace.modules),
            sites: Cow::Borrowed(&trace.sites),
            calls: Cow::Borrowed(calls),
            warnings: Cow::Borrowed(&trace.warnings),
        }
    }

    /// Makes a trace without events.
    pub fn into_trace(self, source: &str) -> Trace {
        Trace {
            source: source.to_owned(),
            recording: self.recording.map(Cow::into_owned),
            returns: self.returns,
            processes: self.processes.into_owned(),
            threads: self.threads.into_owned(),
            objects: self.objects.into_owned(),
            modules: self.modules.into_owned(),
            sites: self.sites.into_owned(),
            calls: self.calls.into_owned(),
            events: Vec::new(),
            warnings: self.warnings.into_owned(),
        }
    }

    /// Encodes it. The error says why it could not be, which does not happen for data in memory.
    pub fn encode(&self) -> Result<Vec<u8>, String> {
        bincode::serde::encode_to_vec(self, bincode::config::standard())
            .map_err(|error| error.to_string())
    }
}

/// Decodes a payload. The error says what was found instead of metadata.
pub(super) fn decode(payload: &[u8]) -> Result<Metadata<'static>, String> {
    // A hostile length may not make the decoder reserve memory out of proportion to the file. Decoded values are at
    // most eight times as long as their bytes, hence a limit of sixteen times the payload's size class.
    const KIB: usize = 1 << 10;
    const MIB: usize = 1 << 20;
    if payload.len() <= KIB {
        decode_within::<{ 16 * KIB }>(payload)
    } else if payload.len() <= MIB {
        decode_within::<{ 16 * MIB }>(payload)
    } else {
        decode_within::<{ 16_384 * MIB }>(payload)
    }
}

fn decode_within<const LIMIT_BYTES: usize>(payload: &[u8]) -> Result<Metadata<'static>, String> {
    let config = bincode::config::standard().with_limit::<LIMIT_BYTES>();
    let (metadata, used) = bincode::serde::decode_from_slice(payload, config)
        .map_err(|error| format!("bytes that are none ({error})"))?;
    if used == payload.len() {
        Ok(metadata)
    } else {
        Err(format!("{} bytes more than it needs", payload.len() - used))
    }
}
