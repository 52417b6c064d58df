//! Samples where a program computes, by the kernel's performance events: once a millisecond of CPU time or more often, in user mode; and,
//! where it is looked at closely, when each of its threads got the CPU and lost it.
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
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
};

use foretrace_calibrate::thread_cpu_nanos;

use super::system;

/// How closely a program is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// What it does for long.
    Loosely,
    /// Also when threads get the CPU and lose it; of threads that these create, too.
    Closely,
    /// Nothing but when they get the CPU and lose it.
    Turns,
}

impl Pace {
    /// Returns the time between samples, in nanoseconds of CPU time. No multiple of a scheduler slice: threads that take turns of equal
    /// length would be seen at the same point of the round each time.
    pub fn period(self) -> u64 {
        match self {
            Self::Loosely => 1_037_117,
            Self::Closely => 253_117,
            Self::Turns => 0,
        }
    }

    fn event(self) -> u64 {
        match self {
            Self::Loosely | Self::Closely => TASK_CLOCK,
            Self::Turns => DUMMY,
        }
    }

    fn flags(self) -> u64 {
        match self {
            Self::Loosely => ALWAYS,
            Self::Closely | Self::Turns => ALWAYS | INHERITED | SWITCHES,
        }
    }
}

/// The samples' pages; a power of two. Unprivileged users have about half a megabyte.
const PAGES: usize = 64;

/// As many threads are sampled that run already: each takes a descriptor.
const MOST_THREADS: usize = 512;

const PAGE_BYTES: usize = 4096;

/// `struct perf_event_attr`, as far as its fifth version went (Linux 4.1).
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
    length: u64,
    branches: u64,
    registers: u64,
    stack: u32,
    clock: i32,
    interrupted: u64,
    auxiliary: u32,
    callchain: u32,
}

/// `PERF_TYPE_SOFTWARE` and its `PERF_COUNT_SW_TASK_CLOCK` and `PERF_COUNT_SW_DUMMY`, which never happens.
const SOFTWARE: u32 = 1;
const TASK_CLOCK: u64 = 1;
const DUMMY: u64 = 9;

/// `PERF_COUNT_SW_CONTEXT_SWITCHES`.
const CONTEXT_SWITCHES: u64 = 3;

/// `PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME`.
const WHERE_WHO_AND_WHEN: u64 = 1 | 2 | 4;

/// `PERF_SAMPLE_REGS_USER`; `PERF_REG_X86_IP` as the only one; and the general ones, that, and the flags.
const USER_REGISTERS: u64 = 1 << 12;
const INSTRUCTION: u64 = 1 << 8;
const REGISTERS: u64 = 0xff_03ff;

/// Where the kernel tells the general registers, in the order of their numbers in instructions, the instruction's address and the flags.
const GENERAL: [u64; 16] = [0, 2, 3, 1, 7, 6, 4, 5, 10, 11, 12, 13, 14, 15, 16, 17];
const ADDRESS: u64 = 8;
const FLAGS: u64 = 9;

/// `PERF_SAMPLE_REGS_ABI_64`.
const WIDE: u64 = 2;

/// `exclude_kernel`.
const NO_KERNEL: u64 = 1 << 5;

/// `exclude_kernel`, `exclude_hv`, `sample_id_all`, `use_clockid`.
const ALWAYS: u64 = NO_KERNEL | 1 << 6 | 1 << 18 | 1 << 25;

/// `context_switch`.
const SWITCHES: u64 = 1 << 26;

/// `inherit`.
const INHERITED: u64 = 1 << 1;

/// `disabled`, `enable_on_exec`.
const FROM_EXEC_ON: u64 = 1 | 1 << 12;

/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: u64 = 8;

/// `PERF_EVENT_IOC_SET_OUTPUT`.
const SET_OUTPUT: libc::c_ulong = 0x2405;

