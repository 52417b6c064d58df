//! Who watches a replay.

/// Is told what happens; of each lane in the order of time, not across lanes.
pub(crate) trait Observer {
    /// Whether it wants to be told.
    const WATCHES: bool = true;
    /// A rank works, or is busy with sending or receiving, from `start` on until `end`.
    fn busy(&mut self, _rank: u32, _start: u64, _end: u64, _operation: usize) {}
    /// A rank waits.
    fn wait(&mut self, _rank: u32, _start: u64, _end: u64, _why: Why, _operation: usize) {}
    /// A lane comes to an operation; one that waits may be told of again. `is_call` is false of work.
    fn operation(&mut self, _lane: u32, _at: u64, _operation: usize, _is_call: bool) {}
    /// Returns whether the rest of the replay is not wanted any more.
    fn is_cancelled(&self) -> bool {
        false
    }
    /// A message goes from one rank to another. `is_late` says of one whose data wait for the receiver that it was called only
    /// when the sender was ready.
    fn message(
        &mut self,
        _from: u32,
        _sent: u64,
        _to: u32,
        _received: u64,
        _bytes: u64,
        _is_late: bool,
    ) {
    }
    /// A rank goes on because of what another did at a time before that, which was no message to it: it called its receive, or came last
    /// to a collective, or sent a message that was looked for.
    fn release(&mut self, _by: u32, _did: u64, _rank: u32, _at: u64) {}
}

/// What a rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// For a message.
    Message,
    /// For the receiver of its own.
    Receiver,
    /// For the others of a collective.
    Others,
    /// For time to pass.
    Time,
}

/// Watches nothing.
pub(crate) struct Nobody;

impl Observer for Nobody {
    const WATCHES: bool = false;
}
