//! Samples where a program computes, by the kernel's performance events: once a millisecond of CPU time, in user mode.
//!
//! Any user may do so with programs of their own, unless `kernel.perf_event_paranoid` is above 2.
#![expect(
    unsafe_code,
    reason = "the kernel writes samples into memory that is shared with it"
)]
#![expect(
    clippy::cast_ptr_alignment,
    reason = "what is mapped is aligned to pages"
)]

use std::{
    io,
    os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
    ptr,
    sync::atomic::{AtomicU64, Ordering},
};

/// Time between samples, in nanoseconds of CPU time. No multiple of a scheduler slice: threads that take turns of equal
/// length would be seen at the same point of the round each time.
pub const PERIOD_NANOS: u64 = 1_037_117;

/// The samples' pages; a power of two. Unprivileged users have about half a megabyte.
const PAGES: usize = 64;

/// As many threads are sampled that run already: each takes a descriptor.
const MOST_THREADS: usize = 128;

const PAGE_BYTES: usize = 4096;

/// `struct perf_event_attr`, as far as its first version went.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample: u64,
    read: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    address: u64,
}

/// `PERF_TYPE_SOFTWARE` and its `PERF_COUNT_SW_TASK_CLOCK`.
const SOFTWARE: u32 = 1;
const TASK_CLOCK: u64 = 1;

/// `PERF_SAMPLE_IP | PERF_SAMPLE_TID`.
const INSTRUCTION_AND_THREAD: u64 = 1 | 2;

/// `exclude_kernel`, `exclude_hv`.
const IN_USER_MODE: u64 = 1 << 5 | 1 << 6;

/// `disabled`, `inherit`, `enable_on_exec`.
const FROM_EXEC_ON: u64 = 1 | 1 << 1 | 1 << 12;

/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: u64 = 8;

/// `PERF_EVENT_IOC_SET_OUTPUT`.
const SET_OUTPUT: libc::c_ulong = 0x2405;

/// `PERF_RECORD_SAMPLE`.
const SAMPLE: u32 = 9;

/// Where the ring's ends are in its first page, and where its bytes begin.
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;

/// Where a thread of a process was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The address of the instruction.
    pub address: u64,
    /// The process.
    pub pid: u32,
}

/// The samples of a program and all that it starts, or of some threads.
pub struct Samples {
    ring: *mut u8,
    _events: Vec<OwnedFd>,
}

// SAFETY: the ring belongs to this value alone, whichever thread has it.
unsafe impl Send for Samples {}

impl Samples {
    /// Prepares to sample the next process that this thread starts, on the CPU that it will be pinned to, from when it
    /// becomes another program. Attached to it later, the threads would be missed that it made until then.
    ///
    /// # Errors
    ///
    /// Where the kernel does not allow it.
    pub fn of_next_child(cpu: u32) -> io::Result<Self> {
        Self::of(vec![open(0, cpu, IN_USER_MODE | FROM_EXEC_ON)?])
    }

    /// Begins to sample these threads, where they run on this CPU; those that ended meanwhile are left out, and so are some where
    /// they are many.
    ///
    /// # Errors
    ///
    /// Where the kernel does not allow it, or none is there any more.
    pub fn of_threads(cpu: u32, threads: &[u32]) -> io::Result<Self> {
        let threads = threads.iter().take(MOST_THREADS);
        let events = threads.map(|&thread| open(thread, cpu, IN_USER_MODE));
        Self::of(events.filter_map(Result::ok).collect())
    }

    /// Maps the memory that the samples of all these events come to.
    fn of(events: Vec<OwnedFd>) -> io::Result<Self> {
        let Some((first, others)) = events.split_first() else {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        };
        let bytes = (1 + PAGES) * PAGE_BYTES;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let file = first.as_raw_fd();
        // SAFETY: the kernel chooses a range that nobody uses.
        let ring = unsafe { libc::mmap(ptr::null_mut(), bytes, rights, libc::MAP_SHARED, file, 0) };
        if ring == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        for other in others {
            // SAFETY: both are events of ours. One that cannot be led there is not seen.
            unsafe { libc::ioctl(other.as_raw_fd(), SET_OUTPUT, file) };
        }
        Ok(Self {
            ring: ring.cast(),
            _events: events,
        })
    }

    fn end(&self, at: usize) -> &AtomicU64 {
        // SAFETY: the ends lie in the ring's first page, aligned to eight bytes; the kernel accesses them atomically.
        unsafe { &*self.ring.add(at).cast::<AtomicU64>() }
    }

    fn byte(&self, position: u64) -> u8 {
        let offset = position as usize % (PAGES * PAGE_BYTES);
        // SAFETY: within the ring, between its ends, where the kernel does not write.
        unsafe { self.ring.add(PAGE_BYTES + offset).read_volatile() }
    }

    fn number(&self, position: u64, bytes: u64) -> u64 {
        let bytes = (0..bytes).rev();
        bytes.fold(0, |number, index| {
            number << 8 | u64::from(self.byte(position + index))
        })
    }

    /// Takes the samples that came.
    pub fn take(&mut self, mut visit: impl FnMut(Sample)) {
        let head = self.end(HEAD_AT).load(Ordering::Acquire);
        let mut at = self.end(TAIL_AT).load(Ordering::Relaxed);
        while at < head {
            let size = self.number(at + 6, 2);
            if size == 0 {
                break;
            }
            if self.number(at, 4) == u64::from(SAMPLE) {
                visit(Sample {
                    address: self.number(at + 8, 8),
                    pid: self.number(at + 16, 4) as u32,
                });
            }
            at += size;
        }
        self.end(TAIL_AT).store(head, Ordering::Release);
    }
}

/// Makes an event of a thread, or of the caller (0), on a CPU.
fn open(thread: u32, cpu: u32, flags: u64) -> io::Result<OwnedFd> {
    let attributes = Attributes {
        kind: SOFTWARE,
        size: size_of::<Attributes>() as u32,
        config: TASK_CLOCK,
        period: PERIOD_NANOS,
        sample: INSTRUCTION_AND_THREAD,
        flags,
        ..Attributes::default()
    };
    // SAFETY: the kernel reads the attributes, which say their own size.
    let event = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            thread,
            cpu,
            -1,
            CLOSE_ON_EXEC,
        )
    };
    if event < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just made it, and nobody else knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(event as i32) })
}

impl Drop for Samples {
    fn drop(&mut self) {
        // SAFETY: mapped by `of`, with this length; nobody has a reference into it any more.
        unsafe { libc::munmap(self.ring.cast(), (1 + PAGES) * PAGE_BYTES) };
    }
}
