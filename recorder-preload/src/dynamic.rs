//! The dynamic sections of libraries: where their tables are.

/// The tag of the entry that ends a section.
const END: u64 = 0;

/// The names of symbols.
pub const STRINGS: u64 = 5;

/// The symbols.
pub const SYMBOLS: u64 = 6;

/// Where among the strings a library's own name is.
pub const OWN_NAME: u64 = 14;

/// An entry of a dynamic section. The dynamic linker has made its addresses absolute, but not in the kernel's own library.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Entry {
    /// What it is.
    pub tag: u64,
    /// An address or a size.
    pub value: u64,
}

/// Returns the entries of a dynamic section.
///
/// # Safety
///
/// It is that of a library that stays loaded while they are gone through.
pub unsafe fn entries(first: *const Entry) -> impl Iterator<Item = Entry> {
    let mut next = first;
    core::iter::from_fn(move || {
        // SAFETY: by the caller's promise; the section ends with an entry that says so, which is not gone past.
        let entry = unsafe { next.read() };
        if entry.tag == END {
            return None;
        }
        // SAFETY: as above.
        next = unsafe { next.add(1) };
        Some(entry)
    })
}
