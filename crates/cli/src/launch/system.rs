//! The system calls that the standard library does not offer: CPU affinity, the scheduler's slice, waiting with resource
//! usage, and signals.
#![expect(
    unsafe_code,
    reason = "the C library's functions are unsafe to call; each block holds one call"
)]

use std::{
    ffi::CString,
    fs::{self, File},
    io,
    mem::{self, MaybeUninit},
    os::{
        fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
        unix::{ffi::OsStrExt as _, process::CommandExt as _},
    },
    path::Path,
    process::Command,
    ptr,
    sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use foretrace_trace::{ExitStatus, Nanos};

/// An affinity mask for 8192 CPUs, the most that Linux can be built for.
type CpuMask = [u64; 128];

/// Turns the C convention for failure into a result.
fn check(result: i64) -> io::Result<i64> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Returns the numbers of the CPUs that this process may run on, in increasing order.
pub fn allowed_cpus() -> io::Result<Vec<u32>> {
    let mut mask: CpuMask = [0; 128];
    // SAFETY: the kernel writes at most the given number of bytes into the mask.
    check(unsafe {
        libc::syscall(
            libc::SYS_sched_getaffinity,
            0,
            size_of::<CpuMask>(),
            mask.as_mut_ptr(),
        )
    })?;
    Ok((0..8192)
        .filter(|cpu: &u32| mask[(cpu / 64) as usize] >> (cpu % 64) & 1 == 1)
        .collect())
}

/// Returns whether this process may do `mode` (`libc::X_OK` and the like) with a file, as its effective user.
pub fn may_access(path: &Path, mode: i32) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: the path is a C string that lives until the call returns.
    unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), mode, libc::AT_EACCESS) == 0 }
}

/// Returns whether a file carries capabilities.
pub fn has_file_capabilities(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    let name = c"security.capability";
    // SAFETY: path and name are C strings; with a size of zero nothing is written.
    unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), ptr::null_mut(), 0) > 0 }
}

/// Returns whether this process may do as any user.
pub fn is_root() -> bool {
    // SAFETY: asks for a number.
    unsafe { libc::geteuid() == 0 }
}

/// Arranges that a command, once forked, pins itself to `cpus` and asks for a scheduler slice before it becomes the
/// program, and that the program starts with the signal mask and the treatment of signals that foretrace was
/// started with.
pub fn prepare(
    command: &mut Command,
    cpus: &[u32],
    slice: Option<Nanos>,
    original_mask: SignalMask,
) {
    let affinity = mask_of(cpus);
    let before_exec = move || {
        pin(&affinity)?;
        if let Some(slice) = slice {
            // Kernels before 6.12 and sandboxes refuse; the parent looks at what came of it.
            let _ = set_slice(slice);
        }
        let ignored = IGNORED.load(Ordering::Relaxed);
        for signal in (1..=HIGHEST_SIGNAL).filter(|signal| ignored >> (signal - 1) & 1 == 1) {
            // SAFETY: to ignore a signal is always valid.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
        for inherited in &INHERITED {
            let original = inherited.original.load(Ordering::Relaxed);
            // SAFETY: it was the disposition of this process when it started.
            unsafe { libc::signal(inherited.signal, original) };
        }
        original_mask.restore();
        Ok(())
    };
    // SAFETY: between fork and exec the closure only makes system calls: no allocation, no lock.
    unsafe { command.pre_exec(before_exec) };
}

fn mask_of(cpus: &[u32]) -> CpuMask {
    let mut mask: CpuMask = [0; 128];
    for cpu in cpus {
        mask[(cpu / 64) as usize] |= 1 << (cpu % 64);
    }
    mask
}

/// Lets the calling thread run on these CPUs only.
fn pin(affinity: &CpuMask) -> io::Result<()> {
    // SAFETY: the kernel reads the given number of bytes of the mask.
    check(unsafe {
        libc::syscall(
            libc::SYS_sched_setaffinity,
            0,
            size_of::<CpuMask>(),
            affinity.as_ptr(),
        )
    })?;
    Ok(())
}

/// Lets the calling thread run on this CPU only.
///
/// # Errors
///
/// Where the kernel does not allow it.
pub fn pin_thread(cpu: u32) -> io::Result<()> {
    pin(&mask_of(&[cpu]))
}

/// Lets the calling thread run as soon as its sleeps are over: not up to 50 us later, as the kernel does to wake several together; and before
/// others, where the user may ask for that.
pub fn hurry_thread() {
    // SAFETY: they change nothing but the calling thread's slack and nice value; that the latter is refused changes nothing.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        libc::setpriority(libc::PRIO_PROCESS, 0, -20);
    }
}

