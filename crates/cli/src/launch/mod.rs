//! Runs a program under the recorder: checks it, pins it to one CPU, preloads the library, waits for its end.

pub mod check;
pub mod copies;
pub mod cpu_directory;
mod elf;
pub mod embedded;
mod growing;
pub mod journal;
pub mod links;
pub mod load;
mod loops;
mod metronome;
mod naps;
pub mod note;
mod probe;
pub mod resolve;
mod room;
mod running;
mod runtime;
mod samples;
pub mod spins;
pub mod system;
pub mod turns;
mod waiting;
mod watched;

use std::{
    env,
    ffi::{OsStr, OsString},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::Context as _;
use foretrace_trace::{ExitStatus, Nanos};

use self::{
    load::Load,
    naps::Naps,
    room::Room,
    spins::{Found, Watch},
    system::{Forwarding, SignalMask},
};

/// The variables that tell OpenMP's libraries how long to spin before they sleep. Left to themselves they spin where they
/// believe in several CPUs, and on the one that there is, spinning keeps those away that are waited for.
const SPINNING: [&str; 3] = ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"];

/// The shortest slice that the kernel is asked for. The recorder itself lets threads take shorter turns, where they unlock
/// something; the kernel would end them anywhere, and threads with large working sets would refill the caches each time.
const KERNEL_SLICE: Nanos = Nanos(1_000_000);

/// What to run, and how.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The program's file, as found.
    pub program: &'a Path,
    /// The command as it was given; its first word becomes `argv[0]`.
    pub command: &'a [OsString],
    /// The CPUs to pin it to.
    pub cpus: &'a [u32],
    /// How long a thread may run before it lets others run, at the next chance; `None` for as long as the kernel lets it.
    pub slice: Option<Nanos>,
    /// The number of CPUs that it is to believe in.
    pub pretended_cpus: u32,
    /// How many callers to record with each call.
    pub stacks: u32,
    /// Whether programs that it starts are recorded as well.
    pub children: bool,
    /// Whether to look for loops that wait for memory to change all the time, and not now and then.
    pub find_spins: bool,
    /// The library to preload.
    pub preload: &'a Path,
    /// The directory for what is recorded; `None` to record nothing and only let it believe in the CPUs. The program may
    /// change its directory, so this is an absolute path.
    pub journal: Option<&'a Path>,
    /// Whether it has foretrace's standard input and output; else it reads nothing, and what it writes is dropped.
    pub attached: bool,
}

/// How the program ran.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How it ended.
    pub exit: ExitStatus,
    /// Its number.
    pub pid: u32,
    /// Its CPU time and that of all that it waited for.
    pub cpu_time: Nanos,
    /// How long it took.
    pub wall: Nanos,
    /// The share of its first CPU's time that others used meanwhile; `None` where the kernel does not tell.
    pub foreign_load: Option<f64>,
    /// Whether the kernel refused to be asked for a slice.
    pub refused_slice: bool,
    /// The loops found that waited for memory to change; the error where they were asked for and could not be.
    pub waiting_loops: Result<Found, String>,
}

