//! One journal: its header, its chunks, and what a first pass over its records finds.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;
use std::ops::Range;
use std::path::Path;

use super::JournalError;
use super::layout::{
    self, CHUNK_EVENTS, CHUNK_MAGIC, CHUNK_MAPS, ChunkHeader, Header, Kind, PAGE_BYTES,
    RECORD_BYTES, Record,
};
use super::modules::Snapshot;

/// No chunk is longer; a length beyond it is damage.
const LONGEST_CHUNK_BYTES: u64 = 1 << 30;

/// A journal in memory.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the flags of a file, each by its name"
)]
pub(super) struct Journal {
    pub bytes: Vec<u8>,
    pub clock: u32,
    pub pid: u32,
    pub ppid: u32,
    pub start: Stamp,
    pub start_unix_nanos: u64,
    pub start_ticks: u64,
    /// The latest moment at which counter and clock were both stored.
    pub latest: Stamp,
    /// The exit's moment; `None` when the process did not end by itself.
    pub exit: Option<Stamp>,
    /// At the exit, the CPU time of the process and of the children that it had waited for, in nanoseconds.
    pub exit_cpu: u64,
    /// What it had used before as other programs, in nanoseconds: of its own CPU time, and of that of its children.
    pub before: Before,
    /// What it used after its exit was noted, in nanoseconds.
    pub ending: u64,
    /// Where it did not end by itself, when whoever waited for it was told, and what it had used by then, in nanoseconds.
    pub killed: Option<(u64, u64)>,
    /// The children that it waited for.
    pub reaped: Vec<Reaped>,
    /// Whether it began as a copy of its parent.
    pub forked: bool,
    pub stopped: bool,
    /// Whether it has a worse clock than it might have, since nobody could tell.
    pub is_clock_undecided: bool,
    /// Whether the program made OpenMP tasks.
    pub has_tasks: bool,
    /// The first library that it opened whose calls may pass the recorder by.
    pub bypassing: Option<String>,
    pub lost_events: u64,
    /// How often it gave memory back, or changed what it may do with it, while it had several threads.
    pub remaps: u64,
    pub pretended_cpus: u32,
    /// As how many other programs it was recorded before.
    pub predecessors: u32,
    /// Of these, how many the one had before it that it followed; `None` where it followed none that is kept.
    pub follows: Option<u32>,
    /// What recording one event cost, in ticks.
    pub record_cost: f64,
    /// What recording a lock and its unlock together cost, in ticks.
    pub section_cost: f64,
    /// What counting a lock and its unlock cost, in ticks.
    pub repetition_cost: f64,
    /// The same where several mutexes take turns.
    pub turn_cost: f64,
    /// What recording a call of MPI costs between its return and the next call, as `record_cost`.
    pub message_cost: f64,
    pub program: String,
    pub threads: Vec<JournalThread>,
    pub snapshots: Vec<Snapshot>,
    /// The CPU times of threads at exit, by the thread's number in the system.
    pub finals: BTreeMap<u32, u64>,
    /// The numbers of the processes that it started, where those are known.
    pub started: BTreeSet<u32>,
    /// Records whose writing was cut short.
    pub holes: u64,
    /// Where what could not be read lies.
    pub damage: Vec<String>,
}

/// What a process used before, as other programs, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Before {
    /// Of its first thread's CPU time.
    pub cpu: u64,
    /// What the recorder used of that in programs that did nothing but become the next.
    pub recorder: u64,
}

/// A child that was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reaped {
    /// The counter when the wait was over.
    pub tsc: u64,
    /// The child; 0 where its number is not known.
    pub pid: u32,
    /// The CPU time of all children that were waited for until then, and of theirs, in nanoseconds.
    pub all: u64,
}

/// A moment by two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub tsc: u64,
    pub monotonic_nanos: u64,
}

