//! Writes text traces.

use std::{
    collections::{HashMap, HashSet},
    io::{self, Write},
};

use super::{
    lex::word,
    messages,
    reader::{FORMAT, VERSION},
    tables::default_process,
    words::{CLOCKS, cpus_word, outcome_word},
};
use crate::{
    Call, Error, ExitStatus, FileKind, Module, Object, ObjectId, ObjectKind, Operation, Outcome,
    ProcessId, Recording, Returns, Thread, Trace, operands, validate,
};

/// Checks that a trace can be written and read again.
pub(super) fn check(trace: &Trace) -> Result<(), Error> {
    if trace.events.is_empty() {
        return Err(Error::NoEvents {
            path: trace.source.clone(),
        });
    }
    validate(trace)
}

/// Writes a trace that passed [`check`].
pub(super) fn write(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    let sites = site_words(trace);
    writeln!(out, "{FORMAT} {VERSION}")?;
    if trace.returns == Returns::Explicit {
        writeln!(out, "returns explicit")?;
    }
    if let Some(facts) = &trace.recording {
        recording(facts, out)?;
    }
    programs(trace, out)?;
    for (module, label) in trace.modules.iter().zip(labels(&trace.modules)) {
        write!(out, "module {} {}", word(&label), word(&module.path))?;
        if let Some(build_id) = &module.build_id {
            write!(out, " build-id={}", word(build_id))?;
        }
        writeln!(out)?;
    }
    for (site, text) in trace.sites.iter().zip(&sites) {
        write!(out, "site {text}")?;
        if let Some(caller) = site.caller {
            write!(out, " caller={}", sites[caller.index()])?;
        }
        writeln!(out)?;
    }
    for communicator in &trace.communicators {
        write!(out, "communicator {}", word(&communicator.name))?;
        for member in &communicator.members {
            write!(out, " {member}")?;
        }
        writeln!(out)?;
    }
    for declared in &trace.threads {
        thread(declared, &sites, out)?;
    }
    for declared in &trace.objects[..declared_objects(trace)] {
        object(declared, out)?;
    }
    for warning in &trace.warnings {
        writeln!(out, "warning {}", word(warning))?;
    }
    // A call is written once for all its events: only their times differ.
    let calls: Vec<String> = trace
        .calls
        .iter()
        .map(|call| call_text(trace, call, &sites))
        .collect();
    let threads: Vec<_> = trace
        .threads
        .iter()
        .map(|thread| word(&thread.name))
        .collect();
    for event in &trace.events {
        let thread = &threads[trace.call(event).thread.index()];
        let call = &calls[event.call.index()];
        write!(out, "{} {thread} {call}", { event.time }.0)?;
        if let Some(cpu) = event.cpu() {
            write!(out, " cpu={}", cpu.0)?;
        }
        writeln!(out)?;
    }
    out.flush()
}

fn recording(facts: &Recording, out: &mut impl Write) -> io::Result<()> {
    write!(out, "recording command")?;
    for argument in &facts.command {
        write!(out, " {}", word(argument))?;
    }
    writeln!(out)?;
    writeln!(out, "recording version {}", word(&facts.recorder_version))?;
    writeln!(out, "recording started {}", facts.started_unix_seconds)?;
    writeln!(out, "recording cpu {}", facts.cpu)?;
    writeln!(out, "recording pretended-cpus {}", facts.pretended_cpus)?;
    if let Some(slice) = facts.slice {
        writeln!(out, "recording slice {}", slice.0)?;
    }
    if let Some((name, _)) = CLOCKS.iter().find(|(_, clock)| *clock == facts.clock) {
        writeln!(out, "recording clock {name}")?;
    }
    writeln!(out, "recording wall {}", facts.wall.0)?;
    if let Some(cpu_time) = facts.cpu_time {
        writeln!(out, "recording cpu-time {}", cpu_time.0)?;
    }
    match facts.exit {
        Some(ExitStatus::Code(code)) => writeln!(out, "recording exit code {code}")?,
        Some(ExitStatus::Signal(signal)) => writeln!(out, "recording exit signal {signal}")?,
        None => {}
    }
    writeln!(out, "recording lost-events {}", facts.lost_events)?;
    writeln!(out, "recording recorder-cpu {}", facts.recorder_cpu.0)
}

