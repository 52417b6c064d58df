//! Journals made by hand, whole and damaged.

use std::mem::offset_of;
use std::path::Path;

use super::layout::{
    self, CHUNK_EVENTS, CHUNK_MAGIC, ChunkHeader, Header, Kind, OUTCOME_PENDING, OUTCOME_SUCCESS,
    PAGE_BYTES, Repetition, Section, Unread, pack_tail,
};
use super::{JournalError, read_dir};
use crate::{Nanos, Operation, Outcome, Trace};

/// Ticks are nanoseconds in these journals, and recording began at this one.
const START: u64 = 1_000_000;

/// A journal that is being made up.
struct Draft {
    bytes: Vec<u8>,
    /// Where the next record goes.
    cursor: usize,
}

impl Draft {
    fn new(pid: u32, predecessors: u32) -> Self {
        let mut draft = Self {
            bytes: vec![0; PAGE_BYTES],
            cursor: 0,
        };
        draft.bytes[..8].copy_from_slice(&layout::MAGIC);
        draft.short(offset_of!(Header, version), layout::VERSION);
        draft.short(offset_of!(Header, clock), layout::CLOCK_RSEQ);
        draft.short(offset_of!(Header, pid), pid);
        draft.short(offset_of!(Header, predecessors), predecessors);
        let start = START + u64::from(predecessors) * 1000;
        draft.long(offset_of!(Header, start_tsc), start);
        draft.long(offset_of!(Header, start_monotonic_nanos), start);
        draft
    }

