//! What recording costs here, measured before the program runs, by one that does nothing.
//!
//! Of what it costs that the library is loaded, a program cannot tell from within: the dynamic linker has done its work before the library's
//! first instruction, and takes longer with all other libraries; the kernel takes its memory down after the last. And what a record costs
//! need not be measured by each of many programs that start each other.

use std::{
    env,
    ffi::OsString,
    fs, io,
    path::Path,
    process::{Command, Stdio},
};

use foretrace_trace::{
    Nanos,
    journal::{RecordingCosts, read_costs},
    read_recording,
};

use super::{
    Launch, command_of, resolve,
    system::{self, SignalMask, Waited},
};

/// A program that does nothing.
const IDLE: [&str; 1] = ["true"];

/// A program that makes a copy of itself, which does nothing, and waits for it.
const FORKING: [&str; 3] = ["sh", "-c", "(:); :"];

/// How often they are run, alone and recorded in turn; the least CPU time of each counts.
const ROUNDS: usize = 5;

/// Measures what recording costs, for the library, as `KnownCosts::parse` of the recorder reads it. `None` where nothing is recorded, or where that
/// cannot be measured: then what it costs that the library is loaded counts as the program's own.
pub fn costs(launch: &Launch) -> Option<String> {
    let journals = launch.journal?.join("probe");
    let idle = beyond(launch, &IDLE, &journals)?;
    let forking = beyond(launch, &FORKING, &journals).map_or(Nanos(0), |copied| copied.used);
    let RecordingCosts {
        clock,
        sixteenths: [record, section, repetition],
    } = idle.records;
    let loading = idle.used;
    let forking = forking.since(loading);
    Some(format!(
        "{},{},{clock},{record},{section},{repetition}",
        loading.0, forking.0
    ))
}

/// What is measured of one program.
struct Beyond {
    /// What it uses more of the CPU when it is recorded, beyond what the recorder itself takes out.
    used: Nanos,
    /// What the recorder itself found that a record costs.
    records: RecordingCosts,
}

fn beyond(launch: &Launch, words: &[&str], journals: &Path) -> Option<Beyond> {
    let search_path = env::var_os("PATH");
    let program = resolve::resolve(words.first()?.as_ref(), search_path.as_deref()).ok()?;
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let probe = Launch {
        program: &program,
        command: &words,
        children: true,
        journal: Some(journals),
        ..*launch
    };
    let mut alone = Nanos(u64::MAX);
    let mut recorded = alone;
    let mut records = Vec::new();
    for _ in 0..ROUNDS {
        let mut command = Command::new(&program);
        command.args(&words[1..]);
        alone = alone.min(run(launch, command).ok()?.cpu_time);
        let (used, costs) = in_new_directory(journals, || {
            let waited = run(launch, command_of(&probe)).ok()?;
            let (trace, _) = read_recording(journals, waited.cpu_time).ok()?;
            Some((trace.total_cpu(), read_costs(journals).ok()?))
        })?;
        recorded = recorded.min(used);
        records.push(costs);
    }
    Some(Beyond {
        used: recorded.since(alone),
        records: middle(&records)?,
    })
}

/// Returns the middle of what was measured of each, without what could not be told. A record's cost hangs on what is done around it: the least is of
/// nobody's.
fn middle(measured: &[RecordingCosts]) -> Option<RecordingCosts> {
    let middle_of = |index: usize| {
        let costs = measured.iter().map(|costs| costs.sixteenths[index]);
        let mut costs: Vec<u64> = costs.filter(|&cost| cost > 0).collect();
        costs.sort_unstable();
        costs.get(costs.len() / 2).copied().unwrap_or_default()
    };
    Some(RecordingCosts {
        clock: measured.first()?.clock,
        sixteenths: [0, 1, 2].map(middle_of),
    })
}

/// Runs a program to its end where the one to be recorded is going to run.
fn run(launch: &Launch, mut command: Command) -> io::Result<Waited> {
    let mask = SignalMask::block_all();
    mask.restore();
    system::prepare(&mut command, launch.cpus, None, mask);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let child = command.spawn()?;
    system::reap(child.id().cast_signed())
}

/// Does something while there is a directory.
fn in_new_directory<T>(directory: &Path, act: impl FnOnce() -> Option<T>) -> Option<T> {
    fs::create_dir(directory).ok()?;
    let result = act();
    // One that stays is removed with the directory around it.
    let _ = fs::remove_dir_all(directory);
    result
}
