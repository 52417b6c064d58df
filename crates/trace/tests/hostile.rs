//! No input makes a reader panic, and what a reader accepts is valid and can be written again.
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets the unexpected may end so"
)]

mod common;

use foretrace_trace::{Trace, read_bytes, sealed, text, validate};
use proptest::{collection::vec, prelude::*, sample::Index};

/// A change to a file: where, how many bytes go, and what comes in their place.
type Change = (Index, usize, Vec<u8>);

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let inserted = prop_oneof![
        vec(any::<u8>(), 0..4),
        // What may mean something to a reader.
        prop::sample::select(vec![
            "\n",
            "\r\n",
            " ",
            "\"",
            "#",
            "\\u{",
            "=",
            "\n0 ",
            " cpu=",
            "99999999999999999999",
            "\nprocess ",
            "\nunit 1s\n",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    vec((any::<Index>(), 0usize..6, inserted), 1..5)
}

fn change(bytes: &mut Vec<u8>, changes: &[Change]) {
    for (at, gone, inserted) in changes {
        let at = at.index(bytes.len() + 1);
        let end = (at + gone).min(bytes.len());
        bytes.splice(at..end, inserted.iter().copied());
    }
}

/// Reads bytes in every way; what is read must be valid and survive being written.
fn must_hold(bytes: &[u8]) {
    for read in [read_bytes, sealed::read_bytes, text::parse_bytes] {
        match read(bytes, "fuzzed") {
            Ok(trace) => must_be_whole(&trace),
            Err(error) => assert!(error.to_string().starts_with("fuzzed"), "{error}"),
        }
    }
}

fn must_be_whole(trace: &Trace) {
    validate(trace).unwrap();
    let sealed = sealed::to_bytes(trace).unwrap();
    let unsealed = sealed::read_bytes(&sealed, &trace.source).unwrap();
    assert_eq!(unsealed.events.len(), trace.events.len());
    if !trace.events.is_empty() {
        let written = text::to_text(trace).unwrap();
        let again = text::parse(&written, &trace.source).unwrap();
        let written_again = text::to_text(&again).unwrap();
        assert_eq!(text::parse(&written_again, &trace.source).unwrap(), again);
    }
    let _ = trace.total_cpu();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..300)) {
        must_hold(&bytes);
        for start in [&sealed::MAGIC[..], b"foretrace-text 1\n"] {
            must_hold(&[start, &bytes].concat());
        }
    }

    #[test]
    fn any_words(words in vec(prop::sample::select(vec![
        "0", "1", "A", "B", "lock", "unlock", "m", "trylock", "busy", "create", "terminate", "cpu=1", "process", "priority",
        "barrier_wait", "2", "\n", "\n1", "return", "from=A", "site=a+0x1", "\"\"", "unit", "1us", "once", "semaphore",
    ]), 0..60)) {
        must_hold(format!("foretrace-text 1\n{}", words.join(" ")).as_bytes());
    }

    #[test]
    fn a_changed_text(trace in common::traces(), changes in changes()) {
        let mut bytes = text::to_text(&trace).unwrap().into_bytes();
        change(&mut bytes, &changes);
        must_hold(&bytes);
    }

    #[test]
    fn a_changed_sealed_file(trace in common::traces(), changes in changes()) {
        let mut bytes = sealed::to_bytes(&trace).unwrap();
        change(&mut bytes, &changes);
        must_hold(&bytes);
    }

    /// The checksums are made right again, so that the decoders see the changes.
    #[test]
    fn a_changed_payload(trace in common::traces(), places in vec((any::<Index>(), any::<u8>()), 1..4)) {
        let mut bytes = sealed::to_bytes(&trace).unwrap();
        for (place, value) in places {
            let at = place.index(bytes.len());
            bytes[at] = value;
        }
        let mut at = 12;
        while let Some(header) = bytes.get(at..at + 16) {
            let length = u64::from_le_bytes(header[8..].try_into().unwrap()) as usize;
            let Some(payload) = at.checked_add(16).and_then(|start| bytes.get(start..start.checked_add(length)?)) else {
                break;
            };
            let checksum = crc32fast::hash(payload);
            bytes[at + 4..at + 8].copy_from_slice(&checksum.to_le_bytes());
            at += 16 + length;
        }
        must_hold(&bytes);
    }
}
