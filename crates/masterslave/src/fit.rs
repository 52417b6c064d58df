//! Master and slaves in a recording: who they are, how long their tasks take, and what the master does for each.
//!
//! A work pool is one: its threads are the slaves, and whoever fills the queue, or else whoever created them, is the master.
//! So are threads or processes whose messages nearly all go to one of them or come from it.

use std::{collections::BTreeMap, fmt::Write as _};

use foretrace_program::{Action, Origin, Program, Queue, WorkPool};
use foretrace_trace::{ObjectId, ThreadId};

/// What was recognized in a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// What kind of master and slaves they are.
    pub kind: Kind,
    /// The master's name.
    pub master: String,
    /// The slaves' names.
    pub slaves: Vec<String>,
    /// How long each task took its slave, in seconds of CPU time.
    pub tasks: Vec<f64>,
    /// How long the master worked for each task, in seconds of CPU time.
    pub master_seconds: f64,
    /// The data of a task, there and back, in bytes, where messages have a size.
    pub bytes: Option<f64>,
}

/// What kind of master and slaves were recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Threads that take tasks from a shared queue.
    Pool,
    /// Threads or processes that exchange messages with one of them.
    Messages,
    /// Ranks of MPI, one of which deals tasks to whoever is free.
    Ranks,
}

impl Kind {
    /// Returns it in words.
    pub fn described(self) -> &'static str {
        match self {
            Self::Pool => "threads that take tasks from a queue",
            Self::Messages => "threads or processes that exchange messages with one of them",
            Self::Ranks => "ranks that one of them deals tasks to",
        }
    }
}

/// No master and slaves were found.
#[derive(Debug, thiserror::Error)]
#[error(
    "{path}: holds no master and slaves: {reason}; looked for threads that take tasks from a queue (`info` shows such pools), and \
     for processes or threads whose messages nearly all go to one of them or come from it"
)]
pub struct NotFound {
    path: String,
    reason: String,
}

/// Of all messages, this share has the master at one end.
const SHARE: f64 = 0.9;

/// As many values as the distribution of task times is written with.
const MOST_VALUES: usize = 64;

/// The time that counts as none, in seconds: every capacity of a model is finite.
const NO_TIME: f64 = 1e-9;

/// Finds master and slaves in a program.
///
/// # Errors
///
/// Where there are none, with what was looked for.
pub fn recognize(program: &Program) -> Result<Fit, NotFound> {
    let not_found = |reason: &str| NotFound {
        path: program.source.clone(),
        reason: reason.to_owned(),
    };
    let work = |pool: &WorkPool| -> u64 { pool.task_work(program).sum() };
    let fit = match program.pools.iter().max_by_key(|pool| work(pool)) {
        Some(pool) => Some(of_pool(program, pool)),
        None => of_messages(program),
    };
    let fit = fit.ok_or_else(|| {
        not_found("there is no work pool, and no one thread that messages go to or come from")
    })?;
    fit.with_work(&program.source)
}

fn of_pool(program: &Program, pool: &WorkPool) -> Fit {
    let workers: Vec<ThreadId> = pool
        .workers
        .iter()
        .filter(|worker| worker.origin == Origin::Recorded)
        .map(|worker| worker.thread)
        .collect();
    let fills = |action: Action| match (&pool.queue, action) {
        (Queue::Tokens(queue), Action::GiveToken(object)) => *queue == object,
        _ => false,
    };
    let creates =
        |action: Action| matches!(action, Action::Create(thread) if workers.contains(&thread));
    let others = || (0..program.threads.len()).filter(|t| !workers.iter().any(|w| w.index() == *t));
    let count = |thread: usize, does: &dyn Fn(Action) -> bool| {
        operations(program, thread)
            .filter(|(_, action)| does(*action))
            .count()
    };
    let most = |does: &dyn Fn(Action) -> bool| {
        let best = others().max_by_key(|thread| (count(*thread, does), usize::MAX - thread));
        best.filter(|thread| count(*thread, does) > 0)
    };
    let tasks: Vec<f64> = pool.task_work(program).map(seconds).collect();
    let master = most(&fills).map(|thread| (thread, work_from(program, thread, &fills)));
    let master = master
        .or_else(|| most(&creates).map(|thread| (thread, work_from(program, thread, &creates))));
    Fit {
        kind: Kind::Pool,
        master: master.map_or_else(
            || "the queue".to_owned(),
            |(thread, _)| program.threads[thread].name.clone(),
        ),
        slaves: workers
            .iter()
            .map(|w| program.threads[w.index()].name.clone())
            .collect(),
        master_seconds: per_task(master.map_or(0.0, |(_, work)| work), tasks.len()),
        tasks,
        bytes: None,
    }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 * 1e-9
}

fn per_task(work: f64, tasks: usize) -> f64 {
    (work / tasks.max(1) as f64).max(NO_TIME)
}

