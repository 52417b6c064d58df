//! Where threads spun, as a table, as JSON and as warnings.

use foretrace_analysis::Spin;
use foretrace_symbols::{Place, SourceMap};
use foretrace_trace::{Nanos, Trace};
use serde::Serialize;

use super::sites::{FrameJson, shortened_name, source};
use crate::{
    launch::spins::{self, Found, WaitingLoop},
    table::{Align, render, unknown},
};

/// As many places as the table shows; the JSON form has them all.
const MOST_PLACES: usize = 15;

/// Spinning is worth a warning from this share of all CPU time on, and from this time on.
const WARNED_SHARE: u64 = 100;
const WARNED_TIME: Nanos = Nanos(1_000_000);

/// So are as many calls in vain, where they are a tenth of all events.
const MANY_FAILURES: u64 = 1_000;

/// Where more than one part in so many of the spinning was not taken out, that is told.
const MOST_LEFT: u64 = 5;

/// Returns heading and table of the places where threads spun; `None` where none did.
pub fn table(spins: &[Spin], sources: &SourceMap) -> Option<(String, String)> {
    if spins.is_empty() {
        return None;
    }
    let columns = [
        ("function", Align::Left),
        ("source", Align::Left),
        ("operation", Align::Left),
        ("failures", Align::Right),
        ("times", Align::Right),
        ("CPU time", Align::Right),
    ];
    let rows = spins.iter().take(MOST_PLACES).map(|spin| {
        let place = spin.site.map(|site| sources.call(site));
        [
            place.map_or_else(unknown, |place| shortened_name(&place.name())),
            place.and_then(source).unwrap_or_else(unknown),
            spin.operation.to_owned(),
            spin.failures.to_string(),
            spin.times.to_string(),
            spin.cpu.to_string(),
        ]
    });
    let heading = format!("Places that asked again and again: {}", spins.len());
    let table = render(columns, rows) + &super::info::more(spins.len(), MOST_PLACES);
    Some((heading, table))
}

/// Returns warnings of what spinning took much of the threads' CPU time, and would not be needed on as many CPUs as threads.
pub fn warnings(trace: &Trace, cpu_time: Nanos) -> Vec<String> {
    let spins = foretrace_analysis::spins(trace);
    let least = WARNED_TIME.max(Nanos(cpu_time.0 / WARNED_SHARE));
    let most_events = MANY_FAILURES.max(trace.events.len() as u64 / 10);
    let sources = SourceMap::new(trace);
    spins
        .iter()
        // The recorder's own part of so many calls is not in their CPU times.
        .filter(|spin| spin.cpu >= least || spin.failures >= most_events)
        .map(|spin| {
            let place = spin.site.map(|site| sources.call(site));
            let name = place.map_or_else(|| "an unknown place".to_owned(), Place::name);
            let line = place.and_then(source);
            let line = line.map_or_else(String::new, |line| format!(" ({line})"));
            format!(
                "{} of CPU time passed while {name}{line} called {} {} times without getting what it asked for: on one \
                 CPU such spinning holds up those that it waits for, and predictions count it as work",
                spin.cpu, spin.operation, spin.failures
            )
        })
        .collect()
}

/// Takes the time in loops that waited for memory to change out of a trace that began at this time, as far as it was watched, and adds the
/// places to the trace's. Returns warnings, given the CPU time of the whole program.
pub fn take_out_loops(
    trace: &mut Trace,
    start: Nanos,
    found: &Result<Found, String>,
    total: Nanos,
) -> Vec<String> {
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            return vec![format!(
                "loops that spin on memory could not be looked for: the kernel does not let this program be sampled \
                 ({error}); see the setting kernel.perf_event_paranoid, which must be 2 at most"
            )];
        }
    };
    let least = WARNED_TIME.max(Nanos(total.0 / WARNED_SHARE));
    let worst = found.loops();
    let worst = worst.iter().filter(|found| found.cpu >= least);
    let worst: Vec<WaitingLoop> = worst.take(MOST_PLACES).cloned().collect();
    let all = worst.iter().fold(Nanos(0), |sum, found| sum + found.cpu);
    let sites = spins::add_sites(trace, &worst);
    // A rank's messages say when it works, and nothing what it looks for beside them.
    let has_ranks = !trace.ranks().is_empty();
    let taken = if has_ranks {
        Nanos(0)
    } else {
        found.take_out(trace, start)
    };
    let sources = SourceMap::new(trace);
    let loops = worst.iter().zip(sites);
    let mut warnings: Vec<String> = loops
        .map(|(found, site)| {
            let place = sources.routine(site);
            let line = source(place).map_or_else(String::new, |line| format!(" ({line})"));
            format!(
                "about {} of {total} of CPU time passed in a loop of {}{line} that waits for memory to change: on one CPU such \
                 spinning holds up those that it waits for; let it sleep there (a condition variable, a semaphore)",
                found.cpu,
                place.name()
            )
        })
        .collect();
    if taken > Nanos(0) {
        warnings.push(format!(
            "{taken} of such spinning are no work in predictions, but waits until those that ran meanwhile come as far; which thread \
             ends one is not known for sure"
        ));
    }
    if has_ranks && all > Nanos(0) {
        warnings.push("in ranks of MPI that spinning counts as work in predictions".to_owned());
    } else if all > taken + Nanos(all.0 / MOST_LEFT) {
        warnings.push(
            "the rest of that spinning, from before it was noticed, counts as work in predictions: `record --find-spins` looks \
             for it from the beginning"
                .to_owned(),
        );
    }
    warnings
}

/// A place where threads spun.
#[derive(Debug, Serialize)]
pub struct SpinJson<'a> {
    #[serde(flatten)]
    place: FrameJson<'a>,
    operation: &'static str,
    failures: u64,
    times: u64,
    cpu_time_ns: u64,
}

/// Returns all of them for the JSON document.
pub fn json<'a>(spins: &[Spin], sources: &'a SourceMap) -> Vec<SpinJson<'a>> {
    let one = |spin: &Spin| SpinJson {
        place: FrameJson::new(spin.site.and_then(|site| sources.call(site).frame())),
        operation: spin.operation,
        failures: spin.failures,
        times: spin.times,
        cpu_time_ns: spin.cpu.0,
    };
    spins.iter().map(one).collect()
}
