//! What the instructions do that waiting loops are made of.

use iced_x86::{
    ConditionCode, Decoder, DecoderOptions, Instruction as Decoded, Mnemonic, OpKind, Register,
};

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
    /// Computes the target from target and source, in this way.
    Compute(Mnemonic),
    /// Exchanges both.
    Exchange,
    /// Compares the accumulator with the target, which is taken not to be equal, and puts the target into it.
    CompareExchange,
    /// Puts what was compared last into the target, in this way.
    Condition(Mnemonic),
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register.
    Register(Register),
    /// A number.
    Number(u64),
    /// A place in memory.
    Memory {
        /// The register that holds the address, if one does.
        base: Option<Register>,
        /// A register that is multiplied by a number, and that number.
        index: Option<(Register, u32)>,
        /// What is added.
        distance: u64,
    },
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// Where the next one begins.
    pub end: usize,
    /// What it does.
    pub effect: Effect,
    /// To what.
    pub target: Operand,
    /// By what.
    pub source: Operand,
    /// Of a jump, where to: a number of bytes from the code's beginning on, which may wrap.
    pub jump: Option<u64>,
    /// Of a jump, whether it may not be made.
    pub conditional: bool,
}

impl Instruction {
    /// Returns whether it counts: adds a number to something, or takes it away.
    pub fn counts(&self) -> bool {
        let by_number = matches!(self.source, Operand::Number(_));
        by_number && matches!(self.effect, Effect::Compute(Mnemonic::Add | Mnemonic::Sub))
    }
}

const NOTHING: Operand = Operand::Number(0);

/// Decodes the instruction at a place in the code; `None` where it is not one of those.
pub fn decode(code: &[u8], at: usize) -> Option<Instruction> {
    let rest = code.get(at..)?;
    let decoded = Decoder::with_ip(64, rest, at as u64, DecoderOptions::NONE).decode();
    // What belongs to a thread alone, nobody else changes: such a loop, as in `free`, tries what it does until nobody else did the same meanwhile.
    if matches!(decoded.segment_prefix(), Register::FS | Register::GS) {
        return None;
    }
    let effect = effect_of(&decoded)?;
    let is_jump = decoded.is_jcc_short_or_near() || decoded.is_jmp_short_or_near();
    let mut instruction = Instruction {
        end: decoded.next_ip() as usize,
        effect,
        target: NOTHING,
        source: NOTHING,
        jump: is_jump.then(|| decoded.near_branch_target()),
        conditional: decoded.is_jcc_short_or_near(),
    };
    if matches!(effect, Effect::None | Effect::Pause) {
        return Some(instruction);
    }
    instruction.target = operand(&decoded, 0)?;
    instruction.source = match decoded.op_count() {
        // One more, or one less.
        1 => Operand::Number(1),
        _ => operand(&decoded, 1)?,
    };
    // What is taken from itself, or differs from itself, is zero.
    let is_zero = matches!(effect, Effect::Compute(Mnemonic::Sub | Mnemonic::Xor))
        && instruction.target == instruction.source;
    if is_zero && let Operand::Register(_) = instruction.target {
        instruction.effect = Effect::Move;
        instruction.source = NOTHING;
    }
    Some(instruction)
}

fn effect_of(decoded: &Decoded) -> Option<Effect> {
    let is_jump = decoded.is_jcc_short_or_near() || decoded.is_jmp_short_or_near();
    Some(match decoded.mnemonic() {
        Mnemonic::Pause => Effect::Pause,
        Mnemonic::Nop | Mnemonic::Endbr64 => Effect::None,
        Mnemonic::Cmp | Mnemonic::Test => Effect::Compare,
        Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd => Effect::Move,
        Mnemonic::Lea => Effect::Address,
        Mnemonic::Xchg => Effect::Exchange,
        Mnemonic::Cmpxchg => Effect::CompareExchange,
        Mnemonic::Inc => Effect::Compute(Mnemonic::Add),
        Mnemonic::Dec => Effect::Compute(Mnemonic::Sub),
        operation @ (Mnemonic::Add
        | Mnemonic::Or
        | Mnemonic::Adc
        | Mnemonic::Sbb
        | Mnemonic::And
        | Mnemonic::Sub
        | Mnemonic::Xor) => Effect::Compute(operation),
        _ if is_jump => Effect::None,
        condition if is_told(decoded) => Effect::Condition(condition),
        _ => return None,
    })
}

/// Returns whether an instruction puts into something whether a condition holds.
fn is_told(decoded: &Decoded) -> bool {
    decoded.condition_code() != ConditionCode::None && decoded.op_count() == 1
}

fn operand(decoded: &Decoded, number: u32) -> Option<Operand> {
    Some(match decoded.op_kind(number) {
        OpKind::Register => Operand::Register(whole(decoded.op_register(number))?),
        OpKind::Memory => {
            let index = whole(decoded.memory_index());
            Operand::Memory {
                // What lies at a distance from the instruction is told by that from the code's beginning.
                base: whole(decoded.memory_base()),
                index: index.map(|index| (index, decoded.memory_index_scale())),
                distance: decoded.memory_displacement64(),
            }
        }
        OpKind::NearBranch64 => return None,
        _ => Operand::Number(decoded.immediate(number)),
    })
}

/// Returns the general register that one is, or is a part of.
fn whole(register: Register) -> Option<Register> {
    Some(register.full_register()).filter(|whole| whole.is_gpr64())
}
