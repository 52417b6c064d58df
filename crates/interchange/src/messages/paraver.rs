//! Paraver's traces.
//!
//! Of a trace are taken: the states in which a task works (1), the messages, and the collectives. What the format does not
//! say has to be assumed: messages have no communicator, and a receive is over when the message is there, whether the task
//! waited in the receive or later.
//!
//! # Source
//!
//! *Paraver: Parallel Program Visualization and Analysis tool, trace file description*; event types and values of Extrae.

use std::{collections::BTreeMap, io};

use foretrace_messages::{BLOCKING, Builder, Collective, Mode, Operation};
use foretrace_network::CollectiveKind;
use foretrace_trace::Error;

use super::{
    MessageFormat, Messages, checked,
    cursor::{Cursor, Sums},
    has_suffix, utf8,
};

/// Paraver's traces.
pub(crate) struct Prv;

const CUT: &str = "the record is cut short or damaged; write the file again";

/// The state of work.
const RUNNING: u64 = 1;

/// Types of events.
const COLLECTIVE: u64 = 50_000_002;
const SENT: u64 = 50_100_001;
const RECEIVED: u64 = 50_100_002;
const ROOT: u64 = 50_100_003;
const COMMUNICATOR: u64 = 50_100_004;

impl MessageFormat for Prv {
    fn name(&self) -> &'static str {
        "paraver"
    }

    fn about(&self) -> &'static str {
        "A trace of Paraver (.prv)"
    }

    fn recognizes(&self, name: &str, start: &[u8]) -> bool {
        start.starts_with(b"#Paraver") || has_suffix(name, "prv")
    }

    fn import(
        &self,
        bytes: &[u8],
        source: &str,
        _read: &dyn Fn(&str) -> io::Result<Vec<u8>>,
    ) -> Result<Messages, Error> {
        let text = utf8(bytes, source)?;
        let mut lines = text.lines().enumerate();
        let (_, first) = lines.next().unwrap_or((0, ""));
        let (tasks, is_nanos) = header(&mut Cursor::new(source, 1, first))?;
        let mut reader = Reader::new(tasks, if is_nanos { 1_000 } else { 1_000_000 });
        for (number, line) in lines {
            if !line.trim().is_empty() && !line.starts_with('#') {
                reader.record(&mut Cursor::new(source, number + 1, line))?;
            }
        }
        reader.finish(source)
    }
}

/// Reads the number of tasks, and whether times are in nanoseconds (else they are microseconds):
/// `#Paraver (date):time[_ns]:nodes[(cpus)]:applications:tasks(threads:node,...)...`.
fn header(header: &mut Cursor<'_>) -> Result<(u32, bool), Error> {
    const REMEDY: &str = "begin as in #Paraver (01/01/2024 at 12:00):1000_ns:1(2):1:2(1:1,1:1)";
    header.expect("#Paraver", REMEDY)?;
    let Some(end) = header.rest.find("):") else {
        return Err(header.error("the date's closing parenthesis", REMEDY));
    };
    header.rest = &header.rest[end + 2..];
    let _: u64 = header.integer("the time of the run")?;
    let is_nanos = header.has("_ns");
    header.expect(":", REMEDY)?;
    let _: u64 = header.integer("the number of nodes")?;
    if header.has("(") {
        let Some(end) = header.rest.find(')') else {
            return Err(header.error("`)`", REMEDY));
        };
        header.rest = &header.rest[end + 1..];
    }
    header.expect(":", REMEDY)?;
    let before = *header;
    let applications: u32 = header.integer("the number of applications")?;
    if applications != 1 {
        return Err(before.error("one application", "cut the others out of the trace"));
    }
    header.expect(":", REMEDY)?;
    let before = *header;
    let tasks: u32 = header.integer("the number of tasks")?;
    if tasks == 0 || tasks > 1 << 20 {
        return Err(before.error("a number of tasks from 1 to 1048576", REMEDY));
    }
    Ok((tasks, is_nanos))
}

/// Something that a task does, at a time.
#[derive(Clone, Copy, Debug)]
enum Step {
    Work(u64),
    Send {
        to: u32,
        tag: u32,
        bytes: u64,
    },
    Begin {
        from: u32,
        tag: u32,
        bytes: u64,
        message: usize,
    },
    End {
        message: usize,
    },
    Collective(u16, Collective),
}

