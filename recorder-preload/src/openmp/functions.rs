//! The functions of the OpenMP library that the hooks stand in for, and those that they ask.
//!
//! Whoever calls a hook has such a library. It may have come with a library that was opened later, for itself alone:
//! then the next function in the order of lookup is none, and it is looked for where the caller would find it. Hence
//! nothing here is looked up before it is called.

use core::ffi::{CStr, c_char, c_int, c_long, c_uint, c_ulong, c_void};
use core::sync::atomic::{AtomicU8, Ordering};

use crate::next::{self, Next};

/// What a member of a team runs.
pub type Body = unsafe extern "C-unwind" fn(*mut c_void);

/// What copies a task's data, to the first place from the second.
pub type Copy = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

/// A function of the library.
pub struct Function {
    name: &'static CStr,
    next: Next,
}

impl Function {
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            next: Next::new(name, None),
        }
    }

    /// Returns the function's address as a caller would find it; null if nobody defines it.
    #[inline]
    fn address(&self, site: u64) -> *mut c_void {
        let address = self.next.address();
        if address.is_null() {
            return of_caller(self.name, site);
        }
        address
    }

    /// Returns where a hook that was called from `site` is to jump to: nowhere, but safely, if nobody defines the function.
    pub fn target(&self, site: u64) -> *mut c_void {
        let address = self.address(site);
        if address.is_null() {
            return nothing as *mut c_void;
        }
        address
    }
}

/// Looks a function up in the library that an address lies in, and in those that it needs.
#[cold]
fn of_caller(name: &CStr, site: u64) -> *mut c_void {
    /// The beginning of glibc's `struct link_map`.
    #[repr(C)]
    struct LinkMap {
        address: usize,
        name: *const c_char,
    }
    // SAFETY: plain pointers, for which null is valid.
    let mut information: libc::Dl_info = unsafe { core::mem::zeroed() };
    let mut map: *mut c_void = core::ptr::null_mut();
    let address = site as *const c_void;
    // SAFETY: looks an address up, and writes to the two places.
    let found =
        unsafe { libc::dladdr1(address, &raw mut information, &raw mut map, RTLD_DL_LINKMAP) } != 0;
    // SAFETY: what was found stays while its code, the caller, runs.
    let Some(map) = (unsafe { map.cast::<LinkMap>().as_ref() }).filter(|_| found) else {
        return core::ptr::null_mut();
    };
    // SAFETY: a library's name ends with a NUL. The program's own is empty; it would find the hooks first.
    if map.name.is_null() || unsafe { *map.name } == 0 {
        return core::ptr::null_mut();
    }
    // SAFETY: as above.
    unsafe { in_library(map.name, name) }
}

