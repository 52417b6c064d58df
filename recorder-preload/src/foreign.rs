//! Programs that this library cannot be loaded into get an environment that does not name it: their loader would complain, or refuse to
//! run them.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use foretrace_recorder::programs::{self, Buffers};
use foretrace_recorder::sys::{self, Fd};
use foretrace_recorder::{ThreadState, process};

use crate::environment;

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

/// Memory of its own.
pub struct Mapped {
    address: *mut u8,
    bytes: usize,
}

impl Mapped {
    fn new(bytes: usize) -> Option<Self> {
        let address = sys::map_zeroed(bytes).ok()?;
        Some(Self { address, bytes })
    }

    /// Returns the environment that was put there, which stays for good.
    pub fn keep(self) -> Strings {
        let variables = self.variables();
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

/// Returns the environment to give to a program in place of another; `None` where it may have that one.
///
/// # Safety
///
/// The pointers are what the program gave to a function of the C library that runs another one.
pub unsafe fn environment_for(program: Program, variables: Strings) -> Option<Mapped> {
    if process::confined() {
        return None;
    }
    let own = own_path()?;
    // SAFETY: by the caller's promise.
    let list = unsafe { environment::value_in(variables, PRELOAD) }?;
    // SAFETY: a variable's value is a string.
    let list = unsafe { CStr::from_ptr(list) };
    if !libraries(list).any(|library| library == own.to_bytes()) {
        return None;
    }
    let memory = Mapped::new(size_of::<Room>())?;
    // SAFETY: mapped, aligned to a page, and any bytes are a room.
    let room = unsafe { &mut *memory.address.cast::<Room>() };
    // SAFETY: by the caller's promise.
    let is_foreign = unsafe { takes_library(program, room) } == Some(false) || !is_there(own);
    is_foreign
        // SAFETY: by the caller's promise.
        .then(|| unsafe { without_library(variables, list, own.to_bytes()) })
        .flatten()
}

fn libraries(list: &CStr) -> impl Iterator<Item = &[u8]> {
    let separates = |byte: &u8| matches!(byte, b':' | b' ');
    let libraries = list.to_bytes().split(separates);
    libraries.filter(|library| !library.is_empty())
}

/// Returns whether this library would be found: the process may have changed its root, or its user.
fn is_there(own: &CStr) -> bool {
    let found = sys::open(own, libc::O_PATH | libc::O_CLOEXEC, 0);
    if let Ok(fd) = found {
        sys::close(fd);
    }
    !matches!(found, Err(libc::ENOENT | libc::EACCES))
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

/// Copies an environment whose variable for libraries is `list`, without one of these.
unsafe fn without_library(variables: Strings, list: &CStr, library: &[u8]) -> Option<Mapped> {
    let mut count = 0;
    // SAFETY: by the caller's promise it was found to be there, and ends with a null.
    while !unsafe { variables.add(count).read() }.is_null() {
        count += 1;
    }
    let strings = (count + 1) * size_of::<*mut c_char>();
    let name = PRELOAD.to_bytes();
    let memory = Mapped::new(strings + name.len() + list.count_bytes() + 2)?;
    let to: *mut *mut c_char = memory.address.cast();
    // SAFETY: the rest of the memory, zeroed.
    let rest = unsafe {
        core::slice::from_raw_parts_mut(memory.address.add(strings), memory.bytes - strings)
    };
    let others = libraries(list).filter(|&other| other != library);
    let mut length = 0;
    for (index, other) in others.enumerate() {
        let start = if index == 0 { name } else { b"" };
        let separator: &[u8] = if index == 0 { b"=" } else { b":" };
        for part in [start, separator, other] {
            rest.get_mut(length..length + part.len())?
                .copy_from_slice(part);
            length += part.len();
        }
    }
    let mut next = 0;
    for index in 0..count {
        // SAFETY: counted above.
        let variable = unsafe { variables.add(index).read() };
        // SAFETY: a variable is a string.
        let value = unsafe { CStr::from_ptr(variable) }.to_bytes();
        let is_list = value
            .strip_prefix(name)
            .is_some_and(|rest| rest.first() == Some(&b'='));
        let kept = match (is_list, length) {
            (false, _) => variable,
            (true, 0) => continue,
            (true, _) => rest.as_mut_ptr().cast(),
        };
        // SAFETY: not beyond what was counted; the last stays null.
        unsafe { to.add(next).write(kept) };
        next += 1;
    }
    Some(memory)
}

/// The environment that the process had before another was put in its place; null for none.
static REPLACED: AtomicPtr<*mut c_char> = AtomicPtr::new(core::ptr::null_mut());

/// Puts another environment in the place of the process's own until [`put_back`], or until it becomes another program. Not where that
/// is another process's, too, in a child of `vfork`.
pub fn replace_own(other: Mapped) {
    if ThreadState::current().is_in_vfork() {
        return;
    }
    let own = environment::variables();
    REPLACED.store(own.cast_mut(), Ordering::Relaxed);
    environment::set(other.keep());
}

/// Puts the process's own environment back where it failed to become another program.
pub fn put_back() {
    let own = REPLACED.swap(core::ptr::null_mut(), Ordering::Relaxed);
    if !own.is_null() {
        environment::set(own);
    }
}
