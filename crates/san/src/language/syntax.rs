//! The syntax tree: what a model's text says, before parameters have values.

use crate::error::Place;

/// A whole text.
#[derive(Debug, Default)]
pub(super) struct File {
    pub items: Vec<Item>,
}

/// A declaration.
#[derive(Debug)]
pub(super) enum Item {
    /// `param NAME = VALUE;`, with a value that the command line may replace.
    Parameter { name: Name, value: Option<Formula> },
    /// `let NAME = FORMULA;`
    Let { name: Name, value: Formula },
    /// `event NAME[i in A..B] rate FORMULA;`
    Event {
        name: Name,
        replicas: Option<Replicas>,
        rate: Formula,
    },
    /// `automaton NAME[i in A..B] { ... }`
    Automaton(AutomatonItem),
    /// `reachable FORMULA;`
    Reachable { at: Place, condition: Formula },
    /// `result NAME = FORMULA;`
    Result { name: Name, value: Formula },
}

/// A name where it stands.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub at: Place,
    pub text: String,
}

/// `[i in A..B]`, or `[A..B]` where nothing asks for the number.
#[derive(Clone, Debug)]
pub(super) struct Replicas {
    pub at: Place,
    pub variable: Option<Name>,
    pub range: Range,
}

/// `A..B`, both included.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub first: Formula,
    pub last: Formula,
}

#[derive(Debug)]
pub(super) struct AutomatonItem {
    pub name: Name,
    pub replicas: Option<Replicas>,
    pub states: Vec<StateItem>,
}

/// One state, or a row of states with numbers for names.
#[derive(Debug)]
pub(super) struct StateItem {
    pub at: Place,
    pub initial: bool,
    pub label: Label,
    pub transitions: Vec<Transition>,
}

#[derive(Debug)]
pub(super) enum Label {
    /// `state I`
    Word(Name),
    /// `state 0`
    Number(f64),
    /// `state b in 0..K`
    Row(Name, Range),
}

/// `EVENTS -> TARGET prob FORMULA if FORMULA;`
#[derive(Debug)]
pub(super) struct Transition {
    pub events: Vec<EventRef>,
    pub to: Formula,
    pub probability: Option<Formula>,
    pub condition: Option<Formula>,
}

/// An event by name; one of many by its number or a range of them.
#[derive(Debug)]
pub(super) struct EventRef {
    pub name: Name,
    pub index: Option<Indices>,
}

#[derive(Clone, Debug)]
pub(super) enum Indices {
    One(Box<Formula>),
    Range(Box<Range>),
}

/// An automaton, or several of one declaration.
#[derive(Clone, Debug)]
pub(super) struct AutomatonRef {
    pub name: Name,
    pub index: Option<Indices>,
}

/// An expression where it stands.
#[derive(Clone, Debug)]
pub(super) struct Formula {
    pub at: Place,
    pub term: Term,
}

#[derive(Clone, Debug)]
pub(super) enum Term {
    Number(f64),
    /// A parameter, a `let`, a variable, or beside `st` a state.
    Name(String),
    /// `st A`: the state that an automaton is in.
    State(AutomatonRef),
    /// `nb [A, B[1..3]] S`: how many are in the state.
    Count {
        of: Vec<AutomatonRef>,
        state: Box<Formula>,
    },
    Not(Box<Formula>),
    Minus(Box<Formula>),
    /// Binary operations one after the other, from the left.
    Chain(Box<Formula>, Vec<(&'static str, Formula)>),
    /// `min(a, b)` and the like.
    Call(String, Vec<Formula>),
    /// `sum(i in A..B: FORMULA)`, or `prod`.
    Fold {
        product: bool,
        variable: Name,
        range: Box<Range>,
        body: Box<Formula>,
    },
}
