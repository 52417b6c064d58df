//! `foretrace record`: runs a program on one CPU and writes down what its threads did.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Context as _;
use foretrace_trace::{ExitStatus, Nanos, Operation, Recording, Trace, journal::ProcessUsage};

use super::record_series;
use crate::{
    args::RecordArgs,
    core,
    failure::{Finish, Usage},
    launch::{
        self, Ended, Launch,
        check::{self, Recordable},
        embedded,
        journal::Journal,
        links, note, resolve, system,
    },
    output,
    report::spins,
};

/// What to record, and how.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub struct Plan<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// The trace file to write.
    pub output: &'a Path,
    /// The number of CPUs that the program is made to believe in; `None` for those it would see anyway.
    pub pretended_cpus: Option<u32>,
    /// How many callers to record with each call.
    pub stacks: u32,
    /// How long a thread may run before it lets others run.
    pub slice: Option<Nanos>,
    /// The CPU to record on; `None` for the last one allowed.
    pub cpu: Option<u32>,
    /// Whether programs that it starts are recorded as well.
    pub children: bool,
    /// Whether to look for loops that wait for memory to change.
    pub find_spins: bool,
    /// Whether to overwrite files.
    pub force: bool,
    /// Whether the program has foretrace's standard input and output.
    pub attached: bool,
    /// Whether to say nothing.
    pub quiet: bool,
}

/// What was recorded.
#[derive(Debug)]
pub struct Recorded {
    /// The trace, as it was written.
    pub trace: Trace,
    /// How the program ended.
    pub exit: ExitStatus,
    /// Of the trace's warnings, those that were given before the program ran.
    pub told: Vec<String>,
}

impl<'a> Plan<'a> {
    /// Takes what the options say but for the file to write, which is still to be named.
    pub fn of(args: &'a RecordArgs) -> Self {
        Self {
            command: &args.command,
            output: Path::new(""),
            pretended_cpus: args.pretend_cpus,
            stacks: args.stacks,
            slice: args.slice.0,
            cpu: args.cpu,
            attached: true,
            children: !args.no_children,
            find_spins: args.find_spins,
            force: args.force,
            quiet: args.quiet,
        }
    }
}

/// Runs the command.
pub fn run(args: &RecordArgs) -> anyhow::Result<Finish> {
    if let Some(each) = &args.each {
        return record_series::run(args, &each.0);
    }
    let output = args
        .output
        .clone()
        .unwrap_or_else(|| default_output(&args.command, "ftrace"));
    let recorded = record(&Plan {
        output: &output,
        ..Plan::of(args)
    })?;
    if !args.quiet {
        summarize(&recorded, &output);
    }
    Ok(Finish::AsProgram(recorded.exit))
}

/// Returns the file to write where none is named.
pub fn default_output(command: &[OsString], extension: &str) -> PathBuf {
    let program = command.first().map_or(Path::new(""), Path::new);
    let mut name = program.file_name().unwrap_or(OsStr::new("out")).to_owned();
    name.push(".");
    name.push(extension);
    PathBuf::from(name)
}

/// Says what was recorded, and what is to be known of it.
pub fn summarize(recorded: &Recorded, output: &Path) {
    let warnings = recorded.trace.warnings.iter();
    let news: Vec<String> = warnings
        .filter(|warning| !recorded.told.contains(warning))
        .cloned()
        .collect();
    output::warn(&news);
    if let ExitStatus::Signal(_) = recorded.exit {
        output::note(format_args!(
            "foretrace: the program was killed by {}; what it did until then is recorded",
            launch::exit_text(recorded.exit)
        ));
    }
    output::note(format_args!(
        "foretrace: {} of {}, {} of CPU time: {}",
        output::counted(recorded.trace.events.len(), "event"),
        output::counted(recorded.trace.threads.len(), "thread"),
        recorded.trace.total_cpu(),
        output.display()
    ));
}

