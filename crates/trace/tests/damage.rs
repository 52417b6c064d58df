//! Sealed files that are cut short or damaged: what is whole of them, or an error that says where. Never a panic.
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets the unexpected may end so"
)]

use foretrace_trace::{CallId, Error, Event, Nanos, Trace, sealed, text, validate};

/// Two threads that take turns on a mutex; `count` events.
fn long(count: usize) -> Trace {
    let rows = "0 A lock m\n0 A unlock m\n0 B lock m\n0 B unlock m\n";
    let mut trace = foretrace_testkit::trace(rows);
    "long".clone_into(&mut trace.source);
    trace.events = (0..count)
        .map(|i| {
            let cpu = Some(Nanos(i as u64 * 500));
            Event::new(Nanos(i as u64 * 1000), cpu, CallId::from_index(i % 4))
        })
        .collect();
    trace
}

fn read(bytes: &[u8]) -> Result<Trace, Error> {
    sealed::read_bytes(bytes, "x")
}

fn message(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

/// Returns where each section's header starts, and its payload's length.
fn sections(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 12;
    while at < bytes.len() {
        let length = u64::from_le_bytes(bytes[at + 8..at + 16].try_into().unwrap()) as usize;
        found.push((at, length));
        at += 16 + length;
    }
    found
}

/// Makes the checksum of the section at `at` right again.
fn reseal(bytes: &mut [u8], (at, length): (usize, usize)) {
    let checksum = crc32fast::hash(&bytes[at + 16..at + 16 + length]);
    bytes[at + 4..at + 8].copy_from_slice(&checksum.to_le_bytes());
}

#[test]
fn an_event_takes_twelve_bytes() {
    let count = 100_000;
    let bytes = sealed::to_bytes(&long(count)).unwrap();
    let per_event = bytes.len() as f64 / count as f64;
    assert!(per_event <= 12.1, "{per_event}");
}

#[test]
fn a_file_cut_anywhere_gives_its_whole_blocks_and_says_so() {
    let trace = long(140_000);
    let bytes = sealed::to_bytes(&trace).unwrap();
    let sections = sections(&bytes);
    assert_eq!(sections.len(), 11, "the metadata, 9 blocks and the end");
    let ends: Vec<usize> = sections
        .iter()
        .map(|(at, length)| at + 16 + length)
        .collect();
    let mut cuts: Vec<usize> = (0..bytes.len()).step_by(99_991).collect();
    cuts.extend(
        ends.iter()
            .flat_map(|end| [end - 1, *end, end + 1, end + 15, end + 16]),
    );
    for cut in cuts.into_iter().filter(|cut| *cut < bytes.len()) {
        let blocks = ends[1..10].iter().filter(|end| **end <= cut).count();
        if cut < ends[0] {
            assert!(read(&bytes[..cut]).is_err(), "cut at {cut}");
            continue;
        }
        let whole = read(&bytes[..cut]).unwrap();
        let events = (blocks * 16_384).min(140_000);
        assert_eq!(whole.events, trace.events[..events], "cut at {cut}");
        let warning = whole.warnings.last().unwrap();
        assert!(
            warning.contains(&format!("ends at byte {cut} ")),
            "{warning}"
        );
        assert!(
            warning.contains(&format!("{events} of 140000 events are whole")),
            "{warning}"
        );
    }
}

#[test]
fn a_short_file_cut_at_any_byte_is_an_error_or_a_warning() {
    let bytes = std::fs::read("../../traces/fixtures/v1.ftrace").unwrap();
    let whole = read(&bytes).unwrap();
    for cut in 0..bytes.len() {
        if let Ok(trace) = read(&bytes[..cut]) {
            assert!(trace.warnings.len() > whole.warnings.len(), "cut at {cut}");
        }
    }
}

#[test]
fn a_changed_byte_is_never_taken_for_a_whole_file() {
    let bytes = std::fs::read("../../traces/fixtures/v1.ftrace").unwrap();
    for at in 0..bytes.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            match read(&changed) {
                Err(error) => assert!(error.to_string().starts_with("x: "), "{error}"),
                Ok(trace) => {
                    let said = trace
                        .warnings
                        .iter()
                        .any(|warning| warning.contains("cut short"));
                    assert!(said, "byte {at} changed by {change:#x}");
                }
            }
        }
    }
}

