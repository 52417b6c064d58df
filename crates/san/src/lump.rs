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

use crate::model::{Event, Family, Model};

/// Returns the families of two or more automata that are interchangeable.
pub fn symmetric_families(model: &Model) -> Vec<Family> {
    let identity = described(model, &|automaton| automaton);
    let candidates = model.families.iter().filter(|family| family.count > 1);
    candidates
        .filter(|family| is_symmetric(model, family, &identity))
        .cloned()
        .collect()
}

fn is_symmetric(model: &Model, family: &Family, identity: &[String]) -> bool {
    let members = family.first as usize..(family.first + family.count) as usize;
    let alike = model.automata[members]
        .windows(2)
        .all(|two| two[0].states == two[1].states && two[0].initial == two[1].initial);
    // Exchanges of neighbours generate all permutations.
    alike
        && (family.first..family.first + family.count - 1).all(|low| {
            let exchanged = |automaton: u32| match automaton {
                a if a == low => low + 1,
                a if a == low + 1 => low,
                a => a,
            };
            described(model, &exchanged) == identity
        })
}

/// Returns everything that the chain depends on as texts, in an order of their own, with automata renamed.
fn described(model: &Model, rename: &dyn Fn(u32) -> u32) -> Vec<String> {
    let mut texts: Vec<String> = model
        .events
        .iter()
        .map(|event| event_text(event, rename))
        .collect();
    if let Some((_, reachable)) = &model.reachable {
        texts.push(format!("reachable {}", reachable.canonical(rename)));
    }
    texts.sort_unstable();
    texts
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
