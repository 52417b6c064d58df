//! `foretrace import`: a foreign trace as a trace file.

use std::fs;

use anyhow::Context as _;

use crate::{args::ImportArgs, core, failure::Finish, output};

/// Runs the command.
pub fn run(args: &ImportArgs) -> anyhow::Result<Finish> {
    let output = match &args.output {
        Some(path) => path.clone(),
        None => args.file.with_extension("ftrace"),
    };
    output::check_new_file(&output, args.force)?;
    let format = foretrace_interchange::importer(&args.format).context("the format was checked")?;
    let name = args.file.display().to_string();
    let bytes = fs::read(&args.file).with_context(|| format!("cannot read {name}"))?;
    let trace = format.import(&bytes, &name)?;
    output::warn(&trace.warnings);
    core::save_trace(&trace, &output)?;
    output::note(format_args!(
        "foretrace: {} events of {} threads: {}",
        trace.events.len(),
        trace.threads.len(),
        output.display()
    ));
    Ok(Finish::Fine)
}
