//! A processor of 64 bits that runs a thread's code in place of the real one (x86-64): the instructions that loops which wait are made of.

use std::collections::{BTreeMap, HashMap};

use iced_x86::{ConditionCode, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

use super::super::samples::Registers;

/// No instruction is longer.
const LONGEST: usize = 15;

/// The memory of a process.
pub trait Memory {
    /// Returns a byte of it, where there is one.
    fn byte(&mut self, address: u64) -> Option<u8>;
}

/// A processor, and what it knows of the code.
pub struct Processor<'m, M> {
    registers: Registers,
    memory: Overlaid<'m, M>,
    /// Instructions by their addresses.
    known: HashMap<u64, Instruction>,
}

/// Everything that tells how it goes on.
#[derive(Clone, PartialEq, Eq)]
pub struct State {
    registers: Registers,
    written: BTreeMap<u64, u8>,
}

/// Memory of which what is written is seen by nobody else.
struct Overlaid<'m, M> {
    below: &'m mut M,
    written: BTreeMap<u64, u8>,
    /// Whether anything was read that had not been written here.
    looked: bool,
}

impl<M: Memory> Overlaid<'_, M> {
    fn read(&mut self, address: u64, bytes: usize) -> Option<u64> {
        let places = (0..bytes as u64).rev();
        let mut number = 0;
        for place in places {
            let at = address.wrapping_add(place);
            let byte = if let Some(&byte) = self.written.get(&at) {
                byte
            } else {
                self.looked = true;
                self.below.byte(at)?
            };
            number = number << 8 | u64::from(byte);
        }
        Some(number)
    }

    fn write(&mut self, address: u64, bytes: usize, value: u64) -> Option<()> {
        for (place, byte) in (0..).zip(value.to_le_bytes()).take(bytes) {
            let at = address.wrapping_add(place);
            // What is as it was is not written: so whoever writes the same again and again comes back to where it was.
            if self.below.byte(at)? == byte {
                self.written.remove(&at);
            } else {
                self.written.insert(at, byte);
            }
        }
        Some(())
    }
}

/// Flags, as they are in their register.
const CARRY: u64 = 1;
const PARITY: u64 = 1 << 2;
const ZERO: u64 = 1 << 6;
const SIGN: u64 = 1 << 7;
const OVERFLOW: u64 = 1 << 11;
/// Those that are kept.
const FLAGS: u64 = CARRY | PARITY | ZERO | SIGN | OVERFLOW;

/// The number of the stack pointer among registers.
const STACK: usize = 4;
const FRAME: usize = 5;

impl<'m, M: Memory> Processor<'m, M> {
    /// Makes one that goes on from here.
    pub fn new(from: Registers, memory: &'m mut M) -> Self {
        Self {
            registers: Registers {
                flags: from.flags & FLAGS,
                ..from
            },
            memory: Overlaid {
                below: memory,
                written: BTreeMap::new(),
                looked: false,
            },
            known: HashMap::new(),
        }
    }

    /// Returns its registers.
    pub fn registers(&self) -> Registers {
        self.registers
    }

    /// Returns everything that tells how it goes on.
    pub fn state(&self) -> State {
        State {
            registers: self.registers,
            written: self.memory.written.clone(),
        }
    }

    /// Returns whether everything is as it was.
    pub fn is_as(&self, state: &State) -> bool {
        self.registers == state.registers && self.memory.written == state.written
    }

    /// Returns whether it read anything since this was asked before that it had not written.
    pub fn has_looked(&mut self) -> bool {
        std::mem::take(&mut self.memory.looked)
    }

    fn fetch(&mut self) -> Instruction {
        let address = self.registers.instruction;
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        let mut code = [0; LONGEST];
        let mut length = 0;
        for (place, byte) in (0..).zip(&mut code) {
            let Some(read) = self.memory.below.byte(address.wrapping_add(place)) else {
                break;
            };
            *byte = read;
            length += 1;
        }
        let instruction =
            Decoder::with_ip(64, &code[..length], address, DecoderOptions::NONE).decode();
        self.known.insert(address, instruction);
        instruction
    }

