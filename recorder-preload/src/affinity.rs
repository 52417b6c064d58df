//! Which CPUs the program binds its threads to. A recorded program stays on its one CPU, whatever it asks for; what it
//! asked for is recorded, and told to it when it asks.

use core::ffi::{c_int, c_long, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

use foretrace_recorder::{
    Kind, OUTCOME_SUCCESS, ThreadState, bindings, outcome_of, process, record_extended, sys,
};
use libc::{cpu_set_t, pid_t, pthread_attr_t, pthread_t, size_t};

use crate::cpus::pretended;
use crate::hook::recording;
use crate::{lent, next};

/// Returns the set of the first so many CPUs, as far as 64 bits go.
fn first(cpus: u32) -> u64 {
    1_u64.checked_shl(cpus).map_or(u64::MAX, |bit| bit - 1)
}

/// Fills a set of `bytes` bytes with the CPUs from 0 to `cpus - 1`, of the first 64 only those that a thread is bound to;
/// returns `EINVAL` if the set is too small.
unsafe fn fill(set: *mut cpu_set_t, bytes: size_t, cpus: u32, bound: u64) -> c_int {
    if bytes.saturating_mul(8) < cpus as usize || !bytes.is_multiple_of(8) {
        return libc::EINVAL;
    }
    if !lent::can_read(set.addr() as u64, bytes as u64) {
        return libc::EFAULT;
    }
    // SAFETY: by the caller's promise the set has that many bytes.
    let set = unsafe { core::slice::from_raw_parts_mut(set.cast::<u8>(), bytes) };
    let all = first(cpus);
    let is_bound = bound != 0 && bound != all;
    let some = if is_bound { bound } else { all };
    for (index, byte) in set.iter_mut().enumerate() {
        *byte = if index < 8 {
            (some >> (8 * index)) as u8
        } else if is_bound {
            0
        } else {
            let bits = (cpus as usize).saturating_sub(index * 8).min(8);
            ((1_u16 << bits) - 1) as u8
        };
    }
    0
}

/// Returns the first 64 CPUs of a set, without those that there are not; an `errno` where none are left.
unsafe fn chosen(set: *const cpu_set_t, bytes: size_t) -> Result<u64, c_int> {
    let cpus = pretended().unwrap_or_else(configured);
    // SAFETY: any bytes are a set.
    let set = unsafe { lent::slice(set.cast::<u8>(), bytes) }.ok_or(libc::EFAULT)?;
    let mut some = false;
    let mut chosen = 0;
    for (index, &byte) in set.iter().enumerate() {
        let there = (cpus as usize).saturating_sub(index * 8).min(8);
        let byte = byte & ((1_u16 << there) - 1) as u8;
        some |= byte != 0;
        if index < 8 {
            chosen |= u64::from(byte) << (8 * index);
        }
    }
    if some { Ok(chosen) } else { Err(libc::EINVAL) }
}

/// Returns how many CPUs the machine has, or could have.
fn configured() -> u32 {
    // SAFETY: asks for a number.
    let cpus = unsafe { next::get_nprocs_conf() };
    u32::try_from(cpus)
        .ok()
        .filter(|&cpus| cpus > 0)
        .unwrap_or(u32::MAX)
}

/// The thread that a call is about: as records name it, and what it is bound to where we know.
struct Target {
    object: u64,
    bound: Option<&'static AtomicU64>,
    /// The kernel's number of it, where that is known.
    number: Option<u32>,
}

impl Target {
    fn of_number(number: pid_t) -> Self {
        let own = sys::gettid();
        let number = number.cast_unsigned();
        if number == 0 || number == own {
            let state = ThreadState::current();
            return Self {
                object: 0,
                // A child of `vfork` has its parent's, and is bound without it.
                bound: (!state.is_in_vfork()).then_some(&state.bound),
                number: Some(own),
            };
        }
        Self {
            object: number.into(),
            bound: None,
            number: Some(number),
        }
    }

    unsafe fn of_thread(thread: pthread_t) -> Self {
        // SAFETY: returns a number.
        if thread == unsafe { libc::pthread_self() } {
            return Self::of_number(0);
        }
        Self {
            object: thread,
            // SAFETY: by the caller's promise it is one of the program's threads.
            bound: Some(unsafe { ThreadState::bound_of(thread) }),
            number: None,
        }
    }

    /// Returns whether the kernel is to answer: there is no such thread, or it is of a process that nobody records. Those that are recorded
    /// run on one CPU, all on the same.
    fn is_for_the_kernel(&self) -> bool {
        let is_other = self.bound.is_none() && !process::confined();
        is_other && real_cpus(self.object as pid_t) != real_cpus(0)
    }

    fn get(&self) -> u64 {
        let by_others = self.number.and_then(bindings::of);
        let bound = self.bound;
        let inherited = (self.object == 0).then(|| &ThreadState::current().bound);
        match (bound.or(inherited), by_others) {
            (Some(known), None) => known.load(Ordering::Relaxed),
            (_, by_others) => {
                let cpus = by_others.unwrap_or(0);
                if let Some(bound) = bound {
                    bound.store(cpus, Ordering::Relaxed);
                }
                cpus
            }
        }
    }

    fn set(&self, cpus: u64) {
        if let Some(bound) = self.bound {
            bound.store(cpus, Ordering::Relaxed);
        }
        if let Some(number) = self.number
            && (self.bound.is_none() || bindings::of(number).is_some())
        {
            bindings::bind(number, cpus);
        }
    }

    /// Binds the thread, in belief, and records it; returns an `errno`.
    unsafe fn bind(&self, set: *const cpu_set_t, bytes: size_t, site: u64) -> c_int {
        // SAFETY: the program's own set.
        let chosen = unsafe { chosen(set, bytes) };
        let outcome = match chosen {
            Ok(_) => OUTCOME_SUCCESS,
            Err(errno) => outcome_of(errno),
        };
        let operands = (chosen.unwrap_or(0), 0);
        record_extended(Kind::Bind, self.object, outcome, site, operands);
        match chosen {
            Ok(cpus) => {
                self.set(cpus);
                0
            }
            Err(errno) => errno,
        }
    }
}

/// Returns what the calling thread is bound to by itself or by others, of the first 64 CPUs; 0 for all.
pub fn own() -> u64 {
    Target::of_number(0).get()
}

/// As many CPUs as Linux can be built for, in words.
const MOST_CPUS: usize = 8192 / 64;

/// Returns what tells sets of CPUs apart that a thread may really run on: the first one, the last one, and how many there are; `None`
/// where the kernel does not tell.
#[inline(never)]
fn real_cpus(number: pid_t) -> Option<(u32, u32, u32)> {
    let mut set = [0_u64; MOST_CPUS];
    // SAFETY: the set is as large as said.
    let told = unsafe { sys::getaffinity(number, size_of_val(&set), set.as_mut_ptr().cast()) };
    told.ok()?;
    let words = || (0..).step_by(64).zip(set).filter(|&(_, word)| word != 0);
    let (from, first) = words().next()?;
    let (to, last) = words().last()?;
    Some((
        from + first.trailing_zeros(),
        to + 63 - last.leading_zeros(),
        words().map(|(_, word)| word.count_ones()).sum(),
    ))
}

/// Makes an `errno` what system calls' functions return.
fn as_result(errno: c_int) -> c_int {
    if errno == 0 {
        return 0;
    }
    // SAFETY: this thread's own.
    unsafe { *libc::__errno_location() = errno };
    -1
}

pub unsafe extern "C-unwind" fn sched_getaffinity(
    pid: pid_t,
    bytes: size_t,
    set: *mut cpu_set_t,
    _site: u64,
) -> c_int {
    let Some(cpus) = pretended() else {
        // SAFETY: the program's own call.
        return unsafe { next::sched_getaffinity(pid, bytes, set) };
    };
    let target = Target::of_number(pid);
    if target.is_for_the_kernel() {
        // SAFETY: the program's own call.
        return unsafe { next::sched_getaffinity(pid, bytes, set) };
    }
    let bound = target.get();
    // SAFETY: the program's own set.
    as_result(unsafe { fill(set, bytes, cpus, bound) })
}

pub unsafe extern "C-unwind" fn pthread_getaffinity(
    thread: pthread_t,
    bytes: size_t,
    set: *mut cpu_set_t,
    _site: u64,
) -> c_int {
    let Some(cpus) = pretended() else {
        // SAFETY: the program's own call.
        return unsafe { next::pthread_getaffinity_np(thread, bytes, set) };
    };
    // SAFETY: the program's own thread.
    let bound = unsafe { Target::of_thread(thread) }.get();
    // SAFETY: the program's own set.
    unsafe { fill(set, bytes, cpus, bound) }
}

pub unsafe extern "C-unwind" fn sched_setaffinity(
    pid: pid_t,
    bytes: size_t,
    set: *const cpu_set_t,
    site: u64,
) -> c_int {
    if !recording() && pretended().is_none() {
        // SAFETY: the program's own call.
        return unsafe { next::sched_setaffinity(pid, bytes, set) };
    }
    let target = Target::of_number(pid);
    if target.is_for_the_kernel() {
        // SAFETY: the program's own call.
        return unsafe { next::sched_setaffinity(pid, bytes, set) };
    }
    // SAFETY: the program's own set.
    as_result(unsafe { target.bind(set, bytes, site) })
}

pub unsafe extern "C-unwind" fn pthread_setaffinity(
    thread: pthread_t,
    bytes: size_t,
    set: *const cpu_set_t,
    site: u64,
) -> c_int {
    if !recording() && pretended().is_none() {
        // SAFETY: the program's own call.
        return unsafe { next::pthread_setaffinity_np(thread, bytes, set) };
    }
    // SAFETY: the program's own thread and set.
    unsafe { Target::of_thread(thread).bind(set, bytes, site) }
}

/// Returns what stands in for `syscall` with this number: OpenMP's libraries ask and bind by it.
pub fn stands_in_for(number: c_long) -> Option<*mut c_void> {
    match number {
        libc::SYS_sched_getaffinity => Some(raw_getaffinity as *mut c_void),
        libc::SYS_sched_setaffinity => Some(raw_setaffinity as *mut c_void),
        _ => None,
    }
}

/// As the kernel's, which returns how many bytes of its own set it wrote.
unsafe extern "C-unwind" fn raw_getaffinity(
    _number: c_long,
    pid: pid_t,
    bytes: size_t,
    set: *mut cpu_set_t,
) -> c_long {
    let written = pretended().map_or(0, |cpus| (cpus as usize).div_ceil(64) * 8);
    if written == 0 || pid < 0 || !bytes.is_multiple_of(8) {
        // SAFETY: the program's own call.
        let result = unsafe { sys::getaffinity(pid, bytes, set.cast()) };
        return result.map_or_else(
            |errno| as_result(errno).into(),
            |bytes| bytes.cast_signed() as c_long,
        );
    }
    // SAFETY: the program's own set.
    match unsafe { sched_getaffinity(pid, bytes.min(written), set, 0) } {
        0 => written.cast_signed() as c_long,
        failed => failed.into(),
    }
}

unsafe extern "C-unwind" fn raw_setaffinity(
    _number: c_long,
    pid: pid_t,
    bytes: size_t,
    set: *const cpu_set_t,
) -> c_long {
    // SAFETY: the program's own call.
    unsafe { sched_setaffinity(pid, bytes, set, 0) }.into()
}

/// Where glibc keeps what a thread's attributes say of CPUs: a pointer, before version 2.32 followed by a length.
const EXTENSION_AT: usize = 40;
const EXTENSION_BYTES: usize = 16;

/// Attributes of a thread that begins on the recording's CPU, whatever the program's attributes say.
pub struct Attributes {
    copy: Option<pthread_attr_t>,
    /// What the program's say: of the first 64 CPUs those that the thread is to run on; 0 where they say nothing.
    pub bound: u64,
}

impl Attributes {
    /// Takes what can be taken of a program's attributes; an `errno` where they name no CPU that there is.
    pub unsafe fn new(attributes: *const pthread_attr_t) -> Result<Self, c_int> {
        let nothing = Self {
            copy: None,
            bound: 0,
        };
        // SAFETY: zeros are an empty set.
        let mut set: cpu_set_t = unsafe { core::mem::zeroed() };
        let bytes = size_of::<cpu_set_t>();
        let ask = |attributes, set: &mut cpu_set_t| {
            // SAFETY: the program's attributes, or a copy of them, and a set of ours.
            let failed = unsafe { next::pthread_attr_getaffinity_np(attributes, bytes, set) };
            failed == 0 && !is_full(set)
        };
        let is_kept = recording() || pretended().is_some();
        if !is_kept || attributes.is_null() || !ask(attributes, &mut set) {
            return Ok(nothing);
        }
        // SAFETY: a set of ours.
        let bound = unsafe { chosen(&raw const set, bytes) }?;
        // SAFETY: the C library just read them.
        let mut copy = unsafe { attributes.read() };
        // SAFETY: within the copy.
        unsafe {
            let at = (&raw mut copy).cast::<u8>().add(EXTENSION_AT);
            at.write_bytes(0, EXTENSION_BYTES);
        }
        if ask(&raw const copy, &mut set) {
            // Another C library's attributes, which are not understood.
            return Ok(nothing);
        }
        Ok(Self {
            copy: Some(copy),
            bound,
        })
    }

    /// Returns the attributes to create the thread with.
    pub fn or(&self, own: *const pthread_attr_t) -> *const pthread_attr_t {
        self.copy.as_ref().map_or(own, core::ptr::from_ref)
    }
}

fn is_full(set: &cpu_set_t) -> bool {
    // SAFETY: a set is bytes, each of which may have any value.
    let bytes = unsafe {
        core::slice::from_raw_parts(
            core::ptr::from_ref(set).cast::<u8>(),
            size_of::<cpu_set_t>(),
        )
    };
    bytes.iter().all(|&byte| byte == u8::MAX)
}
