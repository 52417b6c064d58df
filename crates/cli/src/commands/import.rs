//! `foretrace import`: a foreign trace as a trace file.

use crate::{
    args::{ImportArgs, ImportFormat},
    core,
    failure::Finish,
    output,
};

/// Runs the command.
pub fn run(args: &ImportArgs) -> anyhow::Result<Finish> {
    let output = match &args.output {
        Some(path) => path.clone(),
        None => args.file.with_extension("ftrace"),
    };
    output::check_new_file(&output, args.force)?;
    let trace = match args.format {
        ImportFormat::Text => core::read_text(&args.file)?,
    };
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
