//! A program that passes messages in the window: any number of predictions of it, on any network.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::bail;
use foretrace_interchange::Messages;
use foretrace_messages::{ANY, Attempt, Kind, Noted, Operation, TaskKind};
use foretrace_network::{Description, PRESETS};
use foretrace_schedule::SimTime;
use foretrace_trace::Trace;
use foretrace_viewer::source::{
    About, Advice, CANCELLED, Curve, EventClass, EventInfo, Prediction, Progress, ScheduleSource,
    SiteInfo, WhatIf,
};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::{Files, MODELS, events::Events, model_args, recorded, what_if};
use crate::{
    args::{self, ModelArgs, NetworkArgs},
    explaining::explain_ranks,
    failure,
    messages::{self, Recording, Replay, answered, replay_model},
    report::messages as report,
};

/// An open program of ranks.
pub struct Ranks {
    about: About,
    messages: Arc<Messages>,
    /// The recording that it comes from, and for each position of the program its event.
    recording: Option<(Events, Vec<u32>)>,
    network: NetworkArgs,
}

impl Ranks {
    /// Takes a program; the first network is that of the command line.
    pub fn new(
        path: &Path,
        messages: Messages,
        recording: Option<Recording>,
        files: &Files,
    ) -> Self {
        let ranks = messages::ranks(&messages);
        // All would do the same on a graph.
        let models = match &messages {
            Messages::Program(_) => &MODELS[..],
            Messages::Graph(_) => &MODELS[..1],
        };
        let network = files.network.network.as_ref();
        let about = About {
            path: path.display().to_string(),
            summary: format!("a program of {ranks} ranks that pass messages"),
            first: WhatIf {
                network: network.map(|network| network.display().to_string()),
                machine: None,
                scheduler: None,
                ..what_if(&files.how, ranks)
            },
            models: models
                .iter()
                .filter(|(model, _)| *model != args::Model::Pool)
                .map(|(_, name)| (*name).to_owned())
                .collect(),
            schedulers: Vec::new(),
            can_predict: true,
            warnings: messages::warnings(&messages).to_vec(),
            threads: ranks as usize,
            recorded_unix_seconds: recording
                .as_ref()
                .and_then(|recording| recorded(&recording.trace)),
            networks: PRESETS.map(|(name, _)| name.to_owned()).to_vec(),
        };
        Self {
            about,
            messages: Arc::new(messages),
            recording: recording.map(|recording| (Events::new(recording.trace), recording.calls)),
            network: files.network.clone(),
        }
    }

    /// Returns how many lanes its schedules have: one for each CPU of each rank.
    pub fn lanes(&self) -> u32 {
        match &*self.messages {
            Messages::Program(program) => program.ranks(),
            Messages::Graph(graph) => graph.ranks() * graph.cpus,
        }
    }

    /// Returns the network that is asked for, with what is asked for in place of what it says.
    fn description(&self, what: &WhatIf) -> anyhow::Result<Description> {
        let Some(network) = &what.network else {
            bail!(
                "the program passes messages, and what they cost is not said: choose a network above"
            );
        };
        let mut description = messages::network(&NetworkArgs {
            network: Some(network.into()),
            ..self.network.clone()
        })?;
        let nodes = &mut description.nodes;
        if let Some(ranks) = what.ranks_per_node {
            nodes.ranks_per_node = ranks;
            nodes.mapping.clear();
        }
        if let Some(percent) = what.cpu_percent {
            let factor = f64::from(percent) / 100.0;
            nodes.speed *= factor;
            for speed in &mut nodes.speeds {
                *speed *= factor;
            }
        }
        Ok(description)
    }

    /// Returns the speed-up's numerator: how long all ranks take on one CPU.
    fn on_one_cpu(&self) -> SimTime {
        SimTime(messages::on_one_cpu(&self.messages))
    }

    fn replay(&self, description: Description) -> anyhow::Result<Replay> {
        Replay::on(Arc::clone(&self.messages), description)
    }

