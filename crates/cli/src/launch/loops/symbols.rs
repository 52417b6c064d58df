//! A machine whose values are symbols: equal symbols mean equal values, whatever these are.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher as _},
};

use iced_x86::Register;

use super::decode::{Effect, Instruction, Operand};

/// Registers, and the memory that was written to.
#[derive(Debug, Default)]
pub struct Machine {
    registers: BTreeMap<Register, u64>,
    memory: BTreeMap<u64, u64>,
    compared: u64,
    /// The places in memory that it looked at or wrote to, and what it compared before it jumped or went on, in order.
    seen: Vec<u64>,
    /// Whether it looked at memory.
    pub looked: bool,
    /// Whether what is counted is taken to stay as it is.
    ignores_counts: bool,
}

/// Returns the symbol for what comes of others.
fn symbol(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

impl Machine {
    /// Makes one that goes through a loop with a pause in it: how often it does is no result of it.
    pub fn ignoring_counts() -> Self {
        Self {
            ignores_counts: true,
            ..Self::default()
        }
    }

    /// Takes what it saw since this was asked before: where that is the same, all goes the same way.
    pub fn take_seen(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.seen)
    }

    /// Runs an instruction.
    pub fn run(&mut self, instruction: &Instruction) {
        let Instruction { target, source, .. } = *instruction;
        if self.ignores_counts && instruction.counts() {
            self.compared = symbol(("count", self.get(target)));
            return;
        }
        match instruction.effect {
            Effect::None if instruction.conditional => self.seen.push(self.compared),
            Effect::None | Effect::Pause => {}
            Effect::Compare => {
                self.compared = symbol((self.get(target), self.get(source)));
            }
            Effect::Move => {
                let value = self.get(source);
                self.set(target, value);
            }
            Effect::Address => {
                let value = self.address(source);
                self.set(target, value);
            }
            Effect::Compute(operation) => {
                let value = symbol((operation as u32, self.get(target), self.get(source)));
                self.set(target, value);
                self.compared = value;
            }
            Effect::Exchange => {
                let (first, second) = (self.get(target), self.get(source));
                self.set(target, second);
                self.set(source, first);
            }
            Effect::CompareExchange => {
                let value = self.get(target);
                self.compared = value;
                self.set(Operand::Register(Register::RAX), value);
            }
            Effect::Condition(condition) => {
                self.set(target, symbol((condition as u32, self.compared)));
            }
        }
    }

    fn register(&self, register: Register) -> u64 {
        let value = self.registers.get(&register);
        value
            .copied()
            .unwrap_or_else(|| symbol(("register", register as u32)))
    }

    fn address(&self, operand: Operand) -> u64 {
        let Operand::Memory {
            base,
            index,
            distance,
        } = operand
        else {
            return 0;
        };
        match (base, index) {
            (None, None) => symbol(("absolute", distance)),
            // So that what an address was made of is where it is.
            (Some(base), None) if distance == 0 => self.register(base),
            (base, index) => {
                let base = base.map(|base| self.register(base));
                let index = index.map(|(register, times)| (self.register(register), times));
                symbol((base, index, distance))
            }
        }
    }

    fn get(&mut self, operand: Operand) -> u64 {
        match operand {
            Operand::Register(register) => self.register(register),
            Operand::Number(number) => symbol(("number", number)),
            Operand::Memory { .. } => {
                self.looked = true;
                let address = self.address(operand);
                self.seen.push(address);
                let value = self.memory.get(&address);
                value
                    .copied()
                    .unwrap_or_else(|| symbol(("memory", address)))
            }
        }
    }

    fn set(&mut self, operand: Operand, value: u64) {
        match operand {
            Operand::Register(register) => {
                self.registers.insert(register, value);
            }
            Operand::Memory { .. } => {
                let address = self.address(operand);
                self.seen.push(address);
                self.memory.insert(address, value);
            }
            Operand::Number(_) => {}
        }
    }
}
