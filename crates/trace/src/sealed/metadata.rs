//! Everything of a sealed trace but its events.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{
    CallSite, Communicator, Message, Module, Object, Process, Recording, Returns, Thread, Trace,
    event::Call,
};

/// The payload of a `META` section, version 1. The order of the fields is the format.
#[derive(Serialize, Deserialize)]
pub(super) struct Metadata<'a> {
    /// The number of events in the whole file.
    pub event_count: u64,
    recording: Option<Cow<'a, Recording>>,
    returns: Returns,
    processes: Cow<'a, [Process]>,
    threads: Cow<'a, [Thread]>,
    objects: Cow<'a, [Object]>,
    modules: Cow<'a, [Module]>,
    sites: Cow<'a, [CallSite]>,
    calls: Cow<'a, [Call]>,
    warnings: Cow<'a, [String]>,
}

impl<'a> Metadata<'a> {
    /// Borrows the metadata of a trace; `calls` stands in for the trace's own.
    pub fn of(trace: &'a Trace, calls: &'a [Call]) -> Self {
        Self {
            event_count: trace.events.len() as u64,
            recording: trace.recording.as_ref().map(Cow::Borrowed),
            returns: trace.returns,
            processes: Cow::Borrowed(&trace.processes),
            threads: Cow::Borrowed(&trace.threads),
            objects: Cow::Borrowed(&trace.objects),
            modules: Cow::Borrowed(&trace.modules),
            sites: Cow::Borrowed(&trace.sites),
            calls: Cow::Borrowed(calls),
            warnings: Cow::Borrowed(&trace.warnings),
        }
    }

    /// Makes a trace without events.
    pub fn into_trace(self, source: &str) -> Trace {
        Trace {
            source: source.to_owned(),
            recording: self.recording.map(Cow::into_owned),
            returns: self.returns,
            processes: self.processes.into_owned(),
            threads: self.threads.into_owned(),
            objects: self.objects.into_owned(),
            modules: self.modules.into_owned(),
            sites: self.sites.into_owned(),
            messages: Vec::new(),
            communicators: Vec::new(),
            calls: self.calls.into_owned(),
            events: Vec::new(),
            warnings: self.warnings.into_owned(),
        }
    }
}

/// The payload of a `MSGS` section. The order of the fields is the format.
#[derive(Serialize, Deserialize)]
pub(super) struct Messages<'a> {
    messages: Cow<'a, [Message]>,
    communicators: Cow<'a, [Communicator]>,
}

impl<'a> Messages<'a> {
    /// Borrows those of a trace; `None` where it has none.
    pub fn of(trace: &'a Trace) -> Option<Self> {
        let any = !trace.messages.is_empty() || !trace.communicators.is_empty();
        any.then_some(Self {
            messages: Cow::Borrowed(&trace.messages),
            communicators: Cow::Borrowed(&trace.communicators),
        })
    }

    /// Puts them into a trace.
    pub fn put_into(self, trace: &mut Trace) {
        trace.messages = self.messages.into_owned();
        trace.communicators = self.communicators.into_owned();
    }
}

/// The payload of a `MAPS` section: how often each process gave memory back.
#[derive(Serialize, Deserialize)]
pub(super) struct Remaps(Vec<u64>);

impl Remaps {
    /// Takes those of a trace; `None` where none did.
    pub fn of(trace: &Trace) -> Option<Self> {
        let remaps: Vec<u64> = trace.processes.iter().map(|one| one.remaps).collect();
        let any = remaps.iter().any(|&remaps| remaps > 0);
        any.then_some(Self(remaps))
    }

    /// Returns for how many processes they are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Puts them into a trace of as many processes.
    pub fn put_into(self, trace: &mut Trace) {
        for (process, remaps) in trace.processes.iter_mut().zip(self.0) {
            process.remaps = remaps;
        }
    }
}
