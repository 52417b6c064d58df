//! `foretrace machine`: the machine that is predicted for, and what this one costs.

use crate::{args::MachineArgs, core, failure::Finish, output};

/// Runs the command.
pub fn run(args: &MachineArgs) -> anyhow::Result<Finish> {
    let file = args.output.as_deref();
    if let Some(path) = file.filter(|path| path.as_os_str() != "-") {
        output::check_new_file(path, args.force)?;
    }
    let text = core::read_machine(args.machine.as_deref())?.show(args.cpus)?;
    output::write_to(file, text.as_bytes())?;
    Ok(Finish::Fine)
}
