//! Checks a trace's invariants.

use std::collections::{HashMap, HashSet};

use crate::{Call, Error, Nanos, ObjectId, Operation, ThreadId, Trace, operands};

/// The largest time that a trace may hold: 2^53 nanoseconds, about 104 days.
///
/// Up to here a time is exact as a JSON number, and its picoseconds fit into 64 bits.
pub(crate) const LARGEST_TIME: Nanos = Nanos(1 << 53);

const DAMAGED: &str = "record again, or report this with the file";
const NAMES: &str = "give each its own name";

/// A broken invariant.
#[derive(Debug)]
pub(crate) struct Violation {
    /// The event that breaks it, where it is one.
    pub event: Option<usize>,
    /// The table that breaks it, otherwise.
    pub place: String,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub remedy: &'static str,
}

impl Violation {
    /// Makes an error of it; `place` says where an event stands in the file.
    pub fn into_error(self, path: &str, place: impl FnOnce(usize) -> String) -> Error {
        Error::Invalid {
            path: path.to_owned(),
            place: self.event.map_or(self.place, place),
            problem: self.problem,
            remedy: self.remedy,
        }
    }
}

/// Names an event by its number, from 1.
pub(crate) fn event_place(event: usize) -> String {
    format!("event {}", event + 1)
}

/// Checks what [`Trace`] promises: ids lie in their tables, objects are of the kind that their operations need, names
/// are unique, times never decrease, and no thread acts before its creation or after its end.
///
/// What is only odd is left to [`warnings`].
///
/// # Errors
///
/// Naming the first event, or the table, that breaks it.
pub fn validate(trace: &Trace) -> Result<(), Error> {
    tables(trace)
        .and_then(|()| events(trace))
        .map_err(|violation| violation.into_error(&trace.source, event_place))
}

/// Checks everything but the events.
pub(crate) fn tables(trace: &Trace) -> Result<(), Violation> {
    let broken = |place: String, problem: String, remedy| Violation {
        event: None,
        place,
        problem,
        remedy,
    };
    let outside = |place: String, what: &str| {
        broken(
            place,
            format!("names a {what} that the trace lacks"),
            DAMAGED,
        )
    };
    if trace.processes.is_empty() {
        let problem = "holds no process, and every thread needs one".to_owned();
        return Err(broken("process table".to_owned(), problem, DAMAGED));
    }
    if let Some(facts) = &trace.recording
        && [Some(facts.wall), facts.slice, facts.cpu_time]
            .into_iter()
            .flatten()
            .any(|time| time > LARGEST_TIME)
    {
        let problem = "holds a time above 2^53 ns, 104 days".to_owned();
        return Err(broken("recording".to_owned(), problem, DAMAGED));
    }
    for (index, site) in trace.sites.iter().enumerate() {
        if site.module.index() >= trace.modules.len() {
            return Err(outside(format!("call site {index}"), "module"));
        }
    }
    let mut names = HashSet::new();
    for thread in &trace.threads {
        let place = || format!("thread {:?}", thread.name);
        if thread.process.index() >= trace.processes.len() {
            return Err(outside(place(), "process"));
        }
        if thread
            .start_routine
            .is_some_and(|site| site.index() >= trace.sites.len())
        {
            return Err(outside(place(), "call site"));
        }
        if !names.insert(thread.name.as_str()) {
            return Err(broken(place(), "is there twice".to_owned(), NAMES));
        }
    }
    let priorities: Option<Vec<i32>> = trace.threads.iter().map(|thread| thread.priority).collect();
    if priorities.is_some_and(|all| !all.is_sorted_by(|a, b| a >= b)) {
        let problem = "all carry a priority, and they do not stand by decreasing priority";
        let remedy = "sort the threads by priority";
        return Err(broken(
            "thread table".to_owned(),
            problem.to_owned(),
            remedy,
        ));
    }
    let mut names = HashSet::new();
    for object in &trace.objects {
        let place = || format!("{} {:?}", object.kind.name(), object.name);
        if object.process.index() >= trace.processes.len() {
            return Err(outside(place(), "process"));
        }
        if !names.insert((object.kind, object.name.as_str())) {
            return Err(broken(place(), "is there twice".to_owned(), NAMES));
        }
    }
    for (index, call) in trace.calls.iter().enumerate() {
        check_call(trace, call)
            .map_err(|problem| broken(format!("call {index}"), problem, DAMAGED))?;
    }
    Ok(())
}

