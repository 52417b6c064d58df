//! SimGrid's time-independent traces.
//!
//! A rank's work stands in floating-point operations; it is taken as done at 10^9 a second by a CPU of speed 1, so that one
//! takes a nanosecond, and `[nodes]` in the network's file says how fast the CPUs are.
//!
//! # Source
//!
//! `src/smpi/internals/smpi_replay.cpp` of SimGrid 3.36.

use std::io::{self, Write as _};

use foretrace_messages::{ANY, BLOCKING, Builder, Kind, Operation, Program};
use foretrace_trace::Error;

use super::{
    MessageFormat, Messages, checked,
    cursor::{Cursor, PICOS_PER_SECOND, Sums},
    requests::Requests,
    simgrid_collectives::{Arguments, PICOS_PER_FLOP, SIZES, called},
    utf8,
};
use crate::ExportError;

/// SimGrid's time-independent traces.
pub(crate) struct TimeIndependent;

const LINES: &str = "write lines as in `0 send 1 0 1e6`: rank, action and its arguments";

impl MessageFormat for TimeIndependent {
    fn name(&self) -> &'static str {
        "simgrid"
    }

    fn about(&self) -> &'static str {
        "A time-independent trace of SimGrid, or the list of its files"
    }

    fn recognizes(&self, _name: &str, start: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(start)
            .or_else(|error| std::str::from_utf8(&start[..error.valid_up_to()]))
        else {
            return false;
        };
        let first = text
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty() && !line.starts_with('#'));
        let mut words = first.unwrap_or_default().split_whitespace();
        let is_rank = words.next().is_some_and(|word| word.parse::<u32>().is_ok());
        is_rank && words.next().is_some_and(|word| ACTIONS.contains(&word))
    }

    fn import(
        &self,
        bytes: &[u8],
        source: &str,
        read: &dyn Fn(&str) -> io::Result<Vec<u8>>,
    ) -> Result<Messages, Error> {
        let text = utf8(bytes, source)?;
        let files = listed(text);
        let mut rows = Vec::new();
        if files.is_empty() {
            rows_of(text, source, &mut rows)?;
        }
        let mut contents = Vec::new();
        for file in &files {
            let path = beside(source, file);
            let bytes = read(&path).map_err(|source| Error::Io {
                path: path.clone(),
                source,
            })?;
            contents.push((utf8(&bytes, &path)?.to_owned(), path));
        }
        for (text, path) in &contents {
            rows_of(text, path, &mut rows)?;
        }
        let ranks = rows.iter().map(|(rank, _)| rank + 1).max().unwrap_or(0);
        let ranks = ranks.max(files.len() as u32);
        let mut reader = Reader::new(ranks);
        for (rank, mut cursor) in rows {
            reader.action(rank, &mut cursor)?;
        }
        reader.finish(source)
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

/// Returns the files that a list of them names; none where the text is a trace itself.
fn listed(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim);
    let lines: Vec<&str> = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let is_list = lines
        .iter()
        .all(|line| line.split_whitespace().count() == 1);
    if is_list { lines } else { Vec::new() }
}

/// Returns the path of a file that another names: beside it.
fn beside(source: &str, file: &str) -> String {
    match source.rsplit_once('/') {
        Some((directory, _)) if !file.starts_with('/') => format!("{directory}/{file}"),
        _ => file.to_owned(),
    }
}

fn rows_of<'a>(
    text: &'a str,
    path: &'a str,
    rows: &mut Vec<(u32, Cursor<'a>)>,
) -> Result<(), Error> {
    for (number, line) in text.lines().enumerate() {
        let mut cursor = Cursor::new(path, number + 1, line);
        cursor.spaces();
        if cursor.rest.is_empty() || cursor.rest.starts_with('#') {
            continue;
        }
        let before = cursor;
        let rank: u32 = cursor.integer("a rank")?;
        if rank >= 1 << 20 {
            return Err(before.error("a rank below 1048576", LINES));
        }
        rows.push((rank, cursor));
    }
    Ok(())
}

/// The actions, those first that begin traces.
const ACTIONS: [&str; 36] = [
    "init",
    "finalize",
    "compute",
    "sleep",
    "location",
    "comm_size",
    "comm_split",
    "comm_dup",
    "send",
    "isend",
    "recv",
    "irecv",
    "wait",
    "waitall",
    "test",
    "sendrecv",
    "sendRecv",
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "alltoall",
    "alltoallv",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "reducescatter",
    "scan",
    "exscan",
    "probe",
    "iprobe",
    "waitany",
    "Isend",
];

struct Reader {
    builder: Builder,
    /// Of each rank: open requests by source, destination and tag.
    requests: Vec<Requests<(u32, u32, u32)>>,
    /// The size of what counts are of where nothing is said.
    unit: Vec<u64>,
    sums: Sums,
}

