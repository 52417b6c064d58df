//! Takes from a queue that a lock guards.

use foretrace_program::Program;
use foretrace_testkit::trace;

/// B and C each take from a queue under a lock, and do these other things then; in a recording or in a listing by hand. Returns what B does.
fn taken(others: &[&str], recorded: bool) -> Vec<&'static str> {
    let mut rows = vec!["foretrace-text 1".to_owned(), "returns explicit".to_owned()];
    if recorded {
        rows.extend([
            "recording command prog".to_owned(),
            "recording cpu 0".to_owned(),
        ]);
    }
    rows.extend(["A", "B", "C"].map(|thread| format!("thread {thread}")));
    rows.push("semaphore queue 0".to_owned());
    let calls = ["B", "C"].into_iter().flat_map(|thread| {
        let own = ["lock m", "sem_wait queue", "unlock m"];
        let all = own.into_iter().chain(others.iter().copied());
        all.map(move |call| format!("{thread} {call}"))
    });
    let calls = [
        "A create B",
        "A create C",
        "A sem_post queue",
        "A sem_post queue",
    ]
    .map(ToOwned::to_owned)
    .into_iter()
    .chain(calls)
    .chain(["A", "B", "C"].map(|thread| format!("{thread} terminate")));
    rows.extend(
        calls
            .enumerate()
            .map(|(now, call)| format!("{now} {call} cpu={now}")),
    );
    let program = Program::from_trace(&trace(&(rows.join("\n") + "\n")));
    let operations = program.threads[1].operations.clone();
    operations
        .map(|position| program.operation_name(position))
        .collect()
}

#[test]
fn who_waits_for_a_lock_to_take_waits_for_what_is_taken() {
    let taken = taken(&[], true);
    assert_eq!(taken, ["sem_wait", "lock", "unlock", "terminate"]);
}

#[test]
fn a_lock_with_other_uses_is_locked_first() {
    let first = ["lock", "sem_wait", "unlock"];
    assert_eq!(taken(&["lock m", "unlock m"], true)[..3], first);
    // Or where something is taken without it.
    assert_eq!(
        taken(&["sem_post queue", "sem_wait queue"], true)[..3],
        first
    );
    assert_eq!(taken(&[], false)[..3], first);
}
