//! Processes that are started, become other programs, and are waited for.

use core::arch::naked_asm;
use core::ffi::{c_char, c_int, c_long, c_void};

use foretrace_recorder::IoKind;
use foretrace_recorder::blocking::Target;
use foretrace_recorder::{
    Kind, Late, OUTCOME_SUCCESS, file_locks, outcome_of, process, record, record_extended, vfork,
};
use libc::{
    FILE, id_t, idtype_t, pid_t, posix_spawn_file_actions_t, posix_spawnattr_t, rusage, siginfo_t,
};

use crate::blocking::{Pending, errno, next_functions};
use crate::foreign::{self, Mapped, Program};
use crate::hook::recording;
use crate::jump::{Arguments, jump};
use crate::next::Next;
use crate::{affinity, environment, shell, successors};

/// What tells the processes of `system` from those of `popen`, which have their stream's address.
const SYSTEM: u64 = 0;

type Strings = *const *mut c_char;

next_functions! {
    fork() -> pid_t;
    _Fork() -> pid_t;
    posix_spawn(pid: *mut pid_t, path: *const c_char, actions: *const posix_spawn_file_actions_t,
        attributes: *const posix_spawnattr_t, arguments: Strings, environment: Strings) -> c_int;
    posix_spawnp(pid: *mut pid_t, file: *const c_char, actions: *const posix_spawn_file_actions_t,
        attributes: *const posix_spawnattr_t, arguments: Strings, environment: Strings) -> c_int;
    system(command: *const c_char) -> c_int;
    popen(command: *const c_char, mode: *const c_char) -> *mut FILE;
    pclose(stream: *mut FILE) -> c_int;
    wait(status: *mut c_int) -> pid_t;
    waitpid(pid: pid_t, status: *mut c_int, options: c_int) -> pid_t;
    wait3(status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t;
    wait4(pid: pid_t, status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t;
    waitid(kind: idtype_t, id: id_t, info: *mut siginfo_t, options: c_int) -> c_int;
}

/// Records what came of a call that starts a process.
fn started(slot: Late, pid: pid_t, error: c_int) {
    file_locks::inherited();
    match u64::try_from(pid) {
        Ok(pid) if pid > 0 => slot.set_object(pid),
        _ => slot.set_outcome(outcome_of(error)),
    }
}

fn fork_by(call: impl FnOnce() -> pid_t, site: u64) -> pid_t {
    if !recording() {
        return call();
    }
    // What others have bound it to its child is bound to.
    affinity::own();
    let slot = record(Kind::Fork, 0, OUTCOME_SUCCESS, site).for_later();
    let pid = call();
    // The child has another journal.
    if pid != 0 {
        started(slot, pid, errno());
    }
    pid
}

pub unsafe extern "C-unwind" fn fork(site: u64) -> pid_t {
    // SAFETY: the program's own call.
    fork_by(|| unsafe { next::fork() }, site)
}

pub unsafe extern "C-unwind" fn fork_without_handlers(site: u64) -> pid_t {
    // SAFETY: the program's own call.
    fork_by(|| unsafe { next::_Fork() }, site)
}

extern "C" fn before_vfork(site: u64) {
    if recording() {
        vfork::enter(record(Kind::Fork, 0, OUTCOME_SUCCESS, site));
    }
}

/// Takes the system call's result and returns the function's. Runs in the parent only.
extern "C" fn after_vfork(result: isize) -> isize {
    if let Some(slot) = vfork::leave() {
        foreign::take_away();
        started(slot.for_later(), result as pid_t, -result as c_int);
    }
    if result < 0 {
        // SAFETY: this thread's own.
        unsafe { *libc::__errno_location() = -result as c_int };
        return -1;
    }
    result
}

/// Exports that are no ordinary functions.
pub mod exports {
    use super::{after_vfork, before_vfork, naked_asm};

    /// Stands in for the C library's `vfork`, and does as that does: it comes back twice on one stack, where the child
    /// has overwritten the caller's address when the parent needs it. So that address is kept in a register.
    ///
    /// # Safety
    ///
    /// As the C library's.
    #[unsafe(no_mangle)]
    #[unsafe(naked)]
    pub unsafe extern "C-unwind" fn vfork() {
        naked_asm!(
            ".cfi_startproc",
            "mov rdi, qword ptr [rsp]",
            // Calls want the stack aligned to 16 bytes.
            "sub rsp, 8",
            ".cfi_adjust_cfa_offset 8",
            "call {before}",
            "add rsp, 8",
            ".cfi_adjust_cfa_offset -8",
            "pop rdi",
            ".cfi_adjust_cfa_offset -8",
            ".cfi_register rip, rdi",
            "mov eax, {number}",
            "syscall",
            "push rdi",
            ".cfi_adjust_cfa_offset 8",
            ".cfi_offset rip, -8",
            "test rax, rax",
            "jz 2f",
            "sub rsp, 8",
            ".cfi_adjust_cfa_offset 8",
            "mov rdi, rax",
            "call {after}",
            "add rsp, 8",
            ".cfi_adjust_cfa_offset -8",
            "2:",
            "ret",
            ".cfi_endproc",
            before = sym before_vfork,
            after = sym after_vfork,
            number = const libc::SYS_vfork,
        )
    }
}

unsafe fn spawn_by(pid: *mut pid_t, site: u64, call: impl FnOnce(*mut pid_t) -> c_int) -> c_int {
    if !recording() {
        return call(pid);
    }
    let slot = record(Kind::Fork, 0, OUTCOME_SUCCESS, site).for_later();
    let mut own = 0;
    let result = call(&raw mut own);
    if result == 0 && !pid.is_null() {
        // SAFETY: the program's place for the number.
        unsafe { *pid = own };
    }
    started(slot, if result == 0 { own } else { -1 }, result);
    result
}

/// Prepares the environment that a program is started with; returns one to give it instead.
unsafe fn prepare(program: Program, variables: Strings) -> Option<Mapped> {
    // SAFETY: the program's own call.
    let other = unsafe { foreign::environment_for(program, variables) };
    let variables = other.as_ref().map_or(variables, Mapped::variables);
    // SAFETY: as above.
    unsafe { successors::prepare(variables) };
    other
}

/// The program that `system` and `popen` run.
const SHELL: Program = Program::Path(c"/bin/sh".as_ptr());

/// Prepares the process's environment for a shell; returns another one to give it instead.
fn prepare_for_shell() -> Option<Mapped> {
    // SAFETY: the process's own environment.
    unsafe { prepare(SHELL, environment::variables()) }
}

/// Functions of six arguments.
pub mod wide {
    use super::{
        Strings, c_char, c_int, next, pid_t, posix_spawn_file_actions_t, posix_spawnattr_t,
    };
    use crate::blocking::export_wide;
    use crate::foreign::{Mapped, Program};

    pub unsafe extern "C-unwind" fn posix_spawn(
        pid: *mut pid_t,
        path: *const c_char,
        actions: *const posix_spawn_file_actions_t,
        attributes: *const posix_spawnattr_t,
        arguments: Strings,
        environment: Strings,
        site: u64,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let other = super::prepare(Program::Path(path), environment);
            let environment = other.as_ref().map_or(environment, Mapped::variables);
            super::spawn_by(pid, site, |pid| {
                next::posix_spawn(pid, path, actions, attributes, arguments, environment)
            })
        }
    }

    pub unsafe extern "C-unwind" fn posix_spawnp(
        pid: *mut pid_t,
        file: *const c_char,
        actions: *const posix_spawn_file_actions_t,
        attributes: *const posix_spawnattr_t,
        arguments: Strings,
        environment: Strings,
        site: u64,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            let other = super::prepare(Program::Name(file), environment);
            let environment = other.as_ref().map_or(environment, Mapped::variables);
            super::spawn_by(pid, site, |pid| {
                next::posix_spawnp(pid, file, actions, attributes, arguments, environment)
            })
        }
    }

    pub mod exports {
        use super::{
            Strings, c_char, c_int, export_wide, pid_t, posix_spawn_file_actions_t,
            posix_spawnattr_t,
        };

        export_wide! {
            posix_spawn(pid: *mut pid_t, path: *const c_char,
                actions: *const posix_spawn_file_actions_t, attributes: *const posix_spawnattr_t,
                arguments: Strings, environment: Strings; _seventh, _eighth) -> c_int;
            posix_spawnp(pid: *mut pid_t, file: *const c_char,
                actions: *const posix_spawn_file_actions_t, attributes: *const posix_spawnattr_t,
                arguments: Strings, environment: Strings; _seventh, _eighth) -> c_int;
        }
    }
}

