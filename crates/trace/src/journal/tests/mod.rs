//! Journals made by hand, whole and damaged.

mod damage;
mod draft;
mod processes;
mod sections;
mod waits;

use super::layout::{Header, Kind, OUTCOME_PENDING, OUTCOME_SUCCESS};
use crate::{Nanos, Operation, Outcome};
use draft::{Draft, lines, read, small};
use std::mem::offset_of;
#[test]
fn times_and_cpu_times_come_from_the_counter() {
    let trace = read(&[small()]);
    assert_eq!(
        lines(&trace),
        ["10 main lock", "30 main unlock", "100 main terminate"]
    );
    let cpu: Vec<_> = trace.events.iter().map(crate::Event::cpu).collect();
    assert_eq!(cpu, [Some(Nanos(510)), Some(Nanos(530)), Some(Nanos(530))]);
    assert!(trace.warnings.is_empty());
}

#[test]
fn what_the_recorder_used_is_taken_out() {
    let mut draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(0, Kind::Sync, 500, 0, 40)
        .record(10, Kind::MutexLock, 64, OUTCOME_SUCCESS, 0)
        .record(20, Kind::Overhead, 100, 0, 0)
        .record(230, Kind::MutexUnlock, 64, OUTCOME_SUCCESS, 0)
        .exited(300);
    draft.long(offset_of!(Header, record_cost), 5 * 16);
    let trace = read(&[draft]);
    let cpu: Vec<u64> = trace
        .events
        .iter()
        .filter_map(crate::Event::cpu)
        .map(|cpu| cpu.0)
        .collect();
    // 40 ticks of the clock's reading; 5 for the first event; 100 of other work.
    assert_eq!(cpu, [510 - 40, 730 - 40 - 5 - 100, 730 - 40 - 5 - 100]);
}

#[test]
fn what_hooks_of_mpi_take_between_calls_is_taken_out() {
    let call = Kind::Mpi as u64;
    let mut draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(0, Kind::Sync, 500, 0, 0)
        .record(10, Kind::Mpi, 9_999, OUTCOME_PENDING, 0)
        .record(100, Kind::Return, 9_999, OUTCOME_SUCCESS, call)
        .record(150, Kind::SemPost, 64, OUTCOME_SUCCESS, 0)
        .exited(300);
    draft.long(offset_of!(Header, record_cost), 5 * 16);
    draft.long(offset_of!(Header, message_cost), 30 * 16);
    let trace = read(&[draft]);
    let post = trace
        .events
        .iter()
        .find(|event| matches!(trace.call(event).operation, crate::Operation::SemPost(_)));
    // 5 for the call's record, within the call; 30 from its return on.
    let cpu = post.and_then(crate::Event::cpu);
    assert_eq!(cpu, Some(Nanos(650 - 5 - 30)));
}

#[test]
fn threads_are_merged_by_time_and_joined_by_their_pthread() {
    let draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(5, Kind::Create, 1, OUTCOME_SUCCESS, 0)
        .record(6, Kind::Join, 99, OUTCOME_PENDING, 0)
        .record(40, Kind::Return, 99, OUTCOME_SUCCESS, Kind::Join as u64)
        .record(50, Kind::Join, 12345, OUTCOME_PENDING, 0)
        .record(51, Kind::Return, 12345, 16 + 3, Kind::Join as u64)
        .thread(1, 8, 99)
        .record(20, Kind::SemPost, 64, OUTCOME_SUCCESS, 0)
        .record(30, Kind::Terminate, 0, OUTCOME_SUCCESS, 0)
        .exited(100);
    let trace = read(&[draft]);
    assert_eq!(
        lines(&trace),
        [
            "5 main create",
            "6 main join",
            "20 T1 sem_post",
            "30 T1 terminate",
            "40 main return",
            "100 main terminate"
        ]
    );
    let joined = trace.calls.iter().find_map(|call| match call.operation {
        Operation::Join(thread) => Some(thread.index()),
        _ => None,
    });
    assert_eq!(joined, Some(1));
    assert_eq!(
        trace.warnings.len(),
        1,
        "the second join was of nobody known"
    );
}

