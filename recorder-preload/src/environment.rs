//! What foretrace put into the program's environment, and how it is taken out again where the program's children are to
//! know nothing of it.

use core::ffi::{CStr, c_char};

unsafe extern "C" {
    /// The environment's strings, up to a null.
    static mut environ: *mut *mut c_char;
}

/// Every variable of ours begins so.
const OURS: &[u8] = b"FORETRACE_";

/// What the user had in `LD_PRELOAD`, where there was such a variable. Behind our prefix stands the user's own.
const KEPT: &[u8] = b"FORETRACE_LD_PRELOAD=";

/// Returns whether the C library has been told of the environment by now.
pub fn is_there() -> bool {
    // SAFETY: the pointer alone is read.
    !unsafe { environ }.is_null()
}

/// Takes our variables out, in place, and puts `LD_PRELOAD` back as the user had it.
///
/// # Safety
///
/// No other thread reads or changes the environment meanwhile.
pub unsafe fn restore() {
    // SAFETY: nobody else uses it, by the caller's promise; it was set up, since variables were found in it.
    let mut from = unsafe { environ };
    let mut to = from;
    loop {
        // SAFETY: up to the null that ends the list.
        let variable = unsafe { from.read() };
        let kept = if variable.is_null() {
            Some(variable)
        } else {
            // SAFETY: the list holds strings.
            restored(unsafe { CStr::from_ptr(variable) })
        };
        if let Some(kept) = kept {
            // SAFETY: not behind what was read.
            unsafe { to.write(kept) };
            // SAFETY: as above; not beyond the list's end, which is its last element.
            to = unsafe { to.add(1) };
        }
        if variable.is_null() {
            return;
        }
        // SAFETY: this element was not the last.
        from = unsafe { from.add(1) };
    }
}

/// Returns what stays of a variable.
fn restored(variable: &CStr) -> Option<*mut c_char> {
    let bytes = variable.to_bytes();
    if bytes.starts_with(KEPT) {
        // SAFETY: the prefix is part of the string.
        return Some(unsafe { variable.as_ptr().add(OURS.len()) }.cast_mut());
    }
    let ours = bytes.starts_with(OURS) || bytes.starts_with(b"LD_PRELOAD=");
    (!ours).then_some(variable.as_ptr().cast_mut())
}
