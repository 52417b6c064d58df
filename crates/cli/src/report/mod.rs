//! How traces and predictions are shown: tables for people, JSON for programs.

use foretrace_schedule::SimTime;
use serde_json::{Value, json};

pub mod calibration;
pub mod explanation;
pub mod farm;
pub mod fit;
pub mod grid;
pub mod info;
pub mod json;
pub mod levels;
pub mod machine;
pub mod messages;
pub mod network_calibration;
pub mod pools;
pub mod prediction;
pub mod san;
pub mod series;
pub mod sites;
pub mod spins;
pub mod structures;
pub mod validation;

/// Returns nanoseconds: whole ones as an integer, as other documents have them.
pub fn nanos(time: SimTime) -> Value {
    if time.0.is_multiple_of(1_000) {
        json!(time.0 / 1_000)
    } else {
        json!(time.0 as f64 / 1e3)
    }
}
