//! What limits a predicted run, and what would help, as tables.

mod json;

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write as _,
};

use foretrace_analysis::{
    Change, Constructs, OnPath, PathPart, PathShare, PredictedWait, Spot, Stretch, Within,
    awaited_by_rank,
};
use foretrace_network::Ease;
use foretrace_schedule::{Activity, Schedule, SimTime, State, WaitKind};
use foretrace_symbols::{Place, SourceMap};
use foretrace_trace::{Call, ObjectId, SiteId, Trace};
use foretrace_viewer::source::Advice;

use super::{
    info::more,
    machine, messages as messages_report,
    sites::{shortened_name, source},
};
use crate::{
    core::Prediction,
    messages::{self, Replay},
    table::{Align, render, unknown},
};

/// As many rows as a table shows; the JSON form has them all.
const MOST_ROWS: usize = 10;

/// Less than such a share of the makespan is not shown.
const LEAST_SHARE: f64 = 0.001;

/// A change that takes off less than such a share of the makespan is not listed.
const LEAST_GAIN: f64 = 0.01;

/// As many threads as are named.
const MOST_NAMES: usize = 2;

/// A change of the program, and how it would run then.
pub struct Tried {
    /// The change.
    pub change: Change,
    /// When that ends.
    pub end: SimTime,
}

/// Whose run it is.
pub enum Subject<'t> {
    /// Threads', on CPUs.
    Threads {
        /// The prediction.
        prediction: Box<Prediction>,
        /// The one for a CPU a thread, where those are more.
        most: Option<Box<Prediction>>,
    },
    /// Ranks', that pass messages.
    Ranks {
        /// The ranks, and their network.
        replay: &'t Replay,
        /// The model that answered.
        model: &'static str,
    },
}

/// What limits a predicted run, and what would help.
pub struct Explanation<'t> {
    trace: &'t Trace,
    sources: SourceMap,
    /// What is called at each site.
    calls: HashMap<SiteId, &'t Call>,
    constructs: Constructs,
    subject: Subject<'t>,
    schedule: Schedule,
    path: Vec<PathShare>,
    waits: Vec<PredictedWait>,
    tried: Vec<Tried>,
}

impl<'t> Explanation<'t> {
    /// Puts together what was found of a prediction.
    pub fn new(
        trace: &'t Trace,
        subject: Subject<'t>,
        schedule: Schedule,
        (path, waits): (Vec<PathShare>, Vec<PredictedWait>),
        mut tried: Vec<Tried>,
    ) -> Self {
        let mut calls = HashMap::new();
        for call in &trace.calls {
            if let Some(site) = call.site {
                calls.entry(site).or_insert(call);
            }
        }
        // Stable, so that equals stay in the order in which they were found.
        tried.sort_by_key(|tried| tried.end);
        Self {
            trace,
            sources: SourceMap::new(trace),
            calls,
            constructs: Constructs::of(trace),
            subject,
            schedule,
            path,
            waits,
            tried,
        }
    }

    /// Returns them as tables.
    pub fn text(&self) -> String {
        let mut text = self.heading();
        text += &self.path_table();
        text += &self.waits_table();
        text += &self.changes_table();
        let on = match &self.subject {
            Subject::Threads { prediction, .. } => machine::text(&prediction.result.machine),
            Subject::Ranks { replay, .. } => messages_report::network(replay),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{on}");
        for note in self.sources.notes() {
            let _ = writeln!(text, "\nNote: {note}");
        }
        text
    }

    fn heading(&self) -> String {
        let (count, unit) = match &self.subject {
            Subject::Threads { prediction, .. } => (prediction.cpus(), "CPU"),
            Subject::Ranks { replay, .. } => (messages::ranks(&replay.messages), "rank"),
        };
        let plural = if count == 1 { "" } else { "s" };
        let one = if self.is_of_ranks() { "one CPU" } else { "one" };
        let busy = 100.0 * self.busy();
        let end = self.schedule.end;
        let mut text = match self.model() {
            Some(model) => format!(
                "{count} {unit}{plural}, {model}: {end}, {:.2} times as fast as on {one}; CPUs are in use {busy:.0} % of the time\n",
                self.speedup(end)
            ),
            None => format!(
                "{count} {unit}{plural}: a deadlock at {end}, which `foretrace predict` explains\n"
            ),
        };
        if let Subject::Threads {
            most: Some(most), ..
        } = &self.subject
            && let Some(attempt) = most.answered()
        {
            let _ = writeln!(
                text,
                "With a CPU for each of its {} threads: {}, {:.2} times as fast",
                most.cpus(),
                attempt.run.end,
                most.speedup(&attempt.run)
            );
        }
        text
    }

    fn is_of_ranks(&self) -> bool {
        matches!(self.subject, Subject::Ranks { .. })
    }

    /// Returns the model that answered, where one did.
    fn model(&self) -> Option<&'static str> {
        match &self.subject {
            Subject::Threads { prediction, .. } => Some(prediction.answered()?.model.name()),
            Subject::Ranks { model, .. } => Some(model),
        }
    }