impl Reader {
    fn new(ranks: u32) -> Self {
        Self {
            builder: Builder::new(ranks),
            requests: vec![Requests::default(); ranks as usize],
            unit: vec![1; ranks as usize],
            sums: Sums::new(ranks),
        }
    }

    fn action(&mut self, rank: u32, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        cursor.spaces();
        let at = *cursor;
        match cursor.word() {
            "init" => {
                // With an argument, sizes are numbers of doubles.
                cursor.spaces();
                self.unit[rank as usize] = if cursor.rest.is_empty() { 1 } else { 8 };
                return Ok(());
            }
            "finalize" | "comm_size" | "comm_split" | "comm_dup" | "location" | "iprobe" => {
                return Ok(());
            }
            "compute" => {
                let time = self.time(rank, cursor, PICOS_PER_FLOP)?;
                self.builder.push(rank, Operation::work(time));
            }
            "sleep" => {
                let time = self.time(rank, cursor, PICOS_PER_SECOND)?;
                self.builder.push(rank, Operation::pause(time));
            }
            action @ ("send" | "isend" | "Isend" | "recv" | "irecv") => {
                self.message(rank, action, cursor)?;
            }
            "wait" | "test" => self.wait(rank, cursor)?,
            "waitall" => {
                let all = self.requests[rank as usize].end_all();
                self.builder.wait_all(rank, &all);
                return Ok(());
            }
            "sendrecv" | "sendRecv" => self.exchange(rank, cursor)?,
            action => return self.collective(rank, action, cursor, &at),
        }
        cursor.end()
    }

    /// Reads a time that a rank works or sleeps for.
    fn time(&mut self, rank: u32, cursor: &mut Cursor<'_>, unit: f64) -> Result<u64, Error> {
        cursor.spaces();
        let before = *cursor;
        let time = cursor.time("a number", unit)?;
        self.sums.add(rank, time, &before)
    }

    fn rank(&self, cursor: &mut Cursor<'_>) -> Result<u32, Error> {
        cursor.spaces();
        let before = *cursor;
        let rank: u32 = cursor.integer("a rank")?;
        if rank >= self.builder.ranks() {
            let remedy = format!("the trace has {} ranks", self.builder.ranks());
            return Err(before.error(format!("a rank below {}", self.builder.ranks()), remedy));
        }
        Ok(rank)
    }

    /// Reads a size and, where it stands there, its datatype.
    fn size(&self, rank: u32, cursor: &mut Cursor<'_>) -> Result<u64, Error> {
        let count = decimal(cursor)?;
        let unit = self.datatype(rank, cursor)?;
        #[expect(clippy::cast_sign_loss, reason = "what was read is not negative")]
        Ok((count * unit as f64).round() as u64)
    }

    fn datatype(&self, rank: u32, cursor: &mut Cursor<'_>) -> Result<u64, Error> {
        cursor.spaces();
        if cursor.rest.is_empty() {
            return Ok(self.unit[rank as usize]);
        }
        let before = *cursor;
        let number: usize = cursor.integer("a datatype")?;
        let size = SIZES.get(number).copied();
        size.ok_or_else(|| {
            before.error(
                format!("a datatype below {}", SIZES.len()),
                "0 is double, 1 int, 6 byte",
            )
        })
    }

    fn message(&mut self, rank: u32, action: &str, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        let receives = action.ends_with("recv");
        cursor.spaces();
        let peer = if receives && cursor.has("-1") {
            ANY
        } else {
            self.rank(cursor)?
        };
        cursor.spaces();
        let tag = cursor.tag(receives)?;
        cursor.spaces();
        // A receive may leave its size out.
        let bytes = if cursor.rest.is_empty() && receives {
            0
        } else {
            self.size(rank, cursor)?
        };
        let mut op = if receives {
            Operation::receive(peer, tag, if peer == ANY { u64::from(ANY) } else { bytes })
        } else {
            Operation::send(peer, tag, bytes)
        };
        if action.starts_with(['i', 'I']) {
            let key = if receives {
                (peer, rank, tag)
            } else {
                (rank, peer, tag)
            };
            op.request = self.requests[rank as usize].begin(key);
        }
        self.builder.push(rank, op);
        Ok(())
    }

