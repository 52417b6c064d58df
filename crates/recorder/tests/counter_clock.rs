//! Records in this process, with the clock for kernels and C libraries without rseq.
#![expect(unsafe_code, reason = "the shared part looks a symbol up")]

mod common;

use common::{check_fork, check_intervals, check_migration, start, trace};
use foretrace_trace::ThreadClock;

#[test]
fn intervals_of_work_and_sleep_are_told_apart() {
    start(false);
    std::thread::spawn(|| check_intervals(0x1000))
        .join()
        .expect("the intervals agree");
    let clock = trace().recording.map(|recording| recording.clock);
    assert_eq!(clock, Some(ThreadClock::Counter));
}

#[test]
fn threads_keep_their_times_on_every_cpu_that_they_are_sent_to() {
    start(false);
    check_migration(0x6000);
}

#[test]
fn both_sides_of_a_fork_have_their_own_times() {
    start(false);
    std::thread::spawn(|| check_fork(0x6100))
        .join()
        .expect("both agree");
}
