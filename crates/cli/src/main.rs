//! The command line of foretrace: records a threaded program on one CPU and predicts how it would run on N.
//!
//! Deliberately absent: everything but arguments, messages and the launch of programs. What the commands do is in the
//! crates below; `core` is the one place that calls them.

mod args;
mod commands;
mod core;
mod details;
mod explaining;
mod failure;
mod host;
mod hybrid;
mod launch;
mod messages;
mod output;
mod report;
mod series;
mod several;
mod table;
mod viewing;

use std::{panic, process::ExitCode};

use clap::Parser as _;

use crate::failure::Finish;

fn main() -> ExitCode {
    panic::set_hook(Box::new(|info| {
        output::note(format_args!(
            "foretrace: this is a bug in foretrace: {info}\n\
             foretrace: please report it to its developers, with the command line and these lines"
        ));
    }));
    let code = panic::catch_unwind(|| {
        let arguments = args::Arguments::parse();
        match commands::run(&arguments.command) {
            Ok(finish) => finish_code(finish),
            Err(error) => {
                let code = failure::code_of(&error);
                if code != failure::FINE {
                    output::note(format_args!("foretrace: {}", failure::message(&error)));
                }
                code
            }
        }
    });
    ExitCode::from(code.unwrap_or(failure::FAILED))
}

fn finish_code(finish: Finish) -> u8 {
    match finish {
        Finish::Fine => failure::FINE,
        Finish::GateFailed => failure::GATE_FAILED,
        Finish::AsProgram(exit) => {
            if let foretrace_trace::ExitStatus::Signal(signal) = exit {
                launch::system::die_by(signal);
            }
            // Exit codes of programs are bytes; a signal that did not end us becomes what shells make of it.
            launch::exit_code(exit).to_le_bytes()[0]
        }
    }
}