    fn predict_any(&self, what: &WhatIf, progress: &Progress) -> anyhow::Result<Prediction> {
        let description = self.description(what)?;
        let model = replay_model(model_args(what, &ModelArgs::default()).model)?;
        let go_on = |done, of| progress.tell(done, of);
        let replay = self.replay(description)?;
        let Some(course) = replay.course(model, Noted::Calls, &go_on) else {
            bail!(CANCELLED);
        };
        Ok(Prediction {
            failed: failed(&course.attempts),
            warnings: warnings(&course.attempts),
            schedule: course.schedule,
            marks: course.marks,
            one_cpu: Some(self.on_one_cpu()),
            machine: brief(&replay.description, messages::ranks(&self.messages)),
        })
    }

    fn advice_any(&self, what: &WhatIf, progress: &Progress) -> anyhow::Result<Vec<Advice>> {
        let replay = self.replay(self.description(what)?)?;
        let model = replay_model(model_args(what, &ModelArgs::default()).model)?;
        progress.begin("trying changes");
        let empty = Trace::default();
        let recorded = self
            .recording
            .as_ref()
            .map_or((&empty, None), |(events, calls)| {
                (events.trace(), Some(calls.as_slice()))
            });
        let go_on = |done, of| progress.tell(done, of);
        let Some(explanation) = explain_ranks(&replay, recorded, model, &go_on)? else {
            bail!(CANCELLED);
        };
        Ok(explanation.advice())
    }

    fn curve_any(&self, what: &WhatIf, progress: &Progress) -> anyhow::Result<Vec<Curve>> {
        let mut networks = self.about.networks.clone();
        networks.extend(
            what.network
                .clone()
                .filter(|network| !self.about.networks.contains(network)),
        );
        let model = replay_model(model_args(what, &ModelArgs::default()).model)?;
        let done = AtomicUsize::new(0);
        let on = |network: &String| {
            let on = WhatIf {
                network: Some(network.clone()),
                ..what.clone()
            };
            let go_on = |_, _| !progress.is_cancelled();
            // A network that has no room for the ranks has no answer here; choosing it tells why.
            let course = self
                .description(&on)
                .and_then(|description| self.replay(description))
                .map(|replay| replay.course(model, Noted::Calls, &go_on));
            if progress.is_cancelled() {
                bail!(CANCELLED);
            }
            progress.tell(done.fetch_add(1, Ordering::Relaxed) + 1, networks.len());
            let answer = course.ok().flatten();
            let run = answer
                .as_ref()
                .and_then(|course| answered(&course.attempts));
            let speedup = |end: SimTime| self.on_one_cpu().0 as f64 / end.0.max(1) as f64;
            Ok(Curve {
                model: network.clone(),
                points: run
                    .map(|run| (messages::ranks(&self.messages), run.end, speedup(run.end)))
                    .into_iter()
                    .collect(),
            })
        };
        networks.par_iter().map(on).collect()
    }

    fn program_event(&self, event: u32) -> Option<EventInfo> {
        let Messages::Program(program) = &*self.messages else {
            return None;
        };
        let position = event as usize;
        program.steps.get(position)?;
        let own = program.at(position);
        let lane = program.starts.partition_point(|start| *start <= position) - 1;
        // Work leads to the call after it, as far as anybody cares.
        let is_last = program.starts.get(lane + 1) == Some(&(position + 1));
        let op = match own.kind {
            Kind::Work | Kind::Pause if !is_last => program.at(position + 1),
            _ => own,
        };
        let recorded = self.recording.as_ref().and_then(|(events, calls)| {
            let recorded = *calls.get(position)?;
            let own = events.event(recorded)?;
            let event = &events.trace().events[recorded as usize];
            let call = events.trace().message(events.trace().call(event));
            Some((own, call))
        });
        let (operation, about) = match &recorded {
            Some((_, Some(call))) => (call.name.clone().into(), Some(call.to_string())),
            _ => match op.kind {
                Kind::Collective => {
                    let call = program.collectives.get(op.value as usize)?;
                    (call.kind.name().into(), None)
                }
                _ => (op.name().into(), said(&op)),
            },
        };
        let is_end = matches!(op.kind, Kind::Send | Kind::Receive | Kind::Alone) && op.peer != ANY;
        Some(EventInfo {
            operation,
            class: match own.kind {
                Kind::Work | Kind::Pause => EventClass::Other,
                Kind::Send | Kind::Receive | Kind::Alone => EventClass::Message,
                Kind::Wait | Kind::Probe | Kind::Collective => EventClass::Wait,
            },
            lane: lane as u32,
            object: None,
            other: is_end.then_some(op.peer),
            about,
            recorded_nanos: recorded
                .as_ref()
                .and_then(|(event, _)| event.recorded_nanos),
            site: recorded.and_then(|(event, _)| event.site),
        })
    }

