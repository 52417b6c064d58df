//! What a filter of system calls lets pass: runs the program that is about to be given to seccomp, which is classic BPF
//! on four words and six arguments.

use core::ffi::c_long;

use libc::{sock_filter, sock_fprog};

use crate::lent;

/// `AUDIT_ARCH_X86_64`.
const ARCHITECTURE: u32 = 0xc000_003e;

/// The part of a program's answer that says what is done.
const ACTION: u32 = 0xffff_0000;

/// The bytes of `struct seccomp_data`.
const DATA_BYTES: u32 = 64;

/// The longest program that the kernel takes.
const MAX_INSTRUCTIONS: u16 = 4096;

/// A filter's program.
pub struct Filter<'a>(&'a [sock_filter]);

impl Filter<'_> {
    /// Returns the program at an address; `None` for an address that cannot hold one, with which the kernel is asked
    /// what it supports.
    ///
    /// # Safety
    ///
    /// Where memory can be read at the address there is a program, which outlives the result.
    pub unsafe fn at(address: u64) -> Option<Self> {
        // SAFETY: by the caller's promise; any bytes are a program of some length.
        let sock_fprog { len, filter } = unsafe { lent::value(address as *const sock_fprog) }?;
        if !(1..=MAX_INSTRUCTIONS).contains(&len) {
            return None;
        }
        // SAFETY: as above.
        unsafe { lent::slice(filter, len.into()) }.map(Self)
    }

    /// Returns whether it lets a system call pass whose other arguments are 0. What is no program does not.
    pub fn allows(&self, number: c_long, first: c_long) -> bool {
        let action = self.action(number, first);
        matches!(
            action,
            Some(libc::SECCOMP_RET_ALLOW | libc::SECCOMP_RET_LOG)
        )
    }

    /// Returns whether it does nothing worse to a system call whose arguments are 0 than to let it fail.
    pub fn spares(&self, number: c_long) -> bool {
        self.allows(number, 0) || self.action(number, 0) == Some(libc::SECCOMP_RET_ERRNO)
    }

    fn action(&self, number: c_long, first: c_long) -> Option<u32> {
        let answer = self.run(number.cast_unsigned() as u32, first.cast_unsigned());
        answer.map(|answer| answer & ACTION)
    }

    fn run(&self, number: u32, first: u64) -> Option<u32> {
        let data = |at: u32| match at {
            0 => Some(number),
            4 => Some(ARCHITECTURE),
            16 => Some(first as u32),
            20 => Some((first >> 32) as u32),
            at if at < DATA_BYTES && at % 4 == 0 => Some(0),
            _ => None,
        };
        let (mut a, mut x, mut memory) = (0_u32, 0_u32, [0_u32; 16]);
        let mut next = 0_usize;
        // There are no jumps back.
        loop {
            let &sock_filter { code, jt, jf, k } = self.0.get(next)?;
            next += 1;
            let source = if code & 8 == 0 { k } else { x };
            let cell = k as usize;
            match (code & 7, code & 0xf0) {
                (0, 0x00) => a = k,
                (0, 0x20) => a = data(k)?,
                (0, 0x60) => a = *memory.get(cell)?,
                (0, 0x80) => a = DATA_BYTES,
                (1, 0x00) => x = k,
                (1, 0x60) => x = *memory.get(cell)?,
                (1, 0x80) => x = DATA_BYTES,
                (2, _) => *memory.get_mut(cell)? = a,
                (3, _) => *memory.get_mut(cell)? = x,
                (4, operation) => a = calculate(operation, a, source)?,
                (5, 0x00) => next += cell,
                (5, test) => {
                    let holds = match test {
                        0x10 => a == source,
                        0x20 => a > source,
                        0x30 => a >= source,
                        0x40 => a & source != 0,
                        _ => return None,
                    };
                    next += usize::from(if holds { jt } else { jf });
                }
                (6, 0x00) => return Some(k),
                (6, 0x10) => return Some(a),
                (7, 0x00) => x = a,
                (7, 0x80) => a = x,
                _ => return None,
            }
        }
    }
}

fn calculate(operation: u16, a: u32, by: u32) -> Option<u32> {
    Some(match operation {
        0x00 => a.wrapping_add(by),
        0x10 => a.wrapping_sub(by),
        0x20 => a.wrapping_mul(by),
        0x30 => a.checked_div(by)?,
        0x40 => a | by,
        0x50 => a & by,
        0x60 => a.checked_shl(by)?,
        0x70 => a.checked_shr(by)?,
        0x80 => a.wrapping_neg(),
        0x90 => a.checked_rem(by)?,
        0xa0 => a ^ by,
        _ => return None,
    })
}