pub unsafe extern "C-unwind" fn system(command: *const c_char, site: u64) -> c_int {
    if command.is_null() {
        // SAFETY: the program's own call.
        return unsafe { next::system(command) };
    }
    let other = prepare_for_shell();
    let call = || match &other {
        // SAFETY: the program's own call, and an environment for the shell.
        Some(other) => unsafe { shell::system(command, other.variables()) },
        // SAFETY: the program's own call.
        None => unsafe { next::system(command) },
    };
    if !recording() {
        return call();
    }
    let slot = record_extended(Kind::Fork, 0, OUTCOME_SUCCESS, site, (SYSTEM, 0)).for_later();
    let pending = Pending::begin(Target::Other(IoKind::Process), site);
    let status = call();
    if status == -1 {
        slot.set_outcome(outcome_of(errno()));
    }
    pending.end_of_process(0, SYSTEM);
    status
}

pub unsafe extern "C-unwind" fn popen(
    command: *const c_char,
    mode: *const c_char,
    site: u64,
) -> *mut FILE {
    let other = prepare_for_shell();
    let call = || {
        let ours = other.as_ref().and_then(|other| {
            // SAFETY: the program's own call, and an environment for the shell.
            unsafe { shell::popen(command, mode, other.variables()) }
        });
        ours.unwrap_or_else(|| {
            // SAFETY: the program's own call.
            let stream = unsafe { next::popen(command, mode) };
            // One of ours that was there before is closed by now.
            shell::take(stream);
            stream
        })
    };
    if !recording() {
        return call();
    }
    let slot = record_extended(Kind::Fork, 0, OUTCOME_SUCCESS, site, (0, 0)).for_later();
    let stream = call();
    if stream.is_null() {
        slot.set_outcome(outcome_of(errno()));
    } else {
        slot.set_second(stream as u64);
    }
    stream
}

