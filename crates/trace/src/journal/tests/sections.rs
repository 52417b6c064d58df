//! Locks and unlocks in one record, and many of them in one more.

use super::super::layout::{self, Header, Kind, OUTCOME_SUCCESS, Repetition, Section};
use super::draft::{Draft, START, lines, read};
use crate::{Nanos, Operation};
use std::mem::offset_of;
/// A lock at call site 1000 and its unlock 20 ticks later, at 1007, in one record.
fn section_at(draft: Draft, tsc: u64) -> Draft {
    let section = Section::new(64, (1000, 1007), 20).expect("it fits");
    let mut draft = draft.record(
        tsc,
        Kind::Section,
        section.object(64),
        Kind::MutexLock as u8,
        1000,
    );
    let record = draft.cursor - layout::RECORD_BYTES;
    draft.long(record, section.tsc(START + tsc));
    draft
}

#[test]
fn a_section_is_a_lock_and_an_unlock() {
    let draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(0, Kind::Sync, 500, 0, 0);
    let mut draft = section_at(section_at(draft, 10), 40).exited(100);
    draft.long(offset_of!(Header, section_cost), 8 * 16);
    let trace = read(&[draft]);
    assert_eq!(
        lines(&trace),
        [
            "10 main lock",
            "30 main unlock",
            "40 main lock",
            "60 main unlock",
            "100 main terminate"
        ]
    );
    let cpu: Vec<_> = trace.events.iter().map(crate::Event::cpu).collect();
    let expected = [510, 530 - 4, 540 - 8, 560 - 12, 548].map(|cpu| Some(Nanos(cpu)));
    assert_eq!(cpu, expected);
    let recorder = trace.recording.map(|recording| recording.recorder_cpu);
    assert_eq!(recorder, Some(Nanos(16)));
}

#[test]
fn an_acquisition_whose_program_was_killed_while_it_became_a_section_is_whole() {
    // The counter is stored first, then the object, then the kind.
    let section = Section::new(64, (1000, 1007), 20).expect("it fits");
    let stored = [
        (START + 10, 64),
        (section.tsc(START + 10), 64),
        (section.tsc(START + 10), section.object(64)),
    ];
    for (tsc, object) in stored {
        let mut draft = Draft::new(7, 0)
            .thread(0, 7, 70)
            .record(0, Kind::Sync, 500, 0, 0)
            .record(10, Kind::MutexLock, object, OUTCOME_SUCCESS, 1000);
        let record = draft.cursor - layout::RECORD_BYTES;
        draft.long(record, tsc);
        let trace = read(&[draft]);
        assert_eq!(lines(&trace), ["10 main lock"]);
        assert_eq!(trace.objects[0].address, Some(64));
    }
}

/// Sections from tick 10 to 1000, counted.
fn repetition() -> Draft {
    let section = Section::new(64, (1000, 1007), 20).expect("it fits");
    let outcome = Kind::MutexLock as u8;
    let mut draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(0, Kind::Sync, 500, 0, 0)
        .record(10, Kind::Repetition, section.object(64), outcome, 1000)
        .record(1000, Kind::Extension, 800, 0, 0);
    let extension = draft.cursor - layout::RECORD_BYTES;
    draft.long(extension + 16, Repetition::tail(40));
    draft
}

#[test]
fn a_repetition_tells_how_often_and_how_long() {
    let mut draft = repetition();
    draft.long(offset_of!(Header, repetition_cost), 10 * 16);
    let trace = read(&[draft]);
    assert_eq!(lines(&trace), ["1000 main lock_sections"]);
    // Half of what the recorder used lies between lock and unlock.
    let Operation::LockSections { count, held, .. } = trace.calls[0].operation else {
        unreachable!("its name was compared above");
    };
    assert_eq!((count, held), (40, Nanos(800 - 40 * 5)));
    assert_eq!(trace.events[0].cpu(), Some(Nanos(1500 - 40 * 10)));
}

