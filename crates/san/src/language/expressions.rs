//! From tokens to the syntax tree: expressions, by precedence.

use super::{
    grammar::Reader,
    syntax::{AutomatonRef, Formula, Indices, Range, Term},
    tokens::Kind,
};
use crate::error::{Place, Problem};

/// Binary operators, those that bind least first.
const LEVELS: [&[&str]; 5] = [
    &["||"],
    &["&&"],
    &["==", "!=", "<", ">", "<=", ">="],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Nesting as deep as anybody writes, and far from the end of the stack.
const DEEPEST: usize = 100;

impl Reader<'_> {
    /// Reads an expression.
    pub fn formula(&mut self) -> Result<Formula, Problem> {
        self.level(0, 0)
    }

    fn level(&mut self, level: usize, depth: usize) -> Result<Formula, Problem> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary(depth);
        };
        let first = self.level(level + 1, depth)?;
        let mut rest = Vec::new();
        while let Some(operator) = self.one_of(operators) {
            rest.push((operator, self.level(level + 1, depth)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(Formula {
            at: first.at,
            term: Term::Chain(Box::new(first), rest),
        })
    }

    fn one_of(&mut self, operators: &[&'static str]) -> Option<&'static str> {
        operators.iter().copied().find(|mark| self.mark_if(mark))
    }

    fn unary(&mut self, depth: usize) -> Result<Formula, Problem> {
        let at = self.place();
        if depth > DEEPEST {
            return Err(Problem::new(
                at,
                format!(
                    "expressions nest no deeper than {DEEPEST}; name parts of this one with `let`"
                ),
            ));
        }
        let term = if self.mark_if("!") {
            Term::Not(Box::new(self.unary(depth + 1)?))
        } else if self.mark_if("-") {
            Term::Minus(Box::new(self.unary(depth + 1)?))
        } else {
            let base = self.primary(depth)?;
            if self.mark_if("^") {
                let exponent = self.unary(depth + 1)?;
                Term::Chain(Box::new(base), vec![("^", exponent)])
            } else {
                return Ok(base);
            }
        };
        Ok(Formula { at, term })
    }

    fn primary(&mut self, depth: usize) -> Result<Formula, Problem> {
        let at = self.place();
        if self.mark_if("(") {
            let inner = self.level(0, depth + 1)?;
            self.mark(")", "after the expression")?;
            return Ok(inner);
        }
        if self.word_if("st") {
            let brackets = self.mark_if("(");
            let of = self.automaton_ref()?;
            if brackets {
                self.mark(")", "after the automaton")?;
            }
            return Ok(Formula {
                at,
                term: Term::State(of),
            });
        }
        let term = match self.peek().kind {
            Kind::Number(number) => {
                self.take();
                Term::Number(number)
            }
            Kind::Word("nb") => {
                self.take();
                self.count(depth)?
            }
            Kind::Word("if") => {
                self.take();
                self.mark("(", "and condition, value and other value")?;
                self.call("if", depth)?
            }
            Kind::Word(_) => {
                let name = self.name(
                    "a number, a name, `st AUTOMATON`, `nb [AUTOMATA] STATE` or a function",
                )?;
                if self.mark_if("(") {
                    self.call(&name.text, depth)?
                } else {
                    Term::Name(name.text)
                }
            }
            _ => {
                return Err(self.expected(
                    "an expression: a number, a name, `st AUTOMATON`, `nb [AUTOMATA] STATE`, a function or `(`",
                ));
            }
        };
        Ok(Formula { at, term })
    }

    /// Reads `[A, B[1..N]] STATE`, also written `[B[1]..B[N]] STATE`.
    fn count(&mut self, depth: usize) -> Result<Term, Problem> {
        self.mark("[", "and the automata to count")?;
        let mut of = Vec::new();
        loop {
            let first = self.automaton_ref()?;
            of.push(if self.mark_if("..") {
                let at = self.place();
                let last = self.automaton_ref()?;
                joined(first, last, at)?
            } else {
                first
            });
            if !self.mark_if(",") {
                break;
            }
        }
        self.mark("]", "after the automata")?;
        let state = Box::new(self.primary(depth + 1)?);
        Ok(Term::Count { of, state })
    }

    /// Reads the arguments of a function and the closing bracket.
    fn call(&mut self, name: &str, depth: usize) -> Result<Term, Problem> {
        if name == "sum" || name == "prod" {
            let variable = self.name("a variable, as in `sum(i in 1..N: ...)`")?;
            if !self.word_if("in") {
                return Err(self.expected("`in` and a range"));
            }
            let range = Box::new(self.range()?);
            self.mark(":", "and what is summed or multiplied")?;
            let body = Box::new(self.level(0, depth + 1)?);
            self.mark(")", "after the expression")?;
            return Ok(Term::Fold {
                product: name == "prod",
                variable,
                range,
                body,
            });
        }
        let mut arguments = vec![self.level(0, depth + 1)?];
        while self.mark_if(",") {
            arguments.push(self.level(0, depth + 1)?);
        }
        self.mark(")", "after the arguments")?;
        Ok(Term::Call(name.to_owned(), arguments))
    }
}

/// Makes `B[1..N]` of `B[1]..B[N]`.
fn joined(first: AutomatonRef, last: AutomatonRef, at: Place) -> Result<AutomatonRef, Problem> {
    match (first.index, last.index) {
        (Some(Indices::One(from)), Some(Indices::One(to))) if first.name.text == last.name.text => {
            Ok(AutomatonRef {
                name: first.name,
                index: Some(Indices::Range(Box::new(Range {
                    first: *from,
                    last: *to,
                }))),
            })
        }
        _ => Err(Problem::new(
            at,
            format!(
                "expected the last of a range of {0}, as in `{0}[1]..{0}[N]`",
                first.name.text
            ),
        )),
    }
}
