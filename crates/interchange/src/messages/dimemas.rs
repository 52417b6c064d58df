//! Dimemas' traces.
//!
//! # Source
//!
//! `Simulator/input/file_data_access.h` and `common_utilities/EventEncoding.h` of Dimemas 5.5.0.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
};

use foretrace_messages::{ANY, BLOCKING, Builder, Collective, Kind, Mode, Operation, Program};
use foretrace_network::CollectiveKind;
use foretrace_trace::Error;

use super::{
    MessageFormat, Messages, checked,
    cursor::{Cursor, PICOS_PER_SECOND, Sums},
    has_suffix,
    requests::Requests,
    utf8,
};
use crate::ExportError;

/// Dimemas' traces.
pub(crate) struct Dim;

const CUT: &str = "the record is cut short or damaged; write the file again";

impl MessageFormat for Dim {
    fn name(&self) -> &'static str {
        "dimemas"
    }

    fn about(&self) -> &'static str {
        "A trace of Dimemas (.dim)"
    }

    fn recognizes(&self, name: &str, start: &[u8]) -> bool {
        start.starts_with(b"#DIMEMAS:") || has_suffix(name, "dim")
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
        let mut header = Cursor::new(source, 1, first);
        let mut reader = Reader::new(tasks(&mut header)?);
        let mut has_offsets = false;
        for (number, line) in lines {
            let mut cursor = Cursor::new(source, number + 1, line);
            has_offsets |= line.starts_with("s:");
            if !line.trim().is_empty() && !line.starts_with("s:") {
                reader.record(&mut cursor)?;
            }
        }
        reader.finish(source, has_offsets)
    }

    fn is_written(&self) -> bool {
        true
    }

    fn export(&self, messages: &Messages, out: &mut dyn io::Write) -> Result<(), ExportError> {
        match messages {
            Messages::Program(program) => write(program, out),
            Messages::Graph(_) => Err(ExportError::Messages {
                format: self.name(),
                problem: "holds operations in order, and a task graph has none".to_owned(),
            }),
        }
    }
}

/// Reads the header: `#DIMEMAS:"name":flag[,offset]:tasks(threads, ...),communicators`.
fn tasks(header: &mut Cursor<'_>) -> Result<u32, Error> {
    const REMEDY: &str = "begin as in #DIMEMAS:\"name\":1,0:2(1,1),1";
    header.expect("#DIMEMAS:\"", REMEDY)?;
    let Some(end) = header.rest.find("\":") else {
        return Err(header.error("the name's closing quote", REMEDY));
    };
    header.rest = &header.rest[end + 2..];
    let _: u64 = header.integer("a flag")?;
    if header.has(",") {
        let _: u64 = header.integer("the offset of the offsets")?;
    }
    header.expect(":", REMEDY)?;
    let before = *header;
    let tasks: u32 = header.integer("the number of tasks")?;
    if tasks == 0 || tasks > 1 << 20 {
        return Err(before.error("a number of tasks from 1 to 1048576", REMEDY));
    }
    header.expect("(", REMEDY)?;
    for task in 0..tasks {
        if task > 0 {
            header.expect(",", "write how many threads each task has")?;
        }
        let at = *header;
        let threads: u32 = header.integer("a number of threads")?;
        if threads != 1 {
            return Err(at.error(
                "one thread",
                format!("task {task} has {threads} threads; write a trace with one for each"),
            ));
        }
    }
    header.expect(")", REMEDY)?;
    Ok(tasks)
}

struct Reader {
    builder: Builder,
    communicators: BTreeMap<u64, (u16, Vec<u32>)>,
    /// Of each task: receives that are waited for later, by source, tag and communicator.
    requests: Vec<Requests<(u32, u32, u16)>>,
    /// Of each task: the number of sends that do not block.
    sends: Vec<Option<u32>>,
    seen: Vec<bool>,
    sums: Sums,
}

impl Reader {
    fn new(tasks: u32) -> Self {
        Self {
            builder: Builder::new(tasks),
            communicators: BTreeMap::new(),
            requests: vec![Requests::default(); tasks as usize],
            sends: vec![None; tasks as usize],
            seen: vec![false; tasks as usize],
            sums: Sums::new(tasks),
        }
    }

