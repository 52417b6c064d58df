//! Measures how fast messages are replayed, and that it takes so much longer as there are more of them.

use crate::run::{cargo, root, step};

/// The patterns, the ranks, and the messages in millions.
const RUNS: [(&str, u32, &[u32]); 4] = [
    ("stencil", 64, &[1, 10, 100]),
    ("stencil", 1024, &[1, 10, 100]),
    ("master-slave", 64, &[1, 10, 100]),
    ("reversed", 1024, &[1, 10]),
];

/// Runs all measurements.
pub fn all() -> Result<(), String> {
    let example = [
        "build",
        "--release",
        "-p",
        "foretrace-messages",
        "--example",
        "replay",
    ];
    step("Build", &mut cargo(&example))?;
    let program = root().join("target/release/examples/replay");
    for (pattern, ranks, millions) in RUNS {
        for million in millions {
            let messages = format!("{million}000000");
            let name = format!("{pattern}, {ranks} ranks, {million} million messages");
            let mut run = std::process::Command::new(&program);
            step(&name, run.args([pattern, &ranks.to_string(), &messages]))?;
        }
    }
    Ok(())
}
