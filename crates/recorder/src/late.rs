//! Records that are finished when their call is over.
//!
//! A call may block for hours while its own thread goes on recording: in signal handlers, or in what the program has done around a
//! fork. By then the thread may have given up the chunk that holds the call's record, and what is mapped there may be anything. So
//! who has something to add remembers which chunk it was, and adds to the file itself what came too late for the mapping.

use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::Ordering;

use foretrace_trace::journal::layout::{ChunkHeader, Header, Record};

use crate::buffer::{STEP, Slot};
use crate::state::ThreadState;
use crate::{file, process};

/// Where in a record its outcome is: in the second byte of its tail.
const OUTCOME: u64 = offset_of!(Record, tail) as u64 + 1;

/// Where in a record its object is.
const OBJECT: u64 = offset_of!(Record, object) as u64;

/// A record to be finished after its call; none if there was no room for it.
#[derive(Clone, Copy, Debug)]
pub struct Late {
    address: u64,
    chunk: Chunk,
    /// Whose journal it is in: a child that was forked meanwhile has another one.
    journal: *const Header,
}

/// A chunk, told from those that were or will be mapped at the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chunk {
    address: u64,
    place_in_file: u64,
}

impl Chunk {
    const NONE: Self = Self {
        address: 0,
        place_in_file: 0,
    };

    fn current(state: &ThreadState) -> Self {
        Self {
            address: state.chunk.get(),
            place_in_file: state.place_in_file.get(),
        }
    }

    fn previous(state: &ThreadState) -> Self {
        Self {
            address: state.previous_chunk.get(),
            place_in_file: state.previous_place.get(),
        }
    }

    /// Returns whether it has not been given up.
    fn is_mapped(self, state: &ThreadState) -> bool {
        self.address != 0 && (self == Self::current(state) || self == Self::previous(state))
    }
}

impl Slot {
    /// Returns the record made just now as one that is finished after its call.
    #[must_use]
    pub fn for_later(self) -> Late {
        let state = ThreadState::current();
        let current = Chunk::current(state);
        let is_current = self.0.wrapping_sub(current.address)
            < state.end.get().wrapping_sub(current.address)
            && state.end.get() != 0;
        let chunk = if self.0 == 0 {
            Chunk::NONE
        } else if is_current {
            current
        } else {
            // A signal handler took the next one since, or the thread's end is out of reach, as in a call of `vfork`.
            holding(state, self.0)
        };
        Late {
            address: self.0,
            chunk,
            journal: journal(),
        }
    }
}

/// Returns the chunk of a thread's that an address lies in.
fn holding(state: &ThreadState, address: u64) -> Chunk {
    [Chunk::current(state), Chunk::previous(state)]
        .into_iter()
        .find(|chunk| chunk.address != 0 && lies_in(chunk.address, address))
        .unwrap_or(Chunk::NONE)
}

/// Returns whether an address lies in a chunk that is mapped.
fn lies_in(chunk: u64, address: u64) -> bool {
    // SAFETY: a chunk is mapped until its thread releases it.
    let header = unsafe { &*(chunk as *const ChunkHeader) };
    address.wrapping_sub(chunk) < header.length.load(Ordering::Relaxed)
}

/// Returns whether an address lies in one of the chunks that the calling thread holds.
pub(crate) fn is_held(address: u64) -> bool {
    holding(ThreadState::current(), address) != Chunk::NONE
}

fn journal() -> *const Header {
    file::header().map_or(ptr::null(), ptr::from_ref)
}

impl Late {
    /// Fills in what the record is about, which its call told.
    pub fn set_object(self, object: u64) {
        self.set(OBJECT, &object.to_ne_bytes());
    }

    /// Fills in the second operand, if the record has one.
    pub fn set_second(self, operand: u64) {
        // The extension stands behind its record.
        self.set(STEP + OBJECT, &operand.to_ne_bytes());
    }

    /// Changes the outcome: the call failed after all.
    pub fn set_outcome(self, outcome: u8) {
        self.set(OUTCOME, &[outcome]);
    }

    /// Changes bytes of the record, or behind it.
    fn set(self, offset: u64, bytes: &[u8]) {
        let is_ours = process::current() != process::UNBORN && ptr::eq(self.journal, journal());
        if self.chunk == Chunk::NONE || !is_ours {
            return;
        }
        let at = self.address + offset;
        if self.chunk.is_mapped(ThreadState::current()) {
            // SAFETY: within a record, or its extension, of a chunk that is mapped and that only this thread writes to.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
        } else if !file::change(at - self.chunk.address + self.chunk.place_in_file, bytes) {
            process::lose();
        }
    }
}
