//! Runs a thread's code on from where a sample found it, in place of the thread, with its registers and its memory (x86-64).
//!
//! Where all registers and all memory come to be as they were before at the same instruction, the thread cannot go on by itself: it goes through the same instructions
//! until somebody else changes what it looks at, however many loops and calls these are. Where an instruction is not known, nothing is.
//!
//! The memory is that of some milliseconds later, when the thread may have done much else: a list that it went through then may go round in circles by what is at its
//! place now. So another sample of the thread has to be on the way, too, with the same registers.

use std::collections::BTreeSet;

use iced_x86::FlowControl;

use super::{
    super::samples::Registers,
    processor::{Memory, Processor},
};

/// So many instructions are run at most: a wait of a thread that pauses longer and longer between looks is some hundreds long.
pub const MOST_STEPS: u32 = 8_192;

/// A way through instructions that comes back to where it began, with everything as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// The first instruction, by address, of the function that is in none of the calls, and the last.
    pub begin: u64,
    pub end: u64,
    /// Where all instructions of it are.
    pub addresses: BTreeSet<u64>,
    /// The registers before each of them.
    registers: Vec<Registers>,
}

impl Round {
    /// Returns whether a thread that goes through the round comes to these registers.
    pub fn comes_to(&self, registers: &Registers) -> bool {
        // Some flags say nothing after some instructions.
        let is_same = |own: &Registers| {
            own.instruction == registers.instruction && own.general == registers.general
        };
        self.registers.iter().any(is_same)
    }
}

/// Runs on from here for some steps; returns the round that it goes through then without an end, if it does, and how many steps that took.
pub fn rehearse<M: Memory>(from: Registers, memory: &mut M, steps: u32) -> (Option<Round>, u32) {
    let mut processor = Processor::new(from, memory);
    // Brent's way of finding a cycle: it is looked for from steps on that are powers of two.
    let (mut before, mut length, mut power) = (processor.state(), 0, 1);
    for step in 1..=steps {
        if processor.step().is_none() {
            return (None, step);
        }
        length += 1;
        if processor.is_as(&before) {
            return (round(&mut processor, length), step + length);
        }
        if length == power {
            before = processor.state();
            (length, power) = (0, power * 2);
        }
    }
    (None, steps)
}

