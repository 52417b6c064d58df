//! The end of the sweep: what was found is put in its place, and what had to be assumed is told.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::OnceLock,
};

use foretrace_trace::{Object, ObjectId, ObjectKind, Operation as Call, ThreadId};

use crate::{
    Action, Operation, Operations, PositionSet, Program, Thread, answers, asides, found, guarded,
    idle::Busy,
    links::{Links, LinksBuilder},
    lower::{Lowering, ObjectLog},
    matching::{Edges, OpRef},
    pool::{self, LaidOut, Pools, WorkPool},
    self_scheduled::{self, Crew, DealtOut, Meeting},
};

/// Threads beyond this many are counted, not named, in a warning.
const NAMED: usize = 8;

impl Lowering<'_> {
    /// Makes the program of what the sweep found, and looks for work pools where they are asked for.
    pub fn finish(mut self, with_pools: bool) -> Program {
        // Room for what is laid out.
        self.busy = Busy::default();
        for log in self.rendezvous.values() {
            log.edges(&mut self.edges);
        }
        let mut objects = std::mem::take(&mut self.objects);
        let mut short = Vec::new();
        for (index, (object, log)) in objects.iter_mut().zip(&self.logs).enumerate() {
            if let ObjectLog::Semaphore(log) = log {
                let missing = log.missing_tokens();
                if missing > 0 && object.initial.is_some() {
                    short.push(ObjectId::from_index(index));
                    self.warnings.push(format!(
                        "semaphore {}: {missing} more waits than tokens in the recording; taken as initial tokens",
                        object.name
                    ));
                }
                let initial = object.initial.unwrap_or(0) + missing;
                object.initial = Some(initial);
                log.edges(initial, &mut self.edges);
            }
        }
        self.size_barriers(&mut objects);
        self.tell_assumptions();
        let threads = self.lay_out_threads();
        let requirements = self.lay_out_requirements(&threads);
        let mut operations = self.lay_out_operations();
        // A listing by hand is replayed as it stands.
        if with_pools && self.trace.recording.is_some() {
            guarded::take_first(&threads, &objects, &mut operations);
            answers::join(
                self.trace,
                &threads,
                &requirements,
                &mut operations,
                &mut objects,
            );
        }
        let parts = (&threads[..], &objects[..]);
        let dealt_out = self.deal_out(parts, &mut operations);
        let asides = if self.trace.recording.is_some() {
            asides::find(self.trace, &threads, &operations)
        } else {
            BTreeMap::new()
        };
        let pairs = if self.trace.recording.is_some() {
            asides::pairs(self.trace, &threads, &operations)
        } else {
            PositionSet::default()
        };
        let found = found::operations(self.trace, &self.is_answered, &threads, &operations);
        let ends = std::mem::take(&mut self.ends);
        let tried = self.tries.mutexes(self.trace);
        let structures = self.tries.structures(self.trace, &tried);
        self.structures.extend(structures);
        for structure in &mut self.structures {
            let gives_up = |token: &&ObjectId| **token == structure.object;
            structure.given_up = asides.values().filter(gives_up).count() as u64;
        }
        let laid_out = with_pools.then_some(LaidOut {
            trace: self.trace,
            next: &self.next,
            ends,
            threads: &threads,
            objects: &objects,
            operations: &operations,
            requirements: &requirements,
            short: &short,
            found_nothing: &self.found_nothing,
            structures: &self.structures,
            dealt_out: &dealt_out,
        });
        let Pools { pools, others } = laid_out.as_ref().map(pool::find).unwrap_or_default();
        let dealt_out = self.deal_out_pieces(parts, (dealt_out, &pools), &mut operations);
        self.tell_crews(&dealt_out.crews, &objects);
        Program {
            source: self.trace.source.clone(),
            recorded: self.trace.recording.is_some(),
            processes: self.trace.processes.clone(),
            threads,
            objects,
            operations,
            dependents: OnceLock::new(),
            requirements,
            delays: self.delays,
            slice: self.spins.slice(),
            progress: self.sleeps.progress,
            tried,
            asides,
            pairs,
            helpers: self.helpers,
            lightswitches: self.lightswitches,
            found,
            structures: self.structures,
            pools,
            no_pools: others,
            warnings: self.warnings,
        }
    }

    /// Fills in the size of barriers that were made before the recording began: the number of threads that use it.
    fn size_barriers(&mut self, objects: &mut [Object]) {
        for (index, object) in objects.iter_mut().enumerate() {
            if object.kind != ObjectKind::Barrier || object.initial.is_some() {
                continue;
            }
            let barrier = Call::BarrierWait(ObjectId::from_index(index));
            let calls = self
                .trace
                .calls
                .iter()
                .filter(|call| call.operation == barrier);
            let users: BTreeSet<ThreadId> = calls.map(|call| call.thread).collect();
            object.initial = Some(users.len() as u32);
            self.warnings.push(format!(
                "barrier {}: its size was not recorded; taken to be the {} threads that use it",
                object.name,
                users.len()
            ));
        }
    }

    /// Warns of what had to be assumed about threads' begins and ends.
    fn tell_assumptions(&mut self) {
        if !self.late_comers.is_empty() {
            let late_comers = std::mem::take(&mut self.late_comers);
            let threads = self.named(late_comers);
            self.warnings.push(format!(
                "nobody was seen to start {threads}: taken to start when everything recorded before is done"
            ));
        }
        self.tell_unfinished();
        for (call, threads) in std::mem::take(&mut self.left_blocked) {
            let threads = self.named(threads);
            self.warnings.push(format!(
                "still blocked in {call} when the program or the recording ended: {threads}; taken to end there"
            ));
        }
        self.tell_spins();
        self.tell_sleeps();
    }

    /// Deals out what threads shared out by themselves. A listing by hand is replayed as it stands.
    fn deal_out(&self, parts: (&[Thread], &[Object]), operations: &mut Operations) -> DealtOut {
        if self.trace.recording.is_none() {
            return DealtOut::default();
        }
        self_scheduled::deal_out(self.trace, parts, &self.structures, operations)
    }

    /// The same of what they took in pieces, but for workers of pools.
    fn deal_out_pieces(
        &self,
        parts: (&[Thread], &[Object]),
        (dealt_out, pools): (DealtOut, &[WorkPool]),
        operations: &mut Operations,
    ) -> DealtOut {
        if self.trace.recording.is_none() {
            return dealt_out;
        }
        let workers = pools.iter().flat_map(|pool| &pool.workers);
        let workers: BTreeSet<u32> = workers.map(|worker| worker.thread.0).collect();
        let is_worker = |thread: u32| workers.contains(&thread);
        let others = (dealt_out, is_worker);
        self_scheduled::deal_out_pieces(self.trace, parts, &self.structures, operations, others)
    }

    /// Tells which threads shared out what they do by themselves.
    fn tell_crews(&mut self, crews: &[Crew], objects: &[Object]) {
        for crew in crews {
            let place = match &crew.meeting {
                Meeting::At(object, _) => {
                    let object = &objects[object.index()];
                    format!("before they meet at {} {}", object.kind.name(), object.name)
                }
                Meeting::Ends(creator, _) => {
                    let creator = &self.trace.threads[creator.index()].name;
                    format!("each time that {creator} creates them and waits for them")
                }
                Meeting::Waits(master) => {
                    let master = &self.trace.threads[master.index()].name;
                    format!("each time that {master} wakes them and waits for them")
                }
            };
            self.warnings.push(format!(
                "{} threads share out, as they get to it (by an atomic counter, it seems), what they do {place}: dealt out evenly in {} rounds",
                crew.threads, crew.rounds
            ));
        }
    }

    /// Counts and names threads.
    pub fn named(&self, mut threads: Vec<u32>) -> String {
        threads.sort_unstable();
        let name = |&thread: &u32| self.trace.threads[thread as usize].name.as_str();
        let mut names: Vec<&str> = threads.iter().take(NAMED).map(name).collect();
        if threads.len() > NAMED {
            names.push("...");
        }
        let names = names.join(", ");
        match threads.len() {
            1 => format!("thread {names}"),
            count => format!("{count} threads ({names})"),
        }
    }

    /// Gives every thread an end, and its place among the operations of all.
    fn lay_out_threads(&mut self) -> Vec<Thread> {
        let mut start = 0;
        let mut threads = Vec::with_capacity(self.lists.len());
        for (index, list) in self.lists.iter_mut().enumerate() {
            let tail = self.carried[index];
            if list
                .last()
                .is_none_or(|last| last.action != Action::Terminate)
            {
                let event = list.last().map_or(0, |last| last.event);
                list.push(Operation {
                    work_nanos: tail,
                    action: Action::Terminate,
                    event,
                    waited: false,
                });
            }
            let recorded = &self.trace.threads[index];
            let end = start + list.len() as u32;
            threads.push(Thread {
                name: recorded.name.clone(),
                process: recorded.process,
                priority: recorded.priority,
                cpu: recorded.cpu,
                operations: start..end,
                created: self.created.contains(&ThreadId::from_index(index)),
                ends_with: self.ends[index].ends_with,
            });
            start = end;
        }
        threads
    }

    /// Joins the lists.
    fn lay_out_operations(&mut self) -> Operations {
        let mut lists = std::mem::take(&mut self.lists).into_iter();
        let mut all = lists.next().unwrap_or_default();
        all.reserve(lists.as_slice().iter().map(Operations::len).sum());
        for list in lists {
            all.append(list);
        }
        all
    }

    /// Turns edges into each operation's requirements.
    fn lay_out_requirements(&mut self, threads: &[Thread]) -> Links {
        let place = |at: OpRef| threads[at.thread as usize].operations.start + at.index;
        let count = threads.last().map_or(0, |thread| thread.operations.end) as usize;
        let mut requirements = LinksBuilder::with_room(count);
        let edges = std::mem::replace(&mut self.edges, Edges::none(0));
        edges.for_each(|edge| requirements.add(place(edge.acquire), place(edge.release)));
        requirements.finish(count)
    }
}