/// Returns the operations of a thread: the work before each, in seconds, and what is done.
fn operations(program: &Program, thread: usize) -> impl Iterator<Item = (f64, Action)> + '_ {
    let range = program.threads[thread].operations.clone();
    let operations = program.operations.range(range);
    operations.map(|operation| (seconds(operation.work_nanos), operation.action))
}

/// Returns the work of a thread from the first operation of a sort to the end.
fn work_from(program: &Program, thread: usize, sort: &dyn Fn(Action) -> bool) -> f64 {
    operations(program, thread)
        .skip_while(|(_, action)| !sort(*action))
        .map(|(work, _)| work)
        .sum()
}

/// How many messages go from one thread to another.
type Traffic = BTreeMap<(usize, usize), usize>;

/// Who gives to which queue or semaphore, and who takes.
#[derive(Default)]
struct Ends {
    gives: BTreeMap<ObjectId, BTreeMap<usize, usize>>,
    takes: BTreeMap<ObjectId, BTreeMap<usize, usize>>,
}

fn of_messages(program: &Program) -> Option<Fit> {
    let mut ends = Ends::default();
    let mut traffic = Traffic::new();
    let mut first_sender = None;
    for thread in 0..program.threads.len() {
        for (_, action) in operations(program, thread) {
            match action {
                Action::Send { to, .. } => *traffic.entry((thread, to.index())).or_default() += 1,
                // Of abstract processes, creating one is sending it its first message.
                Action::Create(_) if !program.recorded => {
                    first_sender.get_or_insert(thread);
                }
                Action::GiveToken(object) => {
                    *ends
                        .gives
                        .entry(object)
                        .or_default()
                        .entry(thread)
                        .or_default() += 1;
                }
                Action::TakeToken(object) => {
                    *ends
                        .takes
                        .entry(object)
                        .or_default()
                        .entry(thread)
                        .or_default() += 1;
                }
                _ => {}
            }
        }
    }
    for (object, takers) in &ends.takes {
        for giver in ends.gives.get(object).into_iter().flat_map(BTreeMap::keys) {
            for (taker, count) in takers.iter().filter(|(taker, _)| *taker != giver) {
                *traffic.entry((*giver, *taker)).or_default() += count;
            }
        }
    }
    let master = centre(&traffic, program.threads.len(), first_sender)?;
    let slaves: Vec<usize> = (0..program.threads.len())
        .filter(|thread| traffic.contains_key(&(master, *thread)))
        .collect();
    let is_for =
        |of: &BTreeMap<ObjectId, BTreeMap<usize, usize>>, object: ObjectId, thread: usize| {
            of.get(&object)
                .is_some_and(|threads| threads.contains_key(&thread))
        };
    let receives = |action: Action| match action {
        Action::Wait(_) => true,
        Action::TakeToken(object) => is_for(&ends.gives, object, master),
        _ => false,
    };
    let answers = |action: Action| match action {
        Action::Send { to, .. } => to.index() == master,
        Action::GiveToken(object) => is_for(&ends.takes, object, master),
        _ => false,
    };
    let mut tasks = Vec::new();
    for slave in &slaves {
        tasks.extend(times(program, *slave, &receives, &answers));
    }
    let sends = |action: Action| match action {
        Action::Send { to, .. } => slaves.contains(&to.index()),
        Action::GiveToken(object) => slaves
            .iter()
            .any(|slave| is_for(&ends.takes, object, *slave)),
        _ => false,
    };
    (!tasks.is_empty()).then(|| Fit {
        kind: Kind::Messages,
        master: program.threads[master].name.clone(),
        slaves: slaves
            .iter()
            .map(|slave| program.threads[*slave].name.clone())
            .collect(),
        master_seconds: per_task(work_from(program, master, &sends), tasks.len()),
        tasks,
        // No message of a recording has a size until now.
        bytes: None,
    })
}

/// Returns the thread that is at one end of nearly all messages; of two threads the one that sent first.
fn centre(traffic: &Traffic, threads: usize, first_sender: Option<usize>) -> Option<usize> {
    let all: usize = traffic.values().sum();
    let touching = |thread: usize| -> usize {
        let ends = traffic
            .iter()
            .filter(|((from, to), _)| *from == thread || *to == thread);
        ends.map(|(_, count)| *count).sum()
    };
    let partners = |thread: usize| traffic.keys().filter(|(from, _)| *from == thread).count();
    let preferred = first_sender.unwrap_or(0);
    let best = (0..threads).max_by_key(|thread| {
        (
            touching(*thread),
            partners(*thread),
            *thread == preferred,
            usize::MAX - thread,
        )
    })?;
    let enough = all > 0 && touching(best) as f64 >= SHARE * all as f64 && partners(best) > 0;
    enough.then_some(best)
}

