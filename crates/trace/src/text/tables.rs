//! Names to ids, while a text trace is read.

use std::{cmp::Reverse, collections::HashMap, mem};

use super::{lex::Token, nearest::hint, problem::Problem, quantity::hexadecimal};
use crate::{
    Call, CallId, CallSite, Communicator, Message, MessageId, Module, ModuleId, Object, ObjectId,
    ObjectKind, Process, ProcessId, SiteId, Thread, ThreadId, Trace,
};

/// The name of the operating-system process of a trace that declares none.
pub(super) const DEFAULT_PROGRAM: &str = "program";

/// The process of a trace that declares none.
pub(super) fn default_process() -> Process {
    Process {
        name: DEFAULT_PROGRAM.to_owned(),
        pid: None,
        parent_pid: None,
        remaps: 0,
    }
}

/// A trace that is being read, and where its names stand in its tables.
#[derive(Default)]
pub(super) struct Tables {
    /// What was read so far.
    pub trace: Trace,
    /// Whether the header declares threads, so that the rows may name no others.
    declared: bool,
    threads: HashMap<String, (ThreadId, usize)>,
    objects: HashMap<String, Vec<Named>>,
    modules: HashMap<String, ModuleId>,
    sites: HashMap<String, SiteId>,
    calls: HashMap<Call, CallId>,
    messages: HashMap<Message, MessageId>,
}

/// The name of the communicator of all ranks.
const WORLD: &str = "world";

/// An object of some name.
struct Named {
    id: ObjectId,
    kind: ObjectKind,
    line: usize,
}

impl Tables {
    /// Adds a thread that the header declares.
    pub fn declare_thread(
        &mut self,
        name: &Token<'_>,
        line: usize,
        thread: Thread,
    ) -> Result<(), Problem> {
        self.declared = true;
        if let Some((_, first)) = self.threads.get(name.text.as_ref()) {
            let expected = format!("a name that is not taken (by line {first})");
            return Err(name.not(
                expected,
                "give each process its own name, and declare it once",
            ));
        }
        self.add_thread(thread, line);
        Ok(())
    }

    fn add_thread(&mut self, thread: Thread, line: usize) -> ThreadId {
        let id = ThreadId::from_index(self.trace.threads.len());
        self.threads.insert(thread.name.clone(), (id, line));
        self.trace.threads.push(thread);
        id
    }

    /// Ends the header: threads that all carry a priority are put into its order.
    pub fn end_header(&mut self) {
        let threads = &mut self.trace.threads;
        if threads.iter().all(|thread| thread.priority.is_some()) {
            threads.sort_by_key(|thread| Reverse(thread.priority));
        }
        for (index, thread) in threads.iter().enumerate() {
            if let Some((id, _)) = self.threads.get_mut(&thread.name) {
                *id = ThreadId::from_index(index);
            }
        }
    }

    /// Returns the thread that a row names.
    pub fn thread(&mut self, name: &Token<'_>, line: usize) -> Result<ThreadId, Problem> {
        if let Some(&(id, _)) = self.threads.get(name.text.as_ref()) {
            return Ok(id);
        }
        if self.declared {
            let known = self.trace.threads.iter().map(|thread| thread.name.as_str());
            let hint = hint(&name.text, known);
            return Err(name.not(
                "a declared process",
                format!(
                    "declare it with a line `process NAME` in the header, or correct the name{hint}"
                ),
            ));
        }
        let thread = Thread {
            name: name.text.to_string(),
            process: ProcessId(0),
            priority: None,
            cpu: None,
            start_routine: None,
            tid: None,
        };
        Ok(self.add_thread(thread, line))
    }

    /// Adds an object that the header declares.
    pub fn declare_object(
        &mut self,
        name: &Token<'_>,
        line: usize,
        object: Object,
    ) -> Result<(), Problem> {
        let kind = object.kind;
        let alike = self.objects.get(name.text.as_ref());
        let same = alike.and_then(|all| all.iter().find(|named| named.kind == kind));
        if let Some(Named { line: first, .. }) = same {
            let expected = format!(
                "a {} that line {first} does not declare already",
                kind.name()
            );
            return Err(name.not(expected, "give each its own name, and declare it once"));
        }
        self.add_object(object, line);
        Ok(())
    }

    fn add_object(&mut self, object: Object, line: usize) -> ObjectId {
        let id = ObjectId::from_index(self.trace.objects.len());
        let kind = object.kind;
        let named = Named { id, kind, line };
        self.objects
            .entry(object.name.clone())
            .or_default()
            .push(named);
        self.trace.objects.push(object);
        id
    }

    /// Returns the object that a row names.
    pub fn object(
        &mut self,
        name: &Token<'_>,
        kind: ObjectKind,
        line: usize,
    ) -> Result<ObjectId, Problem> {
        let alike = self
            .objects
            .get(name.text.as_ref())
            .map_or(&[][..], Vec::as_slice);
        if let Some(named) = alike.iter().find(|named| named.kind == kind) {
            return Ok(named.id);
        }
        if let Some(other) = alike.first() {
            let (kind, other_kind, first) = (kind.name(), other.kind.name(), other.line);
            return Err(name.not(
                format!("a {kind}; the name is a {other_kind} since line {first}"),
                format!("use another name, or declare both in the header (`{kind} NAME`, `{other_kind} NAME`)"),
            ));
        }
        let object = Object {
            kind,
            name: name.text.to_string(),
            process: ProcessId(0),
            address: None,
            initial: None,
        };
        Ok(self.add_object(object, line))
    }