/// Goes through a round of so many steps once more; returns it if it looks at memory.
fn round<M: Memory>(processor: &mut Processor<'_, M>, length: u32) -> Option<Round> {
    processor.has_looked();
    let mut registers = Vec::new();
    let (mut addresses, mut outermost, mut depth, mut least) =
        (BTreeSet::new(), BTreeSet::new(), 0, 0);
    for _ in 0..length {
        registers.push(processor.registers());
        let address = processor.registers().instruction;
        let instruction = processor.step()?;
        addresses.insert(address);
        if depth < least {
            outermost.clear();
            least = depth;
        }
        if depth == least {
            outermost.insert(address);
        }
        depth += match instruction.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall => 1,
            FlowControl::Return => -1,
            _ => 0,
        };
    }
    let (begin, end) = outermost.first().copied().zip(outermost.last().copied())?;
    processor.has_looked().then_some(Round {
        begin,
        end,
        addresses,
        registers,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Where the code and what it looks at are.
    const CODE: u64 = 0x1000;
    const DATA: u64 = 0x2000;
    const TOP: u64 = 0x3000;

    /// The number of the stack pointer among registers.
    const STACK: usize = 4;

    /// Runs code from its first byte on, with `rdi` at eight numbers of four bytes, of which the last two are one.
    fn round_of(code: &[u8]) -> Option<Round> {
        let mut memory: BTreeMap<u64, u8> = (CODE..).zip(code.iter().copied()).collect();
        memory.extend((DATA..TOP).map(|address| (address, 0)));
        memory.extend([(DATA + 24, 1), (DATA + 28, 1)]);
        let mut registers = registers_at(CODE);
        registers.general[STACK] = TOP;
        rehearse(registers, &mut memory, MOST_STEPS).0
    }

    /// Returns the registers of a thread at an address, without a stack.
    fn registers_at(instruction: u64) -> Registers {
        let mut registers = Registers {
            instruction,
            ..Registers::default()
        };
        registers.general[7] = DATA;
        registers
    }

    #[test]
    fn loops_within_loops_wait_where_nothing_is_left_of_a_round() {
        // 0: lea rax, [rdi]; xor ecx, ecx; 5: add ecx, [rax]; add rax, 4; lea rdx, [rdi+32]; cmp rax, rdx; jne 5; cmp ecx, 3; jne 0.
        let sum = [
            0x48, 0x8d, 0x07, 0x31, 0xc9, 0x03, 0x08, 0x48, 0x83, 0xc0, 4, 0x48, 0x8d, 0x57, 32,
            0x48, 0x39, 0xd0, 0x75, 0xf1, 0x83, 0xf9, 3, 0x75, 0xe7,
        ];
        let round = round_of(&sum).expect("the sum is two, and stays so");
        assert_eq!(round.begin, CODE);
        let boundaries = [0, 3, 5, 7, 11, 15, 18, 20, 23];
        assert!(
            round
                .addresses
                .into_iter()
                .eq(boundaries.map(|at| CODE + at))
        );
        let mut is_two = sum;
        is_two[22] = 2;
        assert_eq!(round_of(&is_two), None, "behind the loop is nothing known");
    }

    #[test]
    fn a_loop_waits_by_what_it_calls_and_begins_outside_of_that() {
        // 0: jmp 8; 2: mov eax, [rdi]; ret; 8: call 2; test eax, eax; je 8.
        let code = [
            0xeb, 6, 0x8b, 0x07, 0xc3, 0x90, 0x90, 0x90, 0xe8, 0xf5, 0xff, 0xff, 0xff, 0x85, 0xc0,
            0x74, 0xf7,
        ];
        let round = round_of(&code).expect("it waits");
        assert_eq!((round.begin, round.end), (CODE + 8, CODE + 15));
        let mut on_the_way = registers_at(CODE + 13);
        assert!(!round.comes_to(&on_the_way), "it has another stack");
        on_the_way.general[STACK] = TOP;
        assert!(round.comes_to(&on_the_way));
        let boundaries = [2, 4, 8, 13, 15];
        assert!(
            round
                .addresses
                .into_iter()
                .eq(boundaries.map(|at| CODE + at))
        );
    }

    #[test]
    fn what_counts_or_looks_at_nothing_is_not_known_to_wait() {
        // add rax, 1; cmp dword [rdi], 0; je.
        let counts = [0x48, 0x83, 0xc0, 1, 0x83, 0x3f, 0, 0x74, 0xf7];
        assert_eq!(round_of(&counts), None);
        // add dword [rdi+4], 1; cmp dword [rdi], 0; je.
        let in_memory = [0x83, 0x47, 4, 1, 0x83, 0x3f, 0, 0x74, 0xf7];
        assert_eq!(round_of(&in_memory), None);
        // jmp to itself.
        assert_eq!(round_of(&[0xeb, 0xfe]), None);
        // syscall; jmp.
        assert_eq!(round_of(&[0x0f, 5, 0xeb, 0xfc]), None);
    }

    #[test]
    fn one_who_pauses_longer_and_longer_comes_to_a_round() {
        // 0: mov ecx, 1; 5: mov edx, ecx; 7: pause; dec edx; jne 7; cmp ecx, 64; jae 18; add ecx, ecx; 18: cmp dword [rdi], 0; je 5.
        let code = [
            0xb9, 1, 0, 0, 0, 0x89, 0xca, 0xf3, 0x90, 0xff, 0xca, 0x75, 0xfa, 0x83, 0xf9, 64, 0x73,
            2, 0x01, 0xc9, 0x83, 0x3f, 0, 0x74, 0xec,
        ];
        let round = round_of(&code).expect("it pauses no longer than 64 times");
        assert_eq!(round.begin, CODE + 5);
    }

    #[test]
    fn a_lock_that_another_has_is_tried_again_and_again() {
        // 0: mov eax, 1; xchg [rdi+24], eax; test eax, eax; jne 0.
        let code = [0xb8, 1, 0, 0, 0, 0x87, 0x47, 24, 0x85, 0xc0, 0x75, 0xf4];
        assert!(round_of(&code).is_some());
        let mut is_free = code;
        is_free[7] = 0;
        assert_eq!(round_of(&is_free), None);
    }
}
