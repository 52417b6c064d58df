//! A saved schedule in the window, with what it was predicted from where that is still there.

use std::path::Path;

use foretrace_schedule::{Details, Schedule};
use foretrace_viewer::source::{
    About, Curve, EventInfo, Prediction, Progress, ScheduleSource, SiteInfo, WhatIf,
};

use super::{Files, ranks::Ranks, traced::Traced, what_if};
use crate::{args::ModelArgs, core, details, messages};

/// An open schedule.
pub struct Saved {
    about: About,
    schedule: Schedule,
    details: Details,
    /// What other predictions are made from.
    origin: Option<Box<dyn ScheduleSource>>,
}

impl Saved {
    /// Takes a schedule with what is known of its operations, and looks for what it was predicted from.
    pub fn new(path: &Path, mut schedule: Schedule, mut details: Details, files: &Files) -> Self {
        let saved = WhatIf {
            cpus: schedule.cpus,
            model: schedule.model.clone(),
            network: schedule
                .network
                .as_ref()
                .map(|network| network.path.clone()),
            ..what_if(&ModelArgs::default(), schedule.cpus)
        };
        let origin = origin(&schedule, files);
        let mut about = origin
            .as_ref()
            .map_or_else(About::default, |origin| origin.about().clone());
        about.path = path.display().to_string();
        about.threads = schedule.lanes.len();
        about.can_predict = origin.is_some();
        if origin.is_none() {
            about.summary = format!("a schedule predicted from {}", schedule.source);
            about.models = vec![saved.model.clone()];
            if details.is_empty() {
                // Numbers of events mean nothing without what they were of.
                for segment in schedule
                    .lanes
                    .iter_mut()
                    .flat_map(|lane| &mut lane.segments)
                {
                    segment.event = None;
                }
                details = details::of_messages(&schedule);
            }
            let unknown = if details.sites.is_empty() {
                "call sites are not known, and "
            } else {
                ""
            };
            about.warnings.push(format!(
                "{} is no trace, not there any more, or another one than it was: {unknown}nothing can be predicted anew",
                schedule.source
            ));
        }
        about.first = saved;
        Self {
            about,
            schedule,
            details,
            origin,
        }
    }
}