#[test]
fn a_handlers_call_stands_before_the_wait_that_it_interrupted() {
    let draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(10, Kind::SemWait, 64, OUTCOME_PENDING, 0)
        .record(20, Kind::SemPost, 64, OUTCOME_SUCCESS, 0)
        .record(30, Kind::Return, 64, OUTCOME_SUCCESS, Kind::SemWait as u64)
        .exited(100);
    let trace = read(&[draft]);
    assert_eq!(
        lines(&trace),
        [
            "20 main sem_post",
            "20 main sem_wait",
            "30 main return",
            "100 main terminate"
        ]
    );
}

#[test]
fn who_waits_for_a_condition_has_given_its_mutex_up_before_a_handler_calls() {
    let draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(5, Kind::MutexLock, 64, OUTCOME_SUCCESS, 0)
        .record(10, Kind::CondWait, 128, OUTCOME_PENDING, 0)
        .record(0, Kind::Extension, 64, 0, 0)
        .record(20, Kind::SemPost, 192, OUTCOME_SUCCESS, 0)
        .record(25, Kind::SemPost, 192, OUTCOME_SUCCESS, 0)
        .record(
            30,
            Kind::Return,
            128,
            OUTCOME_SUCCESS,
            Kind::CondWait as u64,
        )
        .exited(100);
    let trace = read(&[draft]);
    assert_eq!(
        lines(&trace),
        [
            "5 main lock",
            "10 main unlock",
            "20 main sem_post",
            "25 main sem_post",
            "25 main lock",
            "25 main cond_wait",
            "30 main return",
            "100 main terminate"
        ]
    );
}

#[test]
fn a_wait_that_never_came_back_acquired_nothing() {
    let draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(10, Kind::MutexLock, 64, OUTCOME_PENDING, 0)
        .thread(1, 8, 80)
        .record(15, Kind::BarrierWait, 128, OUTCOME_PENDING, 0)
        .exited(100);
    let trace = read(&[draft]);
    assert_eq!(
        lines(&trace),
        [
            "10 main lock",
            "10 main return",
            "15 T1 barrier_wait",
            "100 T1 terminate",
            "100 main terminate"
        ]
    );
    let outcome = trace.call(&trace.events[1]).outcome;
    assert_eq!(outcome, Outcome::Failed(4));
}

#[test]
fn a_futexs_wake_up_tells_how_many_it_woke_and_a_wait_at_the_end_stands_alone() {
    let draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(10, Kind::FutexWait, 64, OUTCOME_PENDING, 0)
        .record(
            30,
            Kind::Return,
            64,
            OUTCOME_SUCCESS,
            Kind::FutexWait as u64,
        )
        .record(40, Kind::FutexTimedWait, 64, OUTCOME_PENDING, 0)
        .thread(1, 8, 80)
        .record(20, Kind::FutexWake, 64, OUTCOME_SUCCESS, 0)
        .record(0, Kind::Extension, 2, 0, 0)
        .exited(100);
    let trace = read(&[draft]);
    assert_eq!(
        lines(&trace),
        [
            "10 main futex_wait",
            "20 T1 futex_wake",
            "30 main return",
            "40 main futex_timedwait",
            "100 T1 terminate",
            "100 main terminate"
        ]
    );
    let woken = trace.call(&trace.events[1]).operation;
    assert!(
        matches!(woken, Operation::FutexWake { woken: 2, .. }),
        "{woken:?}"
    );
    assert!(
        trace.warnings[0].contains("futexes"),
        "{:?}",
        trace.warnings
    );
    assert_eq!(trace.warnings.len(), 1);
}

#[test]
fn yields_are_no_events_but_many_are_told() {
    let yields = |bursts: u64, each: u64| {
        let mut draft = Draft::new(7, 0).thread(0, 7, 70);
        for burst in 0..bursts {
            draft = draft
                .record(10 + burst, Kind::Yield, 0, OUTCOME_SUCCESS, 0)
                .record(0, Kind::Extension, each, 0, 0);
        }
        read(&[draft.exited(100)])
    };
    let few = yields(3, 2);
    assert_eq!(lines(&few), ["100 main terminate"]);
    assert!(few.warnings.is_empty(), "{:?}", few.warnings);
    let many = yields(3, 2000);
    assert_eq!(lines(&many), ["100 main terminate"]);
    let [warning] = many.warnings.as_slice() else {
        panic!("one warning, not {:?}", many.warnings);
    };
    assert!(
        warning.contains("main spun by sched_yield, 6000 times"),
        "{warning}"
    );
}
