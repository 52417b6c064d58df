//! Expressions over the global state, with every name resolved.

use std::{fmt::Write as _, sync::Arc};

/// An expression over the states of automata.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number.
    Number(f64),
    /// The number that names the state an automaton is in; the automaton, and the number of each of its states.
    State(u32, Arc<[f64]>),
    /// 1 where an automaton is in a state, else 0.
    Is(u32, u16),
    /// How many of the automata are in the state beside them.
    Count(Arc<[(u32, u16)]>),
    /// 1 where it is 0, else 0.
    Not(Box<Expr>),
    /// Binary operations one after the other, from the left. However many there are, they are one level of nesting: models are
    /// generated with sums of thousands of terms.
    Chain(Box<Expr>, Vec<(Operator, Expr)>),
    /// A function of its arguments.
    Call(Function, Vec<Expr>),
}

/// A binary operator. Comparisons and logic give 1 or 0; whatever is not 0 counts as true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
    /// Quotient.
    Divide,
    /// What is left over by a division, never negative for a positive divisor.
    Remainder,
    /// Power.
    Power,
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Less.
    Less,
    /// Greater.
    Greater,
    /// Less or equal.
    AtMost,
    /// Greater or equal.
    AtLeast,
    /// Both.
    And,
    /// One at least.
    Or,
}

/// A function by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The least argument.
    Min,
    /// The greatest argument.
    Max,
    /// The next integer from there upwards.
    Ceil,
    /// The next integer from there downwards.
    Floor,
    /// The nearest integer.
    Round,
    /// The value without its sign.
    Abs,
    /// The exponential function.
    Exp,
    /// The natural logarithm.
    Log,
    /// The square root.
    Sqrt,
    /// `if(CONDITION, THEN, ELSE)`.
    If,
}

impl Operator {
    /// The operators as they are written.
    const ALL: [(&'static str, Self); 14] = [
        ("+", Self::Add),
        ("-", Self::Subtract),
        ("*", Self::Multiply),
        ("/", Self::Divide),
        ("%", Self::Remainder),
        ("^", Self::Power),
        ("==", Self::Equal),
        ("!=", Self::NotEqual),
        ("<", Self::Less),
        (">", Self::Greater),
        ("<=", Self::AtMost),
        (">=", Self::AtLeast),
        ("&&", Self::And),
        ("||", Self::Or),
    ];

    /// Finds an operator as it is written.
    pub fn written(text: &str) -> Option<Self> {
        let found = Self::ALL.into_iter().find(|(written, _)| *written == text);
        found.map(|(_, operator)| operator)
    }

    fn apply(self, a: f64, b: f64) -> f64 {
        let truth = |is: bool| f64::from(u8::from(is));
        #[expect(
            clippy::float_cmp,
            reason = "what models compare are mostly small integers"
        )]
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            Self::Remainder => a.rem_euclid(b),
            Self::Power => a.powf(b),
            Self::Equal => truth(a == b),
            Self::NotEqual => truth(a != b),
            Self::Less => truth(a < b),
            Self::Greater => truth(a > b),
            Self::AtMost => truth(a <= b),
            Self::AtLeast => truth(a >= b),
            Self::And => truth(a != 0.0 && b != 0.0),
            Self::Or => truth(a != 0.0 || b != 0.0),
        }
    }

    /// Returns whether the order of the operands, and of a chain of operations, does not matter.
    fn commutes(self) -> bool {
        matches!(self, Self::Add | Self::Multiply | Self::And | Self::Or)
    }
}

