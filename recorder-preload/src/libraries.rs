//! Libraries that are opened while the program runs, and functions that are looked up in them.
//!
//! `dlopen` looks at its caller: whose search path applies, which namespace to use. A hook that called it would be that
//! caller. So these hooks note what happens and jump.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};

use foretrace_recorder::{ThreadState, maps, message, process};

use crate::defined::is_defined;
use crate::hook::recording;
use crate::jump::jump;
use crate::next::{self, Next};
use crate::{mpi, openmp};

static DLOPEN: Next = Next::new(c"dlopen", None);
static DLMOPEN: Next = Next::new(c"dlmopen", None);
static DLCLOSE: Next = Next::new(c"dlclose", None);

extern "C" fn opening(path: *const c_char, flags: c_int) -> *mut c_void {
    if flags & libc::RTLD_DEEPBIND != 0 {
        note_bypass(path);
    }
    maps::stale();
    mpi::opening();
    DLOPEN.address()
}

extern "C" fn opening_namespace(
    namespace: c_long,
    path: *const c_char,
    flags: c_int,
) -> *mut c_void {
    if namespace != libc::LM_ID_BASE || flags & libc::RTLD_DEEPBIND != 0 {
        note_bypass(path);
    }
    maps::stale();
    DLMOPEN.address()
}

/// Notes that a library looks the C library's functions up before ours.
#[cold]
fn note_bypass(path: *const c_char) {
    if !path.is_null() && recording() {
        // SAFETY: the program's own name of a library.
        process::note_bypass(unsafe { CStr::from_ptr(path) });
    }
}

extern "C" fn closing() -> *mut c_void {
    // The addresses in it are about to lose their meaning. A library that passes messages looks at many of its own.
    if !message::is_inside() {
        maps::copy();
    }
    DLCLOSE.address()
}

/// Lets the program find our function where it looks for the one behind it in a library of its choice, as Free Pascal's threads and programs
/// with plug-ins do, and none where it looks for one that no library of its has. All other lookups depend on their caller, and are not touched.
///
/// Whoever has functions of the C library's names looks for the real ones here, at their first call: what is called here may be such a function,
/// and then that lookup is the program's own.
extern "C" fn finding(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    let finds = &ThreadState::current().finds;
    if handle == libc::RTLD_NEXT || name.is_null() || finds.replace(true) {
        return next::DLSYM.address();
    }
    let found = instead(handle, name);
    finds.set(false);
    found.unwrap_or_else(|| next::DLSYM.address())
}

/// Returns what to call in place of the C library's `dlsym`, where that would not do.
fn instead(handle: *mut c_void, name: *const c_char) -> Option<*mut c_void> {
    if is_ours_alone(handle, name) {
        // The dynamic linker tells the program of it as if it had not found ours.
        next::find(libc::RTLD_NEXT, name);
        return Some(nothing as *mut c_void);
    }
    let hides = handle != libc::RTLD_DEFAULT && hides_ours(handle, name);
    hides.then_some(find_by_order as *mut c_void)
}

/// What libraries of OpenMP look for, to be told of tools, and only we have.
const FOR_TOOLS: &CStr = c"ompt_start_tool";

/// Returns whether a lookup would find our function of a name by which the program has none: it may ask to know that, as those do that
/// use newer functions of the C library's where they are there.
fn is_ours_alone(handle: *mut c_void, name: *const c_char) -> bool {
    // SAFETY: the program's own name.
    let text = unsafe { CStr::from_ptr(name) };
    if text == FOR_TOOLS || !is_ours(next::find(handle, name)) {
        return false;
    }
    let begins = |beginnings: &[&str]| {
        let mut beginnings = beginnings.iter();
        beginnings.any(|beginning| text.to_bytes().starts_with(beginning.as_bytes()))
    };
    if begins(&["MPI_", "PMPI_"]) {
        mpi::library::symbol(text) == 0
    } else if begins(&["GOMP_", "omp_", "__kmpc_"]) {
        openmp::is_absent(text)
    } else {
        !is_defined(text)
    }
}

/// What is found where there is nothing.
extern "C" fn nothing() -> *mut c_void {
    core::ptr::null_mut()
}

/// Returns whether what a library has of a name is what our function of that name calls. Where somebody else's stands in between, that one
/// may call what it finds here, and ours would call it again.
fn hides_ours(handle: *mut c_void, name: *const c_char) -> bool {
    let found = next::find(handle, name);
    // SAFETY: the program's own name.
    let text = unsafe { CStr::from_ptr(name) };
    if found.is_null() {
        return false;
    }
    let behind = if text.to_bytes().starts_with(b"MPI_") {
        mpi::library::symbol(text) as *mut c_void
    } else {
        next::find(libc::RTLD_NEXT, name)
    };
    behind == found && is_ours(next::find(libc::RTLD_DEFAULT, name))
}

/// Returns whether an address lies within this library.
fn is_ours(address: *const c_void) -> bool {
    let base = |address| {
        // SAFETY: all zeros are one, which is written to.
        let mut told: libc::Dl_info = unsafe { core::mem::zeroed() };
        // SAFETY: any address may be asked for.
        let is_known = unsafe { libc::dladdr(address, &raw mut told) } != 0;
        is_known.then_some(told.dli_fbase)
    };
    let own = base(find_by_order as *const c_void);
    own.is_some() && base(address) == own
}

/// Looks a function up in the order of all libraries.
#[unsafe(naked)]
unsafe extern "C-unwind" fn find_by_order() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        // RTLD_DEFAULT
        "xor edi, edi",
        "jmp {next}",
        ".cfi_endproc",
        next = sym dlsym,
    )
}

jump!(dlsym, finding);
jump!(dlopen, opening);
jump!(dlmopen, opening_namespace);
jump!(dlclose, closing);
