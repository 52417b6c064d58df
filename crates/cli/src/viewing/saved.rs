//! A saved schedule in the window, with its trace where that is still there.

use std::path::Path;

use foretrace_schedule::{Marks, Schedule};
use foretrace_viewer::source::{
    About, Curve, EventInfo, Prediction, Progress, ScheduleSource, SiteInfo, WhatIf,
};

use super::{traced::Traced, what_if};
use crate::{args::ModelArgs, core};

/// An open schedule.
pub struct Saved {
    about: About,
    schedule: Schedule,
    trace: Option<Traced>,
}

impl Saved {
    /// Takes a schedule, and looks for its trace.
    pub fn new(path: &Path, schedule: Schedule, how: &ModelArgs) -> Self {
        let saved = WhatIf {
            cpus: schedule.cpus,
            model: schedule.model.clone(),
            ..what_if(&ModelArgs::default(), schedule.cpus)
        };
        let trace = core::read_trace(Path::new(&schedule.source));
        let trace = trace.and_then(|trace| Traced::new(trace, how, Some(schedule.cpus)));
        // Another trace of that name may have come since: threads and objects must be the same.
        let trace = trace
            .ok()
            .filter(|trace| is_of(&schedule, trace.events().trace()));
        let mut about = trace
            .as_ref()
            .map_or_else(About::default, |trace| trace.about().clone());
        about.path = path.display().to_string();
        about.threads = schedule.lanes.len();
        about.can_predict = trace.is_some();
        if trace.is_none() {
            about.summary = format!("a schedule predicted from {}", schedule.source);
            about.models = vec![saved.model.clone()];
            about.warnings.push(format!(
                "{} is not there any more, or another one: events and call sites are not known, and nothing can be predicted \
                 anew",
                schedule.source
            ));
        }
        about.first = saved;
        Self {
            about,
            schedule,
            trace,
        }
    }
}

/// Returns whether a schedule can have been predicted from a trace.
fn is_of(schedule: &Schedule, trace: &foretrace_trace::Trace) -> bool {
    let threads = trace.threads.iter().map(|thread| &thread.name);
    let objects = trace.objects.iter().map(|object| &object.name);
    threads.eq(schedule.lanes.iter().map(|lane| &lane.name))
        && objects.eq(schedule.objects.iter().map(|object| &object.name))
}

impl ScheduleSource for Saved {
    fn about(&self) -> &About {
        &self.about
    }

    fn predict(&self, what: &WhatIf, progress: &Progress) -> Result<Prediction, String> {
        let anew = self
            .trace
            .as_ref()
            .map(|trace| trace.predict(what, progress));
        if *what != self.about.first {
            return anew.unwrap_or_else(|| Err("the schedule's trace is not there".to_owned()));
        }
        // Its operations are not in the file; where the same run can be predicted again, they are those of that.
        let again = anew
            .and_then(Result::ok)
            .filter(|again| again.schedule == self.schedule);
        Ok(again.unwrap_or_else(|| Prediction {
            schedule: self.schedule.clone(),
            marks: Marks::default(),
            failed: Vec::new(),
            one_cpu: None,
            machine: "as saved".to_owned(),
        }))
    }

    fn curve(
        &self,
        what: &WhatIf,
        cpus: &[u32],
        progress: &Progress,
    ) -> Result<Vec<Curve>, String> {
        match &self.trace {
            Some(trace) => trace.curve(what, cpus, progress),
            None => Ok(Vec::new()),
        }
    }

    fn event(&self, event: u32) -> Option<EventInfo> {
        self.trace.as_ref()?.event(event)
    }

    fn site(&self, site: u32) -> SiteInfo {
        self.trace
            .as_ref()
            .map_or_else(SiteInfo::default, |trace| trace.site(site))
    }

    fn routine(&self, lane: usize) -> Option<String> {
        self.trace.as_ref()?.routine(lane)
    }

    fn check_machine(&self, file: &Path) -> Result<(), String> {
        core::read_machine(Some(file))
            .map(|_| ())
            .map_err(|error| crate::failure::message(&error))
    }
}

#[cfg(test)]
mod tests {
    use foretrace_schedule::{Lane, Outcome, SimTime};

    use super::*;

    #[test]
    fn a_schedule_without_its_trace_is_shown_as_it_is() {
        let schedule = Schedule {
            source: "/nowhere/prog.ftrace".to_owned(),
            model: "direct".to_owned(),
            cpus: 3,
            end: SimTime(0),
            outcome: Outcome::Completed,
            processes: vec!["prog".to_owned()],
            lanes: vec![Lane::default()],
            objects: Vec::new(),
            wakes: Vec::new(),
        };
        let saved = Saved::new(
            Path::new("x.ftsched"),
            schedule.clone(),
            &ModelArgs::default(),
        );
        assert!(!saved.about().can_predict && saved.about().warnings[0].contains("/nowhere"));
        let progress = Progress::default();
        let shown = saved.predict(&saved.about().first, &progress).unwrap();
        assert_eq!(shown.schedule, schedule);
        let other = WhatIf {
            cpus: 4,
            ..saved.about().first.clone()
        };
        assert!(saved.predict(&other, &progress).is_err());
        assert_eq!(saved.event(0), None);
    }
}
