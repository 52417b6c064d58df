//! The lines above the first row.

use super::{
    lex::Token,
    nearest::hint,
    problem::Problem,
    quantity::{Unit, hexadecimal, number},
    tables::Tables,
    words::{CLOCKS, Words, set, unknown_field},
};
use crate::{
    Communicator, ExitStatus, Module, Object, ObjectKind, Process, ProcessId, Recording, Returns,
    SiteId, Thread, ThreadClock,
};

/// The words that header lines start with, but for the kinds of objects.
const KEYWORDS: [&str; 10] = [
    "communicator",
    "process",
    "thread",
    "unit",
    "returns",
    "program",
    "module",
    "site",
    "recording",
    "warning",
];

/// What the header said besides what stands in the tables.
#[derive(Default)]
pub(super) struct Header {
    /// The unit of times.
    pub unit: Unit,
    unit_line: Option<usize>,
    timed_line: Option<usize>,
    returns_line: Option<usize>,
}

impl Header {
    /// Reads one header line.
    pub fn line(
        &mut self,
        keyword: &Token<'_>,
        words: &mut Words<'_, '_>,
        tables: &mut Tables,
        line: usize,
    ) -> Result<(), Problem> {
        match keyword.text.as_ref() {
            "process" | "thread" => thread(words, tables, line),
            "unit" => self.unit(keyword, words, line),
            "returns" => self.returns(keyword, words, tables, line),
            "program" => program(words, tables),
            "module" => module(words, tables),
            "site" => site(words, tables),
            "recording" => self.recording(words, tables, line),
            "communicator" => communicator(words, tables),
            "warning" => {
                let text = words.required("the warning's text, in double quotes")?;
                tables.trace.warnings.push(text.text.to_string());
                Ok(())
            }
            other => match ObjectKind::ALL
                .into_iter()
                .find(|kind| kind.name() == other)
            {
                Some(kind) => object(kind, words, tables, line),
                None => Err(unknown_keyword(keyword)),
            },
        }?;
        words.finish()
    }

    fn unit(
        &mut self,
        keyword: &Token<'_>,
        words: &mut Words<'_, '_>,
        line: usize,
    ) -> Result<(), Problem> {
        if let Some(first) = self.unit_line.replace(line).or(self.timed_line) {
            let expected = format!("`unit` once, and above the first time (line {first})");
            return Err(keyword.not(expected, "move it to the top, below the first line"));
        }
        let token = words.required("a unit, such as `1us`")?;
        self.unit = Unit::parse(&token.text).ok_or_else(|| {
            token.not(
                "a unit of ns, us, ms or s, such as `1us`",
                "correct the unit",
            )
        })?;
        Ok(())
    }

    fn returns(
        &mut self,
        keyword: &Token<'_>,
        words: &mut Words<'_, '_>,
        tables: &mut Tables,
        line: usize,
    ) -> Result<(), Problem> {
        if let Some(first) = self.returns_line.replace(line) {
            let expected = format!("`returns` once (line {first})");
            return Err(keyword.not(expected, "remove one of the two"));
        }
        let token = words.required("`derived` or `explicit`")?;
        tables.trace.returns = match token.text.as_ref() {
            "derived" => Returns::Derived,
            "explicit" => Returns::Explicit,
            _ => return Err(token.not("`derived` or `explicit`", "correct the word")),
        };
        Ok(())
    }

