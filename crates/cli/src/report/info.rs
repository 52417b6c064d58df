//! What a trace holds, as tables and as JSON.

use std::fmt::Write as _;

use foretrace_analysis::{Contention, OperationCount, Spin, ThreadSummary};
use foretrace_program::Structure;
use foretrace_trace::{Nanos, Recording, Returns, Trace};
use serde::Serialize;

use super::{
    json::{TraceJson, clock_name},
    levels::Levels,
    pools::PoolJson,
    sites::{SiteJson, Sites},
    spins::{self, SpinJson},
    structures::{self, StructureJson},
};
use crate::{
    launch,
    table::{Align, render, unknown},
};

/// As many threads as the table shows; the JSON form has them all.
const MOST_THREADS: usize = 64;

/// As many objects as the table shows; the JSON form has them all.
const MOST_OBJECTS: usize = 20;

/// What `info` shows.
#[derive(Debug)]
pub struct Info<'a> {
    trace: &'a Trace,
    threads: Vec<ThreadSummary>,
    objects: Vec<Contention>,
    operations: Vec<OperationCount>,
    spins: Vec<Spin>,
    structures: Vec<Structure>,
    sites: Sites<'a>,
    pools: Vec<PoolJson>,
}

impl<'a> Info<'a> {
    /// Analyzes the trace.
    pub fn new(trace: &'a Trace, structures: Vec<Structure>, pools: Vec<PoolJson>) -> Self {
        Self {
            trace,
            pools,
            threads: foretrace_analysis::threads(trace),
            objects: foretrace_analysis::contention(trace),
            operations: foretrace_analysis::operation_counts(trace),
            spins: foretrace_analysis::spins(trace),
            structures,
            sites: Sites::new(trace),
        }
    }

    /// Returns all of it as text.
    pub fn text(&self) -> String {
        let mut text = self.circumstances();
        // Writing to a string cannot fail.
        let mut section = |heading: &str, body: &str| {
            if !body.is_empty() {
                let _ = write!(text, "\n{heading}\n{body}");
            }
        };
        section(
            &format!("Threads: {}", self.threads.len()),
            &self.thread_table(),
        );
        let objects = format!("Objects by time waited for them: {}", self.objects.len());
        section(&objects, &self.object_table());
        if let Some((heading, table)) = self.sites.table() {
            section(&heading, &table);
        }
        if let Some((heading, table)) = spins::table(&self.spins, self.sites.sources()) {
            section(&heading, &table);
        }
        let found = structures::table(self.trace, &self.structures, self.sites.sources());
        if let Some((heading, table)) = found {
            section(&heading, &table);
        }
        let pools: Vec<String> = self.pools.iter().map(PoolJson::text).collect();
        section("Work pools", &list(&pools));
        section("Events by operation", &self.operation_table());
        section(
            "Warnings: what limits a prediction from this trace",
            &list(&self.trace.warnings),
        );
        section(
            "Notes: what limits the functions and lines above",
            &list(&self.sites.notes()),
        );
        text
    }

    fn circumstances(&self) -> String {
        let trace = self.trace;
        let mut lines = vec![("trace", trace.source.clone())];
        match &trace.recording {
            None => lines.push(("recorded", "no: a listing written by hand".to_owned())),
            Some(recording) => lines.extend(recording_lines(recording)),
        }
        if let Some(levels) = Levels::of(trace) {
            lines.push(("threads in MPI", levels.text()));
        }
        lines.push(("thread CPU time", trace.total_cpu().to_string()));
        lines.push(("events", trace.events.len().to_string()));
        let mut text = String::new();
        for (name, value) in lines {
            let _ = writeln!(text, "{name:<17} {value}");
        }
        text
    }