/// Asks for a scheduler slice for the calling thread, whatever its nice value; threads and programs it starts inherit
/// it. Other policies than the ordinary two have no slice to set.
///
/// # Errors
///
/// Where the kernel refuses: those before 6.12, and sandboxes.
pub fn set_slice(slice: Nanos) -> io::Result<()> {
    let mut attributes = scheduler_attributes(0)?;
    let ordinary = [libc::SCHED_OTHER, libc::SCHED_BATCH];
    if ordinary.contains(&attributes.sched_policy.cast_signed()) {
        attributes.sched_runtime = slice.0;
        // SAFETY: the structure is whole and says its own size.
        check(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) })?;
    }
    Ok(())
}

fn scheduler_attributes(pid: i32) -> io::Result<libc::sched_attr> {
    let mut attributes = MaybeUninit::<libc::sched_attr>::zeroed();
    // SAFETY: the kernel writes at most the given number of bytes.
    check(unsafe {
        libc::syscall(
            libc::SYS_sched_getattr,
            pid,
            attributes.as_mut_ptr(),
            size_of::<libc::sched_attr>(),
            0,
        )
    })?;
    // SAFETY: zeroes are a valid value, and the kernel wrote another.
    Ok(unsafe { attributes.assume_init() })
}

/// Returns the scheduler slice of a process; `None` where the kernel does not tell (before Linux 6.12).
pub fn slice_of(pid: i32) -> Option<Nanos> {
    let attributes = scheduler_attributes(pid).ok()?;
    (attributes.sched_runtime > 0).then_some(Nanos(attributes.sched_runtime))
}

/// Returns how long a file may become that this process writes, in bytes: who writes beyond that is killed.
pub fn longest_file() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the kernel writes one limit. Where it does not, there is none.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    limit.rlim_cur
}

