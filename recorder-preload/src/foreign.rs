//! Programs that this library cannot be loaded into get an environment that does not name it: their loader would complain, or refuse to
//! run them. Others get one that does, where they are given one that does not.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use foretrace_recorder::programs::{self, Buffers};
use foretrace_recorder::sys::{self, Fd};
use foretrace_recorder::{ThreadState, process};

use crate::jump::Arguments;
use crate::{adopted, environment};

type Strings = *const *mut c_char;

/// The variable that names libraries to load, separated by colons or spaces.
const PRELOAD: &CStr = c"LD_PRELOAD";

/// Where programs are looked for that are named without a directory.
const SEARCH_PATH: &CStr = c"PATH";
const DEFAULT_SEARCH_PATH: &CStr = c"/bin:/usr/bin";

/// This library's path, as the dynamic linker was told of it; null for unknown.
static OWN_PATH: AtomicPtr<c_char> = AtomicPtr::new(core::ptr::null_mut());

/// Finds out what this library's path is.
pub fn note_own_path() {
    // SAFETY: all zeros are one, which is written to.
    let mut told: libc::Dl_info = unsafe { core::mem::zeroed() };
    let address = (&raw const OWN_PATH).cast::<c_void>();
    // SAFETY: an address of this library, and a place for what is told of it.
    if unsafe { libc::dladdr(address, &raw mut told) } != 0 {
        OWN_PATH.store(told.dli_fname.cast_mut(), Ordering::Relaxed);
    }
}

/// What foretrace added to the environment beside variables of its own, a bit each, where no child is to be given that.
static ADDED: AtomicU32 = AtomicU32::new(0);

/// Has the program's children not be given what foretrace added to the environment.
pub fn note_added(added: u32) {
    ADDED.store(added, Ordering::Relaxed);
}

/// Variables as foretrace adds them, each with its bit.
const ADDITIONS: [(u32, &CStr); 3] = [
    (1, c"KMP_AFFINITY=disabled"),
    (2, c"OMP_WAIT_POLICY=passive"),
    (2, c"KMP_BLOCKTIME=0"),
];

/// Copies an environment without what was added to it; `None` where there is nothing of it.
unsafe fn without_added(variables: Strings, added: u32) -> Option<Mapped> {
    // SAFETY: by the caller's promise.
    let count = unsafe { environment::count(variables) }?;
    let memory = Mapped::new((count + 1) * size_of::<*mut c_char>())?;
    let to: *mut *mut c_char = memory.address.cast();
    let mut kept = 0;
    for index in 0..count {
        // SAFETY: counted above.
        let variable = unsafe { variables.add(index).read() };
        // SAFETY: a variable is a string.
        let text = unsafe { CStr::from_ptr(variable) };
        let is_added = |&(bit, addition): &(u32, &CStr)| added & bit != 0 && text == addition;
        if !ADDITIONS.iter().any(is_added) {
            // SAFETY: not beyond what was counted; the last stays null.
            unsafe { to.add(kept).write(variable) };
            kept += 1;
        }
    }
    (kept < count).then_some(memory)
}

fn own_path() -> Option<&'static CStr> {
    let path = OWN_PATH.load(Ordering::Relaxed);
    // SAFETY: the dynamic linker keeps the path for as long as the library is there, which is never unloaded.
    (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) })
}

/// How a function names the program to run.
#[derive(Clone, Copy)]
pub enum Program {
    /// By a path.
    Path(*const c_char),
    /// By a name that is looked for where it has no directory.
    Name(*const c_char),
    /// By an open file.
    File(c_int),
    /// By a path from an open directory.
    Below(c_int, *const c_char),
}

/// Memory for what is looked at: whoever starts a program may have a small stack.
struct Room {
    buffers: Buffers,
    path: [u8; 2048],
}

/// Memory of its own, which ends with what is told of it where it is left behind.
pub struct Mapped {
    address: *mut u8,
    bytes: usize,
}

/// Memory that a child of `vfork` left to the process that it has it in common with.
struct Left {
    next: *mut Left,
    address: *mut u8,
    bytes: usize,
    /// The state of the thread that called `vfork`.
    thread: *const ThreadState,
}

/// What was left last; null for nothing.
static LEFT: AtomicPtr<Left> = AtomicPtr::new(core::ptr::null_mut());

impl Mapped {
    fn new(bytes: usize) -> Option<Self> {
        let bytes = bytes.next_multiple_of(align_of::<Left>()) + size_of::<Left>();
        let address = sys::map_zeroed(bytes).ok()?;
        Some(Self { address, bytes })
    }

