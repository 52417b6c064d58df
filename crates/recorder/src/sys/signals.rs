//! Signals kept away for a while, by raw system calls.

use super::syscall;

/// All signals blocked, until this is dropped.
#[derive(Debug)]
pub struct SignalsBlocked {
    before: u64,
}

/// Blocks every signal for this thread.
#[must_use]
pub fn block_signals() -> SignalsBlocked {
    let mut before = 0;
    set_mask(&u64::MAX, Some(&mut before));
    SignalsBlocked { before }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        set_mask(&self.before, None);
    }
}

fn set_mask(mask: &u64, before: Option<&mut u64>) {
    let before = before.map_or(0, |before| core::ptr::from_mut(before) as usize);
    // SAFETY: the kernel reads one set of 8 bytes and writes one where it is given a place.
    unsafe {
        syscall(
            libc::SYS_rt_sigprocmask,
            [
                libc::SIG_SETMASK as usize,
                core::ptr::from_ref(mask) as usize,
                before,
                size_of::<u64>(),
                0,
                0,
            ],
        );
    }
}
