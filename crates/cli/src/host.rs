//! The machine that this is, measured between a program's real runs: how fast it wakes its CPUs, and what these share.
//!
//! A virtual machine's CPUs are now nearer to each other, now farther, and share more or less; so a comparison measures both
//! at the same time.

use foretrace_calibrate::{Calibration, Effort};
use foretrace_machine::Description;
use foretrace_trace::Nanos;

use crate::{core, report::calibration::Copies};

/// What was measured.
#[derive(Default)]
pub struct Host {
    calibrations: Vec<Calibration>,
    /// CPU times of a program on one CPU.
    alone: Vec<Nanos>,
    /// The same beside copies of it on other CPUs.
    beside: Vec<Nanos>,
}

impl Host {
    /// Measures what it costs here to let threads go on; takes about a second.
    pub fn calibrate(&mut self) -> anyhow::Result<()> {
        self.calibrations.push(core::calibrate(Effort::Brief)?);
        Ok(())
    }

    /// Notes the CPU times of a program's run on one CPU, and of one beside copies of it that was made next to that.
    pub fn note_copies(&mut self, alone: Nanos, beside: Nanos) {
        self.alone.push(alone);
        self.beside.push(beside);
    }

    /// Returns this machine, as it is in the middle; `cpus` is how many of its CPUs ran the program and its copies.
    pub fn description(mut self, cpus: u32) -> Description {
        let latency = |measured: &Calibration| {
            let between = measured.between.as_ref();
            between.map_or(0, |between| between.wake_latency.nanos)
        };
        self.calibrations.sort_by_key(latency);
        let middle = self.calibrations.get(self.calibrations.len() / 2);
        let Some(middle) = middle else {
            return Description::default();
        };
        let description = core::calibrated(middle);
        let copies = Copies::new(cpus as usize, self.alone, self.beside);
        let bandwidth = middle.streams.as_ref().and_then(core::bandwidth);
        match copies.as_memory(bandwidth) {
            Some((bandwidth, bound)) => description
                .with_bandwidth(bandwidth)
                .with_memory_bound(bound),
            None => description,
        }
    }
}