#[test]
fn an_acquisition_that_was_counted_is_not_told_again() {
    let killed = repetition().record(980, Kind::MutexLock, 64, OUTCOME_SUCCESS, 1000);
    assert_eq!(lines(&read(&[killed])), ["1000 main lock_sections"]);
    let held = repetition().record(1010, Kind::MutexLock, 64, OUTCOME_SUCCESS, 1000);
    assert_eq!(
        lines(&read(&[held])),
        ["1000 main lock_sections", "1010 main lock"]
    );
}

#[test]
fn sections_for_which_the_counter_was_not_read_take_as_long_as_the_others() {
    let mut draft = repetition();
    let extension = draft.cursor - layout::RECORD_BYTES;
    // Ten of the four hundred took 800 ticks.
    draft.long(
        extension + 16,
        Repetition::tail(400) + 10 * Repetition::TIMED,
    );
    draft.long(offset_of!(Header, section_cost), 10 * 16);
    let trace = read(&[draft]);
    let Operation::LockSections { count, held, .. } = trace.calls[0].operation else {
        panic!("{:?}", trace.calls[0]);
    };
    assert_eq!((count, held), (400, Nanos(400 * (80 - 5))));
}

#[test]
fn a_section_in_which_something_else_was_done_begins_behind_those_that_were_counted() {
    let mut draft = repetition();
    let extension = draft.cursor - layout::RECORD_BYTES;
    draft.long(extension + 16, Repetition::tail(40) + Repetition::ACQUIRED);
    let draft = draft.record(1020, Kind::MutexUnlock, 64, OUTCOME_SUCCESS, 1009);
    let expected = [
        "1000 main lock_sections",
        "1000 main lock",
        "1020 main unlock",
    ];
    assert_eq!(lines(&read(&[draft])), expected);
}

#[test]
fn sections_of_several_mutexes_in_turn_are_spread_over_their_time() {
    let of = |draft: Draft, object: u64, (from, until): (u64, u64), count: u64, joined: u64| {
        let section = Section::new(object, (1000, 1007), 20).expect("it fits");
        let outcome = Kind::MutexLock as u8;
        let mut draft = draft
            .record(
                from,
                Kind::Repetition,
                section.object(object),
                outcome,
                1000,
            )
            .record(until, Kind::Extension, 20, 0, 0);
        let extension = draft.cursor - layout::RECORD_BYTES;
        let tail = Repetition::tail(count) + Repetition::TIMED + joined;
        draft.long(extension + 16, tail);
        draft
    };
    let mut draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(0, Kind::Sync, 500, 0, 0);
    draft.long(offset_of!(Header, turn_cost), 9 * 16);
    let draft = of(draft, 64, (100, 600), 3, 0);
    let draft = of(draft, 128, (250, 700), 2, Repetition::JOINED);
    // This one came behind, alone.
    let trace = read(&[of(draft, 64, (800, 900), 1, 0)]);
    let address = |event: &crate::Event| {
        let object = trace.call(event).operation.object()?;
        trace.objects[object.index()].address
    };
    let told: Vec<_> = lines(&trace)
        .into_iter()
        .zip(trace.events.iter().map(address))
        .collect();
    let expected = [
        ("200 main lock", 64),
        ("220 main unlock", 64),
        ("320 main lock", 128),
        ("340 main unlock", 128),
        ("440 main lock", 64),
        ("460 main unlock", 64),
        ("560 main lock", 128),
        ("580 main unlock", 128),
        ("680 main lock", 64),
        ("700 main unlock", 64),
        ("880 main lock", 64),
        ("900 main unlock", 64),
    ];
    let expected = expected.map(|(line, address)| (line.to_owned(), Some(address)));
    assert_eq!(told, expected);
    // What these cost is taken out behind each: of those in turn more than of the one alone.
    let cpu = |event: &crate::Event| event.cpu().map_or(0, |Nanos(cpu)| cpu);
    assert_eq!(cpu(&trace.events[9]), 500 + 700 - 4 * 9);
    assert_eq!(cpu(&trace.events[11]), 500 + 900 - 5 * 9);
}
