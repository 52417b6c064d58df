//! Calls that may block: recorded only where they did, and then after the fact.
//!
//! Most reads and writes do not block, and there are very many. What tells the others is the kernel's count of how
//! often the thread left its CPU because it had to wait: it grows in a call that blocks, and not when the thread is
//! merely preempted. Asking for it is a system call. So it is asked for only where the thread was disturbed, before
//! the call or in it; otherwise the count is what it was. With a clock that does not notice that, it is asked for after
//! calls that took long.
//!
//! A call that blocked is recorded as if it had been recorded in time: the call with the counter from before it, the
//! thread's CPU time, the return.

use core::ffi::c_void;
use core::sync::atomic::Ordering;

use foretrace_trace::io::{self, FileKind, IoKind};
use foretrace_trace::journal::layout::{
    Kind, OUTCOME_PENDING, OUTCOME_SUCCESS, OUTCOME_TIMED_OUT, pack_tail,
};

use crate::buffer::{self, STEP};
use crate::state::ThreadState;
use crate::{chunk, clock, open_files, pipes, process, sys, unread};

/// What a call waits for.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// So many nanoseconds to pass; 0 where that is not known.
    Time(u64),
    /// Something that is done with one open file.
    File(IoKind, i32),
    /// The same, with a file that may be a pipe, a connected socket or a counter, and where in memory what is read or written lies; null if in several
    /// places.
    Bytes(IoKind, i32, *const c_void),
    /// Something that is done with a stream, and the function that finds its file.
    Stream(IoKind, *mut c_void, unsafe fn(*mut c_void) -> i32),
    /// The end of the process of this number; if that is 0, of the one that was started with this key.
    Process(u32, u64),
    /// A message or tokens of the object of this name, with the record's further operands.
    Take(Kind, u64, Option<(u64, u64)>),
    /// One of the files that an epoll instance watches, and whether the call surely waits where none is ready. The instance
    /// is not asked what it is: it has its inode in common with all others.
    Epoll(bool),
    /// Something that is done with no file, or with several.
    Other(IoKind),
}

impl Target {
    /// Returns whether a thread that was disturbed in the call may be taken to have waited: one that found something ready is
    /// back before anything is likely to happen to it. Who is wrong has a wait recorded that others filled with work.
    fn is_wait(self) -> bool {
        matches!(self, Self::Time(_) | Self::Epoll(true))
    }
}

/// A count that nobody asked for.
const UNKNOWN: u64 = u64::MAX;

/// A call that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    tsc: u64,
    switches_plus_one: u64,
}

impl Begun {
    /// Returns the counter when the call was about to be made; 0 where that is not known.
    #[inline]
    pub fn counter(self) -> u64 {
        self.tsc
    }

    /// Returns whether there is anything to record of the call, now that it is over.
    fn is_watched(self, state: &ThreadState) -> bool {
        let is_known = self.switches_plus_one != UNKNOWN && state.vforks.get() == 0;
        is_known && process::recording() && !process::confined()
    }
}

/// Notes that a call is about to be made. The common path: a counter and two tests.
#[inline]
pub fn begin() -> Begun {
    let state = ThreadState::current();
    let tsc = clock::tsc();
    let switches_plus_one = state.switches_plus_one.get();
    if clock::undisturbed() && switches_plus_one != 0 {
        return Begun {
            tsc,
            switches_plus_one,
        };
    }
    begin_slowly(state)
}

#[cold]
fn begin_slowly(state: &ThreadState) -> Begun {
    if state.vforks.get() != 0 || process::confined() {
        return Begun {
            tsc: 0,
            switches_plus_one: UNKNOWN,
        };
    }
    let known = state.switches_plus_one.get();
    if known != 0 && !clock::notices() {
        // Asking at every call would cost more than most calls. A wait that is not recorded, for a page, is taken for one
        // in the next long call then.
        return Begun {
            tsc: clock::tsc(),
            switches_plus_one: known,
        };
    }
    if state.chunk.get() == 0 {
        chunk::make_room(state, STEP);
    } else if clock::undisturbed()
        && let Some(begun) = count_switches(state)
    {
        return begun;
    }
    let before = clock::tsc();
    let switches_plus_one = sys::voluntary_switches() + 1;
    let tsc = synchronize(state, before, switches_plus_one);
    Begun {
        tsc,
        switches_plus_one,
    }
}

/// Asks for the switches alone, where the clock still watches; `None` if the thread was disturbed.
fn count_switches(state: &ThreadState) -> Option<Begun> {
    let before = clock::tsc();
    let switches_plus_one = sys::voluntary_switches() + 1;
    let tsc = clock::tsc();
    if !clock::undisturbed() {
        return None;
    }
    state.switches_plus_one.set(switches_plus_one);
    buffer::put(state, Kind::Overhead, tsc, 0, tsc.wrapping_sub(before));
    // Making room for that may have disturbed it.
    clock::undisturbed().then_some(Begun {
        tsc,
        switches_plus_one,
    })
}

