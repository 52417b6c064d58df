//! Events, and what they do in each automaton.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    expand::{labels, numbers, once, replica},
    names::{Declared, Names, Variables},
    syntax::{AutomatonItem, File, Formula, Item, Label, Transition},
};
use crate::{
    error::Problem,
    expr::Expr,
    model::{Arc, Event, Part, routing_problem},
};

/// Makes the events, without transitions.
pub(super) fn events<'a>(
    file: &'a File,
    names: &Names<'_>,
) -> Result<(Vec<Event>, BTreeMap<&'a str, Declared>), Problem> {
    let mut events = Vec::new();
    let mut declared = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for item in &file.items {
        let Item::Event {
            name,
            replicas,
            rate,
        } = item
        else {
            continue;
        };
        once(&mut seen, name)?;
        let numbers = numbers(replicas.as_ref(), names)?;
        let all = Declared {
            position: events.len() as u32,
            first: numbers.map(|(first, _)| first),
            count: numbers.map_or(1, |(first, last)| first.abs_diff(last) as u32 + 1),
        };
        for number in 0..all.count {
            let (of, variables) = replica(&name.text, replicas.as_ref(), all.first, number);
            let value = names.expr(rate, &variables)?;
            check_rate(&value, rate, &of)?;
            events.push(Event {
                name: of,
                at: name.at,
                rate: value,
                rate_at: rate.at,
                parts: Vec::new(),
            });
        }
        declared.insert(name.text.as_str(), all);
    }
    Ok((events, declared))
}

/// Checks a rate that is the same in all states; others are checked where they are used.
fn check_rate(value: &Expr, rate: &Formula, event: &str) -> Result<(), Problem> {
    match value.constant() {
        Some(number) if !(number >= 0.0 && number.is_finite()) => Err(Problem::new(
            rate.at,
            format!("the rate of the event {event} is {number}; rates are finite and not negative"),
        )),
        _ => Ok(()),
    }
}

/// Adds the transitions of an automaton's replicas to the events; returns the position of the next automaton.
pub(super) fn transitions(
    item: &AutomatonItem,
    position: u32,
    names: &Names<'_>,
    declared: &BTreeMap<&str, Declared>,
    events: &mut [Event],
) -> Result<u32, Problem> {
    let family = names.automata[item.name.text.as_str()];
    for offset in 0..family.count {
        let automaton = position + offset;
        let (_, variables) = replica("", item.replicas.as_ref(), family.first, offset);
        let mut from = 0;
        for state in &item.states {
            for (_, number) in labels(state, &variables, names)? {
                let mut inner = variables.clone();
                if let (Label::Row(name, _), Some(number)) = (&state.label, number) {
                    inner.push((&name.text, number));
                }
                for transition in &state.transitions {
                    add(transition, automaton, from, &inner, names, declared, events)?;
                }
                from += 1;
            }
        }
    }
    Ok(position + family.count)
}

fn add(
    transition: &Transition,
    automaton: u32,
    from: usize,
    variables: &Variables<'_>,
    names: &Names<'_>,
    declared: &BTreeMap<&str, Declared>,
    events: &mut [Event],
) -> Result<(), Problem> {
    let holds = match &transition.condition {
        Some(condition) => names.number(condition, variables)? != 0.0,
        None => true,
    };
    for reference in &transition.events {
        let (name, at) = (reference.name.text.as_str(), reference.name.at);
        let all = declared.get(name).ok_or_else(|| {
            let known: Vec<&str> = declared.keys().copied().collect();
            let known = known.join(", ");
            Problem::new(at, format!("there is no event {name}; there are {known}"))
        })?;
        let numbers = names.numbers(reference.index.as_ref(), variables)?;
        for event in all.resolve("event", name, at, numbers)? {
            let sizes = names.all[automaton as usize].states.len();
            let arcs = arcs_of(&mut events[event as usize], automaton, sizes);
            if holds {
                let probability = match &transition.probability {
                    Some(formula) => names.expr(formula, variables)?,
                    None => Expr::Number(1.0),
                };
                arcs[from].push(Arc {
                    to: names.local_state(automaton, &transition.to, variables)?,
                    probability,
                    at,
                });
            }
        }
    }
    Ok(())
}

/// Returns the arcs of an event in an automaton, which has the event from now on.
fn arcs_of(event: &mut Event, automaton: u32, states: usize) -> &mut Vec<Vec<Arc>> {
    let known = event.parts.iter().position(|p| p.automaton == automaton);
    let position = known.unwrap_or_else(|| {
        event.parts.push(Part {
            automaton,
            arcs: vec![Vec::new(); states],
        });
        event.parts.len() - 1
    });
    &mut event.parts[position].arcs
}

/// Checks that every event has an automaton, and the routing probabilities that are the same in all states.
pub(super) fn check_events(events: &[Event], names: &Names<'_>) -> Result<(), Problem> {
    for event in events {
        if event.parts.is_empty() {
            return Err(Problem::new(
                event.at,
                format!(
                    "no automaton has the event {0}; give one a transition `{0} -> STATE;`, or remove the event",
                    event.name
                ),
            ));
        }
        for part in &event.parts {
            let automaton = &names.all[part.automaton as usize].name;
            for arcs in &part.arcs {
                let constant = arcs.iter().all(|arc| arc.probability.constant().is_some());
                let problem = constant
                    .then(|| routing_problem(&event.name, automaton, arcs, &[]))
                    .flatten();
                if let Some(problem) = problem {
                    return Err(problem);
                }
            }
        }
    }
    Ok(())
}
