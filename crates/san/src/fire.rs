//! What can happen in a state: the transitions that leave it.

use crate::{
    error::SanError,
    model::{Event, Model},
    space::{Key, Space},
};

/// The transitions of a model, in a numbering of its states.
#[derive(Debug)]
pub(crate) struct Transitions<'a> {
    pub model: &'a Model,
    pub space: &'a Space,
    events: Vec<Prepared<'a>>,
}

#[derive(Debug)]
struct Prepared<'a> {
    event: &'a Event,
    constant_rate: Option<f64>,
    /// Whether the routing may depend on the state, so that its sums have to be checked.
    functional: bool,
    /// Members of lumped families that are the only ones of them to have the event: the family's begin and the member.
    alone: Vec<(usize, usize)>,
}

impl<'a> Transitions<'a> {
    pub fn new(model: &'a Model, space: &'a Space) -> Self {
        let families: Vec<_> = space.lumped().collect();
        let prepare = |event: &'a Event| {
            let of_family = |family: &std::ops::Range<usize>| {
                let mut members = event
                    .parts
                    .iter()
                    .map(|part| part.automaton as usize)
                    .filter(|automaton| family.contains(automaton));
                let first = members.next()?;
                members.next().is_none().then_some((family.start, first))
            };
            let arcs = event
                .parts
                .iter()
                .flat_map(|part| part.arcs.iter().flatten());
            Prepared {
                event,
                constant_rate: event.rate.constant(),
                functional: arcs.clone().any(|arc| arc.probability.constant().is_none()),
                alone: families.iter().filter_map(of_family).collect(),
            }
        };
        Self {
            model,
            space,
            events: model.events.iter().map(prepare).collect(),
        }
    }

    /// Calls `emit` with the key and the rate of everything that can happen in a state. Keys can come twice.
    pub fn from(
        &self,
        state: &[u16],
        key: Key,
        emit: &mut impl FnMut(Key, f64),
    ) -> Result<(), SanError> {
        for prepared in &self.events {
            let parts = &prepared.event.parts;
            let enabled = parts
                .iter()
                .all(|part| !part.arcs[usize::from(state[part.automaton as usize])].is_empty());
            if !enabled {
                continue;
            }
            // Of members in the same state the first stands for all.
            let mut times = 1.0;
            for &(start, member) in &prepared.alone {
                if member > start && state[member - 1] == state[member] {
                    times = 0.0;
                    break;
                }
                let alike = state[member..].iter().take_while(|s| **s == state[member]);
                times *= alike.take(self.members_from(start, member)).count() as f64;
            }
            if times == 0.0 {
                continue;
            }
            let rate = match prepared.constant_rate {
                Some(rate) => rate,
                None => self.model.rate(prepared.event, state)?,
            };
            if rate == 0.0 {
                continue;
            }
            if prepared.functional {
                for part in parts {
                    let arcs = &part.arcs[usize::from(state[part.automaton as usize])];
                    self.model
                        .check_routing(prepared.event, part, arcs, state)?;
                }
            }
            self.branch(prepared.event, 0, state, key, times * rate, emit);
        }
        Ok(())
    }

    /// Returns how many members of the family that begins at `start` there are from `member` on.
    fn members_from(&self, start: usize, member: usize) -> usize {
        let family = self.space.lumped().find(|family| family.start == start);
        family.map_or(1, |family| family.end - member)
    }

    /// Follows the arcs of the event's parts from `part` on.
    fn branch(
        &self,
        event: &Event,
        part: usize,
        state: &[u16],
        key: Key,
        rate: f64,
        emit: &mut impl FnMut(Key, f64),
    ) {
        let Some(this) = event.parts.get(part) else {
            emit(key, rate);
            return;
        };
        let local = usize::from(state[this.automaton as usize]);
        let weights = self.space.weights(this.automaton);
        for arc in &this.arcs[local] {
            let probability = arc.probability.value(state);
            if probability > 0.0 {
                let to = key - weights[local] + weights[usize::from(arc.to)];
                self.branch(event, part + 1, state, to, rate * probability, emit);
            }
        }
    }
}