    /// Notes the number of threads that a barrier waits for.
    pub fn set_barrier_size(
        &mut self,
        id: ObjectId,
        size: u32,
        token: &Token<'_>,
    ) -> Result<(), Problem> {
        let initial = &mut self.trace.objects[id.index()].initial;
        match *initial {
            Some(known) if known != size => {
                let name = &self.trace.objects[id.index()].name;
                let first = self
                    .objects
                    .get(name)
                    .and_then(|all| all.iter().find(|named| named.id == id));
                let line = first.map_or(0, |named| named.line);
                let expected =
                    format!("{known}, the number of threads of {name:?} since line {line}");
                Err(token.not(expected, "give every barrier one number"))
            }
            _ => {
                *initial = Some(size);
                Ok(())
            }
        }
    }

    /// Adds a module that the header declares.
    pub fn declare_module(&mut self, label: &Token<'_>, module: Module) -> Result<(), Problem> {
        let id = ModuleId::from_index(self.trace.modules.len());
        if self.modules.insert(label.text.to_string(), id).is_some() {
            return Err(label.not(
                "a label that is not taken",
                "give each module its own label",
            ));
        }
        self.trace.modules.push(module);
        Ok(())
    }

    /// Adds a place that the header declares, and where it was called from.
    pub fn declare_site(
        &mut self,
        token: &Token<'_>,
        caller: Option<SiteId>,
    ) -> Result<(), Problem> {
        let before = self.trace.sites.len();
        let site = self.site(token)?;
        if self.trace.sites.len() > before {
            self.trace.sites[site.index()].caller = caller;
            return Ok(());
        }
        Err(token.not(
            "a place that is not declared already",
            "append `#2` to a copy of a place",
        ))
    }

    /// Returns the place that `LABEL+0xHEX` names. It may be new, and so may its module.
    pub fn site(&mut self, token: &Token<'_>) -> Result<SiteId, Problem> {
        if let Some(&id) = self.sites.get(token.text.as_ref()) {
            return Ok(id);
        }
        let place = || {
            let (label, rest) = token.text.rsplit_once('+')?;
            let digits = rest.split_once('#').map_or(rest, |(digits, _)| digits);
            Some((label, hexadecimal(digits)?))
        };
        let Some((label, offset)) = place() else {
            return Err(token.not("a place `FILE+0xOFFSET`", "write the offset in hexadecimal"));
        };
        let module = self.module(label);
        let id = SiteId::from_index(self.trace.sites.len());
        self.sites.insert(token.text.to_string(), id);
        self.trace.sites.push(CallSite {
            module,
            offset,
            caller: None,
        });
        Ok(id)
    }

    /// Returns the module of a label, which is its path where it was not declared.
    fn module(&mut self, label: &str) -> ModuleId {
        if let Some(&module) = self.modules.get(label) {
            return module;
        }
        let id = ModuleId::from_index(self.trace.modules.len());
        self.modules.insert(label.to_owned(), id);
        self.trace.modules.push(Module {
            path: label.to_owned(),
            build_id: None,
        });
        id
    }

    /// Returns the position of a call, which may be new.
    pub fn call(&mut self, call: Call) -> CallId {
        let trace = &mut self.trace;
        *self
            .calls
            .entry(call)
            .or_insert_with(|| trace.push_call(call))
    }

    /// Returns the position of a call of MPI, which may be new.
    pub fn message(&mut self, message: Message) -> MessageId {
        let trace = &mut self.trace;
        *self.messages.entry(message).or_insert_with_key(|message| {
            trace.messages.push(message.clone());
            MessageId::from_index(trace.messages.len() - 1)
        })
    }

    /// Returns the communicator of a name.
    pub fn communicator(&self, name: &str) -> Option<u32> {
        let known = &self.trace.communicators;
        let found = known.iter().position(|known| known.name == name);
        // Where none is declared there is the world's.
        let found = found.or((known.is_empty() && name == WORLD).then_some(0));
        found.map(|index| index as u32)
    }

    /// Returns the rank whose thread has a name: in a listing without `begin` every thread is a rank.
    pub fn rank_named(&self, name: &str) -> Option<u32> {
        self.threads.get(name).map(|(thread, _)| thread.0)
    }

    /// Takes the trace out, its only process made up where none was declared.
    pub fn finish(&mut self) -> Trace {
        let mut trace = mem::take(&mut self.trace);
        if trace.processes.is_empty() {
            trace.processes.push(default_process());
        }
        if !trace.messages.is_empty() && trace.communicators.is_empty() {
            trace.communicators.push(Communicator {
                name: WORLD.to_owned(),
                members: (0..trace.threads.len() as u32).collect(),
            });
        }
        trace
    }
}
