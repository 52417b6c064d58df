//! Several processes in one recording.

use super::super::ProcessUsage;
use super::super::layout::{Kind, OUTCOME_PENDING, OUTCOME_SUCCESS};
use super::draft::{Draft, read, read_knowing};
use crate::{Nanos, Trace};
#[test]
fn cpu_time_is_not_counted_again_when_a_program_becomes_another() {
    let first = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(0, Kind::Sync, 500, 0, 0)
        .record(100, Kind::SemPost, 64, OUTCOME_SUCCESS, 0);
    let second = Draft::new(7, 1)
        .thread(0, 7, 70)
        .record(1000, Kind::Sync, 650, 0, 0)
        .record(1010, Kind::SemPost, 64, OUTCOME_SUCCESS, 0)
        .exited(2000);
    let trace = read(&[first, second]);
    let cpu: Vec<u64> = trace
        .events
        .iter()
        .filter_map(crate::Event::cpu)
        .map(|cpu| cpu.0)
        .collect();
    assert_eq!(cpu, [600, 600, 600, 60, 60]);
    assert_eq!(trace.threads[1].name, "program-7.1/main");
    assert_eq!(trace.objects.len(), 2, "each process has its own");
}

/// The whole of a process that does nothing but exist.
fn child(pid: u32, parent: u32, begun: u64, exited: u64) -> Draft {
    Draft::new(pid, 0)
        .begun(begun, parent)
        .thread(0, pid, 70)
        .record(begun, Kind::Sync, 0, 0, 0)
        .exited(exited)
}

/// Shows who created and joined whom.
fn ties(trace: &Trace) -> Vec<String> {
    let tie = |event: &crate::Event| {
        let call = trace.call(event);
        let other = call.operation.other_thread()?;
        let other = &trace.threads[other.index()].name;
        Some(format!(
            "{} {} {other}",
            { event.time }.0,
            call.operation.name()
        ))
    };
    trace.events.iter().filter_map(tie).collect()
}

#[test]
fn the_number_of_a_process_may_be_used_again() {
    let wait = Kind::WaitProcess as u64;
    let parent = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(10, Kind::Fork, 9, OUTCOME_SUCCESS, 0)
        .record(12, Kind::WaitProcess, 9, OUTCOME_PENDING, 0)
        .record(60, Kind::Return, 9, OUTCOME_SUCCESS, wait)
        .record(70, Kind::Fork, 9, OUTCOME_SUCCESS, 0)
        .record(80, Kind::WaitProcess, 9, OUTCOME_PENDING, 0)
        .record(160, Kind::Return, 9, OUTCOME_SUCCESS, wait)
        .exited(200);
    let trace = read(&[parent, child(9, 7, 15, 50), child(9, 7, 75, 150)]);
    assert_eq!(
        ties(&trace),
        [
            "10 create program-9/main",
            "12 join program-9/main",
            "70 create program-9~2/main",
            "80 join program-9~2/main"
        ]
    );
    assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
    crate::validate(&trace).expect("names are unique");
}

#[test]
fn a_process_whose_number_was_not_told_is_the_next_that_its_parent_started() {
    let wait = Kind::WaitProcess as u64;
    // One by its number, one by `system`: the order in which they begin says nothing.
    let parent = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(10, Kind::Fork, 0, OUTCOME_SUCCESS, 0)
        .record(0, Kind::Extension, 0, 0, 0)
        .record(11, Kind::Fork, 9, OUTCOME_SUCCESS, 0)
        .record(12, Kind::WaitProcess, 0, OUTCOME_PENDING, 0)
        .record(0, Kind::Extension, 0, 0, 0)
        .record(60, Kind::Return, 0, OUTCOME_SUCCESS, wait)
        .record(61, Kind::Fork, 11, OUTCOME_SUCCESS, 0)
        .exited(200);
    let trace = read(&[parent, child(9, 7, 15, 50), child(8, 7, 20, 55)]);
    assert_eq!(
        ties(&trace),
        [
            "10 create program-8/main",
            "11 create program-9/main",
            "12 join program-8/main"
        ]
    );
    assert!(trace.warnings[0].starts_with("1 processes that were started were not recorded"));
}

#[test]
fn a_program_that_became_another_created_it() {
    let wait = Kind::WaitProcess as u64;
    let parent = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(10, Kind::Fork, 9, OUTCOME_SUCCESS, 0)
        .record(12, Kind::WaitProcess, 9, OUTCOME_PENDING, 0)
        .record(1200, Kind::Return, 9, OUTCOME_SUCCESS, wait)
        .exited(1300);
    let first = Draft::new(9, 0)
        .begun(15, 7)
        .thread(0, 9, 70)
        .record(20, Kind::MutexLock, 64, OUTCOME_SUCCESS, 0)
        .record(30, Kind::Exec, 0, OUTCOME_SUCCESS, 0);
    let second = Draft::new(9, 1)
        .begun(1000, 7)
        .thread(0, 9, 70)
        .exited(1100);
    let trace = read(&[parent, first, second]);
    assert_eq!(
        ties(&trace),
        [
            "10 create program-9/main",
            "12 join program-9.1/main",
            "1000 create program-9.1/main"
        ]
    );
}