    fn task(&self, event: u32) -> Option<EventInfo> {
        let Messages::Graph(graph) = &*self.messages else {
            return None;
        };
        let task = graph.tasks.get(event as usize)?;
        let rank = graph.rank_of(event);
        let of_rank = |rank: u32| rank * graph.cpus;
        let bytes = format!("{} bytes, {}", task.value, tag_text(task.tag));
        let (operation, class, about) = match task.kind {
            TaskKind::Work => ("work", EventClass::Other, None),
            TaskKind::Send => ("message", EventClass::Message, Some(bytes)),
            TaskKind::Receive => ("receive", EventClass::Message, Some(bytes)),
        };
        let is_end = task.kind != TaskKind::Work && task.peer != ANY;
        Some(EventInfo {
            operation: operation.into(),
            class,
            lane: of_rank(rank) + u32::from(task.cpu),
            object: None,
            other: is_end.then(|| of_rank(task.peer)),
            about,
            recorded_nanos: None,
            site: None,
        })
    }
}

/// Says what an operation is about.
fn said(op: &Operation) -> Option<String> {
    let tag = tag_text(op.tag);
    match op.kind {
        Kind::Send => Some(format!("{} bytes to {}, {tag}", op.value, op.peer)),
        Kind::Alone => Some(format!("{} bytes, memory of {}", op.value, op.peer)),
        Kind::Receive | Kind::Probe if op.peer == ANY => Some(format!("from anybody, {tag}")),
        Kind::Receive | Kind::Probe => Some(format!("from {}, {tag}", op.peer)),
        Kind::Work | Kind::Pause | Kind::Wait | Kind::Collective => None,
    }
}

fn tag_text(tag: u32) -> String {
    if tag == ANY {
        "any tag".to_owned()
    } else {
        format!("tag {tag}")
    }
}

/// Returns the models that were tried in vain before the last one.
fn failed(attempts: &[Attempt]) -> Vec<String> {
    let before = attempts.split_last().map_or(&[][..], |(_, before)| before);
    before
        .iter()
        .map(|attempt| attempt.model.name().to_owned())
        .collect()
}

/// Returns what must be known of a replay that did not come to an end; a deadlock is drawn.
fn warnings(attempts: &[Attempt]) -> Vec<String> {
    use foretrace_messages::Outcome;
    let last = attempts.last().map(|attempt| &attempt.run.outcome);
    match last {
        Some(Outcome::LeftOver | Outcome::Failed(_)) => vec![report::explain(attempts)],
        _ => Vec::new(),
    }
}

/// Names a network in a line.
fn brief(description: &Description, ranks: u32) -> String {
    let nodes = description.nodes.of_ranks(ranks);
    let count = nodes.iter().max().map_or(0, |last| last + 1);
    let unit = if count == 1 { "node" } else { "nodes" };
    format!(
        "{} ({}), {count} {unit}",
        description.name,
        description.model_name()
    )
}

impl ScheduleSource for Ranks {
    fn about(&self) -> &About {
        &self.about
    }

