//! The whole of a trace, in memory.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{
    Call, CallId, Communicator, Event, Message, MessageId, ModuleId, Nanos, Object, Operation,
    ProcessId, Recording, SiteId, ThreadId,
};

/// What happened while a program ran on one CPU.
///
/// Invariants, checked by [`validate`](crate::validate()) whenever a file is read: every id lies in its table, the
/// events' times never decrease, a thread's CPU time never decreases, names are unique.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Where the trace came from: the file's path, or what stands in for it.
    pub source: String,
    /// The circumstances; `None` for a trace written by hand.
    pub recording: Option<Recording>,
    /// How one learns when a blocked call came back.
    pub returns: Returns,
    /// The operating-system processes; at least one.
    pub processes: Vec<Process>,
    /// The threads, in order of decreasing priority where they carry one, else of their first appearance.
    pub threads: Vec<Thread>,
    /// The synchronization objects.
    pub objects: Vec<Object>,
    /// The files that were mapped into the processes.
    pub modules: Vec<Module>,
    /// The places that calls were made from.
    pub sites: Vec<CallSite>,
    /// The distinct calls of MPI.
    pub messages: Vec<Message>,
    /// The communicators of MPI; the first is the world's.
    pub communicators: Vec<Communicator>,
    /// The distinct calls.
    pub calls: Vec<Call>,
    /// The events, in the order in which they happened.
    pub events: Vec<Event>,
    /// What a reader must know about limits of this trace: what is missing, what had to be assumed.
    pub warnings: Vec<String>,
}

impl Trace {
    /// Returns the same trace without its events.
    #[must_use]
    pub fn without_events(&self) -> Self {
        Self {
            source: self.source.clone(),
            recording: self.recording.clone(),
            returns: self.returns,
            processes: self.processes.clone(),
            threads: self.threads.clone(),
            objects: self.objects.clone(),
            modules: self.modules.clone(),
            sites: self.sites.clone(),
            messages: self.messages.clone(),
            communicators: self.communicators.clone(),
            calls: self.calls.clone(),
            events: Vec::new(),
            warnings: self.warnings.clone(),
        }
    }

    /// Returns the call of an event.
    ///
    /// # Panics
    ///
    /// When the event is of another trace.
    pub fn call(&self, event: &Event) -> &Call {
        &self.calls[event.call.index()]
    }

    /// Returns the CPU time of all threads together: what the run needed on one CPU.
    ///
    /// Threads without CPU times contribute the times between rows that the listing gives them.
    pub fn total_cpu(&self) -> Nanos {
        let mut last: Vec<Option<Nanos>> = vec![None; self.threads.len()];
        let mut listed = 0;
        let mut previous = Nanos(0);
        for event in &self.events {
            let thread = self.call(event).thread.index();
            match event.cpu() {
                Some(cpu) => last[thread] = Some(cpu),
                None if last[thread].is_none() => listed += event.time.since(previous).0,
                None => {}
            }
            previous = event.time;
        }
        Nanos(listed + last.into_iter().flatten().map(|n| n.0).sum::<u64>())
    }

    /// Finds a thread by name.
    pub fn thread_named(&self, name: &str) -> Option<ThreadId> {
        self.threads
            .iter()
            .position(|thread| thread.name == name)
            .map(ThreadId::from_index)
    }

    /// Returns whether the threads are the abstract processes of the paper, which `send` and `wait`.
    pub fn is_abstract(&self) -> bool {
        self.calls
            .iter()
            .any(|call| matches!(call.operation, Operation::Send { .. } | Operation::Wait(_)))
    }

    /// Drops the calls that no event makes, merges equal ones and numbers them by first use, as the files do.
    ///
    /// # Panics
    ///
    /// When an event's call is not in the table; [`validate`](crate::validate()) tells.
    pub fn renumber_calls(&mut self) {
        let (calls, renumbered) = used_calls(self);
        for event in &mut self.events {
            event.call = CallId(renumbered[event.call.index()]);
        }
        self.calls = calls;
    }

    /// Drops the calls that no event makes, and the messages that no such call names.
    pub(crate) fn drop_unused_messages(&mut self) {
        self.renumber_calls();
        let mut numbers = vec![None; self.messages.len()];
        let mut used = Vec::new();
        for call in &mut self.calls {
            if let Operation::Message(message) = &mut call.operation {
                let number = numbers[message.index()].get_or_insert_with(|| {
                    used.push(self.messages[message.index()].clone());
                    MessageId::from_index(used.len() - 1)
                });
                *message = *number;
            }
        }
        self.messages = used;
    }

