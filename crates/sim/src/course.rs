//! The whole course of a prediction, with every operation, for those who look at it while they wait.

use std::cell::Cell;

use foretrace_program::Program;
use foretrace_schedule::{Marks, Schedule, SimTime, State};

use crate::{
    Choice, Machine, ModelKind, Run,
    core::Core,
    observer::{LaneBuilder, Observer},
    scheme::{lane_builder, models, observe, to_schedule},
};

/// A prediction's whole course.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// What ran where and when: under the model that answered, else under the last one tried, which ended in a deadlock.
    pub schedule: Schedule,
    /// When each thread did what.
    pub marks: Marks,
    /// The models that ended in a deadlock before that one.
    pub failed: Vec<ModelKind>,
}

/// Predicts a program's run on a machine and keeps the whole course of it.
///
/// `go_on` is called now and then with the operations that were done and all that there are, and says whether the rest is
/// still wanted. Returns `None` where it was not.
pub fn course(
    program: &Program,
    machine: &Machine,
    choice: Choice,
    go_on: &dyn Fn(usize, usize) -> bool,
) -> Option<Course> {
    let mut failed = Vec::new();
    let models = models(program, choice);
    for (position, &model) in models.iter().enumerate() {
        let (run, builder) = observe(program, machine, model, CourseBuilder::new(program, go_on));
        if builder.is_cancelled() || !go_on(builder.watch.done, builder.watch.of) {
            return None;
        }
        if run.is_complete() || position + 1 == models.len() {
            return Some(builder.finish(program, machine, model, run, failed));
        }
        failed.push(model);
    }
    None
}

/// Predicts how a program's run ends on a machine, by the first of the models asked for under which it does, else by the last;
/// `None` where `go_on` said that the rest is not wanted, as in [`course`].
pub fn run_while(
    program: &Program,
    machine: &Machine,
    choice: Choice,
    go_on: &dyn Fn(usize, usize) -> bool,
) -> Option<Run> {
    let mut last = None;
    for model in models(program, choice) {
        let (run, watch) = observe(program, machine, model, Watch::new(program, go_on));
        if watch.is_cancelled() {
            return None;
        }
        let is_complete = run.is_complete();
        last = Some(run);
        if is_complete {
            break;
        }
    }
    last
}

/// After so many operations progress is told.
const TOLD_EVERY: usize = 1 << 14;

/// Tells how far a run has come, and hears whether the rest is wanted.
struct Watch<'w> {
    done: usize,
    of: usize,
    go_on: &'w dyn Fn(usize, usize) -> bool,
    cancelled: Cell<bool>,
}

impl<'w> Watch<'w> {
    fn new(program: &Program, go_on: &'w dyn Fn(usize, usize) -> bool) -> Self {
        Self {
            done: 0,
            of: program.operations.len(),
            go_on,
            cancelled: Cell::new(false),
        }
    }
}

impl Observer for Watch<'_> {
    fn state(&mut self, _: u32, _: u64, _: State, _: Option<u32>, _: u32) {}

    fn wake(&mut self, _: u32, _: u32, _: u64) {}

    fn end(&mut self, _: u32, _: u64) {}

    fn operation(&mut self, _: &Core<'_>, _: u32) {
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

/// Builds lanes and notes every operation.
struct CourseBuilder<'w> {
    lanes: LaneBuilder,
    marks: Marks,
    watch: Watch<'w>,
}

impl<'w> CourseBuilder<'w> {
    fn new(program: &Program, go_on: &'w dyn Fn(usize, usize) -> bool) -> Self {
        Self {
            lanes: lane_builder(program),
            marks: Marks::new(program.threads.len()),
            watch: Watch::new(program, go_on),
        }
    }

    fn finish(
        self,
        program: &Program,
        machine: &Machine,
        model: ModelKind,
        run: Run,
        failed: Vec<ModelKind>,
    ) -> Course {
        Course {
            schedule: to_schedule(program, machine, model, run, self.lanes),
            marks: self.marks,
            failed,
        }
    }
}

impl Observer for CourseBuilder<'_> {
    fn state(&mut self, thread: u32, now: u64, state: State, object: Option<u32>, event: u32) {
        self.lanes.state(thread, now, state, object, event);
    }

    fn wake(&mut self, from: u32, to: u32, now: u64) {
        self.lanes.wake(from, to, now);
    }

    fn end(&mut self, thread: u32, now: u64) {
        self.lanes.end(thread, now);
    }

    fn operation(&mut self, core: &Core<'_>, thread: u32) {
        self.marks
            .push(thread, SimTime(core.now), core.event(thread));
        self.watch.operation(core, thread);
    }

    fn is_cancelled(&self) -> bool {
        self.watch.is_cancelled()
    }
}

#[cfg(test)]
mod tests {
    use foretrace_testkit as testkit;

    use super::*;

    fn program(text: &str) -> Program {
        Program::from_trace(&testkit::trace(text))
    }

    #[test]
    fn a_course_is_the_schedule_with_every_operation() {
        let program = program(testkit::Q);
        let machine = Machine::new(2, &program);
        let course = course(&program, &machine, Choice::Auto, &|_, _| true).unwrap();
        let answer = crate::predict(&program, &machine, Choice::Auto);
        let answered = answer.answered().unwrap();
        assert_eq!(
            course.schedule,
            crate::schedule(&program, &machine, answered.model)
        );
        assert_eq!(course.failed.len() + 1, answer.attempts.len());
        let lanes = program.threads.iter().enumerate();
        for (lane, thread) in lanes {
            let marks = course.marks.lane(lane);
            // An operation that waited and was tried again is seen twice.
            assert!(marks.len() >= thread.operations.len());
            assert!(marks.times.is_sorted());
            for operation in program.operations.range(thread.operations.clone()) {
                assert!(marks.events.contains(&operation.event));
            }
            assert_eq!(marks.times.last().copied(), course.schedule.lanes[lane].end);
        }
    }

    #[test]
    fn a_run_that_nobody_wants_any_more_stops() {
        let rows = (0..40_000).map(|time| {
            format!("{time} A lock m\n{time} A unlock m\n{time} B lock m\n{time} B unlock m\n")
        });
        let text: String = rows.collect();
        let program = program(&text);
        let machine = Machine::new(2, &program);
        let told = Cell::new(0);
        let go_on = |done: usize, of: usize| {
            assert!(done <= of);
            told.set(told.get() + 1);
            told.get() < 3
        };
        assert_eq!(course(&program, &machine, Choice::Auto, &go_on), None);
        assert_eq!(told.get(), 3);
        told.set(0);
        assert_eq!(run_while(&program, &machine, Choice::Auto, &go_on), None);
        assert_eq!(told.get(), 3);
        let run = run_while(&program, &machine, Choice::Auto, &|_, _| true);
        let answer = crate::predict(&program, &machine, Choice::Auto);
        assert_eq!(run.as_ref(), answer.answer());
    }
}