/// What Open MPI must know so that several ranks share one CPU, for version 4 and from version 5 on: that a rank which waits
/// gives way, that ranks stay where they are put, and that there may be more of them than CPUs. And what Intel MPI must.
const ONE_CPU_FOR_RANKS: [(&str, &str); 7] = [
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("PRTE_MCA_hwloc_default_binding_policy", "none"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ("I_MPI_WAIT_MODE", "1"),
    ("I_MPI_PIN", "0"),
];

/// Returns the command that runs the program, with what the library and the program are to know.
fn command_of(launch: &Launch) -> Command {
    let name = launch.command.first().map_or(OsStr::new(""), |word| word);
    let mut command = Command::new(launch.program);
    command
        .arg0(name)
        .args(launch.command.iter().skip(1))
        .env("LD_PRELOAD", preload_list(launch.preload))
        .env("FORETRACE_PRETEND_CPUS", launch.pretended_cpus.to_string())
        // Room for the set of CPUs that a program which starts another is bound to, in belief.
        .env("FORETRACE_BOUND", "0".repeat(16));
    if let Some(journal) = launch.journal {
        command.env("FORETRACE_JOURNAL", journal);
        // The library writes here, for the programs that are started, that rseq works.
        command.env("FORETRACE_RSEQ", "0");
    }
    if let Some(slice) = launch.slice.filter(|_| launch.journal.is_some()) {
        command.env("FORETRACE_TURN", slice.0.to_string());
    }
    if !launch.attached {
        command.stdin(Stdio::null()).stdout(Stdio::null());
    }
    if launch.stacks > 0 {
        command.env("FORETRACE_STACKS", launch.stacks.to_string());
    }
    let told_of_more = launch.pretended_cpus as usize > launch.cpus.len();
    let left_alone = SPINNING.iter().all(|name| env::var_os(name).is_none());
    let is_passive = left_alone && (launch.journal.is_some() || told_of_more);
    let is_unbound = env::var_os("KMP_AFFINITY").is_none();
    if !launch.children {
        // With this the library takes its variables out of the program's environment, and puts the user's own back. The others that are
        // added it takes out of what children are given: libraries may not have read them yet.
        let added = u32::from(is_unbound) | u32::from(is_passive) << 1;
        command.env("FORETRACE_ALONE", added.to_string());
        if let Some(own) = env::var_os("LD_PRELOAD") {
            command.env("FORETRACE_LD_PRELOAD", own);
        }
    }
    if is_passive {
        command.env("OMP_WAIT_POLICY", "passive");
        command.env("KMP_BLOCKTIME", "0");
        // The trace tells whether that is the user's wish.
        command.env("FORETRACE_PASSIVE", "1");
    }
    // LLVM's library asks the kernel itself for the CPUs that it may run on, which are one, and stops where other answers
    // disagree; so it does not bind threads, and counts CPUs as others do.
    if is_unbound {
        command.env("KMP_AFFINITY", "disabled");
    }
    if launch.journal.is_some() && (launch.children || links::wants_sanitizer_first(launch.program))
    {
        command.env("ASAN_OPTIONS", with_any_order(env::var_os("ASAN_OPTIONS")));
    }
    if launch.children {
        for (name, value) in ONE_CPU_FOR_RANKS {
            if env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
    }
    command
}

/// Returns the options of address sanitizers, the user's among them, with one by which they run although another library comes before theirs.
fn with_any_order(options: Option<OsString>) -> OsString {
    let mut all = options
        .filter(|own| !own.is_empty())
        .map_or_else(OsString::new, |mut own| {
            own.push(":");
            own
        });
    all.push("verify_asan_link_order=0");
    all
}

/// Runs the program to its end. Signals sent to foretrace go to it.
pub fn run(launch: &Launch) -> anyhow::Result<Ended> {
    let mut command = command_of(launch);
    let forwarding = Forwarding::start();
    // Signals wait until it is known whom to forward them to.
    let mask = SignalMask::block_all();
    if let Some(costs) = probe::costs(launch, mask) {
        command.env("FORETRACE_COSTS", costs);
    }
    // Not before the programs that were just measured with.
    let always = launch
        .cpus
        .first()
        .filter(|_| launch.find_spins)
        .map(|&cpu| Watch::always(cpu));
    let slice = launch.slice.map(|slice| slice.max(KERNEL_SLICE));
    system::prepare(&mut command, launch.cpus, slice, mask);
    if launch.attached {
        system::close_what_was_closed(&mut command);
    }
    let load = launch.cpus.first().map(|&cpu| Load::start_on(cpu));
    let start = Instant::now();
    let child = command.spawn();
    if let Ok(child) = &child {
        forwarding.set_child(child.id().cast_signed());
    }
    mask.restore();
    let child = child.with_context(|| {
        format!(
            "cannot start `{}` on CPU {}",
            launch.program.display(),
            cpu_list(launch.cpus)
        )
    })?;
    let pid = child.id().cast_signed();
    let watch = always.or_else(|| {
        let (&cpu, journal) = launch.cpus.first().zip(launch.journal)?;
        let naps = Naps::in_journals(journal);
        Watch::now_and_then(cpu, child.id(), naps).ok().map(Ok)
    });
    let room = launch.journal.map(Room::make_in);
    let in_force = system::slice_of(pid);
    let waited = system::wait_for_child(pid, &forwarding).context("cannot wait for the program")?;
    let wall = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    drop(room);
    Ok(Ended {
        exit: waited.exit,
        pid: pid.cast_unsigned(),
        cpu_time: waited.cpu_time,
        wall: Nanos(wall),
        foreign_load: load.and_then(|load| load.of_others(waited.cpu_time)),
        refused_slice: slice.is_some() && in_force != slice,
        waiting_loops: match watch {
            Some(Ok(watch)) => Ok(watch.end()),
            Some(Err(error)) => Err(error.to_string()),
            None => Ok(Found::default()),
        },
    })
}

/// Writes numbers of CPUs as a list.
pub fn cpu_list(cpus: &[u32]) -> String {
    let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
    cpus.join(",")
}

/// Returns the list of libraries to preload: the user's own stay first in line.
fn preload_list(ours: &Path) -> OsString {
    match env::var_os("LD_PRELOAD") {
        Some(mut list) if !list.is_empty() => {
            list.push(":");
            list.push(ours);
            list
        }
        _ => ours.into(),
    }
}

/// Returns the number of the signal as an exit code, the way shells report it, or the code itself.
pub fn exit_code(exit: ExitStatus) -> i32 {
    match exit {
        ExitStatus::Code(code) => code,
        ExitStatus::Signal(signal) => 128 + signal,
    }
}

/// Says how a program ended, for messages: `exit code 3`, `SIGSEGV`.
pub fn exit_text(exit: ExitStatus) -> String {
    match exit {
        ExitStatus::Code(code) => format!("exit code {code}"),
        ExitStatus::Signal(signal) => system::signal_name(signal),
    }
}