    fn short(&mut self, offset: usize, value: u32) {
        self.bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn long(&mut self, offset: usize, value: u64) {
        self.bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
    }

    fn begun(mut self, tsc: u64, parent: u32) -> Self {
        self.short(offset_of!(Header, ppid), parent);
        self.long(offset_of!(Header, start_tsc), START + tsc);
        self.long(offset_of!(Header, start_monotonic_nanos), START + tsc);
        self
    }

    fn exited(mut self, tsc: u64) -> Self {
        self.long(offset_of!(Header, flags), layout::FLAG_CLEAN_EXIT);
        self.long(offset_of!(Header, end_tsc), START + tsc);
        self.long(offset_of!(Header, end_monotonic_nanos), START + tsc);
        self
    }

    /// Begins a chunk of a page; records go there from now on.
    fn thread(mut self, number: u32, tid: u32, pthread: u64) -> Self {
        let chunk = self.bytes.len();
        self.bytes.resize(chunk + PAGE_BYTES, 0);
        self.short(chunk + offset_of!(ChunkHeader, magic), CHUNK_MAGIC);
        self.short(chunk + offset_of!(ChunkHeader, kind), CHUNK_EVENTS);
        self.long(chunk + offset_of!(ChunkHeader, length), PAGE_BYTES as u64);
        self.short(chunk + offset_of!(ChunkHeader, thread), number);
        self.short(chunk + offset_of!(ChunkHeader, tid), tid);
        self.long(chunk + offset_of!(ChunkHeader, pthread), pthread);
        self.long(chunk + offset_of!(ChunkHeader, tsc), START);
        self.long(chunk + offset_of!(ChunkHeader, monotonic_nanos), START);
        self.cursor = chunk + size_of::<ChunkHeader>();
        self
    }

    fn record(mut self, tsc: u64, kind: Kind, object: u64, outcome: u8, site: u64) -> Self {
        self.long(self.cursor, START + tsc);
        self.long(self.cursor + 8, object);
        self.long(self.cursor + 16, pack_tail(kind, outcome, site));
        self.cursor += layout::RECORD_BYTES;
        self
    }

    fn hole(mut self) -> Self {
        self.cursor += layout::RECORD_BYTES;
        self
    }
}

fn directory(drafts: &[&[u8]]) -> tempdir::Directory {
    let directory = tempdir::Directory::new();
    for (index, bytes) in drafts.iter().enumerate() {
        let path = directory.path().join(format!("{index}-0-0.ftj"));
        std::fs::write(path, bytes).expect("the temporary directory is writable");
    }
    directory
}

fn read(drafts: &[Draft]) -> Trace {
    let bytes: Vec<&[u8]> = drafts.iter().map(|draft| draft.bytes.as_slice()).collect();
    read_dir(directory(&bytes).path()).expect("it is whole")
}

/// Shows events as `time thread operation`.
fn lines(trace: &Trace) -> Vec<String> {
    let line = |event: &crate::Event| {
        let call = trace.call(event);
        let thread = &trace.threads[call.thread.index()].name;
        format!("{} {thread} {}", { event.time }.0, call.operation.name())
    };
    trace.events.iter().map(line).collect()
}

fn small() -> Draft {
    Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(0, Kind::Sync, 500, 0, 0)
        .record(10, Kind::MutexLock, 64, OUTCOME_SUCCESS, 0)
        .record(30, Kind::MutexUnlock, 64, OUTCOME_SUCCESS, 0)
        .exited(100)
}

#[test]
fn times_and_cpu_times_come_from_the_counter() {
    let trace = read(&[small()]);
    assert_eq!(
        lines(&trace),
        ["10 main lock", "30 main unlock", "100 main terminate"]
    );
    let cpu: Vec<_> = trace.events.iter().map(crate::Event::cpu).collect();
    assert_eq!(cpu, [Some(Nanos(510)), Some(Nanos(530)), Some(Nanos(530))]);
    assert!(trace.warnings.is_empty());
}

/// A thread that read its CPU time at 0, and waited twice, unwatched for 200 and for 30 ticks, without reading it.
fn two_waits() -> Draft {
    let unread = |ticks| Unread { ticks, own: 2 }.pack(Kind::SemWait);
    Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(0, Kind::Sync, 500, 0, 0)
        .record(100, Kind::SemWait, 64, OUTCOME_PENDING, 0)
        .record(300, Kind::Return, 64, OUTCOME_SUCCESS, unread(200))
        .record(400, Kind::SemWait, 64, OUTCOME_PENDING, 0)
        .record(430, Kind::Return, 64, OUTCOME_SUCCESS, unread(30))
        .record(530, Kind::SemWait, 64, OUTCOME_PENDING, 0)
}

fn cpu_times(trace: &Trace) -> Vec<u64> {
    let times = trace.events.iter().filter_map(crate::Event::cpu);
    times.map(|cpu| cpu.0).collect()
}

#[test]
fn what_waits_used_together_is_shared_out_among_them() {
    let sem_wait = Kind::SemWait as u64;
    // 300 ticks watched and 100 in three waits: 30 in the one that was no longer, 35 in the others. Of each of the first
    // two, 2 were the recorder's.
    let draft = two_waits()
        .record(800, Kind::Sync, 900, 0, 0)
        .record(800, Kind::Return, 64, OUTCOME_SUCCESS, sem_wait)
        .exited(900);
    let times = cpu_times(&read(&[draft]));
    assert_eq!(times, [600, 633, 733, 761, 861, 896, 896]);
}

#[test]
fn waits_get_what_they_usually_get_where_the_thread_then_lost_its_cpu_in_its_own_work() {
    let sem_wait = Kind::SemWait as u64;
    let unread = Unread { ticks: 100, own: 0 };
    // The first wait used 10. After the second the thread worked on for a time that nobody knows: 20 ticks are left.
    let draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(0, Kind::Sync, 0, 0, 0)
        .record(0, Kind::SemWait, 64, OUTCOME_PENDING, 0)
        .record(
            100,
            Kind::Return,
            64,
            OUTCOME_SUCCESS,
            unread.pack(Kind::SemWait),
        )
        .record(100, Kind::SemWait, 64, OUTCOME_PENDING, 0)
        .record(200, Kind::Sync, 20, 0, 0)
        .record(200, Kind::Return, 64, OUTCOME_SUCCESS, sem_wait)
        .record(210, Kind::SemWait, 64, OUTCOME_PENDING, 0)
        .record(
            310,
            Kind::Return,
            64,
            OUTCOME_SUCCESS,
            unread.pack(Kind::SemWait),
        )
        .record(400, Kind::Sync, 60, 0, 0)
        .record(410, Kind::SemPost, 64, OUTCOME_SUCCESS, 0)
        .exited(500);
    let times = cpu_times(&read(&[draft]));
    assert_eq!(times, [0, 10, 10, 20, 30, 40, 70, 70]);
}

#[test]
fn the_waits_of_a_program_that_was_killed_get_none() {
    let trace = read(&[two_waits()]);
    assert_eq!(cpu_times(&trace)[..4], [600, 600, 698, 698]);
}

#[test]
fn journals_of_the_first_version_are_read() {
    let mut draft = small();
    draft.short(offset_of!(Header, version), layout::FIRST_VERSION);
    assert_eq!(lines(&read(&[draft])).len(), 3);
}

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
fn what_the_recorder_used_is_taken_out() {
    let mut draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(0, Kind::Sync, 500, 0, 40)
        .record(10, Kind::MutexLock, 64, OUTCOME_SUCCESS, 0)
        .record(20, Kind::Overhead, 100, 0, 0)
        .record(230, Kind::MutexUnlock, 64, OUTCOME_SUCCESS, 0)
        .exited(300);
    draft.long(offset_of!(Header, record_cost), 5 * 16);
    let trace = read(&[draft]);
    let cpu: Vec<u64> = trace
        .events
        .iter()
        .filter_map(crate::Event::cpu)
        .map(|cpu| cpu.0)
        .collect();
    // 40 ticks of the clock's reading; 5 for the first event; 100 of other work.
    assert_eq!(cpu, [510 - 40, 730 - 40 - 5 - 100, 730 - 40 - 5 - 100]);
}

#[test]
fn threads_are_merged_by_time_and_joined_by_their_pthread() {
    let draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(5, Kind::Create, 1, OUTCOME_SUCCESS, 0)
        .record(6, Kind::Join, 99, OUTCOME_PENDING, 0)
        .record(40, Kind::Return, 99, OUTCOME_SUCCESS, Kind::Join as u64)
        .record(50, Kind::Join, 12345, OUTCOME_PENDING, 0)
        .record(51, Kind::Return, 12345, 16 + 3, Kind::Join as u64)
        .thread(1, 8, 99)
        .record(20, Kind::SemPost, 64, OUTCOME_SUCCESS, 0)
        .record(30, Kind::Terminate, 0, OUTCOME_SUCCESS, 0)
        .exited(100);
    let trace = read(&[draft]);
    assert_eq!(
        lines(&trace),
        [
            "5 main create",
            "6 main join",
            "20 T1 sem_post",
            "30 T1 terminate",
            "40 main return",
            "100 main terminate"
        ]
    );
    let joined = trace.calls.iter().find_map(|call| match call.operation {
        Operation::Join(thread) => Some(thread.index()),
        _ => None,
    });
    assert_eq!(joined, Some(1));
    assert_eq!(
        trace.warnings.len(),
        1,
        "the second join was of nobody known"
    );
}

#[test]
fn a_handlers_call_stands_before_the_wait_that_it_interrupted() {
    let draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(10, Kind::SemWait, 64, OUTCOME_PENDING, 0)
        .record(20, Kind::SemPost, 64, OUTCOME_SUCCESS, 0)
        .record(30, Kind::Return, 64, OUTCOME_SUCCESS, Kind::SemWait as u64)
        .exited(100);
    let trace = read(&[draft]);
    assert_eq!(
        lines(&trace),
        [
            "20 main sem_post",
            "20 main sem_wait",
            "30 main return",
            "100 main terminate"
        ]
    );
}

#[test]
fn a_wait_that_never_came_back_acquired_nothing() {
    let draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(10, Kind::MutexLock, 64, OUTCOME_PENDING, 0)
        .thread(1, 8, 80)
        .record(15, Kind::BarrierWait, 128, OUTCOME_PENDING, 0)
        .exited(100);
    let trace = read(&[draft]);
    assert_eq!(
        lines(&trace),
        [
            "10 main lock",
            "10 main return",
            "15 T1 barrier_wait",
            "100 T1 terminate",
            "100 main terminate"
        ]
    );
    let outcome = trace.call(&trace.events[1]).outcome;
    assert_eq!(outcome, Outcome::Failed(4));
}

#[test]
fn a_futexs_wake_up_tells_how_many_it_woke_and_a_wait_at_the_end_stands_alone() {
    let draft = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(10, Kind::FutexWait, 64, OUTCOME_PENDING, 0)
        .record(
            30,
            Kind::Return,
            64,
            OUTCOME_SUCCESS,
            Kind::FutexWait as u64,
        )
        .record(40, Kind::FutexTimedWait, 64, OUTCOME_PENDING, 0)
        .thread(1, 8, 80)
        .record(20, Kind::FutexWake, 64, OUTCOME_SUCCESS, 0)
        .record(0, Kind::Extension, 2, 0, 0)
        .exited(100);
    let trace = read(&[draft]);
    assert_eq!(
        lines(&trace),
        [
            "10 main futex_wait",
            "20 T1 futex_wake",
            "30 main return",
            "40 main futex_timedwait",
            "100 T1 terminate",
            "100 main terminate"
        ]
    );
    let woken = trace.call(&trace.events[1]).operation;
    assert!(
        matches!(woken, Operation::FutexWake { woken: 2, .. }),
        "{woken:?}"
    );
    assert!(
        trace.warnings[0].contains("futexes"),
        "{:?}",
        trace.warnings
    );
    assert_eq!(trace.warnings.len(), 1);
}

#[test]
fn yields_are_no_events_but_many_are_told() {
    let yields = |bursts: u64, each: u64| {
        let mut draft = Draft::new(7, 0).thread(0, 7, 70);
        for burst in 0..bursts {
            draft = draft
                .record(10 + burst, Kind::Yield, 0, OUTCOME_SUCCESS, 0)
                .record(0, Kind::Extension, each, 0, 0);
        }
        read(&[draft.exited(100)])
    };
    let few = yields(3, 2);
    assert_eq!(lines(&few), ["100 main terminate"]);
    assert!(few.warnings.is_empty(), "{:?}", few.warnings);
    let many = yields(3, 2000);
    assert_eq!(lines(&many), ["100 main terminate"]);
    let [warning] = many.warnings.as_slice() else {
        panic!("one warning, not {:?}", many.warnings);
    };
    assert!(
        warning.contains("main spun by sched_yield, 6000 times"),
        "{warning}"
    );
}

#[test]
fn cpu_time_is_not_counted_again_when_a_program_becomes_another() {
    let first = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(0, Kind::Sync, 500, 0, 0)
        .record(100, Kind::SemPost, 64, OUTCOME_SUCCESS, 0);
    let second = Draft::new(7, 1)
        .thread(0, 7, 70)
        .record(1000, Kind::Sync, 650, 0, 0)
        .record(1010, Kind::SemPost, 64, OUTCOME_SUCCESS, 0)
        .exited(2000);
    let trace = read(&[first, second]);
    let cpu: Vec<u64> = trace
        .events
        .iter()
        .filter_map(crate::Event::cpu)
        .map(|cpu| cpu.0)
        .collect();
    assert_eq!(cpu, [600, 600, 600, 60, 60]);
    assert_eq!(trace.threads[1].name, "program-7.1/main");
    assert_eq!(trace.objects.len(), 2, "each process has its own");
}

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
    let nothing = tempdir::Directory::new();
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

/// A directory that goes with its owner.
mod tempdir {
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicU32, Ordering};

