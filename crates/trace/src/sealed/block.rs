//! One block of events.

use super::layout::{
    ABSENT, BLOCK_HEADER_BYTES, BLOCK_ROWS, ESCAPE_BYTES, ESCAPED, ROW_BYTES, u32_at, u64_at,
};
use crate::{Call, CallId, Event, Nanos};

/// The CPU time that each thread had at its previous row in the block.
pub(super) struct CpuTimes {
    /// The number of the block, from 1.
    block: u64,
    /// For each thread, the block of its previous row that has a CPU time, and that time. What is of an earlier block
    /// counts as absent, so that a new block costs nothing, however many threads there are.
    threads: Vec<(u64, u64)>,
}

impl CpuTimes {
    pub fn new(threads: usize) -> Self {
        Self {
            block: 0,
            threads: vec![(0, 0); threads],
        }
    }

    fn begin_block(&mut self) {
        self.block += 1;
    }

    fn get(&self, thread: usize) -> Option<u64> {
        let &(block, cpu) = self.threads.get(thread)?;
        (block == self.block).then_some(cpu)
    }

    fn set(&mut self, thread: usize, cpu: u64) {
        if let Some(slot) = self.threads.get_mut(thread) {
            *slot = (self.block, cpu);
        }
    }
}

/// Appends the payload of a block. `renumbered` gives each call's position in the table that the file holds.
pub(super) fn encode(
    events: &[Event],
    calls: &[Call],
    renumbered: &[u32],
    cpu_times: &mut CpuTimes,
    out: &mut Vec<u8>,
) {
    cpu_times.begin_block();
    let mut escapes = Vec::new();
    let start = events.first().map_or(0, |event| event.time.0);
    let mut previous = start;
    let header = out.len();
    out.extend_from_slice(&(events.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&start.to_le_bytes());
    for event in events {
        let call = event.call.index();
        let time = difference(Some(previous), event.time.0, &mut escapes);
        previous = event.time.0;
        let cpu = event.cpu().map_or(ABSENT, |cpu| {
            let thread = calls[call].thread.index();
            let before = cpu_times.get(thread);
            cpu_times.set(thread, cpu.0);
            difference(before, cpu.0, &mut escapes)
        });
        for field in [renumbered[call], time, cpu] {
            out.extend_from_slice(&field.to_le_bytes());
        }
    }
    out[header + 4..header + 8].copy_from_slice(&(escapes.len() as u32).to_le_bytes());
    for escape in escapes {
        out.extend_from_slice(&escape.to_le_bytes());
    }
}

/// Returns a row's field for a value: the difference where it fits, else the sign of an escape, which is added.
fn difference(before: Option<u64>, value: u64, escapes: &mut Vec<u64>) -> u32 {
    let small = before
        .and_then(|before| value.checked_sub(before))
        .and_then(|difference| u32::try_from(difference).ok())
        .filter(|&difference| difference < ABSENT);
    small.unwrap_or_else(|| {
        escapes.push(value);
        ESCAPED
    })
}

/// What is wrong with a block.
pub(super) struct Broken {
    /// Where, in bytes from the beginning of the payload.
    pub offset: usize,
    /// What should stand there.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

/// Appends the events of a block's payload.
pub(super) fn decode(
    payload: &[u8],
    calls: &[Call],
    cpu_times: &mut CpuTimes,
    events: &mut Vec<Event>,
) -> Result<(), Broken> {
    cpu_times.begin_block();
    let (rows, mut escapes, start) = parts(payload)?;
    let mut previous = start;
    for (index, row) in rows.chunks_exact(ROW_BYTES).enumerate() {
        let broken = |field: usize, expected: &str, found: String| Broken {
            offset: BLOCK_HEADER_BYTES + index * ROW_BYTES + field,
            expected: expected.to_owned(),
            found,
        };
        let lacking = |field| broken(field, "an escape for this row", "none left".to_owned());
        let field = |offset| u32_at(row, offset).unwrap_or(ESCAPED);
        let (call, time, cpu) = (field(0), field(4), field(8));
        let Some(thread) = calls.get(call as usize).map(|call| call.thread.index()) else {
            let expected = format!("a call below {}", calls.len());
            return Err(broken(0, &expected, call.to_string()));
        };
        let time = match time {
            ESCAPED => escapes.take().ok_or_else(|| lacking(4))?,
            small => previous.saturating_add(u64::from(small)),
        };
        previous = time;
        let cpu = match cpu {
            ABSENT => None,
            ESCAPED => Some(escapes.take().ok_or_else(|| lacking(8))?),
            small => {
                let before = cpu_times.get(thread);
                let first = || broken(8, "a thread's first CPU time, whole", small.to_string());
                Some(before.ok_or_else(first)?.saturating_add(u64::from(small)))
            }
        };
        if let Some(cpu) = cpu {
            cpu_times.set(thread, cpu);
        }
        events.push(Event::new(Nanos(time), cpu.map(Nanos), CallId(call)));
    }
    let left = escapes.bytes.len() / ESCAPE_BYTES;
    if left == 0 {
        return Ok(());
    }
    Err(Broken {
        offset: payload.len() - escapes.bytes.len(),
        expected: "the end of the block".to_owned(),
        found: format!("{left} escapes that no row asks for"),
    })
}

/// The escapes that are left.
struct Escapes<'a> {
    bytes: &'a [u8],
}

impl Escapes<'_> {
    fn take(&mut self) -> Option<u64> {
        let value = u64_at(self.bytes, 0)?;
        self.bytes = &self.bytes[ESCAPE_BYTES..];
        Some(value)
    }
}

/// Splits a payload into rows, escapes and the start time.
fn parts(payload: &[u8]) -> Result<(&[u8], Escapes<'_>, u64), Broken> {
    let broken = |offset, expected: String, found: String| Broken {
        offset,
        expected,
        found,
    };
    let header = (u32_at(payload, 0), u32_at(payload, 4), u64_at(payload, 8));
    let (Some(rows), Some(escapes), Some(start)) = header else {
        let expected = format!("a block's header of {BLOCK_HEADER_BYTES} bytes");
        return Err(broken(0, expected, format!("{} bytes", payload.len())));
    };
    let (rows, escapes) = (rows as usize, escapes as usize);
    if rows == 0 || rows > BLOCK_ROWS {
        return Err(broken(
            0,
            format!("1 to {BLOCK_ROWS} rows"),
            rows.to_string(),
        ));
    }
    if escapes > 2 * rows {
        return Err(broken(
            4,
            format!("at most {} escapes", 2 * rows),
            escapes.to_string(),
        ));
    }
    let rows_end = BLOCK_HEADER_BYTES + rows * ROW_BYTES;
    let length = rows_end + escapes * ESCAPE_BYTES;
    if payload.len() != length {
        let expected = format!("{length} bytes for {rows} rows and {escapes} escapes");
        return Err(broken(0, expected, format!("{} bytes", payload.len())));
    }
    let bytes = &payload[rows_end..];
    Ok((
        &payload[BLOCK_HEADER_BYTES..rows_end],
        Escapes { bytes },
        start,
    ))
}
