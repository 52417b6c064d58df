//! A trace in the window: any number of predictions from it.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::bail;
use foretrace_schedule::SimTime;
use foretrace_sim::ModelKind;
use foretrace_trace::Trace;
use foretrace_viewer::source::{
    About, Advice, CANCELLED, Curve, EventInfo, Prediction, Progress, ScheduleSource, SiteInfo,
    WhatIf,
};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::{MODELS, SCHEDULERS, events::Events, model_args, recorded, what_if};
use crate::{
    args::ModelArgs,
    commands::default_cpus,
    core::{self, Study},
    explaining::explain,
    failure, output,
    report::machine,
};

/// An open trace.
pub struct Traced {
    about: About,
    study: Study,
    how: ModelArgs,
    events: Events,
    /// Makespans on one CPU, by conditions: speed-ups refer to them.
    one_cpu: Mutex<BTreeMap<String, SimTime>>,
}

impl Traced {
    /// Finds out what a trace's program is.
    ///
    /// # Errors
    ///
    /// As [`Study::new`].
    pub fn new(mut trace: Trace, how: &ModelArgs, cpus: Option<u32>) -> anyhow::Result<Self> {
        let study = Study::by_any_model(&mut trace, how)?;
        let cpus = cpus
            .or(study.described_cpus())
            .unwrap_or_else(|| default_cpus(&trace));
        let pool = |name: &&str| study.has_pools() || *name != "pool";
        let about = About {
            path: trace.source.clone(),
            summary: summary(&trace),
            first: what_if(how, cpus),
            models: MODELS
                .iter()
                .map(|(_, name)| *name)
                .filter(pool)
                .map(Into::into)
                .collect(),
            schedulers: SCHEDULERS
                .iter()
                .map(|(_, name)| (*name).to_owned())
                .collect(),
            can_predict: true,
            warnings: trace.warnings.clone(),
            threads: trace.threads.len(),
            recorded_unix_seconds: recorded(&trace),
            networks: Vec::new(),
        };
        Ok(Self {
            about,
            study,
            how: how.clone(),
            events: Events::new(trace),
            one_cpu: Mutex::default(),
        })
    }

    /// Returns the events.
    pub fn events(&self) -> &Events {
        &self.events
    }

    fn predict_any(&self, what: &WhatIf, progress: &Progress) -> anyhow::Result<Prediction> {
        let study = self.study.under(&model_args(what, &self.how), false)?;
        let course = study.course(what.cpus, &|done, of| progress.tell(done, of))?;
        let Some((course, machine)) = course else {
            bail!(CANCELLED);
        };
        let one_cpu = self.one_cpu(&study, what, progress)?;
        Ok(Prediction {
            schedule: course.schedule,
            marks: course.marks,
            failed: course
                .failed
                .iter()
                .map(|model| model.name().to_owned())
                .collect(),
            one_cpu: Some(one_cpu),
            machine: machine::brief_text(&machine),
            warnings: Vec::new(),
        })
    }

    /// Returns the makespan on one CPU: what is known already, or what a run gives that can be cancelled like any other.
    fn one_cpu(
        &self,
        study: &Study,
        what: &WhatIf,
        progress: &Progress,
    ) -> anyhow::Result<SimTime> {
        // What the machine's file says now, since it may have been changed.
        let machine = what.machine.as_ref().map(std::fs::read);
        let machine = machine.and_then(Result::ok);
        let key = format!("{machine:?} {:?} {}", what.scheduler, what.model);
        let known = || self.one_cpu.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(time) = known().get(&key).copied() {
            return Ok(time);
        }
        progress.begin("predicting one CPU");
        let time = study.one_cpu_while(&|done, of| progress.tell(done, of))?;
        let Some(time) = time else {
            bail!(CANCELLED);
        };
        known().insert(key, time);
        Ok(time)
    }

    fn advice_any(&self, what: &WhatIf, progress: &Progress) -> anyhow::Result<Vec<Advice>> {
        let study = self.study.under(&model_args(what, &self.how), false)?;
        let one_cpu = self.one_cpu(&study, what, progress)?;
        progress.begin("trying changes");
        let of = (what.cpus, one_cpu);
        let explanation = explain(&study, self.events.trace(), of, &|done, of| {
            progress.tell(done, of)
        })?;
        let Some(explanation) = explanation else {
            bail!(CANCELLED);
        };
        Ok(explanation.advice())
    }

    fn curve_any(
        &self,
        what: &WhatIf,
        cpus: &[u32],
        progress: &Progress,
    ) -> anyhow::Result<Vec<Curve>> {
        let study = self.study.under(&model_args(what, &self.how), true)?;
        let one_cpu = self.one_cpu(&study, what, progress)?;
        progress.begin("predicting");
        let done = AtomicUsize::new(0);
        let predictions: anyhow::Result<Vec<core::Prediction>> = cpus
            .par_iter()
            .map(|&count| {
                if progress.is_cancelled() {
                    bail!(CANCELLED);
                }
                let prediction = study.predict_one(count, None, one_cpu)?;
                progress.tell(done.fetch_add(1, Ordering::Relaxed) + 1, cpus.len());
                Ok(prediction)
            })
            .collect();
        Ok(curves(&predictions?))
    }
}

