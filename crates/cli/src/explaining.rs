//! What limits a predicted run and what would help, put together for whoever shows it: tables, JSON and the window.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::bail;
use foretrace_analysis::{
    Change, RankPlaces, Spots, path_shares, predicted_waits, worth_a_try, worth_a_try_of_ranks,
};
use foretrace_interchange::Messages;
use foretrace_messages::{Model, Noted};
use foretrace_schedule::{Schedule, SimTime};
use foretrace_trace::Trace;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::{
    core::Study,
    messages::{Replay, answered, shown},
    report::{
        self,
        explanation::{Explanation, Subject, Tried},
    },
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
    let after = |change: &Change| Some(study.after(change, &spots, &prediction)?.end);
    let tried = tried(&changes, &next, &after);
    let explanation = Explanation::new(
        trace,
        Subject::Threads {
            prediction: Box::new(prediction),
            most: most.map(Box::new),
        },
        course.schedule,
        (path, waits),
        tried,
    );
    Ok(go_on(of, of).then_some(explanation))
}

/// Tries changes, as long as `next` says so: those of which it can be said when the run then ends.
fn tried(
    changes: &[Change],
    next: &(dyn Fn() -> bool + Sync),
    after: &(dyn Fn(&Change) -> Option<SimTime> + Sync),
) -> Vec<Tried> {
    let tried = changes.par_iter().filter_map(|change| {
        let end = next().then(|| after(change));
        let change = change.clone();
        Some(Tried { change, end: end?? })
    });
    tried.collect()
}

/// Explains the run of ranks that pass messages, under a model or the first that comes to an end; with the recording that they come from, where
/// they do. `trace` is that of the recording, or an empty one. `go_on` is as that of [`explain`].
///
/// # Errors
///
/// Where the run comes to no end under any of the models.
pub fn explain_ranks<'t>(
    replay: &'t Replay,
    (trace, calls): (&'t Trace, Option<&'t [u32]>),
    model: Option<Model>,
    go_on: &(dyn Fn(usize, usize) -> bool + Sync),
) -> anyhow::Result<Option<Explanation<'t>>> {
    let Some(course) = replay.course(model, Noted::Everything, &|_, _| go_on(0, 1)) else {
        return Ok(None);
    };
    if answered(&course.attempts).is_none() {
        bail!("{}", report::messages::explain(&course.attempts));
    }
    let places = match &*replay.messages {
        Messages::Program(program) => {
            RankPlaces::of_program(program, calls.map(|calls| (trace, calls)))
        }
        Messages::Graph(graph) => RankPlaces::of_graph(graph),
    };
    let model = shown(&course.attempts);
    let course = places.with_receipts(course);
    let schedule = Schedule {
        wakes: course.causes,
        ..course.schedule
    };
    let path = path_shares(&places, &schedule, &course.marks);
    let waits = predicted_waits(&places, &schedule, &course.marks);
    let changes = worth_a_try_of_ranks(&schedule, &path);
    let (done, of) = (AtomicUsize::new(0), changes.len());
    let next = || go_on(done.fetch_add(1, Ordering::Relaxed), of);
    let after = |change: &Change| {
        let work = change.work_of_ranks(&places, &course.marks);
        replay.after(work, change.ease(), model)
    };
    let tried = tried(&changes, &next, &after);
    let subject = Subject::Ranks {
        replay,
        model: model.name(),
    };
    let explanation = Explanation::new(trace, subject, schedule, (path, waits), tried);
    Ok(go_on(of, of).then_some(explanation))
}
