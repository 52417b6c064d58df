//! A model with all names resolved and all replicas written out.

use crate::{
    error::{Place, Problem, SanError},
    expr::Expr,
};

/// A stochastic automata network whose parameters have values.
#[derive(Clone, Debug)]
pub struct Model {
    /// The file that it came from, for messages.
    pub file: String,
    /// The parameters and their values, in the order of the file.
    pub parameters: Vec<(String, f64)>,
    /// The automata; replicas of one declaration stand next to each other.
    pub automata: Vec<Automaton>,
    /// The events.
    pub events: Vec<Event>,
    /// Which automata come from one declaration.
    pub families: Vec<Family>,
    /// Which global states can be reached, where the model says so; else they are searched for.
    pub reachable: Option<(Place, Expr)>,
    /// What is to be computed: expectations of expressions, which for conditions are probabilities.
    pub results: Vec<Wanted>,
}

/// A result that is to be computed.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// Where it is declared.
    pub at: Place,
    /// Whose expectation it is.
    pub expr: Expr,
}

/// An automaton.
#[derive(Clone, Debug)]
pub struct Automaton {
    /// Its name, with its number where it is one of several.
    pub name: String,
    /// Where it is declared.
    pub at: Place,
    /// The names of its states.
    pub states: Vec<String>,
    /// The state that it starts in, by position.
    pub initial: u16,
}

/// The automata of one declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// The declared name.
    pub name: String,
    /// The first automaton.
    pub first: u32,
    /// How many there are.
    pub count: u32,
}

/// An event: enabled where every automaton that has it has a transition with it.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its name, with its number where it is one of several.
    pub name: String,
    /// Where it is declared.
    pub at: Place,
    /// How often it takes place while enabled, per unit of time: a function of the state before it.
    pub rate: Expr,
    /// Where its rate stands.
    pub rate_at: Place,
    /// The automata that have it.
    pub parts: Vec<Part>,
}

/// What an event does in one automaton.
#[derive(Clone, Debug)]
pub struct Part {
    /// The automaton.
    pub automaton: u32,
    /// For each local state, where the event leads from there; nowhere where it is not enabled.
    pub arcs: Vec<Vec<Arc>>,
}

/// One of the states that an event leads to from a local state.
#[derive(Clone, Debug)]
pub struct Arc {
    /// The local state after it.
    pub to: u16,
    /// How probable it is among those that the event leads to from there.
    pub probability: Expr,
    /// Where it stands.
    pub at: Place,
}

/// As far as sums of probabilities may be off 1.
pub(crate) const PROBABILITY_TOLERANCE: f64 = 1e-9;

impl Model {
    /// Returns the state that all automata start in.
    pub fn initial(&self) -> Vec<u16> {
        self.automata.iter().map(|a| a.initial).collect()
    }

    /// Returns the number of combinations of local states, reachable or not; infinite where there are too many to say.
    pub fn product_states(&self) -> f64 {
        let sizes = self.automata.iter().map(|a| a.states.len() as f64);
        sizes.product()
    }

    /// Returns a global state as `(A, B, ...)`.
    pub fn state_text(&self, state: &[u16]) -> String {
        const MOST: usize = 24;
        let locals = self.automata.iter().zip(state);
        let mut names: Vec<&str> = locals
            .take(MOST)
            .map(|(automaton, local)| automaton.states[usize::from(*local)].as_str())
            .collect();
        if state.len() > MOST {
            names.push("...");
        }
        format!("({})", names.join(", "))
    }

    /// Returns the rate of an event in a state.
    ///
    /// # Errors
    ///
    /// Where it is negative or no finite number.
    pub(crate) fn rate(&self, event: &Event, state: &[u16]) -> Result<f64, SanError> {
        let rate = event.rate.value(state);
        if rate >= 0.0 && rate.is_finite() {
            return Ok(rate);
        }
        Err(SanError::Model {
            file: self.file.clone(),
            at: event.rate_at,
            message: format!(
                "the rate of the event {} is {rate} in the state {}; rates are finite and not negative",
                event.name,
                self.state_text(state)
            ),
        })
    }

    /// Checks the routing probabilities of an event from a local state, in a global state.
    ///
    /// # Errors
    ///
    /// Where one is no probability, or they do not sum to 1.
    pub(crate) fn check_routing(
        &self,
        event: &Event,
        part: &Part,
        arcs: &[Arc],
        state: &[u16],
    ) -> Result<(), SanError> {
        let automaton = &self.automata[part.automaton as usize];
        routing_problem(&event.name, &automaton.name, arcs, state).map_or(Ok(()), |problem| {
            let message = format!(
                "{} (in the state {})",
                problem.message,
                self.state_text(state)
            );
            Err(Problem { message, ..problem }.in_file(&self.file))
        })
    }
}

/// Returns what is wrong with the routing probabilities of an event from a local state.
pub(crate) fn routing_problem(
    event: &str,
    automaton: &str,
    arcs: &[Arc],
    state: &[u16],
) -> Option<Problem> {
    let of = format!("of the event {event} in the automaton {automaton}");
    let mut sum = 0.0;
    for arc in arcs {
        let probability = arc.probability.value(state);
        if !(0.0..=1.0 + PROBABILITY_TOLERANCE).contains(&probability) {
            let message = format!(
                "the routing probability {of} is {probability}; probabilities lie between 0 and 1"
            );
            return Some(Problem::new(arc.at, message));
        }
        sum += probability;
    }
    let first = arcs.first()?;
    if (sum - 1.0).abs() <= PROBABILITY_TOLERANCE {
        return None;
    }
    let message = match arcs.len() {
        1 => format!(
            "the routing probability {of} is {sum}; the only transition with an event from a state has probability 1"
        ),
        several => format!(
            "the routing probabilities {of} sum to {sum} over its {several} transitions, and not to 1; give each its `prob`"
        ),
    };
    Some(Problem::new(first.at, message))
}
