//! `foretrace calibrate`: what this machine, or the network between its processes, costs.

use std::{env, ffi::OsString};

use anyhow::{Context as _, bail};
use foretrace_calibrate::{
    Effort,
    network::{self, Choice, Launcher, Measured, Quantity, Settings, Told, Transport},
};
use foretrace_messages::{Builder, Model, Operation, replay};
use foretrace_mpi::Family;
use foretrace_network::{Description, Network};
use foretrace_trace::Nanos;
use indicatif::{ProgressBar, ProgressStyle};

use super::machine;
use crate::{
    args::{CalibrateArgs, MachineArgs, MpiName, MpiRankArgs, TransportName},
    failure::{Finish, Usage},
    launch::load::Load,
    output,
    report::network_calibration::{self as report, Comparison, Report},
};

/// As many round trips are simulated to compare with those that were measured.
const ROUND_TRIPS: u32 = 10;

/// The most ranks: each is a process of this machine.
const MOST_RANKS: u32 = 256;

/// Runs the command.
pub fn run(args: &CalibrateArgs) -> anyhow::Result<Finish> {
    if args.machine {
        return machine::run(&MachineArgs {
            show: false,
            calibrate: true,
            machine: None,
            cpus: None,
            output: args.output.clone(),
            force: args.force,
            command: args.command.clone(),
        });
    }
    let file = args
        .output
        .as_deref()
        .filter(|path| path.as_os_str() != "-");
    if let Some(path) = file {
        output::check_new_file(path, args.force)?;
    }
    let settings = settings(args)?;
    let launcher = launcher(args)?;
    let load = Load::start();
    let measured = measure(&launcher, &settings, args.quick)?;
    let foreign = load.of_others(Nanos(measured.cpu_nanos));
    let fit = network::fit(&measured);
    let parameters = report::parameters(&fit, &measured);
    let description = Description::parse(&parameters, "the network that was measured")
        .context("the parameters that were fitted make no network")?;
    let report = Report {
        launcher: launcher.text(),
        transport: settings.transport,
        comparisons: compare(&measured, &description.resolve(2)?)?,
        measured,
        fit,
    };
    let text = report.head() + "\n" + &parameters;
    output::warn(&report.warnings(foreign));
    if let Some(path) = file {
        output::write_to(Some(path), text.as_bytes())?;
    }
    if args.json {
        output::print_json(&report.json(file, &text))?;
    } else if let Some(path) = file {
        output::print(report.text(path))?;
    } else {
        output::print(text)?;
    }
    Ok(Finish::Fine)
}

/// Takes part as one of the ranks.
pub fn run_rank(args: &MpiRankArgs) -> anyhow::Result<Finish> {
    let mut lost = None;
    let tell = |told: &Told| {
        // What nobody reads is measured for nothing, but the other ranks wait for this one.
        if let Err(error) = output::print(told.line() + "\n") {
            lost = Some(error);
        }
    };
    let effort = effort(args.quick);
    if let Err(error) = network::take_part(&args.libraries, args.part(), effort, tell) {
        output::print(Told::Fault(error.to_string()).line() + "\n")?;
        return Err(error.into());
    }
    match lost {
        Some(error) => Err(error),
        None => Ok(Finish::Fine),
    }
}

fn effort(quick: bool) -> Effort {
    if quick { Effort::Least } else { Effort::Usual }
}

fn settings(args: &CalibrateArgs) -> anyhow::Result<Settings> {
    let mut ranks = args.ranks.0.clone();
    ranks.sort_unstable();
    ranks.dedup();
    if let Some(count) = ranks
        .iter()
        .find(|count| !(2..=MOST_RANKS).contains(*count))
    {
        let message = format!(
            "--ranks: {count} ranks cannot be measured; two of them send messages, and there are {MOST_RANKS} at most"
        );
        return Err(Usage(message).into());
    }
    Ok(Settings {
        effort: effort(args.quick),
        transport: match args.transport {
            TransportName::Auto => Transport::Auto,
            TransportName::Tcp => Transport::Tcp,
            TransportName::Shm => Transport::SharedMemory,
        },
        ranks,
    })
}

fn launcher(args: &CalibrateArgs) -> anyhow::Result<Launcher> {
    let choice = match (&args.launcher, args.mpi) {
        (Some(command), _) => {
            let words: Vec<OsString> = command.split_whitespace().map(OsString::from).collect();
            if words.is_empty() {
                let message = "--launcher: name a program, as in --launcher 'mpirun --host a,b'";
                return Err(Usage(message.to_owned()).into());
            }
            Choice::Command(words)
        }
        (None, Some(MpiName::Openmpi)) => Choice::Of(Family::OpenMpi),
        (None, Some(MpiName::Mpich)) => Choice::Of(Family::Mpich),
        (None, None) => Choice::Any,
    };
    let mut launcher = Launcher::find(&choice, env::var_os("PATH").as_deref())?;
    if let Some(library) = &args.mpi_library {
        if !library.is_file() {
            bail!(
                "there is no library {}; --library names a file",
                library.display()
            );
        }
        launcher.libraries = vec![library.display().to_string()];
    }
    Ok(launcher)
}

fn measure(launcher: &Launcher, settings: &Settings, quick: bool) -> anyhow::Result<Measured> {
    let program = env::current_exe().context("cannot find this program's file")?;
    let rank = |libraries: &[String], part| {
        let mut command = vec![program.clone().into_os_string()];
        command.extend(MpiRankArgs::to_arguments(libraries, part, quick));
        command
    };
    let bar = if output::is_watched() {
        let style = ProgressStyle::with_template("measuring messages {wide_bar} {percent} %");
        ProgressBar::new(1_000).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    } else {
        ProgressBar::hidden()
    };
    let progress = |share: f64| {
        #[expect(clippy::cast_sign_loss, reason = "shares are not negative")]
        bar.set_position((1_000.0 * share) as u64);
    };
    let measured = network::measure(launcher, settings, rank, progress);
    bar.finish_and_clear();
    Ok(measured?)
}

/// Simulates a ping-pong with messages of each size that was measured, with what was fitted.
fn compare(measured: &Measured, network: &Network) -> anyhow::Result<Vec<Comparison>> {
    let mut comparisons = Vec::new();
    for (quantity, is_fitted) in [(Quantity::RoundTrip, true), (Quantity::Check, false)] {
        for bytes in measured.sizes.sizes(quantity) {
            let Some(round_trip) = measured.sizes.spread(quantity, bytes) else {
                continue;
            };
            comparisons.push(Comparison {
                bytes,
                is_fitted,
                round_trip,
                predicted: predicted(bytes, network)?,
            });
        }
    }
    comparisons.sort_by_key(|comparison| comparison.bytes);
    Ok(comparisons)
}

/// Returns what a round trip would take, in nanoseconds.
fn predicted(bytes: u64, network: &Network) -> anyhow::Result<f64> {
    let mut builder = Builder::new(2);
    for _ in 0..ROUND_TRIPS {
        builder.push(0, Operation::send(1, 0, bytes));
        builder.push(1, Operation::receive(0, 0, bytes));
        builder.push(1, Operation::send(0, 0, bytes));
        builder.push(0, Operation::receive(1, 0, bytes));
    }
    let run = replay(&builder.finish("ping-pong"), network, Model::Direct);
    let end = run.finish.first().copied().flatten();
    let end = end.context("a ping-pong comes to an end")?;
    Ok(end.0 as f64 / 1_000.0 / f64::from(ROUND_TRIPS))
}
