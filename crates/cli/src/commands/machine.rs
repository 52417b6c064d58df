//! `foretrace machine`: the machine that is predicted for, and what this one costs.

use std::{env, ffi::OsString};

use anyhow::Context as _;
use foretrace_calibrate::Effort;
use foretrace_machine::Share;
use foretrace_trace::{ExitStatus, Nanos};

use crate::{
    args::MachineArgs,
    core,
    failure::{Finish, ProgramFailed},
    launch::{
        Launch, copies::run_beside_copies, embedded::PRELOAD, load::Load, resolve::resolve, system,
        turns,
    },
    output,
    report::calibration::{self, Copies},
};

/// How often the program runs alone, and beside copies of itself.
const ROUNDS: usize = 3;

/// Runs the command.
pub fn run(args: &MachineArgs) -> anyhow::Result<Finish> {
    let file = args.output.as_deref();
    if let Some(path) = file.filter(|path| path.as_os_str() != "-") {
        output::check_new_file(path, args.force)?;
    }
    let text = if args.calibrate {
        calibrate(&args.command)?
    } else {
        core::read_machine(args.machine.as_deref())?.show(args.cpus)?
    };
    output::write_to(file, text.as_bytes())?;
    Ok(Finish::Fine)
}

fn calibrate(command: &[OsString]) -> anyhow::Result<String> {
    // First, since it may fail.
    let copies = (!command.is_empty()).then(|| beside_copies(command));
    let copies = copies.transpose()?;
    let load = Load::start();
    let measured = core::calibrate(Effort::Usual)?;
    let foreign = load.of_others(Nanos(measured.cpu_nanos));
    let mut warnings = calibration::warnings(&measured, foreign);
    let mut description = core::calibrated(&measured);
    let mut head = calibration::head(&measured);
    if let Some((copies, refill)) = copies {
        let bandwidth = measured.streams.as_ref().and_then(core::bandwidth);
        let bound = copies.memory_bound(bandwidth);
        warnings.extend(copies.warning(bandwidth));
        head += &copies.text();
        head += &calibration::refill_text(refill);
        description = description.with_memory_bound(Share::nearest(bound));
        if let Some(refill) = refill {
            description = description.with_refill(refill);
        }
    }
    output::warn(&warnings);
    Ok(head + "\n" + &description.show(None)?)
}

/// Runs a program on one CPU, in turn alone, beside a copy of itself on each other CPU, and with long turns of its threads.
fn beside_copies(command: &[OsString]) -> anyhow::Result<(Copies, Option<Share>)> {
    let allowed = system::allowed_cpus().context("cannot find out which CPUs there are")?;
    // The last CPU is the one that is looked at, as everywhere.
    let (others, cpu) = allowed.split_at(allowed.len().saturating_sub(1));
    let name = command.first().context("a command has a first word")?;
    let program = resolve(name, env::var_os("PATH").as_deref())?;
    let preload = PRELOAD.unpack()?;
    let launch = Launch {
        program: &program,
        command,
        cpus: cpu,
        slice: None,
        pretended_cpus: 1,
        stacks: 0,
        children: true,
        find_spins: false,
        preload: &preload.path,
        journal: None,
        attached: false,
    };
    let run = |others: &[u32], slice: Option<Nanos>| -> anyhow::Result<Nanos> {
        let ended = run_beside_copies(&Launch { slice, ..launch }, others)?;
        match ended.exit {
            ExitStatus::Code(0) => Ok(ended.cpu_time),
            exit => Err(ProgramFailed(exit).into()),
        }
    };
    let [mut alone, mut beside] = [(); 2].map(|()| Vec::new());
    let mut pairs = Vec::new();
    for _ in 0..ROUNDS {
        let short = run(&[], None)?;
        let long = run(&[], Some(turns::LONG))?;
        pairs.push(turns::Pair { short, long });
        // Caches that threads empty for each other are another thing.
        alone.push(long);
        beside.push(run(others, Some(turns::LONG))?);
    }
    let copies = Copies::new(allowed.len(), alone, beside);
    Ok((copies, turns::refill(&pairs)))
}
