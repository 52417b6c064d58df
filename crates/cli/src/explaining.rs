//! What limits a predicted run and what would help, put together for whoever shows it: tables, JSON and the window.

use std::sync::atomic::{AtomicUsize, Ordering};

use foretrace_analysis::{Spots, path_shares, predicted_waits, worth_a_try};
use foretrace_schedule::SimTime;
use foretrace_trace::Trace;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::{
    core::Study,
    report::explanation::{Explanation, Tried},
};

/// Explains the run on a number of CPUs; `one_cpu` is what speed-ups refer to. `go_on` is called now and then with how many predictions
/// are made and how many there will be; `None` where it said that the rest is not wanted.
///
/// # Errors
///
/// Where the machine that was described cannot have so many CPUs.
pub fn explain<'t>(
    study: &Study,
    trace: &'t Trace,
    (cpus, one_cpu): (u32, SimTime),
    go_on: &(dyn Fn(usize, usize) -> bool + Sync),
) -> anyhow::Result<Option<Explanation<'t>>> {
    let prediction = study.answer(cpus, one_cpu)?;
    let course = study.course_of(&prediction)?;
    let spots = Spots::of(trace);
    let path = path_shares(&spots, &course.schedule, &course.marks);
    let waits = predicted_waits(&spots, &course.schedule, &course.marks);
    let changes = match prediction.answered() {
        Some(_) => worth_a_try(&course.schedule, &path, &waits),
        None => Vec::new(),
    };
    let (done, of) = (AtomicUsize::new(0), changes.len() + 1);
    let next = || go_on(done.fetch_add(1, Ordering::Relaxed), of);
    let threads = study.threads_on(cpus);
    if !next() {
        return Ok(None);
    }
    // A machine that is described may not have so many.
    let most = (threads > cpus)
        .then(|| study.answer(threads, one_cpu).ok())
        .flatten();
    let tried = changes.par_iter().filter_map(|change| {
        let run = next().then(|| study.after(change, &spots, &prediction));
        let change = change.clone();
        Some(Tried { change, run: run?? })
    });
    let tried: Vec<Tried> = tried.collect();
    let explanation = Explanation::new(
        trace,
        (prediction, most),
        course.schedule,
        (path, waits),
        tried,
    );
    Ok(go_on(of, of).then_some(explanation))
}
