//! Places in programs that pass messages.

use foretrace_messages::{Course, Kind, Program, TaskGraph, TaskKind};
use foretrace_schedule::{Marks, Segment, SimTime, State, WaitKind};
use foretrace_trace::Trace;

use crate::spots::{Places, Spot, Spots, Step};

/// Where the calls of ranks are: of recorded ones where they come from, of others what is called.
pub struct RankPlaces<'p> {
    of: Of<'p>,
}

enum Of<'p> {
    Program {
        program: &'p Program,
        recording: Option<Recorded<'p>>,
    },
    Graph(&'p TaskGraph),
}

struct Recorded<'p> {
    spots: Spots<'p>,
    /// For each position of the program its event.
    calls: &'p [u32],
}

impl<'p> RankPlaces<'p> {
    /// Those of a program, with the recording that it comes from and for each of its positions the event, where that is known.
    pub fn of_program(program: &'p Program, recording: Option<(&'p Trace, &'p [u32])>) -> Self {
        let recording = recording.map(|(trace, calls)| Recorded {
            spots: Spots::of(trace),
            calls,
        });
        Self {
            of: Of::Program { program, recording },
        }
    }

    /// Those of a task graph, whose course tells [which messages are received](Self::with_receipts).
    pub fn of_graph(graph: &'p TaskGraph) -> Self {
        Self {
            of: Of::Graph(graph),
        }
    }

    /// Tells the receipts of messages from their sends in the course of a task graph, where both have the send's number: receipts have
    /// numbers behind those of all tasks.
    #[must_use]
    pub fn with_receipts(&self, course: Course) -> Course {
        let Of::Graph(graph) = self.of else {
            return course;
        };
        let mut course = course;
        let count = graph.tasks.len() as u32;
        let numbered = |lane: usize, event: u32| {
            let is_own = graph.rank_of(event) as usize == lane / graph.cpus.max(1) as usize;
            if is_own { event } else { event + count }
        };
        let mut marks = Marks::new(course.marks.lanes());
        for lane in 0..course.marks.lanes() {
            let own = course.marks.lane(lane);
            for (at, event) in own.times.iter().zip(&own.events) {
                marks.push(lane as u32, *at, numbered(lane, *event));
            }
        }
        course.marks = marks;
        for (number, lane) in course.schedule.lanes.iter_mut().enumerate() {
            for segment in &mut lane.segments {
                segment.event = segment.event.map(|event| numbered(number, event));
            }
        }
        course
    }

    /// Returns how long each rank works.
    pub(crate) fn work(&self) -> Vec<SimTime> {
        let sum = |work: &mut dyn Iterator<Item = u64>| SimTime(work.sum());
        match self.of {
            Of::Program { program, .. } => (0..program.ranks())
                .map(|rank| {
                    let work = program.of_rank(rank).filter(|op| op.kind == Kind::Work);
                    sum(&mut work.map(|op| op.value))
                })
                .collect(),
            Of::Graph(graph) => (0..graph.ranks() as usize)
                .map(|rank| {
                    let tasks = &graph.tasks[graph.starts[rank]..graph.starts[rank + 1]];
                    let work = tasks.iter().filter(|task| task.kind == TaskKind::Work);
                    sum(&mut work.map(|task| task.value))
                })
                .collect(),
        }
    }

    /// Returns the rank of a position.
    pub(crate) fn rank_of(&self, position: usize) -> usize {
        let starts = match self.of {
            Of::Program { program, .. } => &program.starts,
            Of::Graph(graph) => &graph.starts,
        };
        starts.partition_point(|start| *start <= position) - 1
    }
}

impl Recorded<'_> {
    /// Returns where an event's call comes from, if that is known.
    fn site(&self, position: usize) -> Option<Spot> {
        let event = *self.calls.get(position)?;
        let spot = self.spots.at(event)?;
        matches!(spot, Spot::Site(_)).then_some(spot)
    }
}

fn of_program(
    program: &Program,
    recording: Option<&Recorded<'_>>,
    position: usize,
) -> Option<Spot> {
    program.steps.get(position)?;
    let op = program.at(position);
    if op.kind == Kind::Work {
        let is_first = program.starts.contains(&position);
        return match position.checked_sub(1) {
            Some(before) if !is_first => of_program(program, recording, before),
            _ => Some(Spot::Begin),
        };
    }
    let name = || match op.kind {
        Kind::Collective => {
            let call = program.collectives.get(op.value as usize)?;
            Some(Spot::Call(call.kind.name(), None))
        }
        _ => Some(Spot::Call(op.name(), None)),
    };
    recording
        .and_then(|recording| recording.site(position))
        .or_else(name)
}

impl Places for RankPlaces<'_> {
    fn step(&self, event: u32) -> Step {
        let position = event as usize;
        match &self.of {
            Of::Program { program, recording } => match program.at(position).kind {
                Kind::Work | Kind::Pause => Step::Code,
                _ => Step::Call(match recording {
                    Some(recording) => recording.calls.get(position).copied().unwrap_or(event),
                    None => event,
                }),
            },
            Of::Graph(graph) => match graph.tasks.get(position) {
                Some(task) if task.kind == TaskKind::Work => Step::Code,
                _ => Step::Call(event),
            },
        }
    }

    fn at(&self, event: u32) -> Option<Spot> {
        match &self.of {
            Of::Program { program, recording } => {
                of_program(program, recording.as_ref(), event as usize)
            }
            Of::Graph(graph) => {
                let kind = graph.tasks.get(event as usize).map(|task| task.kind);
                let name = match kind {
                    Some(TaskKind::Send) => "send",
                    Some(TaskKind::Work) => "work",
                    Some(TaskKind::Receive) | None => "recv",
                };
                Some(Spot::Call(name, None))
            }
        }
    }

    fn tells_code(&self) -> bool {
        true
    }

    fn could_end(&self, event: u32, waited: &Segment) -> bool {
        let Of::Program { program, .. } = &self.of else {
            let step = self.step(event);
            return step != Step::Code;
        };
        let Some(kind) = program.steps.get(event as usize) else {
            return false;
        };
        let kind = program.distinct[*kind as usize].kind;
        match waited.state {
            State::Blocked(WaitKind::Send) => {
                matches!(kind, Kind::Receive | Kind::Wait | Kind::Collective)
            }
            State::Blocked(WaitKind::Barrier) => kind == Kind::Collective,
            _ => matches!(kind, Kind::Send | Kind::Alone | Kind::Collective),
        }
    }
}