    fn record(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        let start = *cursor;
        if cursor.has("d:") {
            return self.definition(cursor);
        }
        let kind: u32 = cursor.integer("a kind of record")?;
        cursor.expect(":", CUT)?;
        let task = self.task(cursor)?;
        cursor.expect(":", CUT)?;
        let before = *cursor;
        let thread: u32 = cursor.integer("a thread")?;
        if thread != 0 {
            let remedy = format!("the header says that task {task} has one; they count from 0");
            return Err(before.error("thread 0", remedy));
        }
        self.seen[task as usize] = true;
        match kind {
            0 | 20 => return Ok(()),
            1 | 11 => {
                cursor.expect(":", CUT)?;
                let before = *cursor;
                let time = cursor.time("seconds", PICOS_PER_SECOND)?;
                let time = self.sums.add(task, time, &before)?;
                self.builder.push(task, Operation::work(time));
            }
            2 => self.send(cursor, task)?,
            3 => self.receive(cursor, task)?,
            10 => self.collective(cursor, task)?,
            _ => return Err(start.error("a record 0, 1, 2, 3, 10, 11 or 20", CUT)),
        }
        cursor.end()
    }

    fn task(&self, cursor: &mut Cursor<'_>) -> Result<u32, Error> {
        let before = *cursor;
        let task: u32 = cursor.integer("a task")?;
        if task >= self.builder.ranks() {
            let remedy = format!("the header says that there are {}", self.builder.ranks());
            return Err(before.error(format!("a task below {}", self.builder.ranks()), remedy));
        }
        Ok(task)
    }

    /// Reads `d:1:number:size:task:task...`.
    fn definition(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        let kind: u32 = cursor.integer("a kind of definition")?;
        if kind != 1 {
            // Files and windows: nothing that messages need.
            return Ok(());
        }
        cursor.expect(":", CUT)?;
        let number: u64 = cursor.integer("a communicator's number")?;
        cursor.expect(":", CUT)?;
        let size: u32 = cursor.integer("a number of tasks")?;
        let mut members = Vec::new();
        for _ in 0..size {
            cursor.expect(":", CUT)?;
            members.push(self.task(cursor)?);
        }
        let is_world = members.len() == self.builder.ranks() as usize && members.is_sorted();
        let own = if is_world {
            Some(0)
        } else {
            self.builder
                .communicator(format!("{number}"), members.clone())
        };
        let own = own.ok_or_else(|| cursor.error("fewer communicators", "there may be 32767"))?;
        self.communicators.insert(number, (own, members));
        cursor.end()
    }

    fn communicator(&self, cursor: &mut Cursor<'_>) -> Result<(u16, Vec<u32>), Error> {
        let before = *cursor;
        let number: u64 = cursor.integer("a communicator")?;
        match self.communicators.get(&number) {
            Some((own, members)) => Ok((*own, members.clone())),
            // Where none is defined, all are of one.
            None if self.communicators.is_empty() => Ok((0, (0..self.builder.ranks()).collect())),
            None => Err(before.error(
                "a communicator that is defined",
                format!("define it above, as in d:1:{number}:2:0:1"),
            )),
        }
    }

    /// Reads the partner, its thread where that is there, size, tag and communicator.
    fn message(&self, cursor: &mut Cursor<'_>, may_be_any: bool) -> Result<Operation, Error> {
        cursor.expect(":", CUT)?;
        let has_thread = cursor.rest.matches(':').count() >= 5;
        let peer = if may_be_any && cursor.has("-1") {
            ANY
        } else {
            self.task(cursor)?
        };
        cursor.expect(":", CUT)?;
        if has_thread {
            let _: i64 = cursor.integer("a thread")?;
            cursor.expect(":", CUT)?;
        }
        let bytes: u64 = cursor.integer("a size in bytes")?;
        cursor.expect(":", CUT)?;
        let tag = cursor.tag(may_be_any)?;
        cursor.expect(":", CUT)?;
        let (communicator, _) = self.communicator(cursor)?;
        cursor.expect(":", CUT)?;
        Ok(Operation::send(peer, tag, bytes).on(communicator))
    }

    fn send(&mut self, cursor: &mut Cursor<'_>, task: u32) -> Result<(), Error> {
        let mut send = self.message(cursor, false)?;
        let how: u32 = cursor.integer("how it is sent")?;
        if how & 1 != 0 {
            send.mode = Mode::Synchronous;
        }
        if how & 2 != 0 {
            // Nothing in the format waits for such sends, so that one number does for all.
            let request = &mut self.sends[task as usize];
            let number = *request
                .get_or_insert_with(|| self.requests[task as usize].begin((u32::MAX, 0, 0)));
            send.request = number;
        }
        self.builder.push(task, send);
        Ok(())
    }

