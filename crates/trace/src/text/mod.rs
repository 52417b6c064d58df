//! The text trace: one event a line, for hand-written cases and for looking at.
//!
//! ```text
//! foretrace-text 1
//! # Two processes; the first wakes the second.
//! process P1 priority 2
//! process P2 priority 1
//! 0 P1 create P2
//! 3 P1 send X P2
//! 4 P2 wait X
//! 4 P1 terminate
//! 6 P2 terminate
//! ```
//!
//! # Grammar
//!
//! The text is UTF-8; lines end in LF or CRLF; words are parted by blanks; `#` at the beginning of a word starts a
//! comment. A word that is empty or holds blanks, `"`, `=`, control characters or a leading `#` is written in double
//! quotes, with the escapes `\"`, `\\`, `\n`, `\r`, `\t` and `\u{HEX}`.
//!
//! ```text
//! trace     = "foretrace-text 1" header* row+
//!
//! header    = "unit" [AMOUNT] ("ns" | "us" | "ms" | "s")    e.g. "unit 1us": the unit of all times below, at first 1ns
//!           | "process" NAME ["priority" INTEGER] ["cpu" K] ["tid=" N] ["start=" SITE] ["program=" INDEX]
//!                                                     "thread" means the same; "cpu" binds it in predictions
//!           | KIND NAME [INITIAL] ["program=" INDEX] ["address=" 0xHEX]
//!                                                     an object; INITIAL: a semaphore's tokens, a barrier's threads, 1 of a
//!                                                     readers-writer lock that prefers writers, and of a spin
//!                                                     lock for which whoever waits keeps its CPU
//!           | "returns" ("derived" | "explicit")      derived, if not said: a call came back before the next row of
//!                                                     its thread; explicit: only calls with a "return" row blocked
//!           | "program" NAME ["pid=" N] ["parent=" N] ["remaps=" N]
//!                                                     an operating-system process; INDEX counts them from 0; "remaps": how
//!                                                     often it gave memory back while it had several threads
//!           | "module" LABEL PATH ["build-id=" HEX]    a mapped file; a SITE names it by its label
//!           | "site" SITE ["caller=" SITE]            puts a place into the table of call sites, and where its
//!                                                     function was called from
//!           | "recording" FACT                        how the trace was recorded
//!           | "warning" TEXT                          what a reader must know about the trace's limits
//! KIND      = "event" | "mutex" | "cond" | "semaphore" | "rwlock" | "barrier" | "spin" | "once" | "futex" | "queue"
//!           | "doacross"
//! FACT      = "command" WORD* | "version" WORD | "started" UNIX-SECONDS | "cpu" K | "pretended-cpus" N
//!           | "slice" TIME | "clock" ("rseq" | "counter" | "system-call") | "wall" TIME | "cpu-time" TIME
//!           | "exit" ("code" | "signal") INTEGER | "lost-events" N | "recorder-cpu" TIME
//! SITE      = LABEL "+0x" HEX ["#" COPY]              COPY tells equal entries of the table apart: the second is #2
//!
//! row       = TIME THREAD operation [OUTCOME] field*
//! operation = ("create" | "join" | "detach" | "cancel") THREAD | "terminate" | "return" | "sleep" | "spin"
//!           | "io" IO [FILE]
//!           | "send" EVENT THREAD | "wait" EVENT
//!           | ("lock" | "trylock" | "timedlock" | "unlock") MUTEX
//!           | ("cond_wait" | "cond_timedwait") COND MUTEX | ("cond_signal" | "cond_broadcast") COND
//!           | ("sem_wait" | "sem_trywait" | "sem_timedwait" | "sem_post") SEMAPHORE
//!           | ("rdlock" | "tryrdlock" | "timedrdlock" | "wrlock" | "trywrlock" | "timedwrlock" | "rwunlock") RWLOCK
//!           | "barrier_wait" BARRIER [THREADS] | ("spin_lock" | "spin_trylock" | "spin_unlock") SPIN | "once" ONCE
//!           | ("futex_wait" | "futex_timedwait") FUTEX | "futex_wake" FUTEX WOKEN
//!           | "bind" THREAD CPUS
//!           | ("queue_send" | "queue_receive") QUEUE
//!           | ("pipe_write" | "pipe_read") PIPE BYTES
//!           | ("doacross_wait" | "doacross_post") DOACROSS ITERATION
//!                                                     waits until an iteration of a loop is done, or says that it is
//!           | ("lock_sections" | "trylocks") MUTEX COUNT
//!                                                     so many locks and unlocks, or tries, and nothing else, since
//!                                                     the thread's row before; a "trylocks" must say its OUTCOME
//! IO        = "read" | "write" | "copy" | "poll" | "accept" | "connect" | "sync" | "lock" | "signal" | "process" | "queue"
//!           | "yield"
//! FILE      = "none" | "file" | "pipe" | "socket" | "terminal" | "device" | "event" | "timer" | "epoll" | "other"
//! OUTCOME   = "ok" | "busy" | "timedout" | "chosen" | "ownerdied" | "failed:" ERRNO
//!                                                     "ok" if not said; a "try" must say it
//! field     = "cpu=" TIME                             the CPU time that the thread had used by then
//!           | "from=" THREAD                          whose doing let the call go on, at "return"
//!           | "site=" SITE | "outcome=" OUTCOME
//!           | "asked=" TIME                           of "sleep": for how long it was to be
//!           | "late=" TIME                            of "sleep": how long ago it was to be over, so that it was none
//!           | "looked=" TIME                          of "spin": for how long it had looked when it lost the CPU
//!           | "held=" TIME | "unlock=" SITE           of "lock_sections": how long it held the mutex, all times
//!                                                     together, and where it unlocked it
//! CPUS      = "none" | ("0".."63" ["-" "0".."63"]) ("," ...)*: of the first 64 CPUs, as in `0-3,6`
//! TIME      = DIGITS ["." DIGITS]                     in the unit, rounded to whole nanoseconds
//! ```
//!
//! Where no process is declared, the threads are those that the rows name, in that order; where one is, all must be.
//! Threads that all carry a priority stand by decreasing priority, the larger number first, however they are declared.
//! Objects need no declaration; one that has none must not share its name with an object of another kind. Times never
//! decrease.
//!
//! A row of `terminate` may be missing: the thread is taken to end after its last event, and a warning says so.
//!
//! Every valid trace that has events is written so that it reads back equal, up to calls that no event makes, their
//! numbering, and the [`warnings`](crate::warnings) that the trace does not carry yet: reading adds them. Comments and
//! the unit are not kept.