    /// Returns how much sooner a run ends than what is done on one CPU.
    fn speedup(&self, end: SimTime) -> f64 {
        match &self.subject {
            Subject::Threads { prediction, .. } => prediction.speedup_until(end),
            Subject::Ranks { replay, .. } => messages_report::speedup(replay, end),
        }
    }

    /// Returns which part of the CPUs' time is used.
    fn busy(&self) -> f64 {
        let segments = self.schedule.lanes.iter().flat_map(|lane| &lane.segments);
        let running = segments.filter(|segment| matches!(segment.state, State::Running(_)));
        let used: f64 = running
            .map(|segment| segment.duration().as_secs_f64())
            .sum();
        let all = self.schedule.end.as_secs_f64() * f64::from(self.schedule.cpus);
        if all > 0.0 { used / all } else { 0.0 }
    }

    fn path_table(&self) -> String {
        if self.path.is_empty() {
            return String::new();
        }
        let columns = [
            ("share", Align::Right),
            ("time", Align::Right),
            ("times", Align::Right),
            ("function", Align::Left),
            ("from", Align::Left),
            ("to", Align::Left),
            (
                if self.is_of_ranks() {
                    "ranks"
                } else {
                    "threads"
                },
                Align::Left,
            ),
        ];
        let is_much = |share: &&PathShare| self.of_makespan(share.time) >= LEAST_SHARE;
        let shown = self.path.iter().take(MOST_ROWS).filter(is_much).count();
        let rows = self.path[..shown].iter().map(|share| {
            let [function, from, to] = self.on_path(share);
            [
                format!("{:.1} %", 100.0 * self.of_makespan(share.time)),
                share.time.to_string(),
                share.times.to_string(),
                function,
                from,
                to,
                self.threads(&share.lanes),
            ]
        });
        let table = render(columns, rows) + &more(self.path.len(), shown);
        format!("\nThe critical path: what the end of the run waits for\n{table}")
    }

    fn on_path(&self, share: &PathShare) -> [String; 3] {
        match share.what {
            OnPath::Code(stretch) => [
                self.functions(stretch)
                    .or_else(|| self.routine(stretch, &share.lanes))
                    .unwrap_or_else(unknown),
                self.spot(stretch.from),
                self.spot(stretch.to),
            ],
            OnPath::Call(spot) => [
                self.function(spot).unwrap_or_else(unknown),
                self.spot(spot),
                "(within the call)".to_owned(),
            ],
            OnPath::NoCpu => {
                let part = PathPart::NoCpu.name(self.is_of_ranks());
                [format!("({part})"), unknown(), unknown()]
            }
            OnPath::Wait(activity, spot) => [
                format!("({})", self.waiting(activity)),
                unknown(),
                spot.map_or_else(unknown, |spot| self.spot(spot)),
            ],
            OnPath::Message(from, to) => [
                format!("({})", PathPart::Message.name(self.is_of_ranks())),
                from.map_or_else(unknown, |spot| self.spot(spot)),
                to.map_or_else(unknown, |spot| self.spot(spot)),
            ],
        }
    }

    fn waits_table(&self) -> String {
        if self.waits.is_empty() {
            return String::new();
        }
        let columns = [
            ("waited", Align::Right),
            ("times", Align::Right),
            ("longest", Align::Right),
            ("function", Align::Left),
            ("call", Align::Left),
            (
                if self.is_of_ranks() { "for" } else { "object" },
                Align::Left,
            ),
            ("mostly until", Align::Left),
            ("ranks", Align::Left),
        ];
        let rows = self.waits.iter().take(MOST_ROWS).map(|wait| {
            let spot = wait.spot;
            [
                wait.total.to_string(),
                wait.times.to_string(),
                wait.longest.length().to_string(),
                spot.and_then(|spot| self.function(spot))
                    .unwrap_or_else(unknown),
                spot.map_or_else(unknown, |spot| self.spot(spot)),
                self.objects(wait),
                wait.ended_by.map_or_else(unknown, |spot| self.spot(spot)),
                if self.is_of_ranks() {
                    self.threads(&wait.lanes)
                } else {
                    unknown()
                },
            ]
        });
        let table = render(columns, rows) + &more(self.waits.len(), MOST_ROWS);
        let who = if self.is_of_ranks() {
            "ranks"
        } else {
            "threads"
        };
        format!("\nWhere {who} wait, in all of them\n{table}")
    }

