//! The functions that the hooks stand in for: the next of that name in the order of symbol lookup.

use core::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use libc::{
    clockid_t, cpu_set_t, pid_t, pthread_attr_t, pthread_barrier_t, pthread_barrierattr_t,
    pthread_cond_t, pthread_condattr_t, pthread_mutex_t, pthread_mutexattr_t, pthread_once_t,
    pthread_rwlock_t, pthread_rwlockattr_t, pthread_spinlock_t, pthread_t, sem_t, size_t, timespec,
};

use foretrace_recorder::thread::Routine;

use crate::defined::is_defined;

/// A function's address, once looked up.
pub struct Place(AtomicPtr<c_void>);

impl Place {
    pub const fn new() -> Self {
        Self(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// Returns the address of the function of a name, null if nobody defines it.
    #[inline]
    pub fn address(&self, name: &CStr, version: Option<&CStr>) -> *mut c_void {
        let address = self.0.load(Ordering::Relaxed);
        if address.is_null() {
            return self.look_up(name, version);
        }
        address
    }

    /// Looks the function up. Doing so twice at once is harmless.
    #[cold]
    fn look_up(&self, name: &CStr, version: Option<&CStr>) -> *mut c_void {
        let mut address = core::ptr::null_mut();
        if !is_defined(name) {
            return find_older(name);
        }
        if let Some(version) = version {
            // SAFETY: both are NUL-terminated.
            address = unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), version.as_ptr()) };
        }
        if address.is_null() {
            address = find(libc::RTLD_NEXT, name.as_ptr());
        }
        self.0.store(address, Ordering::Relaxed);
        address
    }
}

/// Looks for the older function where the C library lacks one of C23 that reads by formats: programs that have it only where it is there find our
/// hook of it, and call that. The older one does as they want but for binary numbers.
fn find_older(name: &CStr) -> *mut c_void {
    const ROOM: usize = 32;
    let mut older = [0_u8; ROOM];
    let Some(rest) = name.to_bytes().strip_prefix(b"__isoc23_") else {
        return core::ptr::null_mut();
    };
    let parts = b"__isoc99_".iter().chain(rest);
    for (to, from) in older[..ROOM - 1].iter_mut().zip(parts) {
        *to = *from;
    }
    match CStr::from_bytes_until_nul(&older) {
        Ok(older) if is_defined(older) => find(libc::RTLD_NEXT, older.as_ptr()),
        _ => core::ptr::null_mut(),
    }
}

/// A function's name and, once looked up, its address. Where there are many, a [`Place`] for each and its name in the code that asks take
/// less of every process: the dynamic linker writes to each name's pointer when it loads the library.
pub struct Next {
    name: &'static CStr,
    version: Option<&'static CStr>,
    place: Place,
}

impl Next {
    /// A function of the version that a new program would be linked with.
    pub const fn new(name: &'static CStr, version: Option<&'static CStr>) -> Self {
        Self {
            name,
            version,
            place: Place::new(),
        }
    }

    /// Returns the function's address, null if nobody defines it.
    #[inline]
    pub fn address(&self) -> *mut c_void {
        self.place.address(self.name, self.version)
    }
}

/// Looks up the next function of a name, of the version that a new program would be linked with.
pub fn of_name(name: &CStr) -> *mut c_void {
    // SAFETY: the name is NUL-terminated, and so is the version.
    let address = unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), c"GLIBC_2.3.2".as_ptr()) };
    if address.is_null() {
        return find(libc::RTLD_NEXT, name.as_ptr());
    }
    address
}

/// The C library's `dlsym`. By its version, since without one it would be needed to find itself.
pub static DLSYM: Next = Next::new(c"dlsym", Some(c"GLIBC_2.2.5"));

/// Looks a name up, which is NUL-terminated, in a library or an order of them, past our own `dlsym`.
pub fn find(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    type Find = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
    // SAFETY: the C library's function has this type.
    let function = unsafe { core::mem::transmute::<*mut c_void, Find>(DLSYM.address()) };
    // SAFETY: by what is said above.
    unsafe { function(handle, name) }
}