    fn recording(
        &mut self,
        words: &mut Words<'_, '_>,
        tables: &mut Tables,
        line: usize,
    ) -> Result<(), Problem> {
        let name = words.required("a fact of the recording")?;
        let facts = tables.trace.recording.get_or_insert_default();
        let mut whole = |expected: &str| number::<u64>(words.required(expected)?, expected);
        match name.text.as_ref() {
            "started" => facts.started_unix_seconds = whole("seconds since 1970")?,
            "lost-events" => facts.lost_events = whole("a number of events")?,
            "cpu" => facts.cpu = number(words.required("a CPU")?, "a CPU")?,
            "pretended-cpus" => {
                let expected = "a number of CPUs";
                facts.pretended_cpus = number(words.required(expected)?, expected)?;
            }
            "version" => facts.recorder_version = words.required("a version")?.text.to_string(),
            "command" => {
                facts.command.clear();
                while let Some(word) = words.optional() {
                    facts.command.push(word.text.to_string());
                }
            }
            "slice" => facts.slice = Some(self.time(words, line)?),
            "wall" => facts.wall = self.time(words, line)?,
            "recorder-cpu" => facts.recorder_cpu = self.time(words, line)?,
            "cpu-time" => facts.cpu_time = Some(self.time(words, line)?),
            "clock" => facts.clock = clock(words.required("a clock")?)?,
            "exit" => exit(words, facts)?,
            other => {
                let known = [
                    "command",
                    "version",
                    "started",
                    "cpu",
                    "pretended-cpus",
                    "slice",
                    "clock",
                    "wall",
                    "cpu-time",
                    "exit",
                    "lost-events",
                    "recorder-cpu",
                ];
                let remedy = format!("correct the word{}", hint(other, known));
                return Err(name.not(format!("one of {}", known.join(", ")), remedy));
            }
        }
        Ok(())
    }

    fn time(&mut self, words: &mut Words<'_, '_>, line: usize) -> Result<crate::Nanos, Problem> {
        self.timed_line.get_or_insert(line);
        self.unit.time(words.required("a time")?)
    }
}

/// Reads a communicator: its name and its members' ranks in the world.
fn communicator(words: &mut Words<'_, '_>, tables: &mut Tables) -> Result<(), Problem> {
    let name = words.required("a communicator's name")?;
    if tables
        .trace
        .communicators
        .iter()
        .any(|known| known.name == name.text)
    {
        return Err(name.not("a name that is not taken", "declare each communicator once"));
    }
    let mut members = Vec::new();
    while let Some(token) = words.optional() {
        members.push(number(token, "a rank of the world")?);
    }
    tables.trace.communicators.push(Communicator {
        name: name.text.to_string(),
        members,
    });
    Ok(())
}

fn unknown_keyword(keyword: &Token<'_>) -> Problem {
    let kinds = ObjectKind::ALL.into_iter().map(ObjectKind::name);
    let known: Vec<&str> = KEYWORDS.into_iter().chain(kinds).collect();
    let hint = hint(&keyword.text, known.iter().copied());
    keyword.not(
        format!(
            "a row that starts with a time, or a header line that starts with one of {}",
            known.join(", ")
        ),
        format!("correct the first word{hint}, or start a comment with `#`"),
    )
}

fn clock(token: &Token<'_>) -> Result<ThreadClock, Problem> {
    let named = CLOCKS.iter().find(|(name, _)| *name == token.text);
    named
        .map(|&(_, clock)| clock)
        .ok_or_else(|| token.not("`rseq`, `counter` or `system-call`", "correct the word"))
}

fn exit(words: &mut Words<'_, '_>, facts: &mut Recording) -> Result<(), Problem> {
    let how = words.required("`code` or `signal`")?;
    let status = match how.text.as_ref() {
        "code" => ExitStatus::Code,
        "signal" => ExitStatus::Signal,
        _ => return Err(how.not("`code` or `signal`", "correct the word")),
    };
    let expected = "the code's or the signal's number";
    facts.exit = Some(status(number(words.required(expected)?, expected)?));
    Ok(())
}

fn thread(words: &mut Words<'_, '_>, tables: &mut Tables, line: usize) -> Result<(), Problem> {
    let name = words.required("the process's name")?;
    let (mut priority, mut cpu, mut tid) = (None, None, None);
    let (mut start, mut program): (Option<SiteId>, Option<ProcessId>) = (None, None);
    while let Some(word) = words.optional() {
        match word.text.as_ref() {
            "priority" => {
                let value = words.required("a priority")?;
                set(
                    &mut priority,
                    number(value, "a priority, the larger the more urgent")?,
                    word,
                )?;
            }
            "cpu" => {
                let value = words.required("a CPU's number")?;
                set(&mut cpu, number(value, "a CPU's number, from 0")?, word)?;
            }
            other => {
                let known = ["priority", "cpu"];
                let remedy = format!("correct the word{}", hint(other, known));
                return Err(word.not(
                    "`priority N`, `cpu K`, a field or the end of the line",
                    remedy,
                ));
            }
        }
    }
    while let Some((key, token)) = words.field()? {
        match key {
            "tid" => set(&mut tid, number(token, "a thread's number")?, token)?,
            "start" => set(&mut start, tables.site(token)?, token)?,
            "program" => set(&mut program, program_index(token, tables)?, token)?,
            _ => return Err(unknown_field(token, key, &["tid", "start", "program"])),
        }
    }
    let thread = Thread {
        name: name.text.to_string(),
        process: program.unwrap_or(ProcessId(0)),
        priority,
        cpu,
        start_routine: start,
        tid,
    };
    tables.declare_thread(name, line, thread)
}

