//! Small traces for this crate's tests.

use foretrace_program::Program;
use foretrace_sim::{Choice, Costs, Course, Machine};
use foretrace_trace::{
    Call, CallSite, Event, ModuleId, Nanos, Object, ObjectId, ObjectKind, Operation, Outcome,
    Process, ProcessId, Returns, SiteId, Thread, ThreadId, Trace,
};

/// A trace of two threads, `A` and `B`, to be filled event by event.
pub struct Sample {
    pub trace: Trace,
}

/// An operation that did what it is for.
pub fn success(operation: Operation) -> (Operation, Outcome) {
    (operation, Outcome::Success)
}

/// A trace by its text, its program, and a machine of so many CPUs on which nothing but work takes time.
pub fn replayed(text: &str, cpus: u32) -> (Trace, Program, Machine) {
    let trace = foretrace_testkit::trace(text);
    let program = Program::from_trace(&trace);
    let machine = Machine {
        costs: Costs::NONE,
        ..Machine::new(cpus, &program)
    };
    (trace, program, machine)
}

/// The course of that.
pub fn course(program: &Program, machine: &Machine) -> Course {
    foretrace_sim::course(program, machine, Choice::Auto, &|_, _| true).unwrap()
}

impl Sample {
    pub fn new() -> Self {
        let thread = |name: &str| Thread {
            name: name.to_owned(),
            process: ProcessId(0),
            priority: None,
            cpu: None,
            start_routine: None,
            tid: None,
        };
        Self {
            trace: Trace {
                returns: Returns::Explicit,
                processes: vec![Process {
                    name: "sample".to_owned(),
                    pid: None,
                    parent_pid: None,
                    remaps: 0,
                }],
                threads: vec![thread("A"), thread("B")],
                ..Trace::default()
            },
        }
    }

    pub fn mutex(&mut self) -> ObjectId {
        self.object(ObjectKind::Mutex)
    }

    pub fn cond(&mut self) -> ObjectId {
        self.object(ObjectKind::Cond)
    }

    pub fn once(&mut self) -> ObjectId {
        self.object(ObjectKind::Once)
    }

    pub fn object(&mut self, kind: ObjectKind) -> ObjectId {
        let id = ObjectId::from_index(self.trace.objects.len());
        self.trace.objects.push(Object {
            kind,
            name: format!("{}{}", kind.name(), id.0),
            process: ProcessId(0),
            address: None,
            initial: None,
        });
        id
    }

    /// Adds a call site.
    pub fn site(&mut self) -> SiteId {
        self.trace.sites.push(CallSite {
            module: ModuleId(0),
            offset: 0,
            caller: None,
        });
        SiteId::from_index(self.trace.sites.len() - 1)
    }

    /// Adds an event without a CPU time.
    pub fn event(&mut self, thread: u32, time: u64, call: (Operation, Outcome)) {
        self.push(None, thread, time, call);
    }

    /// Adds a call from a site.
    pub fn event_at(&mut self, site: SiteId, thread: u32, time: u64, call: (Operation, Outcome)) {
        self.push(Some(site), thread, time, call);
    }

    fn push(
        &mut self,
        site: Option<SiteId>,
        thread: u32,
        time: u64,
        (operation, outcome): (Operation, Outcome),
    ) {
        let call = self.trace.push_call(Call {
            thread: ThreadId(thread),
            operation,
            outcome,
            from: None,
            site,
        });
        self.trace.events.push(Event::new(Nanos(time), None, call));
    }

    /// Adds an event with the thread's CPU time so far.
    pub fn event_with_cpu(&mut self, thread: u32, time: u64, cpu: u64, operation: Operation) {
        self.event(thread, time, success(operation));
        if let Some(event) = self.trace.events.last_mut() {
            event.set_cpu(Some(Nanos(cpu)));
        }
    }
}
