//! `foretrace demo`: the whole way on a bundled program.

use std::{env, fmt::Write as _, path::Path};

use anyhow::Context as _;
use foretrace_interchange::Source;
use foretrace_trace::{ExitStatus, Nanos};

use super::{
    predict::predict_watched,
    record::{Plan, record},
};
use crate::{
    args::{Bind, CpuList, Model, ModelArgs},
    core::Study,
    failure::{Finish, ProgramFailed},
    launch::embedded,
    output,
    report::prediction,
};

/// The largest number of CPUs shown, which the program is made to believe in. The picture is of it, too: with a CPU for
/// each worker, it shows at a glance what keeps the speed-up below that.
const CPUS: u32 = 16;

const TRACE: &str = "foretrace-demo.ftrace";
const PICTURE: &str = "foretrace-demo.svg";

/// Runs the command.
pub fn run() -> anyhow::Result<Finish> {
    let program = embedded::DEMO.unpack()?;
    output::note(format_args!(
        "Recording mandelbrot_farm, a program with {CPUS} worker threads, on one CPU:"
    ));
    let recorded = record(&Plan {
        command: &[program.path.clone().into_os_string()],
        output: Path::new(TRACE),
        pretended_cpus: Some(CPUS),
        stacks: 0,
        slice: Some(Nanos(100_000)),
        cpu: None,
        children: true,
        find_spins: false,
        force: true,
        attached: true,
        quiet: false,
    })?;
    if recorded.exit != ExitStatus::Code(0) {
        return Err(ProgramFailed(recorded.exit).into());
    }
    let mut trace = recorded.trace;

    let how = ModelArgs {
        model: Model::Auto,
        workers: None,
        scheduler: None,
        bind: Bind::None,
    };
    let study = Study::new(&mut trace, how, false)?;
    output::warn(&trace.warnings);
    let predictions = predict_watched(&study, &CpuList::up_to(CPUS).0);
    let pictured = predictions
        .last()
        .context("there is a prediction for the picture")?;
    let schedule = study.schedule(pictured)?;
    let mut picture = Vec::new();
    let svg = foretrace_interchange::exporter("svg").context("SVG is one of the formats")?;
    svg.export(Source::Schedule(&schedule), &mut picture)?;
    output::write_to(Some(Path::new(PICTURE)), &picture)?;

    output::print(format_args!(
        "\nIts speed-up, predicted from {} events on one CPU:\n\n{}\n{}",
        trace.events.len(),
        prediction::text(&predictions),
        next_steps()
    ))?;
    Ok(Finish::Fine)
}

fn next_steps() -> String {
    let absolute = |name: &str| {
        std::path::absolute(name)
            .map_or_else(|_| name.to_owned(), |path| path.display().to_string())
    };
    // The way we were called works again.
    let foretrace = env::args().next().unwrap_or_else(|| "foretrace".to_owned());
    let steps = [
        (format!("info {TRACE}"), "who waited for what"),
        (
            format!("predict {TRACE} --all-models"),
            "what each model says",
        ),
        (
            "record --pretend-cpus 8 -- ./your-program".to_owned(),
            "the same for yours",
        ),
    ];
    let mut text = format!(
        "Picture of the run on {CPUS} CPUs: {}\nTrace: {}\n\nNext:\n",
        absolute(PICTURE),
        absolute(TRACE),
    );
    for (arguments, what_for) in steps {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {foretrace} {arguments:<45} # {what_for}");
    }
    text
}
