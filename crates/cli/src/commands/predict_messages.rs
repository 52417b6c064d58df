//! `foretrace predict` and `foretrace export` of programs that pass messages.

use anyhow::{Context as _, bail};
use foretrace_interchange::{Messages, Source};
use foretrace_schedule::Details;

use crate::{
    args::{Bind, ExportArgs, ModelArgs, PredictArgs},
    core,
    failure::{Finish, Usage},
    messages::{self, Replay, answered, shown},
    output,
    report::messages as report,
};

/// Predicts.
pub fn run(args: &PredictArgs, messages: Messages) -> anyhow::Result<Finish> {
    let own = [
        (args.cpus.is_some(), "--cpus"),
        (args.seed.is_some(), "--seed"),
    ];
    refuse_options_of_threads(&args.how, args.ranks.cpus_per_rank, &own)?;
    output::warn(messages::warnings(&messages));
    let replay = Replay::new(messages, &args.network, args.how.memory_bound)?;
    let attempts = if args.all_models {
        let models = [
            crate::args::Model::Direct,
            crate::args::Model::ClientServer,
            crate::args::Model::Strict,
        ];
        let mut all = Vec::new();
        for model in models {
            all.extend(replay.predict(model)?);
        }
        all
    } else {
        replay.predict(args.how.model)?
    };
    if let Some(path) = &args.output {
        let schedule = replay.schedule(shown(&attempts));
        core::write_schedule(&schedule, &Details::default(), path)?;
    }
    if args.json {
        output::print_json(&report::json(&replay, &attempts))?;
    } else {
        output::print(report::text(&replay, &attempts))?;
    }
    if answered(&attempts).is_none() {
        bail!("{}", report::explain(&attempts));
    }
    Ok(Finish::Fine)
}

/// Refuses options that are of threads, a command's own and those of all, which would change nothing here.
pub fn refuse_options_of_threads(
    how: &ModelArgs,
    cpus_per_rank: Option<u32>,
    own: &[(bool, &'static str)],
) -> anyhow::Result<()> {
    // These are of the CPUs that each rank has.
    let on_cpus = cpus_per_rank.is_some();
    let given = [
        (how.workers.is_some(), "--workers"),
        (how.machine.is_some() && !on_cpus, "--machine"),
        (how.scheduler.is_some() && !on_cpus, "--scheduler"),
        (how.bind != Bind::None && !on_cpus, "--bind"),
    ];
    match own.iter().chain(&given).find(|(is_given, _)| *is_given) {
        None => Ok(()),
        Some((_, option)) => {
            let message = format!(
                "{option}: a program that passes messages has as many ranks as its trace, and --network says what they run \
                 on; leave it out (--cpus-per-rank gives the threads of each rank more CPUs; `foretrace farm --trace` knows a \
                 master with other numbers of slaves)"
            );
            Err(Usage(message).into())
        }
    }
}

/// Exports: as another format of messages, or the predicted run.
pub fn export(args: &ExportArgs, messages: Messages) -> anyhow::Result<Vec<u8>> {
    let mut contents = Vec::new();
    if let Some(format) = foretrace_interchange::message_format(&args.format) {
        format.export(&messages, &mut contents)?;
        return Ok(contents);
    }
    let format = foretrace_interchange::exporter(&args.format).context("the format was checked")?;
    if format.needs() == foretrace_interchange::Needs::Trace {
        bail!(
            "the format {} shows a recorded trace, not a program that passes messages",
            args.format
        );
    }
    let replay = Replay::new(messages, &args.network, args.how.memory_bound)?;
    let attempts = replay.predict(args.how.model)?;
    if answered(&attempts).is_none() {
        output::note(format_args!(
            "foretrace: warning: {}",
            report::explain(&attempts)
        ));
    }
    let schedule = replay.schedule(shown(&attempts));
    format.export(Source::Schedule(&schedule), &mut contents)?;
    Ok(contents)
}
