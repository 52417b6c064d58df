//! Which threads of ranks may call MPI, as the program asked for.

use foretrace_trace::{Action, ThreadLevel, Trace};
use serde_json::{Value, json};

/// What the ranks of a recording asked their library for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// The highest level that a rank asked for.
    asked: ThreadLevel,
    /// The lowest that one was granted.
    granted: ThreadLevel,
    /// How many threads the library made for itself, in the rank where it made most.
    own_threads: u32,
}

impl Levels {
    /// Returns those of a recording; `None` where no rank asked (by `MPI_Init_thread`).
    pub fn of(trace: &Trace) -> Option<Self> {
        let ranks = trace.calls.iter().filter_map(|call| {
            let Action::BeginThreaded {
                asked,
                granted,
                own_threads,
                ..
            } = trace.message(call)?.action
            else {
                return None;
            };
            Some(Self {
                asked,
                granted,
                own_threads,
            })
        });
        ranks.reduce(|one, other| Self {
            asked: one.asked.max(other.asked),
            granted: one.granted.min(other.granted),
            own_threads: one.own_threads.max(other.own_threads),
        })
    }

    /// Says it in a line.
    pub fn text(self) -> String {
        let Self {
            asked,
            granted,
            own_threads,
        } = self;
        format!(
            "MPI_THREAD_{} asked for, MPI_THREAD_{} granted; the library has {own_threads} of its own",
            asked.name().to_uppercase(),
            granted.name().to_uppercase(),
        )
    }

    /// Says it for programs.
    pub fn json(self) -> Value {
        json!({
            "asked": self.asked.name(),
            "granted": self.granted.name(),
            "of_library": self.own_threads,
        })
    }
}
