//! What runs the process in the processor's place.

use core::arch::asm;

/// Returns whether Valgrind does, which is asked by instructions that do nothing elsewhere.
#[must_use]
pub fn runs_in_valgrind() -> bool {
    const RUNNING_ON_VALGRIND: u64 = 0x1001;
    let question = [RUNNING_ON_VALGRIND, 0, 0, 0, 0, 0];
    let answer: u64;
    // SAFETY: rotates a register by 128 bits in all and exchanges one with itself; Valgrind reads the question.
    unsafe {
        asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") question.as_ptr(),
            inlateout("rdx") 0_u64 => answer,
            options(nostack),
        );
    }
    answer != 0
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_processor_is_not_valgrind() {
        assert!(!super::runs_in_valgrind());
    }
}
