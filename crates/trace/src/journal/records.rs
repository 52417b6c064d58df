//! One thread's records as they lie in the journal, one after the other.

use std::ops::Range;

use super::file::{RawRecord, record_at};
use super::layout::{Kind, RECORD_BYTES};

/// A place among a thread's records.
#[derive(Clone)]
pub(super) struct Records<'a> {
    bytes: &'a [u8],
    parts: std::slice::Iter<'a, Range<usize>>,
    current: Range<usize>,
}

impl<'a> Records<'a> {
    /// Begins with the first record of a thread whose records lie in these parts of a journal.
    pub fn new(bytes: &'a [u8], parts: &'a [Range<usize>]) -> Self {
        Self {
            bytes,
            parts: parts.iter(),
            current: 0..0,
        }
    }

    /// Takes the next record if it is of this kind: what belongs to a record always lies in the same chunk.
    pub fn following(&mut self, kind: Kind) -> Option<RawRecord> {
        let offset = self.current.start;
        let record = record_at(self.bytes, offset)?;
        (record.kind == kind && offset + RECORD_BYTES <= self.current.end).then(|| {
            self.current.start += RECORD_BYTES;
            record
        })
    }

    /// As [`Self::following`], but the record may begin the next chunk.
    pub fn continued(&mut self, kind: Kind) -> Option<RawRecord> {
        if self.current.start + RECORD_BYTES > self.current.end {
            self.current = self.parts.next()?.clone();
        }
        self.following(kind)
    }
}

impl Iterator for Records<'_> {
    type Item = RawRecord;

    /// Takes the next record; holes are skipped.
    fn next(&mut self) -> Option<RawRecord> {
        loop {
            if self.current.start + RECORD_BYTES > self.current.end {
                self.current = self.parts.next()?.clone();
                continue;
            }
            let offset = self.current.start;
            self.current.start += RECORD_BYTES;
            if let Some(record) = record_at(self.bytes, offset) {
                return Some(record);
            }
        }
    }
}
