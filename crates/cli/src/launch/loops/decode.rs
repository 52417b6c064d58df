//! Decodes the instructions that waiting loops are made of.

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: a jump.
    None,
    /// Lets a core's other thread go first: what compilers put into loops that wait, and nowhere else.
    Pause,
    /// Compares two operands.
    Compare,
    /// Puts the source into the target.
    Move,
    /// Puts the source's address into the target.
    Address,
    /// Computes the target from target and source.
    Compute(u8),
    /// Exchanges both.
    Exchange,
    /// Compares the accumulator with the target, which is taken not to be equal, and puts the target into it.
    CompareExchange,
    /// Puts what was compared last into the target.
    Condition(u8),
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register.
    Register(u8),
    /// A number.
    Number(u64),
    /// A place in memory.
    Memory {
        /// The register that holds the address, `None` for the instruction's own.
        base: Option<u8>,
        /// A register that is multiplied by a power of two, and which power.
        index: Option<(u8, u8)>,
        /// What is added.
        distance: i32,
    },
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// Its length.
    pub bytes: usize,
    /// What it does.
    pub effect: Effect,
    /// To what.
    pub target: Operand,
    /// By what.
    pub source: Operand,
    /// Of a jump, the distance from its end.
    pub jump: Option<isize>,
    /// Of a jump, whether it may not be made.
    pub conditional: bool,
}

impl Instruction {
    /// Returns whether it counts: adds a number to something, or takes it away.
    pub fn counts(&self) -> bool {
        let by_number = matches!(self.source, Operand::Number(_));
        by_number && matches!(self.effect, Effect::Compute(ADD | SUBTRACT))
    }
}

/// Two of the eight operations.
const ADD: u8 = 0;
const SUBTRACT: u8 = 5;

const NOTHING: Operand = Operand::Number(0);
const ACCUMULATOR: Operand = Operand::Register(0);

/// The code and how far it was read.
struct Reader<'c> {
    code: &'c [u8],
    at: usize,
    rex: u8,
    /// The bytes of a number behind the operands.
    number_bytes: usize,
}