fn object(
    kind: ObjectKind,
    words: &mut Words<'_, '_>,
    tables: &mut Tables,
    line: usize,
) -> Result<(), Problem> {
    let name = words.required("the object's name")?;
    let initial = match words.optional() {
        Some(token) => Some(number(
            token,
            "a number of tokens or threads, a field or the end of the line",
        )?),
        None => None,
    };
    let (mut program, mut address) = (None, None);
    while let Some((key, token)) = words.field()? {
        match key {
            "program" => set(&mut program, program_index(token, tables)?, token)?,
            "address" => {
                let value = hexadecimal(&token.text).ok_or_else(|| {
                    token.not("an address such as `0x7f00`", "write it in hexadecimal")
                })?;
                set(&mut address, value, token)?;
            }
            _ => return Err(unknown_field(token, key, &["program", "address"])),
        }
    }
    let object = Object {
        kind,
        name: name.text.to_string(),
        process: program.unwrap_or(ProcessId(0)),
        address,
        initial,
    };
    tables.declare_object(name, line, object)
}

fn module(words: &mut Words<'_, '_>, tables: &mut Tables) -> Result<(), Problem> {
    let label = words.required("a label for the module")?;
    let path = words.required("the module's path")?;
    let mut build_id = None;
    while let Some((key, token)) = words.field()? {
        match key {
            "build-id" => set(&mut build_id, token.text.to_string(), token)?,
            _ => return Err(unknown_field(token, key, &["build-id"])),
        }
    }
    let module = Module {
        path: path.text.to_string(),
        build_id,
    };
    tables.declare_module(label, module)
}

fn site(words: &mut Words<'_, '_>, tables: &mut Tables) -> Result<(), Problem> {
    let place = words.required("a place `LABEL+0xOFFSET`")?;
    let mut caller = None;
    while let Some((key, token)) = words.field()? {
        match key {
            "caller" => set(&mut caller, tables.site(token)?, token)?,
            _ => return Err(unknown_field(token, key, &["caller"])),
        }
    }
    tables.declare_site(place, caller)
}

fn program(words: &mut Words<'_, '_>, tables: &mut Tables) -> Result<(), Problem> {
    let name = words.required("the program's name")?;
    let (mut pid, mut parent_pid, mut remaps) = (None, None, None);
    while let Some((key, token)) = words.field()? {
        match key {
            "pid" => set(&mut pid, number(token, "a process number")?, token)?,
            "parent" => set(&mut parent_pid, number(token, "a process number")?, token)?,
            "remaps" => set(&mut remaps, number(token, "a number")?, token)?,
            _ => return Err(unknown_field(token, key, &["pid", "parent", "remaps"])),
        }
    }
    tables.trace.processes.push(Process {
        name: name.text.to_string(),
        pid,
        parent_pid,
        remaps: remaps.unwrap_or(0),
    });
    Ok(())
}

fn program_index(token: &Token<'_>, tables: &Tables) -> Result<ProcessId, Problem> {
    let expected = "the number of a `program` line above, from 0";
    let index: u32 = number(token, expected)?;
    // Without any line there is one process all the same.
    let count = tables.trace.processes.len().max(1);
    if (index as usize) < count {
        return Ok(ProcessId(index));
    }
    Err(token.not(
        expected,
        "declare the programs above the lines that name them",
    ))
}