/// Damage that a checksum does not see, since it was made before: the decoder itself must hold.
#[test]
fn a_hostile_byte_under_a_right_checksum_does_no_harm() {
    let bytes = std::fs::read("../../traces/fixtures/v1.ftrace").unwrap();
    for section in sections(&bytes) {
        for at in section.0 + 16..section.0 + 16 + section.1 {
            for value in [0, 0xfb, 0xfd] {
                let mut changed = bytes.clone();
                changed[at] = value;
                reseal(&mut changed, section);
                if let Ok(trace) = read(&changed) {
                    validate(&trace).unwrap();
                    sealed::to_bytes(&trace).unwrap();
                    text::to_text(&trace).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_length_that_the_file_cannot_hold_reserves_no_memory() {
    let mut payload = vec![0xfd];
    payload.extend_from_slice(&u64::MAX.to_le_bytes());
    // A recording whose command has 2^60 words, or a first word of 2^60 bytes.
    for prefix in [&[1][..], &[1, 1][..]] {
        let mut payload = payload.clone();
        payload.extend_from_slice(prefix);
        payload.push(0xfd);
        payload.extend_from_slice(&(1u64 << 60).to_le_bytes());
        let mut bytes = sealed::MAGIC.to_vec();
        bytes.extend_from_slice(&1u32.to_le_bytes());
        bytes.extend_from_slice(b"META\0\0\0\0");
        bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&payload);
        reseal(&mut bytes, (12, payload.len()));
        let message = message(&bytes);
        assert!(
            message.starts_with("x: byte 28: expected metadata in bincode, found"),
            "{message}"
        );
    }
}

#[test]
fn an_error_names_the_byte_and_what_was_expected() {
    let bytes = sealed::to_bytes(&long(10)).unwrap();
    let sections = sections(&bytes);
    let (events, end) = (sections[1].0, sections[2].0);
    let changed = |at: usize, with: &[u8]| {
        let mut changed = bytes.clone();
        changed[at..at + with.len()].copy_from_slice(with);
        message(&changed)
    };
    let remedy = "copy the file again from where it was recorded, or record again";
    assert_eq!(
        changed(8, &[7]),
        "x: is a foretrace file of version 7, and this reader knows versions up to 4; use a newer foretrace, or \
         export the trace as text with the one that wrote it"
    );
    assert_eq!(
        changed(8, &[0]),
        format!("x: byte 8: expected a version from 1 to 4, found version 0; {remedy}")
    );
    assert_eq!(
        changed(0, b"XX"),
        format!("x: byte 0: expected the magic \\x89FTRACE\\n, found XXTRACE\\n; {remedy}")
    );
    assert_eq!(
        changed(events, b"EVIL"),
        format!(
            "x: byte {events}: expected a section META, EVTS or END., found \"EVIL\"; {remedy}"
        )
    );
    assert_eq!(
        changed(events + 8, &[0xff; 8]),
        format!(
            "x: byte {}: expected a length of at most 458768, found 18446744073709551615; {remedy}",
            events + 8
        )
    );
    let checksum = changed(events + 40, &[0xab]);
    let start = format!("x: byte {}: expected bytes of checksum 0x", events + 16);
    assert!(checksum.starts_with(&start), "{checksum}");
    let mut longer = bytes.clone();
    longer.extend_from_slice(b"more");
    assert_eq!(
        message(&longer),
        format!(
            "x: byte {}: expected the end of the file, found 4 more bytes; {remedy}",
            bytes.len()
        )
    );
    let mut fewer = bytes.clone();
    fewer[end + 16] = 9;
    reseal(&mut fewer, sections[2]);
    assert_eq!(
        message(&fewer),
        format!(
            "x: byte {}: expected 9 events in 1 blocks (10 by META), found 10 in 1; {remedy}",
            end + 16
        )
    );
    assert!(message(&bytes[..20]).starts_with("x: byte 12: expected a whole META section"));
    assert!(message(b"").contains("is empty"));
}
