//! Where in the source threads waited, as a table and as JSON.

use foretrace_analysis::SiteContention;
use foretrace_symbols::{Frame, Place, SourceMap};
use foretrace_trace::{Nanos, Returns, Trace};
use serde::Serialize;

use crate::table::{Align, render, unknown};

/// As many call sites as the table shows; the JSON form has them all.
const MOST_SITES: usize = 15;

/// As many characters of a function's name as a table shows: templates and generics can fill screens.
const MOST_CHARACTERS: usize = 48;

/// The places that calls came from.
#[derive(Debug)]
pub struct Sites<'a> {
    trace: &'a Trace,
    contention: Vec<SiteContention>,
    sources: SourceMap,
}

impl<'a> Sites<'a> {
    /// Analyzes the trace; reads the program's files only when they are asked for.
    pub fn new(trace: &'a Trace) -> Self {
        Self {
            trace,
            contention: foretrace_analysis::site_contention(trace),
            sources: SourceMap::new(trace),
        }
    }

    /// Returns those where threads waited, as heading and table; `None` where there are none, or where the trace does not
    /// say who waited.
    pub fn table(&self) -> Option<(String, String)> {
        if self.trace.returns != Returns::Explicit {
            return None;
        }
        // The sites are sorted by time, so those without are at the end.
        let waited = self
            .contention
            .partition_point(|site| site.total_wait > Nanos(0));
        if waited == 0 {
            return None;
        }
        let columns = [
            ("function", Align::Left),
            ("source", Align::Left),
            ("operation", Align::Left),
            ("object", Align::Left),
            ("calls", Align::Right),
            ("blocked", Align::Right),
            ("total wait", Align::Right),
            ("longest", Align::Right),
        ];
        let rows = self.contention[..waited]
            .iter()
            .take(MOST_SITES)
            .flat_map(|contention| {
                let place = self.sources.call(contention.site);
                let row = [
                    shortened_name(&place.name()),
                    source(place).unwrap_or_else(unknown),
                    contention.name().to_owned(),
                    self.named(contention),
                    contention.calls.to_string(),
                    contention.blocked.to_string(),
                    contention.total_wait.to_string(),
                    contention.longest_wait.to_string(),
                ];
                // Below it the functions that called it, where call stacks were recorded.
                let callers = self.sources.callers(contention.site).map(|place| {
                    let mut row = [const { String::new() }; 8];
                    row[0] = format!("  < {}", shortened_name(&place.name()));
                    row[1] = source(place).unwrap_or_else(unknown);
                    row
                });
                std::iter::once(row).chain(callers).collect::<Vec<_>>()
            });
        let heading = format!("Call sites by time waited: {waited}");
        let table = render(columns, rows) + &super::info::more(waited, MOST_SITES);
        Some((heading, table))
    }

    /// Returns the object that the calls named, or how many of what kind.
    fn named(&self, contention: &SiteContention) -> String {
        match (
            contention.objects.as_slice(),
            contention.threads.as_slice(),
            contention.kind,
        ) {
            ([object], _, _) => self.trace.objects[object.index()].name.clone(),
            (objects, _, Some(kind)) => format!("{} x{}", kind.name(), objects.len()),
            (_, [thread], None) => self.trace.threads[thread.index()].name.clone(),
            ([], [], None) => unknown(),
            (_, threads, None) => format!("thread x{}", threads.len()),
        }
    }

    /// Returns where a thread's start routine is, as text.
    pub fn start_text(&self, thread: &foretrace_trace::Thread) -> Option<String> {
        let place = self.sources.routine(thread.start_routine?);
        let name = shortened_name(&place.name());
        Some(match source(place) {
            Some(source) => format!("{name} ({source})"),
            None => name,
        })
    }

    /// Returns where a thread's start routine is.
    pub fn start_frame(&self, thread: &foretrace_trace::Thread) -> Option<&Frame> {
        self.sources.routine(thread.start_routine?).frame()
    }