    /// Runs an instruction and returns it; nothing where it is not known what it does.
    pub fn step(&mut self) -> Option<Instruction> {
        let instruction = self.fetch();
        let it = &instruction;
        self.registers.instruction = it.next_ip();
        match it.mnemonic() {
            Mnemonic::Nop
            | Mnemonic::Pause
            | Mnemonic::Endbr64
            | Mnemonic::Mfence
            | Mnemonic::Lfence
            | Mnemonic::Sfence => {}
            Mnemonic::Mov
            | Mnemonic::Movzx
            | Mnemonic::Movsx
            | Mnemonic::Movsxd
            | Mnemonic::Cwde
            | Mnemonic::Cdqe
            | Mnemonic::Cdq
            | Mnemonic::Cqo
            | Mnemonic::Lea
            | Mnemonic::Xchg
            | Mnemonic::Cmpxchg => self.moves(it)?,
            Mnemonic::Add
            | Mnemonic::Adc
            | Mnemonic::Xadd
            | Mnemonic::Sub
            | Mnemonic::Sbb
            | Mnemonic::Cmp
            | Mnemonic::Inc
            | Mnemonic::Dec
            | Mnemonic::Neg => self.adds(it)?,
            Mnemonic::Not | Mnemonic::And | Mnemonic::Or | Mnemonic::Xor | Mnemonic::Test => {
                self.combines(it)?;
            }
            Mnemonic::Shl | Mnemonic::Shr | Mnemonic::Sar => self.shifts(it)?,
            Mnemonic::Imul if it.op_count() > 1 => self.multiplies(it)?,
            Mnemonic::Div | Mnemonic::Idiv => self.divides(it)?,
            Mnemonic::Push | Mnemonic::Pop | Mnemonic::Leave => self.stacks(it)?,
            Mnemonic::Call | Mnemonic::Jmp => {
                let target = self.target(it)?;
                if it.mnemonic() == Mnemonic::Call {
                    self.push(it.next_ip())?;
                }
                self.registers.instruction = target;
            }
            Mnemonic::Ret if it.op_count() == 0 => self.registers.instruction = self.pop()?,
            _ => self.by_condition(it)?,
        }
        Some(instruction)
    }

    /// Runs what puts something where it was not.
    fn moves(&mut self, it: &Instruction) -> Option<()> {
        let accumulator = self.registers.general[0];
        match it.mnemonic() {
            Mnemonic::Cwde => self.set_register(Register::EAX, extended(accumulator, 2)),
            Mnemonic::Cdqe => self.set_register(Register::RAX, extended(accumulator, 4)),
            Mnemonic::Cdq => self.set_register(Register::EDX, sign_of(accumulator, 4)),
            Mnemonic::Cqo => self.set_register(Register::RDX, sign_of(accumulator, 8)),
            Mnemonic::Movsx | Mnemonic::Movsxd => {
                let value = extended(self.get(it, 1)?, bytes_of(it, 1));
                self.set(it, 0, value)?;
            }
            Mnemonic::Lea => {
                let address = self.address(it, 1)?;
                self.set(it, 0, address)?;
            }
            Mnemonic::Xchg => {
                let (first, second) = (self.get(it, 0)?, self.get(it, 1)?);
                self.set(it, 1, first)?;
                self.set(it, 0, second)?;
            }
            Mnemonic::Cmpxchg => {
                let bytes = bytes_of(it, 0);
                let (found, wanted) = (self.get(it, 0)?, self.get(it, 1)?);
                let expected = masked(accumulator, bytes);
                self.subtract(expected, found, false, bytes);
                if expected == found {
                    self.set(it, 0, wanted)?;
                } else {
                    self.set_register(accumulator_of(bytes)?, found);
                }
            }
            _ => {
                let value = self.get(it, 1)?;
                self.set(it, 0, value)?;
            }
        }
        Some(())
    }

    /// Runs what adds or takes away.
    fn adds(&mut self, it: &Instruction) -> Option<()> {
        let (bytes, first) = (bytes_of(it, 0), self.get(it, 0)?);
        let carry = self.registers.flags & CARRY;
        let second = match it.mnemonic() {
            Mnemonic::Inc | Mnemonic::Dec => 1,
            Mnemonic::Neg => 0,
            _ => self.get(it, 1)?,
        };
        let result = match it.mnemonic() {
            Mnemonic::Add | Mnemonic::Xadd | Mnemonic::Inc => self.add(first, second, false, bytes),
            Mnemonic::Adc => self.add(first, second, carry != 0, bytes),
            Mnemonic::Sbb => self.subtract(first, second, carry != 0, bytes),
            Mnemonic::Neg => self.subtract(second, first, false, bytes),
            _ => self.subtract(first, second, false, bytes),
        };
        match it.mnemonic() {
            Mnemonic::Cmp => return Some(()),
            Mnemonic::Xadd => self.set(it, 1, first)?,
            Mnemonic::Inc | Mnemonic::Dec => {
                self.registers.flags = self.registers.flags & !CARRY | carry;
            }
            _ => {}
        }
        self.set(it, 0, result)
    }

