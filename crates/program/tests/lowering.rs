//! What events become, and which releases acquisitions are found to have waited for.

use std::fmt::Write as _;

use foretrace_program::{Action, Program};
use foretrace_testkit::trace;

/// Lowers a trace and writes each thread's operations as `name subject`, its work before it where there is any, and
/// after `<-` what it waited for: `thread.position`.
fn lowered(text: &str) -> Vec<String> {
    let program = Program::from_trace(&trace(text));
    let place = |operation: u32| {
        let thread = program
            .threads
            .iter()
            .find(|thread| thread.operations.contains(&operation))
            .expect("a thread");
        format!("{}.{}", thread.name, operation - thread.operations.start)
    };
    let mut lines = Vec::new();
    for thread in &program.threads {
        let mut line = thread.name.clone();
        for position in thread.operations.clone() {
            let operation = program.operations.get(position);
            line.push_str("; ");
            if operation.work_nanos > 0 {
                write!(line, "{} ", operation.work_nanos).expect("a string");
            }
            line.push_str(program.operation_name(position));
            if let Action::Broadcast { woken, .. } = operation.action {
                write!(line, " {woken}").expect("a string");
            }
            if let Action::Delay(index) = operation.action {
                write!(line, " {}", program.delays[index as usize].nanos).expect("a string");
            }
            for &release in program.requirements_of(position) {
                write!(line, " <-{}", place(release)).expect("a string");
            }
        }
        lines.push(line);
    }
    lines
}

#[test]
fn time_between_rows_of_a_listing_is_work_of_the_later_rows_thread() {
    let rows = "process A\nprocess B\n2 A create B\n5 B terminate\n9 A join B\n9 A terminate\n";
    assert_eq!(
        lowered(rows),
        ["A; 2 create; 4 join; terminate", "B; 3 terminate"]
    );
}

#[test]
fn counted_sections_are_as_many_as_there_were_up_to_some_millions_and_lose_none_of_it() {
    let few = "process A\nreturns explicit\n9 A lock_sections m 2 held=4 cpu=25000\n9 A terminate cpu=25000\n";
    assert_eq!(
        lowered(few),
        ["A; 12498 lock; 2 unlock; 12498 lock <-A.1; 2 unlock; terminate"]
    );
    let many = "process A\nreturns explicit\n9 A lock_sections m 4 held=1 cpu=8\n9 A lock_sections m 11999997 held=0 cpu=8\n9 A terminate cpu=8\n";
    let many = lowered(many);
    // Four sections are one.
    assert!(many[0].starts_with("A; 7 lock; 1 unlock; lock <-A.1; unlock; lock <-A.3;"));
    assert_eq!(many[0].matches("unlock").count(), 3_000_001);
    let none =
        "process A\nreturns explicit\n9 A lock_sections m 0 held=9 cpu=20\n9 A terminate cpu=20\n";
    assert_eq!(lowered(none), ["A; 20 terminate"]);
}

#[test]
fn recorded_cpu_time_counts_instead_of_the_time_between_rows() {
    let rows = "process A\nreturns explicit\n100 A lock m cpu=7\n900 A unlock m cpu=19\n900 A terminate cpu=20\n";
    assert_eq!(lowered(rows), ["A; 7 lock; 12 unlock; 1 terminate"]);
}

#[test]
fn cpu_time_inside_a_blocking_call_is_work_after_it_but_not_in_a_spin_lock() {
    let blocked = "process A\nreturns explicit\n1 A sem_wait s cpu=1\n9 A return cpu=4\n12 A terminate cpu=6\n";
    assert_eq!(lowered(blocked), ["A; 1 sem_wait; 5 terminate"]);
    let spun = "process A\nreturns explicit\n1 A spin_lock s cpu=1\n9 A return cpu=4\n12 A terminate cpu=6\n";
    assert_eq!(lowered(spun), ["A; 1 spin_lock; 2 terminate"]);
}