impl Function {
    /// The functions by name, with the least and the greatest number of their arguments.
    pub const ALL: [(&'static str, Self, usize, usize); 10] = [
        ("min", Self::Min, 1, usize::MAX),
        ("max", Self::Max, 1, usize::MAX),
        ("ceil", Self::Ceil, 1, 1),
        ("floor", Self::Floor, 1, 1),
        ("round", Self::Round, 1, 1),
        ("abs", Self::Abs, 1, 1),
        ("exp", Self::Exp, 1, 1),
        ("log", Self::Log, 1, 1),
        ("sqrt", Self::Sqrt, 1, 1),
        ("if", Self::If, 3, 3),
    ];

    fn apply(self, arguments: &[Expr], state: &[u16]) -> f64 {
        let value = |index: usize| arguments[index].value(state);
        let fold = |pick: fn(f64, f64) -> f64| {
            let values = arguments.iter().map(|argument| argument.value(state));
            values.reduce(pick).unwrap_or(f64::NAN)
        };
        match self {
            Self::Min => fold(f64::min),
            Self::Max => fold(f64::max),
            Self::Ceil => value(0).ceil(),
            Self::Floor => value(0).floor(),
            Self::Round => value(0).round(),
            Self::Abs => value(0).abs(),
            Self::Exp => value(0).exp(),
            Self::Log => value(0).ln(),
            Self::Sqrt => value(0).sqrt(),
            Self::If if value(0) != 0.0 => value(1),
            Self::If => value(2),
        }
    }
}

impl Expr {
    /// Makes a binary operation.
    #[must_use]
    pub fn binary(operator: Operator, a: Self, b: Self) -> Self {
        match a {
            Self::Chain(first, mut rest) => {
                rest.push((operator, b));
                Self::Chain(first, rest)
            }
            first => Self::Chain(Box::new(first), vec![(operator, b)]),
        }
    }

    /// Returns how many levels of it are within each other.
    pub fn depth(&self) -> usize {
        let inner = match self {
            Self::Number(_) | Self::State(..) | Self::Is(..) | Self::Count(_) => 0,
            Self::Not(inner) => inner.depth(),
            Self::Chain(first, rest) => {
                let rest = rest.iter().map(|(_, term)| term.depth());
                rest.fold(first.depth(), usize::max)
            }
            Self::Call(_, arguments) => arguments.iter().map(Self::depth).max().unwrap_or(0),
        };
        inner + 1
    }

    /// Returns the value in a global state: the local state of every automaton.
    pub fn value(&self, state: &[u16]) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::State(automaton, values) => values[usize::from(state[*automaton as usize])],
            Self::Is(automaton, local) => f64::from(u8::from(state[*automaton as usize] == *local)),
            Self::Count(of) => {
                let inside = of.iter().filter(|(a, local)| state[*a as usize] == *local);
                inside.count() as f64
            }
            Self::Not(inner) => f64::from(u8::from(inner.value(state) == 0.0)),
            Self::Chain(first, rest) => {
                let mut value = first.value(state);
                for (operator, term) in rest {
                    value = operator.apply(value, term.value(state));
                }
                value
            }
            Self::Call(function, arguments) => function.apply(arguments, state),
        }
    }

    /// Returns the value of an expression that is the same in all states.
    pub fn constant(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the expression with everything computed that is the same in all states.
    #[must_use]
    pub fn folded(self) -> Self {
        let all_numbers = match &self {
            Self::Not(a) => a.constant().is_some(),
            Self::Chain(first, rest) => {
                first.constant().is_some() && rest.iter().all(|(_, b)| b.constant().is_some())
            }
            Self::Call(_, arguments) => arguments.iter().all(|a| a.constant().is_some()),
            Self::Count(of) => of.is_empty(),
            _ => false,
        };
        if all_numbers {
            Self::Number(self.value(&[]))
        } else {
            self
        }
    }

    /// Adds the automata that the value depends on.
    pub fn automata(&self, into: &mut Vec<u32>) {
        match self {
            Self::Number(_) => {}
            Self::State(automaton, _) | Self::Is(automaton, _) => into.push(*automaton),
            Self::Count(of) => into.extend(of.iter().map(|(automaton, _)| *automaton)),
            Self::Not(inner) => inner.automata(into),
            Self::Chain(first, rest) => {
                first.automata(into);
                for (_, term) in rest {
                    term.automata(into);
                }
            }
            Self::Call(_, arguments) => {
                for argument in arguments {
                    argument.automata(into);
                }
            }
        }
    }

    /// Returns a text that is the same for expressions which differ only in the order of terms that may be exchanged,
    /// with automata renamed by `rename`.
    pub fn canonical(&self, rename: &dyn Fn(u32) -> u32) -> String {
        match self {
            Self::Number(number) => format!("{:x}", number.to_bits()),
            Self::State(automaton, _) => format!("st{}", rename(*automaton)),
            Self::Is(automaton, local) => format!("is{}:{local}", rename(*automaton)),
            Self::Count(of) => {
                let mut of: Vec<(u32, u16)> = of.iter().map(|(a, s)| (rename(*a), *s)).collect();
                of.sort_unstable();
                let mut text = "nb".to_owned();
                for (automaton, local) in of {
                    // Writing to a string cannot fail.
                    let _ = write!(text, " {automaton}:{local}");
                }
                text
            }
            Self::Not(inner) => format!("!({})", inner.canonical(rename)),
            Self::Chain(first, rest) => chain_text(first, rest, rename),
            Self::Call(function, arguments) => {
                let mut terms: Vec<String> =
                    arguments.iter().map(|a| a.canonical(rename)).collect();
                if matches!(function, Function::Min | Function::Max) {
                    terms.sort_unstable();
                }
                format!("{function:?}({})", terms.join(";"))
            }
        }
    }

    /// Collects the terms of a chain of one operator.
    fn terms(&self, chain: Operator, rename: &dyn Fn(u32) -> u32, into: &mut Vec<String>) {
        match self {
            Self::Chain(first, rest) if rest.last().is_some_and(|(last, _)| *last == chain) => {
                let before = rest.iter().rposition(|(operator, _)| *operator != chain);
                let (left, same) = rest.split_at(before.map_or(0, |last| last + 1));
                if left.is_empty() {
                    first.terms(chain, rename, into);
                } else {
                    into.push(chain_text(first, left, rename));
                }
                for (_, term) in same {
                    term.terms(chain, rename, into);
                }
            }
            _ => into.push(self.canonical(rename)),
        }
    }
}

