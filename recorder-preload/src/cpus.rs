//! How many CPUs the program believes in. With `FORETRACE_PRETEND_CPUS` it is told of more than the one that it runs on, so
//! that it makes as many threads as it would there.

use core::ffi::{c_int, c_long, c_uint};
use core::sync::atomic::Ordering;

use foretrace_recorder::{ThreadState, process, thread};

use crate::hook::recording;
use crate::next;

/// Returns the number of CPUs to tell of, where the truth is not to be told. It stays the same after recording ended.
pub fn pretended() -> Option<u32> {
    recording();
    Some(process::pretended_cpus()).filter(|&cpus| cpus > 0)
}

pub unsafe extern "C-unwind" fn sysconf(name: c_int, _site: u64) -> c_long {
    if let libc::_SC_NPROCESSORS_ONLN | libc::_SC_NPROCESSORS_CONF = name
        && let Some(cpus) = pretended()
    {
        return c_long::from(cpus);
    }
    // SAFETY: the program's own call.
    unsafe { next::sysconf(name) }
}

pub unsafe extern "C-unwind" fn get_nprocs(_site: u64) -> c_int {
    match pretended() {
        Some(cpus) => cpus.cast_signed(),
        // SAFETY: the program's own call.
        None => unsafe { next::get_nprocs() },
    }
}

pub unsafe extern "C-unwind" fn get_nprocs_conf(_site: u64) -> c_int {
    match pretended() {
        Some(cpus) => cpus.cast_signed(),
        // SAFETY: the program's own call.
        None => unsafe { next::get_nprocs_conf() },
    }
}

/// Tells the one CPU that the thread bound itself to, else one that stays the same: programs that divide something by
/// CPU would otherwise see all their threads on one, or a CPU beyond those that they made room for.
fn current_cpu() -> Option<u32> {
    let cpus = pretended()?;
    let bound = ThreadState::current().bound.load(Ordering::Relaxed);
    if bound.is_power_of_two() {
        return Some(bound.trailing_zeros());
    }
    Some(thread::current_number() % cpus)
}

pub unsafe extern "C-unwind" fn sched_getcpu(_site: u64) -> c_int {
    match current_cpu() {
        Some(cpu) => cpu.cast_signed(),
        // SAFETY: the program's own call.
        None => unsafe { next::sched_getcpu() },
    }
}

pub unsafe extern "C-unwind" fn getcpu(cpu: *mut c_uint, node: *mut c_uint, _site: u64) -> c_int {
    // SAFETY: the program's own call.
    let result = unsafe { next::getcpu(cpu, node) };
    if result == 0
        && !cpu.is_null()
        && let Some(current) = current_cpu()
    {
        // SAFETY: the C library just wrote there.
        unsafe { *cpu = current };
    }
    result
}
