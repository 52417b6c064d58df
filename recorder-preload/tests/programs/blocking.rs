//! Calls that block outside the program: input and output, sleeping.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use foretrace_trace::Operation;

use crate::harness::{Run, compile, record, record_command};

#[test]
fn calls_that_are_seldom_made_do_as_they_do_unrecorded() {
    let run = record("unusual_calls.c");
    assert!(run.stdout().starts_with("flushed 0, read 300000\n"));
    assert_eq!(run.count("create T1"), 1);
    assert_eq!(run.count("io write"), 1, "the flush waited for the reader");
}

/// What the first thread of `blocked_calls.c` is blocked in.
const BLOCKED: [&str; 25] = [
    "create T1",
    "io read pipe",
    "return",
    "pipe_read pipe1",
    "io read socket",
    "return",
    "pipe_read pipe2",
    "io read event",
    "return",
    "pipe_read pipe3",
    "io read pipe",
    "return",
    "pipe_read pipe1",
    "io read pipe",
    "return",
    "pipe_read pipe1",
    "join T1",
    "return",
    "io read timer",
    "return",
    "io poll",
    "return timedout",
    "sleep",
    "return",
    "terminate",
];

#[test]
fn calls_that_block_are_told_with_what_they_waited_for_and_others_are_not() {
    let run = record("blocked_calls.c");
    assert_eq!(run.stdout(), "200020 bytes, 0 ready\n");
    assert_eq!(run.lines("main"), BLOCKED);
}

#[test]
fn sleeps_are_told_with_how_long_they_were_to_be() {
    let run = record("sleeps.c");
    let asked: Vec<u64> = run
        .trace
        .calls
        .iter()
        .filter_map(|call| match call.operation {
            Operation::SleepFor(asked) => Some(asked.0),
            _ => None,
        })
        .collect();
    let (&until, asked) = asked.split_last().expect("sleeps");
    let millis: Vec<u64> = asked.iter().map(|asked| asked / 1_000_000).collect();
    // Four functions for sleeping, four that wait for no file, and one for seconds.
    assert_eq!(millis, [2, 3, 4, 5, 6, 7, 8, 9, 1_000]);
    // Some of the second until then had passed when it was asked for.
    assert!((500_000_000..1_000_000_000).contains(&until), "{until}");
}

#[test]
fn a_read_that_was_cancelled_is_told_whole() {
    let run = record("cancelled_read.c");
    assert_eq!(run.stdout(), "cancelled 1\n");
    assert_eq!(
        run.lines_without_once("T1"),
        ["io read pipe", "return failed:125", "terminate"]
    );
}

#[test]
fn without_rseq_the_same_calls_are_told() {
    let program = compile("blocked_calls.c", "blocked_without_rseq", &[]);
    let run = record_command(&program, &[], &[("GLIBC_TUNABLES", "glibc.pthread.rseq=0")]);
    assert_eq!(run.stdout(), "200020 bytes, 0 ready\n");
    // This clock takes a wait for a page for one in the long call that follows; the many calls may get such a one.
    let lines = run.lines("main");
    let mut lines = lines.as_slice();
    let mut told = Vec::new();
    while let [first, rest @ ..] = lines {
        let is_device = first.ends_with("device");
        lines = if is_device { &rest[1..] } else { rest };
        told.extend((!is_device).then_some(first));
    }
    assert_eq!(told, BLOCKED.iter().collect::<Vec<_>>());
}

/// Records `connections.c` with some arguments.
fn connected(arguments: &[&str]) -> Run {
    // Tests may compile it at once.
    let program = compile("connections.c", &arguments.join("_"), &[]);
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    record_command(&program, &arguments, &[])
}

/// Returns how many bytes were written to each pipe and read from it.
fn moved(run: &Run) -> Vec<(u64, u64)> {
    let mut pipes: BTreeMap<_, (u64, u64)> = BTreeMap::new();
    for event in &run.trace.events {
        match run.trace.call(event).operation {
            Operation::PipeWrite { pipe, bytes } => {
                pipes.entry(pipe).or_default().0 += u64::from(bytes);
            }
            Operation::PipeRead { pipe, bytes } => {
                pipes.entry(pipe).or_default().1 += u64::from(bytes);
            }
            _ => {}
        }
    }
    pipes.into_values().collect()
}

#[test]
fn what_goes_through_connections_within_a_recording_is_told_at_both_ends() {
    for how in ["tcp", "local", "ready", "processes", "late"] {
        let run = connected(&[how, "3", "20000"]);
        assert_eq!(run.stdout(), "answered\n", "{how}");
        let mut moved = moved(&run);
        moved.sort_unstable();
        // Three connections, and ten questions and answers of 32 bytes through each.
        let mut expected = vec![(320, 320); 7];
        expected[0] = (3, 3);
        assert_eq!(moved, expected, "{how}");
    }
}

#[test]
fn connections_to_what_nobody_records_are_not_told() {
    let run = connected(&["outside", "3", "20000"]);
    assert_eq!(run.stdout(), "answered\n");
    assert_eq!(moved(&run), []);
}

#[test]
fn connections_that_nobody_takes_fail_as_without_a_recorder() {
    let run = connected(&["refused"]);
    assert_eq!(
        run.stdout(),
        "refused: 1\nwithout an address: 1\nno such file: 1\n"
    );
    let mut lines = run.lines("main");
    lines.retain(|line| line.starts_with("pipe"));
    // Somebody had listened there.
    assert_eq!(lines, ["pipe_write pipe1 failed:111"]);
}

#[test]
fn what_came_of_a_call_is_recorded_however_much_its_thread_recorded_meanwhile() {
    let run = record("handlers_in_long_calls.c");
    assert_eq!(
        run.stdout(),
        "wrote 65536 4096\nsent -1 Connection timed out\nchild 3\n"
    );
    assert_eq!(
        run.trace
            .recording
            .as_ref()
            .map(|recording| recording.lost_events),
        Some(0)
    );
    assert_eq!(moved(&run), [(69632, 69632)]);
    assert_eq!(run.count("queue_send queue1"), 2);
    assert_eq!(run.count("queue_send queue1 timedout"), 1);
    assert_eq!(run.count("sem_post semaphore1"), 8 * 40_000);
    // The record of the fork names the child.
    let child = run.trace.processes[1].pid.expect("recorded");
    let create = format!("create handlers_in_long_calls-{child}/main");
    assert_eq!(run.count(&create), 1);
}