    fn wait(&mut self, rank: u32, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        cursor.spaces();
        let at = *cursor;
        let end = |cursor: &mut Cursor<'_>, what: &str| {
            cursor.spaces();
            if cursor.has("-1") {
                Ok(ANY)
            } else {
                cursor.integer(what)
            }
        };
        let key = (
            end(cursor, "the source")?,
            end(cursor, "the destination")?,
            end(cursor, "a tag")?,
        );
        let request = self.requests[rank as usize].end(&key);
        let request = request.ok_or_else(|| {
            let remedy = format!("rank {rank} has begun nothing with this source, destination and tag that is not over");
            at.error("a wait for what was begun", remedy)
        })?;
        self.builder.push(rank, Operation::wait(request));
        Ok(())
    }

    /// Reads `count destination count source [datatypes]`.
    fn exchange(&mut self, rank: u32, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        let sent = decimal(cursor)?;
        let to = self.rank(cursor)?;
        let received = decimal(cursor)?;
        let from = self.rank(cursor)?;
        let (one, other) = (self.datatype(rank, cursor)?, self.datatype(rank, cursor)?);
        #[expect(clippy::cast_sign_loss, reason = "what was read is not negative")]
        let (sent, received) = ((sent * one as f64) as u64, (received * other as f64) as u64);
        let request = self.requests[rank as usize].begin((rank, to, ANY));
        self.builder
            .push(rank, Operation::send(to, 0, sent).with_request(request));
        self.builder
            .push(rank, Operation::receive(from, 0, received));
        self.builder.push(rank, Operation::wait(request));
        self.requests[rank as usize].end(&(rank, to, ANY));
        Ok(())
    }

    fn collective(
        &mut self,
        rank: u32,
        action: &str,
        cursor: &mut Cursor<'_>,
        at: &Cursor<'_>,
    ) -> Result<(), Error> {
        let mut numbers = Vec::new();
        loop {
            cursor.spaces();
            if cursor.rest.is_empty() {
                break;
            }
            numbers.push(cursor.decimal("a number")?);
        }
        let arguments = Arguments {
            numbers: &numbers,
            unit: self.unit[rank as usize],
            ranks: self.builder.ranks() as usize,
        };
        let call = arguments.collective(action);
        let Some(call) = call else {
            let expected = if ACTIONS.contains(&action) {
                "the arguments of the action"
            } else {
                "an action"
            };
            return Err(at.error(expected, LINES));
        };
        if call.root >= self.builder.ranks() {
            let expected = format!("a root below {}", self.builder.ranks());
            return Err(at.error(expected, "the root is a rank of the trace"));
        }
        self.builder.collective(rank, 0, BLOCKING, call);
        Ok(())
    }

    fn finish(self, source: &str) -> Result<Messages, Error> {
        checked(self.builder.finish(source))
    }
}

fn decimal(cursor: &mut Cursor<'_>) -> Result<f64, Error> {
    cursor.spaces();
    cursor.decimal("a number")
}

/// Writes a trace, with sizes in bytes. Only the world's communicator can be written.
fn write(program: &Program, out: &mut dyn io::Write) -> Result<(), ExportError> {
    let refused = |problem: String| ExportError::Messages {
        format: "simgrid",
        problem,
    };
    let mut text = Vec::new();
    for rank in 0..program.ranks() {
        let mut begun: Vec<Option<Operation>> = Vec::new();
        writeln!(text, "{rank} init")?;
        for op in program.of_rank(rank) {
            if op.communicator != 0 {
                let name = &program.communicators[op.communicator as usize].name;
                return Err(refused(format!(
                    "knows no communicator but the world's, and rank {rank} uses {name}"
                )));
            }
            let known = |number: u32| {
                if number == ANY {
                    "-1".to_owned()
                } else {
                    number.to_string()
                }
            };
            let bytes = if op.peer == ANY { 0 } else { op.value };
            let i = if op.request == BLOCKING { "" } else { "i" };
            match op.kind {
                Kind::Work => {
                    writeln!(text, "{rank} compute {}", op.value as f64 / PICOS_PER_FLOP)?;
                }
                Kind::Pause => {
                    writeln!(text, "{rank} sleep {}", op.value as f64 / PICOS_PER_SECOND)?;
                }
                Kind::Alone => {
                    let name = op.name();
                    return Err(refused(format!(
                        "knows no one-sided communication, and rank {rank} calls {name}"
                    )));
                }
                Kind::Send => writeln!(text, "{rank} {i}send {} {} {}", op.peer, op.tag, op.value)?,
                Kind::Receive => writeln!(
                    text,
                    "{rank} {i}recv {} {} {bytes}",
                    known(op.peer),
                    known(op.tag)
                )?,
                Kind::Wait => {
                    let begun = begun.get_mut(op.request as usize).and_then(Option::take);
                    if let Some(begun) = begun {
                        let (from, to) = match begun.kind {
                            Kind::Send => (rank, begun.peer),
                            _ => (begun.peer, rank),
                        };
                        writeln!(
                            text,
                            "{rank} wait {} {to} {}",
                            known(from),
                            known(begun.tag)
                        )?;
                    }
                }
                Kind::Probe => {}
                Kind::Collective => {
                    let call = program.collectives[op.value as usize];
                    if op.request != BLOCKING {
                        return Err(refused(format!(
                            "knows no collectives that do not block, and rank {rank} calls one"
                        )));
                    }
                    writeln!(text, "{rank} {}", called(&call, program.ranks()))?;
                }
            }
            if op.request != BLOCKING && op.kind != Kind::Wait {
                let place = op.request as usize;
                begun.resize(begun.len().max(place + 1), None);
                begun[place] = Some(op);
            }
        }
        writeln!(text, "{rank} finalize")?;
    }
    Ok(out.write_all(&text)?)
}
