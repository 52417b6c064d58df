//! The calls of the C library that the measurements need.

#![expect(
    unsafe_code,
    reason = "the C library's functions are unsafe to call; each block holds one call"
)]

use std::{
    fs, io,
    mem::MaybeUninit,
    sync::atomic::AtomicU32,
    thread::{self, JoinHandle},
    time::Duration,
};

/// As many CPUs as a mask of the kernel's holds.
const MOST_CPUS: usize = libc::CPU_SETSIZE as usize;

fn empty_set() -> libc::cpu_set_t {
    // SAFETY: all zeros are an empty set.
    unsafe { MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init() }
}

/// Returns the CPUs that this thread may run on, increasing.
pub(crate) fn allowed_cpus() -> io::Result<Vec<u32>> {
    let mut set = empty_set();
    // SAFETY: the set is of the size that is told, and outlives the call.
    let result = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let is_allowed = |cpu: &usize| {
        // SAFETY: the number is below that of the set's members.
        unsafe { libc::CPU_ISSET(*cpu, &set) }
    };
    let cpus = (0..MOST_CPUS).filter(is_allowed);
    Ok(cpus.map(|cpu| cpu as u32).collect())
}

/// Lets this thread, and those it creates, run on these CPUs only.
pub(crate) fn pin(cpus: &[u32]) -> io::Result<()> {
    let mut set = empty_set();
    for &cpu in cpus.iter().filter(|cpu| (**cpu as usize) < MOST_CPUS) {
        // SAFETY: the number is below that of the set's members.
        unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    }
    // SAFETY: the set is of the size that is told, and outlives the call.
    let result = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Runs something on a thread of its own that is pinned, so that this one stays as it is.
pub(crate) fn pinned<T: Send + 'static>(
    cpus: Vec<u32>,
    run: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let whole = move || {
        pin(&cpus)?;
        run()
    };
    joined(thread::Builder::new().spawn(whole)?)
}

/// Waits for a thread's end, and returns what came of it.
pub(crate) fn joined<T>(thread: JoinHandle<io::Result<T>>) -> io::Result<T> {
    thread
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("a measuring thread failed")))
}

/// Returns the CPU that this thread runs on.
pub(crate) fn current_cpu() -> Option<u32> {
    // SAFETY: it takes nothing and only tells.
    let cpu = unsafe { libc::sched_getcpu() };
    u32::try_from(cpu).ok()
}

/// Returns this thread's CPU time in nanoseconds.
pub fn thread_cpu_nanos() -> u64 {
    cpu_nanos(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Returns this process's CPU time in nanoseconds.
pub(crate) fn process_cpu_nanos() -> u64 {
    cpu_nanos(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn cpu_nanos(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the structure outlives the call. The clocks exist since Linux 2.6; without them all times are zero.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
        + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Waits for a word that threads share to be another than this, as long as the kernel finds that it is not.
pub(crate) fn futex_wait(word: &AtomicU32, value: u32) {
    let no_timeout = std::ptr::null::<libc::timespec>();
    // SAFETY: the word outlives the call, which changes nothing. Whatever comes back, the caller looks at the word again.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            value,
            no_timeout,
        )
    };
}

/// Wakes a thread that waits for a word to change, if there is one.
pub(crate) fn futex_wake(word: &AtomicU32) {
    // SAFETY: the word outlives the call, which only looks for its address.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            1,
        )
    };
}

/// Takes so many pages of memory, writes to each, and gives them back.
pub(crate) fn use_pages(pages: usize) -> io::Result<()> {
    /// As large as pages are where they are smallest.
    const PAGE: usize = 4096;
    let length = pages * PAGE;
    // SAFETY: the kernel chooses a place that is free.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    for page in 0..pages {
        // SAFETY: it is within what was taken, and nobody else knows of it.
        unsafe { memory.cast::<u8>().add(page * PAGE).write_volatile(1) };
    }
    // SAFETY: this is what was taken, and nothing refers to it.
    if unsafe { libc::munmap(memory, length) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Returns the CPU time of processes that this one started and that have ended, in nanoseconds.
pub(crate) fn children_cpu_nanos() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the structure outlives the call.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
    // SAFETY: all zeros are a structure of no usage, which is what it is where the call failed.
    let usage = unsafe { usage.assume_init() };
    let nanos = |time: libc::timeval| {
        u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
            + u64::try_from(time.tv_usec).unwrap_or(0) * 1_000
    };
    nanos(usage.ru_utime) + nanos(usage.ru_stime)
}

/// Ends this process after a time, unless it is called again before.
pub(crate) fn end_in(time: Duration) {
    let seconds = libc::c_uint::try_from(time.as_secs()).unwrap_or(libc::c_uint::MAX);
    // SAFETY: it takes a number only; the signal that it leads to ends the process, as nobody handles it.
    unsafe { libc::alarm(seconds) };
}

/// Asks a process to end.
pub(crate) fn ask_to_end(process: u32) {
    let Ok(process) = libc::pid_t::try_from(process) else {
        return;
    };
    // SAFETY: it takes numbers only; a process that has ended stays a zombie until its parent, which we are, waits for it.
    unsafe { libc::kill(process, libc::SIGTERM) };
}

/// Returns the CPUs that share a core with this one, itself included; nothing where the kernel does not tell.
pub(crate) fn siblings(cpu: u32) -> Vec<u32> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    parse_list(&fs::read_to_string(path).unwrap_or_default())
}

fn parse_list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_numbers_and_ranges() {
        assert_eq!(parse_list("0,4\n"), [0, 4]);
        assert_eq!(parse_list("0-2,7\n"), [0, 1, 2, 7]);
        assert_eq!(parse_list(""), [0; 0]);
    }

    #[test]
    fn a_thread_runs_where_it_is_pinned() {
        let allowed = allowed_cpus().expect("the kernel tells");
        let last = allowed[allowed.len() - 1];
        let ran = std::thread::spawn(move || {
            pin(&[last]).expect("it is allowed");
            current_cpu()
        });
        assert_eq!(ran.join().expect("it ran"), Some(last));
    }
}