    /// Runs what combines bits.
    fn combines(&mut self, it: &Instruction) -> Option<()> {
        let first = self.get(it, 0)?;
        if it.mnemonic() == Mnemonic::Not {
            return self.set(it, 0, !first);
        }
        let second = self.get(it, 1)?;
        let result = match it.mnemonic() {
            Mnemonic::Or => first | second,
            Mnemonic::Xor => first ^ second,
            _ => first & second,
        };
        self.set_flags(result, bytes_of(it, 0), 0);
        if it.mnemonic() == Mnemonic::Test {
            return Some(());
        }
        self.set(it, 0, result)
    }

    fn multiplies(&mut self, it: &Instruction) -> Option<()> {
        let bytes = bytes_of(it, 0);
        let (first, second) = match it.op_count() {
            2 => (self.get(it, 0)?, self.get(it, 1)?),
            _ => (self.get(it, 1)?, self.get(it, 2)?),
        };
        let product = extended(first, bytes).wrapping_mul(extended(second, bytes));
        // Whoever asks for its flags asks for more than is known here.
        self.set_flags(product, bytes, 0);
        self.set(it, 0, product)
    }

    /// Runs what puts something on the stack, or takes it from there.
    fn stacks(&mut self, it: &Instruction) -> Option<()> {
        match it.mnemonic() {
            Mnemonic::Push => {
                let value = self.get(it, 0)?;
                self.push(value)
            }
            Mnemonic::Pop => {
                let value = self.pop()?;
                self.set(it, 0, value)
            }
            _ => {
                self.registers.general[STACK] = self.registers.general[FRAME];
                self.registers.general[FRAME] = self.pop()?;
                Some(())
            }
        }
    }

    /// Runs what a condition decides: a jump, a move, or whether something is one or zero.
    fn by_condition(&mut self, it: &Instruction) -> Option<()> {
        let holds = self.holds(it.condition_code())?;
        if it.is_jcc_short_or_near() {
            if holds {
                self.registers.instruction = it.near_branch_target();
            }
        } else if it.op_count() == 1 {
            self.set(it, 0, u64::from(holds))?;
        } else {
            // The upper half of the register is cleared also where nothing is moved.
            let value = self.get(it, usize::from(holds) as u32)?;
            self.set(it, 0, value)?;
        }
        Some(())
    }

    fn holds(&self, condition: ConditionCode) -> Option<bool> {
        let (carry, zero, sign) = (self.has(CARRY), self.has(ZERO), self.has(SIGN));
        let less = sign != self.has(OVERFLOW);
        Some(match condition {
            ConditionCode::None => return None,
            ConditionCode::o => self.has(OVERFLOW),
            ConditionCode::no => !self.has(OVERFLOW),
            ConditionCode::b => carry,
            ConditionCode::ae => !carry,
            ConditionCode::e => zero,
            ConditionCode::ne => !zero,
            ConditionCode::be => carry || zero,
            ConditionCode::a => !(carry || zero),
            ConditionCode::s => sign,
            ConditionCode::ns => !sign,
            ConditionCode::p => self.has(PARITY),
            ConditionCode::np => !self.has(PARITY),
            ConditionCode::l => less,
            ConditionCode::ge => !less,
            ConditionCode::le => less || zero,
            ConditionCode::g => !(less || zero),
        })
    }

    fn shifts(&mut self, it: &Instruction) -> Option<()> {
        let (bytes, value) = (bytes_of(it, 0), self.get(it, 0)?);
        let bits = 8 * bytes as u64;
        let by = self.get(it, 1)? & if bytes == 8 { 63 } else { 31 };
        if by == 0 {
            return Some(());
        }
        if by >= bits {
            return None;
        }
        let (result, carry) = match it.mnemonic() {
            Mnemonic::Shl => (value << by, value >> (bits - by) & 1),
            Mnemonic::Shr => (value >> by, value >> (by - 1) & 1),
            _ => {
                let signed = extended(value, bytes).cast_signed();
                ((signed >> by).cast_unsigned(), value >> (by - 1) & 1)
            }
        };
        self.set_flags(result, bytes, carry);
        self.set(it, 0, result)
    }