/// Records the CPU time, and as the recorder's own what passed since `before`. Returns the counter.
fn synchronize(state: &ThreadState, before: u64, switches_plus_one: u64) -> u64 {
    let now = clock::synchronize(state);
    state.switches_plus_one.set(switches_plus_one);
    if let Some(mut pair) = now.pair {
        pair.cost = now.tsc.wrapping_sub(before);
        buffer::put_pair(state, pair);
    }
    now.tsc
}

/// Returns whether the thread surely kept its CPU since a call began. A signal handler, or the unwinding of a cancelled
/// thread, may have synchronized the clock meanwhile; then nobody knows the count any more.
#[inline]
pub fn nothing_happened(begun: Begun) -> bool {
    clock::undisturbed()
        && ThreadState::current().switches_plus_one.get() == begun.switches_plus_one
}

/// Says that the call came back, and records it if it blocked.
#[inline]
pub fn end(begun: Begun, target: Target, outcome: impl FnOnce() -> u8, site: u64) {
    if !nothing_happened(begun) {
        end_slowly(begun, target, outcome(), site);
    }
}

#[cold]
fn end_slowly(begun: Begun, target: Target, outcome: u8, site: u64) {
    let state = ThreadState::current();
    if !begun.is_watched(state) || !clock::notices() && clock::is_recent(begun.tsc) {
        return;
    }
    let before = clock::tsc();
    let is_wait = target.is_wait() && clock::notices();
    let mut switches_plus_one = if is_wait {
        begun.switches_plus_one + 1
    } else {
        sys::voluntary_switches() + 1
    };
    if switches_plus_one <= begun.switches_plus_one {
        if unread::resume(state, begun.tsc, before) {
            state.switches_plus_one.set(switches_plus_one);
        } else {
            synchronize(state, before, switches_plus_one);
        }
        return;
    }
    let outcome = match target {
        // What was to pass has passed.
        Target::Time(_) if outcome == OUTCOME_TIMED_OUT => OUTCOME_SUCCESS,
        _ => outcome,
    };
    let is_poll = matches!(target, Target::Other(IoKind::Poll) | Target::Epoll(_));
    if is_poll && outcome == OUTCOME_TIMED_OUT {
        // It may look at something else in between.
        process::note_nap();
    }
    let call = call(target);
    // The record may need a new chunk, which is counted by itself.
    call.put(state, begun.tsc, site);
    let back = (call.kind, call.object, outcome);
    if unread::returned(state, back, begun.tsc, before) {
        state.switches_plus_one.set(switches_plus_one);
        return;
    }
    clock::may_have_blocked(state);
    if is_wait {
        // What was taken for granted is put right now and then.
        switches_plus_one = sys::voluntary_switches() + 1;
    }
    let tsc = synchronize(state, before, switches_plus_one);
    call.put_return(state, tsc, outcome);
}

/// Says that the call came back, and records it whether or not it blocked.
#[cold]
pub fn end_of_wait(begun: Begun, target: Target, site: u64) {
    let state = ThreadState::current();
    if !begun.is_watched(state) {
        return;
    }
    let before = clock::tsc();
    let call = call(target);
    call.put(state, begun.tsc, site);
    let tsc = if clock::undisturbed() {
        before
    } else {
        clock::may_have_blocked(state);
        synchronize(state, before, sys::voluntary_switches() + 1)
    };
    call.put_return(state, tsc, OUTCOME_SUCCESS);
    if let Target::Process(pid, _) = target {
        reaped(state, tsc, pid);
    }
}

/// Notes what the kernel says of a process that has been reaped.
fn reaped(state: &ThreadState, tsc: u64, pid: u32) {
    let used = sys::children_cpu_micros();
    buffer::put(state, Kind::Reaped, tsc, u64::from(pid), used);
}

/// Says that a call which never waits found the end of the process of this number, and records it: without a return, as it did not block.
pub fn end_of_look(begun: Begun, pid: u32, site: u64) {
    let state = ThreadState::current();
    if !begun.is_watched(state) {
        return;
    }
    buffer::record(Kind::WaitProcess, u64::from(pid), OUTCOME_SUCCESS, site);
    reaped(state, clock::tsc(), pid);
}

/// Says that a call came back with what it was to take, and records it: as one record if it did not block, else as a
/// call and its return.
pub fn end_of_take(begun: Begun, target: Target, site: u64) {
    if !begun.is_watched(ThreadState::current()) {
        return;
    }
    let brief = !clock::notices() && clock::is_recent(begun.tsc);
    let blocked = !brief
        && !nothing_happened(begun)
        && sys::voluntary_switches() + 1 > begun.switches_plus_one;
    if blocked {
        end_of_wait(begun, target, site);
        return;
    }
    let Call {
        kind,
        object,
        operands,
    } = call(target);
    match operands {
        Some(operands) => buffer::record_extended(kind, object, OUTCOME_SUCCESS, site, operands),
        None => buffer::record(kind, object, OUTCOME_SUCCESS, site),
    };
}

