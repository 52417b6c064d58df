//! What the programs that a process becomes or starts find in their environment, which foretrace prepared and which is written to in
//! place: what the process is bound to, and whether they are to be recorded.

use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use foretrace_recorder::ThreadState;

use crate::{affinity, environment};

/// The variable for bindings, whose value is a set of the first 64 CPUs in hexadecimal digits, 0 for all.
const BOUND: &CStr = c"FORETRACE_BOUND";

/// How many digits its value has.
const DIGITS: usize = 16;

/// The directory to record into. Without a first character of it, programs are only told of CPUs.
pub const JOURNAL: &CStr = c"FORETRACE_JOURNAL";

/// Whether the process was given room for a binding.
static IS_GIVEN: AtomicBool = AtomicBool::new(false);

/// What stood in it.
static GIVEN: AtomicU64 = AtomicU64::new(0);

/// Whether it, or the program's copy of it, may say something else by now.
static IS_CHANGED: AtomicBool = AtomicBool::new(false);

/// Whether later programs may be killed for what the recorder would do in them.
static NONE_TO_BE_RECORDED: AtomicBool = AtomicBool::new(false);

/// Binds the process's first thread to what the environment says.
pub fn take_binding() {
    // SAFETY: getenv reads the environment, which nobody changes while the process has one thread.
    let value = unsafe { libc::getenv(BOUND.as_ptr()) };
    if value.is_null() {
        return;
    }
    // SAFETY: an environment variable's value ends with a NUL and stays where it is.
    let text = unsafe { CStr::from_ptr(value) };
    let text = text.to_str().ok().filter(|text| text.len() == DIGITS);
    if let Some(bound) = text.and_then(|text| u64::from_str_radix(text, 16).ok()) {
        IS_GIVEN.store(true, Ordering::Relaxed);
        GIVEN.store(bound, Ordering::Relaxed);
        ThreadState::current().bound.store(bound, Ordering::Relaxed);
    }
}

/// Has no further program recorded.
pub fn record_none() {
    NONE_TO_BE_RECORDED.store(true, Ordering::Relaxed);
}

/// Prepares the environment that another program is about to be given by the calling thread.
///
/// # Safety
///
/// `variables` are strings up to a null, or not there at all.
pub unsafe fn prepare(variables: *const *mut c_char) {
    // SAFETY: by the caller's promise.
    unsafe { pass_binding_on(variables) };
    if NONE_TO_BE_RECORDED.load(Ordering::Relaxed)
        // SAFETY: by the caller's promise.
        && let Some(value) = unsafe { environment::value_in(variables, JOURNAL) }
    {
        // SAFETY: a string has one character at least, were it the NUL.
        unsafe { value.write(0) };
    }
}

unsafe fn pass_binding_on(variables: *const *mut c_char) {
    let bound = affinity::own();
    if bound != GIVEN.load(Ordering::Relaxed) {
        IS_CHANGED.store(true, Ordering::Relaxed);
    }
    if !IS_GIVEN.load(Ordering::Relaxed) || !IS_CHANGED.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: by the caller's promise.
    let Some(value) = (unsafe { environment::value_in(variables, BOUND) }) else {
        return;
    };
    // SAFETY: a string.
    if unsafe { CStr::from_ptr(value) }.count_bytes() != DIGITS {
        return;
    }
    for (index, digit) in digits_of(bound).into_iter().enumerate() {
        // SAFETY: the string is that long.
        let place = unsafe { value.add(index) };
        // SAFETY: as above; it is the variable that the process was given, or the program's copy of it.
        unsafe { place.write(digit) };
    }
}

fn digits_of(number: u64) -> [c_char; DIGITS] {
    core::array::from_fn(|index| {
        let digit = number >> (4 * (DIGITS - 1 - index)) & 0xf;
        b"0123456789abcdef"[digit as usize].cast_signed()
    })
}
