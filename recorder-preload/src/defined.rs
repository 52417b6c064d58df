//! Whether any library that is loaded defines a name, found without the dynamic linker's `dlsym`.
//!
//! Where that finds nothing, it says so in a message, for which it allocates memory. Hooks are called by allocators, too, before these are
//! ready: tcmalloc asks for its first memory with a lock held, and would wait for itself.

use core::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr, slice,
    sync::atomic::{AtomicPtr, Ordering},
};

use libc::{Elf64_Phdr, Elf64_Sym, dl_phdr_info, size_t};

use crate::dynamic::{Entry, OWN_NAME, STRINGS, SYMBOLS, entries};

/// Tables by which symbols are found.
const HASH: u64 = 4;
const GNU_HASH: u64 = 0x6fff_fef5;

/// A name, and whether a library was found that defines it.
struct Search<'a> {
    name: &'a CStr,
    is_found: bool,
}

/// Where a library's tables are.
#[derive(Default)]
struct Tables {
    strings: u64,
    symbols: u64,
    hash: u64,
    gnu_hash: u64,
    /// Where among the strings the library's own name is; 0 for nowhere.
    own_name: u64,
}

/// Returns whether a loaded library other than this one defines a name, whatever its version.
pub fn is_defined(name: &CStr) -> bool {
    let mut search = Search {
        name,
        is_found: false,
    };
    // SAFETY: the function is called with this search only, before this returns.
    unsafe { visit_libraries(visit, (&raw mut search).cast()) };
    search.is_found
}

/// What is called for each library.
pub type Visitor = unsafe extern "C" fn(*mut dl_phdr_info, size_t, *mut c_void) -> c_int;

/// Calls a function for each library that is loaded, until it returns another number than 0.
///
/// # Safety
///
/// The function may be called with such data.
pub unsafe fn visit_libraries(visitor: Visitor, data: *mut c_void) {
    type Visit = unsafe extern "C" fn(Visitor, *mut c_void) -> c_int;
    static VISIT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

    let mut visit = VISIT.load(Ordering::Relaxed);
    if visit.is_null() {
        visit = of_the_c_library(c"dl_iterate_phdr").unwrap_or_else(|| {
            let any: unsafe extern "C" fn(_, _) -> _ = libc::dl_iterate_phdr;
            any as *mut c_void
        });
        VISIT.store(visit, Ordering::Relaxed);
    }
    // SAFETY: the function has this type.
    let visit = unsafe { core::mem::transmute::<*mut c_void, Visit>(visit) };
    // SAFETY: by the caller's promise.
    unsafe { visit(visitor, data) };
}

/// The beginning of what the dynamic linker tells debuggers (`struct r_debug`).
#[repr(C)]
struct Told {
    version: c_int,
    first: *const Library,
}

/// The beginning of `struct link_map`.
#[repr(C)]
struct Library {
    base: u64,
    path: *const c_char,
    dynamic: *const Entry,
    next: *const Self,
}

unsafe extern "C" {
    static _r_debug: Told;
}

/// Returns the C library's own function of a name: programs may have one of that name, which by `dlsym` finds the C library's, and may not be
/// ready. So nothing but memory is looked at.
fn of_the_c_library(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the dynamic linker keeps it up to date.
    let mut next = unsafe { (&raw const _r_debug.first).read() };
    // The C library comes with the program, so that the list as far as there stays as it is.
    while !next.is_null() {
        // SAFETY: a library of the list.
        let library = unsafe { &*next };
        // SAFETY: it is loaded.
        let tables = unsafe { Tables::of(library.dynamic, library.base) };
        // SAFETY: as above.
        if unsafe { tables.are_of(c"libc.so.6") } {
            // SAFETY: as above.
            let offset = unsafe { tables.find(name) }?;
            return Some((library.base + offset) as *mut c_void);
        }
        next = library.next;
    }
    None
}