/// Checks the ids of one call; the error says what is wrong with it.
fn check_call(trace: &Trace, call: &Call) -> Result<(), String> {
    let threads = [Some(call.thread), call.from, call.operation.other_thread()];
    if threads
        .into_iter()
        .flatten()
        .any(|thread| thread.index() >= trace.threads.len())
    {
        return Err("names a thread that the trace lacks".to_owned());
    }
    if call
        .site
        .is_some_and(|site| site.index() >= trace.sites.len())
    {
        return Err("names a call site that the trace lacks".to_owned());
    }
    if call.operation == Operation::Create(call.thread) {
        return Err(format!(
            "thread {:?} creates itself",
            trace.threads[call.thread.index()].name
        ));
    }
    for (object, kind) in operands::operands(call.operation).into_iter().flatten() {
        let Some(object) = trace.objects.get(object.index()) else {
            return Err("names an object that the trace lacks".to_owned());
        };
        if object.kind != kind {
            let (operation, needed, is) = (call.operation.name(), kind.name(), object.kind.name());
            return Err(format!(
                "{operation} needs a {needed}, and {:?} is a {is}",
                object.name
            ));
        }
    }
    Ok(())
}

/// What is known about a thread while its events are gone through.
#[derive(Clone, Copy, Default)]
struct Life {
    cpu: Nanos,
    began: bool,
    created: bool,
    ended: bool,
}

/// Checks the events, on tables that passed [`tables`].
pub(crate) fn events(trace: &Trace) -> Result<(), Violation> {
    let mut lives = vec![Life::default(); trace.threads.len()];
    let mut previous = Nanos(0);
    let broken = |event, problem, remedy| Violation {
        event: Some(event),
        place: String::new(),
        problem,
        remedy,
    };
    for (index, event) in trace.events.iter().enumerate() {
        let Some(call) = trace.calls.get(event.call.index()) else {
            let problem = "names a call that the trace lacks".to_owned();
            return Err(broken(index, problem, DAMAGED));
        };
        let step = check_time(event.time, previous)
            .and_then(|()| check_life(trace, &mut lives, call))
            .and_then(|()| check_cpu(trace, &mut lives[call.thread.index()], call, event.cpu));
        if let Err((problem, remedy)) = step {
            return Err(broken(index, problem, remedy));
        }
        previous = event.time;
    }
    let total = lives
        .iter()
        .try_fold(0u64, |sum, life| sum.checked_add(life.cpu.0));
    if total.is_none_or(|total| total > LARGEST_TIME.0) {
        return Err(Violation {
            event: None,
            place: "CPU times".to_owned(),
            problem: "together they are above 2^53 ns, 104 days".to_owned(),
            remedy: "check the unit of the CPU times",
        });
    }
    Ok(())
}

