//! What the events of a trace were and where in the source they were called, for the window and for saved schedules.

use foretrace_analysis::Constructs;
use foretrace_schedule::{Details, Event, EventClass, Marks, Schedule, Site};
use foretrace_symbols::{Place, SourceMap};
use foretrace_trace::{Call, Operation, SiteId, Trace};
use foretrace_viewer::source::{EventInfo, RETURN};

/// Returns what a schedule is saved with: all events of the trace that it was predicted from.
pub fn of(trace: &Trace, schedule: &Schedule, marks: Marks) -> Details {
    let sources = SourceMap::new(trace);
    let constructs = Constructs::of(trace);
    let mut names: Vec<String> = Vec::new();
    let mut events = Vec::with_capacity(trace.events.len());
    // With another number of workers there may be fewer threads than were recorded.
    let lane = |lane: &u32| (*lane as usize) < schedule.lanes.len();
    let info =
        (0..trace.events.len() as u32).filter_map(|number| event(trace, &constructs, number));
    for info in info {
        let known = names.iter().position(|name| *name == info.operation);
        let name = known.unwrap_or_else(|| {
            names.push(info.operation.to_string());
            names.len() - 1
        });
        events.push(Event {
            name: name as u32,
            class: info.class,
            lane: if lane(&info.lane) { info.lane } else { 0 },
            object: info
                .object
                .filter(|object| (*object as usize) < schedule.objects.len()),
            other: info.other.filter(lane),
            recorded_nanos: info.recorded_nanos.unwrap_or_default(),
            site: info.site,
        });
    }
    Details {
        marks,
        events,
        names,
        sites: (0..trace.sites.len() as u32)
            .map(|number| site(trace, &sources, number))
            .collect(),
        routines: (0..schedule.lanes.len())
            .map(|lane| routine(trace, &sources, lane))
            .collect(),
    }
}

/// Returns what the sends and receives of a schedule were of which nothing else is known.
pub fn of_messages(schedule: &Schedule) -> Details {
    let mut done: Vec<(foretrace_schedule::SimTime, u32, Event)> = Vec::new();
    for wake in schedule.wakes.iter().filter(|wake| wake.is_message()) {
        for (name, at, lane, other) in [
            (0, wake.sent(), wake.from, wake.to),
            (1, wake.at, wake.to, wake.from),
        ] {
            let event = Event {
                name,
                class: EventClass::Message,
                lane,
                object: None,
                other: Some(other),
                recorded_nanos: at.as_nanos(),
                site: None,
            };
            done.push((at, lane, event));
        }
    }
    done.sort_by_key(|(at, ..)| *at);
    let mut marks = Marks::new(schedule.lanes.len());
    for (number, (at, lane, _)) in done.iter().enumerate() {
        marks.push(*lane, *at, number as u32);
    }
    Details {
        marks,
        events: done.into_iter().map(|(.., event)| event).collect(),
        names: vec!["send".to_owned(), "receive".to_owned()],
        ..Details::default()
    }
}

/// Returns what an event of a trace is.
pub fn event(trace: &Trace, constructs: &Constructs, event: u32) -> Option<EventInfo> {
    let number = event as usize;
    let event = trace.events.get(number)?;
    let call = trace.call(event);
    let returned = (call.operation == Operation::Return)
        .then(|| call_before(trace, number))
        .flatten();
    Some(EventInfo {
        operation: match returned {
            Some(returned) => format!("{RETURN}{}", constructs.name(trace, returned)).into(),
            None => constructs.name(trace, call).into(),
        },
        class: class(call.operation),
        lane: call.thread.0,
        object: returned
            .unwrap_or(call)
            .operation
            .object()
            .map(|object| object.0),
        other: call
            .operation
            .other_thread()
            .or(call.from)
            .map(|thread| thread.0),
        about: trace.message(call).map(ToString::to_string),
        recorded_nanos: Some(event.time.0),
        site: returned.unwrap_or(call).site.map(|site| site.0),
    })
}

/// So many events before a return are searched for its call: others may have done much meanwhile.
const SEARCHED: usize = 1 << 16;

/// Returns the call that a thread returns from at an event: what it did before.
fn call_before(trace: &Trace, event: usize) -> Option<&Call> {
    let thread = trace.call(&trace.events[event]).thread;
    let before = trace.events[..event].iter().rev().take(SEARCHED);
    let mut calls = before.map(|event| trace.call(event));
    calls.find(|call| call.thread == thread)
}

