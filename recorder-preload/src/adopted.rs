//! Programs that are given an environment without what foretrace put into that of this one: it is added, or nothing would be recorded
//! of them.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicUsize, Ordering};

use foretrace_recorder::process;

use crate::environment;

/// As many bytes as are kept, and as many variables.
const BYTES: usize = 8192;
const MOST: usize = 24;

/// What the library finds in its environment begins so.
const OURS: &[u8] = b"FORETRACE_";

/// Of these, what is said of the first program alone.
const OF_THE_FIRST: [&[u8]; 2] = [b"FORETRACE_LD_PRELOAD=", b"FORETRACE_ALONE="];

/// What other libraries must be told so that they run together with this one.
const OF_OTHERS: [&CStr; 2] = [c"KMP_AFFINITY=disabled", SANITIZER];
const SANITIZER: &CStr = c"ASAN_OPTIONS=verify_asan_link_order=0";

/// And so that their threads sleep while they wait, where this is said.
const SLEEPING: [&CStr; 2] = [c"OMP_WAIT_POLICY=passive", c"KMP_BLOCKTIME=0"];
const MADE_PASSIVE: &[u8] = b"FORETRACE_PASSIVE=";

/// Strings, one behind the other.
struct Kept(UnsafeCell<[u8; BYTES]>);

// SAFETY: written once, before any thread is recorded; after that, where a process is bound to, by who starts a program.
unsafe impl Sync for Kept {}

static KEPT: Kept = Kept(UnsafeCell::new([0; BYTES]));

/// How many bytes of them there are; 0 where nothing is added to any environment.
static LENGTH: AtomicUsize = AtomicUsize::new(0);

fn kept() -> *mut u8 {
    KEPT.0.get().cast()
}

/// Keeps what foretrace put into the environment: the program may write over it.
pub fn keep() {
    let variables = environment::variables();
    let mut length = 0;
    for index in 0.. {
        // SAFETY: the process's own environment, up to its null, while the process has one thread.
        let variable = unsafe { variables.add(index).read() };
        if variable.is_null() {
            break;
        }
        // SAFETY: a string.
        let variable = unsafe { CStr::from_ptr(variable) };
        let is_kept = |bytes: &[u8]| {
            bytes.starts_with(OURS) && !OF_THE_FIRST.iter().any(|other| bytes.starts_with(other))
        };
        if is_kept(variable.to_bytes()) {
            length = match push(length, variable) {
                Some(length) => length,
                None => return,
            };
        }
    }
    LENGTH.store(length, Ordering::Relaxed);
}

fn push(length: usize, variable: &CStr) -> Option<usize> {
    let bytes = variable.to_bytes_with_nul();
    let end = length + bytes.len();
    if end > BYTES {
        return None;
    }
    // SAFETY: there is that much room behind what was kept, and the environment is elsewhere.
    unsafe {
        kept()
            .add(length)
            .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
    }
    Some(end)
}

/// The variables that an environment lacks.
pub struct Missing {
    variables: [*mut c_char; MOST],
    count: usize,
}

impl Missing {
    /// Returns the variables.
    pub fn variables(&self) -> &[*mut c_char] {
        &self.variables[..self.count]
    }

    fn push(&mut self, variable: *mut c_char) -> Option<()> {
        *self.variables.get_mut(self.count)? = variable;
        self.count += 1;
        Some(())
    }
}

/// Returns what is missing in an environment so that a program is recorded that finds it, but for the list of libraries; `None` where
/// it is not to be recorded, or cannot run so.
///
/// # Safety
///
/// The environment is strings up to a null, or not there at all.
pub unsafe fn missing_in(variables: *const *mut c_char) -> Option<Missing> {
    let length = LENGTH.load(Ordering::Relaxed);
    if length == 0 || !process::recording() {
        return None;
    }
    let mut missing = Missing {
        variables: [core::ptr::null_mut(); MOST],
        count: 0,
    };
    let lacks = |variable: &CStr| {
        // SAFETY: by the caller's promise.
        unsafe { environment::of_the_name_in(variables, variable) }.is_none()
    };
    let mut is_passive = false;
    let mut at = 0;
    while at < length {
        // SAFETY: within what was kept.
        let place = unsafe { kept().add(at) }.cast::<c_char>();
        // SAFETY: a string lies there.
        let variable = unsafe { CStr::from_ptr(place) };
        at += variable.count_bytes() + 1;
        is_passive |= variable.to_bytes().starts_with(MADE_PASSIVE);
        if lacks(variable) {
            missing.push(place)?;
        }
    }
    let sleeping = SLEEPING.iter().filter(|_| is_passive);
    for &variable in OF_OTHERS.iter().chain(sleeping) {
        if lacks(variable) {
            missing.push(variable.as_ptr().cast_mut())?;
        }
    }
    // SAFETY: by the caller's promise.
    let sanitizer = unsafe { environment::of_the_name_in(variables, SANITIZER) };
    // SAFETY: a variable is a string.
    let options = sanitizer.map(|own| unsafe { CStr::from_ptr(own) }.to_bytes());
    let needed = SANITIZER.to_bytes().strip_prefix(b"ASAN_OPTIONS=")?;
    let stops = options.is_some_and(|own| !own.windows(needed.len()).any(|part| part == needed));
    (!stops).then_some(missing)
}