/// Returns how many bytes the file system has that a file is in, and how many of them this process may still use.
///
/// # Errors
///
/// Where the system does not tell.
pub fn space(file: &File) -> io::Result<(u64, u64)> {
    let mut told = MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the C library writes one such structure, and `told` is one.
    if unsafe { libc::fstatvfs(file.as_raw_fd(), told.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all zeros is a valid one, whatever was written over it too.
    let told = unsafe { told.assume_init() };
    let bytes = |blocks: u64| told.f_frsize.saturating_mul(blocks);
    Ok((bytes(told.f_blocks), bytes(told.f_bavail)))
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// By itself or by a signal.
    pub exit: ExitStatus,
    /// Its CPU time and that of all that it waited for, user and system.
    pub cpu_time: Nanos,
}

/// A stop that is over by then is nothing that a shell has to be told.
const BRIEF_STOP: Duration = Duration::from_millis(200);

/// Waits for the end of the child that `forwarding` sends signals to. While it is stopped, foretrace is, too, where a shell that runs both in
/// the foreground of a terminal would else not take the terminal back, and where somebody told foretrace to stop.
pub fn wait_for_child(pid: i32, forwarding: &Forwarding) -> io::Result<Waited> {
    // Waits without reaping first, so that no signal is forwarded to a number that already belongs to another process.
    while next_change(pid, libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT)? == libc::CLD_STOPPED {
        // Takes the news of its stop.
        next_change(pid, libc::WSTOPPED | libc::WNOHANG)?;
        // Who slows programs down stops them again and again, each time for less than this, and lets only them go on.
        thread::sleep(BRIEF_STOP);
        let is_meant = TO_STOP.swap(false, Ordering::Relaxed);
        if is_stopped(pid) && (is_meant || is_in_foreground()) {
            // SAFETY: comes back once somebody lets this process go on.
            unsafe { libc::raise(libc::SIGSTOP) };
            if is_stopped(pid) {
                // SAFETY: the child was not reaped yet, so the number is its own.
                unsafe { libc::kill(pid, libc::SIGCONT) };
            }
        }
    }
    forwarding.set_child(0);
    reap(pid)
}

/// Waits for news of a child, and returns what it did: one of `libc::CLD_EXITED` and the like.
fn next_change(pid: i32, options: i32) -> io::Result<i32> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    retry_interrupted(|| {
        let id = pid.cast_unsigned();
        // SAFETY: the kernel writes one structure.
        i64::from(unsafe { libc::waitid(libc::P_PID, id, info.as_mut_ptr(), options) })
    })?;
    // SAFETY: zeroes are a valid value, and waitid wrote another.
    Ok(unsafe { info.assume_init() }.si_code)
}

/// Returns whether this process is in the foreground of its terminal.
fn is_in_foreground() -> bool {
    let Ok(terminal) = File::open("/dev/tty") else {
        return false;
    };
    // SAFETY: asks for numbers.
    unsafe { libc::tcgetpgrp(terminal.as_raw_fd()) == libc::getpgrp() }
}

fn is_stopped(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The program's name is in brackets and may hold anything.
    let state = status.rsplit_once(") ").map_or("", |(_, rest)| rest);
    state.starts_with('T')
}

/// Waits for the end of a child that is killed if it takes too long.
pub fn reap_within(pid: i32, limit: Duration) -> io::Result<Waited> {
    // SAFETY: asks for a descriptor. Linux before 5.3 has none, and then there is no limit.
    let opened = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if let Ok(fd) = i32::try_from(opened)
        && fd >= 0
    {
        // SAFETY: it was opened just now, and is nobody else's.
        let ended = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut watched = libc::pollfd {
            fd: ended.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let millis = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one structure, as said.
        if unsafe { libc::poll(&raw mut watched, 1, millis) } == 0 {
            // SAFETY: the child was not reaped yet, so the number is its own.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
    reap(pid)
}

/// Waits for the end of a child.
pub fn reap(pid: i32) -> io::Result<Waited> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    retry_interrupted(|| {
        // SAFETY: both pointers are to values of the right types, which outlive the call.
        i64::from(unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) })
    })?;
    // SAFETY: zeroes are a valid value, and wait4 wrote another.
    let usage = unsafe { usage.assume_init() };
    let exit = if libc::WIFSIGNALED(status) {
        ExitStatus::Signal(libc::WTERMSIG(status))
    } else {
        ExitStatus::Code(libc::WEXITSTATUS(status))
    };
    Ok(Waited {
        exit,
        cpu_time: nanos_of(usage.ru_utime) + nanos_of(usage.ru_stime),
    })
}

fn retry_interrupted(mut call: impl FnMut() -> i64) -> io::Result<i64> {
    loop {
        match check(call()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

fn nanos_of(time: libc::timeval) -> Nanos {
    Nanos(time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_usec.cast_unsigned() * 1_000)
}

/// A signal that foretrace treats in its own way, and how it was treated when foretrace was started: so the program treats it.
struct Inherited {
    signal: i32,
    /// What foretrace itself does; `None` where Rust's runtime sees to that, before `main`.
    own: Option<usize>,
    original: AtomicUsize,
}

impl Inherited {
    const fn new(signal: i32, own: Option<usize>) -> Self {
        Self {
            signal,
            own,
            original: AtomicUsize::new(libc::SIG_DFL),
        }
    }
}

/// Those signals: where children's ends are ignored, nobody can wait for them, and a limit of files' sizes is an error to be told of.
static INHERITED: [Inherited; 3] = [
    Inherited::new(libc::SIGPIPE, None),
    Inherited::new(libc::SIGCHLD, Some(libc::SIG_DFL)),
    Inherited::new(libc::SIGXFSZ, Some(libc::SIG_IGN)),
];

/// Which of the standard descriptors were closed when foretrace was started, a bit each. Rust's runtime opens `/dev/null` in their places.
static CLOSED: AtomicI32 = AtomicI32::new(0);

fn remember_closed_descriptors() {
    for fd in 0..3 {
        // SAFETY: asks for flags of a descriptor that need not be open.
        if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
            CLOSED.fetch_or(1 << fd, Ordering::Relaxed);
        }
    }
}

/// Arranges that those standard descriptors are closed in a command that were when foretrace was started.
pub fn close_what_was_closed(command: &mut Command) {
    let close = || {
        for fd in 0..3 {
            if CLOSED.load(Ordering::Relaxed) >> fd & 1 == 1 {
                // SAFETY: the descriptor is nobody's: what is behind it was opened to fill its place.
                unsafe { libc::close(fd) };
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure only makes system calls: no allocation, no lock.
    unsafe { command.pre_exec(close) };
}

extern "C" fn remember_start() {
    remember_closed_descriptors();
    for inherited in &INHERITED {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: a null new action only asks; the old one is written to where it fits.
        let result = unsafe { libc::sigaction(inherited.signal, ptr::null(), action.as_mut_ptr()) };
        if result == 0 {
            // SAFETY: zeroes are a valid value, and sigaction wrote another.
            let action = unsafe { action.assume_init() };
            let original = action.sa_sigaction;
            inherited.original.store(original, Ordering::Relaxed);
        }
        if let Some(own) = inherited.own {
            // SAFETY: the default action, and to ignore a signal, are always valid.
            unsafe { libc::signal(inherited.signal, own) };
        }
    }
}

// SAFETY: the C library calls each pointer of this section before Rust's runtime starts; the function needs nothing of it.
#[used]
#[unsafe(link_section = ".init_array")]
static REMEMBER_START: extern "C" fn() = remember_start;

/// A set of blocked signals.
#[derive(Clone, Copy)]
pub struct SignalMask(libc::sigset_t);

impl SignalMask {
    /// Blocks all signals and returns the mask that was in force.
    pub fn block_all() -> Self {
        let mut all = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: the set is writable.
        unsafe { libc::sigfillset(all.as_mut_ptr()) };
        let mut old = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: both sets are valid; with a known `how` the call cannot fail.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), old.as_mut_ptr()) };
        // SAFETY: zeroes are a valid value, and pthread_sigmask wrote another.
        Self(unsafe { old.assume_init() })
    }

    /// Puts this mask in force.
    pub fn restore(&self) {
        // SAFETY: the set is valid; with a known `how` the call cannot fail.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, ptr::null_mut()) };
    }
}

/// The child that signals are forwarded to; zero for none.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// When it ended, by `CLOCK_MONOTONIC` in nanoseconds; zero before.
static ENDED_AT: AtomicU64 = AtomicU64::new(0);

/// What is said where a signal ends foretrace after that; null for nothing.
static LAST_WORDS: AtomicPtr<libc::c_char> = AtomicPtr::new(ptr::null_mut());

/// Who signals that soon after the child's end means the child: a terminal and many others signal both.
const MEANT_FOR_CHILD: u64 = 200_000_000;

fn monotonic_nanos() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the time is written to where it fits.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// What foretrace says where a signal ends it while there is still something to do for a child that has ended.
pub struct LastWords {
    forwarding: Option<Forwarding>,
}

impl LastWords {
    /// Words to be said from the end of the next child on.
    pub fn prepare(words: &str) -> Self {
        if let Ok(words) = CString::new(words) {
            // Whoever says them may do so at any time.
            LAST_WORDS.store(words.into_raw(), Ordering::Release);
        }
        Self { forwarding: None }
    }

    /// Goes on when the child is not waited for any more.
    pub fn watch(&mut self) {
        self.forwarding = Some(Forwarding::install());
    }
}

impl Drop for LastWords {
    fn drop(&mut self) {
        self.forwarding = None;
        LAST_WORDS.store(ptr::null_mut(), Ordering::Release);
    }
}

/// While it lives, signals that other processes send to foretrace go on to the child, and foretrace survives those that
/// the terminal sends to both of them.
pub struct Forwarding {
    previous: Vec<(i32, libc::sigaction)>,
}

/// The highest number of a signal.
const HIGHEST_SIGNAL: i32 = 64;

/// Signals that foretrace was told to ignore when forwarding began, a bit each from the first on.
static IGNORED: AtomicU64 = AtomicU64::new(0);

/// Whether somebody told foretrace to stop, and the child was told so.
static TO_STOP: AtomicBool = AtomicBool::new(false);

impl Forwarding {
    /// Those that nobody can catch, and those that the C library has for itself.
    const NOT_FORWARDED: [i32; 4] = [libc::SIGKILL, libc::SIGSTOP, 32, 33];

    /// Begins to forward. A signal that foretrace was told to ignore the child is told to ignore, too; it may do otherwise.
    pub fn start() -> Self {
        ENDED_AT.store(0, Ordering::Relaxed);
        Self::install()
    }

    fn install() -> Self {
        let mut previous = Vec::new();
        let signals = (1..=HIGHEST_SIGNAL).filter(|signal| !Self::NOT_FORWARDED.contains(signal));
        for signal in signals {
            // SAFETY: zeroes are a valid value: the default action without flags.
            let mut action: libc::sigaction = unsafe { mem::zeroed() };
            action.sa_sigaction = forward as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_NOCLDSTOP;
            let mut old = MaybeUninit::<libc::sigaction>::zeroed();
            // SAFETY: the handler only loads atomics, asks for the time, writes, and signals, all of which are safe in handlers; the old action is
            // written to where it fits.
            let failed = unsafe { libc::sigaction(signal, &raw const action, old.as_mut_ptr()) };
            if failed != 0 {
                continue;
            }
            // SAFETY: zeroes are a valid value, and sigaction wrote another.
            let old = unsafe { old.assume_init() };
            let inherited = INHERITED
                .iter()
                .find(|inherited| inherited.signal == signal);
            let original = inherited.map_or(old.sa_sigaction, |inherited| {
                inherited.original.load(Ordering::Relaxed)
            });
            if original == libc::SIG_IGN {
                IGNORED.fetch_or(1 << (signal - 1), Ordering::Relaxed);
            }
            previous.push((signal, old));
        }
        Self { previous }
    }

    /// Says whom to forward to; zero where that one has ended.
    #[expect(
        clippy::unused_self,
        reason = "only while forwarding is in force is there a child to name"
    )]
    pub fn set_child(&self, pid: i32) {
        if pid == 0 {
            ENDED_AT.store(monotonic_nanos(), Ordering::Relaxed);
        }
        CHILD.store(pid, Ordering::Relaxed);
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        CHILD.store(0, Ordering::Relaxed);
        for (signal, action) in &self.previous {
            // SAFETY: the action is the one that was in force before.
            unsafe { libc::sigaction(*signal, action, ptr::null_mut()) };
        }
    }
}

/// Who a signal is from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sender {
    /// Another process, which may be the child.
    Process(i32),
    /// This process itself, or the kernel for what it did.
    Own,
    /// The kernel.
    Kernel,
}

