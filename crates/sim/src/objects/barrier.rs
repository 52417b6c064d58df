//! Barriers: all threads of a generation arrive before any goes on.

use foretrace_program::Program;
use foretrace_trace::{ObjectId, ObjectKind};

/// All barriers of a program, by object.
pub(crate) struct Barriers {
    barriers: Vec<Barrier>,
}

#[derive(Clone, Default)]
struct Barrier {
    size: usize,
    arrived: Vec<u32>,
}

impl Barriers {
    pub fn new(program: &Program) -> Self {
        let last = program
            .objects
            .iter()
            .rposition(|object| object.kind == ObjectKind::Barrier);
        let used = &program.objects[..last.map_or(0, |last| last + 1)];
        let size = |initial: Option<u32>| initial.unwrap_or(1).max(1) as usize;
        let barriers = used.iter().map(|object| Barrier {
            size: size(object.initial),
            arrived: Vec::new(),
        });
        Self {
            barriers: barriers.collect(),
        }
    }

    /// A thread arrives. Returns the others when it is the last; `None` when it must wait.
    pub fn arrive(&mut self, barrier: ObjectId, thread: u32) -> Option<std::vec::Drain<'_, u32>> {
        let barrier = &mut self.barriers[barrier.index()];
        if barrier.arrived.len() + 1 < barrier.size {
            barrier.arrived.push(thread);
            return None;
        }
        Some(barrier.arrived.drain(..))
    }

    /// A thread that arrived goes on without the others.
    pub fn leave(&mut self, barrier: ObjectId, thread: u32) {
        let arrived = &mut self.barriers[barrier.index()].arrived;
        arrived.retain(|&other| other != thread);
    }
}
