//! Journals that are cut short, damaged, or none.

use super::super::layout::{Header, Kind, OUTCOME_SUCCESS, PAGE_BYTES};
use super::super::{JournalError, read_dir};
use super::draft::{Draft, directory, lines, read, small};
use std::mem::offset_of;
use std::path::Path;
#[test]
fn a_hole_is_counted_and_skipped() {
    let draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(10, Kind::MutexLock, 64, OUTCOME_SUCCESS, 0)
        .hole()
        .record(30, Kind::MutexUnlock, 64, OUTCOME_SUCCESS, 0);
    let trace = read(&[draft]);
    assert_eq!(lines(&trace), ["10 main lock", "30 main unlock"]);
    assert_eq!(
        trace.recording.map(|recording| recording.lost_events),
        Some(1)
    );
    assert_eq!(
        trace.warnings.len(),
        2,
        "the hole, and that the end was not seen"
    );
}

#[test]
fn what_is_whole_of_a_truncated_journal_is_read() {
    let whole = small().bytes;
    let cut = whole.len() - PAGE_BYTES + 96 + 2 * 24 + 5;
    let directory = directory(&[&whole[..cut]]);
    let trace = read_dir(directory.path()).expect("the header and a record are whole");
    assert_eq!(lines(&trace), ["10 main lock", "100 main terminate"]);
    assert!(
        trace.warnings[0].contains("the file ends within a chunk"),
        "{:?}",
        trace.warnings
    );
}

#[test]
fn errors_name_the_file_and_the_remedy() {
    let nothing = tempfile::tempdir().expect("temporary directories can be made");
    assert!(matches!(
        read_dir(nothing.path()),
        Err(JournalError::Empty { .. })
    ));
    let nowhere = read_dir(Path::new("/nonexistent"));
    assert!(matches!(nowhere, Err(JournalError::Io { .. })));
    let empty = directory(&[&[]]);
    assert!(matches!(
        read_dir(empty.path()),
        Err(JournalError::Truncated { .. })
    ));
    let other = directory(&[&[b'x'; PAGE_BYTES]]);
    assert!(matches!(
        read_dir(other.path()),
        Err(JournalError::Magic { .. })
    ));
    let mut newer = small();
    newer.short(offset_of!(Header, version), 9);
    let newer = directory(&[&newer.bytes]);
    let error = read_dir(newer.path()).expect_err("version 9 is not known");
    assert!(error.to_string().contains("version 9"), "{error}");
    let mut damaged = small();
    damaged.short(offset_of!(Header, clock), 77);
    let damaged = directory(&[&damaged.bytes]);
    assert!(matches!(
        read_dir(damaged.path()),
        Err(JournalError::Damaged { offset: 12, .. })
    ));
}

#[test]
fn damage_anywhere_is_an_error_or_a_trace_and_never_a_panic() {
    let whole = small().bytes;
    let directory = directory(&[&whole]);
    let path = directory.path().join("0-0-0.ftj");
    let mut state = 1_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize
    };
    let mut read = 0;
    for _ in 0..500 {
        let mut bytes = whole.clone();
        for _ in 0..=random() % 4 {
            // The bytes that mean something: the header's beginning, and the chunk's.
            let place = if random() % 2 == 0 {
                random() % 136
            } else {
                PAGE_BYTES + random() % 200
            };
            bytes[place] = random() as u8;
        }
        bytes.truncate(bytes.len() - random() % 2 * (random() % 5000));
        std::fs::write(&path, bytes).expect("the temporary directory is writable");
        if let Ok(trace) = read_dir(directory.path()) {
            read += 1;
            assert!(trace.events.is_sorted_by_key(|event| event.time));
        }
    }
    assert!(read > 0, "some damage leaves the journal readable");
}