    fn thread_table(&self) -> String {
        let columns = [
            ("thread", Align::Left),
            ("CPU time", Align::Right),
            ("share", Align::Right),
            ("events", Align::Right),
            ("waits", Align::Right),
            ("waited", Align::Right),
            ("first event", Align::Right),
            ("ended", Align::Right),
            ("starts at", Align::Left),
        ];
        let total = self.trace.total_cpu().0.max(1) as f64;
        let rows = self.threads.iter().take(MOST_THREADS).map(|summary| {
            let thread = &self.trace.threads[summary.thread.index()];
            let time = |time: Option<Nanos>| time.map_or_else(unknown, |t| t.to_string());
            [
                thread.name.clone(),
                summary.cpu.to_string(),
                format!("{:.1} %", 100.0 * summary.cpu.0 as f64 / total),
                summary.events.to_string(),
                self.waiting(&summary.blocked),
                self.waiting(&summary.waited),
                time(summary.first),
                summary
                    .end
                    .map_or_else(|| "never".to_owned(), |t| t.to_string()),
                self.sites.start_text(thread).unwrap_or_default(),
            ]
        });
        render(columns, rows) + &more(self.threads.len(), MOST_THREADS)
    }

    fn object_table(&self) -> String {
        if self.objects.is_empty() {
            return String::new();
        }
        let columns = [
            ("object", Align::Left),
            ("kind", Align::Left),
            ("calls", Align::Right),
            ("acquired", Align::Right),
            ("blocked", Align::Right),
            ("total wait", Align::Right),
            ("longest", Align::Right),
            ("never back", Align::Right),
        ];
        let rows = self.objects.iter().take(MOST_OBJECTS).map(|contention| {
            let object = &self.trace.objects[contention.object.index()];
            [
                object.name.clone(),
                object.kind.name().to_owned(),
                contention.calls.to_string(),
                contention.acquisitions.to_string(),
                self.waiting(&contention.blocked),
                self.waiting(&contention.total_wait),
                self.waiting(&contention.longest_wait),
                self.waiting(&contention.never_returned),
            ]
        });
        render(columns, rows) + &more(self.objects.len(), MOST_OBJECTS)
    }

    /// Shows a number about waiting, or a dash where the trace does not say who waited.
    fn waiting<T: ToString>(&self, number: &T) -> String {
        self.known(number).map_or_else(unknown, ToString::to_string)
    }

    /// Passes on a number about waiting where the trace says who waited.
    fn known<T>(&self, number: T) -> Option<T> {
        (self.trace.returns == Returns::Explicit).then_some(number)
    }

    fn operation_table(&self) -> String {
        if self.operations.is_empty() {
            return String::new();
        }
        let columns = [
            ("operation", Align::Left),
            ("events", Align::Right),
            ("times", Align::Right),
        ];
        let rows = self.operations.iter().map(|count| {
            [
                count.operation.to_owned(),
                count.events.to_string(),
                count.times.to_string(),
            ]
        });
        render(columns, rows)
    }

    /// Returns all of it as a JSON document.
    pub fn json(&self) -> impl Serialize + use<'_> {
        let threads = self.threads.iter().map(|t| self.thread_json(t)).collect();
        let sites = self.sites.json();
        let spins = spins::json(&self.spins, self.sites.sources());
        InfoJson {
            trace: TraceJson::new(self.trace),
            threads,
            objects: self.objects.iter().map(|o| self.object_json(o)).collect(),
            events: self
                .operations
                .iter()
                .map(|count| OperationJson {
                    operation: count.operation,
                    events: count.events,
                    times: count.times,
                })
                .collect(),
            sites,
            spins,
            structures: structures::json(self.trace, &self.structures, self.sites.sources()),
            pools: &self.pools,
            // Last, since they are about what was looked up for the others.
            notes: self.sites.notes(),
        }
    }

    fn thread_json(&self, summary: &ThreadSummary) -> ThreadJson<'_> {
        let thread = &self.trace.threads[summary.thread.index()];
        let start = self.sites.start_frame(thread);
        ThreadJson {
            name: &thread.name,
            start_routine: thread.start_routine.map(|site| self.trace.site_text(site)),
            start_function: start.and_then(|frame| frame.function.as_deref()),
            start_file: start.and_then(|frame| frame.file.as_deref()),
            start_line: start.and_then(|frame| frame.line),
            cpu_time_ns: summary.cpu.0,
            events: summary.events,
            blocked: self.known(summary.blocked),
            waited_ns: self.known(summary.waited.0),
            first_event_ns: summary.first.map(|time| time.0),
            ended_ns: summary.end.map(|time| time.0),
        }
    }

    fn object_json(&self, contention: &Contention) -> ObjectJson<'_> {
        let object = &self.trace.objects[contention.object.index()];
        ObjectJson {
            name: &object.name,
            kind: object.kind.name(),
            calls: contention.calls,
            acquisitions: contention.acquisitions,
            blocked: self.known(contention.blocked),
            total_wait_ns: self.known(contention.total_wait.0),
            longest_wait_ns: self.known(contention.longest_wait.0),
            never_returned: self.known(contention.never_returned),
        }
    }
}

