//! `foretrace farm`: a master and its slaves, simulated without a trace.

use std::{fs, path::Path};

use anyhow::{Context as _, bail};
use foretrace_farm::{Farm, Outcome, Scheme, Work};
use foretrace_network::Description;
use foretrace_settings::Time;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::{
    args::{FarmArgs, SchemeName, Workload},
    failure::{Finish, Usage},
    output,
    report::farm::{self, Point},
};

/// Runs the command.
pub fn run(args: &FarmArgs) -> anyhow::Result<Finish> {
    let network = Description::load(&args.network)?;
    let ranks = &args.ranks.0;
    if ranks.iter().any(|&ranks| ranks < 2) {
        let message = "--ranks: a farm has a master and at least one slave; begin at 2";
        return Err(Usage(message.to_owned()).into());
    }
    let farm = match args.workload {
        Some(_) => None,
        None => Some(tasks(args)?),
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
        scheme: match args.scheme {
            SchemeName::Single => Scheme::Single,
            SchemeName::Multi(masters) => Scheme::Multi(masters),
            SchemeName::Dynamic => Scheme::Dynamic,
        },
    })
}

/// Reads a file with a time in each line; what stands behind a `#` is not read.
fn listed(path: &Path) -> anyhow::Result<Vec<foretrace_schedule::SimTime>> {
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
