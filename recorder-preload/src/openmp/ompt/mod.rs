//! LLVM's OpenMP library (libomp, also Intel's), which tells tools what it does through OMPT, the interface that OpenMP
//! defines for that. Here is the part of it that is needed.
//!
//! The library looks for a function `ompt_start_tool` when it is first used, and finds the one exported here. Where the
//! program comes with a tool of its own, that one is kept, and nothing is recorded but the locks.

mod bypass;
mod events;

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};

use core::sync::atomic::{AtomicPtr, Ordering};

use super::region::Team;
use crate::hook::recording;
use crate::next::Next;

/// A word that the library keeps for the tool, with each thread, region and task.
pub type Data = u64;

/// Whether something begins or ends.
pub type Endpoint = c_int;
pub const BEGIN: Endpoint = 1;

/// What the library asks for the address of one of its functions.
type Lookup = unsafe extern "C" fn(*const c_char) -> *mut c_void;

/// The library's function that registers a callback.
type SetCallback = unsafe extern "C" fn(c_int, *const c_void) -> c_int;

/// The library's function that tells of a region that the calling thread is in: its word, and the size of its team. Returns 2
/// where there is one.
type ParallelInfo = unsafe extern "C" fn(c_int, *mut *mut Data, *mut c_int) -> c_int;

static PARALLEL_INFO: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Returns the address of the barrier of the calling thread's team, where the library tells of it.
pub fn barrier() -> Option<u64> {
    let address = PARALLEL_INFO.load(Ordering::Relaxed);
    if address.is_null() {
        return None;
    }
    // SAFETY: the library's function of that name has this type.
    let ask = unsafe { core::mem::transmute::<*mut c_void, ParallelInfo>(address) };
    let (mut word, mut size): (*mut Data, c_int) = (core::ptr::null_mut(), 0);
    // SAFETY: the library writes to the two places.
    if unsafe { ask(0, &raw mut word, &raw mut size) } != 2 || size < 2 {
        return None;
    }
    // SAFETY: null, or the word of a region that the thread is in.
    let name = unsafe { word.as_ref() }.copied()?;
    Team::of_barrier(name).map(|team| team.barrier(size.cast_unsigned()))
}

/// `ompt_start_tool` itself.
type Start = unsafe extern "C" fn(c_uint, *const c_char) -> *const Tool;

/// What `ompt_start_tool` returns.
#[repr(C)]
pub struct Tool {
    initialize: unsafe extern "C" fn(Lookup, c_int, *mut Data) -> c_int,
    finalize: unsafe extern "C" fn(*mut Data),
    data: Data,
}

static TOOL: Tool = Tool {
    initialize,
    finalize,
    data: 0,
};

/// Answers the library's question for a tool.
///
/// # Safety
///
/// Called by an OpenMP library with its version.
pub unsafe extern "C-unwind" fn start_tool(
    version: c_uint,
    library: *const c_char,
    site: u64,
) -> *const Tool {
    static NEXT: Next = Next::new(c"ompt_start_tool", None);
    let next = NEXT.address();
    if !next.is_null() {
        // SAFETY: the function of that name has this type. It may be the library's own, which finds none.
        let start = unsafe { core::mem::transmute::<*mut c_void, Start>(next) };
        // SAFETY: the library's own call.
        let tool = unsafe { start(version, library) };
        if !tool.is_null() {
            return tool;
        }
    }
    if !recording() || has_tools_of_its_own() {
        return core::ptr::null();
    }
    // Only its own code asks.
    bypass::past_hooks(site as usize);
    &raw const TOOL
}

/// Returns whether the library is told where to look for tools.
fn has_tools_of_its_own() -> bool {
    // SAFETY: looks at the environment, as the library itself does at this moment.
    let value = unsafe { libc::getenv(c"OMP_TOOL_LIBRARIES".as_ptr()) };
    // SAFETY: a variable's value ends with a NUL.
    !value.is_null() && !unsafe { CStr::from_ptr(value) }.is_empty()
}

/// Registers the callbacks. Returns whether the tool stays.
unsafe extern "C" fn initialize(lookup: Lookup, _device: c_int, _data: *mut Data) -> c_int {
    // SAFETY: the library's own function, with a name that ends with a NUL.
    let set = unsafe { lookup(c"ompt_set_callback".as_ptr()) };
    if set.is_null() {
        return 0;
    }
    // SAFETY: as above.
    let ask = unsafe { lookup(c"ompt_get_parallel_info".as_ptr()) };
    PARALLEL_INFO.store(ask, Ordering::Relaxed);
    // SAFETY: the function of that name has this type.
    let set = unsafe { core::mem::transmute::<*mut c_void, SetCallback>(set) };
    for (which, callback) in events::callbacks() {
        // SAFETY: the callback of that number has the type that the interface says.
        unsafe { set(which, callback) };
    }
    1
}

unsafe extern "C" fn finalize(_data: *mut Data) {}
