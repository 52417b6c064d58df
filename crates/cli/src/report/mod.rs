//! How traces and predictions are shown: tables for people, JSON for programs.

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
