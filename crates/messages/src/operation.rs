//! What a rank does, one step each.

use foretrace_network::CollectiveKind;

/// Stands for any source, or any tag.
pub const ANY: u32 = u32::MAX;

/// Stands for no request: the call blocks.
pub const BLOCKING: u32 = u32::MAX;

/// One step of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    /// Of work and pauses: picoseconds. Of a send or a receive: bytes. Of a receive from anybody: the recorded source, [`ANY`] where
    /// it is not known. Of a collective: a position in [`Program::collectives`](crate::Program::collectives).
    pub value: u64,
    /// The other rank, of the world; [`ANY`] for a receive from anybody.
    pub peer: u32,
    /// The message's tag; [`ANY`] for a receive of any.
    pub tag: u32,
    /// The request, for what does not block and for the wait; a number that the rank uses for one request at a time.
    pub request: u32,
    /// The communicator: a position in [`Program::communicators`](crate::Program::communicators).
    pub communicator: u16,
    /// What it is.
    pub kind: Kind,
    /// How.
    pub mode: Mode,
}

/// What an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Works for a time.
    Work,
    /// Moves data to the memory of another rank or from there, which takes no part in that; over when that has been there and back.
    Alone,
    /// Lets time pass without working: sleeps, or waits for a disk.
    Pause,
    /// Sends a message.
    Send,
    /// Receives one.
    Receive,
    /// Waits for a request; with [`Mode::More`], for the next operation's, too, at once.
    Wait,
    /// Waits until a message can be received, without receiving it.
    Probe,
    /// A collective operation.
    Collective,
}

/// How an operation is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// As usual.
    #[default]
    Standard,
    /// The send is over only when the receive has begun (`MPI_Ssend`).
    Synchronous,
    /// The send does not wait for the receiver, however large it is (`MPI_Bsend`).
    Buffered,
    /// The wait goes on with the next operation.
    More,
    /// The data come from the other rank.
    Back,
    /// As many go there and come from there.
    Both,
    /// The work goes on between looks for messages, so that the rank sees to them meanwhile.
    Looking,
}

impl Operation {
    /// Makes one that works for so many picoseconds.
    pub fn work(picos: u64) -> Self {
        Self {
            value: picos,
            peer: 0,
            tag: 0,
            request: BLOCKING,
            communicator: 0,
            kind: Kind::Work,
            mode: Mode::Standard,
        }
    }

    /// Makes one that lets so many picoseconds pass without working.
    pub fn pause(picos: u64) -> Self {
        Self {
            kind: Kind::Pause,
            ..Self::work(picos)
        }
    }

    /// Makes a blocking send on the world's communicator.
    pub fn send(to: u32, tag: u32, bytes: u64) -> Self {
        Self {
            value: bytes,
            peer: to,
            tag,
            kind: Kind::Send,
            ..Self::work(0)
        }
    }

    /// Makes a blocking receive on the world's communicator.
    pub fn receive(from: u32, tag: u32, bytes: u64) -> Self {
        Self {
            kind: Kind::Receive,
            ..Self::send(from, tag, bytes)
        }
    }

    /// Makes one that moves so many bytes to the memory of another rank.
    pub fn alone(to: u32, bytes: u64) -> Self {
        Self {
            kind: Kind::Alone,
            ..Self::send(to, 0, bytes)
        }
    }

    /// Makes a wait.
    pub fn wait(request: u32) -> Self {
        Self {
            request,
            kind: Kind::Wait,
            ..Self::work(0)
        }
    }

    /// Makes those that wait for several requests at once.
    pub fn waits(requests: &[u32]) -> impl Iterator<Item = Self> {
        let last = requests.len().saturating_sub(1);
        let of = move |(index, &request)| {
            let mode = if index < last {
                Mode::More
            } else {
                Mode::Standard
            };
            Self::wait(request).in_mode(mode)
        };
        requests.iter().enumerate().map(of)
    }

    /// Returns it as one that does not block and is waited for by this request.
    #[must_use]
    pub fn with_request(self, request: u32) -> Self {
        Self { request, ..self }
    }

    /// Returns it on another communicator.
    #[must_use]
    pub fn on(self, communicator: u16) -> Self {
        Self {
            communicator,
            ..self
        }
    }

    /// Returns it done so.
    #[must_use]
    pub fn in_mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// Returns whether it takes a message of a source or a tag that is open.
    pub fn is_wild(&self) -> bool {
        matches!(self.kind, Kind::Receive | Kind::Probe) && (self.peer == ANY || self.tag == ANY)
    }

    /// Returns its name in reports: that of its call in MPI, without the prefix.
    pub fn name(&self) -> &'static str {
        match (self.kind, self.request == BLOCKING, self.mode) {
            (Kind::Work, ..) => "work",
            (Kind::Pause, ..) => "pause",
            (Kind::Alone, _, Mode::Back) => "get",
            (Kind::Alone, _, Mode::Both) => "get_accumulate",
            (Kind::Alone, ..) => "put",
            (Kind::Send, true, Mode::Synchronous) => "ssend",
            (Kind::Send, false, Mode::Synchronous) => "issend",
            (Kind::Send, true, Mode::Buffered) => "bsend",
            (Kind::Send, true, _) => "send",
            (Kind::Send, false, _) => "isend",
            (Kind::Receive, true, _) => "recv",
            (Kind::Receive, false, _) => "irecv",
            (Kind::Wait, ..) => "wait",
            (Kind::Probe, ..) => "probe",
            (Kind::Collective, ..) => "collective",
        }
    }
}

/// A collective operation, as one rank calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Collective {
    /// Which.
    pub kind: CollectiveKind,
    /// The root, of the world; 0 where there is none.
    pub root: u32,
    /// The bytes that this rank gives: to each, where each gets something else (scatter, alltoall); altogether otherwise.
    pub sent: u64,
    /// The bytes that it gets: from each, where each gives something else (gather, allgather, alltoall).
    pub received: u64,
    /// The work of combining, in picoseconds.
    pub work: u64,
}
