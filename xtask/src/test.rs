//! All checks that a change must pass.

use std::{process::Command, time::Instant};

use crate::{
    packages,
    run::{cargo, step, succeeds},
};

/// Sets up the machine, then checks format, lints and tests.
///
/// All in the release profile: tests record and replay real programs, and one set of artifacts serves these checks,
/// this tool and the program itself.
pub fn all() -> Result<(), String> {
    let start = Instant::now();
    packages::set_up()?;
    components()?;
    step("Format", &mut cargo(&["fmt", "--all", "--check"]))?;
    step(
        "Lints",
        &mut cargo(&[
            "clippy",
            "--release",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
    )?;
    step("Tests", &mut cargo(&["test", "--release", "--workspace"]))?;
    eprintln!("\nAll passed in {:.0} s.", start.elapsed().as_secs_f64());
    Ok(())
}

/// Sees to it that rustfmt and clippy are there.
fn components() -> Result<(), String> {
    let missing: Vec<&str> = [("fmt", "rustfmt"), ("clippy", "clippy")]
        .into_iter()
        .filter(|(command, _)| !succeeds(&mut cargo(&[command, "--version"])))
        .map(|(_, component)| component)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let added = step(
        &format!("Add {}", missing.join(" and ")),
        Command::new("rustup")
            .args(["component", "add"])
            .args(&missing),
    );
    added.map_err(|error| {
        format!(
            "{error}\nThe checks need {0}. With rustup: rustup component add {0}; with Debian's Rust: \
             apt-get install rustfmt rust-clippy",
            missing.join(" ")
        )
    })
}
