//! What foretrace put into the program's environment, and how it is taken out again where the program's children are to
//! know nothing of it.

use core::ffi::{CStr, c_char};

use crate::lent;

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

/// Returns the environment's strings, up to a null.
pub fn variables() -> *const *mut c_char {
    // SAFETY: the pointer alone is read.
    unsafe { environ }
}

/// Returns where in such strings the value of a variable begins; `None` where there is none, and where the strings cannot be read.
///
/// # Safety
///
/// Where there is something, it is strings up to a null.
pub unsafe fn value_in(variables: *const *mut c_char, name: &CStr) -> Option<*mut c_char> {
    // SAFETY: by the caller's promise.
    unsafe { find(variables, name.to_bytes()) }
}

unsafe fn find(variables: *const *mut c_char, name: &[u8]) -> Option<*mut c_char> {
    let mut at = variables;
    let (mut lists, mut strings) = (Page::default(), Page::default());
    loop {
        if !lists.can_be_read(at.addr()) {
            return None;
        }
        // SAFETY: it can be read.
        let variable = unsafe { at.read_unaligned() };
        if variable.is_null() || !strings.can_be_read(variable.addr()) {
            return None;
        }
        // SAFETY: the list holds strings.
        let bytes = unsafe { CStr::from_ptr(variable) }.to_bytes();
        let rest = bytes.strip_prefix(name);
        if rest.is_some_and(|rest| rest.first() == Some(&b'=')) {
            // SAFETY: within the string.
            return Some(unsafe { variable.add(name.len() + 1) });
        }
        at = at.wrapping_add(1);
    }
}

/// Returns the variable of such strings whose name is that of another one.
///
/// # Safety
///
/// As for [`value_in`].
pub unsafe fn of_the_name_in(variables: *const *mut c_char, other: &CStr) -> Option<*mut c_char> {
    let name = other.to_bytes().split(|&byte| byte == b'=').next()?;
    // SAFETY: by the caller's promise.
    let value = unsafe { find(variables, name) }?;
    // SAFETY: the name and a sign stand before the value.
    Some(unsafe { value.sub(name.len() + 1) })
}

/// Returns how many such strings there are, none where nothing is; `None` where they cannot be read.
///
/// # Safety
///
/// As for [`value_in`].
pub unsafe fn count(variables: *const *mut c_char) -> Option<usize> {
    if variables.is_null() {
        return Some(0);
    }
    let mut page = Page::default();
    for index in 0.. {
        let at = variables.wrapping_add(index);
        if !page.can_be_read(at.addr()) {
            break;
        }
        // SAFETY: it can be read.
        if unsafe { at.read_unaligned() }.is_null() {
            return Some(index);
        }
    }
    None
}

/// A page that is known to be there: to ask for each variable would take long. The first one never is.
#[derive(Default)]
struct Page(usize);

impl Page {
    fn can_be_read(&mut self, address: usize) -> bool {
        let page = address / PAGE_BYTES;
        if page == 0 || page != self.0 {
            if !lent::can_read(address as u64, 1) {
                return false;
            }
            self.0 = page;
        }
        true
    }
}

const PAGE_BYTES: usize = 4096;

/// Returns a string; `None` where there is none.
///
/// # Safety
///
/// Where it can be read it ends with a zero.
pub unsafe fn text<'a>(string: *const c_char) -> Option<&'a CStr> {
    lent::can_read(string.addr() as u64, 1)
        // SAFETY: by the caller's promise.
        .then(|| unsafe { CStr::from_ptr(string) })
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
