//! Records in this process, with the clock that relies on rseq where there is one.
#![expect(unsafe_code, reason = "sets a signal handler")]

mod common;

use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicU32, Ordering};

use common::{
    check_fork, check_intervals, check_migration, in_some_attempt, mark, recorded, start, trace,
    work,
};
use foretrace_recorder::{
    Kind, OUTCOME_PENDING, OUTCOME_SUCCESS, message, record, returned_from_wait, sys,
};

#[test]
fn intervals_of_work_and_sleep_are_told_apart() {
    start(true);
    std::thread::spawn(|| check_intervals(0x1000))
        .join()
        .expect("the intervals agree");
}

#[test]
fn threads_keep_their_times_on_every_cpu_that_they_are_sent_to() {
    start(true);
    check_migration(0x6000);
}

#[test]
fn both_sides_of_a_fork_have_their_own_times() {
    start(true);
    std::thread::spawn(|| check_fork(0x6100))
        .join()
        .expect("both agree");
}

#[test]
fn threads_that_share_a_cpu_have_their_own_times() {
    start(true);
    in_some_attempt(0x2000, shared_times_differ);
}

fn shared_times_differ(object: u64) -> Option<String> {
    let threads: Vec<_> = (0..4_u64)
        .map(|index| {
            std::thread::spawn(move || {
                let object = object + index;
                let before = mark(object);
                // More threads than CPUs, each long enough to be preempted.
                for _ in 0..200 {
                    work(200_000);
                    mark(object + 0x100);
                }
                mark(object) - before
            })
        })
        .collect();
    let told: Vec<u64> = threads
        .into_iter()
        .map(|thread| thread.join().expect("it only works"))
        .collect();
    let trace = trace();
    (0..).zip(told).find_map(|(index, told)| {
        let recorded = recorded(&trace, object + index);
        let recorded = recorded[1] - recorded[0];
        (told.abs_diff(recorded) >= told / 100)
            .then(|| format!("thread {index}: {recorded} ns recorded, {told} ns told"))
    })
}

/// Hands a byte on again and again, and waits for it to come back. Returns the CPU time of all that.
fn hand_over(object: u64, mut to: std::io::PipeWriter, mut from: std::io::PipeReader) -> u64 {
    let before = mark(object);
    for _ in 0..2_000 {
        to.write_all(&[0]).expect("the other side reads");
        let slot = record(Kind::FutexWait, object + 1, OUTCOME_PENDING, 0);
        from.read_exact(&mut [0]).expect("the other side writes");
        returned_from_wait(Kind::FutexWait, object + 1, OUTCOME_SUCCESS, slot.counter());
    }
    mark(object) - before
}

#[test]
fn short_waits_take_together_what_the_kernel_says() {
    start(true);
    in_some_attempt(0x7_4000, short_waits_differ);
}

fn short_waits_differ(object: u64) -> Option<String> {
    let (first_reader, first_writer) = std::io::pipe().expect("two files may be opened");
    let (second_reader, second_writer) = std::io::pipe().expect("two files may be opened");
    let objects = [object, object + 0x100];
    let other = std::thread::spawn(move || hand_over(objects[1], second_writer, first_reader));
    let told = hand_over(objects[0], first_writer, second_reader);
    let told = [told, other.join().expect("it only waits")];
    let trace = trace();
    objects.into_iter().zip(told).find_map(|(object, told)| {
        let marks = recorded(&trace, object);
        let recorded = marks[1] - marks[0];
        // The recorder's own work, a tenth of it at most on this way, is taken out.
        let agrees = recorded < told + told / 20 && recorded > told - told / 4;
        (!agrees).then(|| format!("{recorded} ns recorded, {told} ns told"))
    })
}

/// How many records the interrupted thread makes.
const RECORDS: usize = 20_000;

static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn on_alarm(_: i32) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
    record(Kind::SemPost, 0x3001, OUTCOME_SUCCESS, 0);
}

#[test]
fn a_handler_tears_no_record() {
    start(true);
    // SAFETY: the handler only adds and records, both of which are safe in handlers.
    unsafe { libc::signal(libc::SIGUSR1, on_alarm as *const () as usize) };
    let target = std::thread::spawn(|| {
        for _ in 0..RECORDS {
            record(Kind::SemPost, 0x3000, OUTCOME_SUCCESS, 0);
            work(2_000);
        }
    });
    let pthread = std::os::unix::thread::JoinHandleExt::as_pthread_t(&target);
    while !target.is_finished() {
        // SAFETY: the thread is not joined yet, so that its identity is valid.
        unsafe { libc::pthread_kill(pthread, libc::SIGUSR1) };
        // Or the thread does nothing but handle signals.
        work(10_000);
    }
    target.join().expect("it only records");
    let trace = trace();
    assert_eq!(recorded(&trace, 0x3000).len(), RECORDS);
    let handled = HANDLED.load(Ordering::Relaxed) as usize;
    assert!(handled > 0, "no signal came");
    assert_eq!(recorded(&trace, 0x3001).len(), handled);
    // A record that a thread of another test is writing at this moment is taken for one that was cut short.
    let is_whole = || {
        let recording = self::trace().recording;
        recording.is_some_and(|recording| recording.lost_events == 0)
    };
    assert!((0..10).any(|_| is_whole()));
}

#[test]
fn chunks_follow_each_other_without_a_gap() {
    start(true);
    let count = 100_000;
    std::thread::spawn(move || {
        for _ in 0..count {
            record(Kind::SemPost, 0x4000, OUTCOME_SUCCESS, 0);
        }
    })
    .join()
    .expect("it only records");
    assert_eq!(recorded(&trace(), 0x4000).len(), count);
}

#[test]
fn recording_leaves_errno_alone() {
    start(true);
    std::thread::spawn(|| {
        for _ in 0..5000 {
            // SAFETY: errno is this thread's own.
            unsafe { *libc::__errno_location() = 77 };
            record(Kind::SemPost, 0x5000, OUTCOME_SUCCESS, 0);
            sys::sched_yield();
            // SAFETY: as above.
            assert_eq!(unsafe { *libc::__errno_location() }, 77);
        }
    })
    .join()
    .expect("errno stays");
}

#[test]
fn measuring_what_calls_of_mpi_take_leaves_nothing_behind() {
    start(true);
    let many = std::thread::spawn(|| {
        mark(0xb000);
        let mut looks = std::cell::Cell::new(0);
        message::measure(
            || {
                looks.set(looks.get() + 1);
                message::put_failed_try(message::begin(), u16::MAX, 0, &[1]);
            },
            || {
                message::put_call(message::begin(), u16::MAX, 0, &[1]);
                message::put_return(u16::MAX, OUTCOME_SUCCESS, &[]);
            },
        );
        mark(0xb000);
        *looks.get_mut()
    })
    .join()
    .expect("it only records");
    assert!(many > 0, "nothing was measured");
    let trace = trace();
    assert_eq!(recorded(&trace, 0xb000).len(), 2);
    let messages = trace.events.iter().filter(|event| {
        matches!(
            trace.call(event).operation,
            foretrace_trace::Operation::Message(_)
        )
    });
    assert_eq!(messages.count(), 0);
}
