//! `foretrace machine`: the machine that is predicted for, and what this one costs.

use foretrace_trace::Nanos;

use crate::{
    args::MachineArgs, core, failure::Finish, launch::load::Load, output, report::calibration,
};

/// Runs the command.
pub fn run(args: &MachineArgs) -> anyhow::Result<Finish> {
    let file = args.output.as_deref();
    if let Some(path) = file.filter(|path| path.as_os_str() != "-") {
        output::check_new_file(path, args.force)?;
    }
    let text = if args.calibrate {
        calibrate()?
    } else {
        core::read_machine(args.machine.as_deref())?.show(args.cpus)?
    };
    output::write_to(file, text.as_bytes())?;
    Ok(Finish::Fine)
}

fn calibrate() -> anyhow::Result<String> {
    let load = Load::start();
    let measured = core::calibrate()?;
    let foreign = load.of_others(Nanos(measured.cpu_nanos));
    output::warn(&calibration::warnings(&measured, foreign));
    let machine = core::calibrated(&measured).show(None)?;
    Ok(calibration::head(&measured) + &machine)
}