    /// Divides what is no longer than the divisor.
    fn divides(&mut self, it: &Instruction) -> Option<()> {
        let bytes = bytes_of(it, 0);
        let (low, high) = match bytes {
            4 => (Register::EAX, Register::EDX),
            8 => (Register::RAX, Register::RDX),
            _ => return None,
        };
        let (first, above, by) = (self.register(low)?, self.register(high)?, self.get(it, 0)?);
        let (quotient, rest) = if it.mnemonic() == Mnemonic::Div {
            (above == 0).then_some(())?;
            (first.checked_div(by)?, first.checked_rem(by)?)
        } else {
            let [first, above, by] =
                [first, above, by].map(|number| extended(number, bytes).cast_signed());
            (above == first >> 63).then_some(())?;
            let (quotient, rest) = (first.checked_div(by)?, first.checked_rem(by)?);
            (quotient.cast_unsigned(), rest.cast_unsigned())
        };
        self.set_register(low, quotient);
        self.set_register(high, rest);
        Some(())
    }

    fn push(&mut self, value: u64) -> Option<()> {
        let top = self.registers.general[STACK].wrapping_sub(8);
        self.registers.general[STACK] = top;
        self.memory.write(top, 8, value)
    }

    fn pop(&mut self) -> Option<u64> {
        let top = self.registers.general[STACK];
        self.registers.general[STACK] = top.wrapping_add(8);
        self.memory.read(top, 8)
    }

    fn target(&mut self, it: &Instruction) -> Option<u64> {
        match it.op0_kind() {
            OpKind::NearBranch64 => Some(it.near_branch_target()),
            OpKind::Register | OpKind::Memory => self.get(it, 0),
            _ => None,
        }
    }

    fn has(&self, flag: u64) -> bool {
        self.registers.flags & flag != 0
    }

    fn set_flags(&mut self, result: u64, bytes: usize, carry_and_overflow: u64) {
        let result = masked(result, bytes);
        let flag = |flag: u64, is_set: bool| if is_set { flag } else { 0 };
        self.registers.flags = carry_and_overflow
            | flag(ZERO, result == 0)
            | flag(SIGN, result >> (8 * bytes - 1) != 0)
            | flag(PARITY, (result as u8).count_ones().is_multiple_of(2));
    }

    fn add(&mut self, first: u64, second: u64, carry: bool, bytes: usize) -> u64 {
        let (first, second) = (masked(first, bytes), masked(second, bytes));
        let whole = u128::from(first) + u128::from(second) + u128::from(carry);
        let sum = masked(whole as u64, bytes);
        let carries = whole >> (8 * bytes) != 0;
        let overflows = (first ^ sum) & (second ^ sum);
        self.set_flags(sum, bytes, carry_and_overflow(carries, overflows, bytes));
        sum
    }

    fn subtract(&mut self, first: u64, second: u64, borrow: bool, bytes: usize) -> u64 {
        let (first, second) = (masked(first, bytes), masked(second, bytes));
        let left = masked(
            first.wrapping_sub(second).wrapping_sub(u64::from(borrow)),
            bytes,
        );
        let borrows = u128::from(first) < u128::from(second) + u128::from(borrow);
        let overflows = (first ^ second) & (first ^ left);
        self.set_flags(left, bytes, carry_and_overflow(borrows, overflows, bytes));
        left
    }

    fn address(&self, it: &Instruction, operand: u32) -> Option<u64> {
        it.virtual_address(operand, 0, |register, _, _| match register {
            // What belongs to a thread alone: where that lies is not known.
            Register::FS | Register::GS => None,
            register if register.is_segment_register() => Some(0),
            register => self.register(register),
        })
    }

    fn register(&self, register: Register) -> Option<u64> {
        if register == Register::RIP {
            return Some(self.registers.instruction);
        }
        let whole = register.full_register();
        if !whole.is_gpr64() {
            return None;
        }
        let value = self.registers.general[whole.number()];
        Some(masked(value >> shift_of(register), register.size()))
    }

    fn get(&mut self, it: &Instruction, operand: u32) -> Option<u64> {
        match it.op_kind(operand) {
            OpKind::Register => self.register(it.op_register(operand)),
            OpKind::Memory => {
                let address = self.address(it, operand)?;
                let bytes = it.memory_size().size();
                (1..=8).contains(&bytes).then_some(())?;
                self.memory.read(address, bytes)
            }
            kind if is_number(kind) => Some(it.immediate(operand)),
            _ => None,
        }
    }

