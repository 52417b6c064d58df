//! What names stand for, and from formulas to expressions.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use super::syntax::{AutomatonRef, Formula, Indices, Range, Term};
use crate::{
    error::{Place, Problem},
    expr::{Expr, Function, Operator},
    model::Automaton,
};

/// As many terms as a `sum` or `prod` may have.
const MOST_TERMS: i64 = 100_000;

/// Levels of expressions within each other, with what the `let`s in them stand for: far from the end of the stack.
const DEEPEST: usize = 200;

fn too_deep(at: Place) -> Problem {
    Problem::new(
        at,
        format!(
            "expressions nest no deeper than {DEEPEST}, with what the `let`s stand for that they name; sums and products in a row              are one level"
        ),
    )
}

/// What names stand for.
#[derive(Default)]
pub(super) struct Names<'a> {
    pub parameters: BTreeMap<&'a str, f64>,
    pub lets: BTreeMap<&'a str, &'a Formula>,
    /// Automata by declared name.
    pub automata: BTreeMap<&'a str, Declared>,
    /// All automata, and the numbers that name their states where numbers do.
    pub all: Vec<Automaton>,
    pub values: Vec<Option<std::sync::Arc<[f64]>>>,
    /// What `let` names were found to stand for; `None` while one is looked into.
    known: RefCell<BTreeMap<String, Option<Expr>>>,
    /// How many formulas are being looked into within each other.
    depth: Cell<usize>,
}

/// Several of a kind, numbered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Declared {
    /// The position of the first.
    pub position: u32,
    /// The number of the first; `None` where there is but one, without a number.
    pub first: Option<i64>,
    pub count: u32,
}

/// Variables and their values; later ones hide earlier ones of the same name.
pub(super) type Variables<'v> = [(&'v str, f64)];

impl Declared {
    /// Returns the positions that a name with numbers stands for: all without any.
    pub fn resolve(
        self,
        kind: &str,
        name: &str,
        at: Place,
        numbers: Option<(i64, i64)>,
    ) -> Result<std::ops::Range<u32>, Problem> {
        let end = self.position + self.count;
        let Some((from, to)) = numbers else {
            return Ok(self.position..end);
        };
        let Some(first) = self.first else {
            return Err(Problem::new(
                at,
                format!("the {kind} {name} is a single one; leave `[...]` out"),
            ));
        };
        let last = first + i64::from(self.count) - 1;
        if from < first || to > last {
            return Err(Problem::new(
                at,
                format!(
                    "there is no {name}[{}]; the {kind} {name} has the numbers {first} to {last}",
                    if from < first { from } else { to }
                ),
            ));
        }
        let position = |number: i64| self.position + first.abs_diff(number) as u32;
        Ok(position(from)..position(to.max(from - 1) + 1).max(position(from)))
    }
}