#[test]
fn nested_locks_and_failed_tries_are_nothing_that_others_notice() {
    let rows = "process A\nprocess B\n0 A create B\n0 A lock m\n0 A lock m\n0 A unlock m\n0 B trylock m busy\n\
                0 A unlock m\n0 B lock m\n0 B unlock m\n0 A terminate\n0 B terminate\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; lock; pass; pass; unlock; terminate",
            "B; pass; lock <-A.4; unlock; terminate"
        ]
    );
}

#[test]
fn a_signal_wakes_the_waiter_that_came_back_first() {
    let rows = "process S\nprocess A\nprocess B\n0 S create A\n0 S create B\n1 A lock m\n1 A cond_wait c m\n2 B lock m\n\
                2 B cond_wait c m\n3 S lock m\n3 S cond_signal c\n3 S unlock m\n4 B unlock m\n5 S cond_signal c\n\
                6 A unlock m\n6 S cond_signal c\n6 A terminate\n6 B terminate\n6 S terminate\n";
    assert_eq!(
        lowered(rows),
        [
            "S; create; create; 1 lock <-B.1; cond_signal; unlock; 1 cond_signal; pass; terminate",
            "A; 1 lock; cond_wait <-S.5; 1 unlock; terminate",
            "B; 1 lock <-A.1; cond_wait <-S.3 <-S.4; 1 unlock; terminate",
        ]
    );
}

#[test]
fn who_woke_whom_counts_where_the_trace_says_it() {
    let rows = "process S\nprocess A\nprocess B\nreturns explicit\n0 S create A\n0 S create B\n1 A lock m\n\
                1 A cond_wait c m\n2 B lock m\n2 B cond_wait c m\n3 B cond_signal c\n";
    assert!(
        lowered(rows)[2].contains("pass"),
        "nobody came back: {:?}",
        lowered(rows)
    );
    let rows = "process S\nprocess A\nprocess B\nreturns explicit\n0 S create A\n0 S create B\n1 A lock m\n\
                1 A cond_wait c m\n2 B lock m\n2 B cond_wait c m\n3 S cond_signal c\n4 S cond_signal c\n\
                5 A return from=S\n5 A unlock m\n6 B return from=S\n6 B unlock m\n7 A terminate\n7 B terminate\n7 S terminate\n";
    let lines = lowered(rows);
    assert!(lines[1].contains("cond_wait <-S.2"), "{lines:?}");
    assert!(lines[2].contains("cond_wait <-S.3"), "{lines:?}");
}

#[test]
fn a_wait_that_nothing_woke_gives_its_mutex_up_and_takes_it_again() {
    let rows = "process A\nreturns explicit\n0 A lock m\n0 A cond_wait c m\n5 A return\n5 A unlock m\n5 A terminate\n";
    assert_eq!(
        lowered(rows),
        ["A; lock; unlock; lock; 5 unlock; terminate"]
    );
}

#[test]
fn a_wait_that_timed_out_takes_as_long_as_it_took() {
    let rows = "process A\nreturns explicit\n1 A lock m cpu=1\n2 A cond_timedwait c m cpu=2\n\
                52 A return timedout cpu=2\n53 A unlock m cpu=3\n53 A terminate cpu=3\n";
    assert_eq!(
        lowered(rows),
        ["A; 1 lock; 1 unlock; timed wait 50; lock <-A.1; 1 unlock; terminate"]
    );
}

#[test]
fn a_wait_that_times_out_and_only_looks_before_it_waits_again_is_one_wait() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B cpu=0\n1 A lock m cpu=1\n\
                2 A cond_timedwait c m cpu=2\n102 A return timedout cpu=2\n102 A unlock m cpu=2\n\
                104 A lock m cpu=4\n104 A cond_timedwait c m cpu=4\n110 B lock m cpu=9\n110 B cond_signal c cpu=9\n\
                110 B unlock m cpu=9\n110 B terminate cpu=9\n111 A return cpu=5\n111 A unlock m cpu=5\n111 A terminate cpu=6\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; 1 lock; 1 cond_wait <-B.1 <-B.2; 3 unlock; 1 terminate",
            "B; 9 lock <-A.2; cond_signal; unlock; terminate"
        ]
    );
}

