//! What the program lends the kernel: memory that may not be there. The kernel would answer `EFAULT`, where looking at it would
//! kill the program.

use core::ffi::c_char;
use core::mem::size_of;
use core::sync::atomic::{AtomicBool, Ordering};

use foretrace_recorder::{process, sys};

/// Pages are of this size, or of a multiple of it.
const PAGE: u64 = 4096;

/// User space ends here at the latest: where the kernel has five levels of page tables.
const END: u64 = 1 << 56;

/// Whether the program is believed in what it says of its memory, and the kernel not asked.
static IS_BELIEVED: AtomicBool = AtomicBool::new(false);

/// Has the kernel no longer asked: somebody watches that it is told of no memory that is not there.
pub fn believe() {
    IS_BELIEVED.store(true, Ordering::Relaxed);
}

/// Returns the values that the program says lie at an address; `None` where the kernel could not read them.
///
/// What another thread unmaps meanwhile is not seen.
///
/// # Safety
///
/// Where memory can be read at the address it holds such values, or any bytes are one, and it stays for as long as the result.
pub unsafe fn slice<'a, T>(address: *const T, count: usize) -> Option<&'a [T]> {
    let bytes = count.checked_mul(size_of::<T>())?;
    if count == 0 {
        return Some(&[]);
    }
    if !address.is_aligned() || !can_read(address.addr() as u64, bytes as u64) {
        return None;
    }
    // SAFETY: the memory can be read, and the rest is the caller's promise.
    Some(unsafe { core::slice::from_raw_parts(address, count) })
}

/// The same for one value, wherever it lies.
///
/// # Safety
///
/// As for [`slice`].
pub unsafe fn value<T: Copy>(address: *const T) -> Option<T> {
    can_read(address.addr() as u64, size_of::<T>() as u64)
        // SAFETY: the memory can be read, and the rest is the caller's promise.
        .then(|| unsafe { address.read_unaligned() })
}

/// Returns the first bytes of a string, with zeros behind its end; nothing but zeros where it cannot be read.
///
/// # Safety
///
/// Where it can be read it ends with a zero.
pub unsafe fn beginning<const BYTES: usize>(string: *const c_char) -> [u8; BYTES] {
    let mut beginning = [0; BYTES];
    let start = string.addr() as u64;
    let mut known_to = start;
    for (index, place) in (0..).zip(&mut beginning) {
        let address = start.wrapping_add(index);
        if address == known_to {
            if !can_read(address, 1) {
                break;
            }
            known_to = (address / PAGE + 1) * PAGE;
        }
        // SAFETY: its page can be read.
        *place = unsafe { (address as *const u8).read() };
        if *place == 0 {
            break;
        }
    }
    beginning
}

/// Returns whether some bytes, one at least, can be read.
pub fn can_read(address: u64, bytes: u64) -> bool {
    let Some(end) = address.checked_add(bytes).filter(|&end| end <= END) else {
        return false;
    };
    if address < PAGE {
        return false;
    }
    // A program that gave up system calls is believed.
    process::confined()
        || IS_BELIEVED.load(Ordering::Relaxed)
        || sys::can_read(address)
            && (address / PAGE + 1..end.div_ceil(PAGE)).all(|page| sys::can_read(page * PAGE))
}
