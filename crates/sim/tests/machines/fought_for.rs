//! Locks that several threads want at the same time.

use super::*;

#[test]
fn a_mutex_has_to_come_from_the_cpu_that_had_it_last() {
    // A has it twice, and then B, which works for 60 before.
    let rows = "0 A create B\n0 A lock m\n10 A unlock m\n20 A lock m\n30 A unlock m\n40 A terminate\n100 B lock m\n\
                110 B unlock m\n110 B terminate\n";
    let transferring = |machine: &mut Machine| {
        machine.costs = Costs {
            lock_transfer: nanos(3),
            ..Costs::NONE
        };
    };
    assert_eq!(ends(rows, 2, transferring), [40, 73]);
    assert_eq!(ends(rows, 1, transferring), [40, 110]);
}

/// A holds the mutex from 10 to 40, and B wants it after having worked for `before`.
fn meeting(before: u64) -> String {
    format!(
        "0 A create B\n10 A lock m\n40 A unlock m\n90 A terminate\n{} B lock m\n{} B unlock m\n{} B terminate\n",
        90 + before,
        95 + before,
        100 + before
    )
}

fn contending(machine: &mut Machine) {
    machine.handover = Handover::Barging;
    machine.costs = Costs {
        block_cost: nanos(20),
        call_cost: nanos(10),
        offer_cost: nanos(4),
        ..Costs::NONE
    };
}

#[test]
fn who_waits_for_a_lock_looks_once_more_before_it_sleeps() {
    // It comes at 37 and asks for 10; whoever gives the lock up at 40 asks for 5 whether one has to be woken, and so does it, having waited.
    assert_eq!(ends(&meeting(37), 2, contending), [95, 62]);
    // Nobody waits for who comes later.
    assert_eq!(ends(&meeting(50), 2, contending), [90, 60]);
    assert_eq!(ends(&meeting(37), 1, contending), [90, 137]);
}

#[test]
fn who_spins_for_a_lock_does_not_ask_the_kernel() {
    let spinning = meeting(37)
        .replace(" lock", " spin_lock")
        .replace(" unlock", " spin_unlock");
    assert_eq!(ends(&spinning, 2, contending), [90, 50]);
}

#[test]
fn who_sleeps_for_a_lock_costs_the_one_that_gives_it_up() {
    // It comes at 15 and sleeps at 29; to be woken takes it 20, a fourth more or less.
    let [holder, waiter] = ends(&meeting(15), 2, contending)[..] else {
        panic!("there are two");
    };
    assert_eq!(holder, 94);
    assert!((70..=80).contains(&waiter), "{waiter}");
    // At 33 it is not asleep yet at 40, but 7 later, for which both wait.
    let [holder, waiter] = ends(&meeting(33), 2, contending)[..] else {
        panic!("there are two");
    };
    assert_eq!(holder, 101);
    assert!((77..=87).contains(&waiter), "{waiter}");
}

#[test]
fn threads_that_always_meet_at_a_lock_do_not_gain_by_another_cpu() {
    let sections = |(thread, begin)| {
        let section = move |round| {
            let at = begin + 2_000 * round;
            format!("{at} {thread} lock m\n{} {thread} unlock m\n", at + 1_600)
        };
        let end = format!("{} {thread} terminate\n", begin + 199_700);
        (0..100).map(section).chain([end])
    };
    let both = [("A", 0), ("B", 200_000)].into_iter().flat_map(sections);
    let rows: String = [String::from("process A\nprocess B\n")]
        .into_iter()
        .chain(both)
        .collect();
    let costing = |costs| {
        move |machine: &mut Machine| {
            machine.handover = Handover::Barging;
            machine.costs = costs;
        }
    };
    let [free, usual] = [Costs::NONE, Costs::LINUX].map(costing);
    let last = |ends: Vec<u64>| ends.into_iter().max();
    assert!(last(ends(&rows, 2, free)) < Some(330_000));
    assert!(last(ends(&rows, 2, usual)) > Some(390_000));
}

/// A reads from 0 to 10 and again from 15, B wants to write from 5 on, and C reads from 8 to 18.
const READS_AND_A_WRITE: &str = "0 A create B\n0 A create C\n0 A rdlock r\n10 A rwunlock r\n15 A rdlock r\n25 A rwunlock r\n\
                                 25 A terminate\n30 B wrlock r\n33 B rwunlock r\n33 B terminate\n41 C rdlock r\n\
                                 51 C rwunlock r\n51 C terminate\n";

#[test]
fn readers_may_keep_a_writer_waiting() {
    // C comes while A reads, and A again while C does.
    let barging = |machine: &mut Machine| machine.handover = Handover::Barging;
    assert_eq!(ends(READS_AND_A_WRITE, 3, barging), [25, 28, 18]);
    // Unless the program says otherwise.
    let prefers_writers = format!("rwlock r 1\n{READS_AND_A_WRITE}");
    assert_eq!(ends(&prefers_writers, 3, barging), [25, 13, 23]);
    // Where who comes first has it first, C waits for B, which writes from 10 to 13.
    let first_come = |machine: &mut Machine| machine.handover = Handover::FirstCome;
    assert_eq!(ends(READS_AND_A_WRITE, 3, first_come), [25, 13, 23]);
}

#[test]
fn a_writer_overtakes_readers_that_wait_where_the_lock_prefers_writers() {
    // A writes until 10, C wants to read from 5 on, and D to write from 8 on.
    let rows = "0 A create C\n0 A create D\n0 A wrlock r\n10 A rwunlock r\n10 A terminate\n15 C rdlock r\n18 C rwunlock r\n\
                18 C terminate\n26 D wrlock r\n29 D rwunlock r\n29 D terminate\n";
    let barging = |machine: &mut Machine| machine.handover = Handover::Barging;
    assert_eq!(ends(rows, 3, barging), [10, 13, 16]);
    let prefers_writers = format!("rwlock r 1\n{rows}");
    assert_eq!(ends(&prefers_writers, 3, barging), [10, 16, 13]);
}
