//! Runs of a program beside copies of itself, which share nothing with it but the machine.

use std::process::Child;

use anyhow::Context as _;

use super::{Ended, Launch, command_of, run, system};

/// Copies of a program that run; dropped, they are killed.
struct Copies(Vec<Child>);

impl Drop for Copies {
    fn drop(&mut self) {
        for copy in &mut self.0 {
            // It may have ended by itself.
            let _ = copy.kill();
            let _ = copy.wait();
        }
    }
}

/// Runs the program to its end, while a copy of it runs on each of the other CPUs. These begin with it, and are killed when it
/// ended.
pub fn run_beside_copies(launch: &Launch, others: &[u32]) -> anyhow::Result<Ended> {
    let mut copies = Copies(Vec::new());
    for &cpu in others {
        let mut command = command_of(launch);
        let mask = system::SignalMask::block_all();
        system::prepare(&mut command, &[cpu], launch.slice, mask);
        let copy = command.spawn();
        mask.restore();
        let copy = copy
            .with_context(|| format!("cannot start `{}` on CPU {cpu}", launch.program.display()))?;
        copies.0.push(copy);
    }
    run(launch)
}
