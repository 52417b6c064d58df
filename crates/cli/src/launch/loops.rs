//! Recognizes loops that wait for memory to change, by their machine code (x86-64).
//!
//! The loop is run with symbols in place of values, and with memory that nobody else changes. Where a round looks at the same places and
//! compares the same values as the round before, the loop cannot come to an end by itself: it waits for somebody else, whatever it may count
//! meanwhile. A loop that compares what it counts, follows pointers or computes compares something else each round. What cannot be decoded is
//! not recognized.
//!
//! A loop with a `pause` in it may compare what it counts: it waits until it has waited long enough, and goes on by itself then.

mod decode;
pub mod processor;
pub mod rehearsal;
mod symbols;

use self::{
    decode::{Effect, decode},
    symbols::Machine,
};

/// The longest loop that is recognized, in bytes.
const LONGEST: usize = 60;

/// So many rounds may pass until each is as the one before: values move from one place to another.
const ROUNDS: usize = 4;

/// A loop that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its first instruction, as an offset in the code.
    pub begin: usize,
    /// Whether it counts, and goes on by itself when it has waited long enough.
    pub is_bounded: bool,
}

/// Returns the waiting loop that holds the instruction at `at`.
pub fn waiting_loop(code: &[u8], at: usize) -> Option<Waiting> {
    let first = at.saturating_sub(LONGEST);
    (first..=at).rev().find_map(|begin| {
        let found = loop_from(code, begin)?;
        let holds = at < found.end && found.boundaries >> (at - begin) & 1 == 1;
        if !holds {
            return None;
        }
        let (looked, is_bounded) = match waits(code, begin, Machine::default()) {
            Some(looked) => (looked, false),
            None if found.pauses => (waits(code, begin, Machine::ignoring_counts())?, true),
            None => return None,
        };
        (looked || found.pauses).then_some(Waiting {
            begin,
            // One that only lets time pass is part of another, which looks.
            is_bounded: looked && is_bounded,
        })
    })
}

/// A loop.
struct Loop {
    /// Where it ends.
    end: usize,
    /// Where instructions begin in it, a bit each.
    boundaries: u64,
    /// Whether it lets a core's other thread go first.
    pauses: bool,
}

/// Follows the instructions from `start` up to a jump back to it. Jumps out of it, to either side, or over a part of it are taken not
/// to be made.
fn loop_from(code: &[u8], start: usize) -> Option<Loop> {
    let mut at = start;
    let (mut boundaries, mut pauses) = (0, false);
    while at < start + LONGEST {
        boundaries |= 1 << (at - start);
        let instruction = decode(code, at)?;
        pauses |= instruction.effect == Effect::Pause;
        at = instruction.end;
        if let Some(target) = instruction.jump {
            if target == start as u64 {
                return Some(Loop {
                    end: at,
                    boundaries,
                    pauses,
                });
            }
            if !instruction.conditional {
                return None;
            }
        }
    }
    None
}

/// Runs the loop until a round is as the one before; returns whether it looks at memory, `None` where every round is another.
fn waits(code: &[u8], start: usize, mut machine: Machine) -> Option<bool> {
    let mut before = None;
    for _ in 0..ROUNDS {
        if !round(code, start, &mut machine) {
            return None;
        }
        let seen = machine.take_seen();
        if before.as_ref() == Some(&seen) {
            return Some(machine.looked);
        }
        before = Some(seen);
    }
    None
}

