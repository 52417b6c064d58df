//! Rendezvous of abstract processes: an activator waits until it is accepted.

use std::collections::VecDeque;

use foretrace_trace::ObjectId;

/// What is addressed to one process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mailbox {
    /// The event that the process is blocked waiting for.
    awaited: Option<ObjectId>,
    /// Activators that wait to be accepted, oldest first.
    activators: VecDeque<(u32, ObjectId)>,
}

impl Mailbox {
    /// An activator comes. Returns whether the process, which waits for this event, accepts it at once; it queues
    /// otherwise.
    pub fn send(&mut self, activator: u32, event: ObjectId) -> bool {
        let accepted = self.awaited == Some(event);
        if accepted {
            self.awaited = None;
        } else {
            self.activators.push_back((activator, event));
        }
        accepted
    }

    /// The process waits for an event. Returns the activator that it accepts, the oldest; it blocks where there is
    /// none.
    pub fn wait(&mut self, event: ObjectId) -> Option<u32> {
        let oldest = self.activators.iter().position(|&(_, sent)| sent == event);
        if oldest.is_none() {
            self.awaited = Some(event);
        }
        oldest
            .and_then(|index| self.activators.remove(index))
            .map(|(activator, _)| activator)
    }
}
