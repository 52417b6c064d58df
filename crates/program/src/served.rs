//! Threads that serve whoever is ready: they wait for what several others write at once (`poll`), and read from those that wrote.
//!
//! Who is ready when is what it was on one CPU, and on several another may be first. So what all of them write goes through one queue in a
//! replay, and what they are answered through another: whoever comes is served, and whoever waits gets the next.
//!
//! # Source
//!
//! `docs/models.md`, "Pipes".

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{IoKind, ObjectId, Operation as Op, SiteId, ThreadId, Trace};

/// So many of a thread's waits for several at once have to end with what one of them wrote.
const LEAST_POLLS: u64 = 2;

/// The two ends of a pipe of which one thread writes messages to another.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    pub reader: ThreadId,
    pub writer: ThreadId,
}

/// How a thread reads from pipes.
#[derive(Default)]
struct Reader {
    /// How many of its waits for several at once ended with a read.
    polls: u64,
    /// The pipes that it waited for alone.
    awaited: BTreeSet<ObjectId>,
}

/// Returns the pipes that are one queue with others, each with the one that stands for all.
pub(crate) fn queues(
    trace: &Trace,
    pipes: &BTreeMap<ObjectId, Ends>,
) -> BTreeMap<ObjectId, ObjectId> {
    let mut queues = BTreeMap::new();
    if pipes.len() < 2 {
        return queues;
    }
    let origins = origins(trace);
    for (server, reader) in readers(trace) {
        if reader.polls < LEAST_POLLS {
            continue;
        }
        // By who they are from, as each has its own; and those back to these.
        let mut questions: BTreeMap<ThreadId, Vec<ObjectId>> = BTreeMap::new();
        let mut answers: BTreeMap<ThreadId, Vec<ObjectId>> = BTreeMap::new();
        for (&pipe, ends) in pipes {
            if ends.reader == server && !reader.awaited.contains(&pipe) {
                questions.entry(ends.writer).or_default().push(pipe);
            } else if ends.writer == server {
                answers.entry(ends.reader).or_default().push(pipe);
            }
        }
        if questions.len() < 2 || !are_alike(&origins, questions.keys().copied()) {
            continue;
        }
        answers.retain(|thread, _| questions.contains_key(thread));
        if !join(&mut queues, &questions) {
            continue;
        }
        if answers.len() == questions.len() {
            join(&mut queues, &answers);
        }
    }
    queues
}

/// Makes one queue of the pipes to or from several threads, where each has one.
fn join(
    queues: &mut BTreeMap<ObjectId, ObjectId>,
    pipes: &BTreeMap<ThreadId, Vec<ObjectId>>,
) -> bool {
    if pipes.values().any(|own| own.len() != 1) {
        return false;
    }
    let mut all = pipes.values().flatten();
    if let Some(&first) = all.next() {
        queues.extend(all.map(|&pipe| (pipe, first)));
    }
    true
}

/// Who created a thread, from which place, and where it starts.
type Origin = (ThreadId, Option<SiteId>, Option<SiteId>);

/// Returns whether threads have the same origin: what others do cannot stand for what they do.
pub(crate) fn are_alike(
    origins: &BTreeMap<ThreadId, Origin>,
    threads: impl Iterator<Item = ThreadId>,
) -> bool {
    let mut of_each = threads.map(|thread| origins.get(&thread));
    let first = of_each.next().flatten();
    first.is_some() && of_each.all(|origin| origin == first)
}

/// Returns where each thread comes from.
pub(crate) fn origins(trace: &Trace) -> BTreeMap<ThreadId, Origin> {
    let created = trace.calls.iter().filter_map(|call| match call.operation {
        Op::Create(child) => {
            let starts = trace.threads[child.index()].start_routine;
            Some((child, (call.thread, call.site, starts)))
        }
        _ => None,
    });
    created.collect()
}

/// Returns how threads read from pipes that wait for several files at once.
fn readers(trace: &Trace) -> BTreeMap<ThreadId, Reader> {
    let mut readers: BTreeMap<ThreadId, Reader> = BTreeMap::new();
    let polls = |operation: Op| matches!(operation, Op::Io { kind, .. } if kind == IoKind::Poll);
    let polling = trace.calls.iter().filter(|call| polls(call.operation));
    for call in polling {
        readers.entry(call.thread).or_default();
    }
    if readers.is_empty() {
        return readers;
    }
    // What each thread was blocked in last, when nothing came after that.
    let mut blocked: Vec<Option<IoKind>> = vec![None; trace.threads.len()];
    for event in &trace.events {
        let call = trace.call(event);
        let blocked = &mut blocked[call.thread.index()];
        match call.operation {
            Op::Io { kind, .. } => *blocked = Some(kind),
            Op::Return => {}
            operation => {
                let before = blocked.take();
                if let (Op::PipeRead { pipe, .. }, Some(kind)) = (operation, before)
                    && let Some(reader) = readers.get_mut(&call.thread)
                {
                    if kind == IoKind::Poll {
                        reader.polls += 1;
                    } else {
                        reader.awaited.insert(pipe);
                    }
                }
            }
        }
    }
    readers
}
