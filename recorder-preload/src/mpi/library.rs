//! The library of MPI that the program uses: its functions, and the constants of its family.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use foretrace_mpi::{Family, LIBRARIES, StatusLayout};
use foretrace_trace::journal::mpi::FUNCTIONS;

use super::arguments::Inside;
use crate::next::{Next, find};

/// What differs between families.
#[derive(Clone, Copy)]
pub struct Constants {
    /// The family.
    pub family: Family,
    /// `MPI_COMM_WORLD`
    pub comm_world: usize,
    /// `MPI_COMM_SELF`
    pub comm_self: usize,
    /// `MPI_COMM_NULL`
    pub comm_null: usize,
    /// `MPI_REQUEST_NULL`
    pub request_null: usize,
    /// What is where in a status.
    pub status: StatusLayout,
}

struct Kept(UnsafeCell<Constants>);

// SAFETY: written while `KNOWN` says that nobody reads it, always with the same values.
unsafe impl Sync for Kept {}

static KEPT: Kept = Kept(UnsafeCell::new(Constants {
    family: Family::Mpich,
    comm_world: 0,
    comm_self: 0,
    comm_null: 0,
    request_null: 0,
    status: Family::Mpich.status(),
}));

/// Whether the constants are known: 0 for no, 1 while they are written, 2 for yes.
static KNOWN: AtomicU32 = AtomicU32::new(0);

/// Returns the constants.
#[inline]
pub fn constants() -> &'static Constants {
    if KNOWN.load(Ordering::Acquire) != 2 {
        find_constants();
    }
    // SAFETY: they are known, and no longer written.
    unsafe { &*KEPT.0.get() }
}

#[cold]
fn find_constants() {
    if KNOWN
        .compare_exchange(0, 1, Ordering::Acquire, Ordering::Acquire)
        .is_err()
    {
        while KNOWN.load(Ordering::Acquire) != 2 {
            core::hint::spin_loop();
        }
        return;
    }
    let inside = Inside::enter();
    let family = Family::detect(data, |address| {
        // SAFETY: `int MPI_Abi_get_version(int *, int *)`.
        let version = unsafe {
            core::mem::transmute::<
                usize,
                unsafe extern "C-unwind" fn(*mut c_int, *mut c_int) -> c_int,
            >(address)
        };
        let (mut major, mut minor) = (-1, -1);
        // SAFETY: as above; it may be called before MPI begins.
        let result = unsafe { version(&raw mut major, &raw mut minor) };
        (result == foretrace_mpi::SUCCESS).then_some(major)
    });
    let found = Constants {
        family,
        comm_world: family.comm_world(data),
        comm_self: family.handle(foretrace_mpi::Predefined::CommSelf, data),
        comm_null: family.comm_null(data),
        request_null: family.request_null(data),
        status: family.status(),
    };
    // SAFETY: only the thread that set 1 writes, and nobody reads before 2.
    unsafe { *KEPT.0.get() = found };
    KNOWN.store(2, Ordering::Release);
    drop(inside);
}

/// The position of a function that does nothing, behind those of MPI.
pub const NOTHING: u16 = FUNCTIONS.len() as u16;

/// The addresses of the functions that have hooks; 0 for those that were not looked up yet.
static ADDRESSES: [AtomicUsize; FUNCTIONS.len() + 1] =
    [const { AtomicUsize::new(0) }; FUNCTIONS.len() + 1];

/// Returns the address of a function's real self.
#[inline]
pub fn function(position: u16) -> usize {
    let place = &ADDRESSES[usize::from(position)];
    let address = place.load(Ordering::Relaxed);
    if address != 0 {
        return address;
    }
    look_up(position, place)
}

/// Returns the address of a function's real self, where the library has it.
pub fn function_of_library(position: u16) -> Option<usize> {
    let address = function(position);
    (address != absent as *const () as usize).then_some(address)
}

