//! Records in this process, with the clock for kernels and C libraries without rseq.
#![expect(unsafe_code, reason = "the shared part looks a symbol up")]

mod common;

use common::{check_intervals, start, trace};
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
