//! Which process started which, as far as it was recorded.

use super::decode::Decoded;
use super::file::Journal;
use super::hash::FastMap;
use crate::ThreadId;

/// The processes of a recording, each with its journals: one for each program that it became.
pub(super) struct Lineage<'a> {
    journals: &'a [Journal],
    /// The journals of processes by their numbers, and by those of their parents, each in order.
    of_process: FastMap<u32, Vec<usize>>,
    of_parent: FastMap<u32, Vec<usize>>,
    /// The journal in which each process went on as another program.
    successors: Vec<Option<usize>>,
    /// Whether a journal needs nobody any more who started its process: somebody did, or it is a successor.
    claimed: Vec<bool>,
    /// The first thread of each journal, and the thread whose end was that of the program.
    first: Vec<Option<ThreadId>>,
    last: Vec<Option<ThreadId>>,
    /// The children of each process, by their numbers and those of their parents.
    by_number: FastMap<(u32, u32), usize>,
    /// The children whose numbers were not told, by what their parents call them.
    by_key: FastMap<(u32, u64), usize>,
    /// The thread of each journal that last set out to become another program.
    becoming: Vec<Option<ThreadId>>,
}

impl<'a> Lineage<'a> {
    pub fn new(journals: &'a [Journal]) -> Self {
        let count = journals.len();
        let of_process = by_number(journals, |journal| journal.pid);
        let successors: Vec<Option<usize>> = journals
            .iter()
            .map(|journal| {
                let succeeds = |&other: &usize| is_successor(journal, &journals[other]);
                let mut others = of_process[&journal.pid].iter().copied();
                others.find(succeeds)
            })
            .collect();
        let mut claimed = vec![false; count];
        for &successor in successors.iter().flatten() {
            claimed[successor] = true;
        }
        Self {
            journals,
            of_process,
            of_parent: by_number(journals, |journal| journal.ppid),
            successors,
            claimed,
            first: vec![None; count],
            last: vec![None; count],
            by_number: FastMap::default(),
            by_key: FastMap::default(),
            becoming: vec![None; count],
        }
    }

    /// Tells the threads of a journal, in its order.
    pub fn set_threads(&mut self, index: usize, ids: &[ThreadId]) {
        let journal = &self.journals[index];
        let main = journal
            .threads
            .iter()
            .position(|thread| thread.tid == journal.pid);
        self.first[index] = main.and_then(|main| ids.get(main).copied());
        // A process ends when its first thread returns or anyone calls `exit`; only where the first thread ended
        // alone does it go on until the last of the others does.
        let alone = main.and_then(|main| journal.threads[main].ended);
        let survivor = alone.and_then(|end| {
            let ended_later = journal
                .threads
                .iter()
                .zip(ids)
                .filter(|(thread, _)| thread.ended.is_some_and(|other| other > end));
            ended_later.max_by_key(|(thread, _)| thread.ended)
        });
        self.last[index] = survivor.map(|(_, &id)| id).or(self.first[index]);
    }

    /// Returns the process that a call started and its first thread, if it was recorded.
    pub fn started(&mut self, process: usize, event: &Decoded) -> Option<(usize, ThreadId)> {
        let parent = &self.journals[process];
        let unclaimed =
            |&index: &usize| !self.claimed[index] && self.journals[index].start.tsc >= event.tsc;
        let number = u32::try_from(event.object).ok()?;
        let (candidates, key) = match number {
            0 => (&self.of_parent, parent.pid),
            number => (&self.of_process, number),
        };
        // Not one whose number another call tells.
        let is_other =
            |&index: &usize| number == 0 && parent.started.contains(&self.journals[index].pid);
        let mut candidates = candidates.get(&key).into_iter().flatten().copied();
        let child = candidates.find(|index| unclaimed(index) && !is_other(index))?;
        self.claimed[child] = true;
        if number == 0 {
            self.by_key.insert((parent.pid, event.second), child);
        } else {
            self.by_number.insert((parent.pid, number), child);
        }
        self.first[child].map(|thread| (child, thread))
    }

    /// Returns the thread with which the process ended that a call waited for, if it was recorded.
    pub fn ended(&mut self, process: usize, event: &Decoded) -> Option<ThreadId> {
        let parent = self.journals[process].pid;
        let number = u32::try_from(event.object).ok()?;
        let known = if number == 0 {
            self.by_key.remove(&(parent, event.second))
        } else {
            self.by_number.remove(&(parent, number))
        };
        // One that was started in a way that nobody saw.
        let mut last = known.or_else(|| {
            let mut others = self.of_process.get(&number).into_iter().flatten().copied();
            others.find(|&index| number != 0 && !self.claimed[index])
        })?;
        self.claimed[last] = true;
        while let Some(successor) = self.successors[last] {
            last = successor;
        }
        self.last[last]
    }

    /// Returns the thread whose end was that of a journal's program.
    pub fn last(&self, process: usize) -> Option<ThreadId> {
        self.last[process]
    }

    /// Notes that a thread is about to become another program.
    pub fn becomes(&mut self, process: usize, thread: ThreadId) {
        self.becoming[process] = Some(thread);
    }

    /// Returns the journal in which a process went on as another program.
    pub fn successor(&self, process: usize) -> Option<usize> {
        self.successors[process]
    }

    /// Returns the first thread of the program that a thread became, if it was this one.
    pub fn became(&self, process: usize, thread: ThreadId) -> Option<ThreadId> {
        let who = self.becoming[process].or(self.first[process]);
        let next = self.first[self.successors[process]?];
        next.filter(|_| who == Some(thread))
    }
}

/// Returns the journals by a number of each.
pub(super) fn by_number(
    journals: &[Journal],
    number: impl Fn(&Journal) -> u32,
) -> FastMap<u32, Vec<usize>> {
    let mut all = FastMap::<u32, Vec<usize>>::default();
    for (index, journal) in journals.iter().enumerate() {
        all.entry(number(journal)).or_default().push(index);
    }
    all
}

/// Returns whether a process went on as another program (by `exec`) right after a journal.
pub(super) fn is_successor(journal: &Journal, other: &Journal) -> bool {
    journal.pid == other.pid
        && journal.start_ticks == other.start_ticks
        && other.follows == Some(journal.predecessors)
}
