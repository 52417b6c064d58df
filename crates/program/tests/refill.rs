//! Where in a recording threads filled caches that others had emptied.

use foretrace_program::take_out_refills;
use foretrace_testkit::trace;
use foretrace_trace::Trace;

/// Two threads that take turns of 10, and one of them for 20 more.
const TURNS: &str = "foretrace-text 1\nreturns explicit\nmodule a /a\nthread main\nthread A start=a+0x10\n\
    0 main create A cpu=0\n10 A lock m cpu=0\n20 A unlock m cpu=10\n30 main lock n cpu=20\n40 A lock m cpu=20\n\
    40 A terminate cpu=20\n60 main terminate cpu=40\n";

fn cpu_times(trace: &Trace) -> Vec<u64> {
    let events = trace.events.iter();
    events
        .map(|event| event.cpu().unwrap_or_default().0)
        .collect()
}

#[test]
fn refills_are_taken_out_of_what_was_done_after_others_ran() {
    let mut trace = trace(TURNS);
    let before = cpu_times(&trace);
    assert_eq!(take_out_refills(&mut trace, 0), 0);
    assert_eq!(cpu_times(&trace), before);
    // A tenth of all 60 is 6.
    let rate = take_out_refills(&mut trace, 100_000_000);
    assert!(rate > 100_000_000, "{rate}");
    let after = cpu_times(&trace);
    let [main, other] = [after[6], after[5]];
    assert!((53..=55).contains(&(main + other)), "{after:?}");
    // Both took turns with the other; main's last 20 alone came after 10 of A's at most.
    assert!(other < 20 && main < 40, "{after:?}");
    assert!(after[6] - after[3] >= 15, "{after:?}");
}

#[test]
fn what_a_thread_did_before_its_first_event_was_done_in_turns_as_well() {
    // A works 50 while main works 50, and calls nothing until the end.
    let mut trace = trace(
        "foretrace-text 1\nreturns explicit\nthread main\nthread A\n10 main create A cpu=10\n60 main lock m cpu=35\n\
         110 A terminate cpu=50\n110 main unlock m cpu=60\n110 main terminate cpu=60\n",
    );
    let rate = take_out_refills(&mut trace, 100_000_000);
    let after = cpu_times(&trace);
    // A tenth of 110, of the 100 that were done in turns.
    assert!((105_000_000..=115_000_000).contains(&rate), "{rate}");
    assert_eq!(after[0], 10);
    assert!(
        (44..=46).contains(&after[2]) && (54..=56).contains(&after[4]),
        "{after:?}"
    );
}

#[test]
fn a_thread_that_never_shared_its_cpu_refilled_nothing() {
    let mut trace = trace(
        "foretrace-text 1\nreturns explicit\nthread main\n0 main lock m cpu=0\n50 main unlock m cpu=50\n60 main terminate cpu=60\n",
    );
    let before = cpu_times(&trace);
    assert_eq!(take_out_refills(&mut trace, 500_000_000), 0);
    assert_eq!(cpu_times(&trace), before);
}