mod header;
mod lex;
mod messages;
mod nearest;
mod problem;
mod quantity;
mod reader;
mod rows;
mod tables;
mod words;
mod writer;

use std::io;

use crate::{Error, Trace};

/// Parses a text trace; `source` names it in errors.
///
/// # Errors
///
/// With line and column, when the text is not a text trace.
pub fn parse(text: &str, source: &str) -> Result<Trace, Error> {
    reader::parse(text, source)
}

/// Parses a text trace's bytes; `source` names them in errors.
///
/// # Errors
///
/// With the offset of the first byte that is not UTF-8; else as [`parse`].
pub fn parse_bytes(bytes: &[u8], source: &str) -> Result<Trace, Error> {
    let text = std::str::from_utf8(bytes).map_err(|error| Error::NotUtf8 {
        path: source.to_owned(),
        offset: error.valid_up_to() as u64,
        found: bytes.get(error.valid_up_to()).copied().unwrap_or_default(),
    })?;
    parse(text, source)
}

/// Writes a trace as text.
///
/// # Errors
///
/// When `out` cannot be written. An [`Error`] inside the [`io::Error`] says that the trace is not valid or holds no
/// events.
pub fn write(trace: &Trace, mut out: impl io::Write) -> io::Result<()> {
    writer::check(trace).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    writer::write(trace, &mut out)
}

/// Returns a trace as text.
///
/// # Errors
///
/// When the trace is not valid or holds no events.
pub fn to_text(trace: &Trace) -> Result<String, Error> {
    writer::check(trace)?;
    let mut text = Vec::new();
    writer::write(trace, &mut text).map_err(|source| Error::Io {
        path: trace.source.clone(),
        source,
    })?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
