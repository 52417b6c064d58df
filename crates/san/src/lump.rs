//! Which replicas of an automaton are interchangeable.
//!
//! Where exchanging any two neighbours of a family turns the model into itself, global states that differ only in which
//! replica is in which state are equally probable, and one state stands for all of them: N replicas of S states have
//! C(N + S - 1, S - 1) such states instead of S^N.
//!
//! # Source
//!
//! Exact lumping of Markov chains by symmetry: Kemeny and Snell, "Finite Markov Chains", section 6.3; for replicated
//! automata: Benoit, Brenner, Fernandes, Plateau, "Aggregation of stochastic automata networks with replicas", 2004.

use crate::{
    expr::Expr,
    model::{Event, Family, Model},
};

/// Returns the families of two or more automata that are interchangeable.
pub fn symmetric_families(model: &Model) -> Vec<Family> {
    let terms = Terms::new(model);
    let candidates = model.families.iter().filter(|family| family.count > 1);
    candidates
        .filter(|family| is_symmetric(model, family, &terms))
        .cloned()
        .collect()
}

fn is_symmetric(model: &Model, family: &Family, terms: &Terms<'_>) -> bool {
    let members = family.first as usize..(family.first + family.count) as usize;
    let alike = model.automata[members]
        .windows(2)
        .all(|two| two[0].states == two[1].states && two[0].initial == two[1].initial);
    // Exchanges of neighbours generate all permutations.
    alike
        && (family.first..family.first + family.count - 1)
            .all(|low| terms.stay_with_exchange(low, low + 1))
}

/// Everything that the chain depends on: the events and what is said to be reachable.
struct Terms<'a> {
    all: Vec<Term<'a>>,
    /// For each automaton, which of them mention it.
    mentions: Vec<Vec<usize>>,
}

/// A part of what the chain depends on, and its text.
struct Term<'a> {
    what: What<'a>,
    text: String,
}

enum What<'a> {
    Event(&'a Event),
    Reachable(&'a Expr),
}

impl What<'_> {
    /// Returns it as a text, with automata renamed.
    fn text(&self, rename: &dyn Fn(u32) -> u32) -> String {
        match self {
            Self::Event(event) => event_text(event, rename),
            Self::Reachable(condition) => format!("reachable {}", condition.canonical(rename)),
        }
    }

    /// Returns the automata that it mentions, each once.
    fn automata(&self) -> Vec<u32> {
        let mut automata = Vec::new();
        match self {
            Self::Event(event) => {
                event.rate.automata(&mut automata);
                for part in &event.parts {
                    automata.push(part.automaton);
                    for arc in part.arcs.iter().flatten() {
                        arc.probability.automata(&mut automata);
                    }
                }
            }
            Self::Reachable(condition) => condition.automata(&mut automata),
        }
        automata.sort_unstable();
        automata.dedup();
        automata
    }
}

impl<'a> Terms<'a> {
    fn new(model: &'a Model) -> Self {
        let reachable = model
            .reachable
            .iter()
            .map(|(_, condition)| What::Reachable(condition));
        let all: Vec<Term<'a>> = model
            .events
            .iter()
            .map(What::Event)
            .chain(reachable)
            .map(|what| Term {
                text: what.text(&|automaton| automaton),
                what,
            })
            .collect();
        let mut mentions = vec![Vec::new(); model.automata.len()];
        for (position, term) in all.iter().enumerate() {
            for automaton in term.what.automata() {
                mentions[automaton as usize].push(position);
            }
        }
        Self { all, mentions }
    }

    /// Returns whether the terms are the same, in some order, with two automata exchanged.
    fn stay_with_exchange(&self, one: u32, other: u32) -> bool {
        let exchanged = |automaton: u32| match automaton {
            a if a == one => other,
            a if a == other => one,
            a => a,
        };
        // Terms that mention neither stay as they are.
        let mut affected = self.mentions[one as usize].clone();
        affected.extend(&self.mentions[other as usize]);
        affected.sort_unstable();
        affected.dedup();
        let mut before: Vec<&str> = affected
            .iter()
            .map(|term| self.all[*term].text.as_str())
            .collect();
        let mut after: Vec<String> = affected
            .iter()
            .map(|term| self.all[*term].what.text(&exchanged))
            .collect();
        before.sort_unstable();
        after.sort_unstable();
        before == after
    }
}

/// Returns what an event does, without its name.
fn event_text(event: &Event, rename: &dyn Fn(u32) -> u32) -> String {
    let mut parts: Vec<String> = event
        .parts
        .iter()
        .map(|part| {
            let mut text = format!("a{}", rename(part.automaton));
            for (from, arcs) in part.arcs.iter().enumerate() {
                let mut arcs: Vec<String> = arcs
                    .iter()
                    .map(|arc| format!("{from}>{} {}", arc.to, arc.probability.canonical(rename)))
                    .collect();
                arcs.sort_unstable();
                text.push_str(&arcs.concat());
            }
            text
        })
        .collect();
    parts.sort_unstable();
    format!("{} {}", event.rate.canonical(rename), parts.join("|"))
}