/// The sizes of samples up to their registers, and with one and all of these.
const SAMPLE_BYTES: u64 = 32;
const LEAVING_BYTES: u64 = SAMPLE_BYTES + 16;
const FULL_BYTES: u64 = SAMPLE_BYTES + 8 + 8 * REGISTERS.count_ones() as u64;

/// `PERF_RECORD_SAMPLE` and `PERF_RECORD_SWITCH`.
const SAMPLE: u64 = 9;
const SWITCH: u64 = 14;

/// `PERF_RECORD_MISC_SWITCH_OUT` and `PERF_RECORD_MISC_SWITCH_OUT_PREEMPT`.
const OUT: u64 = 1 << 13;
const PREEMPTED: u64 = 1 << 14;

/// Where the ring's ends are in its first page, and where its bytes begin.
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;

/// What was seen of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It was at an instruction of this address.
    At(u64),
    /// It was at an instruction of this address when it lost the CPU, or gave it up.
    Leaves(u64),
    /// It got the CPU.
    On,
    /// It lost the CPU, or gave it up; and whether it could have gone on.
    Off(bool),
}

/// What a thread computes with: its general registers in the order of their numbers in instructions, its next instruction's address, and its flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    pub general: [u64; 16],
    pub instruction: u64,
    pub flags: u64,
}

/// A sight of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// What was seen.
    pub seen: Seen,
    /// Its process.
    pub pid: u32,
    /// Its number.
    pub tid: u32,
    /// When, by `CLOCK_MONOTONIC`, in nanoseconds.
    pub at: u64,
    /// What it computed with, of those at an instruction.
    pub registers: Option<Registers>,
}

/// The samples of a program and all that it starts, or of some threads.
pub struct Samples {
    ring: *mut u8,
    events: Vec<OwnedFd>,
    /// Those of losing the CPU.
    leaving: Vec<OwnedFd>,
}

// SAFETY: the ring belongs to this value alone, whichever thread has it.
unsafe impl Send for Samples {}

/// How often the time that a sample takes is measured, over how many rounds of a loop of some nanoseconds, and how far apart samples are
/// then.
const MEASUREMENTS: u32 = 5;
const ROUNDS: u64 = 1_000_000;
const MEASURED_PERIOD: u64 = 20_011;

/// Returns the share of a program's CPU time that looking at it closely takes, on this machine: an interrupt in a virtual machine takes ten
/// times as long as in a real one. Takes some milliseconds.
pub fn share_of_samples() -> f64 {
    let mut least = [f64::MAX; 2];
    for _ in 0..MEASUREMENTS {
        for (with, least) in [false, true].into_iter().zip(&mut least) {
            let pace = Pace::Closely;
            let period = MEASURED_PERIOD;
            let event = || open_with(0, ANY_CPU, (pace.event(), period), pace.flags());
            let _samples = with.then(|| Samples::of(vec![event()?]));
            let begun = thread_cpu_nanos();
            for round in 0..ROUNDS {
                std::hint::black_box(round);
            }
            *least = least.min((thread_cpu_nanos() - begun) as f64);
        }
    }
    let [without, with] = least;
    let count = with / MEASURED_PERIOD as f64;
    ((with - without) / count / Pace::Closely.period() as f64).clamp(0.0, MOST_SHARE)
}

/// No more than this is believed.
const MOST_SHARE: f64 = 0.2;

/// So many turns of two threads tell what it takes to see when one begins and ends; more nanoseconds than this are not believed.
const HANDED: u32 = 300;
const MOST_OF_TURN: f64 = 10_000.0;

/// Returns how much of its CPU time a thread on this CPU has for each turn of which it is seen when that begins and ends, in nanoseconds, on this machine. Takes
/// some hundredths of a second.
///
/// Two threads hand each other the CPU, unseen and seen.
pub fn cost_of_turn(cpu: u32) -> f64 {
    let mut least = [f64::MAX; 2];
    for _ in 0..MEASUREMENTS {
        for (with, least) in [false, true].into_iter().zip(&mut least) {
            if let Some(cost) = cpu_of_turns(cpu, with) {
                *least = least.min(cost);
            }
        }
    }
    let [without, with] = least;
    let is_known = with < f64::MAX && without < f64::MAX;
    let cost = if is_known { with - without } else { 0.0 };
    cost.clamp(0.0, MOST_OF_TURN)
}

