//! `foretrace explain`: what limits a predicted run, and what would help.

use foretrace_analysis::{Spots, path_shares, predicted_waits, worth_a_try};
use foretrace_trace::Trace;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::{default_cpus, predict::progress};
use crate::{
    args::ExplainArgs,
    core::{self, Study},
    failure::{Finish, Usage},
    messages, output,
    report::explanation::{Explanation, Tried},
    series::Series,
};

/// Runs the command.
pub fn run(args: &ExplainArgs) -> anyhow::Result<Finish> {
    let refuse = |what: &str| {
        let message = format!("{}: {what}", args.file.display());
        Err(Usage(message).into())
    };
    if Series::load(&args.file)?.is_some() {
        return refuse("is a series; name one of its traces, which lie beside it");
    }
    if messages::imported(&args.file)?.is_some() {
        return refuse(
            "passes messages; `foretrace view FILE --network NETWORK` shows what its run waits for",
        );
    }
    let mut trace = core::read_trace(&args.file)?;
    let study = Study::new(&mut trace, &args.how, false)?;
    let cpus = args
        .cpus
        .or(study.described_cpus())
        .unwrap_or_else(|| default_cpus(&trace));
    output::warn(&trace.warnings);
    let explanation = explain(&study, &trace, cpus)?;
    if args.json {
        output::print_json(&explanation.json())?;
    } else {
        output::print(explanation.text())?;
    }
    Ok(Finish::Fine)
}

fn explain<'t>(study: &Study, trace: &'t Trace, cpus: u32) -> anyhow::Result<Explanation<'t>> {
    let one_cpu = study.one_cpu()?;
    let prediction = study.predict_one(cpus, None, one_cpu)?;
    let course = study.course_of(&prediction)?;
    let spots = Spots::of(trace);
    let path = path_shares(&spots, &course.schedule, &course.marks);
    let waits = predicted_waits(&spots, &course.schedule, &course.marks);
    let changes = match prediction.answered() {
        Some(_) => worth_a_try(&course.schedule, &path),
        None => Vec::new(),
    };
    let bar = progress(changes.len() + 1);
    // A machine that is described may not have so many.
    let threads = study.threads_on(cpus);
    let most = (threads > cpus)
        .then(|| study.predict_one(threads, None, one_cpu).ok())
        .flatten();
    bar.inc(1);
    let tried = changes.par_iter().filter_map(|&change| {
        let run = study.after(change, &spots, &prediction);
        bar.inc(1);
        Some(Tried { change, run: run? })
    });
    let tried: Vec<Tried> = tried.collect();
    bar.finish_and_clear();
    Ok(Explanation::new(
        trace,
        (prediction, most),
        course.schedule,
        (path, waits),
        tried,
    ))
}
