//! What messages cost here: measured by ranks of an MPI program that are this program itself, and fitted to LogGPS and MSE.
//!
//! [`Launcher::find`] finds the launcher that is installed, [`measure`] lets it run ranks, each of which calls [`take_part`],
//! and [`fit`] makes parameters of what they measured.

mod ffi;
mod fit;
mod launch;
mod line;
mod plan;
mod rank;
mod samples;

use std::ffi::OsString;

pub use {
    fit::{Fit, Growth, Piece, fit},
    launch::{Choice, Launcher, Transport},
    line::Straight,
    rank::take_part,
    samples::{Quantity, Samples, Spread, Told},
};

use crate::{Effort, system};

/// What cannot be measured of a network.
#[derive(Debug, thiserror::Error)]
pub enum NetworkCalibrationError {
    /// There is no launcher.
    #[error(
        "no launcher of {of} was found; install one (Debian's packages are openmpi-bin and mpich), or name it with --launcher"
    )]
    NoLauncher {
        /// Of which implementation.
        of: &'static str,
    },
    /// There is no such launcher.
    #[error(
        "the launcher {name} was not found; name a program of PATH, or its whole path, with --launcher"
    )]
    NoSuchLauncher {
        /// Its name.
        name: String,
    },
    /// A rank finds no library of MPI.
    #[error("no library of MPI can be opened ({reason}); name it with --library")]
    NoLibrary {
        /// What the loader says.
        reason: String,
    },
    /// What was opened is none.
    #[error(
        "the library has no function {function}: it is no library of MPI; name another with --library"
    )]
    NotMpi {
        /// What it lacks.
        function: String,
    },
    /// A call failed.
    #[error("{call} failed with code {code}")]
    Call {
        /// The function.
        call: &'static str,
        /// What it returned.
        code: i32,
    },
    /// The launcher failed.
    #[error("the launcher `{command}` {reason}{}{said}", if said.is_empty() { "" } else { "; it said:\n" })]
    Launcher {
        /// Its command.
        command: String,
        /// How it ended.
        reason: String,
        /// What it said.
        said: String,
    },
    /// It cannot be measured so.
    #[error("{reason}")]
    Unmeasurable {
        /// Why, and what to do.
        reason: String,
    },
}

/// What the ranks of a run measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Messages of all sizes, between two ranks.
    Sizes,
    /// Small messages that are received from anybody, among ranks of which all but two are idle.
    Crowd,
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How often.
    pub effort: Effort,
    /// Over what.
    pub transport: Transport,
    /// With how many ranks small messages are measured, increasing: overheads that grow take two at least.
    pub ranks: Vec<u32>,
}

/// What was measured.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// What the library of MPI calls itself.
    pub implementation: String,
    /// The CPUs of the first two ranks.
    pub cpus: [u32; 2],
    /// Whether they share a core.
    pub share_core: bool,
    /// The computers of the first two ranks.
    pub hosts: [String; 2],
    /// The size of the largest message whose send does not wait for a receive; none where all were that were tried.
    pub eager_up_to: Option<u64>,
    /// The size of the largest message whose send does not even wait until the receiver is in some call of MPI; as much.
    pub unaided_up_to: Option<u64>,
    /// Messages of all sizes.
    pub sizes: Samples,
    /// Small messages among so many ranks, of each run.
    pub crowds: Vec<(u32, Samples)>,
    /// The CPU time that the ranks and launchers took, in nanoseconds.
    pub cpu_nanos: u64,
}

/// How often each number of ranks is started: memory lies elsewhere each time, and makes a difference.
fn repetitions(effort: Effort) -> usize {
    match effort {
        Effort::Least => 1,
        Effort::Brief | Effort::Usual => 3,
    }
}

/// Measures; `rank` makes the command that ranks are started with, which calls [`take_part`] and prints what is told.
/// `progress` is given which share of all is done.
///
/// # Errors
///
/// Where there is only one CPU, or the launcher or a rank fails.
pub fn measure(
    launcher: &Launcher,
    settings: &Settings,
    rank: impl Fn(&[String], Part) -> Vec<OsString>,
    mut progress: impl FnMut(f64),
) -> Result<Measured, NetworkCalibrationError> {
    let allowed = system::allowed_cpus().map_or(0, |cpus| cpus.len());
    if allowed < 2 && !launcher.may_leave {
        return Err(NetworkCalibrationError::Unmeasurable {
            reason: rank::ONE_CPU.to_owned(),
        });
    }
    let begun = system::children_cpu_nanos();
    let repetitions = repetitions(settings.effort);
    let mut measured = Measured::default();
    let crowds = if settings.ranks.len() > 1 {
        settings.ranks.as_slice()
    } else {
        &[]
    };
    // Sizes take longer than crowds.
    let all = 4 + crowds.len();
    for repetition in 0..repetitions {
        let mut done = |part: usize, share: f64| {
            let parts = (repetition * all + part) as f64 + share;
            progress(parts / (repetitions * all) as f64);
        };
        let before = [measured.eager_up_to, measured.unaided_up_to];
        let command = rank(&launcher.libraries, Part::Sizes);
        launcher.run(2, settings.transport, &command, |told| {
            if let Told::Progress(now, of) = told {
                done(0, 4.0 * f64::from(now) / f64::from(of.max(1)));
            }
            take(&mut measured, told);
        })?;
        if repetition > 0 {
            // A send may wait by chance, but is not over by chance: the largest size counts, and that there is none.
            let [eager, unaided] = before;
            measured.eager_up_to = larger(eager, measured.eager_up_to);
            measured.unaided_up_to = larger(unaided, measured.unaided_up_to);
        }
        let command = rank(&launcher.libraries, Part::Crowd);
        for (number, &ranks) in crowds.iter().enumerate() {
            let mut samples = Samples::default();
            launcher.run(ranks, settings.transport, &command, |told| {
                if let Told::Samples(quantity, bytes, values) = told {
                    samples.add(quantity, bytes, &values);
                }
            })?;
            measured.crowds.push((ranks, samples));
            done(4 + number, 1.0);
        }
    }
    measured.cpu_nanos = system::children_cpu_nanos().saturating_sub(begun);
    if measured.sizes.sizes(Quantity::RoundTrip).is_empty() {
        return Err(NetworkCalibrationError::Unmeasurable {
            reason: format!(
                "the ranks told nothing: `{}` does not hand on what they print",
                launcher.text()
            ),
        });
    }
    Ok(measured)
}

fn larger(before: Option<u64>, now: Option<u64>) -> Option<u64> {
    before.zip(now).map(|(before, now)| before.max(now))
}

fn take(measured: &mut Measured, told: Told) {
    match told {
        Told::Library(name) => measured.implementation = name,
        Told::Cpus(cpus, share_core) => {
            measured.cpus = cpus;
            measured.share_core = share_core;
        }
        Told::Hosts(hosts) => measured.hosts = hosts,
        Told::EagerUpTo(bytes) => measured.eager_up_to = bytes,
        Told::UnaidedUpTo(bytes) => measured.unaided_up_to = bytes,
        Told::Samples(quantity, bytes, values) => measured.sizes.add(quantity, bytes, &values),
        Told::Progress(..) | Told::Fault(_) | Told::Done => {}
    }
}