fn recording_lines(recording: &Recording) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if !recording.command.is_empty() {
        lines.push(("command", recording.command.join(" ")));
    }
    match recording.exit {
        // What is noted at the end of a recording is missing; zeroes in its place would mislead.
        None => lines.push(("ended", "unknown: the recording was cut short".to_owned())),
        Some(exit) => {
            let slice = recording.slice.map_or_else(
                || "the kernel's own choice".to_owned(),
                |slice| format!("{slice}, where they unlock something"),
            );
            lines.extend([
                ("ended", launch::exit_text(exit)),
                ("wall time", recording.wall.to_string()),
                ("recorded on CPU", recording.cpu.to_string()),
                ("turns of threads", slice),
            ]);
        }
    }
    if let Some(time) = recording.cpu_time {
        lines.push(("process CPU time", time.to_string()));
    }
    lines.push(("pretended CPUs", recording.pretended_cpus.to_string()));
    lines.push(("thread clock", clock_name(recording.clock).to_owned()));
    let taken_out = format!("{}, taken out of all CPU times", recording.recorder_cpu);
    lines.push(("recorder CPU time", taken_out));
    if !recording.recorder_version.is_empty() {
        let version = format!("foretrace {}", recording.recorder_version);
        lines.push(("recorder", version));
    }
    if recording.lost_events > 0 {
        lines.push(("lost events", recording.lost_events.to_string()));
    }
    lines
}

fn list(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        let _ = writeln!(text, "- {line}");
    }
    text
}

/// Returns the line below a table that does not show all of its rows; nothing for one that does.
pub fn more(rows: usize, shown: usize) -> String {
    match rows.checked_sub(shown) {
        None | Some(0) => String::new(),
        Some(hidden) => format!("and {hidden} more (all of them with --json)\n"),
    }
}

#[derive(Debug, Serialize)]
struct InfoJson<'a> {
    trace: TraceJson<'a>,
    threads: Vec<ThreadJson<'a>>,
    objects: Vec<ObjectJson<'a>>,
    events: Vec<OperationJson>,
    sites: Vec<SiteJson<'a>>,
    spins: Vec<SpinJson<'a>>,
    structures: Vec<StructureJson<'a>>,
    #[serde(skip_serializing_if = "<[PoolJson]>::is_empty")]
    pools: &'a [PoolJson],
    notes: Vec<String>,
}

/// A thread; what is about waiting is `null` where the trace does not say who waited.
#[derive(Debug, Serialize)]
struct ThreadJson<'a> {
    name: &'a str,
    start_routine: Option<String>,
    start_function: Option<&'a str>,
    start_file: Option<&'a str>,
    start_line: Option<u32>,
    cpu_time_ns: u64,
    events: u64,
    blocked: Option<u64>,
    waited_ns: Option<u64>,
    first_event_ns: Option<u64>,
    ended_ns: Option<u64>,
}

/// An object; what is about waiting is `null` where the trace does not say who waited.
#[derive(Debug, Serialize)]
struct ObjectJson<'a> {
    name: &'a str,
    kind: &'static str,
    calls: u64,
    acquisitions: u64,
    blocked: Option<u64>,
    total_wait_ns: Option<u64>,
    longest_wait_ns: Option<u64>,
    never_returned: Option<u64>,
}

#[derive(Debug, Serialize)]
struct OperationJson {
    operation: &'static str,
    events: u64,
    times: u64,
}