/// Returns where a call of a trace was made.
pub fn site(trace: &Trace, sources: &SourceMap, site: u32) -> Site {
    let site = SiteId(site);
    if site.index() >= trace.sites.len() {
        return Site::default();
    }
    let place = sources.call(site);
    let line = line(place);
    let note = line.is_none().then(|| note(place, &sources.notes()));
    Site {
        function: place.name(),
        line,
        callers: sources
            .callers(site)
            .map(|place| (place.name(), self::line(place)))
            .collect(),
        note,
    }
}

/// Returns the name of a thread's start routine.
pub fn routine(trace: &Trace, sources: &SourceMap, lane: usize) -> Option<String> {
    let site = trace.threads.get(lane)?.start_routine?;
    Some(sources.routine(site).name())
}

/// Returns the file and the line of a place.
fn line(place: &Place) -> Option<(String, u32)> {
    let frame = place.frame()?;
    Some((frame.file.clone()?, frame.line?))
}

/// Says why the line is not known, and what helps.
fn note(place: &Place, notes: &[String]) -> String {
    let of_module = notes.iter().find(|note| note.contains(&place.module));
    of_module.cloned().unwrap_or_else(|| {
        format!(
            "the debug information of {} does not cover this place: compile all of it with -g",
            place.module
        )
    })
}

/// Returns what sort of thing an operation is.
fn class(operation: Operation) -> EventClass {
    match operation {
        Operation::Lock(_)
        | Operation::TryLock(_)
        | Operation::TimedLock(_)
        | Operation::SemWait(_)
        | Operation::SemTryWait(_)
        | Operation::SemTimedWait(_)
        | Operation::ReadLock(_)
        | Operation::TryReadLock(_)
        | Operation::TimedReadLock(_)
        | Operation::WriteLock(_)
        | Operation::TryWriteLock(_)
        | Operation::TimedWriteLock(_)
        | Operation::SpinLock(_)
        | Operation::SpinTryLock(_)
        | Operation::TryLocks { .. } => EventClass::Acquire,
        Operation::Unlock(_)
        | Operation::RwUnlock(_)
        | Operation::SpinUnlock(_)
        | Operation::SemPost(_)
        | Operation::LockSections { .. } => EventClass::Release,
        Operation::CondWait { .. }
        | Operation::CondTimedWait { .. }
        | Operation::BarrierWait(_)
        | Operation::Join(_)
        | Operation::Once(_)
        | Operation::FutexWait(_)
        | Operation::FutexTimedWait(_)
        | Operation::DoacrossWait { .. } => EventClass::Wait,
        Operation::CondSignal(_)
        | Operation::CondBroadcast(_)
        | Operation::FutexWake { .. }
        | Operation::DoacrossPost { .. } => EventClass::Signal,
        Operation::Create(_)
        | Operation::Terminate
        | Operation::Cancel(_)
        | Operation::Detach(_) => EventClass::Life,
        Operation::Send { .. }
        | Operation::Wait(_)
        | Operation::QueueSend(_)
        | Operation::QueueReceive(_)
        | Operation::PipeWrite { .. }
        | Operation::PipeRead { .. }
        | Operation::Message(_) => EventClass::Message,
        Operation::Io { .. } | Operation::Sleep | Operation::SleepFor(_) | Operation::Spin(_) => {
            EventClass::Io
        }
        Operation::Return
        | Operation::Bind { .. }
        | Operation::Linger(_)
        | Operation::SleepPast(_) => EventClass::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_return_is_told_with_the_call_that_waited_and_its_place() {
        let text = "foretrace-text 1\nreturns explicit\nmodule prog /prog\nsite prog+0x10\nprocess A\nprocess B\n\
                    0 A create B cpu=0\n5 A cond_wait c m site=prog+0x10 cpu=5\n6 B lock m cpu=1\n7 B cond_signal c cpu=2\n\
                    8 B unlock m cpu=3\n8 B terminate cpu=3\n9 A return cpu=6\n10 A terminate cpu=7\n";
        let trace = foretrace_trace::text::parse(text, "test").unwrap();
        let constructs = Constructs::of(&trace);
        let named = |name: &str| {
            let events = (0..trace.events.len() as u32)
                .filter_map(|number| event(&trace, &constructs, number));
            let mut events = events.filter(|event| event.operation == name);
            events.next().unwrap()
        };
        let (call, back) = (named("cond_wait"), named("return from cond_wait"));
        assert!(call.site.is_some());
        assert_eq!((back.site, back.object), (call.site, call.object));
    }
}
