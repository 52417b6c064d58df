//! Opening files that tell how many CPUs there are, also below a directory that was opened before, and listing them.
//!
//! All other files are none of our business: the hooks look at a path's first bytes and jump.
//!
//! Deliberately absent: paths that begin at the current directory where that is one of these, and what the C library looks at by
//! itself (`glob`).

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::sync::atomic::Ordering;

use foretrace_recorder::cpu_files::{self, CpuFile, Told};
use foretrace_recorder::sys::{self, Fd};
use foretrace_recorder::{CPU_DIRECTORY, ThreadState, process};

use crate::cpus::pretended;
use crate::jump::jump;
use crate::lent;
use crate::next::Next;

static OPEN: Next = Next::new(c"open", None);
static OPEN64: Next = Next::new(c"open64", None);
static CHECKED_OPEN: Next = Next::new(c"__open_2", None);
static CHECKED_OPEN64: Next = Next::new(c"__open64_2", None);
static OPENAT: Next = Next::new(c"openat", None);
static OPENAT64: Next = Next::new(c"openat64", None);
static CHECKED_OPENAT: Next = Next::new(c"__openat_2", None);
static CHECKED_OPENAT64: Next = Next::new(c"__openat64_2", None);
static FOPEN: Next = Next::new(c"fopen", None);
static FOPEN64: Next = Next::new(c"fopen64", None);
static OPENDIR: Next = Next::new(c"opendir", None);
static SCANDIR: Next = Next::new(c"scandir", None);
static SCANDIR64: Next = Next::new(c"scandir64", None);
static ACCESS: Next = Next::new(c"access", None);
static FACCESSAT: Next = Next::new(c"faccessat", None);
static STAT: Next = Next::new(c"stat", None);
static STAT64: Next = Next::new(c"stat64", None);
static LSTAT: Next = Next::new(c"lstat", None);
static LSTAT64: Next = Next::new(c"lstat64", None);
static FSTATAT: Next = Next::new(c"fstatat", None);
static FSTATAT64: Next = Next::new(c"fstatat64", None);
static GETXATTR: Next = Next::new(c"getxattr", None);
static LGETXATTR: Next = Next::new(c"lgetxattr", None);
static STATX: Next = Next::new(c"statx", None);

/// Looks the functions up, so that no hook has to later: sanitizers call some while they report, and memory that the dynamic linker gives back
/// then they do not know.
pub fn look_up_all() {
    for function in [
        &OPEN,
        &OPEN64,
        &CHECKED_OPEN,
        &CHECKED_OPEN64,
        &OPENAT,
        &OPENAT64,
        &CHECKED_OPENAT,
        &CHECKED_OPENAT64,
        &FOPEN,
        &FOPEN64,
        &OPENDIR,
        &SCANDIR,
        &SCANDIR64,
        &ACCESS,
        &FACCESSAT,
        &STAT,
        &STAT64,
        &LSTAT,
        &LSTAT64,
        &FSTATAT,
        &FSTATAT64,
        &GETXATTR,
        &LGETXATTR,
        &STATX,
    ] {
        function.address();
    }
}

/// How paths begin that may tell of CPUs.
const ABSOLUTE: [&str; 2] = ["/proc/", "/sys/"];

/// The same for paths below a directory.
const BELOW: [&str; 13] = [
    "cpu",
    "online",
    "possible",
    "present",
    "stat",
    "node",
    "thread",
    "core_",
    "physical",
    "kernel_max",
    "package",
    "die_",
    "shared_",
];

/// As many bytes as the longest of these.
type Beginning = [u8; 10];

/// Returns whether a path, which may be below an open directory, may tell of CPUs; false where it cannot be read.
#[inline]
unsafe fn may_tell(directory: c_int, path: *const c_char) -> bool {
    if pretended().is_none() {
        return false;
    }
    // SAFETY: the caller's promise.
    let path: Beginning = unsafe { lent::beginning(path) };
    let begins = |name: &&str| path.starts_with(name.as_bytes());
    ABSOLUTE.iter().any(begins) || directory >= 0 && BELOW.iter().any(begins)
}

