//! From a text and values of parameters to a model.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    grammar,
    names::{Declared, Names, Variables},
    syntax::{AutomatonItem, File, Item, Label, Name, Replicas, StateItem},
    tokens,
    transitions::{check_events, events, transitions},
};
use crate::{
    error::{Place, Problem, SanError},
    expr::Expr,
    model::{Automaton, Family, Model, Wanted},
};

/// As many automata or events as one declaration makes.
const MOST_REPLICAS: i64 = 10_000;

/// As many states as an automaton has.
const MOST_STATES: usize = 65_535;

/// Values that replace those of the file's parameters, by name.
pub type Parameters = BTreeMap<String, f64>;

/// A model's text, read but without values for its parameters.
#[derive(Debug)]
pub struct Source {
    name: String,
    file: File,
}

impl Source {
    /// Reads a text; `name` is what errors call it.
    ///
    /// # Errors
    ///
    /// Where the text does not follow the grammar, with the place and what was expected there.
    pub fn read(text: &str, name: &str) -> Result<Self, SanError> {
        let file = tokens::split(text)
            .and_then(|tokens| grammar::file(&tokens))
            .map_err(|problem| problem.in_file(name))?;
        Ok(Self {
            name: name.to_owned(),
            file,
        })
    }

    /// Returns the names of the parameters, in the order of the file.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.file.items.iter().filter_map(|item| match item {
            Item::Parameter { name, .. } => Some(name.text.as_str()),
            _ => None,
        })
    }

    /// Returns the names of the results, in the order of the file.
    pub fn results(&self) -> impl Iterator<Item = &str> {
        self.file.items.iter().filter_map(|item| match item {
            Item::Result { name, .. } => Some(name.text.as_str()),
            _ => None,
        })
    }

    /// Writes out the model for these values of parameters.
    ///
    /// # Errors
    ///
    /// Where the text means nothing: names that are not there, parameters without a value, empty ranges, probabilities that
    /// do not sum to 1, events that no automaton has.
    pub fn model(&self, values: &Parameters) -> Result<Model, SanError> {
        expand(&self.file, &self.name, values).map_err(|problem| problem.in_file(&self.name))
    }
}

fn expand(file: &File, name: &str, values: &Parameters) -> Result<Model, Problem> {
    let mut names = Names::default();
    let parameters = parameters(file, values, &mut names)?;
    let families = automata(file, &mut names)?;
    let (mut events, declared) = events(file, &names)?;
    let mut position = 0;
    for item in &file.items {
        if let Item::Automaton(automaton) = item {
            position = transitions(automaton, position, &names, &declared, &mut events)?;
        }
    }
    check_events(&events, &names)?;
    let results = results(file, &names)?;
    let mut reachable = None;
    for item in &file.items {
        if let Item::Reachable { at, condition } = item {
            if reachable.is_some() {
                return Err(Problem::new(*at, "`reachable` stands here a second time"));
            }
            reachable = Some((*at, names.expr(condition, &[])?));
        }
    }
    if names.all.is_empty() {
        let at = Place { line: 1, column: 1 };
        return Err(Problem::new(
            at,
            "the model has no automaton; declare one with `automaton`",
        ));
    }
    Ok(Model {
        file: name.to_owned(),
        parameters,
        automata: names.all,
        events,
        families,
        reachable,
        results,
    })
}

/// Gives parameters their values, and notes the `let`s.
fn parameters<'a>(
    file: &'a File,
    values: &Parameters,
    names: &mut Names<'a>,
) -> Result<Vec<(String, f64)>, Problem> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for item in &file.items {
        match item {
            Item::Let { name, value } => {
                once(&mut seen, name)?;
                names.lets.insert(&name.text, value);
            }
            Item::Parameter { name, value } => {
                once(&mut seen, name)?;
                let number = match (values.get(&name.text), value) {
                    (Some(given), _) => *given,
                    (None, Some(formula)) => names.number(formula, &[])?,
                    (None, None) => {
                        return Err(Problem::new(
                            name.at,
                            format!(
                                "the parameter {0} has no value; give one with --param {0}=VALUE",
                                name.text
                            ),
                        ));
                    }
                };
                names.parameters.insert(&name.text, number);
                found.push((name.text.clone(), number));
            }
            _ => {}
        }
    }
    if let Some(unknown) = values
        .keys()
        .find(|key| !found.iter().any(|(k, _)| k == *key))
    {
        let known: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        let at = Place { line: 1, column: 1 };
        return Err(Problem::new(
            at,
            format!(
                "the model has no parameter {unknown}; it has {}",
                if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                }
            ),
        ));
    }
    Ok(found)
}

pub(super) fn once<'a>(seen: &mut BTreeSet<&'a str>, name: &'a Name) -> Result<(), Problem> {
    if seen.insert(&name.text) {
        return Ok(());
    }
    Err(Problem::new(
        name.at,
        format!("`{}` is declared a second time", name.text),
    ))
}

