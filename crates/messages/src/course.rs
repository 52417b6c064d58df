//! The whole course of a replay with every operation, for those who look at it while they wait.

use std::cell::Cell;

use foretrace_network::Network;
use foretrace_schedule::{Marks, Schedule, SimTime, Wake};

use crate::{
    Attempt, Model, Program, Run, TaskGraph, graph,
    observer::{Observer, Why},
    replay::{models, observed},
    schedule::{Lanes, in_order, on_first_cpus},
};

/// A replay's whole course.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// What each rank did when: under the model that came to an end, else under the last one tried.
    pub schedule: Schedule,
    /// When each rank called what: positions of the program, tasks of a graph. Work is no call, and is there only where
    /// everything was asked for.
    pub marks: Marks,
    /// Who let whom go on, also where that was no message, and only where that could not have gone on sooner; where everything was asked for.
    pub causes: Vec<Wake>,
    /// What was tried; the last one is the one whose course it is.
    pub attempts: Vec<Attempt>,
}

/// How much of a course is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// What is shown of it.
    Calls,
    /// What explains it, too: when work begins, and what let ranks go on.
    Everything,
}

/// Replays a program under a model, or under one after the other until one comes to an end, and keeps the whole course of it.
///
/// `go_on` is called now and then with the operations that were done and all that there are, and says whether the rest is
/// still wanted. Returns `None` where it was not.
pub fn course(
    program: &Program,
    network: &Network,
    model: Option<Model>,
    noted: Noted,
    go_on: &dyn Fn(usize, usize) -> bool,
) -> Option<Course> {
    let chosen = model.map(|model| [model]);
    let tried = chosen
        .as_ref()
        .map_or_else(|| models(program), <[Model; 1]>::as_slice);
    let mut attempts = Vec::new();
    for (position, &model) in tried.iter().enumerate() {
        let builder = CourseBuilder::new(program.ranks(), program.steps.len(), (noted, go_on));
        let (run, mut builder) = observed(program, network, model, builder);
        if builder.is_unwanted() {
            return None;
        }
        let is_answer = run.is_complete() || position + 1 == tried.len();
        attempts.push(Attempt { model, run });
        if is_answer {
            let run = &attempts[position].run;
            in_order(&mut builder.causes);
            return Some(Course {
                schedule: builder.lanes.of_program(program, network, model, run),
                marks: builder.marks,
                causes: builder.causes,
                attempts,
            });
        }
    }
    None
}

/// Replays a task graph likewise.
pub fn course_graph(
    graph: &TaskGraph,
    network: &Network,
    noted: Noted,
    go_on: &dyn Fn(usize, usize) -> bool,
) -> Option<Course> {
    let lanes = graph.ranks() * graph.cpus;
    let builder = CourseBuilder::new(lanes, graph.tasks.len(), (noted, go_on));
    let (run, mut builder): (Run, _) = graph::run(graph, network, builder);
    if builder.is_unwanted() {
        return None;
    }
    on_first_cpus(&mut builder.causes, graph.cpus);
    in_order(&mut builder.causes);
    Some(Course {
        schedule: builder.lanes.of_graph(graph, network, &run),
        marks: builder.marks,
        causes: builder.causes,
        attempts: vec![Attempt {
            model: Model::Direct,
            run,
        }],
    })
}

/// After so many operations progress is told.
const TOLD_EVERY: usize = 1 << 14;

/// Builds lanes, notes calls, and tells how far the replay is.
struct CourseBuilder<'w> {
    lanes: Lanes,
    marks: Marks,
    causes: Vec<Wake>,
    noted: Noted,
    done: usize,
    of: usize,
    go_on: &'w dyn Fn(usize, usize) -> bool,
    cancelled: Cell<bool>,
}

impl<'w> CourseBuilder<'w> {
    fn new(
        lanes: u32,
        of: usize,
        (noted, go_on): (Noted, &'w dyn Fn(usize, usize) -> bool),
    ) -> Self {
        Self {
            causes: Vec::new(),
            noted,
            lanes: Lanes::new(lanes),
            marks: Marks::new(lanes as usize),
            done: 0,
            of,
            go_on,
            cancelled: Cell::new(false),
        }
    }

    /// Asks a last time: short replays end before anybody was asked.
    fn is_unwanted(&self) -> bool {
        self.cancelled.get() || !(self.go_on)(self.done.min(self.of), self.of)
    }
}

impl Observer for CourseBuilder<'_> {
    fn busy(&mut self, rank: u32, start: u64, end: u64, operation: usize) {
        self.lanes.busy(rank, start, end, operation);
    }