/// Returns what a schedule was predicted from, where it is there and still the same.
fn origin(schedule: &Schedule, files: &Files) -> Option<Box<dyn ScheduleSource>> {
    let path = Path::new(&schedule.source);
    if let Some((messages, recording)) = messages::load_with_recording(path).ok()? {
        let ranks = Ranks::new(path, messages, recording, files);
        let is_same = ranks.lanes() as usize == schedule.lanes.len();
        return is_same.then(|| Box::new(ranks) as _);
    }
    let trace = core::read_trace(path).ok()?;
    let traced = Traced::new(trace, &files.how, Some(schedule.cpus)).ok()?;
    // Another trace of that name may have come since: threads and objects must be the same.
    let is_same = is_of(schedule, traced.events().trace());
    is_same.then(|| Box::new(traced) as _)
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
        // What an older foretrace saved names no network, and is shown until one is chosen.
        let is_saved = *what == self.about.first;
        let can_repeat =
            !is_saved || !self.about.passes_messages() || self.about.first.network.is_some();
        let anew = self.origin.as_ref().filter(|_| can_repeat);
        let anew = anew.map(|origin| origin.predict(what, progress));
        if !is_saved {
            return anew.unwrap_or_else(|| Err("the schedule's trace is not there".to_owned()));
        }
        // Where the same run can be predicted again, more is known of that: what else was tried, and one CPU.
        let again = anew
            .and_then(Result::ok)
            .filter(|again| again.schedule == self.schedule);
        Ok(again.unwrap_or_else(|| Prediction {
            schedule: self.schedule.clone(),
            marks: self.details.marks.clone(),
            failed: Vec::new(),
            one_cpu: None,
            machine: "as saved".to_owned(),
            warnings: Vec::new(),
        }))
    }

    fn curve(
        &self,
        what: &WhatIf,
        cpus: &[u32],
        progress: &Progress,
    ) -> Result<Vec<Curve>, String> {
        match &self.origin {
            Some(origin) => origin.curve(what, cpus, progress),
            None => Ok(Vec::new()),
        }
    }

    fn event(&self, event: u32) -> Option<EventInfo> {
        if let Some(origin) = &self.origin {
            return origin.event(event);
        }
        let event = self.details.events.get(event as usize)?;
        Some(EventInfo {
            operation: self.details.names.get(event.name as usize)?.clone().into(),
            class: event.class,
            lane: event.lane,
            object: event.object,
            other: event.other,
            about: None,
            recorded_nanos: Some(event.recorded_nanos),
            site: event.site,
        })
    }

    fn site(&self, site: u32) -> SiteInfo {
        if let Some(origin) = &self.origin {
            return origin.site(site);
        }
        let site = self.details.sites.get(site as usize);
        site.cloned().unwrap_or_default()
    }

    fn routine(&self, lane: usize) -> Option<String> {
        match &self.origin {
            Some(origin) => origin.routine(lane),
            None => self.details.routines.get(lane)?.clone(),
        }
    }

    fn check_file(&self, file: &Path) -> Result<(), String> {
        match &self.origin {
            Some(origin) => origin.check_file(file),
            None => Err("the schedule's trace is not there".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use foretrace_schedule::{EventClass, Lane, Outcome, SimTime, Wake};

    use super::*;
    use crate::core::Study;

    fn saved(schedule: Schedule, details: Details) -> Saved {
        Saved::new(Path::new("x.ftsched"), schedule, details, &Files::default())
    }

    #[test]
    fn a_schedule_without_its_trace_is_shown_as_it_is() {
        let schedule = Schedule {
            source: "/nowhere/prog.ftrace".to_owned(),
            model: "direct".to_owned(),
            cpus: 3,
            network: None,
            end: SimTime(20),
            outcome: Outcome::Completed,
            processes: vec!["prog".to_owned()],
            lanes: vec![Lane::default(), Lane::default()],
            objects: Vec::new(),
            wakes: vec![Wake::message(1, SimTime(5), 0, SimTime(9))],
        };
        let saved = saved(schedule.clone(), Details::default());
        assert!(!saved.about().can_predict && saved.about().warnings[0].contains("/nowhere"));
        let progress = Progress::default();
        let shown = saved.predict(&saved.about().first, &progress).unwrap();
        assert_eq!(shown.schedule, schedule);
        let other = WhatIf {
            cpus: 4,
            ..saved.about().first.clone()
        };
        assert!(saved.predict(&other, &progress).is_err());
        // Of messages it is known what was done.
        assert_eq!(shown.marks.lane(1).times, [SimTime(5)]);
        assert_eq!(shown.marks.lane(0).times, [SimTime(9)]);
        let sent = saved.event(0).unwrap();
        assert_eq!((sent.operation.as_ref(), sent.other), ("send", Some(0)));
        assert_eq!(sent.class, EventClass::Message);
        assert_eq!(saved.event(2), None);
    }

    #[test]
    fn a_saved_prediction_of_ranks_names_its_network() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pair.goal");
        let text = "num_ranks 2\nrank 0 {\nl1: send 8b to 1\n}\nrank 1 {\nl1: recv 8b from 0\n}\n";
        std::fs::write(&file, text).unwrap();
        let (messages, _) = messages::load_with_recording(&file).unwrap().unwrap();
        let ranks = Ranks::new(&file, messages, None, &Files::default());
        let what = WhatIf {
            network: Some("infiniband".to_owned()),
            ..ranks.about().first.clone()
        };
        let progress = Progress::default();
        let predicted = ranks.predict(&what, &progress).unwrap().schedule;
        let saved = saved(predicted.clone(), Details::default());
        assert_eq!(saved.about().first.network, what.network);
        let shown = saved.predict(&saved.about().first, &progress).unwrap();
        assert_eq!(shown.schedule, predicted);
        let other = WhatIf {
            network: Some("gigabit-ethernet".to_owned()),
            ..saved.about().first.clone()
        };
        let slower = saved.predict(&other, &progress).unwrap().schedule;
        assert!(slower.end > predicted.end);
    }

    #[test]
    fn a_saved_prediction_tells_of_its_operations_without_its_trace() {
        let text = "foretrace-text 1\nprocess A\nprocess B\n0 A create B\n1 A lock m\n5 A unlock m\n6 B lock m\n9 B unlock m\n\
                    9 B terminate\n9 A join B\n10 A terminate\n";
        let mut trace = foretrace_trace::text::parse(text, "/nowhere/prog.txt").unwrap();
        let study = Study::new(&mut trace, &ModelArgs::default(), false).unwrap();
        let prediction = study.predict(&[2], None, || ()).unwrap().remove(0);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("saved.fts");
        study.save(&prediction, &trace, &path).unwrap();
        let (schedule, details) = core::read_schedule(&path).unwrap().unwrap();
        assert_eq!(schedule, study.schedule(&prediction).unwrap());
        let saved = saved(schedule, details);
        let shown = saved
            .predict(&saved.about().first, &Progress::default())
            .unwrap();
        let names = |lane: usize| {
            let events = shown.marks.lane(lane).events.iter();
            let names = events.map(|event| saved.event(*event).unwrap().operation);
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(1), ["lock", "unlock", "terminate"]);
        let lock = saved.event(shown.marks.lane(1).events[0]).unwrap();
        let object = lock.object.unwrap() as usize;
        assert_eq!(shown.schedule.objects[object].name, "m");
    }
}