    pub struct Directory(PathBuf);

    impl Directory {
        pub fn new() -> Self {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("foretrace-journal-{}-{count}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&path).expect("the temporary directory is writable");
            Self(path)
        }

        pub fn path(&self) -> &Path {
            &self.0
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).expect("it was made by new");
        }
    }
}

/// The whole of a process that does nothing but exist.
fn child(pid: u32, parent: u32, begun: u64, exited: u64) -> Draft {
    Draft::new(pid, 0)
        .begun(begun, parent)
        .thread(0, pid, 70)
        .record(begun, Kind::Sync, 0, 0, 0)
        .exited(exited)
}

/// Shows who created and joined whom.
fn ties(trace: &Trace) -> Vec<String> {
    let tie = |event: &crate::Event| {
        let call = trace.call(event);
        let other = call.operation.other_thread()?;
        let other = &trace.threads[other.index()].name;
        Some(format!(
            "{} {} {other}",
            { event.time }.0,
            call.operation.name()
        ))
    };
    trace.events.iter().filter_map(tie).collect()
}

#[test]
fn the_number_of_a_process_may_be_used_again() {
    let wait = Kind::WaitProcess as u64;
    let parent = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(10, Kind::Fork, 9, OUTCOME_SUCCESS, 0)
        .record(12, Kind::WaitProcess, 9, OUTCOME_PENDING, 0)
        .record(60, Kind::Return, 9, OUTCOME_SUCCESS, wait)
        .record(70, Kind::Fork, 9, OUTCOME_SUCCESS, 0)
        .record(80, Kind::WaitProcess, 9, OUTCOME_PENDING, 0)
        .record(160, Kind::Return, 9, OUTCOME_SUCCESS, wait)
        .exited(200);
    let trace = read(&[parent, child(9, 7, 15, 50), child(9, 7, 75, 150)]);
    assert_eq!(
        ties(&trace),
        [
            "10 create program-9/main",
            "12 join program-9/main",
            "70 create program-9~2/main",
            "80 join program-9~2/main"
        ]
    );
    assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
    crate::validate(&trace).expect("names are unique");
}

