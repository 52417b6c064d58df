//! Events and call sites of a trace, as the window shows them.

use std::sync::{Mutex, PoisonError};

use foretrace_symbols::{Place, SourceMap};
use foretrace_trace::{Operation, SiteId, Trace};
use foretrace_viewer::source::{EventClass, EventInfo, SiteInfo};

/// What a trace says about its events.
pub struct Events {
    trace: Trace,
    // Reads files when it is first asked about them, which one thread at a time can do.
    sources: Mutex<SourceMap>,
}

impl Events {
    /// Takes a trace.
    pub fn new(trace: Trace) -> Self {
        Self {
            sources: Mutex::new(SourceMap::new(&trace)),
            trace,
        }
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Returns what an event is.
    pub fn event(&self, event: u32) -> Option<EventInfo> {
        let event = self.trace.events.get(event as usize)?;
        let call = self.trace.call(event);
        Some(EventInfo {
            operation: call.operation.name(),
            class: class(call.operation),
            lane: call.thread.0,
            object: call.operation.object().map(|object| object.0),
            other: call
                .operation
                .other_thread()
                .or(call.from)
                .map(|thread| thread.0),
            recorded_nanos: event.time.0,
            site: call.site.map(|site| site.0),
        })
    }

    /// Returns where a call was made.
    pub fn site(&self, site: u32) -> SiteInfo {
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let site = SiteId(site);
        if site.index() >= self.trace.sites.len() {
            return SiteInfo::default();
        }
        let place = sources.call(site);
        let line = line(place);
        let note = line.is_none().then(|| note(place, &sources.notes()));
        SiteInfo {
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
    pub fn routine(&self, lane: usize) -> Option<String> {
        let site = self.trace.threads.get(lane)?.start_routine?;
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        Some(sources.routine(site).name())
    }
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
        | Operation::FutexTimedWait(_) => EventClass::Wait,
        Operation::CondSignal(_) | Operation::CondBroadcast(_) | Operation::FutexWake { .. } => {
            EventClass::Signal
        }
        Operation::Create(_)
        | Operation::Terminate
        | Operation::Cancel(_)
        | Operation::Detach(_) => EventClass::Life,
        Operation::Send { .. }
        | Operation::Wait(_)
        | Operation::QueueSend(_)
        | Operation::QueueReceive(_)
        | Operation::Message(_) => EventClass::Message,
        Operation::Io { .. } | Operation::Sleep => EventClass::Io,
        Operation::Return | Operation::Bind { .. } => EventClass::Other,
    }
}
