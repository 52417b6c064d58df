//! Opening files that tell how many CPUs there are.
//!
//! All other files are none of our business: the hooks look at a path's first bytes and jump.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::sync::atomic::Ordering;

use foretrace_recorder::cpu_files::{self, CpuFile, Told};
use foretrace_recorder::sys::Fd;
use foretrace_recorder::{ThreadState, process};

use crate::cpus::pretended;
use crate::jump::jump;
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

/// Returns whether a path leads into `/proc` or `/sys`.
#[inline]
unsafe fn may_tell(path: *const c_char) -> bool {
    let begins = |beginning: &CStr| {
        let bytes = beginning.to_bytes().iter().enumerate();
        bytes
            .into_iter()
            // SAFETY: by the caller's promise a path ends with a NUL, at which the comparison ends too.
            .all(|(index, &byte)| unsafe { path.add(index).read() }.cast_unsigned() == byte)
    };
    !path.is_null() && (begins(c"/proc/") || begins(c"/sys/"))
}

#[cold]
fn tells(path: *const c_char) -> Option<(CpuFile, Told)> {
    // SAFETY: the program's own path.
    let path = unsafe { CStr::from_ptr(path) };
    let file = cpu_files::recognize(path.to_bytes())?;
    let cpus = pretended().filter(|_| !process::confined())?;
    let bound = ThreadState::current().bound.load(Ordering::Relaxed);
    Some((file, Told { cpus, bound }))
}

/// Opens a file, and puts another in its place where it tells of CPUs.
fn open_by(path: *const c_char, open: impl FnOnce(*const c_char) -> c_int) -> c_int {
    open_told(path, open, |&fd| fd)
}

/// The same for a stream, whose file is replaced before anything was read from it.
fn open_stream(
    path: *const c_char,
    open: impl FnOnce(*const c_char) -> *mut libc::FILE,
) -> *mut libc::FILE {
    open_told(path, open, |&stream| {
        if stream.is_null() {
            return -1;
        }
        // SAFETY: a stream that was opened just now.
        unsafe { libc::fileno(stream) }
    })
}

fn open_told<T>(
    path: *const c_char,
    open: impl FnOnce(*const c_char) -> T,
    number: impl FnOnce(&T) -> c_int,
) -> T {
    let Some((file, told)) = tells(path) else {
        return open(path);
    };
    let opened = open(file.open_instead(told.cpus).map_or(path, CStr::as_ptr));
    let fd = number(&opened);
    if fd >= 0 {
        cpu_files::replace(Fd(fd), file, told);
    }
    opened
}

/// Defines the two halves of a hook: what is jumped to for every path, and what it chooses for some.
macro_rules! opening {
    ($($hook:ident, $before:ident, $instead:ident, $next:ident:
        ($($argument:ident: $type:ty),*) $path:ident -> $result:ty, $work:expr;)*) => {
        $(
            unsafe extern "C" fn $before($($argument: $type),*) -> *mut c_void {
                $(let _ = $argument;)*
                // SAFETY: the program's own path.
                if unsafe { may_tell($path) } {
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
                $work($path, |$path| unsafe { function($($argument),*) })
            }

            jump!($hook, $before);
        )*
    };
}

opening! {
    open, before_open, instead_of_open, OPEN:
        (path: *const c_char, flags: c_int, mode: c_uint) path -> c_int, open_by;
    open64, before_open64, instead_of_open64, OPEN64:
        (path: *const c_char, flags: c_int, mode: c_uint) path -> c_int, open_by;
    __open_2, before_checked_open, instead_of_checked_open, CHECKED_OPEN:
        (path: *const c_char, flags: c_int) path -> c_int, open_by;
    __open64_2, before_checked_open64, instead_of_checked_open64, CHECKED_OPEN64:
        (path: *const c_char, flags: c_int) path -> c_int, open_by;
    openat, before_openat, instead_of_openat, OPENAT:
        (directory: c_int, path: *const c_char, flags: c_int, mode: c_uint) path -> c_int, open_by;
    openat64, before_openat64, instead_of_openat64, OPENAT64:
        (directory: c_int, path: *const c_char, flags: c_int, mode: c_uint) path -> c_int, open_by;
    __openat_2, before_checked_openat, instead_of_checked_openat, CHECKED_OPENAT:
        (directory: c_int, path: *const c_char, flags: c_int) path -> c_int, open_by;
    __openat64_2, before_checked_openat64, instead_of_checked_openat64, CHECKED_OPENAT64:
        (directory: c_int, path: *const c_char, flags: c_int) path -> c_int, open_by;
    fopen, before_fopen, instead_of_fopen, FOPEN:
        (path: *const c_char, mode: *const c_char) path -> *mut libc::FILE, open_stream;
    fopen64, before_fopen64, instead_of_fopen64, FOPEN64:
        (path: *const c_char, mode: *const c_char) path -> *mut libc::FILE, open_stream;
}