struct Reader<'a> {
    builder: Builder,
    picos: u64,
    /// What each task does: by time, and at one time by the order of lines.
    steps: Vec<Vec<(u64, Step)>>,
    communicators: BTreeMap<u64, (u16, Vec<u32>)>,
    messages: usize,
    /// When each task works: from and until when, and where that stands.
    works: Vec<Vec<(u64, u64, Cursor<'a>)>>,
    sums: Sums,
}

impl<'a> Reader<'a> {
    fn new(tasks: u32, picos: u64) -> Self {
        Self {
            builder: Builder::new(tasks),
            picos,
            steps: vec![Vec::new(); tasks as usize],
            communicators: BTreeMap::new(),
            messages: 0,
            works: vec![Vec::new(); tasks as usize],
            sums: Sums::new(tasks),
        }
    }

    fn record(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Error> {
        if cursor.has("c:") || cursor.has("C:") {
            return self.communicator(cursor);
        }
        if cursor.has("i:") || cursor.has("I:") {
            return Ok(());
        }
        let start = *cursor;
        let kind: u32 = cursor.integer("a kind of record")?;
        let task = self.place(cursor)?;
        match kind {
            1 => {
                self.state(cursor, task)?;
                cursor.end()
            }
            2 => self.events(cursor, task),
            3 => self.message(cursor, task),
            _ => Err(start.error("a record 1, 2, 3 or c", CUT)),
        }
    }

    /// Reads `:begin:end:state`.
    fn state(&mut self, cursor: &mut Cursor<'a>, task: u32) -> Result<(), Error> {
        let at = *cursor;
        let begin = number(cursor)?;
        let before = *cursor;
        let (end, state) = (number(cursor)?, number(cursor)?);
        if end < begin {
            return Err(before.error(
                format!("an end at {begin} or later"),
                "a state ends after it begins",
            ));
        }
        if state == RUNNING && end > begin {
            let time = (end - begin).checked_mul(self.picos);
            let time = time.ok_or_else(|| before.too_long())?;
            self.sums.add(task, time, &before)?;
            self.steps[task as usize].push((begin, Step::Work(time)));
            self.works[task as usize].push((begin, end, at));
        }
        Ok(())
    }

    /// Refuses work of a task that begins before other work of it is over.
    fn check_overlaps(&mut self) -> Result<(), Error> {
        for works in &mut self.works {
            works.sort_by_key(|&(begin, ..)| begin);
            for two in works.windows(2) {
                let ((_, end, _), (begin, _, at)) = (two[0], two[1]);
                if begin < end {
                    return Err(at.error(
                        format!("work from {end} on"),
                        format!("the task works until {end}, as another state says"),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Reads `:cpu:application:task:thread`; tasks count from 1.
    fn place(&self, cursor: &mut Cursor<'_>) -> Result<u32, Error> {
        let _ = number(cursor)?;
        let _ = number(cursor)?;
        cursor.expect(":", CUT)?;
        let before = *cursor;
        let task: u32 = cursor.integer("a task")?;
        if task == 0 || task > self.builder.ranks() {
            let remedy = format!("the header says that there are {}", self.builder.ranks());
            return Err(before.error(format!("a task from 1 to {}", self.builder.ranks()), remedy));
        }
        cursor.expect(":", CUT)?;
        let before = *cursor;
        let thread: u32 = cursor.integer("a thread")?;
        if thread != 1 {
            return Err(before.error(
                "thread 1",
                "only traces with one thread a task are read; cut the others out",
            ));
        }
        Ok(task - 1)
    }

    /// Reads `application:number:size:task:task...`.
    fn communicator(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        let _: u64 = cursor.integer("an application")?;
        let own = number(cursor)?;
        let size = number(cursor)?;
        let mut members = Vec::new();
        for _ in 0..size {
            cursor.expect(":", CUT)?;
            let before = *cursor;
            let task: u32 = cursor.integer("a task")?;
            if task == 0 || task > self.builder.ranks() {
                return Err(before.error(format!("a task from 1 to {}", self.builder.ranks()), CUT));
            }
            members.push(task - 1);
        }
        let is_world = members.len() == self.builder.ranks() as usize && members.is_sorted();
        let made = if is_world {
            Some(0)
        } else {
            self.builder.communicator(format!("{own}"), members.clone())
        };
        let made = made.ok_or_else(|| cursor.error("fewer communicators", "there may be 32767"))?;
        self.communicators.insert(own, (made, members));
        cursor.end()
    }

    fn events(&mut self, cursor: &mut Cursor<'_>, task: u32) -> Result<(), Error> {
        let at = *cursor;
        let time = number(cursor)?;
        let mut values = BTreeMap::new();
        while !cursor.rest.is_empty() {
            let (kind, value) = (number(cursor)?, number(cursor)?);
            values.insert(kind, value);
        }
        let value = |kind: u64| values.get(&kind).copied().unwrap_or(0);
        let called = value(COLLECTIVE);
        if called == 0 {
            return Ok(());
        }
        let Some(kind) = kind_of(called) else {
            return Ok(());
        };
        let (communicator, members) = match self.communicators.get(&value(COMMUNICATOR)) {
            Some((own, members)) => (*own, members.clone()),
            None => (0, (0..self.builder.ranks()).collect()),
        };
        let root = values.get(&ROOT).copied().unwrap_or(0);
        let root = *members.get(root as usize).ok_or_else(|| {
            at.error(
                format!("a root below {}", members.len()),
                "it is a member of the communicator",
            )
        })?;
        let call = Collective {
            kind,
            root,
            sent: value(SENT),
            received: value(RECEIVED),
            work: 0,
        };
        self.steps[task as usize].push((time, Step::Collective(communicator, call)));
        Ok(())
    }

    /// Reads `logical send:physical send:cpu:application:task:thread:logical receive:physical receive:size:tag`.
    fn message(&mut self, cursor: &mut Cursor<'_>, from: u32) -> Result<(), Error> {
        let sent = number(cursor)?;
        let _ = number(cursor)?;
        let to = self.place(cursor)?;
        let (called, arrived) = (number(cursor)?, number(cursor)?);
        let (bytes, tag) = (number(cursor)?, number(cursor)? as u32);
        cursor.end()?;
        let message = self.messages;
        self.messages += 1;
        self.steps[from as usize].push((sent, Step::Send { to, tag, bytes }));
        let receiver = &mut self.steps[to as usize];
        receiver.push((
            called,
            Step::Begin {
                from,
                tag,
                bytes,
                message,
            },
        ));
        receiver.push((arrived.max(called), Step::End { message }));
        Ok(())
    }

    fn finish(mut self, source: &str) -> Result<Messages, Error> {
        self.check_overlaps()?;
        for (task, mut steps) in std::mem::take(&mut self.steps).into_iter().enumerate() {
            let task = task as u32;
            steps.sort_by_key(|(time, step)| (*time, matches!(step, Step::Work(_))));
            let mut open: BTreeMap<usize, u32> = BTreeMap::new();
            let mut free: Vec<u32> = Vec::new();
            for (_, step) in steps {
                let op = match step {
                    Step::Work(time) => Operation::work(time),
                    // Nothing says how a sender waited for its messages.
                    Step::Send { to, tag, bytes } => {
                        Operation::send(to, tag, bytes).in_mode(Mode::Buffered)
                    }
                    Step::Begin {
                        from,
                        tag,
                        bytes,
                        message,
                    } => {
                        let request = free.pop().unwrap_or(open.len() as u32);
                        open.insert(message, request);
                        Operation::receive(from, tag, bytes).with_request(request)
                    }
                    Step::End { message } => {
                        let Some(request) = open.remove(&message) else {
                            continue;
                        };
                        free.push(request);
                        Operation::wait(request)
                    }
                    Step::Collective(communicator, call) => {
                        self.builder.collective(task, communicator, BLOCKING, call);
                        continue;
                    }
                };
                self.builder.push(task, op);
            }
        }
        checked(self.builder.finish(source))
    }
}

/// Reads `:number`.
fn number(cursor: &mut Cursor<'_>) -> Result<u64, Error> {
    cursor.expect(":", CUT)?;
    cursor.integer("a number")
}

/// Returns the collective that a value of an event stands for.
fn kind_of(value: u64) -> Option<CollectiveKind> {
    Some(match value {
        7 => CollectiveKind::Bcast,
        8 => CollectiveKind::Barrier,
        9 => CollectiveKind::Reduce,
        10 => CollectiveKind::Allreduce,
        11 | 12 => CollectiveKind::Alltoall,
        13 | 14 => CollectiveKind::Gather,
        15 | 16 => CollectiveKind::Scatter,
        17 | 18 => CollectiveKind::Allgather,
        30 => CollectiveKind::Scan,
        80 => CollectiveKind::ReduceScatter,
        _ => return None,
    })
}
