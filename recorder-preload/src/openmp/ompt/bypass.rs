//! The library's own calls, past our hooks.
//!
//! It puts threads to sleep with mutexes and condition variables, which say how it did what its callbacks tell already.
//! Its calls go through a table of addresses, which the dynamic linker fills; here some are filled with the addresses of
//! the functions that the hooks stand in for.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use libc::{Elf64_Addr, Elf64_Rela, Elf64_Sym};

use crate::dynamic::{Entry, STRINGS, SYMBOLS, entries};

/// How the names of the functions begin that the library is to call directly.
const DIRECTLY: [&[u8]; 8] = [
    b"pthread_mutex_",
    b"pthread_cond_",
    b"sem_",
    b"sched_yield",
    b"__kmpc_critical",
    b"__kmpc_end_critical",
    b"__kmpc_end_ordered",
    b"__kmpc_doacross_",
];

/// How the names of the libraries' files begin.
const LIBRARIES: [&[u8]; 3] = [b"libomp", b"libiomp", b"libgomp"];

const DT_PLTRELSZ: u64 = 2;
const DT_JMPREL: u64 = 23;

/// Where the kernel divides memory.
const PAGE: usize = 4096;

/// The beginning of glibc's `struct link_map`.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
    dynamic: *const Entry,
}

/// What of a library's dynamic section is needed.
#[derive(Default)]
struct Tables {
    strings: usize,
    symbols: usize,
    slots: usize,
    slots_bytes: usize,
}

/// Has the library that an address lies in call past the hooks. Where it is part of something else (linked statically),
/// that something calls as before, and what is recorded has the library's own doings in it.
pub fn past_hooks(address: usize) {
    /// Asks `dladdr1` for the library as the dynamic linker knows it.
    const RTLD_DL_LINKMAP: c_int = 2;
    // SAFETY: plain pointers, for which null is valid.
    let mut information: libc::Dl_info = unsafe { core::mem::zeroed() };
    let mut map: *mut c_void = core::ptr::null_mut();
    let address = address as *const c_void;
    // SAFETY: looks an address up, and writes to the two places.
    let found =
        unsafe { libc::dladdr1(address, &raw mut information, &raw mut map, RTLD_DL_LINKMAP) } != 0;
    // SAFETY: the library stays while its code, the caller, runs.
    let Some(map) = (unsafe { map.cast::<LinkMap>().as_ref() }).filter(|_| found) else {
        return;
    };
    // SAFETY: a library's name ends with a NUL.
    if map.name.is_null() || !is_library(unsafe { CStr::from_ptr(map.name) }.to_bytes()) {
        return;
    }
    // SAFETY: the dynamic section of a library that is loaded.
    let tables = unsafe { tables(map.dynamic) };
    if tables.strings == 0 || tables.symbols == 0 || tables.slots == 0 {
        return;
    }
    let count = tables.slots_bytes / size_of::<Elf64_Rela>();
    for index in 0..count {
        // SAFETY: the table has so many entries, each of which names a symbol of the library's and a slot in it.
        unsafe {
            let slot = (tables.slots as *const Elf64_Rela).add(index).read();
            fill(map.base, &tables, &slot);
        }
    }
}

fn is_library(path: &[u8]) -> bool {
    let file = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    LIBRARIES.iter().any(|name| file.starts_with(name))
}

unsafe fn tables(first: *const Entry) -> Tables {
    let mut tables = Tables::default();
    // SAFETY: by the caller's promise.
    for Entry { tag, value } in unsafe { entries(first) } {
        match tag {
            STRINGS => tables.strings = usize_of(value),
            SYMBOLS => tables.symbols = usize_of(value),
            DT_JMPREL => tables.slots = usize_of(value),
            DT_PLTRELSZ => tables.slots_bytes = usize_of(value),
            _ => {}
        }
    }
    tables
}

/// Fills one slot, if its function is one of those.
unsafe fn fill(base: usize, tables: &Tables, slot: &Elf64_Rela) {
    let symbol = (slot.r_info >> 32) as usize;
    // SAFETY: by the caller's promise there is such a symbol, and its name ends with a NUL.
    let (symbol, name) = unsafe {
        let symbol = (tables.symbols as *const Elf64_Sym).add(symbol).read();
        let name = (tables.strings + symbol.st_name as usize) as *const c_char;
        (symbol, CStr::from_ptr(name))
    };
    if !DIRECTLY
        .iter()
        .any(|beginning| name.to_bytes().starts_with(beginning))
    {
        return;
    }
    let function = if symbol.st_shndx == 0 {
        crate::next::of_name(name)
    } else {
        (base + usize_of(symbol.st_value)) as *mut c_void
    };
    if !function.is_null() {
        // SAFETY: by the caller's promise a slot.
        unsafe { store(base + usize_of(slot.r_offset), function) };
    }
}

fn usize_of(address: Elf64_Addr) -> usize {
    address as usize
}

/// Stores an address in a slot, which may be read-only.
unsafe fn store(slot: usize, function: *mut c_void) {
    // SAFETY: by the caller's promise a slot, which other threads only read.
    let entry = unsafe { &*(slot as *const AtomicPtr<c_void>) };
    if entry.load(Ordering::Relaxed) == function {
        return;
    }
    let page = (slot & !(PAGE - 1)) as *mut c_void;
    // SAFETY: a page of the library's data, to which nothing else is stored. Where slots were bound while the library was
    // loaded, the page was made read-only thereafter; it stays writable, as with libraries whose slots are bound later.
    if unsafe { libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE) } == 0 {
        entry.store(function, Ordering::Relaxed);
    }
}