    /// Returns the environment that was put there, which stays until the process becomes another program, or, in a child of `vfork`, until
    /// [`take_away`].
    pub fn keep(self) -> Strings {
        let variables = self.variables();
        let state = ThreadState::current();
        if state.is_in_vfork() {
            let Self { address, bytes } = self;
            // SAFETY: the memory's end, which is aligned as its beginning is.
            let left: *mut Left = unsafe { address.add(bytes - size_of::<Left>()) }.cast();
            let told = Left {
                next: core::ptr::null_mut(),
                address,
                bytes,
                thread: state,
            };
            // SAFETY: nobody else knows of it yet.
            unsafe { left.write(told) };
            leave(left);
        }
        core::mem::forget(self);
        variables
    }

    /// Returns the environment that was put there.
    pub fn variables(&self) -> Strings {
        self.address.cast()
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`.
        unsafe { sys::unmap(self.address, self.bytes) };
    }
}

fn leave(left: *mut Left) {
    let mut first = LEFT.load(Ordering::Acquire);
    loop {
        // SAFETY: it is in no list.
        unsafe { (*left).next = first };
        match LEFT.compare_exchange_weak(first, left, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return,
            Err(other) => first = other,
        }
    }
}

/// Takes away what children of the calling thread's `vfork` left: they are other programs by now.
pub fn take_away() {
    let mut next = LEFT.swap(core::ptr::null_mut(), Ordering::AcqRel);
    while !next.is_null() {
        let left = next;
        // SAFETY: taken out of the list, and still there.
        let told = unsafe { left.read() };
        next = told.next;
        if core::ptr::eq(told.thread, ThreadState::current()) {
            // SAFETY: mapped by `new`, and only the child used it.
            unsafe { sys::unmap(told.address, told.bytes) };
        } else {
            leave(left);
        }
    }
}

/// Returns the environment to give to a program in place of another; `None` where it may have that one.
///
/// # Safety
///
/// The pointers are what the program gave to a function of the C library that runs another one.
pub unsafe fn environment_for(program: Program, variables: Strings) -> Option<Mapped> {
    if process::confined() {
        return None;
    }
    let added = ADDED.load(Ordering::Relaxed);
    if added != 0 {
        // SAFETY: by the caller's promise.
        return unsafe { without_added(variables, added) };
    }
    let own = own_path()?;
    // SAFETY: by the caller's promise.
    let list = unsafe { environment::value_in(variables, PRELOAD) };
    // SAFETY: a variable's value is a string.
    let list = list.map_or(c"", |list| unsafe { CStr::from_ptr(list) });
    let is_named = libraries(list).any(|library| library == own.to_bytes());
    let missing = if is_named {
        None
    } else {
        // SAFETY: by the caller's promise.
        Some(unsafe { adopted::missing_in(variables) }?)
    };
    let memory = Mapped::new(size_of::<Room>())?;
    // SAFETY: mapped, aligned to a page, and any bytes are a room.
    let room = unsafe { &mut *memory.address.cast::<Room>() };
    // SAFETY: by the caller's promise.
    let takes_library = unsafe { takes_library(program, room) }.map(|takes| takes && is_there(own));
    match (missing, takes_library) {
        // SAFETY: by the caller's promise.
        (None, Some(false)) => unsafe {
            let others = libraries(list).filter(|&other| other != own.to_bytes());
            with_libraries(variables, others, &[])
        },
        // SAFETY: as above.
        (Some(missing), Some(true)) => unsafe {
            let all = libraries(list).chain([own.to_bytes()]);
            with_libraries(variables, all, missing.variables())
        },
        _ => None,
    }
}

fn libraries(list: &CStr) -> impl Iterator<Item = &[u8]> + Clone {
    let separates = |byte: &u8| matches!(byte, b':' | b' ');
    let libraries = list.to_bytes().split(separates);
    libraries.filter(|library| !library.is_empty())
}

/// Returns whether this library would be found, and could be loaded: the process may have changed its root, or its user, or have been given up
/// to read files there, or to run what is in them.
fn is_there(own: &CStr) -> bool {
    match sys::open(own, libc::O_RDONLY | libc::O_CLOEXEC, 0) {
        Ok(fd) => {
            let can_be_run = can_be_mapped(fd);
            sys::close(fd);
            can_be_run
        }
        Err(errno) => !matches!(errno, libc::ENOENT | libc::EACCES | libc::EPERM),
    }
}

/// Returns whether code of a file may be run, by mapping a page of it for that.
fn can_be_mapped(fd: Fd) -> bool {
    const BYTES: usize = 4096;
    let allowed = (libc::PROT_READ | libc::PROT_EXEC) as usize;
    let arguments = [
        0,
        BYTES,
        allowed,
        libc::MAP_PRIVATE as usize,
        fd.0.cast_unsigned() as usize,
        0,
    ];
    // SAFETY: a new mapping, where there is nothing.
    let mapped = unsafe { sys::syscall(libc::SYS_mmap, arguments) };
    if mapped < 0 {
        return !matches!(-mapped as c_int, libc::EACCES | libc::EPERM);
    }
    // SAFETY: mapped just now.
    unsafe { sys::unmap(mapped as *mut u8, BYTES) };
    true
}

unsafe fn takes_library(program: Program, Room { buffers, path }: &mut Room) -> Option<bool> {
    const HERE: Fd = Fd(libc::AT_FDCWD);
    // SAFETY: by the caller's promise, where there is something.
    let text = |path: *const c_char| unsafe { environment::text(path) };
    match program {
        Program::Path(path) => programs::takes_library(HERE, text(path)?, buffers),
        Program::Below(directory, path) => {
            programs::takes_library(Fd(directory), text(path)?, buffers)
        }
        Program::File(fd) => programs::open_takes_library(Fd(fd), buffers),
        Program::Name(name) => {
            let name = text(name)?;
            if name.to_bytes().contains(&b'/') {
                return programs::takes_library(HERE, name, buffers);
            }
            // SAFETY: the process's own environment.
            let found = unsafe { environment::value_in(environment::variables(), SEARCH_PATH) };
            // SAFETY: a variable's value is a string.
            let found = found.map(|value| unsafe { CStr::from_ptr(value) });
            let directories = found.unwrap_or(DEFAULT_SEARCH_PATH).to_bytes();
            let mut candidates = directories.split(|&byte| byte == b':');
            candidates.find_map(|directory| {
                let place = if directory.is_empty() {
                    b"."
                } else {
                    directory
                };
                let path = joined(place, name.to_bytes(), path)?;
                programs::takes_library(HERE, path, buffers)
            })
        }
    }
}

/// Puts a path together; `None` where it is too long.
fn joined<'b>(directory: &[u8], name: &[u8], buffer: &'b mut [u8]) -> Option<&'b CStr> {
    let mut length = 0;
    for part in [directory, b"/", name, b"\0"] {
        let end = length + part.len();
        buffer.get_mut(length..end)?.copy_from_slice(part);
        length = end;
    }
    CStr::from_bytes_with_nul(buffer.get(..length)?).ok()
}

/// Copies an environment, with another list of libraries, or none where that is empty, and with more variables.
unsafe fn with_libraries<'l>(
    variables: Strings,
    libraries: impl Iterator<Item = &'l [u8]> + Clone,
    more: &[*mut c_char],
) -> Option<Mapped> {
    // SAFETY: by the caller's promise.
    let count = unsafe { environment::count(variables) }?;
    let strings = (count + more.len() + 2) * size_of::<*mut c_char>();
    let name = PRELOAD.to_bytes();
    // A sign or a separator stands before each, and a zero at the end.
    let listed: usize = libraries.clone().map(|library| library.len() + 1).sum();
    let memory = Mapped::new(strings + name.len() + listed + 1)?;
    let to: *mut *mut c_char = memory.address.cast();
    // SAFETY: the rest of the memory, zeroed.
    let rest = unsafe {
        let bytes = memory.bytes - strings - size_of::<Left>();
        core::slice::from_raw_parts_mut(memory.address.add(strings), bytes)
    };
    let mut length = 0;
    for (index, library) in libraries.enumerate() {
        let start = if index == 0 { name } else { b"" };
        let separator: &[u8] = if index == 0 { b"=" } else { b":" };
        for part in [start, separator, library] {
            rest.get_mut(length..length + part.len())?
                .copy_from_slice(part);
            length += part.len();
        }
    }
    let list: *mut c_char = if length == 0 {
        core::ptr::null_mut()
    } else {
        rest.as_mut_ptr().cast()
    };
    let mut next = 0;
    let mut put = |variable: *mut c_char| {
        if !variable.is_null() {
            // SAFETY: not beyond what was counted; the last stays null.
            unsafe { to.add(next).write(variable) };
            next += 1;
        }
    };
    let mut is_put = false;
    for index in 0..count {
        // SAFETY: counted above.
        let variable = unsafe { variables.add(index).read() };
        // SAFETY: a variable is a string.
        let value = unsafe { CStr::from_ptr(variable) }.to_bytes();
        let is_list = value
            .strip_prefix(name)
            .is_some_and(|rest| rest.first() == Some(&b'='));
        is_put |= is_list;
        put(if is_list { list } else { variable });
    }
    if !is_put {
        put(list);
    }
    more.iter().copied().for_each(put);
    Some(memory)
}

/// Returns, as a list, the arguments of a function that takes those of another program one by one, from its second on.
///
/// # Safety
///
/// They are those of a hook that is in our function, and end with a null.
pub unsafe fn listed(arguments: &mut Arguments) -> Option<Mapped> {
    // SAFETY: by the caller's promise.
    let count = unsafe { arguments.strings() }.count();
    let memory = Mapped::new((count + 1) * size_of::<*mut c_char>())?;
    let to: *mut *mut c_char = memory.address.cast();
    // SAFETY: as above.
    for (index, argument) in unsafe { arguments.strings() }.enumerate() {
        // SAFETY: not beyond what was counted; the last stays null.
        unsafe { to.add(index).write(argument) };
    }
    Some(memory)
}
