//! Traces for the tests of other crates.
//!
//! ```
//! let trace = foretrace_testkit::trace("0 A create B\n3 B terminate\n4 A join B\n5 A terminate\n");
//! assert_eq!(trace.threads.len(), 2);
//! ```
//!
//! Deliberately absent: anything that a released crate needs.

use foretrace_trace::{Event, Trace, text};

/// The paper's program P as recorded on one processor (Table 1), as a text trace.
pub const P: &str = include_str!("../../../traces/p.trace.txt");

/// The paper's program Q as recorded on one processor (Table 2), as a text trace.
pub const Q: &str = include_str!("../../../traces/q.trace.txt");

/// The paper's program R as recorded on one processor (Table 3), as a text trace.
pub const R: &str = include_str!("../../../traces/r.trace.txt");

/// Makes a trace of a text trace, whose first line may be left out.
///
/// # Panics
///
/// With the reader's message, when the text is not a text trace.
pub fn trace(text: &str) -> Trace {
    let first = "foretrace-text 1";
    let whole = if text.trim_start().starts_with(first) {
        text.trim_start().to_owned()
    } else {
        format!("{first}\n{text}")
    };
    text::parse(&whole, "test").unwrap_or_else(|error| panic!("{error}\n{whole}"))
}

/// Returns the events of a trace as `THREAD OPERATION OBJECT...`, without times: what most tests compare.
pub fn steps(trace: &Trace) -> Vec<String> {
    trace
        .events
        .iter()
        .map(|event| step(trace, event))
        .collect()
}

fn step(trace: &Trace, event: &Event) -> String {
    let call = trace.call(event);
    let mut step = format!(
        "{} {}",
        trace.threads[call.thread.index()].name,
        call.operation.name()
    );
    let object = call
        .operation
        .object()
        .map(|object| &trace.objects[object.index()].name);
    let thread = call
        .operation
        .other_thread()
        .map(|thread| &trace.threads[thread.index()].name);
    for name in object.into_iter().chain(thread) {
        step.push(' ');
        step.push_str(name);
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_programs_end_at_the_papers_times() {
        for (text, end, threads) in [(P, 18, 4), (Q, 21, 3), (R, 39, 4)] {
            let trace = trace(text);
            assert_eq!(trace.events.last().map(|event| event.time.0), Some(end));
            assert_eq!(trace.threads.len(), threads);
            assert_eq!(trace.warnings, [""; 0]);
        }
    }

    #[test]
    fn steps_name_threads_and_objects() {
        let trace = trace("0 A create B\n0 A send X B\n0 B cond_wait c m\n");
        assert_eq!(steps(&trace), ["A create B", "A send X B", "B cond_wait c"]);
    }
}
