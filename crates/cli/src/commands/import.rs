//! `foretrace import`: a foreign trace as a trace file.

use std::{fs, path::Path};

use anyhow::Context as _;
use foretrace_interchange::MessageFormat;

use crate::{args::ImportArgs, core, failure::Finish, messages, output};

/// Runs the command.
pub fn run(args: &ImportArgs) -> anyhow::Result<Finish> {
    let output = match &args.output {
        Some(path) => path.clone(),
        None => args.file.with_extension("ftrace"),
    };
    output::check_new_file(&output, args.force)?;
    let name = args.file.display().to_string();
    let bytes = fs::read(&args.file).with_context(|| format!("cannot read {name}"))?;
    if let Some(format) = foretrace_interchange::message_format(&args.format) {
        return import_messages(format, &bytes, &name, &output);
    }
    let format = foretrace_interchange::importer(&args.format).context("the format was checked")?;
    let trace = format.import(&bytes, &name)?;
    output::warn(&trace.warnings);
    core::save_trace(&trace, &output)?;
    output::note(format_args!(
        "foretrace: {} of {}: {}",
        output::counted(trace.events.len(), "event"),
        output::counted(trace.threads.len(), "thread"),
        output.display()
    ));
    Ok(Finish::Fine)
}

/// Checks a program that passes messages, and puts it into a file of ours as it is.
fn import_messages(
    format: &dyn MessageFormat,
    bytes: &[u8],
    name: &str,
    path: &Path,
) -> anyhow::Result<Finish> {
    let messages = format.import(bytes, name, &|path| fs::read(path))?;
    output::warn(messages::warnings(&messages));
    let mut whole = Vec::new();
    // A list of files would be of no use elsewhere; written anew, the program is in one.
    let is_list = foretrace_interchange::recognized(name, bytes).is_none();
    if is_list && format.is_written() {
        format.export(&messages, &mut whole)?;
    } else {
        whole.extend_from_slice(bytes);
    }
    let contents = foretrace_interchange::wrap(format.name(), &whole);
    foretrace_trace::write_whole(path, |out| out.write_all(&contents))
        .with_context(|| format!("cannot write {}", path.display()))?;
    output::note(format_args!(
        "foretrace: {} ranks: {}",
        messages::ranks(&messages),
        path.display()
    ));
    Ok(Finish::Fine)
}