/// Makes the automata and their states.
fn automata<'a>(file: &'a File, names: &mut Names<'a>) -> Result<Vec<Family>, Problem> {
    let mut seen = BTreeSet::new();
    let mut families = Vec::new();
    for item in &file.items {
        let Item::Automaton(item) = item else {
            continue;
        };
        once(&mut seen, &item.name)?;
        let numbers = numbers(item.replicas.as_ref(), names)?;
        let declared = Declared {
            position: names.all.len() as u32,
            first: numbers.map(|(first, _)| first),
            count: numbers.map_or(1, |(first, last)| first.abs_diff(last) as u32 + 1),
        };
        for number in 0..declared.count {
            let (of, variable) = replica(
                &item.name.text,
                item.replicas.as_ref(),
                declared.first,
                number,
            );
            let (automaton, values) = states(item, of, &variable, names)?;
            names.all.push(automaton);
            names.values.push(values);
        }
        families.push(Family {
            name: item.name.text.clone(),
            first: declared.position,
            count: declared.count,
        });
        names.automata.insert(&item.name.text, declared);
    }
    Ok(families)
}

/// Returns the numbers of a declaration's replicas; `None` for a single one without a number.
pub(super) fn numbers(
    replicas: Option<&Replicas>,
    names: &Names<'_>,
) -> Result<Option<(i64, i64)>, Problem> {
    let Some(replicas) = replicas else {
        return Ok(None);
    };
    let (first, last) = names.range(&replicas.range, &[])?;
    if last < first {
        return Err(Problem::new(
            replicas.at,
            format!("the range {first}..{last} is empty; at least one is needed"),
        ));
    }
    if last - first >= MOST_REPLICAS {
        return Err(Problem::new(
            replicas.at,
            format!("the range {first}..{last} has more than {MOST_REPLICAS} numbers"),
        ));
    }
    Ok(Some((first, last)))
}

/// Returns the name of a replica and its variable with its value.
pub(super) fn replica<'r>(
    name: &str,
    replicas: Option<&'r Replicas>,
    first: Option<i64>,
    offset: u32,
) -> (String, Vec<(&'r str, f64)>) {
    let Some(first) = first else {
        return (name.to_owned(), Vec::new());
    };
    let number = first + i64::from(offset);
    let variable = replicas.and_then(|replicas| replicas.variable.as_ref());
    let variables = variable.map(|v| (v.text.as_str(), number as f64));
    (format!("{name}[{number}]"), variables.into_iter().collect())
}

type Values = Option<std::sync::Arc<[f64]>>;

/// Makes an automaton's states, without transitions.
fn states(
    item: &AutomatonItem,
    name: String,
    variables: &Variables<'_>,
    names: &Names<'_>,
) -> Result<(Automaton, Values), Problem> {
    let mut states: Vec<String> = Vec::new();
    let mut values = Vec::new();
    let mut initial = None;
    let mut seen = BTreeSet::new();
    for state in &item.states {
        if state.initial && initial.replace(states.len()).is_some() {
            return Err(Problem::new(
                state.at,
                format!(
                    "the automaton {} has a second initial state",
                    item.name.text
                ),
            ));
        }
        for (text, value) in labels(state, variables, names)? {
            if !seen.insert(text.clone()) {
                return Err(Problem::new(
                    state.at,
                    format!("the automaton {} has a second state {text}", item.name.text),
                ));
            }
            states.push(text);
            values.push(value);
        }
        if states.len() > MOST_STATES {
            return Err(Problem::new(
                state.at,
                format!("an automaton has at most {MOST_STATES} states"),
            ));
        }
    }
    if states.is_empty() {
        return Err(Problem::new(
            item.name.at,
            format!(
                "the automaton {} has no state: its rows are empty",
                item.name.text
            ),
        ));
    }
    let values: Option<Vec<f64>> = values.into_iter().collect();
    let automaton = Automaton {
        name,
        at: item.name.at,
        states,
        initial: initial.unwrap_or(0) as u16,
    };
    Ok((automaton, values.map(Into::into)))
}

/// Returns the states of a declaration: names, and numbers where numbers name them.
pub(super) fn labels(
    state: &StateItem,
    variables: &Variables<'_>,
    names: &Names<'_>,
) -> Result<Vec<(String, Option<f64>)>, Problem> {
    match &state.label {
        Label::Word(name) => Ok(vec![(name.text.clone(), None)]),
        Label::Number(number) => Ok(vec![(number.to_string(), Some(*number))]),
        Label::Row(_, range) => {
            let (first, last) = names.range(range, variables)?;
            if first <= last && first.abs_diff(last) >= MOST_STATES as u64 {
                return Err(Problem::new(
                    range.first.at,
                    format!("an automaton has at most {MOST_STATES} states"),
                ));
            }
            let numbers = first..=last;
            Ok(numbers.map(|n| (n.to_string(), Some(n as f64))).collect())
        }
    }
}

/// Makes the results; where the file asks for none, the probability of every local state.
fn results(file: &File, names: &Names<'_>) -> Result<Vec<Wanted>, Problem> {
    let mut seen = BTreeSet::new();
    let mut results = Vec::new();
    for item in &file.items {
        if let Item::Result { name, value } = item {
            once(&mut seen, name)?;
            results.push(Wanted {
                name: name.text.clone(),
                at: name.at,
                expr: names.expr(value, &[])?,
            });
        }
    }
    if results.is_empty() {
        for (position, automaton) in names.all.iter().enumerate() {
            for (local, state) in automaton.states.iter().enumerate() {
                results.push(Wanted {
                    name: format!("{}.{state}", automaton.name),
                    at: automaton.at,
                    expr: Expr::Is(position as u32, local as u16),
                });
            }
        }
    }
    Ok(results)
}