/// Looks a function up in a library, if that is there, and in those that it needs.
///
/// # Safety
///
/// `library` is a string.
unsafe fn in_library(library: *const c_char, name: &CStr) -> *mut c_void {
    static DLOPEN: Next = Next::new(c"dlopen", None);
    static DLCLOSE: Next = Next::new(c"dlclose", None);
    // SAFETY: the C library's functions, which have these types. The hooks of these names would look at the mappings.
    let (open, close) = unsafe {
        (
            core::mem::transmute::<*mut c_void, Open>(DLOPEN.address()),
            core::mem::transmute::<*mut c_void, Close>(DLCLOSE.address()),
        )
    };
    // SAFETY: nothing is loaded, so that no constructor runs.
    let handle = unsafe { open(library, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return handle;
    }
    let address = next::find(handle, name.as_ptr());
    // SAFETY: undoes the opening; who has the library keeps it.
    unsafe { close(handle) };
    address
}

/// OpenMP's libraries by their names: GCC's, LLVM's and Intel's.
const LIBRARIES: [&CStr; 4] = [
    c"libgomp.so.1",
    c"libomp.so.5",
    c"libomp.so",
    c"libiomp5.so",
];

/// Returns whether no library of the program's defines a function.
pub fn is_absent(name: &CStr) -> bool {
    // SAFETY: the names are strings.
    let lacks = |library: &CStr| unsafe { in_library(library.as_ptr(), name) }.is_null();
    next::find(libc::RTLD_NEXT, name.as_ptr()).is_null() && LIBRARIES.into_iter().all(lacks)
}

/// `dlopen` and `dlclose`.
type Open = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
type Close = unsafe extern "C" fn(*mut c_void) -> c_int;

/// Asks `dladdr1` for the library as the dynamic linker knows it.
const RTLD_DL_LINKMAP: c_int = 2;

/// What stands in for a function that nobody defines.
extern "C" fn nothing() {}

/// Returns whether the caller at `site` has LLVM's library for the functions of GCC's, which it has too, and tells what
/// they do by itself.
#[inline]
pub fn is_llvms(site: u64) -> bool {
    match IS_LLVMS.load(Ordering::Relaxed) {
        UNKNOWN => ask_whose(site),
        answer => answer == YES,
    }
}

static IS_LLVMS: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;

#[cold]
fn ask_whose(site: u64) -> bool {
    let function = &table::GOMP_parallel;
    let address = function.address(site);
    let is = !address.is_null() && !of_caller(c"__kmpc_fork_call", address as u64).is_null();
    // Callers with libraries for themselves alone may have different ones.
    if !function.next.address().is_null() {
        IS_LLVMS.store(if is { YES } else { NO }, Ordering::Relaxed);
    }
    is
}

macro_rules! functions {
    ($($name:ident ($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(
            /// Calls the library's function of that name, as the caller at `site` would.
            ///
            /// # Safety
            ///
            /// As that function asks.
            #[inline]
            pub unsafe fn $name($($argument: $type,)* site: u64) -> $result {
                let address = table::$name.address(site);
                if address.is_null() {
                    return <$result>::default();
                }
                // SAFETY: the function of that name has this type.
                let function = unsafe {
                    core::mem::transmute::<
                        *mut c_void,
                        unsafe extern "C-unwind" fn($($type),*) -> $result,
                    >(address)
                };
                // SAFETY: by the caller's promise.
                unsafe { function($($argument),*) }
            }
        )*

        #[expect(non_upper_case_globals, reason = "named as the functions are")]
        mod table {
            use super::Function;

            $(pub static $name: Function = Function::new(
                match core::ffi::CStr::from_bytes_with_nul(
                    concat!(stringify!($name), "\0").as_bytes()
                ) {
                    Ok(name) => name,
                    Err(_) => panic!("a name ends where its NUL is"),
                },
            );)*
        }
    };
}

functions! {
    GOMP_parallel(body: Body, data: *mut c_void, threads: c_uint, flags: c_uint) -> ();
    GOMP_parallel_reductions(body: Body, data: *mut c_void, threads: c_uint, flags: c_uint)
        -> c_uint;
    GOMP_parallel_sections(body: Body, data: *mut c_void, threads: c_uint, count: c_uint,
        flags: c_uint) -> ();
    GOMP_parallel_loop_static(body: Body, data: *mut c_void, threads: c_uint, start: c_long,
        end: c_long, step: c_long, sixth: c_long, seventh: c_long) -> ();
    GOMP_parallel_loop_dynamic(body: Body, data: *mut c_void, threads: c_uint, start: c_long,
        end: c_long, step: c_long, sixth: c_long, seventh: c_long) -> ();
    GOMP_parallel_loop_guided(body: Body, data: *mut c_void, threads: c_uint, start: c_long,
        end: c_long, step: c_long, sixth: c_long, seventh: c_long) -> ();
    GOMP_parallel_loop_runtime(body: Body, data: *mut c_void, threads: c_uint, start: c_long,
        end: c_long, step: c_long, sixth: c_long, seventh: c_long) -> ();
    GOMP_parallel_loop_nonmonotonic_dynamic(body: Body, data: *mut c_void, threads: c_uint,
        start: c_long, end: c_long, step: c_long, sixth: c_long, seventh: c_long) -> ();
    GOMP_parallel_loop_nonmonotonic_guided(body: Body, data: *mut c_void, threads: c_uint,
        start: c_long, end: c_long, step: c_long, sixth: c_long, seventh: c_long) -> ();
    GOMP_parallel_loop_nonmonotonic_runtime(body: Body, data: *mut c_void, threads: c_uint,
        start: c_long, end: c_long, step: c_long, sixth: c_long, seventh: c_long) -> ();
    GOMP_parallel_loop_maybe_nonmonotonic_runtime(body: Body, data: *mut c_void,
        threads: c_uint, start: c_long, end: c_long, step: c_long, sixth: c_long,
        seventh: c_long) -> ();

    GOMP_task(body: Body, data: *mut c_void, copy: Option<Copy>, bytes: usize, align: usize,
        deferred: bool, flags: c_uint, depend: *mut c_void, priority: c_int,
        detach: *mut c_void) -> ();

    GOMP_taskloop(body: Body, data: *mut c_void, copy: Option<Copy>, bytes: usize, align: usize,
        flags: c_uint, number: c_ulong, priority: c_int, start: c_long, end: c_long,
        step: c_long) -> ();
    GOMP_taskloop_ull(body: Body, data: *mut c_void, copy: Option<Copy>, bytes: usize,
        align: usize, flags: c_uint, number: c_ulong, priority: c_int, start: c_long,
        end: c_long, step: c_long) -> ();

    GOMP_taskwait() -> ();
    GOMP_taskgroup_end() -> ();

    GOMP_sections_next() -> c_uint;
    GOMP_loop_dynamic_next(from: *mut c_void, to: *mut c_void) -> bool;
    GOMP_loop_guided_next(from: *mut c_void, to: *mut c_void) -> bool;
    GOMP_loop_nonmonotonic_dynamic_next(from: *mut c_void, to: *mut c_void) -> bool;
    GOMP_loop_nonmonotonic_guided_next(from: *mut c_void, to: *mut c_void) -> bool;
    GOMP_loop_ull_dynamic_next(from: *mut c_void, to: *mut c_void) -> bool;
    GOMP_loop_ull_guided_next(from: *mut c_void, to: *mut c_void) -> bool;
    GOMP_loop_ull_nonmonotonic_dynamic_next(from: *mut c_void, to: *mut c_void) -> bool;
    GOMP_loop_ull_nonmonotonic_guided_next(from: *mut c_void, to: *mut c_void) -> bool;
    __kmpc_dispatch_next_4(location: *mut c_void, thread: c_int, last: *mut c_void,
        from: *mut c_void, to: *mut c_void, step: *mut c_void) -> c_int;
    __kmpc_dispatch_next_4u(location: *mut c_void, thread: c_int, last: *mut c_void,
        from: *mut c_void, to: *mut c_void, step: *mut c_void) -> c_int;
    __kmpc_dispatch_next_8(location: *mut c_void, thread: c_int, last: *mut c_void,
        from: *mut c_void, to: *mut c_void, step: *mut c_void) -> c_int;
    __kmpc_dispatch_next_8u(location: *mut c_void, thread: c_int, last: *mut c_void,
        from: *mut c_void, to: *mut c_void, step: *mut c_void) -> c_int;

    GOMP_barrier() -> ();
    GOMP_barrier_cancel() -> bool;
    GOMP_loop_end() -> ();
    GOMP_loop_end_cancel() -> bool;
    GOMP_sections_end() -> ();
    GOMP_sections_end_cancel() -> bool;
    GOMP_single_copy_start() -> usize;
    GOMP_single_copy_end(data: *mut c_void) -> ();
    GOMP_workshare_task_reduction_unregister(cancelled: bool) -> ();

    GOMP_critical_start() -> ();
    GOMP_critical_end() -> ();
    GOMP_critical_name_start(lock: *mut *mut c_void) -> ();
    GOMP_critical_name_end(lock: *mut *mut c_void) -> ();
    GOMP_ordered_start() -> ();
    GOMP_ordered_end() -> ();
    GOMP_atomic_start() -> ();
    GOMP_atomic_end() -> ();

    __kmpc_critical(location: *mut c_void, thread: c_int, section: *mut c_void) -> ();
    __kmpc_critical_with_hint(location: *mut c_void, thread: c_int, section: *mut c_void,
        hint: u32) -> ();
    __kmpc_end_critical(location: *mut c_void, thread: c_int, section: *mut c_void) -> ();
    __kmpc_end_ordered(location: *mut c_void, thread: c_int) -> ();

    GOMP_doacross_post(indices: *const i64) -> ();
    GOMP_doacross_ull_post(indices: *const i64) -> ();
    __kmpc_doacross_init(location: *mut c_void, thread: c_int, depth: c_int,
        dimensions: *mut c_void) -> ();
    __kmpc_doacross_post(location: *mut c_void, thread: c_int, indices: *const i64) -> ();
    __kmpc_doacross_wait(location: *mut c_void, thread: c_int, indices: *const i64) -> ();

    omp_init_lock(lock: *mut c_void) -> ();
    omp_destroy_lock(lock: *mut c_void) -> ();
    omp_set_lock(lock: *mut c_void) -> ();
    omp_unset_lock(lock: *mut c_void) -> ();
    omp_test_lock(lock: *mut c_void) -> c_int;
    omp_init_nest_lock(lock: *mut c_void) -> ();
    omp_destroy_nest_lock(lock: *mut c_void) -> ();
    omp_set_nest_lock(lock: *mut c_void) -> ();
    omp_unset_nest_lock(lock: *mut c_void) -> ();
    omp_test_nest_lock(lock: *mut c_void) -> c_int;

    omp_init_lock_(lock: *mut c_void) -> ();
    omp_destroy_lock_(lock: *mut c_void) -> ();
    omp_set_lock_(lock: *mut c_void) -> ();
    omp_unset_lock_(lock: *mut c_void) -> ();
    omp_test_lock_(lock: *mut c_void) -> c_int;
    omp_init_nest_lock_(lock: *mut c_void) -> ();
    omp_destroy_nest_lock_(lock: *mut c_void) -> ();
    omp_set_nest_lock_(lock: *mut c_void) -> ();
    omp_unset_nest_lock_(lock: *mut c_void) -> ();
    omp_test_nest_lock_(lock: *mut c_void) -> c_int;

    omp_get_thread_num() -> c_int;
    omp_get_num_threads() -> c_int;
    omp_get_max_threads() -> c_int;
    omp_get_active_level() -> c_int;
    omp_get_cancellation() -> c_int;
    omp_get_max_active_levels() -> c_int;
}