    fn receive(&mut self, cursor: &mut Cursor<'_>, task: u32) -> Result<(), Error> {
        let message = self.message(cursor, true)?;
        let before = *cursor;
        let how: u32 = cursor.integer("how it is received")?;
        let value = if message.peer == ANY {
            u64::from(ANY)
        } else {
            message.value
        };
        let receive = Operation {
            kind: Kind::Receive,
            value,
            ..message
        };
        let key = (message.peer, message.tag, message.communicator);
        let requests = &mut self.requests[task as usize];
        match how {
            0 => self.builder.push(task, receive),
            1 => {
                let request = requests.begin(key);
                self.builder.push(task, receive.with_request(request));
            }
            2 => {
                let Some(request) = requests.end(&key) else {
                    return Err(before.error(
                        "a wait for a receive that was begun",
                        format!(
                            "task {task} has no open receive from {} with tag {}",
                            message.peer, message.tag
                        ),
                    ));
                };
                self.builder.push(task, Operation::wait(request));
            }
            3 => {
                let sends = self.sends[task as usize];
                let all: Vec<u32> = requests
                    .end_all()
                    .into_iter()
                    .filter(|own| Some(*own) != sends)
                    .collect();
                self.builder.wait_all(task, &all);
            }
            _ => {
                return Err(before.error(
                    "0, 1, 2 or 3",
                    "0 receives, 1 begins to, 2 waits for one, 3 for all",
                ));
            }
        }
        Ok(())
    }

    /// Reads `operation:communicator:root:thread:sent:received[:how]`.
    fn collective(&mut self, cursor: &mut Cursor<'_>, task: u32) -> Result<(), Error> {
        cursor.expect(":", CUT)?;
        let before = *cursor;
        let number: usize = cursor.integer("a collective operation")?;
        let Some(kind) = OPERATIONS.get(number % 16).filter(|_| number < 32) else {
            return Err(before.error("a collective operation from 0 to 15 (or 16 to 31)", CUT));
        };
        cursor.expect(":", CUT)?;
        let (communicator, members) = self.communicator(cursor)?;
        cursor.expect(":", CUT)?;
        let at = *cursor;
        let root: usize = cursor.integer("the root")?;
        let root = *members.get(root).ok_or_else(|| {
            at.error(
                format!("a root below {}", members.len()),
                "it is a member of the communicator",
            )
        })?;
        cursor.expect(":", CUT)?;
        let _: i64 = cursor.integer("the root's thread")?;
        cursor.expect(":", CUT)?;
        let sent = cursor.integer("the bytes sent")?;
        cursor.expect(":", CUT)?;
        let received = cursor.integer("the bytes received")?;
        if cursor.has(":") {
            let _: u32 = cursor.integer("how it is called")?;
        }
        let call = Collective {
            kind: *kind,
            root,
            sent,
            received,
            work: 0,
        };
        if number >= 16 {
            let key = (u32::MAX, number as u32, communicator);
            let request = self.requests[task as usize].begin(key);
            self.builder.collective(task, communicator, request, call);
        } else {
            self.builder.collective(task, communicator, BLOCKING, call);
        }
        Ok(())
    }

    fn finish(mut self, source: &str, has_offsets: bool) -> Result<Messages, Error> {
        if let Some(task) = self.seen.iter().position(|seen| !seen) {
            return Err(Error::Invalid {
                path: source.to_owned(),
                place: format!("task {task}"),
                problem: "has no records".to_owned(),
                remedy: "the file is cut short, or its tasks are numbered otherwise than its header says",
            });
        }
        if !has_offsets {
            let warning = "has no table of offsets (lines `s:task:offset`), without which Dimemas itself cannot read it";
            self.builder.warnings.push(format!("{source}: {warning}"));
        }
        checked(self.builder.finish(source))
    }
}

/// The collective operations, by their numbers.
const OPERATIONS: [CollectiveKind; 16] = [
    CollectiveKind::Barrier,
    CollectiveKind::Bcast,
    CollectiveKind::Gather,
    CollectiveKind::Gather,
    CollectiveKind::Scatter,
    CollectiveKind::Scatter,
    CollectiveKind::Allgather,
    CollectiveKind::Allgather,
    CollectiveKind::Alltoall,
    CollectiveKind::Alltoall,
    CollectiveKind::Reduce,
    CollectiveKind::Allreduce,
    CollectiveKind::ReduceScatter,
    CollectiveKind::ReduceScatter,
    CollectiveKind::Scan,
    CollectiveKind::Alltoall,
];