    fn wait(&mut self, rank: u32, start: u64, end: u64, why: Why, operation: usize) {
        self.lanes.wait(rank, start, end, why, operation);
    }

    fn message(&mut self, from: u32, sent: u64, to: u32, received: u64, bytes: u64, is_late: bool) {
        self.lanes.message(from, sent, to, received, bytes, is_late);
        if !is_late {
            self.release(from, sent, to, received);
        }
    }

    fn release(&mut self, by: u32, did: u64, rank: u32, at: u64) {
        if self.noted == Noted::Everything {
            let cause = Wake::message(by, SimTime(did), rank, SimTime(at));
            self.causes.push(cause);
        }
    }

    fn operation(&mut self, lane: u32, at: u64, operation: usize, is_call: bool) {
        let Ok(event) = u32::try_from(operation) else {
            return;
        };
        // One that waited is come to again.
        let is_noted = is_call || self.noted == Noted::Everything;
        if is_noted && self.marks.lane(lane as usize).events.last() != Some(&event) {
            self.marks.push(lane, SimTime(at), event);
        }
        self.done += 1;
        if self.done.is_multiple_of(TOLD_EVERY)
            && !self.cancelled.get()
            && !(self.go_on)(self.done.min(self.of), self.of)
        {
            self.cancelled.set(true);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.get()
    }
}

#[cfg(test)]
mod tests {
    use foretrace_network::Description;

    use super::*;
    use crate::{
        Builder, GraphBuilder, Mode, Operation, Pattern, Task, TaskKind, generate, predict,
    };

    fn network(ranks: u32) -> Network {
        let preset = Description::preset("loggps-fast-ethernet").unwrap();
        preset.unwrap().resolve(ranks).unwrap()
    }

    #[test]
    fn a_course_is_the_schedule_with_every_call() {
        let program = generate(Pattern::Stencil, 6, 100);
        let network = network(program.ranks());
        let course = course(&program, &network, None, Noted::Calls, &|done, of| {
            done <= of
        })
        .unwrap();
        assert_eq!(course.attempts, predict(&program, &network));
        let model = course.attempts.last().unwrap().model;
        assert_eq!(course.schedule, crate::schedule(&program, &network, model));
        for rank in 0..program.ranks() {
            let marks = course.marks.lane(rank as usize);
            assert!(marks.times.is_sorted());
            // What waits for several requests at once is one call.
            let goes_on = |position: &usize| {
                let before = position.checked_sub(1).map(|before| program.at(before));
                before.is_some_and(|op| op.kind == crate::Kind::Wait && op.mode == Mode::More)
            };
            let calls: Vec<u32> = program
                .range(rank)
                .filter(|position| program.at(*position).kind != crate::Kind::Work)
                .filter(|position| !goes_on(position))
                .map(|position| position as u32)
                .collect();
            assert_eq!(marks.events, calls);
        }
    }

    #[test]
    fn a_replay_that_nobody_wants_any_more_stops() {
        let mut builder = Builder::new(2);
        for _ in 0..100_000 {
            builder.push(0, Operation::send(1, 0, 8));
            builder.push(1, Operation::receive(0, 0, 8));
        }
        let program = builder.finish("test");
        let told = Cell::new(0);
        let go_on = |done: usize, of: usize| {
            assert!(done <= of);
            told.set(told.get() + 1);
            told.get() < 3
        };
        assert_eq!(
            course(&program, &network(2), None, Noted::Calls, &go_on),
            None
        );
        assert_eq!(told.get(), 3);
    }

    #[test]
    fn the_course_of_a_task_graph_is_its_schedule_with_its_sends() {
        let task = |kind, peer, value| Task {
            value,
            peer,
            tag: 0,
            kind,
            cpu: 0,
            nic: 0,
        };
        let mut builder = GraphBuilder::new(2);
        builder.push(0, task(TaskKind::Work, 0, 1_000));
        let send = builder.push(0, task(TaskKind::Send, 1, 8));
        builder.push(1, task(TaskKind::Receive, 0, 8));
        let graph = builder.finish("test");
        let network = network(2);
        let course = course_graph(&graph, &network, Noted::Calls, &|_, _| true).unwrap();
        assert_eq!(course.schedule, crate::schedule_graph(&graph, &network));
        assert_eq!(course.marks.lane(0).events, [send]);
        assert_eq!(
            course_graph(&graph, &network, Noted::Calls, &|_, _| false),
            None
        );
    }
}
