//! The numbers of the layout; drawn in the [module](super)'s documentation.

/// The first bytes of a sealed trace.
pub const MAGIC: [u8; 8] = *b"\x89FTRACE\n";

/// The newest version that is read.
pub const VERSION: u32 = FIRST_VERSION + (HAS_MESSAGES | HAS_REMAPS);

/// The version of a trace with none of the sections that some have; each of these adds a bit.
pub(super) const FIRST_VERSION: u32 = 1;

/// The bit of [`MESSAGES`].
pub(super) const HAS_MESSAGES: u32 = 1;

/// The bit of [`REMAPS`].
pub(super) const HAS_REMAPS: u32 = 2;

/// Magic and version.
pub(super) const FILE_HEADER_BYTES: usize = 12;

/// Tag, checksum and length.
pub(super) const SECTION_HEADER_BYTES: usize = 16;

pub(super) const META: [u8; 4] = *b"META";
pub(super) const MESSAGES: [u8; 4] = *b"MSGS";
pub(super) const REMAPS: [u8; 4] = *b"MAPS";
pub(super) const EVENTS: [u8; 4] = *b"EVTS";
pub(super) const END: [u8; 4] = *b"END.";

/// Rows, escapes and start.
pub(super) const BLOCK_HEADER_BYTES: usize = 16;

pub(super) const ROW_BYTES: usize = 12;

pub(super) const ESCAPE_BYTES: usize = 8;

/// The rows of a full block.
pub(super) const BLOCK_ROWS: usize = 16_384;

/// The longest payload of a block: each row may take an escape for its time and one for its CPU time.
pub(super) const BLOCK_LIMIT_BYTES: u64 =
    (BLOCK_HEADER_BYTES + BLOCK_ROWS * (ROW_BYTES + 2 * ESCAPE_BYTES)) as u64;

pub(super) const END_BYTES: u64 = 16;

/// In place of a difference: the next escape is the value.
pub(super) const ESCAPED: u32 = u32::MAX;

/// In place of a difference of CPU times: none was recorded.
pub(super) const ABSENT: u32 = u32::MAX - 1;

/// Reads four bytes at `offset`; `None` beyond the end.
pub(super) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// Reads eight bytes at `offset`; `None` beyond the end.
pub(super) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    let bytes = bytes.get(offset..offset.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}
