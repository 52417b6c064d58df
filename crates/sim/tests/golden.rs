//! Independently computed results that the simulator must reproduce: makespans, finish times, deadlock instants and
//! timelines, for abstract processes and for threads.

mod cases;

use cases::{Case, Expected, pthread_cases, vppb_generated, vppb_paper};
use foretrace_program::Program;
use foretrace_schedule::{Outcome, Schedule, State, WaitKind};
use foretrace_sim::{Bind, Machine, ModelKind, SchedulerKind, schedule};

fn check(case: &Case) {
    let trace = foretrace_trace::text::parse(&case.text, &case.name)
        .unwrap_or_else(|error| panic!("{}: {error}\n{}", case.name, case.text));
    let program = Program::from_trace(&trace);
    assert!(!case.runs.is_empty(), "{} holds no runs", case.name);
    for run in &case.runs {
        let machine = Machine {
            scheduler: SchedulerKind::Priority,
            bind: if run.block { Bind::Block } else { Bind::None },
            ..Machine::new(run.cpus, &program)
        };
        let label = format!("{} {}", case.name, run.key);
        let got = schedule(&program, &machine, run.model);
        check_run(&label, &got, &run.expected, case.abstract_processes);
    }
}

fn check_run(label: &str, got: &Schedule, expected: &Expected, abstract_processes: bool) {
    assert_eq!(
        got.outcome == Outcome::Completed,
        expected.completed,
        "{label}: outcome {:?}",
        got.outcome
    );
    assert_eq!(
        got.end.as_nanos(),
        expected.last_event,
        "{label}: last event"
    );
    for lane in &got.lanes {
        let finish = expected.finish.get(&lane.name).copied().flatten();
        assert_eq!(
            lane.end.map(foretrace_schedule::SimTime::as_nanos),
            finish,
            "{label}: end of {}",
            lane.name
        );
        if let Some(timeline) = expected.timelines.get(&lane.name) {
            let mut drawn: Vec<(String, u64, u64)> = Vec::new();
            for segment in &lane.segments {
                let state = state_name(segment.state, abstract_processes).to_owned();
                let (start, end) = (segment.start.as_nanos(), segment.end.as_nanos());
                match drawn.last_mut() {
                    Some(last) if last.0 == state => last.2 = end,
                    _ => drawn.push((state, start, end)),
                }
            }
            let wanted: Vec<(String, u64, u64)> = timeline
                .iter()
                .map(|(state, start, end)| {
                    (state.clone(), *start, end.unwrap_or(expected.last_event))
                })
                .filter(|(_, start, end)| start < end)
                .collect();
            assert_eq!(drawn, wanted, "{label}: timeline of {}", lane.name);
        }
    }
    if let Outcome::Deadlock(blocked) = &got.outcome {
        let got_blocked: Vec<(String, String, u64)> = blocked
            .iter()
            .filter(|thread| thread.operation != "unborn")
            .map(|thread| {
                (
                    thread.thread.clone(),
                    thread.operation.clone(),
                    thread.since.as_nanos(),
                )
            })
            .collect();
        assert_eq!(got_blocked, expected.blocked, "{label}: blocked threads");
    }
}

fn state_name(state: State, abstract_processes: bool) -> &'static str {
    match state {
        State::Running(_) => "run",
        State::Ready => "ready",
        State::Blocked(WaitKind::Send) => "act",
        State::Blocked(_) if abstract_processes => "wait",
        State::Blocked(_) => "block",
    }
}

#[test]
fn the_papers_programs_run_as_published() {
    for case in vppb_paper() {
        check(&case);
    }
}

#[test]
fn generated_programs_run_as_an_independent_implementation_says() {
    for case in vppb_generated() {
        check(&case);
    }
}

#[test]
fn thread_programs_run_as_an_independent_implementation_says() {
    for case in pthread_cases() {
        check(&case);
    }
}

#[test]
fn the_scheme_falls_back_as_the_paper_says() {
    use foretrace_sim::{Choice, predict};
    let answers = [
        ("P", 2, true, ModelKind::Direct, 10),
        ("Q", 3, false, ModelKind::ClientServer, 10),
    ];
    let answers = answers
        .into_iter()
        .chain([("R", 4, false, ModelKind::Strict, 21)]);
    for (name, cpus, block, model, makespan) in answers {
        let case = vppb_paper()
            .into_iter()
            .find(|case| case.name == name)
            .expect("the paper's three");
        let trace = foretrace_trace::text::parse(&case.text, name).expect("a valid trace");
        let program = Program::from_trace(&trace);
        let bind = if block { Bind::Block } else { Bind::None };
        let machine = Machine {
            bind,
            ..Machine::new(cpus, &program)
        };
        let prediction = predict(&program, &machine, Choice::Auto);
        let answered = prediction
            .answered()
            .expect("strict sequence answers at last");
        assert_eq!(
            (answered.model, answered.run.end.as_nanos()),
            (model, makespan),
            "{name}"
        );
    }
}