impl Sender {
    fn of(info: &libc::siginfo_t) -> Self {
        match info.si_code {
            libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL => {
                // SAFETY: such signals have a sender.
                let sender = unsafe { info.si_pid() };
                // SAFETY: asks for a number.
                if sender == unsafe { libc::getpid() } {
                    return Self::Own;
                }
                Self::Process(sender)
            }
            _ => Self::Kernel,
        }
    }
}

extern "C" fn forward(signal: i32, info: *const libc::siginfo_t, _context: *const libc::c_void) {
    // SAFETY: errno is this thread's own.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let saved = unsafe { *errno };
    // SAFETY: the kernel passes a valid structure to a handler installed with SA_SIGINFO.
    treat(signal, unsafe { &*info });
    // SAFETY: as above.
    unsafe { *errno = saved };
}

fn treat(signal: i32, info: &libc::siginfo_t) {
    let child = CHILD.load(Ordering::Relaxed);
    let sender = Sender::of(info);
    let is_stop = matches!(signal, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU);
    match sender {
        // What the program sends to its process group it has itself.
        Sender::Process(other) if child > 0 => {
            if other != child {
                if is_stop {
                    TO_STOP.store(true, Ordering::Relaxed);
                }
                pass_on(signal, info, child);
            }
        }
        // A call failed, and says so.
        Sender::Own if matches!(signal, libc::SIGPIPE | libc::SIGXFSZ) => {}
        Sender::Own | Sender::Kernel if is_fault(signal) => die_by(signal),
        _ if is_stop => stop_as_usual(signal),
        // What the terminal sends, it sends to the child as well. An alarm that was set before foretrace was started is meant for the program: a
        // child does not inherit it.
        _ if child > 0 => {
            if signal == libc::SIGALRM {
                pass_on(signal, info, child);
            }
        }
        _ => give_up(signal),
    }
}

