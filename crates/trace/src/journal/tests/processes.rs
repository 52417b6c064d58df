//! Several processes in one recording.

use super::super::layout::{Kind, OUTCOME_PENDING, OUTCOME_SUCCESS};
use super::draft::{Draft, read};
use crate::Trace;
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
