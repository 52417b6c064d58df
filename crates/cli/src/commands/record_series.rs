//! `foretrace record --each`: one recording for each number of CPUs.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::Path,
};

use foretrace_trace::ExitStatus;

use super::record::{Plan, default_output, record, summarize};
use crate::{
    args::{CpuList, RecordArgs},
    failure::Finish,
    output,
    series::Series,
};

/// What stands for the number of CPUs in the program's arguments.
const PLACE: &[u8] = b"{cpus}";

/// Records the series. It ends as the first recording did whose program failed; where a signal ended it, no further
/// recordings are made.
pub fn run(args: &RecordArgs, each: &CpuList) -> anyhow::Result<Finish> {
    let file = args
        .output
        .clone()
        .unwrap_or_else(|| default_output(&args.command, "ftseries"));
    check_files(&file, each, args.force)?;
    let has_place = |word: &OsString| {
        word.as_bytes()
            .windows(PLACE.len())
            .any(|part| part == PLACE)
    };
    if !args.quiet && !args.command.iter().any(has_place) {
        output::note(
            "foretrace: the command does not hold {cpus}: it is the same each time, and differs only where the program \
             asks how many CPUs there are",
        );
    }
    let mut series = Series::new();
    let mut finish = ExitStatus::Code(0);
    for &cpus in &each.0 {
        let path = Series::trace_path(&file, cpus);
        let words = args.command.iter().map(|word| put_in(word, cpus));
        let command: Vec<OsString> = words.collect();
        let recorded = record(&Plan {
            command: &command,
            output: &path,
            pretended_cpus: Some(cpus),
            ..Plan::of(args)
        })?;
        if !args.quiet {
            summarize(&recorded, &path);
        }
        // Written each time: what was recorded is worth keeping where a later recording fails.
        series.add(&file, cpus);
        series.save(&file)?;
        if finish == ExitStatus::Code(0) {
            finish = recorded.exit;
        }
        if let ExitStatus::Signal(_) = recorded.exit {
            break;
        }
    }
    if !args.quiet {
        output::note(format_args!(
            "foretrace: a series of {} recordings: {}",
            series.runs.len(),
            file.display()
        ));
    }
    Ok(Finish::AsProgram(finish))
}

/// Checks all files before the first recording, which may take long.
fn check_files(file: &Path, each: &CpuList, force: bool) -> anyhow::Result<()> {
    output::check_new_file(file, force)?;
    each.0
        .iter()
        .try_for_each(|&cpus| output::check_new_file(&Series::trace_path(file, cpus), force))
}

/// Puts the number into a word of the command, wherever it has a place.
fn put_in(word: &OsStr, cpus: u32) -> OsString {
    let mut rest = word.as_bytes();
    let mut done = Vec::new();
    while let Some(at) = rest.windows(PLACE.len()).position(|part| part == PLACE) {
        done.extend_from_slice(&rest[..at]);
        done.extend_from_slice(cpus.to_string().as_bytes());
        rest = &rest[at + PLACE.len()..];
    }
    done.extend_from_slice(rest);
    OsString::from_vec(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_put_wherever_it_has_a_place() {
        let put = |word: &str| put_in(OsStr::new(word), 12);
        assert_eq!(put("-t{cpus}"), "-t12");
        assert_eq!(put("{cpus}x{cpus}"), "12x12");
        assert_eq!(put("{cpu}"), "{cpu}");
        assert_eq!(put(""), "");
    }
}
