//! Where things are in a status.

use crate::Family;

/// As many bytes as a status has in any family, and some to spare.
pub const MOST_STATUS_BYTES: usize = 64;

/// Where the fields of `MPI_Status` are, in bytes from its begin. All are `int`s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusLayout {
    /// How large it is, as in an array.
    pub bytes: usize,
    /// Where `MPI_SOURCE` is.
    pub source: usize,
    /// Where `MPI_TAG` is.
    pub tag: usize,
    /// Where `MPI_ERROR` is.
    pub error: usize,
    /// Where it says that the request was cancelled, and by which bits; none where that is the library's own secret.
    pub cancelled: Option<(usize, i32)>,
}

impl StatusLayout {
    /// Returns that of a family.
    pub(crate) const fn of(family: Family) -> Self {
        let (bytes, source, cancelled) = match family {
            // int source, tag, error, cancelled; size_t count.
            Family::OpenMpi => (24, 0, Some((12, -1))),
            // int count_lo, count_hi_and_cancelled, source, tag, error.
            Family::Mpich => (20, 8, Some((4, 1))),
            // int source, tag, error, reserved[5].
            Family::Abi => (32, 0, None),
        };
        Self {
            bytes,
            source,
            tag: source + 4,
            error: source + 8,
            cancelled,
        }
    }

    /// Reads from whom a message came; nothing where the status is too short.
    pub fn source_of(self, status: &[u8]) -> Option<i32> {
        int_at(status, self.source)
    }

    /// Reads a message's tag; nothing where the status is too short.
    pub fn tag_of(self, status: &[u8]) -> Option<i32> {
        int_at(status, self.tag)
    }

    /// Reads how it ended, of one of several requests; nothing where the status is too short.
    pub fn error_of(self, status: &[u8]) -> Option<i32> {
        int_at(status, self.error)
    }
}

fn int_at(status: &[u8], offset: usize) -> Option<i32> {
    let bytes = status.get(offset..)?.first_chunk()?;
    Some(i32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A status of 16 ints that count up from 0.
    fn counting() -> [u8; MOST_STATUS_BYTES] {
        let mut status = [0; MOST_STATUS_BYTES];
        for (number, word) in (0_i32..).zip(status.chunks_exact_mut(4)) {
            word.copy_from_slice(&number.to_ne_bytes());
        }
        status
    }

    #[test]
    fn fields_are_where_each_family_has_them() {
        let read = |family: Family| {
            let layout = family.status();
            let all = counting();
            let status = &all[..layout.bytes];
            (
                layout.source_of(status),
                layout.tag_of(status),
                layout.error_of(status),
            )
        };
        assert_eq!(read(Family::OpenMpi), (Some(0), Some(1), Some(2)));
        assert_eq!(read(Family::Mpich), (Some(2), Some(3), Some(4)));
        assert_eq!(read(Family::Abi), (Some(0), Some(1), Some(2)));
    }

    #[test]
    fn a_status_that_is_cut_off_is_not_read() {
        assert_eq!(Family::Mpich.status().error_of(&[0; 19]), None);
        assert_eq!(Family::OpenMpi.status().tag_of(&[0; 4]), None);
    }
}
