//! The sealed trace: what `foretrace record` leaves behind.
//!
//! One file, 12 bytes an event, every part under a checksum. A file that was cut short still gives its whole blocks.
//!
//! # Layout, versions 1 to 4
//!
//! All integers are little-endian and unsigned; offsets and sizes are in bytes.
//!
//! ```text
//! file        0  8  magic      89 46 54 52 41 43 45 0A   ("\x89FTRACE\n": no text file begins so, and a transfer
//!                                                         that rewrites line ends destroys it)
//!             8  4  version    1; 1 more where the program used MPI, 2 more where it gave memory back while it had threads
//!            12     sections   META, in versions 2 and 4 MSGS, in versions 3 and 4 MAPS, then EVTS any number of times,
//!                              then END., then nothing
//!
//! section     0  4  tag        "META", "MSGS", "MAPS", "EVTS" or "END."
//!             4  4  checksum   CRC-32 (IEEE) of the payload
//!             8  8  length     of the payload
//!            16     payload
//!
//! META        number of events, recording, returns, processes, threads, objects, modules, sites, calls, warnings:
//!             in this order, in the encoding below
//!
//! MSGS        messages, communicators: in this order, in the encoding below
//!
//! MAPS        remaps, in the encoding below
//!
//! EVTS        0  4  rows       1 to 16,384; every block but the last of a file is full
//!             4  4  escapes
//!             8  8  start      time of the block's first event, in nanoseconds
//!            16     rows       12 bytes each
//!                   escapes    8 bytes each, in the order in which rows ask for them
//!
//! row         0  4  call       position in the table of calls
//!             4  4  time       nanoseconds since the row above (since `start` in a block's first row);
//!                              FFFFFFFF: the next escape is the time itself
//!             8  4  cpu        nanoseconds of CPU time since the block's previous row of the same thread that has one;
//!                              FFFFFFFF: the next escape is the thread's CPU time itself (so in its first such row);
//!                              FFFFFFFE: no CPU time was recorded
//!
//! END.        0  8  events     in the whole file
//!             8  8  blocks     in the whole file
//! ```
//!
//! The encoding of `META`, `MSGS` and `MAPS` is that of bincode 2.0.1 with `config::standard()`:
//!
//! ```text
//! unsigned    below 251 one byte; else FB and 2 bytes, FC and 4 bytes, FD and 8 bytes, the shortest that holds it
//! signed      n >= 0 as the unsigned 2n, n < 0 as the unsigned -2n - 1
//! text        length in bytes (unsigned), then UTF-8
//! list        number of entries (unsigned), then the entries
//! T?          00, or 01 and the T
//! one of      its number in the list, from 0 (unsigned), then what it carries
//!
//! recording?  command: list of text, recorder version: text, started (seconds since 1970), cpu, pretended CPUs, slice?,
//!             clock: one of Rseq, Counter, SystemCall, wall, CPU time?, exit?: one of Code(signed), Signal(signed),
//!             lost events
//! returns     one of Derived, Explicit
//! processes   list of: name: text, pid?, parent pid?
//! threads     list of: name: text, process, priority?: signed, cpu?, start routine?, tid?
//! objects     list of: kind: one of Event, Mutex, Cond, Semaphore, Rwlock, Barrier, Spin, Once, Futex, Queue,
//!             Doacross, Pipe; name: text, process,
//!             address?, initial?
//! modules     list of: path: text, build id?: text
//! sites       list of: module, offset, caller?: an earlier site
//! calls       list of: thread; operation: one of `Operation` in its order, with what it carries (of `IoKind` and
//!             `FileKind` one of their values in their order);
//!             outcome: one of Success, Busy, TimedOut, Chosen, OwnerDied, Failed(errno); from?, site?
//! warnings    list of text
//!
//! messages    list of: name: text; action: one of `Action` in its order, with what it carries
//! communicators  list of: name: text, members: list of ranks
//!
//! remaps      list of how often each process gave memory back
//! ```
//!
//! Times are in nanoseconds; ids are positions in the lists, from 0; what has no type here is unsigned.
//!
//! A block needs nothing of the blocks before it. A time difference of FFFFFFFE does not occur: it is escaped.
//! `Trace::source` is not stored; a reader puts the file's path there.
//!
//! The writer drops calls that no event makes and numbers the others by first use, so that equal traces are equal bytes.
//!
//! Deliberately absent: compression (a trace is read more often than it is moved) and memory mapping (10^7 events
//! decode in a fraction of a second, and a mapped file can change under its reader).

mod block;
mod layout;
mod metadata;
mod reader;
mod writer;

use std::path::Path;

use crate::{Error, Trace};

use layout::{FIRST_VERSION, HAS_MESSAGES, u32_at};
pub use layout::{MAGIC, VERSION};

/// Writes a trace to a sealed file. The file appears under its name when it is whole, and not before.
///
/// # Errors
///
/// When the trace is not valid, or the file cannot be written.
pub fn write(trace: &Trace, path: &Path) -> Result<(), Error> {
    writer::write_file(trace, path)
}

/// Returns whether a file that begins so is a sealed trace with calls of MPI.
pub fn holds_messages(start: &[u8]) -> bool {
    let version = start.strip_prefix(&MAGIC).and_then(|rest| u32_at(rest, 0));
    version.is_some_and(|version| version.wrapping_sub(FIRST_VERSION) & HAS_MESSAGES != 0)
}

/// Returns the bytes of a trace's sealed file.
///
/// # Errors
///
/// When the trace is not valid.
pub fn to_bytes(trace: &Trace) -> Result<Vec<u8>, Error> {
    writer::to_bytes(trace)
}

/// Reads a sealed file. One that was cut short gives its whole blocks, and a warning in [`Trace::warnings`].
///
/// # Errors
///
/// When the file cannot be read, is no sealed trace, is damaged, or is of a newer version.
pub fn read(path: &Path) -> Result<Trace, Error> {
    let source = path.display().to_string();
    let io = |error| Error::Io {
        path: source.clone(),
        source: error,
    };
    let file = std::fs::File::open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    reader::read(file, length, &source)
}

/// Reads a sealed file of `length` bytes from its beginning.
pub(crate) fn read_from(
    input: impl std::io::Read,
    length: u64,
    source: &str,
) -> Result<Trace, Error> {
    reader::read(input, length, source)
}

/// Reads a sealed file's bytes; `source` names them in errors.
///
/// # Errors
///
/// As [`read`].
pub fn read_bytes(bytes: &[u8], source: &str) -> Result<Trace, Error> {
    reader::read(bytes, bytes.len() as u64, source)
}
