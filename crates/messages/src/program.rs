//! Programs that pass messages.

use std::{collections::BTreeMap, ops::Range};

use rustc_hash::FxHashMap;

use crate::{Collective, Kind, Operation};

/// What every rank does, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The file that it came from.
    pub source: String,
    /// What ranks do, each distinct operation once: loops do the same again and again, and few bytes for each of hundreds
    /// of millions of operations are read faster than many.
    pub distinct: Vec<Operation>,
    /// The operations of all ranks, one rank after the other, as positions in [`Self::distinct`].
    pub steps: Vec<u32>,
    /// Where each rank's operations begin, and where the last one's end.
    pub starts: Vec<usize>,
    /// The communicators; the first is the world's.
    pub communicators: Vec<Communicator>,
    /// The collective operations that are called, each distinct one once.
    pub collectives: Vec<Collective>,
    /// What ranks have for their threads, where that is not one CPU as when they were recorded.
    pub threads: Option<Threads>,
    /// How many messages nobody receives: so many were not received when it was recorded.
    pub unreceived: u64,
    /// What a reader must know about its limits.
    pub warnings: Vec<String>,
}

/// Threads of ranks that have several CPUs: what they do at the same time is in the rank's work once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// The CPUs of a rank.
    pub cpus: u32,
    /// The CPU time of all threads together, in picoseconds.
    pub work: u64,
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

    /// Returns the operation at a position.
    #[inline]
    pub fn at(&self, position: usize) -> Operation {
        self.distinct[self.steps[position] as usize]
    }

    /// Returns a rank's operations.
    pub fn of_rank(
        &self,
        rank: u32,
    ) -> impl DoubleEndedIterator<Item = Operation> + ExactSizeIterator + '_ {
        self.range(rank).map(|position| self.at(position))
    }

    /// Returns all operations, one rank after the other.
    pub fn operations(&self) -> impl Iterator<Item = Operation> + '_ {
        self.steps.iter().map(|step| self.distinct[*step as usize])
    }

    /// Returns the number of messages that are sent one to one.
    pub fn messages(&self) -> u64 {
        self.operations().filter(is_message).count() as u64
    }

    /// Returns the bytes of those messages.
    pub fn bytes(&self) -> u64 {
        let sends = self.operations().filter(is_message);
        sends.map(|op| op.value).fold(0, u64::saturating_add)
    }

    /// Returns the work of all ranks together, in picoseconds.
    pub fn work(&self) -> u64 {
        if let Some(threads) = self.threads {
            return threads.work;
        }
        let work = self.operations().filter(|op| op.kind == Kind::Work);
        work.map(|op| op.value).fold(0, u64::saturating_add)
    }

    /// Returns how long all ranks take at least on one CPU whose messages take no time, in picoseconds: their work, or the
    /// work and the pauses of one rank, since others may work while it pauses.
    pub fn on_one_cpu(&self) -> u64 {
        if !self.distinct.iter().any(|op| op.kind == Kind::Pause) {
            return self.work();
        }
        let takes_time = |op: &Operation| matches!(op.kind, Kind::Work | Kind::Pause);
        let of_rank = |rank| {
            let times = self.of_rank(rank).filter(takes_time).map(|op| op.value);
            times.fold(0, u64::saturating_add)
        };
        let longest = (0..self.ranks()).map(of_rank).max();
        self.work().max(longest.unwrap_or_default())
    }
}

impl Program {
    /// Returns the program with other times of its work, each by its position and the time that it takes now, in picoseconds.
    #[must_use]
    pub fn with_work(&self, mut time: impl FnMut(usize, u64) -> u64) -> Self {
        let mut program = self.clone();
        let numbered = (0..).zip(&self.distinct);
        let mut numbers: FxHashMap<Operation, u32> =
            numbered.map(|(number, op)| (*op, number)).collect();
        for (position, step) in program.steps.iter_mut().enumerate() {
            let own = self.distinct[*step as usize];
            if own.kind != Kind::Work {
                continue;
            }
            let changed = Operation {
                value: time(position, own.value),
                ..own
            };
            let distinct = &mut program.distinct;
            *step = *numbers.entry(changed).or_insert_with(|| {
                distinct.push(changed);
                distinct.len() as u32 - 1
            });
        }
        program
    }
}