/// Returns how long a slave worked from each message on until it asked for the next; what comes after the last one counts only
/// where it was answered.
fn times(
    program: &Program,
    slave: usize,
    receives: &dyn Fn(Action) -> bool,
    answers: &dyn Fn(Action) -> bool,
) -> Vec<f64> {
    let mut found = Vec::new();
    let mut open: Option<(f64, bool)> = None;
    let mut ever_answers = false;
    for (work, action) in operations(program, slave) {
        if let Some((time, answered)) = &mut open {
            *time += work;
            *answered |= answers(action);
        }
        ever_answers |= answers(action);
        if receives(action) {
            found.extend(open.take());
            open = Some((0.0, false));
        }
    }
    if ever_answers {
        found.extend(open);
        found.retain(|(_, answered)| *answered);
    }
    found
        .into_iter()
        .map(|(time, _)| time)
        .filter(|time| *time > 0.0)
        .collect()
}

impl Fit {
    /// Returns it if its tasks took CPU time; `source` is what they were found in.
    ///
    /// # Errors
    ///
    /// Where they took none: no rate comes from that.
    pub fn with_work(self, source: &str) -> Result<Self, NotFound> {
        if self.tasks.iter().sum::<f64>() > 0.0 {
            return Ok(self);
        }
        Err(NotFound {
            path: source.to_owned(),
            reason: "the tasks took no CPU time".to_owned(),
        })
    }

    /// Returns the mean time of a task, in seconds.
    pub fn mean_task(&self) -> f64 {
        self.tasks.iter().sum::<f64>() / self.tasks.len() as f64
    }

    /// Returns values that stand for the distribution of task times: means of equally many tasks each, by increasing time.
    pub fn quantiles(&self) -> Vec<f64> {
        let mut sorted = self.tasks.clone();
        sorted.sort_by(f64::total_cmp);
        let parts = sorted.len().min(MOST_VALUES);
        (0..parts)
            .map(|part| {
                let range = part * sorted.len() / parts..(part + 1) * sorted.len() / parts;
                let members = &sorted[range];
                (members.iter().sum::<f64>() / members.len() as f64).max(NO_TIME)
            })
            .collect()
    }

    /// Returns a grid of so many equal processors on one network; on each a task takes as long as it did in the recording.
    pub fn grid(&self, source: &str, processors: u32, bandwidth: Option<f64>) -> String {
        // Data that nobody knows of takes no time that matters.
        let size = self.bytes.unwrap_or(1.0);
        let bandwidth = bandwidth.unwrap_or(size / NO_TIME);
        let values: Vec<String> = self
            .quantiles()
            .iter()
            .map(|value| format!("{value:?}"))
            .collect();
        let mut text = format!(
            "# From {source}: {}.\n# The master {} has {} slaves, which did {} tasks of {:?} s on average.\n\n\
             size = {size:?}              # bytes of a task{}\n\n[[cluster]]\nname = \"recorded\"\nbandwidth = {bandwidth:?}\n",
            self.kind.described(),
            self.master,
            self.slaves.len(),
            self.tasks.len(),
            self.mean_task(),
            if self.bytes.is_none() {
                "; the recording does not tell"
            } else {
                ""
            }
        );
        for processor in 0..processors {
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "\n[[processor]]\nname = \"p{processor}\"\ncluster = \"recorded\"\navail = 1.0\nt_slave = {{ distribution = \
                 \"empirical\", values = [{}] }}\nt_master = {:?}\n",
                values.join(", "),
                self.master_seconds
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAR: &str = "unit 1ms\nprocess M\nprocess A\nprocess B\n\
        0 M create A\n0 M create B\n1 M send a A\n2 M send b B\n2 M wait r\n2 A wait a\n12 A send r M\n12 A wait a\n\
        12 B wait b\n32 B send r M\n32 B wait b\n33 M wait r\n34 M send a A\n34 M wait r\n44 A send r M\n44 A terminate\n\
        45 M send b B\n45 M wait r\n65 B send r M\n65 B terminate\n66 M terminate\n";

    #[test]
    fn a_star_of_messages_has_a_master_and_tasks() {
        let program = Program::from_trace(&foretrace_testkit::trace(STAR));
        let fit = recognize(&program).unwrap();
        assert_eq!(fit.kind, Kind::Messages);
        assert_eq!((fit.master.as_str(), fit.slaves.len()), ("M", 2));
        let tasks: Vec<f64> = fit.tasks.iter().map(|time| (time * 1e3).round()).collect();
        assert_eq!(tasks, [10.0, 10.0, 20.0, 20.0]);
        let text = fit.grid("star", 3, None);
        let grid = crate::Grid::parse(&text, std::path::Path::new("fitted.toml")).unwrap();
        assert_eq!(grid.processors.len(), 3);
        assert!((grid.slave_rate(1) * 0.015 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn who_sends_to_nobody_has_no_slaves() {
        let program = Program::from_trace(&foretrace_testkit::trace(
            "0 A lock m\n3 A unlock m\n3 A terminate\n",
        ));
        let error = recognize(&program).unwrap_err().to_string();
        assert!(error.contains("holds no master and slaves"), "{error}");
    }
}
