//! `system` and `popen` for where the shell is given another environment than the process has: the C library's give it the process's. That one
//! is not touched: other threads may change it meanwhile, and the C library then frees it.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, Ordering};

use foretrace_recorder::sys;
use libc::{
    FILE, pid_t, posix_spawn_file_actions_t, posix_spawnattr_t, rusage, sigaction, sigset_t,
};

use crate::blocking::{errno, next_functions};

type Strings = *const *mut c_char;

next_functions! {
    posix_spawn(pid: *mut pid_t, path: *const c_char, actions: *const posix_spawn_file_actions_t,
        attributes: *const posix_spawnattr_t, arguments: Strings, environment: Strings) -> c_int;
    wait4(pid: pid_t, status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t;
    fdopen(fd: c_int, mode: *const c_char) -> *mut FILE;
    fclose(stream: *mut FILE) -> c_int;
}

const SHELL: &CStr = c"/bin/sh";

/// What a shell that could not be started ends with.
const NOT_STARTED: c_int = 127 << 8;

/// Starts a shell; returns an `errno`.
unsafe fn start(
    command: *const c_char,
    actions: *const posix_spawn_file_actions_t,
    attributes: *const posix_spawnattr_t,
    variables: Strings,
) -> Result<pid_t, c_int> {
    let arguments = [
        c"sh".as_ptr().cast_mut(),
        c"-c".as_ptr().cast_mut(),
        c"--".as_ptr().cast_mut(),
        command.cast_mut(),
        core::ptr::null_mut(),
    ];
    let mut pid = 0;
    // SAFETY: all are as the function wants them.
    let failed = unsafe {
        next::posix_spawn(
            &raw mut pid,
            SHELL.as_ptr(),
            actions,
            attributes,
            arguments.as_ptr(),
            variables,
        )
    };
    if failed == 0 { Ok(pid) } else { Err(failed) }
}

/// Waits for the end of a process; returns -1 with `errno` where there is none to wait for.
fn wait_for(pid: pid_t) -> c_int {
    let mut status = -1;
    loop {
        // SAFETY: a place for the status.
        let ended = unsafe { next::wait4(pid, &raw mut status, 0, core::ptr::null_mut()) };
        if ended >= 0 {
            return status;
        }
        if errno() != libc::EINTR {
            return -1;
        }
    }
}

fn set_errno(errno: c_int) {
    // SAFETY: this thread's own.
    unsafe { *libc::__errno_location() = errno };
}

/// How many calls of `system` are under way, and what they found that happens at the two signals which they have ignored.
struct Ignoring {
    calls: c_int,
    found: [sigaction; 2],
}

const IGNORED: [c_int; 2] = [libc::SIGINT, libc::SIGQUIT];

/// Whether a thread is at it.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

struct Shared(UnsafeCell<Ignoring>);

// SAFETY: looked at by the thread alone that set `IS_TAKEN`.
unsafe impl Sync for Shared {}

// SAFETY: all zeros are one.
static IGNORING: Shared = Shared(UnsafeCell::new(unsafe { core::mem::zeroed() }));

fn with_ignoring<T>(act: impl FnOnce(&mut Ignoring) -> T) -> T {
    while IS_TAKEN.swap(true, Ordering::Acquire) {
        sys::sched_yield();
    }
    // SAFETY: no other thread is at it, and signal handlers may not call `system`.
    let result = act(unsafe { &mut *IGNORING.0.get() });
    IS_TAKEN.store(false, Ordering::Release);
    result
}

/// A call of `system`. Its end, also if its thread is cancelled in it, ends the shell and gives back the signals.
struct Call {
    mask: sigset_t,
    /// The shell, as long as nobody waited for it; 0 for none.
    shell: pid_t,
}

impl Call {
    fn begin() -> Self {
        // SAFETY: all zeros are a set, which is written to.
        let (mut ends, mut mask): (sigset_t, sigset_t) = unsafe { core::mem::zeroed() };
        with_ignoring(|ignoring| {
            ignoring.calls += 1;
            if ignoring.calls == 1 {
                // SAFETY: all zeros are an action.
                let mut ignore: sigaction = unsafe { core::mem::zeroed() };
                ignore.sa_sigaction = libc::SIG_IGN;
                for (signal, found) in IGNORED.into_iter().zip(&mut ignoring.found) {
                    // SAFETY: an action, and a place for another.
                    unsafe { libc::sigaction(signal, &raw const ignore, found) };
                }
            }
        });
        // SAFETY: sets of ours.
        unsafe {
            libc::sigemptyset(&raw mut ends);
            libc::sigaddset(&raw mut ends, libc::SIGCHLD);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const ends, &raw mut mask);
        }
        Self { mask, shell: 0 }
    }

    /// Starts the shell as the program has signals outside of this call.
    unsafe fn start(&mut self, command: *const c_char, variables: Strings) -> Result<pid_t, c_int> {
        // SAFETY: all zeros are a set.
        let mut defaults: sigset_t = unsafe { core::mem::zeroed() };
        let found = with_ignoring(|ignoring| ignoring.found);
        for (signal, found) in IGNORED.into_iter().zip(found) {
            if found.sa_sigaction != libc::SIG_IGN {
                // SAFETY: a set of ours.
                unsafe { libc::sigaddset(&raw mut defaults, signal) };
            }
        }
        let flags = libc::POSIX_SPAWN_SETSIGDEF | libc::POSIX_SPAWN_SETSIGMASK;
        // SAFETY: attributes of ours, which are made and given back here.
        unsafe {
            let mut attributes: posix_spawnattr_t = core::mem::zeroed();
            libc::posix_spawnattr_init(&raw mut attributes);
            libc::posix_spawnattr_setsigmask(&raw mut attributes, &raw const self.mask);
            libc::posix_spawnattr_setsigdefault(&raw mut attributes, &raw const defaults);
            libc::posix_spawnattr_setflags(&raw mut attributes, flags as i16);
            let started = start(command, core::ptr::null(), &raw const attributes, variables);
            libc::posix_spawnattr_destroy(&raw mut attributes);
            started
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let saved = errno();
        if self.shell != 0 {
            // SAFETY: nobody waited for it, so the number is its own.
            unsafe { libc::kill(self.shell, libc::SIGKILL) };
            wait_for(self.shell);
        }
        with_ignoring(|ignoring| {
            ignoring.calls -= 1;
            if ignoring.calls == 0 {
                for (signal, found) in IGNORED.into_iter().zip(&ignoring.found) {
                    // SAFETY: what was found.
                    unsafe { libc::sigaction(signal, found, core::ptr::null_mut()) };
                }
            }
        });
        // SAFETY: what was found.
        unsafe {
            libc::pthread_sigmask(
                libc::SIG_SETMASK,
                &raw const self.mask,
                core::ptr::null_mut(),
            );
        }
        set_errno(saved);
    }
}

/// Does what `system` does.
///
/// # Safety
///
/// The command is a string, the variables are strings up to a null.
pub unsafe fn system(command: *const c_char, variables: Strings) -> c_int {
    let mut call = Call::begin();
    // SAFETY: by the caller's promise.
    match unsafe { call.start(command, variables) } {
        Ok(shell) => {
            call.shell = shell;
            let status = wait_for(shell);
            call.shell = 0;
            status
        }
        Err(failed) => {
            set_errno(failed);
            NOT_STARTED
        }
    }
}

/// A stream that [`popen`] made, and its shell.
struct Opened {
    stream: AtomicPtr<c_void>,
    shell: AtomicI32,
}

/// So many at once.
static OPENED: [Opened; 64] = [const {
    Opened {
        stream: AtomicPtr::new(core::ptr::null_mut()),
        shell: AtomicI32::new(0),
    }
}; 64];

/// Stands in a place that is being filled.
const TAKEN: *mut c_void = core::ptr::without_provenance_mut(1);

/// Returns the shell of a stream, which is forgotten; `None` where the stream is not one of ours.
pub fn take(stream: *mut FILE) -> Option<pid_t> {
    let stream = stream.cast::<c_void>();
    if stream.is_null() {
        return None;
    }
    let place = OPENED
        .iter()
        .find(|place| place.stream.load(Ordering::Acquire) == stream)?;
    let shell = place.shell.load(Ordering::Relaxed);
    place.stream.store(core::ptr::null_mut(), Ordering::Release);
    Some(shell)
}

/// Does what `popen` does; `None` where the C library's is to do it. The process's end of the pipe is closed in every program that it becomes
/// or starts: of those that `popen` starts, that is promised.
///
/// # Safety
///
/// The command and the mode are strings, the variables are strings up to a null.
pub unsafe fn popen(
    command: *const c_char,
    mode: *const c_char,
    variables: Strings,
) -> Option<*mut FILE> {
    // SAFETY: by the caller's promise.
    let reads = match unsafe { CStr::from_ptr(mode) }.to_bytes() {
        b"r" | b"re" => true,
        b"w" | b"we" => false,
        _ => return None,
    };
    let is_free = |place: &&Opened| {
        let taken = place.stream.compare_exchange(
            core::ptr::null_mut(),
            TAKEN,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        taken.is_ok()
    };
    let place = OPENED.iter().find(is_free)?;
    // SAFETY: as above.
    let opened = unsafe { open(command, reads, variables) };
    let stream = match opened {
        Ok((stream, shell)) => {
            // Where a stream of this address was closed without `pclose`, nobody asks for its shell any more.
            take(stream);
            place.shell.store(shell, Ordering::Relaxed);
            stream
        }
        Err(failed) => {
            set_errno(failed);
            core::ptr::null_mut()
        }
    };
    place.stream.store(stream.cast(), Ordering::Release);
    Some(stream)
}

unsafe fn open(
    command: *const c_char,
    reads: bool,
    variables: Strings,
) -> Result<(*mut FILE, pid_t), c_int> {
    let mut ends = [0_i32; 2];
    let close_on_exec = libc::O_CLOEXEC as usize;
    // SAFETY: a place for two numbers.
    let failed = unsafe {
        let place = ends.as_mut_ptr().addr();
        sys::syscall(libc::SYS_pipe2, [place, close_on_exec, 0, 0, 0, 0])
    };
    if failed != 0 {
        return Err(-failed as c_int);
    }
    let [read_end, write_end] = ends;
    let (own, other, target, mode) = if reads {
        (read_end, write_end, 1, c"r")
    } else {
        (write_end, read_end, 0, c"w")
    };
    // SAFETY: the descriptor is ours.
    let stream = unsafe { next::fdopen(own, mode.as_ptr()) };
    if stream.is_null() {
        let failed = errno();
        sys::close(sys::Fd(own));
        sys::close(sys::Fd(other));
        return Err(failed);
    }
    // SAFETY: actions of ours, which are made and given back here; the command and the variables by the caller's promise.
    let started = unsafe {
        let mut actions: posix_spawn_file_actions_t = core::mem::zeroed();
        libc::posix_spawn_file_actions_init(&raw mut actions);
        libc::posix_spawn_file_actions_adddup2(&raw mut actions, other, target);
        let started = start(command, &raw const actions, core::ptr::null(), variables);
        libc::posix_spawn_file_actions_destroy(&raw mut actions);
        started
    };
    sys::close(sys::Fd(other));
    match started {
        Ok(shell) => Ok((stream, shell)),
        Err(failed) => {
            // SAFETY: the stream is ours.
            unsafe { next::fclose(stream) };
            Err(failed)
        }
    }
}

/// Does what `pclose` does with a stream whose shell this is.
///
/// # Safety
///
/// The stream is open.
pub unsafe fn pclose(stream: *mut FILE, shell: pid_t) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe { next::fclose(stream) };
    wait_for(shell)
}