/// Returns whether an operation sends something to one other rank, or asks it for something.
fn is_message(operation: &Operation) -> bool {
    matches!(operation.kind, Kind::Send | Kind::Alone)
}

/// Makes a program of what ranks do, in any order of ranks.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    ranks: Vec<Vec<u32>>,
    /// Of each rank: work that may be more yet.
    work: Vec<Operation>,
    numbers: FxHashMap<Operation, u32>,
    distinct: Vec<Operation>,
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
            work: vec![Operation::work(0); ranks as usize],
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

    /// Adds an operation to a rank's. Work before other work of its sort is one.
    pub fn push(&mut self, rank: u32, operation: Operation) {
        if operation.kind == Kind::Work {
            if self.work[rank as usize].mode != operation.mode {
                self.end_work(rank);
            }
            let work = &mut self.work[rank as usize];
            work.mode = operation.mode;
            work.value = work.value.saturating_add(operation.value);
            return;
        }
        self.end_work(rank);
        self.add(rank, operation);
    }

    fn end_work(&mut self, rank: u32) {
        let none = Operation::work(0);
        let work = std::mem::replace(&mut self.work[rank as usize], none);
        if work.value > 0 {
            self.add(rank, work);
        }
    }

    fn add(&mut self, rank: u32, operation: Operation) {
        let number = *self.numbers.entry(operation).or_insert_with(|| {
            self.distinct.push(operation);
            self.distinct.len() as u32 - 1
        });
        self.ranks[rank as usize].push(number);
    }

    /// Returns how many operations a rank has so far, without work that may be more yet.
    pub fn operations(&self, rank: u32) -> usize {
        self.ranks[rank as usize].len()
    }

    /// Adds waits for several requests at once.
    pub fn wait_all(&mut self, rank: u32, requests: &[u32]) {
        for wait in Operation::waits(requests) {
            self.push(rank, wait);
        }
    }

    /// Warns of so many of something, if there are any: in words for one, and for several.
    pub(crate) fn remark(&mut self, count: u64, one: &str, several: &str) {
        let what = if count == 1 { one } else { several };
        if count > 0 {
            self.warnings.push(format!("{count} {what}"));
        }
    }

    /// Adds a call of a collective.
    pub fn collective(&mut self, rank: u32, communicator: u16, request: u32, call: Collective) {
        let operation = self.collective_call(communicator, request, call);
        self.push(rank, operation);
    }

    /// Returns a call of a collective.
    pub(crate) fn collective_call(
        &mut self,
        communicator: u16,
        request: u32,
        call: Collective,
    ) -> Operation {
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
        operation.on(communicator).with_request(request)
    }

    /// Returns the program.
    pub fn finish(mut self, source: impl Into<String>) -> Program {
        for rank in 0..self.ranks() {
            self.end_work(rank);
        }
        let mut starts = Vec::with_capacity(self.ranks.len() + 1);
        let mut steps = Vec::with_capacity(self.ranks.iter().map(Vec::len).sum());
        // Numbered anew by first use, so that what a rank does lies together.
        let mut renumbered = vec![u32::MAX; self.distinct.len()];
        let mut distinct = Vec::with_capacity(self.distinct.len());
        for rank in self.ranks {
            starts.push(steps.len());
            for number in rank {
                let new = &mut renumbered[number as usize];
                if *new == u32::MAX {
                    *new = distinct.len() as u32;
                    distinct.push(self.distinct[number as usize]);
                }
                steps.push(*new);
            }
        }
        starts.push(steps.len());
        Program {
            source: source.into(),
            distinct,
            steps,
            starts,
            communicators: self.communicators,
            collectives: self.listed,
            threads: None,
            unreceived: 0,
            warnings: self.warnings,
        }
    }
}
