//! `foretrace info`: what a trace holds.

use foretrace_trace::Trace;

use crate::{
    args::InfoArgs,
    core,
    failure::Finish,
    messages, output,
    report::{self, info::Info, json::SeriesJson, levels::Levels},
    series::{Run, Series},
};

/// Runs the command.
pub fn run(args: &InfoArgs) -> anyhow::Result<Finish> {
    if let Some(series) = Series::load(&args.file)? {
        return run_series(args, &series);
    }
    if let Some(messages) = messages::imported(&args.file)? {
        if args.json {
            output::print_json(
                &serde_json::json!({ "trace": report::messages::trace_json(&messages) }),
            )?;
        } else {
            output::print(report::messages::info(&messages))?;
        }
        return Ok(Finish::Fine);
    }
    let mut trace = core::read_trace(&args.file)?;
    let findings = core::findings(&trace);
    trace.warnings.extend(findings.assumptions);
    let ranks = messages::of_trace(&trace)?;
    let info = Info::new(&trace, findings.structures, findings.pools);
    if args.json {
        let mut document = serde_json::to_value(info.json())?;
        if let Some(ranks) = &ranks {
            document["messages"] = report::messages::trace_json(ranks);
            if let Some(levels) = Levels::of(&trace) {
                document["messages"]["threads"] = levels.json();
            }
        }
        output::print_json(&document)?;
    } else {
        let ranks = ranks.map(|ranks| report::messages::info(&ranks) + "\n");
        output::print(ranks.unwrap_or_default() + &info.text())?;
    }
    Ok(Finish::Fine)
}

/// Shows what recordings a series holds.
fn run_series(args: &InfoArgs, series: &Series) -> anyhow::Result<Finish> {
    let read = |run: &Run| -> anyhow::Result<Trace> {
        let mut trace = run.read(&args.file)?;
        trace.warnings.extend(core::findings(&trace).assumptions);
        Ok(trace)
    };
    let traces: Vec<(u32, Trace)> = series
        .runs
        .iter()
        .map(|run| Ok((run.cpus, read(run)?)))
        .collect::<anyhow::Result<_>>()?;
    if args.json {
        let source = args.file.display().to_string();
        let document = SeriesJson::new(&source, &traces);
        output::print_json(&serde_json::json!({ "series": document }))?;
    } else {
        output::print(report::series::text(&traces))?;
    }
    Ok(Finish::Fine)
}