/// Room for a path.
type Buffer = cpu_files::PathBuffer;

/// Returns the directory that shows the CPUs which the program believes in, where there is one: its path, in `buffer`.
fn listing(buffer: &mut Buffer) -> Option<&[u8]> {
    let journals = process::directory().to_bytes();
    let mut length = 0;
    for part in [journals, b"/", CPU_DIRECTORY.as_bytes()] {
        let end = length + part.len();
        buffer.get_mut(length..end)?.copy_from_slice(part);
        length = end;
    }
    buffer.get(..length).filter(|_| !journals.is_empty())
}

fn told() -> Option<Told> {
    let cpus = pretended().filter(|_| !process::confined())?;
    let bound = ThreadState::current().bound.load(Ordering::Relaxed);
    Some(Told { cpus, bound })
}

/// Paths that are put together, in memory of their own: whoever opens a file may have a small stack.
struct Room(*mut Paths);

struct Paths {
    listing: Buffer,
    link: Buffer,
    whole: Buffer,
    other: Buffer,
}

impl Room {
    fn make() -> Option<Self> {
        let memory = sys::map_zeroed(size_of::<Paths>()).ok()?;
        Some(Self(memory.cast()))
    }

    fn paths(&mut self) -> &mut Paths {
        // SAFETY: mapped until this is dropped, zeroed, and aligned to a page.
        unsafe { &mut *self.0 }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: mapped by `make`.
        unsafe { sys::unmap(self.0.cast(), size_of::<Paths>()) };
    }
}

/// What is to be opened in a program's place, and what then is to be put in that one's.
struct Instead {
    file: CpuFile,
    told: Told,
    /// A string in the room.
    path: Option<*const c_char>,
    _room: Room,
}

/// Finds out what a path means, below a directory if it does not begin at the root.
#[cold]
#[inline(never)]
fn instead(directory: c_int, path: &CStr) -> Option<Instead> {
    let told = told()?;
    let path = path.to_bytes();
    let is_absolute = path.starts_with(b"/");
    if is_absolute && cpu_files::recognize(path).is_none() {
        return None;
    }
    let mut room = Room::make()?;
    let Paths {
        listing: place,
        link,
        whole,
        other,
    } = room.paths();
    let listing = listing(place);
    let path = if is_absolute {
        path
    } else {
        cpu_files::below(Fd(directory), path, listing, (link, whole))?
    };
    let file = cpu_files::recognize(path)?;
    let found = file.open_instead(path, told.cpus, listing, other);
    let path = found.map(CStr::as_ptr);
    Some(Instead {
        file,
        told,
        path,
        _room: room,
    })
}

impl Instead {
    /// Calls a function with the path to take; again with the program's own where a listing is no longer there.
    fn call<T>(
        &self,
        own: *const c_char,
        succeeded: impl Fn(&T) -> bool,
        call: impl Fn(*const c_char) -> T,
    ) -> T {
        let Some(path) = self.path else {
            return call(own);
        };
        // SAFETY: the address of this thread's own.
        let errno = unsafe { *libc::__errno_location() };
        let result = call(path);
        if self.file != CpuFile::Directory || succeeded(&result) {
            return result;
        }
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = errno };
        call(own)
    }
}

fn find(directory: c_int, path: *const c_char) -> Option<Instead> {
    // SAFETY: the program's own path.
    instead(directory, unsafe { CStr::from_ptr(path) })
}

/// Opens a file, and puts another in its place where it tells of CPUs.
fn open_by(
    (directory, path, flags): (c_int, *const c_char, c_int),
    open: impl Fn(*const c_char) -> c_int,
) -> c_int {
    let reads = flags & libc::O_ACCMODE == libc::O_RDONLY;
    let Some(instead) = find(directory, path).filter(|_| reads) else {
        return open(path);
    };
    let fd = instead.call(path, |&fd| fd >= 0, open);
    if fd >= 0 {
        cpu_files::replace(Fd(fd), instead.file, instead.told);
    }
    fd
}

