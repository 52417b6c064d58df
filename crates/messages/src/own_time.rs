//! The CPU time that threads of ranks use outside of MPI.

use foretrace_trace::{Action, Operation as Event, Trace};

use crate::recorded::accesses_file_alone;

/// What is known about a thread while the events are gone through.
#[derive(Clone, Copy, Debug, Default)]
struct Life {
    /// Its CPU time at its last event.
    cpu: u64,
    /// Whether it is in a call of MPI.
    inside: bool,
}

/// The CPU time that threads use outside of MPI.
pub(crate) struct OwnTime {
    lives: Vec<Life>,
    /// Which ranks have begun to use MPI.
    begun: Vec<bool>,
}

impl OwnTime {
    pub fn new(trace: &Trace, ranks: u32) -> Self {
        Self {
            lives: vec![Life::default(); trace.threads.len()],
            begun: vec![false; ranks as usize],
        }
    }

    /// Returns how much of it a thread of a rank used between its event before and this one, in nanoseconds.
    pub fn used(&mut self, trace: &Trace, event: &foretrace_trace::Event, rank: u32) -> u64 {
        let call = trace.call(event);
        let life = &mut self.lives[call.thread.index()];
        let cpu = event.cpu().map_or(life.cpu, |cpu| cpu.0);
        let used = cpu.saturating_sub(life.cpu);
        life.cpu = cpu;
        // From the call to what comes next, the library worked.
        let was_inside = std::mem::take(&mut life.inside);
        // Later, UCX is also called by the program: whenever memory is mapped.
        let is_loading =
            !self.begun[rank as usize] && call.site.is_some_and(|site| trace.is_in_transport(site));
        if let Event::Message(message) = call.operation {
            let message = &trace.messages[message.index()];
            life.inside = !accesses_file_alone(message);
            if matches!(
                message.action,
                Action::Begin { .. } | Action::BeginThreaded { .. }
            ) {
                self.begun[rank as usize] = true;
            }
        }
        if was_inside || is_loading { 0 } else { used }
    }
}
