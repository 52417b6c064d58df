//! How a trace was recorded.

use serde::{Deserialize, Serialize};

use crate::Nanos;

/// The circumstances of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// The command and its arguments, as given.
    pub command: Vec<String>,
    /// The version of foretrace that recorded it.
    pub recorder_version: String,
    /// When it began, in seconds since 1970.
    pub started_unix_seconds: u64,
    /// The CPU that the program was pinned to.
    pub cpu: u32,
    /// The CPUs that the program was made to believe in.
    pub pretended_cpus: u32,
    /// How long a thread ran at most before it let others run at its next unlock or post; `None` for as long as the kernel
    /// let it.
    pub slice: Option<Nanos>,
    /// The clock that CPU times come from.
    pub clock: ThreadClock,
    /// How long it took by the clock of the wall.
    pub wall: Nanos,
    /// The CPU time of the program and all that it waited for, user and system, as the kernel counted it at the end.
    /// `None` where the recording was cut short.
    pub cpu_time: Option<Nanos>,
    /// How the program ended; `None` where the recording was cut short.
    pub exit: Option<ExitStatus>,
    /// Events that could not be stored, for instance on a full disk.
    pub lost_events: u64,
    /// The CPU time of the threads that the recorder itself used, as it measured it; the events' CPU times are without
    /// it.
    pub recorder_cpu: Nanos,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExitStatus {
    /// By itself, with this code.
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
}

/// Where a thread's CPU time was read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ThreadClock {
    /// The time-stamp counter while the thread stayed on its CPU (told by rseq), the system call otherwise.
    Rseq,
    /// The time-stamp counter within short intervals, the system call otherwise.
    Counter,
    /// `CLOCK_THREAD_CPUTIME_ID`, at every event.
    #[default]
    SystemCall,
}
