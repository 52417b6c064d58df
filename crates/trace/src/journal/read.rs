//! Reads a directory of journals as one trace.

use std::path::{Path, PathBuf};

use super::JournalError;
use super::build::Builder;
use super::file::{self, Journal};
use super::layout;
use super::usage::{self, ProcessUsage};
use crate::{Nanos, Recording, ThreadClock, Trace};

/// Merges the journals of a directory, one a process, into one trace.
///
/// Threads are named `main`, `T1`, `T2` and so on in the first process, and `program-pid/main` and so on in others;
/// objects by kind and number, in the order of their first use. A call that a signal handler made while its thread
/// waited stands before that wait. A wait for a lock or semaphore that had not come back when the recording ended is
/// followed by a return that failed with `EINTR`; a wait for a condition, a barrier or a thread stands alone.
///
/// What is known only to whoever started the program (command, exit, times by the wall) is left empty in
/// [`Trace::recording`]; its `pretended_cpus` is 0 when the program was told the truth.
///
/// # Errors
///
/// When a file cannot be read, is of another version or not a journal at all, or when there is none. What is damaged
/// or missing within a journal is told by [`Trace::warnings`].
pub fn read_dir(dir: &Path) -> Result<Trace, JournalError> {
    read_dir_and_start(dir, None).map(|(trace, _)| trace)
}

/// As [`read_dir`]; also returns when the trace's time began, by `CLOCK_MONOTONIC`.
///
/// With `first`, the last thread of the process that it is of has what it took to take the process down, too.
///
/// # Errors
///
/// As [`read_dir`].
pub fn read_dir_and_start(
    dir: &Path,
    first: Option<ProcessUsage>,
) -> Result<(Trace, Nanos), JournalError> {
    let shown = dir.display().to_string();
    let paths = journal_paths(dir)?;
    let found = paths.len();
    let mut journals = Vec::new();
    for path in paths {
        journals.extend(file::read(&path)?);
    }
    let unfinished = found - journals.len();
    if journals.is_empty() {
        return Err(if found == 0 {
            JournalError::Empty { path: shown }
        } else {
            JournalError::Truncated { path: shown }
        });
    }
    journals.sort_by_key(|journal| (journal.start.tsc, journal.pid));
    usage::note_endings(&mut journals, first);
    usage::follow_programs(&mut journals);
    usage::end_killed(&mut journals);
    let (mut trace, recorder_cpu) = Builder::new(&journals, shown).build();
    if unfinished > 0 {
        trace.warnings.push(format!(
            "{unfinished} journals end within their headers: those processes are missing"
        ));
    }
    trace.recording = Some(Recording {
        recorder_cpu,
        ..recording(&journals, &trace)
    });
    let first = journals.iter().min_by_key(|journal| journal.start.tsc);
    let start = first.map_or(0, |journal| journal.start.monotonic_nanos);
    Ok((trace, Nanos(start)))
}

/// What recording costs, as a recorded process measured it when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordingCosts {
    /// The clock by which it recorded, one of the `CLOCK_` constants of [`layout`].
    pub clock: u32,
    /// A record, a lock and its unlock in one record, such a pair that is counted, and one that is counted where several mutexes take turns, each in
    /// sixteenths of a tick of the counter; 0 where that could not be told.
    pub sixteenths: [u64; 4],
}

/// Returns what recording cost the process that the first journal of a directory is of, by the files' names.
///
/// # Errors
///
/// As [`read_dir`].
pub fn read_costs(dir: &Path) -> Result<RecordingCosts, JournalError> {
    let path = dir.display().to_string();
    let first = journal_paths(dir)?.into_iter().next();
    let first = first.ok_or(JournalError::Empty { path: path.clone() })?;
    let journal = file::read(&first)?.ok_or(JournalError::Truncated { path })?;
    let costs = [
        journal.record_cost,
        journal.section_cost,
        journal.repetition_cost,
        journal.turn_cost,
    ];
    Ok(RecordingCosts {
        clock: journal.clock,
        sixteenths: costs.map(sixteenths),
    })
}

#[expect(
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation,
    reason = "it was such a number"
)]
fn sixteenths(ticks: f64) -> u64 {
    (16.0 * ticks) as u64
}

fn journal_paths(dir: &Path) -> Result<Vec<PathBuf>, JournalError> {
    let failed = |source| JournalError::Io {
        path: dir.display().to_string(),
        source,
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == layout::FILE_EXTENSION)
        {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn recording(journals: &[Journal], trace: &Trace) -> Recording {
    let clock = journals.iter().map(|journal| journal.clock).max();
    let first = trace.events.first().map_or(Nanos(0), |event| event.time);
    let last = trace.events.last().map_or(Nanos(0), |event| event.time);
    Recording {
        recorder_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_seconds: journals
            .first()
            .map_or(0, |journal| journal.start_unix_nanos / 1_000_000_000),
        pretended_cpus: journals.first().map_or(0, |journal| journal.pretended_cpus),
        clock: match clock {
            Some(layout::CLOCK_RSEQ) => ThreadClock::Rseq,
            Some(layout::CLOCK_COUNTER) => ThreadClock::Counter,
            _ => ThreadClock::SystemCall,
        },
        wall: last.since(first),
        lost_events: journals
            .iter()
            .map(|journal| journal.lost_events.saturating_add(journal.holes))
            .fold(0, u64::saturating_add),
        ..Recording::default()
    }
}