/// The same for a stream, whose file is replaced before anything was read from it.
fn open_stream(
    (path, mode): (*const c_char, *const c_char),
    open: impl Fn(*const c_char) -> *mut libc::FILE,
) -> *mut libc::FILE {
    // SAFETY: the program's own mode.
    let mode = unsafe { CStr::from_ptr(mode) }.to_bytes();
    let reads = mode.starts_with(b"r") && !mode.contains(&b'+');
    let Some(instead) = find(-1, path).filter(|_| reads) else {
        return open(path);
    };
    let stream = instead.call(path, |stream| !stream.is_null(), open);
    if !stream.is_null() {
        // SAFETY: a stream that was opened just now.
        let fd = unsafe { libc::fileno(stream) };
        cpu_files::replace(Fd(fd), instead.file, instead.told);
    }
    stream
}

/// Asks for something else about a path; a result below 0 is an error.
fn ask<T: PartialOrd + Default>(
    (directory, path): (c_int, *const c_char),
    call: impl Fn(*const c_char) -> T,
) -> T {
    match find(directory, path) {
        Some(instead) => instead.call(path, |result| *result >= T::default(), call),
        None => call(path),
    }
}

/// Opens a directory to list it.
fn open_directory(path: *const c_char, open: impl Fn(*const c_char) -> *mut c_void) -> *mut c_void {
    match find(-1, path) {
        Some(instead) => instead.call(path, |stream| !stream.is_null(), open),
        None => open(path),
    }
}

/// Defines the two halves of a hook: what is jumped to for every path, and what it chooses for some.
macro_rules! opening {
    ($($hook:ident, $before:ident, $instead:ident, $next:ident:
        ($($argument:ident: $type:ty),*) $path:ident -> $result:ty, $may:expr, $work:ident $what:expr;)*) => {
        $(
            unsafe extern "C" fn $before($($argument: $type),*) -> *mut c_void {
                $(let _ = $argument;)*
                // SAFETY: the program's own path.
                if unsafe { $may } {
                    return $instead as *mut c_void;
                }
                $next.address()
            }

            unsafe extern "C-unwind" fn $instead($($argument: $type),*) -> $result {
                let address = $next.address();
                // SAFETY: the function of that name; one with variable arguments takes integers as any other does.
                let function = unsafe {
                    core::mem::transmute::<
                        *mut c_void,
                        unsafe extern "C-unwind" fn($($type),*) -> $result,
                    >(address)
                };
                // SAFETY: the program's own call.
                $work($what, |$path| unsafe { function($($argument),*) })
            }

            jump!($hook, $before);
        )*
    };
}

