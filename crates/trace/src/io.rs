//! What threads wait for that is no other thread: input, output, the kernel.
//!
//! The positions of the values are their bytes in files, so that new ones stand at the end.

/// Which sort of call a thread was blocked in.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum IoKind {
    /// `read` and its relatives, `recv`.
    Read,
    /// `write` and its relatives, `send`.
    Write,
    /// From one file to another: `sendfile`, `splice`, `copy_file_range`.
    Copy,
    /// Waiting until files are ready: `poll`, `select`, `epoll_wait`.
    Poll,
    /// `accept`.
    Accept,
    /// `connect`.
    Connect,
    /// `fsync` and its relatives.
    Sync,
    /// A lock on a file: `flock`, `lockf`, `fcntl`.
    Lock,
    /// Waiting for a signal: `sigsuspend`, `sigwait`, `pause`.
    Signal,
    /// Waiting for a process that was not recorded, or for any change of a process but its end.
    Process,
    /// A message queue or a set of semaphores of System V's whose other side is not known.
    Queue,
    /// Looking at memory again and again and giving up the CPU in between (`sched_yield`): others run for some time between two
    /// looks.
    Yield,
}

impl IoKind {
    /// All of them, in the order of their bytes.
    pub const ALL: [Self; 12] = [
        Self::Read,
        Self::Write,
        Self::Copy,
        Self::Poll,
        Self::Accept,
        Self::Connect,
        Self::Sync,
        Self::Lock,
        Self::Signal,
        Self::Process,
        Self::Queue,
        Self::Yield,
    ];

    /// Returns the name used in text traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Copy => "copy",
            Self::Poll => "poll",
            Self::Accept => "accept",
            Self::Connect => "connect",
            Self::Sync => "sync",
            Self::Lock => "lock",
            Self::Signal => "signal",
            Self::Process => "process",
            Self::Queue => "queue",
            Self::Yield => "yield",
        }
    }
}

/// What a file descriptor stood for.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum FileKind {
    /// No file, or several.
    None,
    /// A regular file or a directory.
    File,
    /// A pipe, named or not.
    Pipe,
    /// A socket.
    Socket,
    /// A terminal.
    Terminal,
    /// Another device.
    Device,
    /// An `eventfd`.
    Event,
    /// A `timerfd`.
    Timer,
    /// An `epoll` instance.
    Epoll,
    /// Anything else.
    Other,
}

impl FileKind {
    /// All of them, in the order of their bytes.
    pub const ALL: [Self; 10] = [
        Self::None,
        Self::File,
        Self::Pipe,
        Self::Socket,
        Self::Terminal,
        Self::Device,
        Self::Event,
        Self::Timer,
        Self::Epoll,
        Self::Other,
    ];

    /// Returns the name used in text traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::File => "file",
            Self::Pipe => "pipe",
            Self::Socket => "socket",
            Self::Terminal => "terminal",
            Self::Device => "device",
            Self::Event => "event",
            Self::Timer => "timer",
            Self::Epoll => "epoll",
            Self::Other => "other",
        }
    }
}

/// Packs both into the operand of a journal's record.
pub fn pack(kind: IoKind, file: FileKind) -> u64 {
    kind as u64 | (file as u64) << 8
}

/// Unpacks the operand of a journal's record; `None` for bytes of no meaning.
pub fn unpack(operand: u64) -> Option<(IoKind, FileKind)> {
    let kind = IoKind::ALL.get((operand & 0xff) as usize)?;
    let file = FileKind::ALL.get((operand >> 8) as usize)?;
    Some((*kind, *file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_unpacked_as_it_was_packed() {
        for kind in IoKind::ALL {
            for file in FileKind::ALL {
                assert_eq!(unpack(pack(kind, file)), Some((kind, file)));
            }
        }
        assert_eq!(unpack(0xff), None);
    }
}
