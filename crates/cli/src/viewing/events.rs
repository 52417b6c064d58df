//! Events and call sites of a trace, as the window shows them.

use std::sync::{Mutex, PoisonError};

use foretrace_analysis::Constructs;
use foretrace_symbols::SourceMap;
use foretrace_trace::Trace;
use foretrace_viewer::source::{EventInfo, SiteInfo};

use crate::details;

/// What a trace says about its events.
pub struct Events {
    trace: Trace,
    constructs: Constructs,
    // Reads files when it is first asked about them, which one thread at a time can do.
    sources: Mutex<SourceMap>,
}

impl Events {
    /// Takes a trace.
    pub fn new(trace: Trace) -> Self {
        Self {
            sources: Mutex::new(SourceMap::new(&trace)),
            constructs: Constructs::of(&trace),
            trace,
        }
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Returns what an event is.
    pub fn event(&self, event: u32) -> Option<EventInfo> {
        details::event(&self.trace, &self.constructs, event)
    }

    /// Returns where a call was made.
    pub fn site(&self, site: u32) -> SiteInfo {
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        details::site(&self.trace, &sources, site)
    }

    /// Returns the name of a thread's start routine.
    pub fn routine(&self, lane: usize) -> Option<String> {
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        details::routine(&self.trace, &sources, lane)
    }
}