#[test]
fn who_looks_at_several_things_before_it_waits_again_only_looks() {
    let waits_again = |between: &str| {
        let rows = format!(
            "process A\nprocess B\nreturns explicit\n0 A create B cpu=0\n1 A lock m cpu=1\n\
             2 A cond_timedwait c m cpu=2\n102 A return timedout cpu=2\n102 A unlock m cpu=2\n{between}\
             104 A lock m cpu=4\n104 A cond_timedwait c m cpu=4\n110 B cond_signal c cpu=9\n110 B terminate cpu=9\n\
             111 A return cpu=5\n111 A unlock m cpu=5\n111 A terminate cpu=6\n"
        );
        lowered(&rows).concat().contains("timed wait")
    };
    assert!(!waits_again("103 A lock n cpu=3\n103 A unlock n cpu=3\n"));
    // What it then holds may be what the others wait for.
    assert!(waits_again("103 A lock n cpu=3\n"));
}

#[test]
fn a_wait_that_times_out_and_works_before_it_waits_again_is_two_waits() {
    let rows = "process A\nreturns explicit\n1 A lock m cpu=1\n2 A cond_timedwait c m cpu=2\n\
                102 A return timedout cpu=2\n112 A cond_timedwait c m cpu=12\n152 A return timedout cpu=12\n\
                152 A unlock m cpu=12\n152 A terminate cpu=12\n";
    assert_eq!(
        lowered(rows),
        [
            "A; 1 lock; 1 unlock; timed wait 100; lock <-A.1; 10 unlock; timed wait 40; lock <-A.4; unlock; terminate"
        ]
    );
}

#[test]
fn in_a_listing_a_timed_out_wait_lasts_until_the_row_before_its_threads_next() {
    let rows = "process A\nprocess B\n0 A create B\n0 A lock m\n0 A cond_timedwait c m timedout\n6 B lock n\n\
                9 A unlock m\n9 A terminate\n9 B terminate\n";
    assert_eq!(
        lowered(rows)[0],
        "A; create; lock; unlock; timed wait 6; lock <-A.2; 3 unlock; terminate"
    );
}

#[test]
fn a_cancelled_wait_ends_with_the_cancellation() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B\n1 B lock m\n1 B cond_wait c m\n2 A cancel B\n\
                3 B unlock m\n3 B terminate\n4 A join B\n4 A return\n4 A terminate\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; 1 cancel; 1 join; terminate",
            "B; 1 lock; unlock; cancelled wait; lock <-B.1; 1 unlock; terminate",
        ]
    );
}

#[test]
fn a_semaphore_began_with_the_tokens_that_its_waits_need() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B\n0 A sem_wait s\n0 B sem_post s\n0 A sem_wait s\n\
                0 A terminate\n0 B terminate\n";
    let program = Program::from_trace(&trace(rows));
    assert_eq!(program.objects[0].initial, Some(1));
    assert_eq!(
        lowered(rows)[0],
        "A; create; sem_wait; sem_wait <-B.0; terminate"
    );
}

#[test]
fn a_write_waits_for_the_reads_before_it_and_a_read_for_the_write() {
    let rows = "process A\nprocess B\nprocess C\n0 A create B\n0 A create C\n0 A wrlock r\n0 A rwunlock r\n0 B rdlock r\n\
                0 C rdlock r\n0 C rwunlock r\n0 B rwunlock r\n0 A wrlock r\n0 A rwunlock r\n0 A terminate\n0 B terminate\n\
                0 C terminate\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; create; wrlock; rwunlock; wrlock <-B.1 <-C.1; rwunlock; terminate",
            "B; rdlock <-A.3; rwunlock; terminate",
            "C; rdlock <-A.3; rwunlock; terminate",
        ]
    );
}