/// Sends a signal to the child as it was sent to foretrace.
fn pass_on(signal: i32, info: &libc::siginfo_t, child: i32) {
    // SAFETY: the child was not reaped yet, so the number is its own; the structure is the kernel's.
    unsafe {
        if info.si_code == libc::SI_QUEUE {
            // With the value that was sent with it.
            libc::syscall(
                libc::SYS_rt_sigqueueinfo,
                child,
                signal,
                ptr::from_ref(info),
            );
        } else {
            libc::kill(child, signal);
        }
    }
}

/// Returns whether a signal tells a process that it cannot go on, where no other one sent it.
fn is_fault(signal: i32) -> bool {
    matches!(
        signal,
        libc::SIGSEGV
            | libc::SIGBUS
            | libc::SIGFPE
            | libc::SIGILL
            | libc::SIGTRAP
            | libc::SIGSYS
            | libc::SIGABRT
    )
}

/// Stops this process, as it would be without a handler, until somebody lets it go on.
fn stop_as_usual(signal: i32) {
    // SAFETY: zeroes are valid values: the default action, and an empty set.
    let (usual, mut set): (libc::sigaction, libc::sigset_t) = unsafe { mem::zeroed() };
    let mut own = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all are valid, and written to where they fit; the handler comes back, and so does what was blocked while it runs.
    unsafe {
        libc::sigaction(signal, &raw const usual, own.as_mut_ptr());
        libc::raise(signal);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, ptr::null_mut());
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut());
        libc::sigaction(signal, own.as_ptr(), ptr::null_mut());
    }
}

