//! A series: traces of one program, each recorded for another number of CPUs. Programs that divide their work by the
//! number of their threads do something else on each.
//!
//! ```json
//! {
//!   "foretrace_series": 1,
//!   "runs": [
//!     { "cpus": 1, "trace": "prog.cpus-1.ftrace" },
//!     { "cpus": 2, "trace": "prog.cpus-2.ftrace" }
//!   ]
//! }
//! ```
//!
//! The traces' paths are relative to the directory of the file.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use foretrace_trace::Trace;
use serde::{Deserialize, Serialize};

use crate::core;

/// The version of the file's format.
const VERSION: u32 = 1;

/// A series is a small file; what is larger is something else.
const MOST_BYTES: u64 = 1 << 20;

/// The list of the traces.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    foretrace_series: u32,
    /// The recordings, by increasing numbers of CPUs.
    pub runs: Vec<Run>,
}

/// One recording.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The number of CPUs that the program believed in.
    pub cpus: u32,
    /// The trace's path, relative to the directory of the series.
    pub trace: PathBuf,
}

impl Series {
    /// Makes one without recordings.
    pub fn new() -> Self {
        Self {
            foretrace_series: VERSION,
            runs: Vec::new(),
        }
    }

    /// Returns where the trace for so many CPUs lies that belongs to the series in a file.
    pub fn trace_path(file: &Path, cpus: u32) -> PathBuf {
        let mut name = file.file_stem().unwrap_or_default().to_owned();
        name.push(format!(".cpus-{cpus}.ftrace"));
        file.with_file_name(name)
    }

    /// Adds the trace that [`Series::trace_path`] names.
    pub fn add(&mut self, file: &Path, cpus: u32) {
        let path = Self::trace_path(file, cpus);
        let trace = path.file_name().map(PathBuf::from).unwrap_or_default();
        self.runs.push(Run { cpus, trace });
    }

    /// Puts the file in place, whole or not at all.
    pub fn save(&self, file: &Path) -> anyhow::Result<()> {
        let context = || format!("cannot write {}", file.display());
        let directory = match file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut text = serde_json::to_vec_pretty(self).with_context(context)?;
        text.push(b'\n');
        let mut beside = tempfile::NamedTempFile::new_in(directory).with_context(context)?;
        io::Write::write_all(&mut beside, &text).with_context(context)?;
        make_readable(beside.path()).with_context(context)?;
        beside.persist(file).with_context(context)?;
        Ok(())
    }

    /// Reads a series; `None` where the file is something else.
    pub fn load(file: &Path) -> anyhow::Result<Option<Self>> {
        let Some(text) = text_of(file)? else {
            return Ok(None);
        };
        let shown = file.display();
        let value: serde_json::Value =
            serde_json::from_str(&text).with_context(|| format!("{shown}: a damaged series"))?;
        let version = &value["foretrace_series"];
        anyhow::ensure!(
            *version == VERSION,
            "{shown}: a series of version {version}, and this foretrace reads version {VERSION}; use the foretrace that \
             recorded it"
        );
        let series: Self = serde_json::from_value(value)
            .with_context(|| format!("{shown}: a damaged series; record it again"))?;
        anyhow::ensure!(
            !series.runs.is_empty(),
            "{shown}: a series without a trace; record it again"
        );
        anyhow::ensure!(
            series.runs.is_sorted_by(|a, b| a.cpus < b.cpus) && series.runs[0].cpus > 0,
            "{shown}: the numbers of CPUs of a series increase, from 1 at least; put them in order"
        );
        Ok(Some(series))
    }
}

impl Run {
    /// Reads the trace of the run, which is one of the series in a file.
    pub fn read(&self, file: &Path) -> anyhow::Result<Trace> {
        let path = file.with_file_name("").join(&self.trace);
        core::read_trace(&path).with_context(|| {
            format!(
                "{}: the trace for {} CPUs cannot be read; put it back beside the series, or record the series again",
                file.display(),
                self.cpus
            )
        })
    }
}

/// Returns a file's text where it may be a series.
fn text_of(file: &Path) -> anyhow::Result<Option<String>> {
    if !fs::metadata(file).is_ok_and(|metadata| metadata.is_file() && metadata.len() < MOST_BYTES) {
        return Ok(None);
    }
    let context = || format!("cannot read {}", file.display());
    let mut bytes = Vec::new();
    let mut opened = File::open(file).with_context(context)?;
    opened.read_to_end(&mut bytes).with_context(context)?;
    let text = String::from_utf8(bytes).ok();
    Ok(text.filter(|text| {
        let start = text.trim_start();
        start.starts_with('{') && start.contains("\"foretrace_series\"")
    }))
}

/// Gives a temporary file, which is private, the rights of an ordinary one.
fn make_readable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_read_as_it_was_written() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let file = home.path().join("prog.ftseries");
        let mut series = Series::new();
        series.add(&file, 1);
        series.add(&file, 8);
        series.save(&file).expect("it can be written");
        assert_eq!(Series::load(&file).expect("it is whole"), Some(series));
        let path = Series::trace_path(&file, 8);
        assert_eq!(path, home.path().join("prog.cpus-8.ftrace"));
    }

    #[test]
    fn what_is_no_series_or_a_damaged_one_is_told() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let file = home.path().join("file");
        for text in ["", "foretrace-text 1\n", "{}"] {
            fs::write(&file, text).expect("it is ours");
            assert_eq!(Series::load(&file).expect("nothing to read"), None);
        }
        for (text, problem) in [
            (r#"{"foretrace_series": 2}"#, "a series of version 2"),
            (r#"{"foretrace_series": 1, "runs": ["#, "a damaged series"),
            (r#"{"foretrace_series": 1, "runs": []}"#, "without a trace"),
            (
                r#"{"foretrace_series": 1, "runs": [{"cpus": 0, "trace": "a"}]}"#,
                "from 1 at least",
            ),
        ] {
            fs::write(&file, text).expect("it is ours");
            let error = Series::load(&file).expect_err("it is damaged");
            assert!(format!("{error:#}").contains(problem), "{error:#}");
        }
    }
}