/// Records a program. Nothing of it runs where it is clear beforehand that it cannot be recorded or the trace not written.
pub fn record(plan: &Plan) -> anyhow::Result<Recorded> {
    let search_path = env::var_os("PATH");
    let name = plan.command.first().map_or(OsStr::new(""), |name| name);
    let program = resolve::resolve(name, search_path.as_deref())?;
    let recordable = check::check(&program, search_path.as_deref())?;
    let allowed = system::allowed_cpus().context("cannot find out which CPUs there are")?;
    let cpu = choose_cpu(plan.cpu, &allowed)?;
    let pretended_cpus = plan
        .pretended_cpus
        .unwrap_or_else(|| u32::try_from(allowed.len()).unwrap_or(1));

    output::check_new_file(plan.output, plan.force)?;
    let preload = embedded::PRELOAD.unpack()?;
    let journal = Journal::create(plan.output, plan.force)?;
    let launch = Launch {
        program: &program,
        command: plan.command,
        cpus: &[cpu],
        slice: plan.slice,
        pretended_cpus,
        stacks: plan.stacks,
        children: plan.children,
        find_spins: plan.find_spins,
        preload: &preload.path,
        journal: Some(&journal.path),
        attached: plan.attached,
    };
    if let Err(error) = note::write(&journal.path, &asked_for(&launch, cpu)) {
        journal.remove_if_empty();
        return Err(error).with_context(|| format!("cannot write into {}", journal.path.display()));
    }
    // Who lists the CPUs sees the real ones where this cannot be made, which is no reason not to record.
    let _ = launch::cpu_directory::make(&journal.path, pretended_cpus);
    let limits = limits(&launch, &recordable);
    if !plan.quiet {
        output::warn(limits.as_slice());
    }
    let mut last_words = system::LastWords::prepare(&format!(
        "foretrace: ended before the trace was written; {}\n",
        kept(&journal)
    ));
    let ended = match launch::run(&launch) {
        Ok(ended) => ended,
        Err(error) => {
            journal.remove_if_empty();
            return Err(error);
        }
    };
    last_words.watch();
    let trace = seal(plan, &launch, &ended, &journal, &recordable)?;
    Ok(Recorded {
        trace,
        exit: ended.exit,
        told: limits.into_iter().collect(),
    })
}

fn choose_cpu(asked: Option<u32>, allowed: &[u32]) -> anyhow::Result<u32> {
    match asked {
        Some(cpu) if allowed.contains(&cpu) => Ok(cpu),
        Some(cpu) => {
            let message = format!(
                "--cpu {cpu}: this process may run on CPUs {} only",
                launch::cpu_list(allowed)
            );
            Err(Usage(message).into())
        }
        None => allowed
            .last()
            .copied()
            .context("this process may run on no CPU"),
    }
}

/// Turns what the recorder left into a trace file, and removes the former once the latter is safe.
fn seal(
    plan: &Plan,
    launch: &Launch,
    ended: &Ended,
    journal: &Journal,
    recordable: &Recordable,
) -> anyhow::Result<Trace> {
    if journal.remove_if_empty() {
        anyhow::bail!(
            "nothing was recorded: `{}` ended ({}) before foretrace's library was loaded into it or had anything to record. \
             Where the loader complained above, that is the reason; else see whether {} lies on a file system that is mounted noexec \
             (then set XDG_CACHE_HOME to another directory), or whether a security policy forbids LD_PRELOAD",
            launch.program.display(),
            launch::exit_text(ended.exit),
            launch.preload.display()
        );
    }
    let kept = || kept(journal);
    let first = ProcessUsage {
        pid: ended.pid,
        cpu: ended.cpu_time,
    };
    let (mut trace, start) = core::read_recording(&journal.path, first).with_context(kept)?;
    trace.source = plan.output.display().to_string();
    core::identify_modules(&mut trace);
    describe(&mut trace, ended);
    if ended.refused_slice {
        trace.warnings.push(
            "the kernel did not take the scheduler slice (that needs Linux 6.12): threads that unlock nothing took long \
             turns, and predictions for programs whose threads share out work without locks may be too pessimistic"
                .to_owned(),
        );
    }
    let cpu_time = trace.total_cpu();
    trace.warnings.extend(unrecorded(&trace, cpu_time, ended));
    let stranger = stranger(!trace.ranks().is_empty(), ended, launch.cpus);
    trace.warnings.extend(stranger);
    let polls = spins::warnings(&trace, cpu_time);
    trace.warnings.extend(polls);
    let total = cpu_time.max(ended.cpu_time);
    let loops = spins::take_out_loops(&mut trace, start, &ended.waiting_loops, total);
    trace.warnings.extend(loops);
    trace.warnings.extend(limits(launch, recordable));
    if !does_anything(&trace) {
        trace.warnings.push(format!(
            "nothing was recorded of `{}` but its beginning and end: {}",
            launch.program.display(),
            links::why_nothing(&recordable.file)
        ));
    }
    core::save_trace(&trace, plan.output).with_context(kept)?;
    journal.remove();
    Ok(trace)
}

