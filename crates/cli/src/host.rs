//! The machine that this is, measured between a program's real runs.
//!
//! A virtual machine's CPUs are now nearer to each other, now farther; so a comparison measures what it costs to wake them at the same
//! time.

use foretrace_calibrate::{Calibration, Effort};
use foretrace_machine::Description;

use crate::core;

/// What was measured.
#[derive(Default)]
pub struct Host(Vec<Calibration>);

impl Host {
    /// Measures what it costs here to let threads go on; takes a second or two.
    pub fn calibrate(&mut self) -> anyhow::Result<()> {
        self.0.push(core::calibrate(Effort::Brief)?);
        Ok(())
    }

    /// Returns this machine, as it was when it took neither longest nor shortest to wake a CPU.
    pub fn description(mut self) -> Description {
        let latency = |measured: &Calibration| {
            let between = measured.between.as_ref();
            between.map_or(0, |between| between.wake_latency.nanos)
        };
        self.0.sort_by_key(latency);
        let middle = self.0.get(self.0.len() / 2);
        middle.map_or_else(Description::default, core::calibrated)
    }
}
