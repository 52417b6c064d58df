//! What condition variables were found to be, as a table and as JSON.

use foretrace_program::{Pattern, Structure};
use foretrace_symbols::SourceMap;
use foretrace_trace::Trace;
use serde::Serialize;

use super::sites::{PlaceJson, shortened_name, source};
use crate::table::{Align, render, unknown};

/// As many condition variables as the table shows; the JSON form has them all.
const MOST_CONDITIONS: usize = 20;

/// Returns heading and table; `None` where no condition variable was waited on.
pub fn table(
    trace: &Trace,
    structures: &[Structure],
    sources: &SourceMap,
) -> Option<(String, String)> {
    if structures.is_empty() {
        return None;
    }
    let columns = [
        ("object", Align::Left),
        ("replayed as", Align::Left),
        ("waits", Align::Right),
        ("function", Align::Left),
        ("source", Align::Left),
    ];
    let rows = structures.iter().take(MOST_CONDITIONS).map(|structure| {
        let place = structure.sites.first().map(|&site| sources.call(site));
        let more = match structure.sites.len() {
            0 | 1 => String::new(),
            sites => format!(" and {} more", sites - 1),
        };
        [
            trace.objects[structure.object.index()].name.clone(),
            replayed_as(structure),
            structure.waits.to_string(),
            place.map_or_else(unknown, |place| shortened_name(&place.name())),
            place.and_then(source).unwrap_or_else(unknown) + &more,
        ]
    });
    let known = structures.iter().filter(|s| s.pattern.is_some()).count();
    let heading = format!(
        "Condition variables, locks that are polled, tried or lightswitches, semaphores of barriers, and futexes that are locks or barriers: {}, of which {known} with a structure that explains the whole recording",
        structures.len()
    );
    let table = render(columns, rows) + &super::info::more(structures.len(), MOST_CONDITIONS);
    Some((heading, table))
}

fn replayed_as(structure: &Structure) -> String {
    let pattern = structure.pattern.map(text);
    let given_up = match structure.given_up {
        0 => String::new(),
        tries => format!(", given up by {tries} tries"),
    };
    pattern.unwrap_or_else(|| "recorded".to_owned()) + &given_up
}

fn text(pattern: Pattern) -> String {
    let name = pattern.name();
    match pattern {
        Pattern::Barrier { threads } => format!("{name} of {threads}"),
        Pattern::Semaphore { initial } => format!("{name}, first {initial}"),
        Pattern::Gate
        | Pattern::Polling
        | Pattern::Tries
        | Pattern::Progress
        | Pattern::Rounds
        | Pattern::Count
        | Pattern::ReadersWriter
        | Pattern::Lock
        | Pattern::Lightswitch => name.to_owned(),
        Pattern::Latch { count } => format!("{name} of {count}"),
    }
}

/// A condition variable that was waited on; `pattern` is `null` where it is replayed as recorded.
#[derive(Debug, Serialize)]
pub struct StructureJson<'a> {
    object: &'a str,
    pattern: Option<&'static str>,
    /// The threads of a barrier, what a semaphore holds at first, what a latch waits for.
    count: Option<u32>,
    waits: u64,
    /// How many tries that succeeded in the recording give it up where they have to wait in a replay.
    given_up: u64,
    /// Where threads lock the mutex to wait, or to look whether they have to.
    sites: Vec<PlaceJson<'a>>,
}

/// Returns all of them for the JSON document.
pub fn json<'a>(
    trace: &'a Trace,
    structures: &[Structure],
    sources: &'a SourceMap,
) -> Vec<StructureJson<'a>> {
    structures
        .iter()
        .map(|structure| StructureJson {
            object: &trace.objects[structure.object.index()].name,
            pattern: structure.pattern.map(Pattern::name),
            count: match structure.pattern {
                Some(
                    Pattern::Barrier { threads: count }
                    | Pattern::Semaphore { initial: count }
                    | Pattern::Latch { count },
                ) => Some(count),
                Some(
                    Pattern::Gate
                    | Pattern::Polling
                    | Pattern::Tries
                    | Pattern::Progress
                    | Pattern::Rounds
                    | Pattern::Count
                    | Pattern::ReadersWriter
                    | Pattern::Lock
                    | Pattern::Lightswitch,
                )
                | None => None,
            },
            waits: structure.waits,
            given_up: structure.given_up,
            sites: structure
                .sites
                .iter()
                .map(|&site| PlaceJson::new(sources.call(site)))
                .collect(),
        })
        .collect()
}