/// Says what cannot be recorded of a program on a runtime of its own.
fn limits(launch: &Launch, recordable: &Recordable) -> Option<String> {
    let program = launch.program.display().to_string();
    recordable.runtime.map(|runtime| runtime.limits(&program))
}

/// Says where a recording is that did not become a trace.
fn kept(journal: &Journal) -> String {
    format!(
        "what was recorded is kept in {0}; `foretrace recover {0}` tries again",
        journal.path.display()
    )
}

/// Returns whether a thread did more than end.
fn does_anything(trace: &Trace) -> bool {
    let idle = |operation| matches!(operation, Operation::Terminate | Operation::Return);
    trace.calls.iter().any(|call| !idle(call.operation))
}

/// What recording an event takes at most beyond what the recorder measured; it is not in the threads' CPU times.
const RECORDING_NANOS_PER_EVENT: u64 = 1_000;

/// What the kernel and the recorder take at most to end a thread, after its last event.
const ENDING_NANOS_PER_THREAD: u64 = 30_000;

/// Warns where much of the CPU time is of nobody who was recorded: of programs that it ran and that could not be.
fn unrecorded(trace: &Trace, cpu_time: Nanos, ended: &Ended) -> Option<String> {
    if let ExitStatus::Signal(_) = ended.exit {
        // Then it is mostly what the threads did since their last events.
        return None;
    }
    let measured = trace.recording.as_ref().map(|facts| facts.recorder_cpu);
    let recording = measured.unwrap_or_default()
        + Nanos(trace.events.len() as u64 * RECORDING_NANOS_PER_EVENT)
        + Nanos(trace.threads.len() as u64 * ENDING_NANOS_PER_THREAD);
    let missing = ended.cpu_time.since(cpu_time + recording);
    (missing > Nanos(ended.cpu_time.0 / 10) && missing > Nanos(20_000_000)).then(|| {
        format!(
            "{missing} of the {} of CPU time were not recorded: probably of programs that it ran and that cannot be \
             (static, setuid, 32-bit); predictions leave them out",
            ended.cpu_time
        )
    })
}

/// As much of the CPU may others use without a warning. The kernel counts in hundredths of a second, so that short runs say little.
const QUIET: f64 = 0.1;

/// Less time than so much of others says nothing.
const SHORT: Nanos = Nanos(100_000_000);

/// Warns where others used the CPU on which ranks that pass messages took turns.
fn stranger(has_ranks: bool, ended: &Ended, cpus: &[u32]) -> Option<String> {
    // The CPU time of ranks that were killed is nobody's, and would be taken for a stranger's.
    let is_whole = ended.exit == ExitStatus::Code(0);
    let share = ended
        .foreign_load
        .filter(|share| is_whole && *share > QUIET)?;
    // The work of threads is their CPU time, and they do not look for each other again and again.
    let matters = has_ranks && share * ended.wall.0 as f64 > SHORT.0 as f64;
    matters.then(|| {
        format!(
            "others used {:.0} % of CPU {} while ranks took turns on it, and each message could wait for theirs: the recorded work \
             is right, but what polls or runs for a set time did something else than on a quiet CPU (choose one with --cpu)",
            100.0 * share,
            launch::cpu_list(cpus)
        )
    })
}

/// Returns what is known of a recording before the program runs.
fn asked_for(launch: &Launch, cpu: u32) -> Recording {
    let words = launch.command.iter();
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    Recording {
        command: words
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        recorder_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_seconds: now.map_or(0, |since| since.as_secs()),
        cpu,
        slice: launch.slice,
        pretended_cpus: launch.pretended_cpus,
        ..Recording::default()
    }
}

/// Completes what was known before the program ran by how it ended.
fn describe(trace: &mut Trace, ended: &Ended) {
    let noted = trace.recording.take().unwrap_or_default();
    trace.recording = Some(Recording {
        wall: ended.wall,
        cpu_time: Some(ended.cpu_time),
        exit: Some(ended.exit),
        ..noted
    });
}
