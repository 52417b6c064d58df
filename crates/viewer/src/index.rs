//! What can be found by its name: all threads, objects and call sites, whether anybody waited for them or not.

use std::{borrow::Cow, collections::BTreeMap};

use foretrace_schedule::SimTime;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::{
    loaded::Loaded,
    navigate::{Selected, Selection},
    panels::source_view,
    source::{CANCELLED, Progress, ScheduleSource},
};

/// Something that can be found.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What it is.
    pub text: String,
    /// What is selected for it: the longest wait, or the first time that anybody was there.
    pub selection: Selection,
    /// Its names, in small letters.
    names: String,
}

/// All that can be found in a prediction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Index {
    entries: Vec<Entry>,
}

/// Where something was first done: when, in which lane, and which of its operations.
type First = (SimTime, usize, usize);

/// What the operations of lanes are about.
#[derive(Default)]
struct Places {
    objects: BTreeMap<u32, First>,
    sites: BTreeMap<u32, (First, Cow<'static, str>)>,
}

/// After so many operations it is asked whether the rest is still wanted.
const ASKED_EVERY: usize = 1 << 16;

impl Index {
    /// Looks through all operations of a prediction, and reads the names of their call sites.
    ///
    /// # Errors
    ///
    /// [`CANCELLED`] where the progress said so.
    pub fn new(
        loaded: &Loaded,
        source: &dyn ScheduleSource,
        progress: &Progress,
    ) -> Result<Self, String> {
        let lanes = loaded.picture.schedule.lanes.len();
        let places: Vec<Places> = (0..lanes)
            .into_par_iter()
            .map(|lane| Places::of(lane, loaded, source, progress))
            .collect();
        let mut all = Places::default();
        for places in places {
            all.add_all(places);
        }
        if progress.is_cancelled() {
            return Err(CANCELLED.to_owned());
        }
        let mut entries = threads(loaded);
        entries.extend(objects(loaded, &all));
        entries.extend(sites(loaded, source, &all));
        Ok(Self { entries })
    }

    /// Returns what has a text in one of its names, in whatever case.
    pub fn search<'a>(&'a self, text: &str) -> impl Iterator<Item = &'a Entry> + use<'a> {
        let wanted = text.to_lowercase();
        let entries = self.entries.iter();
        entries.filter(move |entry| !wanted.is_empty() && entry.names.contains(&wanted))
    }
}

impl Places {
    fn of(lane: usize, loaded: &Loaded, source: &dyn ScheduleSource, progress: &Progress) -> Self {
        let mut places = Self::default();
        let marks = loaded.picture.marks.lane(lane);
        for (mark, (&at, &event)) in marks.times.iter().zip(&marks.events).enumerate() {
            if mark.is_multiple_of(ASKED_EVERY) && progress.is_cancelled() {
                break;
            }
            let Some(event) = source.event(event) else {
                continue;
            };
            let first = (at, lane, mark);
            if let Some(object) = event.object {
                places.objects.entry(object).or_insert(first);
            }
            if let Some(site) = event.site {
                let place = places.sites.entry(site);
                place.or_insert((first, event.operation));
            }
        }
        places
    }

    fn add_all(&mut self, other: Self) {
        for (object, first) in other.objects {
            let known = self.objects.entry(object).or_insert(first);
            *known = first.min(*known);
        }
        for (site, place) in other.sites {
            let known = self.sites.entry(site).or_insert_with(|| place.clone());
            if place.0 < known.0 {
                *known = place;
            }
        }
    }
}

fn at((_, lane, mark): First) -> Selection {
    Selection {
        lane,
        what: Selected::Mark(mark),
    }
}

fn waiting((lane, segment): (usize, usize)) -> Selection {
    Selection {
        lane,
        what: Selected::Segment(segment),
    }
}

fn threads(loaded: &Loaded) -> Vec<Entry> {
    let kind = loaded.kind_of_lane();
    let facts = loaded.facts.iter().enumerate();
    let entries = facts.map(|(lane, facts)| {
        let name = &facts.name;
        let mut text = if name.starts_with(kind) {
            name.clone()
        } else {
            format!("{kind} {name}")
        };
        let routine = facts.routine.as_deref().unwrap_or_default();
        if !routine.is_empty() {
            text = format!("{text}, runs {routine}");
        }
        let names = format!("{text}\n{}", facts.process);
        let what = Selected::Lane;
        Entry {
            text,
            selection: Selection { lane, what },
            names: names.to_lowercase(),
        }
    });
    entries.collect()
}

fn objects(loaded: &Loaded, places: &Places) -> Vec<Entry> {
    let mut waits: BTreeMap<u32, _> = loaded.lists.objects.iter().copied().collect();
    let entry = |object: u32, text: String, selection| Entry {
        text,
        selection,
        names: loaded.object(object).to_lowercase(),
    };
    // Those that are waited for come first, in the order of the list.
    let waited = loaded.lists.objects.iter();
    let mut entries: Vec<Entry> = waited
        .map(|(object, waits)| {
            let text = format!("{}: longest wait {}", loaded.object(*object), waits.longest);
            entry(*object, text, waiting(waits.at))
        })
        .collect();
    for (object, first) in &places.objects {
        if waits.remove(object).is_none() {
            let text = loaded.object(*object).to_owned();
            entries.push(entry(*object, text, at(*first)));
        }
    }
    entries
}

fn sites(loaded: &Loaded, source: &dyn ScheduleSource, places: &Places) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut entry = |site: u32, operation: &str, wait: Option<SimTime>, selection| {
        let place = source.site(site);
        let mut text = format!("{operation} in {}", place.function);
        let mut names = format!("{operation}\n{}", place.function);
        if let Some((file, line)) = &place.line {
            text = format!("{text}, {}", source_view::short_line(file, *line));
            names = format!("{names}\n{file}:{line}");
        }
        for (caller, line) in &place.callers {
            let file = line.as_ref().map_or("", |(file, _)| file);
            names = format!("{names}\n{caller}\n{file}");
        }
        if let Some(wait) = wait {
            text = format!("{text}: longest wait {wait}");
        }
        entries.push(Entry {
            text,
            selection,
            names: names.to_lowercase(),
        });
    };
    let mut rest: BTreeMap<_, _> = places.sites.iter().collect();
    for site in &loaded.lists.sites {
        rest.remove(&site.site);
        let waits = &site.waits;
        entry(
            site.site,
            &site.operation,
            Some(waits.longest),
            waiting(waits.at),
        );
    }
    for (site, (first, operation)) in rest {
        entry(*site, operation, None, at(*first));
    }
    entries
}