/// Returns the text of a chain: the terms of each operator that may be exchanged are sorted.
fn chain_text(first: &Expr, rest: &[(Operator, Expr)], rename: &dyn Fn(u32) -> u32) -> String {
    let mut left = None;
    for run in rest.chunk_by(|(a, _), (b, _)| a == b) {
        let operator = run[0].0;
        let mut terms = Vec::new();
        match left.take() {
            Some(text) => terms.push(text),
            None if operator.commutes() => first.terms(operator, rename, &mut terms),
            None => terms.push(first.canonical(rename)),
        }
        if operator.commutes() {
            for (_, term) in run {
                term.terms(operator, rename, &mut terms);
            }
            terms.sort_unstable();
            left = Some(format!("{operator:?}({})", terms.join(",")));
        } else {
            terms.extend(run.iter().map(|(_, term)| term.canonical(rename)));
            left = Some(format!("{operator:?}({})", terms.join(";")));
        }
    }
    left.unwrap_or_else(|| first.canonical(rename))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(a: Expr, b: Expr) -> Expr {
        Expr::binary(Operator::Add, a, b)
    }

    #[test]
    fn sums_in_any_order_have_one_canonical_text() {
        let keep = |automaton| automaton;
        let swap = |automaton: u32| 1 - automaton;
        let (a, b) = (Expr::Is(0, 2), Expr::Is(1, 2));
        let one = sum(a.clone(), sum(b.clone(), Expr::Number(1.0)));
        let other = sum(sum(Expr::Number(1.0), b), a);
        assert_eq!(one.canonical(&keep), other.canonical(&keep));
        assert_eq!(one.canonical(&keep), other.canonical(&swap));
        assert_ne!(
            Expr::Is(0, 2).canonical(&keep),
            Expr::Is(0, 2).canonical(&swap)
        );
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "whole numbers")]
    fn logic_and_counts_give_numbers() {
        let state = [2, 0, 2];
        let count = Expr::Count(vec![(0, 2), (1, 2), (2, 2)].into());
        assert_eq!(count.value(&state), 2.0);
        let none = Expr::binary(Operator::Equal, count, Expr::Number(0.0));
        assert_eq!(none.value(&state), 0.0);
        assert_eq!(Expr::Not(Box::new(none)).value(&state), 1.0);
    }
}
