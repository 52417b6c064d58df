//! Chores of the project: `cargo xtask COMMAND`.
//!
//! Deliberately absent: dependencies. This is the first thing that is built on a new machine, and it should be there in
//! a second.

mod bench;
mod bench_messages;
mod packages;
mod run;
mod soak;
mod subjects;
mod test;
mod validate;
mod validate_messages;
mod validate_wide;

use std::{fmt::Write as _, process::ExitCode};

/// A chore.
struct Chore {
    name: &'static str,
    about: &'static str,
    run: fn() -> Result<(), String>,
}

/// The chores, in the order in which the help lists them.
const CHORES: [Chore; 11] = [
    Chore {
        name: "test",
        about: "Set up the machine, then check the format, the lints and all tests",
        run: test::all,
    },
    Chore {
        name: "setup",
        about: "Install the system packages that the tests need",
        run: packages::set_up,
    },
    Chore {
        name: "bench",
        about: "Measure the cost of recording, alone and beside other tools, the size of traces and the speed of replay",
        run: bench::all,
    },
    Chore {
        name: "bench-engine",
        about: "Measure loading, lowering and replay of traces of up to 10^8 events; needs 10 GB of memory",
        run: bench::engine_speed,
    },
    Chore {
        name: "bench-masterslave",
        about: "Measure how fast grids are planned and automata networks solved",
        run: bench::masterslave,
    },
    Chore {
        name: "bench-messages",
        about: "Measure how many messages a second are replayed, from a million to a hundred million",
        run: bench_messages::all,
    },
    Chore {
        name: "bench-gantt",
        about: "Measure what painting a frame's lanes costs, and building their index",
        run: bench::gantt,
    },
    Chore {
        name: "soak",
        about: "Record a server under load for two minutes, and compare with the same server alone",
        run: soak::all,
    },
    Chore {
        name: "validate",
        about: "Compare predictions with real runs of some programs on two CPUs",
        run: validate::all,
    },
    Chore {
        name: "validate-mpi",
        about: "Compare predictions of programs that use MPI with real runs of two ranks on two CPUs",
        run: validate_messages::all,
    },
    Chore {
        name: "validate-wide",
        about: "Compare predictions for 8 and 32 CPUs with programs that wait in place of their work",
        run: validate_wide::all,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name] = arguments.as_slice() else {
        eprint!("{}", help());
        return ExitCode::from(2);
    };
    if name == "help" || name == "--help" || name == "-h" {
        eprint!("{}", help());
        return ExitCode::SUCCESS;
    }
    let Some(chore) = CHORES.iter().find(|chore| chore.name == name) else {
        eprint!("xtask: there is no chore `{name}`\n\n{}", help());
        return ExitCode::from(2);
    };
    match (chore.run)() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nxtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn help() -> String {
    let mut text = "Usage: cargo xtask COMMAND\n\nCommands:\n".to_owned();
    for chore in CHORES {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {:<17} {}", chore.name, chore.about);
    }
    text
}