type Step = Result<(), (String, &'static str)>;

fn check_time(time: Nanos, previous: Nanos) -> Step {
    if time < previous {
        let problem = format!(
            "time {} ns is before the {} ns of the event above",
            time.0, previous.0
        );
        return Err((problem, "put the events in the order of their times"));
    }
    if time > LARGEST_TIME {
        let problem = format!("time {} ns is above 2^53 ns, 104 days", time.0);
        return Err((problem, "check the unit, and let times start near zero"));
    }
    Ok(())
}

fn check_cpu(trace: &Trace, life: &mut Life, call: &Call, cpu: Option<Nanos>) -> Step {
    let Some(cpu) = cpu else { return Ok(()) };
    if cpu < life.cpu {
        let name = &trace.threads[call.thread.index()].name;
        let problem = format!(
            "the CPU time of thread {name:?} falls from {} to {} ns",
            life.cpu.0, cpu.0
        );
        return Err((
            problem,
            "a CPU time counts from the thread's beginning and never falls",
        ));
    }
    life.cpu = cpu;
    Ok(())
}

fn check_life(trace: &Trace, lives: &mut [Life], call: &Call) -> Step {
    let name = |thread: ThreadId| &trace.threads[thread.index()].name;
    let life = &mut lives[call.thread.index()];
    if life.ended {
        let problem = format!("thread {:?} acts after it terminated", name(call.thread));
        return Err((problem, "move `terminate` behind the thread's last event"));
    }
    life.began = true;
    match call.operation {
        Operation::Terminate => life.ended = true,
        Operation::Create(child) if operands::took_effect(call.outcome) => {
            let born = &mut lives[child.index()];
            if born.created {
                let problem = format!("thread {:?} is created a second time", name(child));
                return Err((problem, "give the second thread a name of its own"));
            }
            if born.began {
                let problem = format!(
                    "thread {:?} acted before this event creates it",
                    name(child)
                );
                return Err((problem, "move `create` before the thread's first event"));
            }
            born.created = true;
        }
        _ => {}
    }
    Ok(())
}

/// Returns what is odd about a valid trace, as sentences for [`Trace::warnings`]: threads that never end, unlocks by
/// a thread that holds nothing.
///
/// What `trace.warnings` says already is left out, so that a trace that is written and read again gains nothing.
pub fn warnings(trace: &Trace) -> Vec<String> {
    warnings_at(trace, event_place)
}

/// Adds [`warnings`] to a trace, events named by `place`.
pub(crate) fn warn(trace: &mut Trace, place: impl Fn(usize) -> String) {
    let found = warnings_at(trace, place);
    trace.warnings.extend(found);
}

/// Oddities beyond this many of one sort are counted, not listed.
const LISTED: usize = 8;

fn warnings_at(trace: &Trace, place: impl Fn(usize) -> String) -> Vec<String> {
    let mut odd = never_ending(trace, &place);
    odd.extend(unheld_unlocks(trace, &place));
    odd.retain(|(what, _)| {
        !trace
            .warnings
            .iter()
            .any(|said| said.starts_with(what.as_str()))
    });
    odd.into_iter().map(|(what, more)| what + &more).collect()
}

/// What is odd, and what else is to be said about it. The first part alone tells one oddity from another.
type Oddity = (String, String);

fn never_ending(trace: &Trace, place: &impl Fn(usize) -> String) -> Vec<Oddity> {
    let mut last: Vec<Option<usize>> = vec![None; trace.threads.len()];
    let mut ended = vec![false; trace.threads.len()];
    for (index, event) in trace.events.iter().enumerate() {
        let call = trace.call(event);
        last[call.thread.index()] = Some(index);
        if call.operation == Operation::Terminate {
            ended[call.thread.index()] = true;
        }
    }
    let endless: Vec<(usize, usize)> = last
        .into_iter()
        .enumerate()
        .filter_map(|(thread, last)| Some((thread, last?)))
        .filter(|&(thread, _)| !ended[thread])
        .collect();
    let mut odd: Vec<Oddity> = endless
        .iter()
        .take(LISTED)
        .map(|&(thread, last)| {
            let what = format!("thread {:?} never ends", trace.threads[thread].name);
            let last = place(last);
            (
                what,
                format!(": it is taken to end after its last event, {last}"),
            )
        })
        .collect();
    if endless.len() > LISTED {
        let what = format!("{} further threads never end", endless.len() - LISTED);
        odd.push((
            what,
            ": each is taken to end after its last event".to_owned(),
        ));
    }
    odd
}

fn unheld_unlocks(trace: &Trace, place: &impl Fn(usize) -> String) -> Vec<Oddity> {
    let mut held: HashMap<(ThreadId, ObjectId), u64> = HashMap::new();
    let mut pending: Vec<Option<ObjectId>> = vec![None; trace.threads.len()];
    let mut odd = Vec::new();
    let mut further = 0;
    for (index, event) in trace.events.iter().enumerate() {
        let &Call {
            thread,
            operation,
            outcome,
            ..
        } = trace.call(event);
        let took_effect = operands::took_effect(outcome);
        let asked = pending[thread.index()].take();
        if let (Operation::Return, Some(object), false) = (operation, asked, took_effect) {
            // The wait for the lock ended without it, so what its call counted is taken back.
            let count = held.entry((thread, object)).or_default();
            *count = count.saturating_sub(1);
        } else if let (Some(object), true) = (operands::acquired(operation), took_effect) {
            *held.entry((thread, object)).or_default() += 1;
            pending[thread.index()] = Some(object);
        } else if let (Some(object), true) = (operands::released(operation), took_effect) {
            let count = held.entry((thread, object)).or_default();
            if *count > 0 {
                *count -= 1;
            } else if odd.len() < LISTED {
                let name = &trace.threads[thread.index()].name;
                let object = &trace.objects[object.index()].name;
                let what = format!("thread {name:?} unlocks {object:?} without holding it");
                let oddity = (what, format!(": {}", place(index)));
                if odd.iter().all(|(what, _)| *what != oddity.0) {
                    odd.push(oddity);
                }
            } else {
                further += 1;
            }
        }
    }
    if further > 0 {
        let what = format!("{further} further unlocks come from threads that do not hold the lock");
        odd.push((what, String::new()));
    }
    odd
}