#[test]
fn a_program_that_became_another_by_a_mere_launcher_created_it() {
    let first = Draft::new(9, 0)
        .thread(0, 9, 70)
        .record(20, Kind::MutexLock, 64, OUTCOME_SUCCESS, 0)
        .record(30, Kind::Exec, 0, OUTCOME_SUCCESS, 0);
    let launcher = |predecessors| {
        Draft::new(9, predecessors)
            .thread(0, 9, 70)
            .record(1030, Kind::Exec, 0, OUTCOME_SUCCESS, 0)
    };
    let last = Draft::new(9, 3).thread(0, 9, 70).exited(3100);
    let trace = read(&[first, launcher(1), launcher(2), last]);
    assert_eq!(ties(&trace), ["3000 create program-9.3/main"]);
    assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
}

/// Shows when threads ended, and how much of the CPU they had used then.
fn ends(trace: &Trace) -> Vec<String> {
    let end = |event: &crate::Event| {
        let call = trace.call(event);
        let cpu = event.cpu().unwrap_or_default().0;
        let thread = &trace.threads[call.thread.index()].name;
        matches!(call.operation, crate::Operation::Terminate)
            .then(|| format!("{} {thread} {cpu}", { event.time }.0))
    };
    trace.events.iter().filter_map(end).collect()
}

#[test]
fn the_end_of_a_process_takes_until_it_is_taken_down() {
    let wait = Kind::WaitProcess as u64;
    // Its children had used 2 us before as another program; the one that is waited for here used 4 and itself waited for one of 1.
    let parent = |reaped: u64| {
        Draft::new(7, 0)
            .thread(0, 7, 70)
            .record(0, Kind::Sync, 0, 0, 0)
            .record(5, Kind::Reaped, 8, 0, 2)
            .record(10, Kind::Fork, 9, OUTCOME_SUCCESS, 0)
            .record(12, Kind::WaitProcess, 9, OUTCOME_PENDING, 0)
            .record(9000, Kind::Sync, 650, 0, 0)
            .record(9000, Kind::Return, 9, OUTCOME_SUCCESS, wait)
            .record(9000, Kind::Reaped, 9, 0, reaped)
            .record(9000, Kind::Final, 700, 0, 7)
            .exited(9100)
            .used(800, 6000)
    };
    let child = |exited| {
        child(9, 7, 15, exited)
            .record(exited, Kind::Final, 2500, 0, 9)
            .used(2600, 1000)
    };
    let read = |reaped, exited, whole| {
        let trace = read_knowing(&[parent(reaped), child(exited)], whole);
        crate::validate(&trace).expect("who is waited for ends first");
        ends(&trace)
    };
    let whole = |pid| {
        Some(ProcessUsage {
            pid,
            cpu: Nanos(7000),
        })
    };
    assert_eq!(
        read(6, 4000, whole(7)),
        ["4400 program-9/main 2900", "9300 main 900"]
    );
    assert_eq!(
        read(6, 4000, whole(1)),
        ["4400 program-9/main 2900", "9100 main 700"],
        "the process that was started is not among those that were recorded"
    );
    assert_eq!(
        read(6, 8900, None),
        ["8999 program-9/main 2599", "9100 main 700"],
        "it was over before the wait for it was"
    );
    assert_eq!(
        read(2, 4000, None),
        ["4000 program-9/main 2500", "9100 main 700"],
        "children of whose end the kernel did not tell"
    );
}

#[test]
fn what_recording_cost_a_mere_launcher_is_not_the_program_s() {
    let launcher = |predecessors| {
        Draft::new(7, predecessors)
            .thread(0, 7, 70)
            .record(0, Kind::Sync, 500, 0, 0)
            .record(0, Kind::Overhead, 300, 0, 0)
            .record(1, Kind::Exec, 0, OUTCOME_SUCCESS, 0)
    };
    let program = Draft::new(7, 2)
        .thread(0, 7, 70)
        .record(1000, Kind::Sync, 2000, 0, 0)
        .record(1000, Kind::Overhead, 100, 0, 0)
        .record(1010, Kind::SemPost, 64, OUTCOME_SUCCESS, 0)
        .exited(2000);
    let trace = read(&[launcher(0), launcher(1), program]);
    assert_eq!(trace.threads.len(), 1);
    assert_eq!(trace.events[0].cpu(), Some(Nanos(1310)));
    let recorder = trace.recording.map(|facts| facts.recorder_cpu);
    assert_eq!(recorder, Some(Nanos(700)));
}
