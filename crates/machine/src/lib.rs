//! Machines as files describe them: what `--machine FILE.toml` reads.
//!
//! A [`Description`] says only what differs from the natural machine of a program; [`Description::machine`] makes the
//! machine for a number of CPUs of it.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = "[costs]\nwake_latency = \"30us\"\n";
//! let description = foretrace_machine::Description::parse(text, "slow.toml".as_ref())?;
//! let machine = description.machine(4, &foretrace_program::Program::default(), None)?;
//! assert_eq!(machine.costs.wake_latency.as_nanos(), 30_000);
//! # Ok(())
//! # }
//! ```
//!
//! Deliberately absent: measuring, which is in `foretrace-calibrate`; simulation; printing.

mod description;
mod error;
mod file;
mod layout;
mod show;
mod values;

pub use {description::Description, error::MachineError, values::Share};