pub unsafe extern "C-unwind" fn pclose(stream: *mut FILE, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || match shell::take(stream) {
        // SAFETY: as above; the stream is one of ours.
        Some(shell) => unsafe { shell::pclose(stream, shell) },
        // SAFETY: as above.
        None => unsafe { next::pclose(stream) },
    };
    if !recording() {
        return call();
    }
    let pending = Pending::begin(Target::Other(IoKind::Process), site);
    let status = call();
    pending.end_of_process(0, stream as u64);
    status
}

/// Says that a call reaped the process of this number, with these options.
fn reaped(pending: Pending, pid: u32, options: c_int) {
    if options & libc::WNOHANG == 0 {
        pending.end_of_process(pid, 0);
    } else {
        pending.end_of_look(pid);
    }
}

/// Records a wait for any process that a function reaps with these options, and which writes a status where it is told to.
unsafe fn wait_by(
    status: *mut c_int,
    options: c_int,
    site: u64,
    call: impl FnOnce(*mut c_int) -> pid_t,
) -> pid_t {
    if !recording() {
        return call(status);
    }
    let mut own = 0;
    let place = if status.is_null() {
        &raw mut own
    } else {
        status
    };
    let pending = Pending::begin(Target::Other(IoKind::Process), site);
    let pid = call(place);
    let ended = |status: c_int| libc::WIFEXITED(status) || libc::WIFSIGNALED(status);
    match u32::try_from(pid) {
        // SAFETY: the function wrote a status there.
        Ok(pid) if pid > 0 && ended(unsafe { *place }) => reaped(pending, pid, options),
        _ => pending.end(pid),
    }
    pid
}

pub unsafe extern "C-unwind" fn wait(status: *mut c_int, site: u64) -> pid_t {
    // SAFETY: the program's own call.
    unsafe { wait_by(status, 0, site, |status| next::wait(status)) }
}

pub unsafe extern "C-unwind" fn waitpid(
    pid: pid_t,
    status: *mut c_int,
    options: c_int,
    site: u64,
) -> pid_t {
    // SAFETY: the program's own call.
    unsafe {
        wait_by(status, options, site, |status| {
            next::waitpid(pid, status, options)
        })
    }
}

pub unsafe extern "C-unwind" fn wait3(
    status: *mut c_int,
    options: c_int,
    usage: *mut rusage,
    site: u64,
) -> pid_t {
    // SAFETY: the program's own call.
    unsafe {
        wait_by(status, options, site, |status| {
            next::wait3(status, options, usage)
        })
    }
}

pub unsafe extern "C-unwind" fn wait4(
    pid: pid_t,
    status: *mut c_int,
    options: c_int,
    usage: *mut rusage,
    site: u64,
) -> pid_t {
    // SAFETY: the program's own call.
    unsafe {
        wait_by(status, options, site, |status| {
            next::wait4(pid, status, options, usage)
        })
    }
}

pub unsafe extern "C-unwind" fn waitid(
    kind: idtype_t,
    id: id_t,
    info: *mut siginfo_t,
    options: c_int,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::waitid(kind, id, info, options) };
    if info.is_null() || !recording() {
        return call();
    }
    let pending = Pending::begin(Target::Other(IoKind::Process), site);
    let result = call();
    let ended = |info: &siginfo_t| {
        matches!(
            info.si_code,
            libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED
        )
    };
    if result == 0 {
        // SAFETY: the kernel wrote it; without WNOHANG or with success it tells of a process, else its number is 0.
        let info = unsafe { &*info };
        // SAFETY: it tells of a child.
        let pid = unsafe { info.si_pid() };
        if pid > 0 && ended(info) && options & libc::WNOWAIT == 0 {
            reaped(pending, pid.cast_unsigned(), options);
            return result;
        }
    }
    pending.end(result);
    result
}

