//! Gates: open once, and stay open.

use std::collections::BTreeMap;

use foretrace_program::GateId;

/// All gates of a program.
pub(crate) struct Gates {
    open: Vec<bool>,
    waiting: BTreeMap<u32, Vec<u32>>,
}

impl Gates {
    pub fn new(count: usize) -> Self {
        Self {
            open: vec![false; count],
            waiting: BTreeMap::new(),
        }
    }

    /// Returns whether a gate is open; where not, the thread waits for it.
    pub fn is_open_or_wait(&mut self, gate: GateId, thread: u32) -> bool {
        let open = self.open[gate.index()];
        if !open {
            self.waiting.entry(gate.0).or_default().push(thread);
        }
        open
    }

    /// Lets a thread that waits for a gate go on without it.
    pub fn leave(&mut self, gate: GateId, thread: u32) {
        if let Some(waiting) = self.waiting.get_mut(&gate.0) {
            waiting.retain(|&other| other != thread);
        }
    }

    /// Opens a gate and returns who waited for it.
    pub fn open(&mut self, gate: GateId) -> Vec<u32> {
        self.open[gate.index()] = true;
        self.waiting.remove(&gate.0).unwrap_or_default()
    }
}