/// Ends this process by a signal where there is no child any more that it could be for.
fn give_up(signal: i32) {
    let ended = ENDED_AT.load(Ordering::Relaxed);
    let is_late = ended > 0 && monotonic_nanos().saturating_sub(ended) > MEANT_FOR_CHILD;
    let is_ignored = IGNORED.load(Ordering::Relaxed) >> (signal - 1) & 1 == 1;
    let ends_nobody = matches!(
        signal,
        libc::SIGWINCH | libc::SIGCHLD | libc::SIGURG | libc::SIGCONT | libc::SIGPIPE
    );
    if !is_late || is_ignored || ends_nobody {
        return;
    }
    let words = LAST_WORDS.load(Ordering::Acquire);
    if !words.is_null() {
        // SAFETY: a string, which is never given back.
        let length = unsafe { libc::strlen(words) };
        // SAFETY: reads as much as there is.
        unsafe { libc::write(libc::STDERR_FILENO, words.cast(), length) };
    }
    die_by(signal);
}

/// Ends this process by a signal, as the recorded program was, without a core file of its own. Returns where the signal
/// does not end processes.
pub fn die_by(signal: i32) {
    let no_core = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is whole.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core) };
    // SAFETY: the default action is always valid.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is writable.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: the empty set is valid.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, set.as_ptr(), ptr::null_mut()) };
    // SAFETY: raising a signal touches no memory.
    unsafe { libc::raise(signal) };
}

/// Returns the name of a signal, as `kill -l` shows it.
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGSYS => "SIGSYS",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_may_run_somewhere() {
        let cpus = allowed_cpus().expect("the kernel tells");
        assert!(!cpus.is_empty());
        assert!(cpus.is_sorted());
    }

    #[test]
    fn access_follows_the_mode_bits() {
        assert!(may_access(Path::new("/bin/sh"), libc::X_OK));
        assert!(!may_access(Path::new("/etc/passwd"), libc::X_OK));
        assert!(!may_access(Path::new("/nowhere"), libc::F_OK));
    }
}
