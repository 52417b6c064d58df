//! `foretrace farm`: a master and its slaves, simulated without a trace.

use std::{fs, path::Path};

use anyhow::{Context as _, bail};
use foretrace_farm::{Farm, Outcome, Scheme, Work};
use foretrace_interchange::Messages;
use foretrace_schedule::SimTime;
use foretrace_settings::Time;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::{
    args::{FarmArgs, SchemeName, Workload},
    failure::{Finish, Usage},
    messages, output,
    report::farm::{self, Point},
};

/// Runs the command.
pub fn run(args: &FarmArgs) -> anyhow::Result<Finish> {
    let network = messages::load_network(&args.network)?;
    let ranks = &args.ranks.0;
    if ranks.iter().any(|&ranks| ranks < 2) {
        let message = "--ranks: a farm has a master and at least one slave; begin at 2";
        return Err(Usage(message.to_owned()).into());
    }
    let farm = match (args.workload, &args.trace) {
        (Some(_), _) => None,
        (None, Some(trace)) => Some(recorded(args, trace)?),
        (None, None) => Some(tasks(args)?),
    };
    if let (SchemeName::Multi(masters), Some(&least)) = (args.scheme, ranks.first())
        && masters > least / 2
    {
        let message = format!(
            "--scheme multi:{masters}: each master needs a slave, and of {least} ranks at most {} can be masters",
            least / 2
        );
        return Err(Usage(message).into());
    }
    let simulate = |ranks: u32| -> anyhow::Result<Outcome> {
        let network = network.resolve(ranks)?;
        Ok(match (args.workload, &farm) {
            (Some(Workload::Matmul(size)), _) => foretrace_farm::matmul(size, &network),
            (None, Some(farm)) => foretrace_farm::run(farm, &network),
            (None, None) => bail!("there is nothing to do; give --work or --workload"),
        })
    };
    let points: Vec<Point> = ranks
        .par_iter()
        .map(|&ranks| {
            Ok(Point {
                ranks,
                outcome: simulate(ranks)?,
            })
        })
        .collect::<anyhow::Result<_>>()?;
    if network.topology.is_some() || network.limits_messages() {
        let warning = "a farm's messages do not get in each other's way here: [contention], buses and links do not count";
        output::warn(&[warning.to_owned()]);
    }
    if args.json {
        output::print_json(&farm::json(&points, &network))?;
    } else {
        output::print(farm::text(&points, &network))?;
    }
    Ok(Finish::Fine)
}

fn tasks(args: &FarmArgs) -> anyhow::Result<Farm> {
    let said = args
        .work
        .as_deref()
        .context("clap requires --work or --workload")?;
    let work = match said.parse::<Work>() {
        Ok(work) => work.with_seed(args.seed),
        Err(_) if Path::new(said).exists() => Work::List(listed(Path::new(said))?),
        Err(error) => {
            let message = format!("--work: {error}; or name a file with a time in each line");
            return Err(Usage(message).into());
        }
    };
    let count = match (&work, args.tasks) {
        (_, Some(tasks)) => tasks,
        (Work::List(times), None) => times.len() as u64,
        (_, None) => return Err(Usage("--tasks: say how many there are".to_owned()).into()),
    };
    Ok(Farm {
        tasks: count,
        work,
        task_bytes: args.message,
        result_bytes: args.result.unwrap_or(args.message),
        master_work: SimTime::ZERO,
        scheme: scheme(args.scheme),
    })
}

fn scheme(name: SchemeName) -> Scheme {
    match name {
        SchemeName::Single => Scheme::Single,
        SchemeName::Multi(masters) => Scheme::Multi(masters),
        SchemeName::Dynamic => Scheme::Dynamic,
    }
}

/// Takes the tasks of a program that passes messages.
fn recorded(args: &FarmArgs, trace: &Path) -> anyhow::Result<Farm> {
    let name = trace.display();
    let program = match messages::load(trace)? {
        Some(Messages::Program(program)) => program,
        Some(Messages::Graph(_)) => {
            bail!("{name}: a task graph has no order in which a master deals tasks")
        }
        None => bail!("{name}: holds no messages; name a trace of a program that passes them"),
    };
    let dealt = foretrace_messages::dealt(&program)
        .with_context(|| format!("{name}: no master and slaves were found"))?;
    output::note(format_args!(
        "foretrace: {name}: rank {} deals {} tasks to {} slaves",
        dealt.master,
        dealt.tasks.len(),
        dealt.slaves
    ));
    Ok(Farm {
        tasks: args.tasks.unwrap_or(dealt.tasks.len() as u64),
        work: Work::List(dealt.tasks),
        task_bytes: dealt.task_bytes,
        result_bytes: dealt.result_bytes,
        master_work: dealt.master_work,
        scheme: scheme(args.scheme),
    })
}

/// Reads a file with a time in each line; what stands behind a `#` is not read.
fn listed(path: &Path) -> anyhow::Result<Vec<SimTime>> {
    let name = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    let mut times = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let time: Time = line
            .parse()
            .map_err(|error| anyhow::anyhow!("{name}, line {}: {error}", number + 1))?;
        times.push(time.0);
    }
    anyhow::ensure!(
        !times.is_empty(),
        "{name}: holds no times; write one in each line, as in 292us"
    );
    Ok(times)
}