fn round(code: &[u8], start: usize, machine: &mut Machine) -> bool {
    let mut at = start;
    loop {
        let Some(instruction) = decode(code, at) else {
            return false;
        };
        at = instruction.end;
        machine.run(&instruction);
        if instruction.jump == Some(start as u64) {
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code for each: how a compiler spelled it, and whether it waits.
    const LOOPS: [(&str, bool, &[u8]); 17] = [
        (
            "with a bound: mov rdx, [rbx+0x88]; test rdx, rdx; jne out; pause; dec eax; jne",
            true,
            &[
                0x48, 0x8b, 0x93, 0x88, 0, 0, 0, 0x48, 0x85, 0xd2, 0x75, 6, 0xf3, 0x90, 0xff, 0xc8,
                0x75, 0xee,
            ],
        ),
        (
            "for some time: pause; sub ecx, 1; jne",
            true,
            &[0xf3, 0x90, 0x83, 0xe9, 1, 0x75, 0xf9],
        ),
        (
            "work in between: pause; imul is not decoded; dec eax; jne",
            false,
            &[0xf3, 0x90, 0x0f, 0xaf, 0xc1, 0xff, 0xc8, 0x75, 0xf7],
        ),
        (
            "mov eax, [rip+..]; test eax, eax; je",
            true,
            &[0x8b, 5, 1, 2, 3, 4, 0x85, 0xc0, 0x74, 0xf6],
        ),
        (
            "pause; cmp dword [rdi], 0; jne",
            true,
            &[0xf3, 0x90, 0x83, 0x3f, 0, 0x75, 0xf9],
        ),
        (
            "left backwards: mov rax, [rdi+24]; test rax, rax; jne -26; mov rax, [rdi+8]; test rax, rax; je",
            true,
            &[
                0x48, 0x8b, 0x47, 24, 0x48, 0x85, 0xc0, 0x75, 0xe6, 0x48, 0x8b, 0x47, 8, 0x48,
                0x85, 0xc0, 0x74, 0xee,
            ],
        ),
        (
            "which counts: add rax, 1; mov ecx, [rdi]; cmp ecx, edx; jl",
            true,
            &[0x48, 0x83, 0xc0, 1, 0x8b, 0xf, 0x39, 0xd1, 0x7c, 0xf6],
        ),
        (
            "which counts in memory: mov rax, [rsi]; add rax, 1; mov [rsi], rax; mov eax, [rdi]; cmp eax, edx; jne",
            true,
            &[
                0x48, 0x8b, 6, 0x48, 0x83, 0xc0, 1, 0x48, 0x89, 6, 0x8b, 7, 0x39, 0xd0, 0x75, 0xf0,
            ],
        ),
        (
            "a search: add rdi, 4; mov eax, [rdi]; cmp eax, edx; jne",
            false,
            &[0x48, 0x83, 0xc7, 4, 0x8b, 7, 0x39, 0xd0, 0x75, 0xf6],
        ),
        (
            "mov eax, 1; xchg [rdi], eax; test eax, eax; jne",
            true,
            &[0xb8, 1, 0, 0, 0, 0x87, 7, 0x85, 0xc0, 0x75, 0xf5],
        ),
        (
            "without optimization: lea rax, [rip+..]; mov [rbp-8], rax; mov rax, [rbp-8]; mov eax, [rax]; \
             mov [rbp-12], eax; mov eax, [rbp-12]; test eax, eax; je",
            true,
            &[
                0x48, 0x8d, 5, 0xd7, 0x2e, 0, 0, 0x48, 0x89, 0x45, 0xf8, 0x48, 0x8b, 0x45, 0xf8,
                0x8b, 0, 0x89, 0x45, 0xf4, 0x8b, 0x45, 0xf4, 0x85, 0xc0, 0x74, 0xe5,
            ],
        ),
        (
            "add eax, [rdi]; add rdi, 4; cmp rdi, rsi; jne",
            false,
            &[3, 7, 0x48, 0x83, 0xc7, 4, 0x48, 0x39, 0xf7, 0x75, 0xf5],
        ),
        (
            "mov rax, [rax]; test rax, rax; jne",
            false,
            &[0x48, 0x8b, 0, 0x48, 0x85, 0xc0, 0x75, 0xf8],
        ),
        (
            "a list, without optimization: mov rax, [rbp-8]; mov rax, [rax]; mov [rbp-8], rax; cmp qword [rbp-8], 0; jne",
            false,
            &[
                0x48, 0x8b, 0x45, 0xf8, 0x48, 0x8b, 0, 0x48, 0x89, 0x45, 0xf8, 0x48, 0x83, 0x7d,
                0xf8, 0, 0x75, 0xee,
            ],
        ),
        (
            "counting, in memory: add dword [rbp-4], 1; cmp dword [rbp-4], 9; jle",
            false,
            &[0x83, 0x45, 0xfc, 1, 0x83, 0x7d, 0xfc, 9, 0x7e, 0xf6],
        ),
        ("dec eax; jne", false, &[0xff, 0xc8, 0x75, 0xfc]),
        (
            "jmp to itself, which looks at nothing",
            false,
            &[0xeb, 0xfe],
        ),
    ];

    #[test]
    fn loops_that_wait_are_told_from_those_that_go_on() {
        for (name, waits, code) in LOOPS {
            let is_bounded = name.contains("with a bound");
            let found = waits.then_some(Waiting {
                begin: 0,
                is_bounded,
            });
            assert_eq!(waiting_loop(code, 0), found, "{name}");
            assert_eq!(waiting_loop(code, code.len() - 2), found, "{name}");
        }
    }

    #[test]
    fn samples_are_where_instructions_begin() {
        let (_, _, code) = LOOPS[0];
        assert_eq!(waiting_loop(code, 1), None);
        assert_eq!(waiting_loop(code, 99), None);
        assert_eq!(waiting_loop(&[], 0), None);
    }
}
