//! What the window asks for: files opened, runs predicted, events and call sites explained.

mod events;
mod ranks;
mod saved;
mod traced;

use std::{fs, os::unix::fs::MetadataExt as _, path::Path, sync::Arc};

use foretrace_trace::Trace;
use foretrace_viewer::source::{Opener, Progress, ScheduleSource, WhatIf};

use crate::{
    args::{Model, ModelArgs, NetworkArgs, Scheduler, ViewArgs},
    core, failure, messages,
};

/// Opens traces and saved schedules.
#[derive(Default)]
pub struct Files {
    how: ModelArgs,
    cpus: Option<u32>,
    network: NetworkArgs,
}

impl Files {
    /// Opens them under the conditions of the command line.
    pub fn new(args: &ViewArgs) -> Self {
        Self {
            how: args.how.clone(),
            cpus: args.cpus,
            network: args.network.clone(),
        }
    }

    fn open_any(
        &self,
        path: &Path,
        progress: &Progress,
    ) -> anyhow::Result<Arc<dyn ScheduleSource>> {
        check_size(path)?;
        if let Some((schedule, details)) = core::read_schedule(path)? {
            let saved = saved::Saved::new(path, schedule, details, self);
            return Ok(Arc::new(saved));
        }
        if let Some((messages, recording)) = messages::load_with_recording(path)? {
            let ranks = ranks::Ranks::new(path, messages, recording, self);
            return Ok(Arc::new(ranks));
        }
        let trace = core::read_trace(path)?;
        progress.begin("finding out what the program is");
        Ok(Arc::new(traced::Traced::new(trace, &self.how, self.cpus)?))
    }
}

impl Opener for Files {
    fn open(&self, path: &Path, progress: &Progress) -> Result<Arc<dyn ScheduleSource>, String> {
        self.open_any(path, progress)
            .map_err(|error| failure::message(&error))
    }
}

/// A file takes about so many times its size in memory: the trace, the program, the predicted run and its index.
const TIMES_IN_MEMORY: u64 = 14;

/// Refuses files that are too large for memory: running out of it would end the window without a word.
fn check_size(path: &Path) -> anyhow::Result<()> {
    let (Ok(bytes), Some(free)) = (size(path), free_memory()) else {
        // What is not there is told when it is read.
        return Ok(());
    };
    let needed = bytes.saturating_mul(TIMES_IN_MEMORY);
    anyhow::ensure!(
        needed <= free,
        "{}: too large for this machine's memory: looking at it takes about {} GB, and {} GB are free; close other programs, \
         or look at it on a larger machine",
        path.display(),
        gigabytes(needed),
        gigabytes(free)
    );
    Ok(())
}

/// Returns the size of a file, or what is written of those in a directory.
fn size(path: &Path) -> std::io::Result<u64> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    let mut bytes = 0_u64;
    for entry in fs::read_dir(path)? {
        let metadata = entry?.metadata()?;
        bytes = bytes.saturating_add(metadata.blocks().saturating_mul(512));
    }
    Ok(bytes)
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e9)
}

/// Returns how much memory can still be had, where the system tells.
fn free_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// The models that can be chosen, by their names on the command line.
const MODELS: [(Model, &str); 5] = [
    (Model::Auto, "auto"),
    (Model::Pool, "pool"),
    (Model::Direct, "direct"),
    (Model::ClientServer, "client-server"),
    (Model::Strict, "strict"),
];

/// The schedulers, likewise.
const SCHEDULERS: [(Scheduler, &str); 3] = [
    (Scheduler::Priority, "priority"),
    (Scheduler::Fair, "fair"),
    (Scheduler::RoundRobin, "round-robin"),
];

/// Returns when a trace was recorded, in seconds since 1970, where it was.
fn recorded(trace: &Trace) -> Option<u64> {
    let recording = trace.recording.as_ref()?;
    Some(recording.started_unix_seconds).filter(|seconds| *seconds > 0)
}

/// Returns the conditions of the command line as the window has them.
fn what_if(how: &ModelArgs, cpus: u32) -> WhatIf {
    let model = MODELS.iter().find(|(model, _)| *model == how.model);
    let scheduler = how
        .scheduler
        .and_then(|asked| SCHEDULERS.iter().find(|(kind, _)| *kind == asked));
    WhatIf {
        cpus,
        model: model.map_or("auto", |(_, name)| name).to_owned(),
        scheduler: scheduler.map(|(_, name)| (*name).to_owned()),
        machine: how.machine.as_ref().map(|path| path.display().to_string()),
        ..WhatIf::default()
    }
}

