//! Message queues and System V's semaphores, shared by processes.

use crate::harness::record;
use foretrace_program::Program;
use foretrace_sim::{Machine, predict_all};

#[test]
fn queues_and_sets_of_semaphores_are_the_same_for_all_processes() {
    let run = record("shared_queues.c");
    assert_eq!(run.stdout(), "status 0\n");
    let child = &run.trace.threads[1].name;
    let lines = |thread: &str| {
        let mut lines = run.lines(thread);
        lines.retain(|line| !line.starts_with("io") && !line.starts_with("sleep"));
        lines
    };
    let sent = lines("main");
    let is_gift = |line: &&String| line.starts_with("queue_send") || line.starts_with("sem_post");
    assert_eq!(
        sent.iter().filter(is_gift).collect::<Vec<_>>(),
        [
            "queue_send queue1",
            "queue_send queue1",
            "queue_send queue1",
            "queue_send queue2",
            "sem_post semaphore1",
            "sem_post semaphore1",
            "sem_post semaphore1",
            "sem_post semaphore2"
        ]
    );
    let got = lines(child);
    let is_gain = |line: &&String| line.starts_with("queue_r") || line.starts_with("sem_wait");
    assert_eq!(
        got.iter().filter(is_gain).collect::<Vec<_>>(),
        [
            "queue_receive queue1",
            "queue_receive queue1",
            "queue_receive queue1",
            "queue_receive queue2",
            "sem_wait semaphore1",
            "sem_wait semaphore1",
            "sem_wait semaphore1",
            "sem_wait semaphore2"
        ]
    );
    assert_eq!(got[..2], ["queue_receive queue1", "return"]);
    let semaphores = run.trace.objects.iter().map(|object| object.initial);
    assert_eq!(
        semaphores.collect::<Vec<_>>(),
        [None, None, Some(2), Some(0)]
    );
    // Every model goes through, as the recorded run did.
    let program = Program::from_trace(&run.trace);
    for cpus in [1, 2] {
        let prediction = predict_all(&program, &Machine::new(cpus, &program));
        for attempt in prediction.attempts {
            assert!(attempt.run.is_complete(), "{attempt:?}");
        }
    }
}