/// Decodes one instruction; `None` where it is not one of those.
pub fn decode(code: &[u8]) -> Option<Instruction> {
    let mut reader = Reader {
        code,
        at: 0,
        rex: 0,
        number_bytes: 4,
    };
    let mut opcode = reader.byte()?;
    let repeated = opcode == 0xf3;
    while let 0x66 | 0xf0 | 0xf3 | 0x2e | 0x3e = opcode {
        if opcode == 0x66 {
            reader.number_bytes = 2;
        }
        opcode = reader.byte()?;
    }
    if opcode & 0xf0 == 0x40 {
        reader.rex = opcode;
        opcode = reader.byte()?;
    }
    match opcode {
        0x0f => reader.two_bytes(),
        0x90 if repeated => Some(reader.done(Effect::Pause, NOTHING, NOTHING)),
        0x90 => Some(reader.done(Effect::None, NOTHING, NOTHING)),
        0x70..=0x7f => reader.jump(1, true),
        0xeb => reader.jump(1, false),
        0xe9 => reader.jump(4, false),
        // The eight operations between two operands: the sixth bit groups them, 7 is a comparison.
        _ if opcode < 0x40 && opcode & 7 < 4 => reader.between(opcode),
        0x3c | 0xa8 => reader.accumulator(1),
        0x3d | 0xa9 => reader.accumulator(reader.number_bytes),
        0x80 | 0x83 => reader.with_number(1),
        0x81 => reader.with_number(reader.number_bytes),
        0x84 | 0x85 => reader.operands(Effect::Compare, false),
        0x86 | 0x87 => reader.operands(Effect::Exchange, false),
        0x88 | 0x89 => reader.operands(Effect::Move, false),
        0x8a | 0x8b | 0x63 => reader.operands(Effect::Move, true),
        0x8d => reader.operands(Effect::Address, true),
        0xb8..=0xbf if reader.rex & 8 == 0 => {
            let number = reader.number(reader.number_bytes)?;
            let register = opcode & 7 | (reader.rex & 1) << 3;
            Some(reader.done(Effect::Move, Operand::Register(register), number))
        }
        0xc6 | 0xc7 => {
            let bytes = if opcode == 0xc6 {
                1
            } else {
                reader.number_bytes
            };
            let (extension, target) = reader.operand()?;
            let number = reader.number(bytes)?;
            matches!(extension, 0 | 8).then(|| reader.done(Effect::Move, target, number))
        }
        0xf6 | 0xf7 => {
            let bytes = if opcode == 0xf6 {
                1
            } else {
                reader.number_bytes
            };
            let (extension, target) = reader.operand()?;
            let number = reader.number(bytes)?;
            (extension & 7 < 2).then(|| reader.done(Effect::Compare, target, number))
        }
        0xfe | 0xff => {
            let (extension, target) = reader.operand()?;
            // One more, or one less.
            let operation = [ADD, SUBTRACT].get(usize::from(extension & 7)).copied()?;
            Some(reader.done(Effect::Compute(operation), target, Operand::Number(1)))
        }
        _ => None,
    }
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.code.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Takes a number that may be negative.
    fn signed(&mut self, bytes: usize) -> Option<i32> {
        let taken = self.code.get(self.at..self.at + bytes)?;
        self.at += bytes;
        let mut number = [0; 4];
        number[..bytes].copy_from_slice(taken);
        let shift = 32 - 8 * bytes as u32;
        Some(i32::from_le_bytes(number) << shift >> shift)
    }

    fn number(&mut self, bytes: usize) -> Option<Operand> {
        let number = self.signed(bytes)?;
        Some(Operand::Number(i64::from(number).cast_unsigned()))
    }

    fn done(&self, effect: Effect, target: Operand, source: Operand) -> Instruction {
        Instruction {
            bytes: self.at,
            effect,
            target,
            source,
            jump: None,
            conditional: false,
        }
    }

    fn jump(&mut self, bytes: usize, conditional: bool) -> Option<Instruction> {
        let distance = self.signed(bytes)?;
        Some(Instruction {
            jump: Some(distance as isize),
            conditional,
            ..self.done(Effect::None, NOTHING, NOTHING)
        })
    }

    /// A register and a register or memory; which is the target depends on the opcode.
    fn operands(&mut self, effect: Effect, to_register: bool) -> Option<Instruction> {
        let (register, other) = self.operand()?;
        let register = Operand::Register(register);
        Some(if to_register {
            self.done(effect, register, other)
        } else {
            self.done(effect, other, register)
        })
    }

    fn between(&mut self, opcode: u8) -> Option<Instruction> {
        let effect = computing(opcode >> 3);
        let mut instruction = self.operands(effect, opcode & 2 != 0)?;
        // What is taken from itself, or differs from itself, is zero.
        let is_zero = matches!(opcode >> 3, 5 | 6) && instruction.target == instruction.source;
        if is_zero && let Operand::Register(_) = instruction.target {
            instruction.effect = Effect::Move;
            instruction.source = NOTHING;
        }
        Some(instruction)
    }

    fn with_number(&mut self, bytes: usize) -> Option<Instruction> {
        let (extension, target) = self.operand()?;
        let number = self.number(bytes)?;
        Some(self.done(computing(extension & 7), target, number))
    }

    fn accumulator(&mut self, bytes: usize) -> Option<Instruction> {
        let number = self.number(bytes)?;
        Some(self.done(Effect::Compare, ACCUMULATOR, number))
    }

    fn two_bytes(&mut self) -> Option<Instruction> {
        let opcode = self.byte()?;
        match opcode {
            0x80..=0x8f => self.jump(4, true),
            0x90..=0x9f => {
                let (_, target) = self.operand()?;
                Some(self.done(Effect::Condition(opcode), target, NOTHING))
            }
            0xb0 | 0xb1 => self.operands(Effect::CompareExchange, false),
            0xb6 | 0xb7 | 0xbe | 0xbf => self.operands(Effect::Move, true),
            // Nops of several bytes.
            0x1e | 0x1f => {
                self.operand()?;
                Some(self.done(Effect::None, NOTHING, NOTHING))
            }
            _ => None,
        }
    }

    /// Takes the byte of operands and what belongs to it: a register, and a register or a place in memory.
    fn operand(&mut self) -> Option<(u8, Operand)> {
        let byte = self.byte()?;
        let extended = |number: u8, bit: u8| number & 7 | if self.rex & bit == 0 { 0 } else { 8 };
        let (mode, register, low) = (byte >> 6, extended(byte >> 3, 4), byte & 7);
        if mode == 3 {
            return Some((register, Operand::Register(extended(low, 1))));
        }
        let mut base = Some(extended(low, 1));
        let mut index = None;
        let mut distance_bytes = [0, 1, 4][usize::from(mode)];
        if low == 4 {
            let scaled = *self.code.get(self.at)?;
            let number = extended(scaled >> 3, 2);
            index = (number != 4).then_some((number, scaled >> 6));
            base = Some(extended(scaled, 1));
            if scaled & 7 == 5 && mode == 0 {
                // An address without a base: the stack's pointer stands for it, which no loop changes.
                base = Some(4);
                distance_bytes = 4;
            }
            self.at += 1;
        } else if low == 5 && mode == 0 {
            base = None;
            distance_bytes = 4;
        }
        let distance = if distance_bytes == 0 {
            0
        } else {
            self.signed(distance_bytes)?
        };
        let memory = Operand::Memory {
            base,
            index,
            distance,
        };
        Some((register, memory))
    }
}

/// Returns the effect of one of the eight operations.
fn computing(operation: u8) -> Effect {
    match operation {
        7 => Effect::Compare,
        operation => Effect::Compute(operation),
    }
}