    fn changes_table(&self) -> String {
        if self.model().is_none() {
            return String::new();
        }
        let helps: Vec<&Tried> = self.helping().collect();
        if helps.is_empty() {
            return format!(
                "\nNo single change that was tried takes off {:.0} % of the time\n",
                100.0 * LEAST_GAIN
            );
        }
        let columns = [
            ("speed-up", Align::Right),
            ("makespan", Align::Right),
            ("time", Align::Right),
            ("if", Align::Left),
        ];
        let rows = helps.iter().take(MOST_ROWS).map(|tried| {
            [
                format!("{:.2}", self.speedup(tried.end)),
                tried.end.to_string(),
                format!("-{:.1} %", 100.0 * self.gain(tried)),
                self.change(&tried.change),
            ]
        });
        let table = render(columns, rows) + &more(helps.len(), MOST_ROWS);
        format!("\nWhat would help: the run predicted anew, if one thing is changed\n{table}")
    }

    /// Returns the changes that help, the most first.
    fn helping(&self) -> impl Iterator<Item = &Tried> {
        let helps = |tried: &&Tried| self.gain(tried) >= LEAST_GAIN;
        self.tried.iter().filter(helps)
    }

    /// Returns the changes that help as the window shows them.
    pub fn advice(&self) -> Vec<Advice> {
        let advice = |tried: &Tried| Advice {
            change: self.change(&tried.change),
            speedup: self.speedup(tried.end),
            gain: self.gain(tried),
            at: self.within(&tried.change),
        };
        self.helping().map(advice).collect()
    }

    /// Returns where what would be changed takes longest.
    fn within(&self, change: &Change) -> Option<Within> {
        match change {
            Change::TwiceAsFast(stretch) => {
                let mut path = self.path.iter();
                let share = path.find(|share| share.what == OnPath::Code(*stretch));
                share.map(|share| share.longest)
            }
            Change::FinerLocks(locks) => Some(self.longest_wait_for(locks)?.longest),
            Change::NoIo => {
                let mut waits = self.waits.iter();
                let wait = waits.find(|wait| wait.kind == WaitKind::Io);
                wait.map(|wait| wait.longest)
            }
            Change::FewerHandovers | Change::KeptMemory | Change::EvenWork | Change::Network(_) => {
                None
            }
        }
    }

    /// Returns which part of the makespan a change takes off.
    fn gain(&self, tried: &Tried) -> f64 {
        self.of_makespan(self.schedule.end) - self.of_makespan(tried.end)
    }

    fn change(&self, change: &Change) -> String {
        match change {
            Change::TwiceAsFast(stretch) => {
                let functions = self.functions(*stretch);
                let functions = functions.map_or_else(String::new, |names| format!("{names}: "));
                format!(
                    "{functions}from {} to {} took half the time",
                    self.spot(stretch.from),
                    self.spot(stretch.to)
                )
            }
            Change::FinerLocks(locks) => {
                let name = match locks.as_slice() {
                    [one] => self.object(one.0),
                    _ => format!("{} locks", locks.len()),
                };
                let spot = self.longest_wait_for(locks).and_then(|wait| wait.spot);
                match spot.map(|spot| self.spot(spot)) {
                    Some(place) => format!("nobody waited for {name} ({place}): finer locks"),
                    None => format!("nobody waited for {name}: finer locks"),
                }
            }
            Change::FewerHandovers => {
                "waking threads and changing between them cost nothing: more work at a time"
                    .to_owned()
            }
            Change::KeptMemory => {
                "memory was kept and used again, not given back while others ran (munmap, madvise)"
                    .to_owned()
            }
            Change::NoIo => "input and output took no time, or others ran meanwhile".to_owned(),
            Change::EvenWork => "all ranks had the same work: it was shared out evenly".to_owned(),
            Change::Network(ease) => match ease {
                Ease::NoLatency => {
                    "the network had no latency: fewer messages, or a faster network"
                }
                Ease::AnyBandwidth => {
                    "the network's bandwidth had no end: less data, or a faster network"
                }
                Ease::NoWaiting => {
                    "no message waited for its receiver: receives begun earlier (MPI_Irecv)"
                }
                Ease::Free => "messages, and the calls that pass them, took no time",
            }
            .to_owned(),
        }
    }

    /// Returns the waits for locks that take longest.
    fn longest_wait_for(&self, locks: &[ObjectId]) -> Option<&PredictedWait> {
        let is_one = |object: &u32| locks.contains(&ObjectId(*object));
        let mut waits = self.waits.iter();
        waits.find(|wait| wait.objects.iter().any(is_one))
    }