impl Names<'_> {
    /// Returns what a formula stands for.
    pub fn expr(&self, formula: &Formula, variables: &Variables<'_>) -> Result<Expr, Problem> {
        let depth = self.depth.get();
        if depth > DEEPEST {
            return Err(too_deep(formula.at));
        }
        self.depth.set(depth + 1);
        let expr = self.expr_within(formula, variables);
        self.depth.set(depth);
        expr
    }

    fn expr_within(&self, formula: &Formula, variables: &Variables<'_>) -> Result<Expr, Problem> {
        let boxed = |inner: &Formula| self.expr(inner, variables).map(Box::new);
        let expr = match &formula.term {
            Term::Number(number) => Expr::Number(*number),
            Term::Name(name) => self.named(name, formula.at, variables)?,
            Term::State(of) => self.state(of, variables)?,
            Term::Count { of, state } => self.count(of, state, variables)?,
            Term::Not(inner) => Expr::Not(boxed(inner)?),
            Term::Minus(inner) => Expr::binary(
                Operator::Subtract,
                Expr::Number(0.0),
                self.expr(inner, variables)?,
            ),
            Term::Chain(first, rest) => self.chain(first, rest, variables)?,
            Term::Call(name, arguments) => self.call(name, formula.at, arguments, variables)?,
            Term::Fold {
                product,
                variable,
                range,
                body,
            } => self.fold(*product, &variable.text, range, body, variables)?,
        };
        Ok(expr.folded())
    }

    /// Returns what operations one after the other stand for.
    fn chain(
        &self,
        first: &Formula,
        rest: &[(&'static str, Formula)],
        variables: &Variables<'_>,
    ) -> Result<Expr, Problem> {
        let comparison = match rest.first() {
            Some((written, b)) => self.state_comparison(written, first, b, variables)?,
            None => None,
        };
        let (mut whole, rest) = match comparison {
            Some(comparison) => (comparison, &rest[1..]),
            None => (self.expr(first, variables)?, rest),
        };
        for (written, formula) in rest {
            let operator = Operator::written(written).ok_or_else(|| {
                Problem::new(formula.at, format!("there is no operator `{written}`"))
            })?;
            let term = self.expr(formula, variables)?;
            whole = Expr::binary(operator, whole, term).folded();
        }
        Ok(whole)
    }

    /// Returns a number that is the same in all states.
    pub fn number(&self, formula: &Formula, variables: &Variables<'_>) -> Result<f64, Problem> {
        let number = self.expr(formula, variables)?.constant().ok_or_else(|| {
            Problem::new(
                formula.at,
                "expected a number, found something that depends on the state",
            )
        })?;
        Ok(number)
    }

    /// Returns an integer.
    pub fn integer(&self, formula: &Formula, variables: &Variables<'_>) -> Result<i64, Problem> {
        let number = self.number(formula, variables)?;
        let rounded = number.round();
        if (number - rounded).abs() > 1e-9 || rounded.abs() > 1e15 || number.is_nan() {
            return Err(Problem::new(
                formula.at,
                format!("expected an integer, found {number}"),
            ));
        }
        Ok(rounded as i64)
    }

    /// Returns the ends of a range, which may be empty.
    pub fn range(&self, range: &Range, variables: &Variables<'_>) -> Result<(i64, i64), Problem> {
        Ok((
            self.integer(&range.first, variables)?,
            self.integer(&range.last, variables)?,
        ))
    }

    /// Returns the numbers in brackets, where there are any.
    pub fn numbers(
        &self,
        indices: Option<&Indices>,
        variables: &Variables<'_>,
    ) -> Result<Option<(i64, i64)>, Problem> {
        match indices {
            None => Ok(None),
            Some(Indices::One(number)) => {
                let number = self.integer(number, variables)?;
                Ok(Some((number, number)))
            }
            Some(Indices::Range(range)) => self.range(range, variables).map(Some),
        }
    }

    fn named(&self, name: &str, at: Place, variables: &Variables<'_>) -> Result<Expr, Problem> {
        if let Some((_, value)) = variables.iter().rev().find(|(known, _)| *known == name) {
            return Ok(Expr::Number(*value));
        }
        if let Some(value) = self.parameters.get(name) {
            return Ok(Expr::Number(*value));
        }
        let Some(formula) = self.lets.get(name) else {
            return Err(self.unknown(name, at));
        };
        match self.known.borrow().get(name) {
            Some(Some(known)) => return Ok(known.clone()),
            Some(None) => {
                return Err(Problem::new(
                    at,
                    format!("`{name}` is defined by way of itself"),
                ));
            }
            None => {}
        }
        self.known.borrow_mut().insert(name.to_owned(), None);
        let value = self.expr(formula, &[]).and_then(|value| {
            // It can go into others that are as deep again.
            let fits = value.depth() <= DEEPEST;
            fits.then_some(value).ok_or_else(|| too_deep(formula.at))
        });
        let known = value.as_ref().ok().cloned();
        match known {
            Some(known) => self.known.borrow_mut().insert(name.to_owned(), Some(known)),
            None => self.known.borrow_mut().remove(name),
        };
        value
    }

    fn unknown(&self, name: &str, at: Place) -> Problem {
        let known: Vec<&str> = self
            .parameters
            .keys()
            .chain(self.lets.keys())
            .copied()
            .collect();
        let hint = if self.automata.contains_key(name) {
            format!("it is an automaton; write `st {name}` for the state that it is in")
        } else if self
            .all
            .iter()
            .any(|a| a.states.iter().any(|state| state == name))
        {
            "it is a state; write `st AUTOMATON == STATE` to compare with it".to_owned()
        } else if known.is_empty() {
            "declare it with `param` or `let`".to_owned()
        } else {
            format!("known are {}", known.join(", "))
        };
        Problem::new(
            at,
            format!("there is no parameter or `let` named `{name}`; {hint}"),
        )
    }

    /// Returns the positions of the automata of a reference.
    fn automata(
        &self,
        of: &AutomatonRef,
        variables: &Variables<'_>,
    ) -> Result<std::ops::Range<u32>, Problem> {
        let name = of.name.text.as_str();
        let declared = self.automata.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.automata.keys().copied().collect();
            Problem::new(
                of.name.at,
                format!(
                    "there is no automaton {name}; there are {}",
                    known.join(", ")
                ),
            )
        })?;
        let numbers = self.numbers(of.index.as_ref(), variables)?;
        declared.resolve("automaton", name, of.name.at, numbers)
    }

    fn one_automaton(&self, of: &AutomatonRef, variables: &Variables<'_>) -> Result<u32, Problem> {
        let range = self.automata(of, variables)?;
        if range.len() == 1 {
            return Ok(range.start);
        }
        Err(Problem::new(
            of.name.at,
            format!(
                "expected one automaton, found {} of {1}; write `st {1}[NUMBER]`, or count with `nb [{1}] STATE`",
                range.len(),
                of.name.text
            ),
        ))
    }

    /// Returns the state that an automaton is in, as a number.
    fn state(&self, of: &AutomatonRef, variables: &Variables<'_>) -> Result<Expr, Problem> {
        let automaton = self.one_automaton(of, variables)?;
        match &self.values[automaton as usize] {
            Some(values) => Ok(Expr::State(automaton, values.clone())),
            None => Err(Problem::new(
                of.name.at,
                format!(
                    "the states of {} are names, which one can compare with but not compute with: `st {} == {}`",
                    of.name.text, of.name.text, self.all[automaton as usize].states[0]
                ),
            )),
        }
    }

    /// Finds a state of an automaton by a name or number.
    pub fn local_state(
        &self,
        automaton: u32,
        formula: &Formula,
        variables: &Variables<'_>,
    ) -> Result<u16, Problem> {
        let of = &self.all[automaton as usize];
        if let Term::Name(name) = &formula.term
            && let Some(position) = of.states.iter().position(|state| state == name)
        {
            return Ok(position as u16);
        }
        let states = || {
            let shown: Vec<&str> = of.states.iter().take(12).map(String::as_str).collect();
            let more = if of.states.len() > 12 { ", ..." } else { "" };
            format!("{}{more}", shown.join(", "))
        };
        let missing = |what: &str| {
            Problem::new(
                formula.at,
                format!(
                    "the automaton {} has no state {what}; it has {}",
                    of.name,
                    states()
                ),
            )
        };
        if let Term::Name(name) = &formula.term
            && self.named(name, formula.at, variables).is_err()
        {
            return Err(missing(name));
        }
        let Some(values) = &self.values[automaton as usize] else {
            return Err(missing("of that number; name one"));
        };
        let number = self.number(formula, variables)?;
        let found = values
            .iter()
            .position(|value| (value - number).abs() < 1e-9);
        found
            .map(|position| position as u16)
            .ok_or_else(|| missing(&number.to_string()))
    }

    fn count(
        &self,
        of: &[AutomatonRef],
        state: &Formula,
        variables: &Variables<'_>,
    ) -> Result<Expr, Problem> {
        let mut pairs = Vec::new();
        for reference in of {
            for automaton in self.automata(reference, variables)? {
                pairs.push((automaton, self.local_state(automaton, state, variables)?));
            }
        }
        pairs.sort_unstable();
        if pairs.windows(2).any(|two| two[0].0 == two[1].0) {
            let at = of.first().map_or(state.at, |first| first.name.at);
            return Err(Problem::new(at, "an automaton is named twice"));
        }
        Ok(Expr::Count(pairs.into()))
    }

    /// Returns a comparison of `st A` with a state's name, or with another automaton's state; `None` for other terms.
    fn state_comparison(
        &self,
        written: &str,
        a: &Formula,
        b: &Formula,
        variables: &Variables<'_>,
    ) -> Result<Option<Expr>, Problem> {
        const COMPARISONS: [&str; 6] = ["==", "!=", "<", ">", "<=", ">="];
        let (of, with) = match (&a.term, &b.term) {
            _ if !COMPARISONS.contains(&written) => return Ok(None),
            (Term::State(of), _) => (of, b),
            (_, Term::State(of)) => (of, a),
            _ => return Ok(None),
        };
        let automaton = self.one_automaton(of, variables)?;
        let named = match &with.term {
            Term::Name(name) => self.all[automaton as usize].states.contains(name),
            _ => false,
        };
        let symbolic = self.values[automaton as usize].is_none();
        if !named && !symbolic {
            return Ok(None);
        }
        let equal = match &with.term {
            Term::State(other) => self.same_state(automaton, self.one_automaton(other, variables)?),
            _ => Expr::Is(automaton, self.local_state(automaton, with, variables)?),
        };
        match written {
            "==" => Ok(Some(equal)),
            "!=" => Ok(Some(Expr::Not(Box::new(equal)))),
            _ => Err(Problem::new(
                a.at,
                format!(
                    "the states of {} have names, which are compared by `==` and `!=` only",
                    of.name.text
                ),
            )),
        }
    }

    /// Returns whether two automata are in states of one name.
    fn same_state(&self, a: u32, b: u32) -> Expr {
        let names = |automaton: u32| &self.all[automaton as usize].states;
        let both = names(a).iter().enumerate().filter_map(|(local, name)| {
            let other = names(b).iter().position(|state| state == name)?;
            Some(Expr::binary(
                Operator::And,
                Expr::Is(a, local as u16),
                Expr::Is(b, other as u16),
            ))
        });
        both.reduce(|one, next| Expr::binary(Operator::Or, one, next))
            .unwrap_or(Expr::Number(0.0))
    }

    fn call(
        &self,
        name: &str,
        at: Place,
        arguments: &[Formula],
        variables: &Variables<'_>,
    ) -> Result<Expr, Problem> {
        let found = Function::ALL.into_iter().find(|(known, ..)| *known == name);
        let Some((_, function, least, most)) = found else {
            let known: Vec<&str> = Function::ALL.iter().map(|(known, ..)| *known).collect();
            return Err(Problem::new(
                at,
                format!(
                    "there is no function `{name}`; there are {}, sum and prod",
                    known.join(", ")
                ),
            ));
        };
        if !(least..=most).contains(&arguments.len()) {
            return Err(Problem::new(
                at,
                format!(
                    "the function `{name}` takes {least} argument{}, found {}",
                    if least == 1 { "" } else { "s" },
                    arguments.len()
                ),
            ));
        }
        let arguments: Result<Vec<Expr>, Problem> = arguments
            .iter()
            .map(|argument| self.expr(argument, variables))
            .collect();
        Ok(Expr::Call(function, arguments?))
    }

    fn fold(
        &self,
        product: bool,
        variable: &str,
        range: &Range,
        body: &Formula,
        variables: &Variables<'_>,
    ) -> Result<Expr, Problem> {
        let (first, last) = self.range(range, variables)?;
        if last - first >= MOST_TERMS {
            return Err(Problem::new(
                range.first.at,
                format!("more than {MOST_TERMS} terms"),
            ));
        }
        let (operator, empty) = if product {
            (Operator::Multiply, 1.0)
        } else {
            (Operator::Add, 0.0)
        };
        let mut whole = Expr::Number(empty);
        for number in first..=last {
            let mut inner = variables.to_vec();
            inner.push((variable, number as f64));
            let term = self.expr(body, &inner)?;
            whole = if number == first {
                term
            } else {
                Expr::binary(operator, whole, term).folded()
            };
        }
        Ok(whole)
    }
}