/// A blocked call as it is recorded.
struct Call {
    kind: Kind,
    object: u64,
    operands: Option<(u64, u64)>,
}

fn call(target: Target) -> Call {
    if matches!(target, Target::Time(_) | Target::Other(IoKind::Yield)) {
        process::note_nap();
    }
    match target {
        Target::Time(nanos) => Call {
            kind: Kind::Sleep,
            object: nanos,
            operands: None,
        },
        Target::Stream(kind, stream, descriptor) => {
            // SAFETY: the stream is the one that the program used in this call.
            let fd = unsafe { descriptor(stream) };
            call(Target::File(kind, fd))
        }
        Target::File(kind, fd) | Target::Bytes(kind, fd, _) => {
            let (file, inode, device) = match target {
                // It was asked a moment ago. There is one device of all pipes.
                Target::Bytes(..) => pipes::inode(fd).map(|inode| (FileKind::Pipe, inode, 0)),
                _ => None,
            }
            .unwrap_or_else(|| identify(fd));
            Call {
                kind: Kind::Io,
                object: inode,
                operands: Some((io::pack(kind, file), device)),
            }
        }
        Target::Process(0, key) => Call {
            kind: Kind::WaitProcess,
            object: 0,
            operands: Some((key, 0)),
        },
        Target::Process(pid, _) => Call {
            kind: Kind::WaitProcess,
            object: u64::from(pid),
            operands: None,
        },
        Target::Take(kind, object, operands) => Call {
            kind,
            object,
            operands,
        },
        Target::Epoll(_) => no_file(IoKind::Poll, FileKind::Epoll),
        Target::Other(kind) => no_file(kind, FileKind::None),
    }
}

/// Returns a call on no file that could be told from others.
fn no_file(kind: IoKind, file: FileKind) -> Call {
    Call {
        kind: Kind::Io,
        object: 0,
        operands: Some((io::pack(kind, file), 0)),
    }
}

impl Call {
    fn put(&self, state: &ThreadState, tsc: u64, site: u64) {
        let tail = pack_tail(self.kind, OUTCOME_PENDING, site);
        let records = if self.operands.is_some() { 2 } else { 1 };
        let Some(at) = buffer::room(state, records) else {
            process::lose();
            return;
        };
        if let Some(operands) = self.operands {
            buffer::fill_extension(at + STEP, operands);
        }
        buffer::fill(at, tsc, self.object, tail);
    }

    fn put_return(&self, state: &ThreadState, tsc: u64, outcome: u8) {
        if let Some(at) = buffer::room(state, 1) {
            let tail = pack_tail(Kind::Return, outcome, self.kind as u64);
            buffer::fill(at, tsc, self.object, tail);
        }
    }
}

/// Returns what a file is, its inode and its device.
fn identify(fd: i32) -> (FileKind, u64, u64) {
    let Ok(stat) = sys::stat(sys::Fd(fd)) else {
        return (FileKind::Other, 0, 0);
    };
    let kind = match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG | libc::S_IFDIR => FileKind::File,
        libc::S_IFIFO => FileKind::Pipe,
        libc::S_IFSOCK => FileKind::Socket,
        libc::S_IFCHR if is_terminal(stat.st_rdev) => FileKind::Terminal,
        libc::S_IFCHR | libc::S_IFBLK => FileKind::Device,
        _ => anonymous_kind(fd),
    };
    (kind, stat.st_ino, stat.st_dev)
}

/// Returns whether a device is a terminal, by its major number: consoles, serial lines, pseudo-terminals.
fn is_terminal(device: u64) -> bool {
    matches!(libc::major(device), 4 | 5 | 136..=143 | 204)
}

/// The kinds of files that have an inode in common with others. What each was found to be is kept, since a server waits for the
/// same few again and again and asking takes microseconds. Should a number go from one such file to another of another kind, unseen, it
/// is told as the old one.
const ANONYMOUS_KINDS: [FileKind; 4] = [
    FileKind::Event,
    FileKind::Timer,
    FileKind::Epoll,
    FileKind::Other,
];

/// Returns what a file is that has an inode in common with others: the kernel tells by its link in `/proc`.
pub(crate) fn anonymous_kind(fd: i32) -> FileKind {
    let place = open_files::of(fd).map(|file| &file.anonymous);
    let known = place.map_or(0, |place| place.load(Ordering::Relaxed));
    if let Some(&kind) = ANONYMOUS_KINDS.get(usize::from(known).wrapping_sub(1)) {
        return kind;
    }
    let mut target = [0; 32];
    let length = sys::readlink_of(sys::Fd(fd), &mut target).unwrap_or(0);
    let index = match target.get(..length) {
        Some(b"anon_inode:[eventfd]") => 0,
        Some(b"anon_inode:[timerfd]") => 1,
        Some(b"anon_inode:[eventpoll]") => 2,
        _ => 3,
    };
    if let Some(place) = place {
        place.store(index as u8 + 1, Ordering::Relaxed);
    }
    ANONYMOUS_KINDS[index]
}