    /// Returns which part of the makespan a time is.
    fn of_makespan(&self, time: SimTime) -> f64 {
        let end = self.schedule.end.as_secs_f64();
        if end > 0.0 {
            time.as_secs_f64() / end
        } else {
            0.0
        }
    }

    /// Returns a call, by its name and its line.
    fn spot(&self, spot: Spot) -> String {
        match spot {
            Spot::Begin => "begin".to_owned(),
            Spot::Call("terminate", None) => "end".to_owned(),
            Spot::Call(name, None) => name.to_owned(),
            Spot::Call(name, Some(object)) => format!("{name} {}", self.object(object.0)),
            Spot::Site(site) => {
                let place = self.place(site);
                let place = source(place).unwrap_or_else(|| shortened_name(&place.name()));
                let call = self.calls.get(&site);
                let called = call.map_or("call", |call| self.called(call));
                format!("{called} {place}")
            }
        }
    }

    /// Returns what users call what a call of the trace is.
    fn called(&self, call: &'t Call) -> &'t str {
        match self.trace.message(call) {
            Some(message) => &message.name,
            None => self.constructs.name(self.trace, call),
        }
    }

    /// Returns the function that a call is in, where its line is known; its place names it else.
    fn function(&self, spot: Spot) -> Option<String> {
        let Spot::Site(site) = spot else {
            return None;
        };
        let place = self.place(site);
        source(place)?;
        Some(shortened_name(&place.name()))
    }

    /// Returns where a call was made: of one by a library whose lines are not known, who called that, where call stacks were recorded.
    fn place(&self, site: SiteId) -> &Place {
        let place = self.sources.call(site);
        let with_line = || {
            self.sources
                .callers(site)
                .find(|place| source(place).is_some())
        };
        match source(place) {
            Some(_) => place,
            None => with_line().unwrap_or(place),
        }
    }

    /// Returns the functions that code begins and ends in, where they are known.
    fn functions(&self, stretch: Stretch) -> Option<String> {
        let from = self.function(stretch.from);
        let to = self.function(stretch.to);
        match (from, to) {
            (Some(from), Some(to)) if from != to => Some(format!("{from}, {to}")),
            (from, to) => to.or(from),
        }
    }

    /// Returns the start routine of the first of some lanes, where no call says more.
    fn routine(&self, stretch: Stretch, lanes: &BTreeSet<usize>) -> Option<String> {
        let is_known = [stretch.from, stretch.to]
            .iter()
            .any(|spot| matches!(spot, Spot::Site(_)));
        // Lanes are of ranks otherwise.
        if is_known || self.is_of_ranks() {
            return None;
        }
        let thread = self.trace.threads.get(*lanes.first()?)?;
        let place = self.sources.routine(thread.start_routine?);
        Some(shortened_name(&place.name()))
    }

    fn object(&self, object: u32) -> String {
        let label = self.schedule.objects.get(object as usize);
        label.map_or_else(unknown, |label| label.name.clone())
    }

    fn objects(&self, wait: &PredictedWait) -> String {
        match wait.objects.as_slice() {
            [] if self.is_of_ranks() => awaited_by_rank(wait.kind).to_owned(),
            [] => wait.kind.name().to_owned(),
            [one] => self.object(*one),
            [first, ..] => {
                let kind = self.schedule.objects.get(*first as usize);
                let kind = kind.map_or("object", |label| label.kind.name());
                format!("{kind} x{}", wait.objects.len())
            }
        }
    }

    fn threads(&self, lanes: &BTreeSet<usize>) -> String {
        let names = lanes.iter().take(MOST_NAMES);
        let names: Vec<&str> = names.map(|&lane| self.lane(lane)).collect();
        match lanes.len().checked_sub(MOST_NAMES) {
            None | Some(0) => names.join(", "),
            Some(others) => format!("{} +{others}", names.join(", ")),
        }
    }

    /// Returns the name of a lane: of a rank its number.
    fn lane(&self, lane: usize) -> &str {
        let name = self.schedule.lanes[lane].name.as_str();
        match self.subject {
            Subject::Threads { .. } => name,
            Subject::Ranks { .. } => name.strip_prefix("rank ").unwrap_or(name),
        }
    }

    /// Returns what is waited for that no other thread ends.
    fn waiting(&self, activity: Activity) -> String {
        match activity {
            Activity::Blocked(kind) => PathPart::Wait(kind).name(self.is_of_ranks()),
            other => other.name().to_owned(),
        }
    }
}