    fn predict(&self, what: &WhatIf, progress: &Progress) -> Result<Prediction, String> {
        self.predict_any(what, progress)
            .map_err(|error| failure::message(&error))
    }

    fn curve(&self, what: &WhatIf, _: &[u32], progress: &Progress) -> Result<Vec<Curve>, String> {
        self.curve_any(what, progress)
            .map_err(|error| failure::message(&error))
    }

    fn advice(&self, what: &WhatIf, progress: &Progress) -> Result<Vec<Advice>, String> {
        self.advice_any(what, progress)
            .map_err(|error| failure::message(&error))
    }

    fn event(&self, event: u32) -> Option<EventInfo> {
        match &*self.messages {
            Messages::Program(_) => self.program_event(event),
            Messages::Graph(_) => self.task(event),
        }
    }

    fn site(&self, site: u32) -> SiteInfo {
        let recording = self.recording.as_ref();
        recording.map_or_else(SiteInfo::default, |(events, _)| events.site(site))
    }

    fn routine(&self, _: usize) -> Option<String> {
        None
    }

    fn check_file(&self, file: &Path) -> Result<(), String> {
        messages::load_network(file)
            .map(|_| ())
            .map_err(|error| failure::message(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rank 0 works 1 us and sends to rank 1.
    const PAIR: &str = "num_ranks 2\nrank 0 {\nl1: calc 1000\nl2: send 800b to 1 tag 0\nl2 requires l1\n}\n\
                        rank 1 {\nl1: recv 800b from 0 tag 0\n}\n";

    /// The same as somebody recorded it.
    const LISTED: &str = "foretrace-text 1\n1000 A send 1 800 7\n1000 B recv 0 800 7\n1200 A terminate\n1500 B terminate\n";

    fn opened(name: &str, text: &str, network: Option<&str>) -> Ranks {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        let files = Files {
            network: NetworkArgs {
                network: network.map(Into::into),
                rendezvous_above: None,
            },
            ..Files::default()
        };
        let (messages, recording) = messages::load_with_recording(&path).unwrap().unwrap();
        Ranks::new(&path, messages, recording, &files)
    }

    fn end(ranks: &Ranks, what: &WhatIf) -> SimTime {
        let progress = Progress::default();
        ranks.predict(what, &progress).unwrap().schedule.end
    }

    #[test]
    fn ranks_are_predicted_on_the_networks_of_the_window() {
        let ranks = opened("pair.goal", PAIR, Some("infiniband"));
        assert!(ranks.about().passes_messages());
        let first = ranks.about().first.clone();
        assert_eq!(first.network.as_deref(), Some("infiniband"));
        let fast = end(&ranks, &first);
        let slow = WhatIf {
            network: Some("gigabit-ethernet".to_owned()),
            ..first.clone()
        };
        assert!(end(&ranks, &slow) > fast);
        let half = WhatIf {
            cpu_percent: Some(50),
            ..first.clone()
        };
        // The work of 1 us takes twice as long.
        assert_eq!(end(&ranks, &half).0 - fast.0, 1_000_000);
        let together = WhatIf {
            ranks_per_node: Some(2),
            ..first.clone()
        };
        let progress = Progress::default();
        let machine = |what: &WhatIf| ranks.predict(what, &progress).unwrap().machine;
        assert!(machine(&first).ends_with("2 nodes"), "{}", machine(&first));
        assert!(machine(&together).ends_with("1 node"));
        let curves = ranks.curve(&first, &[], &progress).unwrap();
        assert_eq!(curves.len(), PRESETS.len());
        let of = |name: &str| {
            let curve = curves.iter().find(|curve| curve.model == name);
            curve.unwrap().points[0].1
        };
        assert_eq!(
            (of("infiniband"), of("gigabit-ethernet")),
            (fast, end(&ranks, &slow))
        );
    }

    #[test]
    fn what_would_help_is_told_of_ranks() {
        let ranks = opened("pair.goal", PAIR, Some("gigabit-ethernet"));
        let progress = Progress::default();
        let first = ranks.about().first.clone();
        let advice = ranks.advice(&first, &progress).unwrap();
        let free = advice
            .iter()
            .find(|advice| advice.change.contains("took no time"));
        assert!(free.is_some_and(|advice| advice.gain > 0.5), "{advice:?}");
        progress.cancel();
        assert_eq!(ranks.advice(&first, &progress), Err(CANCELLED.to_owned()));
    }

    #[test]
    fn without_a_network_one_is_asked_for_and_the_file_stays_open() {
        let ranks = opened("pair.goal", PAIR, None);
        let progress = Progress::default();
        let first = ranks.about().first.clone();
        let error = ranks.predict(&first, &progress).unwrap_err();
        assert!(error.contains("choose a network"), "{error}");
        assert!(ranks.check_file(Path::new("infiniband")).is_ok());
        let error = ranks.check_file(Path::new("/nowhere.toml")).unwrap_err();
        assert!(error.contains("/nowhere.toml"), "{error}");
        let chosen = WhatIf {
            network: Some("infiniband".to_owned()),
            ..first
        };
        assert!(end(&ranks, &chosen) > SimTime::ZERO);
        progress.cancel();
        assert_eq!(ranks.predict(&chosen, &progress).unwrap_err(), CANCELLED);
    }

    #[test]
    fn a_recorded_call_is_named_with_its_message_and_its_time() {
        let ranks = opened("pair.txt", LISTED, Some("infiniband"));
        let progress = Progress::default();
        let shown = ranks.predict(&ranks.about().first, &progress).unwrap();
        assert_eq!(shown.schedule.check(), Ok(()));
        let sent = ranks.event(shown.marks.lane(0).events[0]).unwrap();
        assert_eq!((sent.operation.as_ref(), sent.other), ("send", Some(1)));
        assert_eq!((sent.lane, sent.recorded_nanos), (0, Some(1000)));
        assert_eq!(sent.about.as_deref(), Some("send to 1, 800 bytes"));
        let received = ranks.event(shown.marks.lane(1).events[0]).unwrap();
        assert_eq!((received.operation.as_ref(), received.lane), ("recv", 1));
        assert_eq!(received.class, EventClass::Message);
        assert_eq!(ranks.event(99), None);
    }

    #[test]
    fn tasks_of_a_graph_are_named_too() {
        let ranks = opened("pair.goal", PAIR, Some("loggopsim"));
        let names: Vec<_> = (0..3)
            .map(|event| ranks.event(event).unwrap().operation)
            .collect();
        assert_eq!(names, ["work", "message", "receive"]);
        assert_eq!(ranks.event(3), None);
    }

    #[test]
    fn a_saved_schedule_of_ranks_is_predicted_anew_on_a_network_that_is_chosen() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pair.goal");
        std::fs::write(&path, PAIR).unwrap();
        let (messages, _) = messages::load_with_recording(&path).unwrap().unwrap();
        let args = NetworkArgs {
            network: Some("infiniband".into()),
            rendezvous_above: None,
        };
        let replay = messages::Replay::new(messages, &args, None).unwrap();
        let schedule = replay.schedule(foretrace_messages::Model::Direct);
        let saved = super::super::saved::Saved::new(
            &directory.path().join("pair.fts"),
            schedule.clone(),
            foretrace_schedule::Details::default(),
            &Files::default(),
        );
        let progress = Progress::default();
        let first = saved.about().first.clone();
        assert!(saved.about().can_predict && saved.about().passes_messages());
        assert_eq!(saved.predict(&first, &progress).unwrap().schedule, schedule);
        let other = WhatIf {
            network: Some("gigabit-ethernet".to_owned()),
            ..first
        };
        let anew = saved.predict(&other, &progress).unwrap();
        assert!(anew.schedule.end > schedule.end);
    }
}
