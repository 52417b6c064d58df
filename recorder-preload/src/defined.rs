//! Whether any library that is loaded defines a name, found without the dynamic linker's `dlsym`.
//!
//! Where that finds nothing, it says so in a message, for which it allocates memory. Hooks are called by allocators, too, before these are
//! ready: tcmalloc asks for its first memory with a lock held, and would wait for itself.

use core::{
    ffi::{CStr, c_int, c_void},
    slice,
};

use libc::{Elf64_Phdr, Elf64_Sym, dl_phdr_info, size_t};

use crate::dynamic::{Entry, STRINGS, SYMBOLS, entries};

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
}

/// Returns whether a loaded library other than this one defines a name, whatever its version.
pub fn is_defined(name: &CStr) -> bool {
    let mut search = Search {
        name,
        is_found: false,
    };
    // SAFETY: the function is called with this search only, before this returns.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.is_found
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
    search.is_found = unsafe { Tables::of(entries, info.dlpi_addr).define(search.name) };
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
                _ => {}
            }
        }
        tables
    }

    /// Returns whether a library defines a name.
    ///
    /// # Safety
    ///
    /// The tables are those of a loaded library.
    unsafe fn define(&self, name: &CStr) -> bool {
        if self.symbols == 0 || self.strings == 0 {
            return false;
        }
        // SAFETY: by the caller's promise.
        unsafe {
            match (self.gnu_hash, self.hash) {
                (0, 0) => false,
                (0, hash) => {
                    let count = (hash as *const u32).add(1).read();
                    (0..count).any(|place| self.is_at(place, name))
                }
                (hash, _) => self.is_in(hash as *const u32, name),
            }
        }
    }

    /// Looks a name up in a table of hashes of GNU's form: four numbers, a Bloom filter, where each bucket's symbols begin, and their hashes, of which the
    /// last of a bucket is odd.
    ///
    /// # Safety
    ///
    /// As above.
    unsafe fn is_in(&self, table: *const u32, name: &CStr) -> bool {
        let hash = name.to_bytes().iter().fold(5381_u32, |hash, &byte| {
            hash.wrapping_mul(33).wrapping_add(u32::from(byte))
        });
        // SAFETY: by the caller's promise.
        unsafe {
            let [buckets, first, filter_words] = [0, 1, 2].map(|place| table.add(place).read());
            if buckets == 0 {
                return false;
            }
            let starts = table.add(4 + 2 * filter_words as usize);
            let hashes = starts.add(buckets as usize);
            let mut place = starts.add((hash % buckets) as usize).read();
            if place < first {
                return false;
            }
            loop {
                let other = hashes.add((place - first) as usize).read();
                if other | 1 == hash | 1 && self.is_at(place, name) {
                    return true;
                }
                if other & 1 == 1 {
                    return false;
                }
                place += 1;
            }
        }
    }

    /// Returns whether a symbol has this name and is defined.
    ///
    /// # Safety
    ///
    /// As above; there is such a symbol.
    unsafe fn is_at(&self, place: u32, name: &CStr) -> bool {
        // SAFETY: by the caller's promise.
        unsafe {
            let symbol = (self.symbols as *const Elf64_Sym)
                .add(place as usize)
                .read();
            let own = (self.strings as *const libc::c_char).add(symbol.st_name as usize);
            symbol.st_shndx != 0 && libc::strcmp(own, name.as_ptr()) == 0
        }
    }
}
