//! Records a server under load for a long time.

use crate::run::{cargo, step};

/// How long the recording takes; the server alone is asked for as long.
const SECONDS: &str = "120";

/// Runs the test of the server for [`SECONDS`].
pub fn all() -> Result<(), String> {
    let test = "server::a_server_under_load_answers_as_ever_and_is_recorded";
    step(
        "Record memcached under load",
        cargo(&[
            "test",
            "--release",
            "--package",
            "foretrace",
            "--test",
            "cli",
        ])
        .args(["--", "--exact", test, "--nocapture"])
        .env("FORETRACE_SOAK_SECONDS", SECONDS),
    )
}