/// A thread of a journal, by number.
pub(super) struct JournalThread {
    pub number: u32,
    pub tid: u32,
    pub pthread: u64,
    pub start_routine: u64,
    /// Of the first 64 CPUs, those that it was created to run on; 0 for all.
    pub bound: u64,
    /// The counter when its first chunk was made.
    pub tsc: u64,
    /// Where its records lie in the file, in order.
    pub parts: Vec<Range<usize>>,
    /// Whether it did more than exist: has a record of a call.
    pub has_events: bool,
    /// The counter when it ended, if it was seen to.
    pub ended: Option<u64>,
}

/// A record, decoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawRecord {
    pub tsc: u64,
    pub object: u64,
    pub kind: Kind,
    pub outcome: u8,
    pub site: u64,
}

struct Chunk {
    thread: u32,
    sequence: u32,
    tid: u32,
    start_routine: u64,
    pthread: u64,
    bound: u64,
    tsc: u64,
    records: Range<usize>,
}

pub(super) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    bytes
        .get(offset..offset + 4)
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(0, u32::from_le_bytes)
}

pub(super) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    bytes
        .get(offset..offset + 8)
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(0, u64::from_le_bytes)
}

/// Decodes the record at an offset; `None` for a hole or a byte of no meaning.
pub(super) fn record_at(bytes: &[u8], offset: usize) -> Option<RawRecord> {
    let tail = u64_at(bytes, offset + offset_of!(Record, tail));
    Some(RawRecord {
        kind: Kind::from_byte(tail as u8)?,
        tsc: u64_at(bytes, offset + offset_of!(Record, tsc)),
        object: u64_at(bytes, offset + offset_of!(Record, object)),
        outcome: (tail >> 8) as u8,
        site: tail >> 16,
    })
}

/// Reads a journal; `None` for one whose header was never finished.
pub(super) fn read(path: &Path) -> Result<Option<Journal>, JournalError> {
    let shown = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|source| JournalError::Io {
        path: shown.clone(),
        source,
    })?;
    if bytes.len() < PAGE_BYTES || u64_at(&bytes, 0) == 0 {
        return Ok(None);
    }
    check_header(&shown, &bytes)?;
    let mut journal = from_header(bytes);
    let chunks = walk_chunks(&shown, &mut journal);
    journal.threads = collect_threads(chunks);
    first_pass(&mut journal);
    Ok(Some(journal))
}

fn check_header(path: &str, bytes: &[u8]) -> Result<(), JournalError> {
    if bytes[..8] != layout::MAGIC {
        return Err(JournalError::Magic {
            path: path.to_owned(),
            expected: String::from_utf8_lossy(&layout::MAGIC).into_owned(),
            found: String::from_utf8_lossy(&bytes[..8]).into_owned(),
        });
    }
    let version = u32_at(bytes, offset_of!(Header, version));
    if !(layout::FIRST_VERSION..=layout::VERSION).contains(&version) {
        return Err(JournalError::Version {
            path: path.to_owned(),
            expected: layout::VERSION,
            found: version,
        });
    }
    let offset = offset_of!(Header, clock);
    let clock = u32_at(bytes, offset);
    if !(layout::CLOCK_RSEQ..=layout::CLOCK_SYSTEM_CALL).contains(&clock) {
        return Err(JournalError::Damaged {
            path: path.to_owned(),
            offset: offset as u64,
            what: "the clock's kind",
            found: u64::from(clock),
        });
    }
    Ok(())
}