    /// Returns all of them for the JSON document.
    pub fn json(&self) -> Vec<SiteJson<'_>> {
        self.contention
            .iter()
            .map(|contention| self.site_json(contention))
            .collect()
    }

    fn site_json(&self, contention: &SiteContention) -> SiteJson<'_> {
        let place = self.sources.call(contention.site);
        let waits = self.trace.returns == Returns::Explicit;
        SiteJson {
            place: FrameJson::new(place.frame()),
            module: &place.module,
            offset: place.offset,
            frames: FrameJson::all(place),
            callers: self
                .sources
                .callers(contention.site)
                .map(PlaceJson::new)
                .collect(),
            operation: contention.operation,
            construct: contention.construct,
            object_kind: contention.kind.map(foretrace_trace::ObjectKind::name),
            objects: contention
                .objects
                .iter()
                .map(|object| self.trace.objects[object.index()].name.as_str())
                .collect(),
            threads: contention
                .threads
                .iter()
                .map(|thread| self.trace.threads[thread.index()].name.as_str())
                .collect(),
            calls: contention.calls,
            blocked: waits.then_some(contention.blocked),
            total_wait_ns: waits.then_some(contention.total_wait.0),
            longest_wait_ns: waits.then_some(contention.longest_wait.0),
            never_returned: waits.then_some(contention.never_returned),
        }
    }

    /// Returns what stands in the source.
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Returns why functions and lines that were shown before this call are missing or may be wrong.
    pub fn notes(&self) -> Vec<String> {
        self.sources.notes()
    }
}

/// A function and where it is; what is not known is `null`.
#[derive(Debug, Serialize)]
pub struct FrameJson<'a> {
    function: Option<&'a str>,
    function_offset: Option<u64>,
    file: Option<&'a str>,
    line: Option<u32>,
}

impl<'a> FrameJson<'a> {
    fn all(place: &'a Place) -> Vec<Self> {
        let frames = place.frames.iter();
        frames.map(|frame| Self::new(Some(frame))).collect()
    }

    /// Takes it from a frame.
    pub fn new(frame: Option<&'a Frame>) -> Self {
        Self {
            function: frame.and_then(|frame| frame.function.as_deref()),
            function_offset: frame.and_then(|frame| frame.offset),
            file: frame.and_then(|frame| frame.file.as_deref()),
            line: frame.and_then(|frame| frame.line),
        }
    }
}

/// A place on a call stack.
#[derive(Debug, Serialize)]
pub struct PlaceJson<'a> {
    #[serde(flatten)]
    place: FrameJson<'a>,
    module: &'a str,
    offset: u64,
    frames: Vec<FrameJson<'a>>,
}

impl<'a> PlaceJson<'a> {
    /// Takes it from a place.
    pub fn new(place: &'a Place) -> Self {
        Self {
            place: FrameJson::new(place.frame()),
            module: &place.module,
            offset: place.offset,
            frames: FrameJson::all(place),
        }
    }
}

/// What one place called; what is about waiting is `null` where the trace does not say who waited.
#[derive(Debug, Serialize)]
pub struct SiteJson<'a> {
    #[serde(flatten)]
    place: FrameJson<'a>,
    module: &'a str,
    offset: u64,
    frames: Vec<FrameJson<'a>>,
    /// The functions that it was called through, from the inside out, where call stacks were recorded.
    callers: Vec<PlaceJson<'a>>,
    operation: &'static str,
    /// The OpenMP construct that the operation stands for; `null` if it is what it says.
    construct: Option<&'static str>,
    object_kind: Option<&'static str>,
    objects: Vec<&'a str>,
    threads: Vec<&'a str>,
    calls: u64,
    blocked: Option<u64>,
    total_wait_ns: Option<u64>,
    longest_wait_ns: Option<u64>,
    never_returned: Option<u64>,
}

/// Returns `file:line`, the file with the last of its directories.
pub fn source(place: &Place) -> Option<String> {
    let frame = place.frame()?;
    let file = shortened_path(frame.file.as_deref()?);
    Some(match frame.line {
        Some(line) => format!("{file}:{line}"),
        None => file.to_owned(),
    })
}

/// Returns a path's last two components, which tell most files of a program apart.
fn shortened_path(path: &str) -> &str {
    path.rmatch_indices('/')
        .nth(1)
        .map_or(path, |(slash, _)| &path[slash + 1..])
}

/// Returns a function's name, cut where it is long.
pub fn shortened_name(name: &str) -> String {
    if name.chars().count() <= MOST_CHARACTERS {
        return name.to_owned();
    }
    let kept: String = name.chars().take(MOST_CHARACTERS - 3).collect();
    kept + "..."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_keep_their_last_directory() {
        for (path, shortened) in [
            ("/home/me/project/src/pool.c", "src/pool.c"),
            ("/pool.c", "/pool.c"),
            ("src/pool.c", "src/pool.c"),
            ("pool.c", "pool.c"),
        ] {
            assert_eq!(shortened_path(path), shortened);
        }
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(shortened_name("work"), "work");
        let long = "é".repeat(50);
        let cut = shortened_name(&long);
        assert_eq!(cut.chars().count(), MOST_CHARACTERS);
        assert!(cut.ends_with("..."));
    }
}