/// Returns a curve for each model, where it does not end in a deadlock.
fn curves(predictions: &[core::Prediction]) -> Vec<Curve> {
    let models = predictions
        .first()
        .map_or(&[][..], |first| &first.result.attempts);
    let models: Vec<ModelKind> = models.iter().map(|attempt| attempt.model).collect();
    let points = |model: ModelKind| {
        let points = predictions.iter().filter_map(move |prediction| {
            let attempt = prediction
                .result
                .attempts
                .iter()
                .find(|attempt| attempt.model == model)?;
            let run = Some(&attempt.run).filter(|run| run.is_complete())?;
            Some((prediction.cpus(), run.end, prediction.speedup(run)))
        });
        points.collect()
    };
    models
        .into_iter()
        .map(|model| Curve {
            model: model.name().to_owned(),
            points: points(model),
        })
        .collect()
}

fn summary(trace: &Trace) -> String {
    let command = trace
        .recording
        .as_ref()
        .map(|recording| recording.command.join(" "));
    let counts = format!(
        "{} of {}, {}",
        output::counted(trace.events.len(), "event"),
        output::counted(trace.threads.len(), "thread"),
        output::counted(trace.objects.len(), "object")
    );
    match command {
        Some(command) => format!("{command}: {counts}"),
        None => counts,
    }
}

impl ScheduleSource for Traced {
    fn about(&self) -> &About {
        &self.about
    }

    fn predict(&self, what: &WhatIf, progress: &Progress) -> Result<Prediction, String> {
        self.predict_any(what, progress)
            .map_err(|error| failure::message(&error))
    }

    fn curve(
        &self,
        what: &WhatIf,
        cpus: &[u32],
        progress: &Progress,
    ) -> Result<Vec<Curve>, String> {
        self.curve_any(what, cpus, progress)
            .map_err(|error| failure::message(&error))
    }

    fn advice(&self, what: &WhatIf, progress: &Progress) -> Result<Vec<Advice>, String> {
        self.advice_any(what, progress)
            .map_err(|error| failure::message(&error))
    }

    fn event(&self, event: u32) -> Option<EventInfo> {
        self.events.event(event)
    }

    fn site(&self, site: u32) -> SiteInfo {
        self.events.site(site)
    }

    fn routine(&self, lane: usize) -> Option<String> {
        self.events.routine(lane)
    }

    fn check_file(&self, file: &Path) -> Result<(), String> {
        let checked = core::read_machine(Some(file));
        checked
            .map(|_| ())
            .map_err(|error| failure::message(&error))
    }
}

#[cfg(test)]
mod tests {
    use foretrace_trace::text;

    use super::*;

    const TEXT: &str = "foretrace-text 1\nprocess A\nprocess B\n0 A create B\n1 A lock m\n5 A unlock m\n6 B lock m\n9 B unlock m\n\
                        9 B terminate\n9 A join B\n10 A terminate\n";

    fn traced() -> Traced {
        let trace = text::parse(TEXT, "test").unwrap();
        Traced::new(trace, &ModelArgs::default(), Some(2)).unwrap()
    }

    #[test]
    fn a_trace_is_predicted_under_the_conditions_of_the_window() {
        let traced = traced();
        let progress = Progress::default();
        let mut what = traced.about().first.clone();
        assert_eq!((what.cpus, what.model.as_str()), (2, "auto"));
        what.model = "strict".to_owned();
        let prediction = traced.predict(&what, &progress).unwrap();
        assert_eq!(
            (prediction.schedule.cpus, prediction.schedule.model.as_str()),
            (2, "strict")
        );
        assert!(prediction.one_cpu >= Some(prediction.schedule.end));
        assert!(!prediction.marks.is_empty());
        let curves = traced.curve(&what, &[1, 2], &progress).unwrap();
        assert!(
            curves
                .iter()
                .any(|curve| curve.model == "strict" && curve.points.len() == 2)
        );
    }

    #[test]
    fn what_is_not_wanted_any_more_is_cancelled() {
        let traced = traced();
        let progress = Progress::default();
        progress.cancel();
        let cancelled = traced.predict(&traced.about().first, &progress);
        assert_eq!(cancelled.unwrap_err(), CANCELLED);
    }

    #[test]
    fn a_machine_that_cannot_be_used_is_an_error() {
        let error = traced().check_file(Path::new("/nowhere.toml")).unwrap_err();
        assert!(error.contains("/nowhere.toml"), "{error}");
    }
}
