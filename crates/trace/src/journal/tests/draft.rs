//! Journals that tests make up, record by record.

use super::super::layout::{
    self, CHUNK_EVENTS, CHUNK_MAGIC, ChunkHeader, Header, Kind, OUTCOME_SUCCESS, PAGE_BYTES,
    pack_tail,
};
use super::super::{ProcessUsage, read_dir_and_start};
use crate::Trace;
use std::mem::offset_of;
use tempfile::TempDir;
/// Ticks are nanoseconds in these journals, and recording began at this one.
pub(super) const START: u64 = 1_000_000;

/// A journal that is being made up.
pub(super) struct Draft {
    pub(super) bytes: Vec<u8>,
    /// Where the next record goes.
    pub(super) cursor: usize,
}

impl Draft {
    pub(super) fn new(pid: u32, predecessors: u32) -> Self {
        let mut draft = Self {
            bytes: vec![0; PAGE_BYTES],
            cursor: 0,
        };
        draft.bytes[..8].copy_from_slice(&layout::MAGIC);
        draft.short(offset_of!(Header, version), layout::VERSION);
        draft.short(offset_of!(Header, clock), layout::CLOCK_RSEQ);
        draft.short(offset_of!(Header, pid), pid);
        draft.short(offset_of!(Header, predecessors), predecessors);
        let start = START + u64::from(predecessors) * 1000;
        draft.long(offset_of!(Header, start_tsc), start);
        draft.long(offset_of!(Header, start_monotonic_nanos), start);
        draft
    }

    pub(super) fn short(&mut self, offset: usize, value: u32) {
        self.bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    }

    pub(super) fn long(&mut self, offset: usize, value: u64) {
        self.bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
    }

    pub(super) fn begun(mut self, tsc: u64, parent: u32) -> Self {
        self.short(offset_of!(Header, ppid), parent);
        self.long(offset_of!(Header, start_tsc), START + tsc);
        self.long(offset_of!(Header, start_monotonic_nanos), START + tsc);
        self
    }

    pub(super) fn exited(mut self, tsc: u64) -> Self {
        self.long(offset_of!(Header, flags), layout::FLAG_CLEAN_EXIT);
        self.long(offset_of!(Header, end_tsc), START + tsc);
        self.long(offset_of!(Header, end_monotonic_nanos), START + tsc);
        self
    }

    /// Says what it and its children had used of the CPU at its exit.
    pub(super) fn used(mut self, own: u64, children: u64) -> Self {
        self.long(offset_of!(Header, end_cpu_nanos), own);
        self.long(offset_of!(Header, end_children_nanos), children);
        self
    }

    /// Begins a chunk of a page; records go there from now on.
    pub(super) fn thread(mut self, number: u32, tid: u32, pthread: u64) -> Self {
        let chunk = self.bytes.len();
        self.bytes.resize(chunk + PAGE_BYTES, 0);
        self.short(chunk + offset_of!(ChunkHeader, magic), CHUNK_MAGIC);
        self.short(chunk + offset_of!(ChunkHeader, kind), CHUNK_EVENTS);
        self.long(chunk + offset_of!(ChunkHeader, length), PAGE_BYTES as u64);
        self.short(chunk + offset_of!(ChunkHeader, thread), number);
        self.short(chunk + offset_of!(ChunkHeader, tid), tid);
        self.long(chunk + offset_of!(ChunkHeader, pthread), pthread);
        self.long(chunk + offset_of!(ChunkHeader, tsc), START);
        self.long(chunk + offset_of!(ChunkHeader, monotonic_nanos), START);
        self.cursor = chunk + size_of::<ChunkHeader>();
        self
    }

    pub(super) fn record(
        mut self,
        tsc: u64,
        kind: Kind,
        object: u64,
        outcome: u8,
        site: u64,
    ) -> Self {
        self.long(self.cursor, START + tsc);
        self.long(self.cursor + 8, object);
        self.long(self.cursor + 16, pack_tail(kind, outcome, site));
        self.cursor += layout::RECORD_BYTES;
        self
    }

    pub(super) fn hole(mut self) -> Self {
        self.cursor += layout::RECORD_BYTES;
        self
    }
}

pub(super) fn directory(drafts: &[&[u8]]) -> TempDir {
    let directory = tempfile::tempdir().expect("temporary directories can be made");
    for (index, bytes) in drafts.iter().enumerate() {
        let path = directory.path().join(format!("{index}-0-0.ftj"));
        std::fs::write(path, bytes).expect("the temporary directory is writable");
    }
    directory
}

pub(super) fn read(drafts: &[Draft]) -> Trace {
    read_knowing(drafts, None)
}

/// Reads as who was told of the process that it started.
pub(super) fn read_knowing(drafts: &[Draft], first: Option<ProcessUsage>) -> Trace {
    let bytes: Vec<&[u8]> = drafts.iter().map(|draft| draft.bytes.as_slice()).collect();
    let read = read_dir_and_start(directory(&bytes).path(), first);
    read.expect("it is whole").0
}

/// Shows events as `time thread operation`.
pub(super) fn lines(trace: &Trace) -> Vec<String> {
    let line = |event: &crate::Event| {
        let call = trace.call(event);
        let thread = &trace.threads[call.thread.index()].name;
        format!("{} {thread} {}", { event.time }.0, call.operation.name())
    };
    trace.events.iter().map(line).collect()
}

pub(super) fn small() -> Draft {
    Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(0, Kind::Sync, 500, 0, 0)
        .record(10, Kind::MutexLock, 64, OUTCOME_SUCCESS, 0)
        .record(30, Kind::MutexUnlock, 64, OUTCOME_SUCCESS, 0)
        .exited(100)
}