#[cold]
fn look_up(position: u16, place: &AtomicUsize) -> usize {
    let Some(function) = FUNCTIONS.get(usize::from(position)) else {
        let address = nothing as *const () as usize;
        place.store(address, Ordering::Relaxed);
        return address;
    };
    let name = function.name;
    let mut bytes = [0_u8; 64];
    for (to, from) in bytes.iter_mut().zip(b"PMPI_".iter().chain(name.as_bytes())) {
        *to = *from;
    }
    let address = CStr::from_bytes_until_nul(&bytes).map_or(0, symbol);
    place.store(address, Ordering::Relaxed);
    if address == 0 {
        // The program calls what its library lacks; without us it would not have begun.
        absent as *const () as usize
    } else {
        address
    }
}

/// Does nothing, with success.
unsafe extern "C-unwind" fn nothing() -> c_int {
    foretrace_mpi::SUCCESS
}

/// Stands in for a function that no library has.
unsafe extern "C-unwind" fn absent() -> c_int {
    const MPI_ERR_OTHER: c_int = 16;
    MPI_ERR_OTHER
}

/// A function of the library that is called on the recorder's own behalf.
pub struct Service {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Service {
    /// Names one.
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            address: AtomicUsize::new(0),
        }
    }

    /// Calls it; its result is not 0 where there is none.
    #[inline]
    pub fn call(&self, words: [usize; 5]) -> c_int {
        let [first, second, third, fourth, fifth] = words;
        self.call_with([first, second, third, fourth, fifth, 0, 0])
    }

    /// As [`Self::call`], of a function with more arguments.
    #[inline]
    pub fn call_with(&self, words: [usize; 7]) -> c_int {
        let mut address = self.address.load(Ordering::Relaxed);
        if address == 0 {
            address = symbol(self.name);
            if address == 0 {
                return -1;
            }
            self.address.store(address, Ordering::Relaxed);
        }
        // SAFETY: a function of MPI, whose arguments are `int`s and pointers, and no more than these.
        let function = unsafe {
            core::mem::transmute::<
                usize,
                unsafe extern "C-unwind" fn(
                    usize,
                    usize,
                    usize,
                    usize,
                    usize,
                    usize,
                    usize,
                ) -> c_int,
            >(address)
        };
        let w = words;
        let inside = Inside::enter();
        // SAFETY: the callers pass what the function wants.
        let result = unsafe { function(w[0], w[1], w[2], w[3], w[4], w[5], w[6]) };
        drop(inside);
        result
    }
}

/// Finds data of the library's: where the program has a copy, that one.
pub fn data(name: &CStr) -> usize {
    let address = find(libc::RTLD_DEFAULT, name.as_ptr()) as usize;
    if address == 0 {
        return in_libraries(name);
    }
    address
}

/// Finds a function behind our own.
pub fn symbol(name: &CStr) -> usize {
    let address = find(libc::RTLD_NEXT, name.as_ptr()) as usize;
    if address == 0 {
        return in_libraries(name);
    }
    address
}

static DLOPEN: Next = Next::new(c"dlopen", None);

/// Finds a symbol in a library that was opened for somebody alone, as interpreters open their modules with what these need.
fn in_libraries(name: &CStr) -> usize {
    type Open = unsafe extern "C-unwind" fn(*const c_char, c_int) -> *mut c_void;
    let address = DLOPEN.address();
    if address.is_null() {
        return 0;
    }
    // SAFETY: the C library's function has this type.
    let open = unsafe { core::mem::transmute::<*mut c_void, Open>(address) };
    let _inside = Inside::enter();
    for (library, _) in LIBRARIES {
        // SAFETY: opens nothing that is not open. The library stays as long as the program uses it; the reference to it keeps
        // it for as long as its addresses are kept here.
        let handle = unsafe { open(library.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
        if handle.is_null() {
            continue;
        }
        let found = find(handle, name.as_ptr()) as usize;
        if found != 0 {
            return found;
        }
    }
    0
}
