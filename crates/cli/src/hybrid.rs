//! Ranks whose threads run on several CPUs each: the place that calls the crates which know threads for those that know ranks.

use anyhow::Context as _;
use foretrace_interchange::Messages;
use foretrace_messages::Reached;
use foretrace_trace::Trace;

use crate::{args::ModelArgs, core::Study};

/// Returns what the ranks of a recording do where each has so many CPUs for its threads; `None` where it has no ranks.
///
/// # Errors
///
/// Where some are missing, what they do contradicts itself, or the machine's file cannot be used.
pub fn on_cpus(trace: &Trace, cpus: u32, how: &ModelArgs) -> anyhow::Result<Option<Messages>> {
    if !foretrace_messages::has_ranks(trace) {
        return Ok(None);
    }
    let mut times = vec![None; trace.events.len()];
    let mut warnings = Vec::new();
    for mut team in foretrace_messages::teams(trace)? {
        let study = Study::new(&mut team.trace, how, false)?;
        let course = study.course(cpus, &|_, _| true)?;
        let (course, _) = course.context("nobody cancels it")?;
        for thread in 0..course.marks.lanes() {
            let marks = course.marks.lane(thread);
            for (time, &event) in marks.times.iter().zip(&marks.events) {
                times[team.events[event as usize] as usize] = Some(time.0);
            }
        }
        warnings.append(&mut team.trace.warnings);
    }
    let mut program = foretrace_messages::recorded_on(trace, &Reached { cpus, times })?;
    program.check()?;
    warnings.sort_unstable();
    warnings.dedup();
    program.warnings.append(&mut warnings);
    Ok(Some(Messages::Program(program)))
}