#[test]
fn whoever_passes_a_one_time_initialization_waits_for_the_thread_that_ran_it() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B\n0 A once o chosen\n1 A lock m\n1 A unlock m\n\
                2 B once o\n3 A return\n3 B return\n3 A terminate\n3 B terminate\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; pass; 1 lock; unlock; 1 once; terminate",
            "B; 1 once; terminate"
        ]
    );
}

#[test]
fn a_thread_still_blocked_at_the_end_ends_there_and_a_warning_says_so() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B\n1 B lock m\n1 B cond_wait c m\n5 A terminate\n";
    let program = Program::from_trace(&trace(rows));
    assert_eq!(lowered(rows)[1], "B; 1 lock; unlock; pass; terminate");
    let ended = rows.replace("5 A terminate", "5 A terminate\n5 B terminate");
    assert_eq!(lowered(&ended)[1], "B; 1 lock; unlock; pass; terminate");
    assert!(
        program
            .warnings
            .iter()
            .any(|warning| warning.starts_with("still blocked in cond_wait"))
    );
}

#[test]
fn a_cancelled_wait_may_say_so_at_its_return() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B\n1 B lock m\n1 B cond_wait c m\n2 A cancel B\n\
                3 B return failed:125\n3 B unlock m\n3 B terminate\n4 A join B\n4 A return\n4 A terminate\n";
    assert_eq!(
        lowered(rows)[1],
        "B; 1 lock; unlock; cancelled wait; lock <-B.1; 1 unlock; terminate"
    );
}

#[test]
fn a_wait_that_is_cancelled_for_good_ends_with_the_cancellation() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B\n1 B lock m\n1 B cond_wait c m\n4 A cancel B\n\
                4 A join B\n4 B terminate\n5 A return\n5 A terminate\n";
    assert_eq!(
        lowered(rows)[1],
        "B; 1 lock; unlock; cancelled wait; terminate"
    );
}

#[test]
fn the_last_generation_of_a_barrier_that_never_filled_is_left_out() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B\n1 A barrier_wait b 2\n2 B barrier_wait b 2\n\
                2 B return chosen\n2 A return\n3 B barrier_wait b 2\n4 A terminate\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; 1 barrier_wait; 1 terminate",
            "B; 1 barrier_wait; 1 pass; terminate"
        ]
    );
}

#[test]
fn an_initialization_ends_with_its_routine_whatever_that_did_last() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B\n1 A once o chosen\n2 A return chosen\n\
                3 A once p chosen\n4 A once o\n5 A return chosen\n6 A once q chosen\n7 A lock m\n8 A return chosen\n\
                9 B once p\n9 B once q\n9 B terminate\n9 A terminate\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; 1 pass; 1 once; 1 pass; 1 once; 1 once; 1 pass; 1 lock; 1 once; terminate",
            "B; 1 once; once; terminate"
        ]
    );
}

#[test]
fn a_futexs_wait_needs_the_wake_up_that_ended_it() {
    let rows = "process A\nprocess B\nprocess C\nreturns explicit\n0 A create B\n0 A create C\n1 B futex_wait f\n\
                2 C futex_wait f\n3 A futex_wake f 1\n4 C return\n5 A futex_wake f 9\n6 B return\n6 A futex_wake f 0\n\
                7 A terminate\n7 B terminate\n7 C terminate\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; create; 1 futex_wake; 1 futex_wake; pass; 1 terminate",
            "B; 1 futex_wait <-A.3; 1 terminate",
            "C; 1 futex_wait <-A.2; 1 terminate",
        ]
    );
}