#[test]
fn a_process_whose_number_was_not_told_is_the_next_that_its_parent_started() {
    let wait = Kind::WaitProcess as u64;
    // One by its number, one by `system`: the order in which they begin says nothing.
    let parent = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(10, Kind::Fork, 0, OUTCOME_SUCCESS, 0)
        .record(0, Kind::Extension, 0, 0, 0)
        .record(11, Kind::Fork, 9, OUTCOME_SUCCESS, 0)
        .record(12, Kind::WaitProcess, 0, OUTCOME_PENDING, 0)
        .record(0, Kind::Extension, 0, 0, 0)
        .record(60, Kind::Return, 0, OUTCOME_SUCCESS, wait)
        .record(61, Kind::Fork, 11, OUTCOME_SUCCESS, 0)
        .exited(200);
    let trace = read(&[parent, child(9, 7, 15, 50), child(8, 7, 20, 55)]);
    assert_eq!(
        ties(&trace),
        [
            "10 create program-8/main",
            "11 create program-9/main",
            "12 join program-8/main"
        ]
    );
    assert!(trace.warnings[0].starts_with("1 processes that were started were not recorded"));
}

#[test]
fn a_program_that_became_another_created_it() {
    let wait = Kind::WaitProcess as u64;
    let parent = Draft::new(7, 0)
        .thread(0, 7, 70)
        .record(10, Kind::Fork, 9, OUTCOME_SUCCESS, 0)
        .record(12, Kind::WaitProcess, 9, OUTCOME_PENDING, 0)
        .record(1200, Kind::Return, 9, OUTCOME_SUCCESS, wait)
        .exited(1300);
    let first = Draft::new(9, 0)
        .begun(15, 7)
        .thread(0, 9, 70)
        .record(20, Kind::MutexLock, 64, OUTCOME_SUCCESS, 0)
        .record(30, Kind::Exec, 0, OUTCOME_SUCCESS, 0);
    let second = Draft::new(9, 1)
        .begun(1000, 7)
        .thread(0, 9, 70)
        .exited(1100);
    let trace = read(&[parent, first, second]);
    assert_eq!(
        ties(&trace),
        [
            "10 create program-9/main",
            "12 join program-9.1/main",
            "1000 create program-9.1/main"
        ]
    );
}
