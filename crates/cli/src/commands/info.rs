//! `foretrace info`: what a trace holds.

use crate::{args::InfoArgs, core, failure::Finish, output, report::info::Info};

/// Runs the command.
pub fn run(args: &InfoArgs) -> anyhow::Result<Finish> {
    let mut trace = core::read_trace(&args.file)?;
    trace.warnings.extend(core::assumptions(&trace));
    let info = Info::new(&trace);
    if args.json {
        output::print_json(&info.json())?;
    } else {
        output::print(info.text())?;
    }
    Ok(Finish::Fine)
}