fn from_header(bytes: Vec<u8>) -> Journal {
    let long = |offset| u64_at(&bytes, offset);
    let short = |offset| u32_at(&bytes, offset);
    let ticks = |offset| long(offset) as f64 / 16.0;
    let flags = long(offset_of!(Header, flags));
    let start = Stamp {
        tsc: long(offset_of!(Header, start_tsc)),
        monotonic_nanos: long(offset_of!(Header, start_monotonic_nanos)),
    };
    let exit = (flags & layout::FLAG_CLEAN_EXIT != 0).then(|| Stamp {
        tsc: long(offset_of!(Header, end_tsc)),
        monotonic_nanos: long(offset_of!(Header, end_monotonic_nanos)),
    });
    let program = offset_of!(Header, program);
    let length = short(offset_of!(Header, program_bytes)) as usize;
    let end = program + length.min(layout::PROGRAM_BYTES);
    let predecessors = short(offset_of!(Header, predecessors));
    Journal {
        clock: short(offset_of!(Header, clock)),
        pid: short(offset_of!(Header, pid)),
        ppid: short(offset_of!(Header, ppid)),
        start,
        start_unix_nanos: long(offset_of!(Header, start_unix_nanos)),
        start_ticks: long(offset_of!(Header, start_ticks)),
        latest: exit.unwrap_or(start),
        exit,
        exit_cpu: long(offset_of!(Header, end_cpu_nanos))
            .saturating_add(long(offset_of!(Header, end_children_nanos))),
        before: Before::default(),
        ending: 0,
        killed: None,
        reaped: Vec::new(),
        forked: flags & layout::FLAG_FORKED != 0,
        stopped: flags & layout::FLAG_STOPPED != 0,
        is_clock_undecided: flags & layout::FLAG_CLOCK_UNDECIDED != 0,
        has_tasks: flags & layout::FLAG_TASKS != 0,
        bypassing: (flags & layout::FLAG_BYPASSED != 0).then(|| bypassing(&bytes)),
        lost_events: long(offset_of!(Header, lost_events)),
        remaps: long(offset_of!(Header, remaps)),
        pretended_cpus: short(offset_of!(Header, pretended_cpus)),
        predecessors,
        follows: predecessors.checked_sub(1),
        record_cost: ticks(offset_of!(Header, record_cost)),
        section_cost: ticks(offset_of!(Header, section_cost)),
        repetition_cost: ticks(offset_of!(Header, repetition_cost)),
        turn_cost: ticks(offset_of!(Header, turn_cost)),
        message_cost: ticks(offset_of!(Header, message_cost)),
        program: String::from_utf8_lossy(&bytes[program..end]).into_owned(),
        threads: Vec::new(),
        snapshots: Vec::new(),
        finals: BTreeMap::new(),
        started: BTreeSet::new(),
        holes: 0,
        damage: Vec::new(),
        bytes,
    }
}

fn bypassing(bytes: &[u8]) -> String {
    let start = offset_of!(Header, bypassing);
    let name = &bytes[start..start + layout::BYPASSING_BYTES];
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

/// Finds the chunks. Pages that do not begin one are skipped: space that was taken when the program was killed.
fn walk_chunks(path: &str, journal: &mut Journal) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut offset = PAGE_BYTES;
    while offset + size_of::<ChunkHeader>() <= journal.bytes.len() {
        let head = &journal.bytes[offset..];
        if u32_at(head, offset_of!(ChunkHeader, magic)) != CHUNK_MAGIC {
            offset += PAGE_BYTES;
            continue;
        }
        let length = u64_at(head, offset_of!(ChunkHeader, length));
        let pages = length.is_multiple_of(PAGE_BYTES as u64);
        if length == 0 || !pages || length > LONGEST_CHUNK_BYTES {
            journal.damage.push(format!(
                "{path}: byte {offset}: a chunk of {length} bytes makes no sense and was skipped; events are missing"
            ));
            offset += PAGE_BYTES;
            continue;
        }
        let end = offset + length as usize;
        if end > journal.bytes.len() {
            journal.damage.push(format!(
                "{path}: byte {}: the file ends within a chunk that should end at byte {end}; events are missing",
                journal.bytes.len()
            ));
        }
        take_chunk(journal, offset..end.min(journal.bytes.len()), &mut chunks);
        offset = end;
    }
    chunks
}

