//! Checks a trace's invariants.

use std::collections::HashSet;

use crate::{Call, Error, MessageId, Nanos, Operation, ThreadId, Trace, operands};

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
/// What is only odd is left to [`warnings`](crate::warnings).
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
        && [
            Some(facts.wall),
            facts.slice,
            facts.cpu_time,
            Some(facts.recorder_cpu),
        ]
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
        // Callers stand before those they call, so that no stack is endless.
        if site.caller.is_some_and(|caller| caller.index() >= index) {
            return Err(outside(format!("call site {index}"), "caller before it"));
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
        .into_iter()
        .chain(operands::second_site(call.operation))
        .any(|site| site.index() >= trace.sites.len())
    {
        return Err("names a call site that the trace lacks".to_owned());
    }
    if let Operation::LockSections { held, .. } = call.operation
        && held > LARGEST_TIME
    {
        return Err("holds a time above 2^53 ns, 104 days".to_owned());
    }
    if let Operation::Message(message) = call.operation {
        check_message(trace, message)?;
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

/// Checks what a call of MPI names; the error says what is wrong with it.
fn check_message(trace: &Trace, message: MessageId) -> Result<(), String> {
    let Some(message) = trace.messages.get(message.index()) else {
        return Err("names a message that the trace lacks".to_owned());
    };
    let mut communicators = message.action.communicators();
    if communicators.any(|number| number as usize >= trace.communicators.len()) {
        return Err("names a communicator that the trace lacks".to_owned());
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
            .and_then(|()| check_cpu(trace, &mut lives[call.thread.index()], call, event.cpu()));
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
        Operation::Create(child) if child == call.thread => {
            let problem = format!("thread {:?} creates itself", name(child));
            return Err((problem, "name the thread that is created"));
        }
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
