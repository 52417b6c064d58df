//! Time that ranks let pass between calls of MPI without working: they sleep, or wait for disks, clocks or people.
//!
//! What the rank's other threads work meanwhile is not in it, since threads of a rank share its CPU in the replay. Who looks for a message, sleeps and
//! looks again waits for the message, and that takes as long as it takes in the replay: such sleeps are none.

use foretrace_trace::{Action, Call, Event, Message, Nanos, Operation, Trace};

/// Functions that look whether something is there.
const LOOKS: [&str; 6] = [
    "test", "testall", "testany", "testsome", "iprobe", "improbe",
];

/// The pauses of all ranks, as far as events have been gone through.
pub(crate) struct Pauses {
    threads: Vec<Thread>,
    ranks: Vec<Rank>,
}

#[derive(Clone, Copy, Default)]
struct Thread {
    /// The call in which it lets time pass.
    begun: Option<Begun>,
    /// For how long it did so since its last call of MPI, in nanoseconds.
    paused: u64,
    /// Whether that call looked for something in vain.
    looked: bool,
}

#[derive(Clone, Copy)]
struct Begun {
    call: Call,
    at: Nanos,
    /// What had become of its rank by then.
    rank: Rank,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Rank {
    /// The CPU time of its own, in nanoseconds.
    worked: u64,
    /// How often it called MPI.
    calls: u64,
}

impl Pauses {
    pub fn new(trace: &Trace, ranks: u32) -> Self {
        Self {
            threads: vec![Thread::default(); trace.threads.len()],
            ranks: vec![Rank::default(); ranks as usize],
        }
    }

    /// Returns whether a thread looked for something in vain, by its last call of MPI.
    pub fn looked(&self, thread: usize) -> bool {
        self.threads[thread].looked
    }

    /// Goes on to an event of a rank, before which its thread worked for so many nanoseconds. Returns for how long it paused before
    /// that, in nanoseconds, if the event is a call of MPI.
    pub fn before(&mut self, trace: &Trace, event: &Event, rank: u32, worked: u64) -> u64 {
        let call = trace.call(event);
        let of_rank = &mut self.ranks[rank as usize];
        of_rank.worked += worked;
        let thread = &mut self.threads[call.thread.index()];
        let begun = thread.begun.take();
        match call.operation {
            Operation::Return => {
                if let Some(begun) = begun
                    && begun
                        .call
                        .is_pause(begun.call.outcome.with_return(Some(call.outcome)))
                    && begun.rank.calls == of_rank.calls
                {
                    let gone = Nanos(event.time.0.saturating_sub(begun.at.0));
                    let paused = begun.call.gone_by_itself(gone).0;
                    let others = of_rank.worked - begun.rank.worked;
                    thread.paused += paused.saturating_sub(others);
                }
                0
            }
            Operation::Message(message) => {
                of_rank.calls += 1;
                let message = &trace.messages[message.index()];
                let waited = thread.looked && looks(message);
                thread.looked = matches!(message.action, Action::Tries { .. });
                let paused = std::mem::take(&mut thread.paused);
                if waited { 0 } else { paused }
            }
            // Before its first call, libraries may wait for a set time while they are loaded.
            Operation::Sleep | Operation::SleepFor(_) | Operation::Io { .. }
                if of_rank.calls > 0 =>
            {
                thread.begun = Some(Begun {
                    call: *call,
                    at: event.time,
                    rank: *of_rank,
                });
                0
            }
            _ => 0,
        }
    }
}

/// Returns whether a call of MPI looks whether something is there.
fn looks(message: &Message) -> bool {
    matches!(message.action, Action::Tries { .. }) || LOOKS.contains(&message.name.as_str())
}
