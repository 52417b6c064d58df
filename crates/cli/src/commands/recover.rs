//! `foretrace recover`: seals what an interrupted recording left behind.

use anyhow::{Context as _, ensure};

use crate::{args::RecoverArgs, core, failure::Finish, output};

/// Runs the command.
pub fn run(args: &RecoverArgs) -> anyhow::Result<Finish> {
    ensure!(
        args.journal.is_dir(),
        "{} is not a directory of journals; name the .journal directory that `foretrace record` left behind",
        args.journal.display()
    );
    let file = match &args.output {
        Some(path) => path.clone(),
        None => default_output(args)?,
    };
    output::check_new_file(&file, args.force)?;
    let mut trace = core::read_trace(&args.journal)?;
    trace.source = file.display().to_string();
    output::warn(&trace.warnings);
    core::save_trace(&trace, &file)?;
    output::note(format_args!(
        "foretrace: {} of {}: {}\nforetrace: {} is not needed any more, unless the program still runs",
        output::counted(trace.events.len(), "event"),
        output::counted(trace.threads.len(), "thread"),
        file.display(),
        args.journal.display()
    ));
    Ok(Finish::Fine)
}

fn default_output(args: &RecoverArgs) -> anyhow::Result<std::path::PathBuf> {
    let is_journal = args
        .journal
        .extension()
        .is_some_and(|extension| extension == "journal");
    is_journal
        .then(|| args.journal.with_extension(""))
        .context("the directory's name does not end in .journal; name the trace file with -o")
}