fn number_of(kind: CollectiveKind) -> usize {
    OPERATIONS
        .iter()
        .position(|own| *own == kind)
        .unwrap_or_default()
}

/// Writes a trace. What was recorded of receives from anybody is written as the source: Dimemas knows no others.
fn write(program: &Program, out: &mut dyn io::Write) -> Result<(), ExportError> {
    let tasks = program.ranks();
    let mut body = Vec::new();
    for (number, communicator) in program.communicators.iter().enumerate() {
        write!(body, "d:1:{}:{}", number + 1, communicator.members.len())?;
        for member in &communicator.members {
            write!(body, ":{member}")?;
        }
        writeln!(body)?;
    }
    let mut offsets = Vec::new();
    for task in 0..tasks {
        offsets.push(body.len());
        write_task(program, task, &mut body)?;
    }
    let threads = vec!["1"; tasks as usize].join(",");
    let count = program.communicators.len();
    let name = program
        .source
        .rsplit('/')
        .next()
        .unwrap_or("trace")
        .replace('"', "'");
    // The offset's digits are of one width, so that the header's length does not depend on it.
    let head =
        |offset: usize| format!("#DIMEMAS:\"{name}\":1,{offset:020}:{tasks}({threads}),{count}\n");
    let length = head(0).len();
    out.write_all(head(length + body.len()).as_bytes())?;
    out.write_all(&body)?;
    for (task, offset) in offsets.iter().enumerate() {
        writeln!(out, "s:{task}:{}", length + offset)?;
    }
    Ok(())
}

fn write_task(program: &Program, task: u32, body: &mut Vec<u8>) -> Result<(), ExportError> {
    let refused = |problem: String| ExportError::Messages {
        format: "dimemas",
        problem,
    };
    // What the open requests are for.
    let mut begun: BTreeMap<u32, Operation> = BTreeMap::new();
    for op in program.of_rank(task) {
        let communicator = op.communicator + 1;
        let source = |op: &Operation| {
            let peer = if op.peer == ANY {
                op.value as u32
            } else {
                op.peer
            };
            if peer == ANY || op.tag == ANY {
                return Err(refused(format!(
                    "knows no receives from anybody, and whom rank {task} received from is not recorded"
                )));
            }
            Ok(peer)
        };
        let bytes = if op.peer == ANY { 0 } else { op.value };
        match op.kind {
            // It knows bursts of work only.
            Kind::Work | Kind::Pause => writeln!(
                body,
                "1:{task}:0:{}.{:012}",
                op.value / 1_000_000_000_000,
                op.value % 1_000_000_000_000
            )?,
            Kind::Alone => {
                let name = op.name();
                return Err(refused(format!(
                    "knows no one-sided communication, and rank {task} calls {name}"
                )));
            }
            Kind::Send => {
                let how = match (op.request == BLOCKING, op.mode) {
                    (true, Mode::Synchronous) => 1,
                    (false, _) | (_, Mode::Buffered) => 2,
                    _ => 0,
                };
                writeln!(
                    body,
                    "2:{task}:0:{}:-1:{}:{}:{communicator}:{how}",
                    op.peer, op.value, op.tag
                )?;
            }
            Kind::Receive => {
                let how = u32::from(op.request != BLOCKING);
                writeln!(
                    body,
                    "3:{task}:0:{}:-1:{bytes}:{}:{communicator}:{how}",
                    source(&op)?,
                    op.tag
                )?;
            }
            Kind::Wait => {
                if let Some(receive) = begun.remove(&op.request) {
                    let communicator = receive.communicator + 1;
                    let peer = source(&receive)?;
                    writeln!(
                        body,
                        "3:{task}:0:{peer}:-1:{}:{}:{communicator}:2",
                        receive.value, receive.tag
                    )?;
                }
            }
            Kind::Probe => {}
            Kind::Collective => {
                let call = program.collectives[op.value as usize];
                let members = &program.communicators[op.communicator as usize].members;
                let root = members
                    .iter()
                    .position(|member| *member == call.root)
                    .unwrap_or(0);
                let number = number_of(call.kind);
                writeln!(
                    body,
                    "10:{task}:0:{number}:{communicator}:{root}:0:{}:{}:1",
                    call.sent, call.received
                )?;
            }
        }
        if op.request != BLOCKING && op.kind == Kind::Receive {
            begun.insert(op.request, op);
        }
    }
    Ok(())
}
