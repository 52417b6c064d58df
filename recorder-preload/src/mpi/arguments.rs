//! The arguments of a call, and passing them on.

use core::ffi::c_int;

use foretrace_recorder::message;
use foretrace_trace::journal::mpi::FUNCTIONS;

use super::library;

/// As many arguments as any function of MPI has, and some to spare.
pub const MOST: usize = 14;

/// How many of them are in registers.
const IN_REGISTERS: usize = 6;

/// Where, in what the hook left, those begin that the caller put on the stack; the caller's address is right before.
const ON_STACK: usize = 8;

/// A call of a function of MPI.
pub struct Arguments {
    /// The function.
    pub position: u16,
    /// Where it was called.
    pub site: u64,
    words: [usize; MOST],
}

/// Returns the `int` that a register was passed with: the rest of it says nothing.
fn int_of(word: usize) -> c_int {
    (word as u32).cast_signed()
}

/// A function of MPI, called with more arguments than it looks at.
type Function = unsafe extern "C-unwind" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> c_int;

impl Arguments {
    /// Takes what a hook's instructions left.
    ///
    /// # Safety
    ///
    /// `words` points to them.
    #[inline]
    pub unsafe fn new(position: u16, words: *const usize) -> Self {
        // SAFETY: by the caller's promise. Behind the arguments lies the caller's own frame, so that reading more than there
        // are finds something.
        let read = |index| unsafe { words.add(index).read() };
        let mut all = [0; MOST];
        for (index, word) in all.iter_mut().enumerate() {
            *word = match index.checked_sub(IN_REGISTERS) {
                None => read(index),
                Some(further) => read(ON_STACK + further),
            };
        }
        Self {
            position,
            site: read(ON_STACK - 1) as u64,
            words: all,
        }
    }

    /// Returns a call of a function that does nothing.
    pub fn of_nothing(words: &[usize]) -> Self {
        let mut all = [0; MOST];
        all[..words.len()].copy_from_slice(words);
        Self {
            position: library::NOTHING,
            site: 0,
            words: all,
        }
    }

    /// Returns an argument that is an address.
    #[inline]
    pub fn word(&self, index: usize) -> usize {
        self.words[index]
    }

    /// Returns an argument that is an `int`.
    #[inline]
    pub fn int(&self, index: usize) -> c_int {
        int_of(self.words[index])
    }

    /// Returns an argument that counts something; 0 for what cannot.
    #[inline]
    pub fn count(&self, index: usize) -> usize {
        if self.is_wide() {
            return self.wide_count(index);
        }
        usize::try_from(self.int(index)).unwrap_or(0)
    }

    /// Returns an argument that counts something in 64 bits.
    #[inline]
    pub fn wide_count(&self, index: usize) -> usize {
        usize::try_from(self.words[index].cast_signed()).unwrap_or(0)
    }

    /// Returns whether the function counts elements in 64 bits.
    #[inline]
    fn is_wide(&self) -> bool {
        let function = FUNCTIONS.get(usize::from(self.position));
        function.is_some_and(|function| function.is_wide)
    }

    /// Returns one of the counts that an argument points to.
    pub fn count_in(&self, index: usize, place: usize) -> usize {
        if !self.is_wide() {
            return usize::try_from(self.int_in(index, place)).unwrap_or(0);
        }
        let address = self.words[index] as *const i64;
        if address.is_null() {
            return 0;
        }
        // SAFETY: the caller knows how many there are.
        let count = unsafe { address.add(place).read_unaligned() };
        usize::try_from(count).unwrap_or(0)
    }

    /// Returns an argument that is a handle.
    #[inline]
    pub fn handle(&self, index: usize) -> usize {
        library::constants().family.argument(self.words[index])
    }

    /// Returns an `int` that an argument points to; 0 where it points nowhere.
    pub fn int_at(&self, index: usize) -> c_int {
        let address = self.words[index] as *const c_int;
        if address.is_null() {
            return 0;
        }
        // SAFETY: the function's declaration says that it is an `int`.
        unsafe { address.read_unaligned() }
    }

    /// Returns an `int` that counts something, and that an argument points to.
    pub fn count_at(&self, index: usize) -> usize {
        usize::try_from(self.int_at(index)).unwrap_or(0)
    }

    /// Returns one of the `int`s that an argument points to.
    pub fn int_in(&self, index: usize, place: usize) -> c_int {
        let address = self.words[index] as *const c_int;
        if address.is_null() {
            return 0;
        }
        // SAFETY: the caller knows how many there are.
        unsafe { address.add(place).read_unaligned() }
    }

    /// Returns the handle that an argument points to.
    pub fn handle_at(&self, index: usize) -> usize {
        self.handle_in(index, 0)
    }

    /// Returns one of the handles that an argument points to.
    pub fn handle_in(&self, index: usize, place: usize) -> usize {
        let base = self.words[index];
        if base == 0 {
            return 0;
        }
        let bytes = library::constants().family.handle_bytes();
        let address = base + place * bytes;
        if bytes == 4 {
            // SAFETY: the function's declaration says that it is a handle, and the caller knows how many there are.
            unsafe { (address as *const u32).read_unaligned() as usize }
        } else {
            // SAFETY: as above.
            unsafe { (address as *const usize).read_unaligned() }
        }
    }

    /// Puts another word in an argument's place.
    pub fn with(&self, index: usize, word: usize) -> Self {
        let mut words = self.words;
        words[index] = word;
        Self { words, ..*self }
    }

    /// Returns a call of another function with the same arguments.
    pub fn of(&self, position: u16) -> Self {
        Self { position, ..*self }
    }

    /// Returns a call with some of the arguments in another order, and the others as they are.
    pub fn taken(&self, places: [usize; 6]) -> Self {
        let mut words = self.words;
        for (word, place) in words.iter_mut().zip(places) {
            *word = self.words[place];
        }
        Self { words, ..*self }
    }

    /// Calls the library's function. What the library does is not recorded.
    #[inline]
    pub fn forward(&self) -> c_int {
        let address = library::function(self.position);
        // SAFETY: a function of MPI has only `int`s and pointers for arguments, and ignores those beyond its own.
        let function = unsafe { core::mem::transmute::<usize, Function>(address) };
        let w = &self.words;
        let inside = Inside::enter();
        // SAFETY: the program's own call.
        let result = unsafe {
            function(
                w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12],
                w[13],
            )
        };
        drop(inside);
        result
    }
}

/// While it lives, nothing is recorded for the thread. A handler of errors may throw.
pub struct Inside;

impl Inside {
    /// Begins.
    #[inline]
    pub fn enter() -> Self {
        message::enter();
        Self
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        message::leave();
    }
}
