//! Memory that processes share: an object in it is the same for all of them, wherever each has it.
//!
//! The copies of `/proc/self/maps` tell which file, and which part of it, an address lay in; memory that is shared without a
//! file has one without a name. A child's first copy shows what its parent shared with it, so that a parent's address is also
//! looked up among its children's.

use std::hash::{BuildHasher as _, Hash as _, Hasher as _};
use std::path::Path;

use super::file::Journal;
use super::hash::FastState;
use super::layout;
use super::modules::Snapshot;

/// A range of addresses that is shared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Range {
    start: u64,
    end: u64,
    offset: u64,
    /// The file's device and inode.
    device: String,
    inode: u64,
}

/// What the processes of a recording share.
#[derive(Default)]
pub(super) struct SharedMemory {
    /// The ranges of each process, its own before those of its children.
    ranges: Vec<Vec<Range>>,
}

impl SharedMemory {
    pub fn of(journals: &[Journal]) -> Self {
        let mut ranges: Vec<Vec<Range>> = journals
            .iter()
            .map(|journal| newest_first(&journal.snapshots))
            .collect();
        // Children come after their parents, so that what a grandchild has reaches all the way.
        for child in (0..journals.len()).rev() {
            let Some(parent) = parent_of(journals, child) else {
                continue;
            };
            let (before, after) = ranges.split_at_mut(child);
            let new = after[0]
                .iter()
                .filter(|range| !before[parent].contains(range));
            let new: Vec<Range> = new.cloned().collect();
            before[parent].extend(new);
        }
        Self { ranges }
    }

    /// What processes with these maps share.
    #[cfg(test)]
    pub fn of_maps(maps: &[&str]) -> Self {
        let ranges = maps.iter().map(|text| {
            let mut snapshot = Snapshot::new(0);
            snapshot.text = text.as_bytes().to_vec();
            newest_first(&[snapshot])
        });
        Self {
            ranges: ranges.collect(),
        }
    }

    /// Returns what names an address in shared memory, the same in all processes; `None` for other addresses.
    pub fn name(&self, process: usize, address: u64) -> Option<u64> {
        let range = self
            .ranges
            .get(process)?
            .iter()
            .find(|range| (range.start..range.end).contains(&address))?;
        let mut hasher = FastState::default().build_hasher();
        (&range.device, range.inode).hash(&mut hasher);
        (address - range.start + range.offset).hash(&mut hasher);
        Some(hasher.finish())
    }
}

/// Returns the process that a journal's began as a copy of.
fn parent_of(journals: &[Journal], child: usize) -> Option<usize> {
    let own = &journals[child];
    if !own.forked {
        return None;
    }
    journals[..child]
        .iter()
        .rposition(|parent| parent.pid == own.ppid)
}

fn newest_first(snapshots: &[Snapshot]) -> Vec<Range> {
    let mut snapshots: Vec<&Snapshot> = snapshots.iter().collect();
    snapshots.sort_by_key(|snapshot| std::cmp::Reverse(snapshot.tsc));
    let mut ranges = Vec::new();
    for snapshot in snapshots {
        let text = String::from_utf8_lossy(&snapshot.text);
        for range in text.lines().filter_map(parse_line) {
            if !ranges.contains(&range) {
                ranges.push(range);
            }
        }
    }
    ranges
}

/// Parses `start-end permissions offset device inode path`, if it is shared and may be written.
fn parse_line(line: &str) -> Option<Range> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?.as_bytes();
    let (may_write, is_shared) = (permissions.get(1)? == &b'w', permissions.get(3)? == &b's');
    // Journals are mapped so, too, in many parts.
    let path = Path::new(line.trim_end());
    let is_journal = path
        .extension()
        .is_some_and(|extension| extension == layout::FILE_EXTENSION);
    if !may_write || !is_shared || is_journal {
        return None;
    }
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some(Range {
        start: number(start)?,
        end: number(end)?,
        offset: number(fields.next()?)?,
        device: fields.next()?.to_owned(),
        inode: fields.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_place_of_a_file_has_one_name_wherever_it_is() {
        let memory = SharedMemory::of_maps(&[
            "1000-3000 rw-s 00001000 00:19 77                         /dev/shm/x\n",
            "8000-a000 rw-s 00000000 00:19 77                         /dev/shm/x\n",
            "8000-a000 rw-s 00000000 00:19 78                         /dev/shm/y\n",
        ]);
        let name = memory.name(0, 0x1010);
        assert!(name.is_some());
        assert_eq!(name, memory.name(1, 0x9010));
        assert_ne!(name, memory.name(1, 0x9018));
        assert_ne!(name, memory.name(2, 0x9010));
    }

    #[test]
    fn memory_of_one_process_or_that_nobody_writes_has_no_name() {
        let memory = SharedMemory::of_maps(&[
            "1000-3000 rw-p 0 00:00 0\n4000-5000 r--s 0 fe:00 9 /x\n6000-7000 rw-s 0 fe:00 8 /a b/1-2-0.ftj\n",
        ]);
        assert_eq!(memory.name(0, 0x1010), None);
        assert_eq!(memory.name(0, 0x4010), None);
        assert_eq!(memory.name(0, 0x6010), None);
        assert_eq!(memory.name(7, 0x1010), None);
    }
}
