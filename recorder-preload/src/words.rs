//! Functions of the C library whose names are common words, and which a library that the program links may have functions of its own by,
//! with other arguments. Without us every caller would get those: the program's libraries come before the C library. So the hooks of
//! such a name jump there, with all arguments as they are, and record nothing.
//!
//! Only libraries that are there from the beginning count: those that are opened later come after the C library.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::next::{self, DLSYM};

/// A name, and whose function has it.
#[repr(C)]
pub struct Word {
    /// The function to call where it is not the C library's; null where it is.
    other: AtomicPtr<c_void>,
    name: &'static CStr,
}

impl Word {
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            other: AtomicPtr::new(core::ptr::null_mut()),
            name,
        }
    }
}

/// What `_dl_find_object` tells of the library that an address lies in (glibc 2.35).
#[repr(C)]
struct Object {
    flags: u64,
    start: *const c_void,
    end: *const c_void,
    map: *const Map,
    unwinding: *const c_void,
    reserved: [u64; 7],
}

/// The beginning of `struct link_map`.
#[repr(C)]
struct Map {
    base: usize,
    name: *const c_char,
}

/// Finds out whose functions have these names.
pub fn look_up(words: &[&Word]) {
    type Find = unsafe extern "C" fn(*mut c_void, *mut Object) -> c_int;

    let find = next::find(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr());
    if find.is_null() {
        return;
    }
    // SAFETY: the C library's function has this type.
    let find = unsafe { core::mem::transmute::<*mut c_void, Find>(find) };
    let object_of = |address: *mut c_void| {
        // SAFETY: zeros are one, which is written to.
        let mut object: Object = unsafe { core::mem::zeroed() };
        // SAFETY: any address may be asked for.
        (unsafe { find(address, &raw mut object) } == 0).then_some(object)
    };
    let Some(library) = object_of(DLSYM.address()) else {
        return;
    };
    for word in words {
        let function = next::find(libc::RTLD_NEXT, word.name.as_ptr());
        let is_in = |object: &Object| (object.start..object.end).contains(&function.cast_const());
        if !function.is_null()
            && !is_in(&library)
            && object_of(function).is_some_and(|object| !wraps(&object))
        {
            word.other.store(function, Ordering::Relaxed);
        }
    }
}

/// Returns whether a library is known to have functions that do what the C library's do.
fn wraps(object: &Object) -> bool {
    // SAFETY: the dynamic linker's own, of a library that is there.
    let name = unsafe { (*object.map).name };
    // SAFETY: a string of the dynamic linker's.
    let path = unsafe { CStr::from_ptr(name) }.to_bytes();
    // Sanitizers.
    [&b"san.so"[..], b"clang_rt"]
        .iter()
        .any(|part| path.windows(part.len()).any(|window| window == *part))
}
