//! Records servers under load for a long time.

use crate::run::{cargo, step};

/// How long each recording takes; the server alone is asked for as long.
const SECONDS: &str = "120";

/// Runs the tests of the servers for [`SECONDS`] each, one after the other.
pub fn all() -> Result<(), String> {
    step(
        "Record memcached and redis under load",
        cargo(&[
            "test",
            "--release",
            "--package",
            "foretrace",
            "--test",
            "cli",
        ])
        .args(["--", "server::", "--nocapture", "--test-threads", "1"])
        .env("FORETRACE_SOAK_SECONDS", SECONDS),
    )
}
