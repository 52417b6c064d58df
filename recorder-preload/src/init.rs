//! How the library comes to life in a process: by its constructor, or by a hook that ran even earlier.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use foretrace_recorder::{KnownCosts, clock, process, stack, sys, turns};

use crate::{
    adopted, characters, children, closing, environment, exit, exports, file_locks, files, foreign,
    io, lent, mpi, mutex, next, openmp, pipes, poll, queues, shell, sleep, sockets, stdio,
    successors, thread,
};

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = constructor;

extern "C" fn constructor() {
    if recording() {
        mpi::hook_at_start();
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = exit::at_exit;

/// Returns whether hooks are to record, having found out at the first call.
#[inline]
pub fn recording() -> bool {
    if process::recording() {
        return true;
    }
    slow_answer()
}

#[cold]
fn slow_answer() -> bool {
    match process::current() {
        process::UNBORN => wake_up(),
        process::STOPPED => {
            process::lose();
            false
        }
        _ => false,
    }
}

/// Finds out whether to record. A hook called from in here (by the dynamic linker's allocator, say) finds the process
/// initializing and passes its call through.
fn wake_up() -> bool {
    if !process::claim() {
        return false;
    }
    if process::was_recorded_before() {
        // A forked child, whose handler did not run: its fork was a raw one.
        return restart();
    }
    if !environment::is_there() {
        // Functions of `.preinit_array` run before the C library has it; what they do is not recorded.
        process::disclaim();
        return false;
    }
    let began = process::own_cpu_nanos();
    next::look_up_all();
    characters::look_up_everything();
    children::look_up_all();
    closing::look_up_all();
    file_locks::look_up_all();
    files::look_up_all();
    io::look_up_all();
    io::several::look_up_all();
    pipes::look_up_all();
    poll::look_up_all();
    queues::look_up_all();
    shell::look_up_all();
    sleep::look_up_all();
    sockets::look_up_all();
    stdio::look_up_all();
    exports::look_up_words();
    if sys::runs_in_valgrind() {
        // What it does there takes Valgrind's time, not its own; and what the recorder does Valgrind would report as the program's.
        lent::believe();
        process::stay_passive();
        return false;
    }
    successors::take_binding();
    foreign::note_own_path();
    // SAFETY: getenv reads the environment, which nobody changes while the process has one thread.
    let directory = unsafe { libc::getenv(successors::JOURNAL.as_ptr()) };
    if directory.is_null() {
        // Nothing is to be recorded, but the program may still be told of more CPUs.
        process::pretend_only(number(c"FORETRACE_PRETEND_CPUS"));
        return false;
    }
    // SAFETY: an environment variable's value ends with a NUL and stays where it is; it is copied at once.
    let directory = unsafe { CStr::from_ptr(directory) };
    if directory.is_empty() {
        // A program before this one gave up system calls.
        process::confine();
        process::pretend_only(number(c"FORETRACE_PRETEND_CPUS"));
        return false;
    }
    let area = clock::rseq_area(|name| crate::next::find(libc::RTLD_DEFAULT, name.as_ptr()));
    let cpus = number(c"FORETRACE_PRETEND_CPUS");
    let stacks = number(c"FORETRACE_STACKS");
    turns::set_length(u64::from(number(c"FORETRACE_TURN")));
    if number(c"FORETRACE_PASSIVE") != 0 {
        openmp::note_made_passive();
    }
    // SAFETY: as above.
    let clock_known = unsafe { libc::getenv(c"FORETRACE_RSEQ".as_ptr()) };
    // SAFETY: null, or a string.
    let falls = !clock_known.is_null() && unsafe { clock_known.read() } == KNOWN;
    // SAFETY: as above.
    if !unsafe { libc::getenv(c"FORETRACE_ALONE".as_ptr()) }.is_null() {
        ALONE.store(1, Ordering::Relaxed);
        foreign::note_added(number(c"FORETRACE_ALONE"));
        // SAFETY: the process has one thread, or its others do not change the environment while libraries are set up.
        unsafe { environment::restore() };
    }
    if !process::start(
        directory,
        cpus,
        area,
        falls,
        began,
        (&known_costs(), &mutex::COMPARED),
    ) {
        return false;
    }
    if !clock_known.is_null() && clock::notices() {
        // The programs that this one becomes or starts find it in their environment.
        // SAFETY: the string has a character, and is the process's own, at the end of its stack.
        unsafe { clock_known.write(KNOWN) };
    }
    if ALONE.load(Ordering::Relaxed) == 0 {
        adopted::keep();
    }
    stack::set_depth(stacks);
    thread::watch_first();
    watch_forks();
    pipes::tell_outputs();
    process::wait_for_calls();
    true
}

/// What stands in `FORETRACE_RSEQ` once a process found that rseq works as a clock; before it is another character.
const KNOWN: c_char = b'1'.cast_signed();

/// Not zero where the children of this process are not to be recorded.
static ALONE: AtomicU32 = AtomicU32::new(0);

/// Begins anew in a forked child, where children are recorded.
fn restart() -> bool {
    if ALONE.load(Ordering::Relaxed) == 0 {
        return process::restart();
    }
    process::stay_passive();
    false
}

/// Returns what foretrace measured of recording before it ran the program.
fn known_costs() -> KnownCosts {
    // SAFETY: as above.
    let value = unsafe { libc::getenv(c"FORETRACE_COSTS".as_ptr()) };
    if value.is_null() {
        return KnownCosts::default();
    }
    // SAFETY: as above.
    let text = unsafe { CStr::from_ptr(value) };
    text.to_str()
        .ok()
        .and_then(KnownCosts::parse)
        .unwrap_or_default()
}

/// Reads a number from the environment; 0 where there is none.
fn number(name: &CStr) -> u32 {
    // SAFETY: as above.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return 0;
    }
    // SAFETY: as above.
    let value = unsafe { CStr::from_ptr(value) };
    value
        .to_str()
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

fn watch_forks() {
    static WATCHED: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" {
        /// What `pthread_atfork` calls; that one is in glibc's static part, bound to the caller's library.
        fn __register_atfork(
            prepare: Option<unsafe extern "C" fn()>,
            parent: Option<unsafe extern "C" fn()>,
            child: Option<unsafe extern "C" fn()>,
            library: *mut c_void,
        ) -> c_int;
    }
    if WATCHED.swap(1, Ordering::Relaxed) == 0 {
        // SAFETY: a handler for the child alone; the library is never unloaded, so it needs no handle.
        unsafe { __register_atfork(None, None, Some(in_forked_child), core::ptr::null_mut()) };
    }
}

unsafe extern "C" fn in_forked_child() {
    // Where the kernel could not wipe the state, it still says that the parent records.
    if process::current() != process::PASSIVE {
        restart();
    }
}
