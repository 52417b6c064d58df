//! What recording costs here, measured before the program runs, by others that do nothing.
//!
//! Of what it costs that the library is loaded, a program cannot tell from within: the dynamic linker has done its work before the library's
//! first instruction, and takes longer with all other libraries; the kernel takes its memory down after the last. And what a record costs
//! need not be measured by each of many programs that start each other.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use foretrace_trace::{
    Nanos,
    journal::{ProcessUsage, RecordingCosts, read_costs},
    read_recording,
};

use super::{
    Launch, command_of, resolve,
    system::{self, SignalMask},
};

/// A program that does nothing.
const IDLE: [&str; 1] = ["true"];

/// A program that makes a copy of itself, which becomes the one above, and waits for it: two into which the library is loaded, and a copy.
const FORKING: [&str; 3] = ["sh", "-c", "(exec true); :"];

/// How often both are run, alone and recorded in turn.
const ROUNDS: usize = 5;

/// Who takes longer than this does something else.
const LONGEST: Duration = Duration::from_secs(2);

/// Measures what recording costs, for the library, as `KnownCosts::parse` of the recorder reads it. `None` where nothing is recorded, or where that
/// cannot be measured: then what it costs that the library is loaded counts as the program's own. The programs start with `mask`.
pub fn costs(launch: &Launch, mask: SignalMask) -> Option<String> {
    let journals = launch.journal?.join("probe");
    let (mut idle, mut both) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        idle.push(measured(launch, mask, &IDLE, &journals)?);
        both.extend(measured(launch, mask, &FORKING, &journals));
    }
    let records: Vec<_> = idle.iter().map(|run| run.records).collect();
    let loading = beyond_alone(&idle);
    let Nanos(forking) = beyond_alone(&both).since(loading + loading);
    let Nanos(loading) = loading;
    let RecordingCosts {
        clock,
        sixteenths: [record, section, repetition, turn],
    } = middle(&records)?;
    Some(format!(
        "{loading},{forking},{clock},{record},{section},{repetition},{turn}"
    ))
}

/// What is measured of one program.
struct Measured {
    /// What it uses of the CPU.
    alone: Nanos,
    /// What it uses when it is recorded, without what the recorder itself takes out.
    recorded: Nanos,
    /// What the recorder itself found that a record costs.
    records: RecordingCosts,
}

/// Returns what a program uses more when it is recorded: of both what it used least, since what disturbs it adds to that.
fn beyond_alone(runs: &[Measured]) -> Nanos {
    let least = |of: fn(&Measured) -> Nanos| runs.iter().map(of).min().unwrap_or_default();
    least(|run| run.recorded).since(least(|run| run.alone))
}

fn measured(
    launch: &Launch,
    mask: SignalMask,
    words: &[&str],
    journals: &Path,
) -> Option<Measured> {
    let search_path = Some(OsStr::new(resolve::DEFAULT_PATH));
    let program = resolve::resolve(words.first()?.as_ref(), search_path).ok()?;
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let probe = Launch {
        program: &program,
        command: &words,
        children: true,
        journal: Some(journals),
        ..*launch
    };
    let mut command = Command::new(&program);
    command.args(&words[1..]);
    let alone = run(launch, mask, command).ok()?.cpu;
    in_new_directory(journals, || {
        let mut command = command_of(&probe);
        command.env("LD_PRELOAD", launch.preload);
        let whole = run(launch, mask, command).ok()?;
        let (trace, _) = read_recording(journals, whole).ok()?;
        Some(Measured {
            alone,
            recorded: trace.total_cpu(),
            records: read_costs(journals).ok()?,
        })
    })
}

/// Returns the middle of what was measured of each, without what could not be told.
fn middle(measured: &[RecordingCosts]) -> Option<RecordingCosts> {
    let of = |index: usize| {
        let costs = measured.iter().map(|costs| costs.sixteenths[index]);
        middle_of(costs.filter(|&cost| cost > 0).collect())
    };
    Some(RecordingCosts {
        clock: measured.first()?.clock,
        sixteenths: [0, 1, 2, 3].map(of),
    })
}

/// Returns the middle one of several; 0 of none.
fn middle_of<T: Ord + Copy + Default>(mut several: Vec<T>) -> T {
    several.sort_unstable();
    several.get(several.len() / 2).copied().unwrap_or_default()
}

/// Runs a program to its end where the one to be recorded is going to run, without the user's environment: what the libraries and settings do that it
/// names, they are to do in the user's program alone.
fn run(launch: &Launch, mask: SignalMask, mut command: Command) -> io::Result<ProcessUsage> {
    let own = |(name, value): (&OsStr, Option<&OsStr>)| Some((name.to_owned(), value?.to_owned()));
    let mut variables: Vec<_> = command.get_envs().filter_map(own).collect();
    variables.push((
        OsString::from("PATH"),
        OsString::from(resolve::DEFAULT_PATH),
    ));
    command.env_clear().envs(variables);
    system::prepare(&mut command, launch.cpus, None, mask);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let pid = command.spawn()?.id();
    let cpu = system::reap_within(pid.cast_signed(), LONGEST)?.cpu_time;
    Ok(ProcessUsage { pid, cpu })
}

/// Does something while there is a directory.
fn in_new_directory<T>(directory: &Path, act: impl FnOnce() -> Option<T>) -> Option<T> {
    fs::create_dir(directory).ok()?;
    let result = act();
    // One that stays is removed with the directory around it.
    let _ = fs::remove_dir_all(directory);
    result
}
