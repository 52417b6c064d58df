//! What can be wrong with a model, and where.

/// A place in a model's text, both counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

/// Something wrong at a place of a model's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub at: Place,
    pub message: String,
}

impl Problem {
    pub fn new(at: Place, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
        }
    }

    /// Names the file.
    pub fn in_file(self, file: &str) -> SanError {
        SanError::Model {
            file: file.to_owned(),
            at: self.at,
            message: self.message,
        }
    }
}

/// Why a model has no answer.
#[derive(Debug, thiserror::Error)]
pub enum SanError {
    /// Its text says something that is not possible.
    #[error("{file}, line {}, column {}: {message}", at.line, at.column)]
    Model {
        /// The file.
        file: String,
        /// Where in it.
        at: Place,
        /// What is wrong, and what to do.
        message: String,
    },
    /// It has more states than fit into memory.
    #[error(
        "{file}: too large: {states}, for which the {method} needs {needed} of memory, and {allowed} are allowed; {remedy}"
    )]
    TooLarge {
        /// The file.
        file: String,
        /// How many states, in words.
        states: String,
        /// What the memory is for.
        method: &'static str,
        /// How much it would need.
        needed: Bytes,
        /// How much it may use.
        allowed: Bytes,
        /// What to do.
        remedy: &'static str,
    },
    /// Its long run depends on where it starts, or it leaves states for ever.
    #[error("{file}, line {}, column {}: the chain is reducible: {message}", at.line, at.column)]
    Reducible {
        /// The file.
        file: String,
        /// The automaton whose states show it.
        at: Place,
        /// Which states, and what it means.
        message: String,
    },
    /// What it is computed with has no room in floating-point numbers.
    #[error(
        "{file}, line {}, column {}: the solution is no number, as the rates differ by too much: {rates}; give rates, or times, that \
         are nearer to each other", at.line, at.column
    )]
    OutOfRange {
        /// The file.
        file: String,
        /// Where the rate of the fastest event stands.
        at: Place,
        /// The slowest and the fastest event with their rates, in words.
        rates: String,
    },
    /// A distribution at a time would take too many steps.
    #[error(
        "{file}: the distribution at {time} takes {steps:.1e} steps, as some state is left {rate:.1e} times per unit of time, and \
         {most:.0e} are made at most; ask for an earlier time, or for the long run without --at-time"
    )]
    TooManySteps {
        /// The file.
        file: String,
        /// The time asked for.
        time: f64,
        /// The steps that it takes.
        steps: f64,
        /// How often the state is left that is left most often.
        rate: f64,
        /// How many steps are made at most.
        most: f64,
    },
    /// The iteration did not come as near to the solution as asked.
    #[error(
        "{file}: {method} stopped at a residual of {residual:.1e}, over all states {sum:.1e}, after {iterations} iterations, and \
         {wanted:.1e} was asked for; allow more iterations, or another method"
    )]
    NotConverged {
        /// The file.
        file: String,
        /// The method.
        method: &'static str,
        /// The largest component of the product of distribution and generator.
        residual: f64,
        /// The sum of all its components.
        sum: f64,
        /// How many iterations.
        iterations: u64,
        /// What was asked for.
        wanted: f64,
    },
}

/// A number of bytes, written in the unit that suits it.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Bytes(pub f64);

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
        let mut value = self.0;
        let mut unit = 0;
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        if value >= 1e4 {
            write!(f, "{value:.1e} {}", UNITS[unit])
        } else {
            write!(f, "{value:.3} {}", UNITS[unit])
        }
    }
}