#[test]
fn a_wait_for_an_iteration_needs_its_end_whichever_came_first() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B\n1 A doacross_post d 0\n2 B doacross_wait d 0\n\
                3 B doacross_post d 1\n4 A doacross_wait d 1\n5 B doacross_wait d 7\n6 B doacross_wait d 1\n\
                7 B doacross_wait d 5\n8 A doacross_post d 5\n9 B return\n10 A terminate\n11 B terminate\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; 1 doacross_post; 1 doacross_wait <-B.1; 1 doacross_post; 1 terminate",
            "B; 1 doacross_wait <-A.1; 1 doacross_post; 1 pass; 1 pass; 1 doacross_wait <-A.3; 2 terminate",
        ]
    );
}

#[test]
fn a_sleep_and_a_read_from_a_disk_take_as_long_as_they_took() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B cpu=0\n\
                10 A sleep cpu=10\n20 B lock m cpu=10\n90 B unlock m cpu=80\n100 A return cpu=10\n\
                110 A io read file cpu=20\n190 B terminate cpu=160\n200 A return cpu=20\n210 A terminate cpu=30\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; 10 timed wait 90; 10 timed wait 90; 10 terminate",
            "B; 10 lock; 70 unlock; 80 terminate"
        ]
    );
}

#[test]
fn a_created_thread_that_first_sleeps_has_worked_before() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B cpu=0\n10 A terminate cpu=10\n\
                50 B sleep cpu=40\n90 B return cpu=40\n100 B terminate cpu=50\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; 10 terminate",
            "B; 40 timed wait 40; 10 terminate"
        ]
    );
}

#[test]
fn a_futexs_wait_that_was_not_ended_by_a_wake_up_needs_nothing() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B\n1 B futex_wait f\n1 B return busy\n\
                2 B futex_timedwait f\n5 B return timedout\n6 B futex_wait f\n6 B return\n7 A futex_wake f 0\n\
                8 A terminate\n9 B futex_wait f\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; 1 pass; 1 terminate",
            "B; 1 pass; 1 timed wait 3; 1 pass; 1 pass; terminate"
        ]
    );
}

#[test]
fn a_wait_whose_time_ran_out_and_that_was_begun_again_takes_no_longer_than_everybody_waited() {
    // All the time that it waited first, the other worked. What it gave up at last took as long as it took.
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B cpu=0\n10 A sem_timedwait s cpu=10\n20 B lock m cpu=10\n\
                60 A return timedout cpu=10\n70 A sem_timedwait s cpu=20\n80 B sem_post s cpu=60\n80 A return cpu=20\n\
                82 A sem_timedwait s cpu=22\n100 B terminate cpu=70\n112 A return timedout cpu=22\n112 A terminate cpu=22\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; 10 timed wait 0; 10 sem_wait <-B.1; 2 timed wait 30; terminate",
            "B; 10 lock; 50 sem_post; 10 terminate"
        ]
    );
}

#[test]
fn a_try_that_fails_does_not_end_the_waits_whose_time_ran_out() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B cpu=0\n10 A sem_timedwait s cpu=10\n20 B lock m cpu=10\n\
                60 A return timedout cpu=10\n70 A sem_trywait s busy cpu=20\n80 B terminate cpu=70\n80 A terminate cpu=20\n";
    let lines = lowered(rows);
    assert_eq!(lines[0], "A; create; 10 timed wait 50; 10 pass; terminate");
}

#[test]
fn a_read_from_a_pipe_takes_no_longer_than_everybody_waited() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B cpu=0\n\
                10 A io read pipe cpu=10\n20 B lock m cpu=10\n60 B sleep cpu=50\n90 B return cpu=50\n\
                100 A return cpu=10\n110 B terminate cpu=60\n110 A terminate cpu=20\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; 10 timed wait 30; 10 terminate",
            "B; 10 lock; 40 timed wait 30; 10 terminate"
        ]
    );
}

