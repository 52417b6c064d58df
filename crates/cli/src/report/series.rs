//! A series as a table.

use foretrace_trace::Trace;

use crate::{
    launch,
    table::{Align, render, unknown},
};

/// Returns a table with a row for each recording.
pub fn text(traces: &[(u32, Trace)]) -> String {
    let columns = [
        ("CPUs", Align::Right),
        ("threads", Align::Right),
        ("events", Align::Right),
        ("CPU time", Align::Right),
        ("warnings", Align::Right),
        ("ended", Align::Left),
        ("trace", Align::Left),
    ];
    render(columns, traces.iter().map(row))
}

fn row((cpus, trace): &(u32, Trace)) -> [String; 7] {
    let recording = trace.recording.as_ref();
    let exit = recording.and_then(|recording| recording.exit);
    [
        cpus.to_string(),
        trace.threads.len().to_string(),
        trace.events.len().to_string(),
        trace.total_cpu().to_string(),
        trace.warnings.len().to_string(),
        exit.map_or_else(unknown, launch::exit_text),
        trace.source.clone(),
    ]
}