/// Returns how much CPU time a turn of two threads takes that hand each other a CPU, in nanoseconds; nothing where they cannot, or not be seen.
fn cpu_of_turns(cpu: u32, seen: bool) -> Option<f64> {
    let (to_us, from_them) = mpsc::sync_channel(1);
    let (to_them, from_us) = mpsc::sync_channel(1);
    let partner = thread::spawn(move || {
        on_cpu_for(cpu, seen, || {
            to_us.send(()).ok()?;
            from_us.iter().try_for_each(|()| to_us.send(()).ok())
        })
    });
    // Whoever fails ends the other, too: it drops its ends.
    let ours = on_cpu_for(cpu, seen, move || {
        from_them.recv().ok()?;
        (0..HANDED).try_for_each(|_| {
            to_them.send(()).ok()?;
            from_them.recv().ok()
        })
    });
    let all = ours? + partner.join().ok()??;
    Some(all as f64 / f64::from(2 * HANDED))
}

/// Does something on a CPU, seen or not; returns how much CPU time it took the calling thread, which stays there.
fn on_cpu_for(cpu: u32, seen: bool, act: impl FnOnce() -> Option<()>) -> Option<u64> {
    system::pin_thread(cpu).ok()?;
    let samples = seen.then(|| Samples::of_threads(cpu, &[0], Pace::Turns));
    let _samples = samples.transpose().ok()?;
    let begun = thread_cpu_nanos();
    act()?;
    Some(thread_cpu_nanos() - begun)
}

impl Samples {
    /// Prepares to sample the next process that this thread starts, on the CPU that it will be pinned to, from when it
    /// becomes another program. Attached to it later, the threads would be missed that it made until then.
    ///
    /// # Errors
    ///
    /// Where the kernel does not allow it.
    pub fn of_next_child(cpu: u32) -> io::Result<Self> {
        let pace = Pace::Closely;
        Self::of(vec![open(0, cpu, pace, pace.flags() | FROM_EXEC_ON)?])
    }

    /// Begins to sample these threads, where they run on this CPU; those that ended meanwhile are left out, and so are some where
    /// they are many.
    ///
    /// # Errors
    ///
    /// Where the kernel does not allow it, or none is there any more.
    pub fn of_threads(cpu: u32, threads: &[u32], pace: Pace) -> io::Result<Self> {
        Self::of(events_of(cpu, threads, pace))
    }

    /// Looks at these threads, too.
    pub fn add(&mut self, cpu: u32, threads: &[u32], pace: Pace) {
        if let Some(first) = self.events.first() {
            let events = events_of(cpu, threads, pace);
            for event in &events {
                lead(event, first);
            }
            self.events.extend(events);
        }
    }

    /// Looks where these threads are when they lose the CPU, too, until [`Self::forget_leaving`]; where the user may ask for that, as the kernel is in control
    /// then. It makes each switch between threads longer.
    pub fn see_leaving(&mut self, cpu: u32, threads: &[u32]) {
        let threads = threads.iter().take(MOST_THREADS);
        let events = threads.filter_map(|&thread| open_leaving(thread, cpu).ok());
        self.leaving = events.collect();
        if let Some(first) = self.events.first() {
            for event in &self.leaving {
                lead(event, first);
            }
        }
    }

