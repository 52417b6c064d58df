//! Abstract processes: the k-th send of an event to a process matches its k-th wait for that event.

use super::{Edge, Edges, OpRef};

/// The sends of one event to one process, and its waits.
#[derive(Clone, Debug, Default)]
pub(crate) struct RendezvousLog {
    sends: Vec<OpRef>,
    waits: Vec<OpRef>,
}

impl RendezvousLog {
    /// Logs a send.
    pub fn send(&mut self, send: OpRef) {
        self.sends.push(send);
    }

    /// Logs a wait.
    pub fn wait(&mut self, wait: OpRef) {
        self.waits.push(wait);
    }

    /// Adds an edge for every wait. One that was never answered is made to need itself: no model may pass it.
    pub fn edges(&self, edges: &mut Edges) {
        for (index, &acquire) in self.waits.iter().enumerate() {
            let release = self.sends.get(index).copied().unwrap_or(acquire);
            edges.push(Edge { acquire, release });
        }
    }
}
