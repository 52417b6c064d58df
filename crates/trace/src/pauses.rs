//! Calls that let time pass without a CPU.

use crate::{Call, FileKind, IoKind, Nanos, Operation, Outcome};

/// By how many nanoseconds Linux's timers are late, to let several ring at once: the default of `prctl(PR_SET_TIMERSLACK)`.
pub const TIMER_SLACK: u64 = 50_000;

impl Outcome {
    /// Returns what came of a call that says this, and whose return, where it has one, says that.
    #[must_use]
    pub fn with_return(self, back: Option<Self>) -> Self {
        match (back, self) {
            // A recorder may mark a call that had to wait as busy; its return counts.
            (Some(Self::Success), Self::Busy) => Self::Success,
            (None | Some(Self::Success), said) => said,
            (Some(other), _) => other,
        }
    }
}

impl Operation {
    /// Returns whether it is a sleep: also a wait for files that ends by the clock alone, and one for a clock's next tick.
    pub fn is_sleep(self, outcome: Outcome) -> bool {
        match self {
            Self::Sleep
            | Self::SleepFor(_)
            | Self::Io {
                kind: IoKind::Read,
                file: FileKind::Timer,
            } => !matches!(outcome, Outcome::Failed(_)),
            _ if self.is_poll() => outcome == Outcome::TimedOut,
            _ => self.is_spin(),
        }
    }

    /// Tells how far a thread had come at the end of a turn on the CPU: a look at memory that took no time.
    pub const TURN_END: Self = Self::Linger(Nanos(0));

    /// Returns whether its thread slept because the program said so, be it between two looks for something.
    pub fn is_nap(self) -> bool {
        matches!(self, Self::Sleep | Self::SleepFor(_))
    }

    /// Returns whether its thread waited until files were ready, or its time ran out.
    pub fn is_poll(self) -> bool {
        matches!(
            self,
            Self::Io {
                kind: IoKind::Poll,
                ..
            }
        )
    }

    /// Returns whether its thread gave up the CPU, or lost it, between two looks at memory.
    pub fn is_spin(self) -> bool {
        matches!(
            self,
            Self::Spin(_)
                | Self::Io {
                    kind: IoKind::Yield,
                    ..
                }
        )
    }

    /// Returns whether a thread of the recording may be what a blocked call waited for. Disks, clocks and people are none.
    pub fn may_wait_for_threads(self, outcome: Outcome) -> bool {
        let Self::Io { kind, file } = self else {
            return false;
        };
        match kind {
            IoKind::Sync => false,
            IoKind::Read | IoKind::Write | IoKind::Copy => matches!(
                file,
                FileKind::Pipe
                    | FileKind::Socket
                    | FileKind::Event
                    | FileKind::Epoll
                    | FileKind::None
            ),
            _ => outcome != Outcome::TimedOut,
        }
    }
}

impl Call {
    /// Returns whether it let time pass for which no thread of the recording is to blame: it slept, or waited for a disk, a clock or
    /// people. `outcome` is what came of it.
    pub fn is_pause(&self, outcome: Outcome) -> bool {
        match self.operation {
            Operation::Io { .. } => !self.operation.may_wait_for_threads(outcome),
            operation => operation.is_sleep(outcome),
        }
    }

    /// Returns how long it would have been gone by itself that was gone for this time in the recording: who sleeps comes back later
    /// where others have the CPU.
    #[must_use]
    pub fn gone_by_itself(&self, recorded: Nanos) -> Nanos {
        match self.operation {
            Operation::SleepFor(asked) => {
                Nanos(recorded.0.min(asked.0.saturating_add(TIMER_SLACK)))
            }
            _ => recorded,
        }
    }
}