fn programs(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    if trace.processes == [default_process()] {
        return Ok(());
    }
    for process in &trace.processes {
        write!(out, "program {}", word(&process.name))?;
        if let Some(pid) = process.pid {
            write!(out, " pid={pid}")?;
        }
        if let Some(parent) = process.parent_pid {
            write!(out, " parent={parent}")?;
        }
        if process.remaps > 0 {
            write!(out, " remaps={}", process.remaps)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn thread(thread: &Thread, sites: &[String], out: &mut impl Write) -> io::Result<()> {
    write!(out, "process {}", word(&thread.name))?;
    if let Some(priority) = thread.priority {
        write!(out, " priority {priority}")?;
    }
    if let Some(cpu) = thread.cpu {
        write!(out, " cpu {cpu}")?;
    }
    if let Some(tid) = thread.tid {
        write!(out, " tid={tid}")?;
    }
    if let Some(start) = thread.start_routine {
        write!(out, " start={}", sites[start.index()])?;
    }
    program_field(thread.process, out)?;
    writeln!(out)
}

fn object(object: &Object, out: &mut impl Write) -> io::Result<()> {
    write!(out, "{} {}", object.kind.name(), word(&object.name))?;
    if let Some(initial) = object.initial {
        write!(out, " {initial}")?;
    }
    program_field(object.process, out)?;
    if let Some(address) = object.address {
        write!(out, " address={address:#x}")?;
    }
    writeln!(out)
}

fn program_field(process: ProcessId, out: &mut impl Write) -> io::Result<()> {
    if process == ProcessId(0) {
        return Ok(());
    }
    write!(out, " program={}", process.0)
}

/// Returns a label for each module: the file's name, with a number where another has it.
fn labels(modules: &[Module]) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut copies: HashMap<&str, usize> = HashMap::new();
    let mut labels = Vec::with_capacity(modules.len());
    for module in modules {
        let file = module.path.rsplit('/').next().unwrap_or_default();
        let mut label = file.to_owned();
        while !taken.insert(label.clone()) {
            let copy = copies.entry(file).or_insert(1);
            *copy += 1;
            label = format!("{file}~{copy}");
        }
        labels.push(label);
    }
    labels
}

/// Returns the word for each call site, quoted where it must be.
fn site_words(trace: &Trace) -> Vec<String> {
    let labels = labels(&trace.modules);
    let mut copies: HashMap<_, usize> = HashMap::new();
    let mut words = Vec::with_capacity(trace.sites.len());
    for site in &trace.sites {
        let mut text = format!("{}+{:#x}", labels[site.module.index()], site.offset);
        let copy = copies.entry((site.module, site.offset)).or_insert(0);
        *copy += 1;
        if *copy > 1 {
            text = format!("{text}#{copy}");
        }
        words.push(word(&text).into_owned());
    }
    words
}

/// Returns how many objects must be declared: those behind them follow from the rows, which name them in this order.
fn declared_objects(trace: &Trace) -> usize {
    let mut kinds: HashMap<&str, usize> = HashMap::new();
    for object in &trace.objects {
        *kinds.entry(&object.name).or_default() += 1;
    }
    let told = |object: &Object| {
        let initial = (object.kind == ObjectKind::Barrier) == object.initial.is_some();
        initial
            && object.process == ProcessId(0)
            && object.address.is_none()
            && kinds[object.name.as_str()] == 1
    };
    let declared = trace.objects.iter().rposition(|object| !told(object));
    let declared = declared.map_or(0, |last| last + 1);
    let mut next = declared;
    let mut seen = vec![false; trace.calls.len()];
    for event in &trace.events {
        if std::mem::replace(&mut seen[event.call.index()], true) {
            continue;
        }
        for (id, _) in operands::operands(trace.call(event).operation)
            .into_iter()
            .flatten()
        {
            if id.index() > next {
                return trace.objects.len();
            }
            next += usize::from(id.index() == next);
        }
    }
    if next == trace.objects.len() {
        declared
    } else {
        trace.objects.len()
    }
}

/// Returns what a row says behind the thread's name, but for the CPU time.
fn call_text(trace: &Trace, call: &Call, sites: &[String]) -> String {
    let object = |id: ObjectId| word(&trace.objects[id.index()].name);
    let message = trace
        .message(call)
        .map(|message| messages::text(trace, message));
    let (mut text, of_message) = message.unwrap_or_else(|| {
        let name = call.operation.name().to_owned();
        (name, String::new())
    });
    let mut add = |more: &str| {
        text.push(' ');
        text.push_str(more);
    };
    for (id, _) in operands::operands(call.operation).into_iter().flatten() {
        add(&object(id));
    }
    if let Some(thread) = call.operation.other_thread() {
        add(&word(&trace.threads[thread.index()].name));
    }
    if let Operation::Bind { cpus, .. } = call.operation {
        add(&cpus_word(cpus));
    }
    if let Operation::BarrierWait(id) = call.operation
        && let Some(threads) = trace.objects[id.index()].initial
    {
        add(&threads.to_string());
    }
    if let Operation::FutexWake { woken, .. } = call.operation {
        add(&woken.to_string());
    }
    if let Operation::Io { kind, file } = call.operation {
        add(kind.name());
        if file != FileKind::None {
            add(file.name());
        }
    }
    if let Some(number) = operands::number(call.operation) {
        add(&number.to_string());
    }
    if let Some(count) = operands::count(call.operation) {
        add(&count.to_string());
    }
    if call.outcome != Outcome::Success || operands::only_tries(call.operation) {
        add(&outcome_word(call.outcome));
    }
    if let Some(from) = call.from {
        add(&format!("from={}", word(&trace.threads[from.index()].name)));
    }
    if let Some(site) = call.site {
        add(&format!("site={}", sites[site.index()]));
    }
    if let Operation::SleepFor(asked) = call.operation {
        add(&format!("asked={}", asked.0));
    }
    if let Operation::SleepPast(late) = call.operation {
        add(&format!("late={}", late.0));
    }
    if let Operation::Spin(looked) | Operation::Linger(looked) = call.operation {
        add(&format!("looked={}", looked.0));
    }
    if let Operation::LockSections { held, .. } = call.operation {
        add(&format!("held={}", held.0));
    }
    if let Some(site) = operands::second_site(call.operation) {
        add(&format!("unlock={}", sites[site.index()]));
    }
    text + &of_message
}