    fn set(&mut self, it: &Instruction, operand: u32, value: u64) -> Option<()> {
        match it.op_kind(operand) {
            OpKind::Register => {
                let register = it.op_register(operand);
                register
                    .is_gpr()
                    .then(|| self.set_register(register, value))
            }
            OpKind::Memory => {
                let address = self.address(it, operand)?;
                let bytes = it.memory_size().size();
                (1..=8).contains(&bytes).then_some(())?;
                self.memory.write(address, bytes, value)
            }
            _ => None,
        }
    }

    fn set_register(&mut self, register: Register, value: u64) {
        let bytes = register.size();
        let whole = &mut self.registers.general[register.full_register().number()];
        let shift = shift_of(register);
        let own = masked(u64::MAX, bytes) << shift;
        // Whoever writes the lower half of a register clears the upper.
        let kept = if bytes == 4 { 0 } else { *whole & !own };
        *whole = kept | value << shift & own;
    }
}

/// Returns how many bytes an operand has.
fn bytes_of(it: &Instruction, operand: u32) -> usize {
    match it.op_kind(operand) {
        OpKind::Register => it.op_register(operand).size(),
        OpKind::Memory => it.memory_size().size(),
        _ => 8,
    }
}

/// Returns whether an operand is a number in the instruction.
fn is_number(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Immediate8
            | OpKind::Immediate16
            | OpKind::Immediate32
            | OpKind::Immediate64
            | OpKind::Immediate8to16
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64
    )
}

/// Returns where in its whole register a part of one begins.
fn shift_of(register: Register) -> u32 {
    let is_high = matches!(
        register,
        Register::AH | Register::BH | Register::CH | Register::DH
    );
    if is_high { 8 } else { 0 }
}

fn accumulator_of(bytes: usize) -> Option<Register> {
    Some(match bytes {
        1 => Register::AL,
        2 => Register::AX,
        4 => Register::EAX,
        8 => Register::RAX,
        _ => return None,
    })
}

fn carry_and_overflow(carries: bool, overflows: u64, bytes: usize) -> u64 {
    let overflow = overflows >> (8 * bytes - 1) & 1;
    (u64::from(carries) * CARRY) | (overflow * OVERFLOW)
}

/// Returns the lowest bytes of a number.
fn masked(value: u64, bytes: usize) -> u64 {
    if bytes >= 8 {
        value
    } else {
        value & ((1 << (8 * bytes)) - 1)
    }
}

/// Returns a number of so many bytes, with its sign, as one of eight.
fn extended(value: u64, bytes: usize) -> u64 {
    let shift = 64 - 8 * bytes.clamp(1, 8) as u32;
    ((value << shift).cast_signed() >> shift).cast_unsigned()
}

/// Returns a number with the sign of another of so many bytes, and no other bits.
fn sign_of(value: u64, bytes: usize) -> u64 {
    (extended(value, bytes).cast_signed() >> 63).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Memory for BTreeMap<u64, u8> {
        fn byte(&mut self, address: u64) -> Option<u8> {
            self.get(&address).copied()
        }
    }

    #[test]
    fn numbers_are_computed_as_by_a_processor() {
        let mut memory = BTreeMap::new();
        let registers = Registers::default();
        for (first, second) in [
            (0_u8, 0_u8),
            (5, 251),
            (127, 1),
            (128, 128),
            (200, 100),
            (3, 255),
        ] {
            let mut thread = Processor::new(registers, &mut memory);
            let (first, second) = (u64::from(first), u64::from(second));
            let (sum, carries) = (first as u8).overflowing_add(second as u8);
            assert_eq!(thread.add(first, second, false, 1), u64::from(sum));
            assert_eq!(thread.has(CARRY), carries);
            let overflows = (first as u8)
                .cast_signed()
                .checked_add((second as u8).cast_signed());
            assert_eq!(thread.has(OVERFLOW), overflows.is_none());
            let (left, borrows) = (first as u8).overflowing_sub(second as u8);
            assert_eq!(thread.subtract(first, second, false, 1), u64::from(left));
            assert_eq!(thread.has(CARRY), borrows);
            let less = (first as u8).cast_signed() < (second as u8).cast_signed();
            assert_eq!(thread.holds(ConditionCode::l), Some(less));
            assert_eq!(thread.has(ZERO), first == second);
        }
    }
}