opening! {
    open, before_open, instead_of_open, OPEN:
        (path: *const c_char, flags: c_int, mode: c_uint) path -> c_int,
        may_tell(-1, path), open_by (-1, path, flags);
    open64, before_open64, instead_of_open64, OPEN64:
        (path: *const c_char, flags: c_int, mode: c_uint) path -> c_int,
        may_tell(-1, path), open_by (-1, path, flags);
    __open_2, before_checked_open, instead_of_checked_open, CHECKED_OPEN:
        (path: *const c_char, flags: c_int) path -> c_int,
        may_tell(-1, path), open_by (-1, path, flags);
    __open64_2, before_checked_open64, instead_of_checked_open64, CHECKED_OPEN64:
        (path: *const c_char, flags: c_int) path -> c_int,
        may_tell(-1, path), open_by (-1, path, flags);
    openat, before_openat, instead_of_openat, OPENAT:
        (directory: c_int, path: *const c_char, flags: c_int, mode: c_uint) path -> c_int,
        may_tell(directory, path), open_by (directory, path, flags);
    openat64, before_openat64, instead_of_openat64, OPENAT64:
        (directory: c_int, path: *const c_char, flags: c_int, mode: c_uint) path -> c_int,
        may_tell(directory, path), open_by (directory, path, flags);
    __openat_2, before_checked_openat, instead_of_checked_openat, CHECKED_OPENAT:
        (directory: c_int, path: *const c_char, flags: c_int) path -> c_int,
        may_tell(directory, path), open_by (directory, path, flags);
    __openat64_2, before_checked_openat64, instead_of_checked_openat64, CHECKED_OPENAT64:
        (directory: c_int, path: *const c_char, flags: c_int) path -> c_int,
        may_tell(directory, path), open_by (directory, path, flags);
    fopen, before_fopen, instead_of_fopen, FOPEN:
        (path: *const c_char, mode: *const c_char) path -> *mut libc::FILE,
        may_tell(-1, path), open_stream (path, mode);
    fopen64, before_fopen64, instead_of_fopen64, FOPEN64:
        (path: *const c_char, mode: *const c_char) path -> *mut libc::FILE,
        may_tell(-1, path), open_stream (path, mode);
    opendir, before_opendir, instead_of_opendir, OPENDIR:
        (path: *const c_char) path -> *mut c_void,
        may_tell(-1, path), open_directory path;
    scandir, before_scandir, instead_of_scandir, SCANDIR:
        (path: *const c_char, list: *mut c_void, filter: *const c_void, compare: *const c_void) path -> c_int,
        may_tell(-1, path), ask (-1, path);
    scandir64, before_scandir64, instead_of_scandir64, SCANDIR64:
        (path: *const c_char, list: *mut c_void, filter: *const c_void, compare: *const c_void) path -> c_int,
        may_tell(-1, path), ask (-1, path);
    access, before_access, instead_of_access, ACCESS:
        (path: *const c_char, mode: c_int) path -> c_int,
        may_tell(-1, path), ask (-1, path);
    faccessat, before_faccessat, instead_of_faccessat, FACCESSAT:
        (directory: c_int, path: *const c_char, mode: c_int, flags: c_int) path -> c_int,
        may_tell(directory, path), ask (directory, path);
    stat, before_stat, instead_of_stat, STAT:
        (path: *const c_char, status: *mut c_void) path -> c_int,
        may_tell(-1, path), ask (-1, path);
    stat64, before_stat64, instead_of_stat64, STAT64:
        (path: *const c_char, status: *mut c_void) path -> c_int,
        may_tell(-1, path), ask (-1, path);
    lstat, before_lstat, instead_of_lstat, LSTAT:
        (path: *const c_char, status: *mut c_void) path -> c_int,
        may_tell(-1, path), ask (-1, path);
    lstat64, before_lstat64, instead_of_lstat64, LSTAT64:
        (path: *const c_char, status: *mut c_void) path -> c_int,
        may_tell(-1, path), ask (-1, path);
    fstatat, before_fstatat, instead_of_fstatat, FSTATAT:
        (directory: c_int, path: *const c_char, status: *mut c_void, flags: c_int) path -> c_int,
        may_tell(directory, path), ask (directory, path);
    fstatat64, before_fstatat64, instead_of_fstatat64, FSTATAT64:
        (directory: c_int, path: *const c_char, status: *mut c_void, flags: c_int) path -> c_int,
        may_tell(directory, path), ask (directory, path);
    statx, before_statx, instead_of_statx, STATX:
        (directory: c_int, path: *const c_char, flags: c_int, mask: c_uint, status: *mut c_void) path -> c_int,
        may_tell(directory, path), ask (directory, path);
    getxattr, before_getxattr, instead_of_getxattr, GETXATTR:
        (path: *const c_char, name: *const c_char, value: *mut c_void, bytes: usize) path -> isize,
        may_tell(-1, path), ask (-1, path);
    lgetxattr, before_lgetxattr, instead_of_lgetxattr, LGETXATTR:
        (path: *const c_char, name: *const c_char, value: *mut c_void, bytes: usize) path -> isize,
        may_tell(-1, path), ask (-1, path);
}