    /// Does not look there any longer.
    pub fn forget_leaving(&mut self) {
        self.leaving.clear();
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
            lead(other, first);
        }
        Ok(Self {
            ring: ring.cast(),
            events,
            leaving: Vec::new(),
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

    /// Returns a thread's registers, which are told from here on, of a program of 64 bits.
    fn registers(&self, position: u64) -> Option<Registers> {
        let told = |place: u64| self.number(position + 8 * (1 + place), 8);
        (self.number(position, 8) == WIDE).then(|| Registers {
            general: GENERAL.map(told),
            instruction: told(ADDRESS),
            flags: told(FLAGS),
        })
    }

    /// Takes what was seen since it was last called.
    pub fn take(&mut self, mut visit: impl FnMut(Sight)) {
        let head = self.end(HEAD_AT).load(Ordering::Acquire);
        let mut at = self.end(TAIL_AT).load(Ordering::Relaxed);
        while at < head {
            let size = self.number(at + 6, 2);
            if size == 0 {
                break;
            }
            let misc = self.number(at + 4, 2);
            let (seen, rest) = match self.number(at, 4) {
                SAMPLE if size == LEAVING_BYTES => {
                    let instruction = self.number(at + LEAVING_BYTES - 8, 8);
                    (Some(Seen::Leaves(instruction)), at + 16)
                }
                SAMPLE => (Some(Seen::At(self.number(at + 8, 8))), at + 16),
                SWITCH if misc & OUT != 0 => (Some(Seen::Off(misc & PREEMPTED != 0)), at + 8),
                SWITCH => (Some(Seen::On), at + 8),
                _ => (None, at),
            };
            if let Some(seen) = seen {
                let is_full = matches!(seen, Seen::At(_)) && size == FULL_BYTES;
                visit(Sight {
                    seen,
                    registers: is_full.then(|| self.registers(at + SAMPLE_BYTES)).flatten(),
                    pid: self.number(rest, 4) as u32,
                    tid: self.number(rest + 4, 4) as u32,
                    at: self.number(rest + 8, 8),
                });
            }
            at += size;
        }
        self.end(TAIL_AT).store(head, Ordering::Release);
    }
}

/// Makes the events of threads, as far as they are there and the kernel allows it.
fn events_of(cpu: u32, threads: &[u32], pace: Pace) -> Vec<OwnedFd> {
    let threads = threads.iter().take(MOST_THREADS);
    let events = threads.map(|&thread| open(thread, cpu, pace, pace.flags()));
    events.filter_map(Result::ok).collect()
}

/// Leads what comes of an event to the memory of another. One that cannot be led there is not seen.
fn lead(event: &OwnedFd, first: &OwnedFd) {
    // SAFETY: both are events of ours.
    unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT, first.as_raw_fd()) };
}

/// Makes an event of a thread, or of the caller (0), on a CPU.
fn open(thread: u32, cpu: u32, pace: Pace, flags: u64) -> io::Result<OwnedFd> {
    open_with(thread, cpu, (pace.event(), pace.period()), flags)
}

/// Stands for whichever CPU.
const ANY_CPU: u32 = u32::MAX;

/// As [`open`], of so many events of a kind between samples.
fn open_with(
    thread: u32,
    cpu: u32,
    (event, period): (u64, u64),
    flags: u64,
) -> io::Result<OwnedFd> {
    let attributes = Attributes {
        config: event,
        period,
        sample: WHERE_WHO_AND_WHEN | USER_REGISTERS,
        registers: REGISTERS,
        flags,
        ..Attributes::default()
    };
    open_as(&attributes, thread, cpu)
}

/// Makes an event of when a thread, and those that it creates, lose the CPU.
fn open_leaving(thread: u32, cpu: u32) -> io::Result<OwnedFd> {
    let attributes = Attributes {
        config: CONTEXT_SWITCHES,
        period: 1,
        sample: WHERE_WHO_AND_WHEN | USER_REGISTERS,
        registers: INSTRUCTION,
        flags: ALWAYS & !NO_KERNEL | INHERITED,
        ..Attributes::default()
    };
    open_as(&attributes, thread, cpu)
}

/// Makes an event of the kernel's own, by the clock of all others.
fn open_as(attributes: &Attributes, thread: u32, cpu: u32) -> io::Result<OwnedFd> {
    let attributes = Attributes {
        kind: SOFTWARE,
        size: size_of::<Attributes>() as u32,
        clock: libc::CLOCK_MONOTONIC,
        ..*attributes
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