/// The version of the condition variables' functions since glibc 2.3.2; the ones before it know another structure.
const COND: Option<&CStr> = Some(c"GLIBC_2.3.2");

/// Defines a function that returns the address of the next one of its name.
macro_rules! place {
    ($visible:vis $name:ident, $version:expr) => {
        #[inline]
        $visible fn $name() -> *mut core::ffi::c_void {
            // Beside what the dynamic linker writes to anyway: each other page is a page fault more in every process.
            #[unsafe(link_section = ".data")]
            static PLACE: $crate::next::Place = $crate::next::Place::new();
            const NAME: &core::ffi::CStr = match core::ffi::CStr::from_bytes_with_nul(
                concat!(stringify!($name), "\0").as_bytes(),
            ) {
                Ok(name) => name,
                Err(_) => panic!("a name ends where its NUL is"),
            };
            PLACE.address(NAME, $version)
        }
    };
}
pub(crate) use place;

macro_rules! next {
    ($($name:ident ($($argument:ident: $type:ty),*) -> $result:ty, $version:expr;)*) => {
        $(
            /// Calls the next function of that name.
            ///
            /// # Safety
            ///
            /// As that function asks.
            #[inline]
            pub unsafe fn $name($($argument: $type),*) -> $result {
                let address = table::$name();
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

        mod table {
            use super::{COND, CStr};

            $($crate::next::place!(pub $name, $version);)*

            const _: Option<&CStr> = COND;
        }

        /// Looks all of them up, so that no hook has to later.
        pub fn look_up_all() {
            $(table::$name();)*
        }
    };
}

next! {
    pthread_create(thread: *mut pthread_t, attributes: *const pthread_attr_t, routine: Routine,
        argument: *mut c_void) -> c_int, None;
    pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int, None;
    pthread_tryjoin_np(thread: pthread_t, result: *mut *mut c_void) -> c_int, None;
    pthread_timedjoin_np(thread: pthread_t, result: *mut *mut c_void, until: *const timespec)
        -> c_int, None;
    pthread_clockjoin_np(thread: pthread_t, result: *mut *mut c_void, clock: clockid_t,
        until: *const timespec) -> c_int, None;
    pthread_detach(thread: pthread_t) -> c_int, None;
    pthread_cancel(thread: pthread_t) -> c_int, None;

    pthread_mutex_init(mutex: *mut pthread_mutex_t, attributes: *const pthread_mutexattr_t)
        -> c_int, None;
    pthread_mutex_destroy(mutex: *mut pthread_mutex_t) -> c_int, None;
    pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int, None;
    pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int, None;
    pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int, None;
    pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec)
        -> c_int, None;
    pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int, None;

    pthread_cond_init(cond: *mut pthread_cond_t, attributes: *const pthread_condattr_t)
        -> c_int, COND;
    pthread_cond_destroy(cond: *mut pthread_cond_t) -> c_int, COND;
    pthread_cond_wait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int, COND;
    pthread_cond_timedwait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t,
        until: *const timespec) -> c_int, COND;
    pthread_cond_clockwait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t,
        clock: clockid_t, until: *const timespec) -> c_int, None;
    pthread_cond_signal(cond: *mut pthread_cond_t) -> c_int, COND;
    pthread_cond_broadcast(cond: *mut pthread_cond_t) -> c_int, COND;

    sem_init(semaphore: *mut sem_t, shared: c_int, value: c_uint) -> c_int, None;
    sem_destroy(semaphore: *mut sem_t) -> c_int, None;
    sem_open(name: *const c_char, flags: c_int, mode: c_uint, value: c_uint) -> *mut sem_t, None;
    sem_wait(semaphore: *mut sem_t) -> c_int, None;
    sem_trywait(semaphore: *mut sem_t) -> c_int, None;
    sem_timedwait(semaphore: *mut sem_t, until: *const timespec) -> c_int, None;
    sem_clockwait(semaphore: *mut sem_t, clock: clockid_t, until: *const timespec) -> c_int, None;
    sem_post(semaphore: *mut sem_t) -> c_int, None;

    pthread_rwlock_init(lock: *mut pthread_rwlock_t, attributes: *const pthread_rwlockattr_t)
        -> c_int, None;
    pthread_rwlock_destroy(lock: *mut pthread_rwlock_t) -> c_int, None;
    pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t) -> c_int, None;
    pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) -> c_int, None;
    pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, until: *const timespec)
        -> c_int, None;
    pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t, clock: clockid_t,
        until: *const timespec) -> c_int, None;
    pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t) -> c_int, None;
    pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t) -> c_int, None;
    pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, until: *const timespec)
        -> c_int, None;
    pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t, clock: clockid_t,
        until: *const timespec) -> c_int, None;
    pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int, None;

    pthread_barrier_init(barrier: *mut pthread_barrier_t,
        attributes: *const pthread_barrierattr_t, count: c_uint) -> c_int, None;
    pthread_barrier_destroy(barrier: *mut pthread_barrier_t) -> c_int, None;
    pthread_barrier_wait(barrier: *mut pthread_barrier_t) -> c_int, None;

    pthread_spin_init(lock: *mut pthread_spinlock_t, shared: c_int) -> c_int, None;
    pthread_spin_destroy(lock: *mut pthread_spinlock_t) -> c_int, None;
    pthread_spin_lock(lock: *mut pthread_spinlock_t) -> c_int, None;
    pthread_spin_trylock(lock: *mut pthread_spinlock_t) -> c_int, None;
    pthread_spin_unlock(lock: *mut pthread_spinlock_t) -> c_int, None;

    sched_yield() -> c_int, None;
    pthread_once(control: *mut pthread_once_t, routine: OnceRoutine) -> c_int, None;
    pthread_testcancel() -> (), None;

    thrd_create(thread: *mut pthread_t, routine: Routine, argument: *mut c_void) -> c_int, None;
    thrd_join(thread: pthread_t, result: *mut c_int) -> c_int, None;
    thrd_detach(thread: pthread_t) -> c_int, None;
    mtx_init(mutex: *mut pthread_mutex_t, kind: c_int) -> c_int, None;
    mtx_destroy(mutex: *mut pthread_mutex_t) -> (), None;
    mtx_lock(mutex: *mut pthread_mutex_t) -> c_int, None;
    mtx_trylock(mutex: *mut pthread_mutex_t) -> c_int, None;
    mtx_timedlock(mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int, None;
    mtx_unlock(mutex: *mut pthread_mutex_t) -> c_int, None;
    cnd_init(cond: *mut pthread_cond_t) -> c_int, None;
    cnd_destroy(cond: *mut pthread_cond_t) -> (), None;
    cnd_wait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int, None;
    cnd_timedwait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t,
        until: *const timespec) -> c_int, None;
    cnd_signal(cond: *mut pthread_cond_t) -> c_int, None;
    cnd_broadcast(cond: *mut pthread_cond_t) -> c_int, None;

    _exit(status: c_int) -> (), None;
    quick_exit(status: c_int) -> (), None;

    sched_getaffinity(pid: pid_t, bytes: size_t, set: *mut cpu_set_t) -> c_int,
        Some(c"GLIBC_2.3.4");
    pthread_getaffinity_np(thread: pthread_t, bytes: size_t, set: *mut cpu_set_t) -> c_int, None;
    sched_setaffinity(pid: pid_t, bytes: size_t, set: *const cpu_set_t) -> c_int,
        Some(c"GLIBC_2.3.4");
    pthread_setaffinity_np(thread: pthread_t, bytes: size_t, set: *const cpu_set_t)
        -> c_int, None;
    pthread_attr_getaffinity_np(attributes: *const pthread_attr_t, bytes: size_t,
        set: *mut cpu_set_t) -> c_int, None;
    sched_getcpu() -> c_int, None;
    getcpu(cpu: *mut c_uint, node: *mut c_uint) -> c_int, None;
    sysconf(name: c_int) -> c_long, None;
    get_nprocs() -> c_int, None;
    get_nprocs_conf() -> c_int, None;
}

/// The function that `pthread_once` runs.
pub type OnceRoutine = unsafe extern "C-unwind" fn();
