//! The CPU time of waits after which it was not read.

use super::super::layout::{self, Header, Kind, OUTCOME_PENDING, OUTCOME_SUCCESS, Unread};
use super::draft::{Draft, lines, read, small};
use crate::Trace;
use std::mem::offset_of;
/// A thread that read its CPU time at 0, and waited twice, unwatched for 200 and for 30 ticks, without reading it.
fn two_waits() -> Draft {
    let unread = |ticks| Unread { ticks, own: 2 }.pack(Kind::SemWait);
    Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(0, Kind::Sync, 500, 0, 0)
        .record(100, Kind::SemWait, 64, OUTCOME_PENDING, 0)
        .record(300, Kind::Return, 64, OUTCOME_SUCCESS, unread(200))
        .record(400, Kind::SemWait, 64, OUTCOME_PENDING, 0)
        .record(430, Kind::Return, 64, OUTCOME_SUCCESS, unread(30))
        .record(530, Kind::SemWait, 64, OUTCOME_PENDING, 0)
}

fn cpu_times(trace: &Trace) -> Vec<u64> {
    let times = trace.events.iter().filter_map(crate::Event::cpu);
    times.map(|cpu| cpu.0).collect()
}

#[test]
fn what_waits_used_together_is_shared_out_among_them() {
    let sem_wait = Kind::SemWait as u64;
    // 300 ticks watched and 100 in three waits: 30 in the one that was no longer, 35 in the others. Of each of the first
    // two, 2 were the recorder's.
    let draft = two_waits()
        .record(800, Kind::Sync, 900, 0, 0)
        .record(800, Kind::Return, 64, OUTCOME_SUCCESS, sem_wait)
        .exited(900);
    let times = cpu_times(&read(&[draft]));
    assert_eq!(times, [600, 633, 733, 761, 861, 896, 896]);
}

#[test]
fn waits_get_what_they_usually_get_where_the_thread_then_lost_its_cpu_in_its_own_work() {
    let sem_wait = Kind::SemWait as u64;
    let unread = Unread { ticks: 100, own: 0 };
    // The first wait used 10. After the second the thread worked on for a time that nobody knows: 20 ticks are left.
    let draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(0, Kind::Sync, 0, 0, 0)
        .record(0, Kind::SemWait, 64, OUTCOME_PENDING, 0)
        .record(
            100,
            Kind::Return,
            64,
            OUTCOME_SUCCESS,
            unread.pack(Kind::SemWait),
        )
        .record(100, Kind::SemWait, 64, OUTCOME_PENDING, 0)
        .record(200, Kind::Sync, 20, 0, 0)
        .record(200, Kind::Return, 64, OUTCOME_SUCCESS, sem_wait)
        .record(210, Kind::SemWait, 64, OUTCOME_PENDING, 0)
        .record(
            310,
            Kind::Return,
            64,
            OUTCOME_SUCCESS,
            unread.pack(Kind::SemWait),
        )
        .record(400, Kind::Sync, 60, 0, 0)
        .record(410, Kind::SemPost, 64, OUTCOME_SUCCESS, 0)
        .exited(500);
    let times = cpu_times(&read(&[draft]));
    assert_eq!(times, [0, 10, 10, 20, 30, 40, 70, 70]);
}

#[test]
fn a_first_wait_gets_little_where_the_thread_then_lost_its_cpu_in_its_own_work() {
    let unread = |ticks| Unread { ticks, own: 0 }.pack(Kind::MutexLock);
    // Of 500,000 ticks that were used, the wait may have used 300,000 and the work after it 700,000.
    let draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(0, Kind::Sync, 0, 0, 0)
        .record(0, Kind::MutexLock, 64, OUTCOME_PENDING, 0)
        .record(300_000, Kind::Return, 64, OUTCOME_SUCCESS, unread(300_000))
        .record(1_000_000, Kind::Sync, 500_000, 0, 0)
        .record(1_000_010, Kind::MutexUnlock, 64, OUTCOME_SUCCESS, 0)
        .exited(1_000_100);
    assert_eq!(cpu_times(&read(&[draft]))[..3], [0, 3_000, 500_010]);
}

#[test]
fn the_waits_of_a_program_that_was_killed_get_none() {
    let trace = read(&[two_waits()]);
    assert_eq!(cpu_times(&trace)[..4], [600, 600, 698, 698]);
}

#[test]
fn journals_of_the_first_version_are_read() {
    let mut draft = small();
    draft.short(offset_of!(Header, version), layout::FIRST_VERSION);
    assert_eq!(lines(&read(&[draft])).len(), 3);
}