fn take_chunk(journal: &mut Journal, range: Range<usize>, chunks: &mut Vec<Chunk>) {
    let head = &journal.bytes[range.clone()];
    let stamp = Stamp {
        tsc: u64_at(head, offset_of!(ChunkHeader, tsc)),
        monotonic_nanos: u64_at(head, offset_of!(ChunkHeader, monotonic_nanos)),
    };
    if stamp.tsc > journal.latest.tsc {
        journal.latest = stamp;
    }
    let body = range.start + size_of::<ChunkHeader>();
    match u32_at(head, offset_of!(ChunkHeader, kind)) {
        CHUNK_EVENTS => chunks.push(Chunk {
            thread: u32_at(head, offset_of!(ChunkHeader, thread)),
            sequence: u32_at(head, offset_of!(ChunkHeader, sequence)),
            tid: u32_at(head, offset_of!(ChunkHeader, tid)),
            start_routine: u64_at(head, offset_of!(ChunkHeader, start_routine)),
            pthread: u64_at(head, offset_of!(ChunkHeader, pthread)),
            bound: u64_at(head, offset_of!(ChunkHeader, bound)),
            tsc: stamp.tsc,
            records: body..range.end,
        }),
        CHUNK_MAPS => {
            let length = u64_at(head, offset_of!(ChunkHeader, text_bytes)) as usize;
            let text = journal.bytes[body..range.end.min(body.saturating_add(length))].to_vec();
            if u32_at(head, offset_of!(ChunkHeader, sequence)) == 0 {
                journal.snapshots.push(Snapshot::new(stamp.tsc));
            }
            if let Some(snapshot) = journal.snapshots.last_mut() {
                snapshot.text.extend(text);
            }
        }
        _ => {}
    }
}

fn collect_threads(mut chunks: Vec<Chunk>) -> Vec<JournalThread> {
    chunks.sort_by_key(|chunk| (chunk.thread, chunk.sequence));
    let mut threads: Vec<JournalThread> = Vec::new();
    for chunk in chunks {
        if threads
            .last()
            .is_none_or(|thread| thread.number != chunk.thread)
        {
            threads.push(JournalThread {
                number: chunk.thread,
                tid: chunk.tid,
                pthread: chunk.pthread,
                start_routine: chunk.start_routine,
                bound: chunk.bound,
                tsc: chunk.tsc,
                parts: Vec::new(),
                has_events: false,
                ended: None,
            });
        }
        if let Some(thread) = threads.last_mut() {
            thread.parts.push(chunk.records);
        }
    }
    threads
}

/// Looks at every record once: final times and stamps may lie anywhere, and holes are counted.
fn first_pass(journal: &mut Journal) {
    let Journal {
        bytes,
        threads,
        finals,
        latest,
        holes,
        started,
        reaped,
        ..
    } = journal;
    for thread in threads {
        for part in &thread.parts {
            let mut zeros = 0;
            // A chunk does not hold a whole number of records.
            let last = part.end.saturating_sub(RECORD_BYTES - 1);
            for offset in (part.start..last).step_by(RECORD_BYTES) {
                let Some(record) = record_at(bytes, offset) else {
                    zeros += 1;
                    continue;
                };
                *holes += std::mem::take(&mut zeros);
                match record.kind {
                    Kind::Final => {
                        finals.insert(record.site as u32, record.object);
                    }
                    Kind::Stamp if record.tsc > latest.tsc => {
                        *latest = Stamp {
                            tsc: record.tsc,
                            monotonic_nanos: record.object,
                        };
                    }
                    Kind::Sync
                    | Kind::Resume
                    | Kind::Stamp
                    | Kind::Extension
                    | Kind::Stack
                    | Kind::Overhead
                    | Kind::Exec => {}
                    Kind::Reaped => reaped.push(Reaped {
                        tsc: record.tsc,
                        pid: record.object as u32,
                        all: 1000 * record.site,
                    }),
                    Kind::Terminate => thread.ended = Some(record.tsc),
                    Kind::Fork => {
                        thread.has_events = true;
                        started.extend(u32::try_from(record.object).ok().filter(|&pid| pid != 0));
                    }
                    _ => thread.has_events = true,
                }
            }
        }
    }
}