/// Where a function finds the environment that it gives to the other program.
#[derive(Clone, Copy)]
enum Given {
    Third,
    Fourth,
    /// Behind the null that ends its other arguments, of which there is at least one.
    Last,
    /// The process's own, and a list of arguments.
    Own,
    /// The process's own, and arguments of which each is one of the function's.
    OwnOneByOne,
}

impl Given {
    fn find(self, arguments: &mut Arguments) -> Strings {
        match self {
            Self::Third => arguments.third as Strings,
            Self::Fourth => arguments.fourth as Strings,
            // SAFETY: the function takes them so.
            Self::Last => unsafe { arguments.behind_null().read() as Strings },
            Self::Own | Self::OwnOneByOne => environment::variables(),
        }
    }

    /// Has the function give another environment, or the one that takes one; returns whether that is to be called. The process's own stays as
    /// it is: it may go on with it, and its other threads may change it meanwhile.
    fn replace(self, arguments: &mut Arguments, by: Mapped) -> bool {
        match self {
            Self::Fourth => arguments.fourth = by.keep() as c_long,
            // SAFETY: as above.
            Self::Last => unsafe { arguments.behind_null().write(by.keep() as c_long) },
            Self::Third => arguments.third = by.keep() as c_long,
            Self::Own => {
                arguments.third = by.keep() as c_long;
                return true;
            }
            Self::OwnOneByOne => {
                // SAFETY: as above.
                let Some(list) = (unsafe { foreign::listed(arguments) }) else {
                    return false;
                };
                arguments.second = list.keep() as c_long;
                arguments.third = by.keep() as c_long;
                return true;
            }
        }
        false
    }
}

fn path(arguments: &Arguments) -> Program {
    Program::Path(arguments.first as *const c_char)
}

fn name(arguments: &Arguments) -> Program {
    Program::Name(arguments.first as *const c_char)
}

fn file(arguments: &Arguments) -> Program {
    Program::File(arguments.first as c_int)
}

fn below(arguments: &Arguments) -> Program {
    let path = arguments.second as *const c_char;
    if arguments.fifth as c_int & libc::AT_EMPTY_PATH != 0 {
        return Program::File(arguments.first as c_int);
    }
    Program::Below(arguments.first as c_int, path)
}

/// Prepares what another program is given, and notes that this one ends. Returns whether the function is to be called that takes an environment.
fn prepare_to_become(arguments: &mut Arguments, program: Program, given: Given) -> bool {
    let variables = given.find(arguments);
    // SAFETY: what the program gives to the other one.
    let other = unsafe { prepare(program, variables) };
    let is_replaced = other.is_some_and(|other| given.replace(arguments, other));
    if recording() {
        process::becomes_another();
    }
    is_replaced
}

macro_rules! become_another {
    ($($name:ident, $before:ident, $next:ident, $program:ident, $given:ident, $with_environment:ident;)*) => {
        $(
            static $next: Next = Next::new(
                match core::ffi::CStr::from_bytes_with_nul(
                    concat!(stringify!($name), "\0").as_bytes()
                ) {
                    Ok(name) => name,
                    Err(_) => panic!("a name ends where its NUL is"),
                },
                None,
            );

            extern "C" fn $before(arguments: &mut Arguments) -> *mut c_void {
                let program = $program(arguments);
                if prepare_to_become(arguments, program, Given::$given) {
                    return $with_environment.address();
                }
                $next.address()
            }
        )*

        /// The ways to become another program: they come back only if they fail, which the reader sees by there being
        /// no other program.
        pub mod exec {
            use super::{jump, $($before),*};

            $(jump!(arguments $name, $before);)*
        }
    };
}

become_another! {
    execve, before_execve, EXECVE, path, Third, EXECVE;
    execv, before_execv, EXECV, path, Own, EXECVE;
    execvp, before_execvp, EXECVP, name, Own, EXECVPE;
    execvpe, before_execvpe, EXECVPE, name, Third, EXECVPE;
    execl, before_execl, EXECL, path, OwnOneByOne, EXECVE;
    execlp, before_execlp, EXECLP, name, OwnOneByOne, EXECVPE;
    execle, before_execle, EXECLE, path, Last, EXECLE;
    fexecve, before_fexecve, FEXECVE, file, Third, FEXECVE;
    execveat, before_execveat, EXECVEAT, below, Fourth, EXECVEAT;
}
