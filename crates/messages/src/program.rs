//! Programs that pass messages.

use std::{collections::BTreeMap, ops::Range};

use crate::{Collective, Kind, Mode, Operation};

/// What every rank does, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The file that it came from.
    pub source: String,
    /// The operations of all ranks, one rank after the other.
    pub operations: Vec<Operation>,
    /// Where each rank's operations begin, and where the last one's end.
    pub starts: Vec<usize>,
    /// The communicators; the first is the world's.
    pub communicators: Vec<Communicator>,
    /// The collective operations that are called, each distinct one once.
    pub collectives: Vec<Collective>,
    /// What a reader must know about its limits.
    pub warnings: Vec<String>,
}

/// Some ranks that have messages of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Communicator {
    /// Its name in reports.
    pub name: String,
    /// Its members, as ranks of the world, in their order within it.
    pub members: Vec<u32>,
}

impl Program {
    /// Returns the number of ranks.
    pub fn ranks(&self) -> u32 {
        self.starts.len().saturating_sub(1) as u32
    }

    /// Returns the positions of a rank's operations.
    pub fn range(&self, rank: u32) -> Range<usize> {
        self.starts[rank as usize]..self.starts[rank as usize + 1]
    }

    /// Returns a rank's operations.
    pub fn of_rank(&self, rank: u32) -> &[Operation] {
        &self.operations[self.range(rank)]
    }

    /// Returns the number of messages that are sent one to one.
    pub fn messages(&self) -> u64 {
        let sends = self.operations.iter().filter(|op| op.kind == Kind::Send);
        sends.count() as u64
    }

    /// Returns the bytes of those messages.
    pub fn bytes(&self) -> u64 {
        let sends = self.operations.iter().filter(|op| op.kind == Kind::Send);
        sends.map(|op| op.value).fold(0, u64::saturating_add)
    }

    /// Returns the number of calls of collectives, over all ranks.
    pub fn collective_calls(&self) -> u64 {
        let calls = self
            .operations
            .iter()
            .filter(|op| op.kind == Kind::Collective);
        calls.count() as u64
    }

    /// Returns the work of all ranks together, in picoseconds.
    pub fn work(&self) -> u64 {
        let work = self.operations.iter().filter(|op| op.kind == Kind::Work);
        work.map(|op| op.value).fold(0, u64::saturating_add)
    }
}

/// Makes a program of what ranks do, in any order of ranks.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    ranks: Vec<Vec<Operation>>,
    communicators: Vec<Communicator>,
    collectives: BTreeMap<Collective, u32>,
    listed: Vec<Collective>,
    /// What a reader must know about its limits.
    pub warnings: Vec<String>,
}

impl Builder {
    /// Begins with so many ranks, which all are of the world's communicator.
    pub fn new(ranks: u32) -> Self {
        Self {
            ranks: vec![Vec::new(); ranks as usize],
            communicators: vec![Communicator {
                name: "world".to_owned(),
                members: (0..ranks).collect(),
            }],
            ..Self::default()
        }
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// Adds a communicator, and returns its number; `None` where there are too many.
    pub fn communicator(&mut self, name: impl Into<String>, members: Vec<u32>) -> Option<u16> {
        let number = u16::try_from(self.communicators.len())
            .ok()
            .filter(|number| *number < crate::channel::CONTEXT)?;
        self.communicators.push(Communicator {
            name: name.into(),
            members,
        });
        Some(number)
    }

    /// Adds an operation to a rank's. Work before other work is one.
    pub fn push(&mut self, rank: u32, operation: Operation) {
        let operations = &mut self.ranks[rank as usize];
        match operations.last_mut() {
            Some(last) if last.kind == Kind::Work && operation.kind == Kind::Work => {
                last.value = last.value.saturating_add(operation.value);
            }
            _ if operation.kind == Kind::Work && operation.value == 0 => {}
            _ => operations.push(operation),
        }
    }

    /// Adds waits for several requests at once.
    pub fn wait_all(&mut self, rank: u32, requests: &[u32]) {
        for (index, request) in requests.iter().enumerate() {
            let last = index + 1 == requests.len();
            let mode = if last { Mode::Standard } else { Mode::More };
            self.push(rank, Operation::wait(*request).in_mode(mode));
        }
    }

    /// Adds a call of a collective.
    pub fn collective(&mut self, rank: u32, communicator: u16, request: u32, call: Collective) {
        let next = self.listed.len() as u32;
        let number = *self.collectives.entry(call).or_insert(next);
        if number == next {
            self.listed.push(call);
        }
        let operation = Operation {
            value: u64::from(number),
            kind: Kind::Collective,
            ..Operation::work(0)
        };
        self.push(rank, operation.on(communicator).with_request(request));
    }

    /// Returns the program.
    pub fn finish(self, source: impl Into<String>) -> Program {
        let mut starts = Vec::with_capacity(self.ranks.len() + 1);
        let count = self.ranks.iter().map(Vec::len).sum();
        let mut operations = Vec::with_capacity(count);
        for rank in self.ranks {
            starts.push(operations.len());
            operations.extend(rank);
        }
        starts.push(operations.len());
        Program {
            source: source.into(),
            operations,
            starts,
            communicators: self.communicators,
            collectives: self.listed,
            warnings: self.warnings,
        }
    }
}