/// Returns conditions of the window as the command line has them; what the window does not have stays as it was there.
fn model_args(what: &WhatIf, base: &ModelArgs) -> ModelArgs {
    let model = MODELS.iter().find(|(_, name)| *name == what.model);
    let scheduler = what.scheduler.as_deref();
    let scheduler = scheduler.and_then(|asked| SCHEDULERS.iter().find(|(_, name)| *name == asked));
    ModelArgs {
        model: model.map_or(Model::Auto, |(model, _)| *model),
        scheduler: scheduler.map(|(kind, _)| *kind),
        machine: what.machine.as_ref().map(Into::into),
        ..base.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_go_to_the_window_and_back() {
        for (model, _) in MODELS {
            for scheduler in SCHEDULERS
                .map(|(kind, _)| Some(kind))
                .into_iter()
                .chain([None])
            {
                let how = ModelArgs {
                    model,
                    scheduler,
                    machine: Some("here.toml".into()),
                    ..ModelArgs::default()
                };
                let what = what_if(&how, 3);
                assert_eq!(what.cpus, 3);
                let back = model_args(&what, &ModelArgs::default());
                assert_eq!(
                    (back.model, back.scheduler, back.machine),
                    (model, scheduler, how.machine)
                );
            }
        }
    }

    #[test]
    fn what_is_no_trace_is_an_error_that_names_it() {
        let directory = tempfile::tempdir().unwrap();
        let files = Files::default();
        let open = |name: &str, bytes: &[u8]| {
            let path = directory.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            files.open(&path, &Progress::default()).err().unwrap()
        };
        for (name, bytes, said) in [
            ("picture.png", &b"\x89PNG\r\n"[..], "a PNG image"),
            ("empty", b"", "is empty"),
            ("bad.fts", b"\x89FTSCHD\nxxxx", "bad.fts"),
            ("bad.txt", b"foretrace-text 1\n0 A nonsense\n", "nonsense"),
        ] {
            let error = open(name, bytes);
            assert!(error.contains(name) && error.contains(said), "{error}");
        }
        let gone = files.open(&directory.path().join("gone"), &Progress::default());
        assert!(gone.err().unwrap().contains("gone"));
    }

    #[test]
    fn a_file_too_large_for_memory_is_refused_before_it_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("large.ftrace");
        // It takes no room on the disk: nothing was written but its end.
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(1 << 42).unwrap();
        let files = Files::default();
        let error = files.open(&path, &Progress::default()).err().unwrap();
        assert!(error.contains("large.ftrace: too large"), "{error}");
        assert!(error.contains("takes about 61572.7 GB"), "{error}");
        // Of a journal, a directory, counts what was written of its files, not what they have room for.
        assert!(size(directory.path()).unwrap() < 1 << 20);
        std::fs::write(directory.path().join("small"), [7; 5000]).unwrap();
        assert!(size(directory.path()).unwrap() >= 5000);
    }

    #[test]
    fn a_trace_is_predicted_from_after_its_file_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.txt");
        let text = "foretrace-text 1\nprocess A\nprocess B\n0 A create B\n5 B terminate\n9 A join B\n10 A terminate\n";
        std::fs::write(&path, text).unwrap();
        let files = Files {
            cpus: Some(2),
            ..Files::default()
        };
        let progress = Progress::default();
        let open = files.open(&path, &progress).unwrap();
        std::fs::remove_file(&path).unwrap();
        for cpus in 1..4 {
            let what = WhatIf {
                cpus,
                ..open.about().first.clone()
            };
            let shown = open.predict(&what, &progress).unwrap();
            assert_eq!(shown.schedule.cpus, cpus);
        }
        assert!(open.event(0).is_some());
        let again = files.open(&path, &progress).err().unwrap();
        assert!(again.contains("a.txt"), "{again}");
    }

    #[test]
    fn the_system_tells_how_much_memory_is_free() {
        assert!(free_memory().is_some_and(|bytes| bytes > 1 << 20));
    }
}