/// Looks into one library; returns 1 to end the search.
unsafe extern "C" fn visit(info: *mut dl_phdr_info, _: size_t, search: *mut c_void) -> c_int {
    // SAFETY: the linker's, for the time of the call; its program headers are as many as it says.
    let (info, headers) = unsafe {
        let info = &*info;
        let headers = slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        (info, headers)
    };
    // SAFETY: what `is_defined` gave.
    let search = unsafe { &mut *search.cast::<Search<'_>>() };
    let own = visit as *const () as u64;
    let is_own = |header: &Elf64_Phdr| {
        let begin = info.dlpi_addr + header.p_vaddr;
        header.p_type == libc::PT_LOAD && (begin..begin + header.p_memsz).contains(&own)
    };
    if headers.iter().any(is_own) {
        return 0;
    }
    let mut dynamic = headers.iter();
    let Some(dynamic) = dynamic.find(|header| header.p_type == libc::PT_DYNAMIC) else {
        return 0;
    };
    let entries = (info.dlpi_addr + dynamic.p_vaddr) as *const Entry;
    // SAFETY: a loaded library's dynamic section, and the tables that it names, stay while it is loaded.
    search.is_found = unsafe { Tables::of(entries, info.dlpi_addr).find(search.name) }.is_some();
    c_int::from(search.is_found)
}

impl Tables {
    /// Reads a dynamic section.
    ///
    /// # Safety
    ///
    /// It is that of a loaded library.
    unsafe fn of(first: *const Entry, base: u64) -> Self {
        let mut tables = Self::default();
        // SAFETY: by the caller's promise.
        for Entry { tag, value } in unsafe { entries(first) } {
            let address = if value < base { value + base } else { value };
            match tag {
                HASH => tables.hash = address,
                STRINGS => tables.strings = address,
                SYMBOLS => tables.symbols = address,
                GNU_HASH => tables.gnu_hash = address,
                OWN_NAME => tables.own_name = value,
                _ => {}
            }
        }
        tables
    }

    /// Returns whether they are those of a library that calls itself so.
    ///
    /// # Safety
    ///
    /// The tables are those of a loaded library.
    unsafe fn are_of(&self, name: &CStr) -> bool {
        // SAFETY: by the caller's promise.
        self.own_name != 0 && self.strings != 0 && unsafe { self.string(self.own_name) } == name
    }

    /// Returns a string.
    ///
    /// # Safety
    ///
    /// As above, and there is one.
    unsafe fn string(&self, place: u64) -> &CStr {
        let begin = (self.strings + place) as *const c_char;
        // SAFETY: by the caller's promise.
        unsafe { CStr::from_ptr(begin) }
    }

    /// Returns where from the library's base that is what it defines by a name.
    ///
    /// # Safety
    ///
    /// As above.
    unsafe fn find(&self, name: &CStr) -> Option<u64> {
        if self.symbols == 0 || self.strings == 0 {
            return None;
        }
        // SAFETY: by the caller's promise.
        unsafe {
            match (self.gnu_hash, self.hash) {
                (0, 0) => None,
                (0, hash) => {
                    let count = (hash as *const u32).add(1).read();
                    (0..count).find_map(|place| self.at(place, name))
                }
                (hash, _) => self.find_in(hash as *const u32, name),
            }
        }
    }

    /// Looks a name up in a table of hashes of GNU's form: four numbers, a Bloom filter, where each bucket's symbols begin, and their hashes, of which the
    /// last of a bucket is odd.
    ///
    /// # Safety
    ///
    /// As above.
    unsafe fn find_in(&self, table: *const u32, name: &CStr) -> Option<u64> {
        let hash = name.to_bytes().iter().fold(5381_u32, |hash, &byte| {
            hash.wrapping_mul(33).wrapping_add(u32::from(byte))
        });
        // SAFETY: by the caller's promise.
        unsafe {
            let [buckets, first, filter_words] = [0, 1, 2].map(|place| table.add(place).read());
            if buckets == 0 {
                return None;
            }
            let starts = table.add(4 + 2 * filter_words as usize);
            let hashes = starts.add(buckets as usize);
            let mut place = starts.add((hash % buckets) as usize).read();
            if place < first {
                return None;
            }
            loop {
                let other = hashes.add((place - first) as usize).read();
                if other | 1 == hash | 1
                    && let Some(found) = self.at(place, name)
                {
                    return Some(found);
                }
                if other & 1 == 1 {
                    return None;
                }
                place += 1;
            }
        }
    }

    /// Returns what a symbol says, if it has this name and is defined.
    ///
    /// # Safety
    ///
    /// As above; there is such a symbol.
    unsafe fn at(&self, place: u32, name: &CStr) -> Option<u64> {
        // SAFETY: by the caller's promise.
        unsafe {
            let symbol = (self.symbols as *const Elf64_Sym)
                .add(place as usize)
                .read();
            let is_it = symbol.st_shndx != 0 && self.string(symbol.st_name.into()) == name;
            is_it.then_some(symbol.st_value)
        }
    }
}