    /// Returns the message of a call of MPI.
    pub fn message(&self, call: &Call) -> Option<&Message> {
        match call.operation {
            Operation::Message(message) => self.messages.get(message.index()),
            _ => None,
        }
    }

    /// Returns the processes that are ranks of MPI, with their ranks and how many there are, in the order of their beginnings.
    pub fn ranks(&self) -> Vec<(ProcessId, u32, u32)> {
        let begin = |call: &Call| {
            let (rank, ranks) = self.message(call)?.action.begun()?;
            Some((self.threads[call.thread.index()].process, rank, ranks))
        };
        self.calls.iter().filter_map(begin).collect()
    }

    /// Adds a distinct call and returns its id. Use a map beside it where equal calls recur.
    pub fn push_call(&mut self, call: Call) -> CallId {
        self.calls.push(call);
        CallId::from_index(self.calls.len() - 1)
    }
}

/// Returns the calls that events make, each once, in the order of their first use, and for each call of the trace its
/// position among them (`u32::MAX` for one that no event makes).
///
/// The table of calls is an encoding, not a fact of the run: written in this order, equal traces are equal files.
pub(crate) fn used_calls(trace: &Trace) -> (Vec<Call>, Vec<u32>) {
    let mut used = Vec::new();
    let mut by_call = HashMap::new();
    let mut renumbered = vec![u32::MAX; trace.calls.len()];
    for event in &trace.events {
        let number = &mut renumbered[event.call.index()];
        if *number == u32::MAX {
            let call = *trace.call(event);
            *number = *by_call.entry(call).or_insert_with(|| {
                used.push(call);
                CallId::from_index(used.len() - 1).0
            });
        }
    }
    (used, renumbered)
}

/// How one learns when a blocked call came back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Returns {
    /// From the order of the rows: it came back before its thread's next row. The paper's listings are such.
    #[default]
    Derived,
    /// Every call that blocked is followed by an [`Operation::Return`]; one without it did not block. What the
    /// recorder writes.
    Explicit,
}

/// An operating-system process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its name: that of its program.
    pub name: String,
    /// Its number in the recorded system, where it had one.
    pub pid: Option<u32>,
    /// The number of the process that started it, where that is known.
    pub parent_pid: Option<u32>,
    /// How often it gave memory back, or changed what it may do with it, while it had several threads: all CPUs that run one
    /// have to forget about it.
    #[serde(skip)]
    pub remaps: u64,
}

/// A thread, or an abstract process of the paper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its name, unique in the trace.
    pub name: String,
    /// The process it belongs to.
    pub process: ProcessId,
    /// Its priority: larger runs first.
    pub priority: Option<i32>,
    /// The CPU that it is bound to in predictions.
    pub cpu: Option<u32>,
    /// Where its start routine lies, where that is known.
    pub start_routine: Option<SiteId>,
    /// Its number in the recorded system, where it had one.
    pub tid: Option<u32>,
}

/// A file that was mapped into a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Module {
    /// Its path.
    pub path: String,
    /// The GNU build id that its linker gave it, in hexadecimal; `None` where it has none or could not be read. With it
    /// one knows later whether a file of that path is still the one that ran, and finds its separate debug file.
    pub build_id: Option<String>,
}

/// A place in the program: an instruction in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallSite {
    /// The file.
    pub module: ModuleId,
    /// The offset in that file, in bytes, of the instruction after the call (its return address), or of a routine's
    /// first instruction.
    pub offset: u64,
    /// Where the function that lies here was called from, where call stacks were recorded: an earlier entry of
    /// [`Trace::sites`].
    pub caller: Option<SiteId>,
}

impl Trace {
    /// Returns a call site as `file+0xoffset`, the file without its directories.
    pub fn site_text(&self, site: SiteId) -> String {
        let offset = self.sites[site.index()].offset;
        format!("{}+{offset:#x}", self.file_of(site))
    }

    /// Returns the name of the file that a place is in.
    fn file_of(&self, site: SiteId) -> &str {
        let path = &self.modules[self.sites[site.index()].module.index()].path;
        path.rsplit('/').next().unwrap_or(path)
    }

    /// Returns whether a place is in the library by which programs are recorded.
    pub(crate) fn is_in_recorder(&self, site: SiteId) -> bool {
        self.file_of(site).starts_with("libforetrace_preload.")
    }

    /// Returns whether a place is in one of UCX's libraries, by which libraries of MPI pass messages. They do much while they are
    /// loaded, before MPI begins, and wait there for a set time, too.
    pub fn is_in_transport(&self, site: SiteId) -> bool {
        let file = self.file_of(site);
        let names = ["libucm.", "libucp.", "libucs.", "libuct."];
        names.iter().any(|name| file.starts_with(name))
    }
}