#[test]
fn a_wake_up_of_a_futex_that_is_recorded_before_its_wait_is_matched_with_it() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B\n1 A futex_wake f 1\n2 B futex_wait f\n\
                3 B return\n4 A terminate\n4 B terminate\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; 1 futex_wake; 1 terminate",
            "B; 1 futex_wait <-A.1; 1 terminate"
        ]
    );
}

#[test]
fn a_wait_for_a_signal_that_told_of_a_process_is_the_wait_for_that_process() {
    let rows = "program sh\nprogram child\nprocess A program=0\nprocess B program=1\nreturns explicit\n\
                0 A create B cpu=0\n5 A io signal cpu=5\n90 B terminate cpu=80\n95 A return failed:4 cpu=5\n\
                96 A join B cpu=6\n96 A return cpu=6\n99 A terminate cpu=9\n";
    assert_eq!(
        lowered(rows),
        ["A; create; 5 pass; 1 join; 3 terminate", "B; 80 terminate"]
    );
}

#[test]
fn a_futexs_wait_that_times_out_and_only_looks_before_it_waits_again_is_one_wait() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B cpu=0\n1 B futex_timedwait f cpu=1\n\
                101 B return timedout cpu=1\n102 B futex_timedwait f cpu=2\n202 B return timedout cpu=2\n\
                203 B futex_timedwait f cpu=3\n250 A futex_wake f 1 cpu=240\n251 B return cpu=3\n\
                252 B terminate cpu=4\n253 A terminate cpu=241\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; 240 futex_wake; 1 terminate",
            "B; 1 futex_wait <-A.1; 3 terminate"
        ]
    );
}

#[test]
fn the_receiver_of_a_message_waited_for_its_sender() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B cpu=0\n1 B queue_receive q cpu=1\n\
                5 A queue_send q cpu=4\n6 B return cpu=1\n7 B terminate cpu=2\n9 A terminate cpu=6\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; 4 queue_send; 2 terminate",
            "B; 1 queue_receive <-A.1; 1 terminate"
        ]
    );
}

#[test]
fn who_reads_from_a_pipe_waits_for_what_it_got_also_where_it_was_there() {
    // Three bytes come in two writes, of which the first read gets the first two.
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B cpu=0\n3 A pipe_write p 1 cpu=3\n5 A pipe_write p 2 cpu=5\n\
                6 B pipe_read p 2 cpu=1\n7 B pipe_read p 1 cpu=2\n8 B pipe_read p 0 cpu=3\n8 B terminate cpu=3\n\
                9 A terminate cpu=6\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; 3 pass; 2 pipe_write; 1 terminate",
            "B; 1 pipe_read <-A.2; 1 pipe_read <-A.2; 1 pass; terminate"
        ]
    );
}

#[test]
fn writes_that_one_thread_reads_whole_are_messages() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B cpu=0\n1 B io read pipe cpu=1\n5 A pipe_write p 12 cpu=4\n\
                6 B return cpu=1\n6 B pipe_read p 4 cpu=1\n7 B pipe_read p 8 cpu=2\n8 B terminate cpu=3\n9 A terminate cpu=6\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; 4 pipe_write; 2 terminate",
            "B; 1 pass; pipe_read <-A.1; 1 pass; 1 terminate"
        ]
    );
}

#[test]
fn a_read_of_what_nobody_saw_written_waits_until_the_writer_has_come_as_far() {
    // A is in the middle of its work when B has something to read.
    let rows = "program a\nprogram b\nprocess A program=0\nprocess B program=1\nreturns explicit\n0 A create B cpu=0\n\
                0 A pipe_write p 0 cpu=0\n1 B io read pipe cpu=1\n41 B return cpu=1\n42 B pipe_read p 0 cpu=2\n\
                52 B terminate cpu=12\n80 A terminate cpu=60\n";
    assert_eq!(
        lowered(rows),
        [
            "A; create; pass; 30 pipe_write; 30 terminate",
            "B; 1 pass; 1 pipe_read <-A.2; 10 terminate"
        ]
    );
}
