//! The schedule file.
//!
//! All numbers are little-endian.
//!
//! ```text
//! offset  bytes  field
//!      0      8  magic: 0x89 "FTSCHD" 0x0a; the first and the last byte reveal a transfer as text
//!      8      4  version of the format: 3
//!     12      8  length of the rest in bytes
//!     20      4  CRC-32 (IEEE) of the bytes 0 to 19 and of the rest
//!     24      -  the schedule and its details, encoded as in `encoding`; nothing follows
//! ```
//!
//! Version 1 held a schedule without details, and wakes without delays; version 2 did not name a network.
//!
//! A file that does not hold exactly this gives an [`Error`] that says where and what to do. So does one whose
//! schedule contradicts itself ([`Schedule::check`]): whoever holds a loaded schedule can rely on what it promises.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use foretrace_trace::{encoding, write_whole};
use serde::{Deserialize, Serialize};

use crate::{Contradiction, Details, Lane, ObjectLabel, Outcome, Schedule, SimTime, Wake};

/// The first bytes of every schedule file.
pub const MAGIC: [u8; 8] = *b"\x89FTSCHD\n";

/// The version that is written.
pub const VERSION: u32 = 3;

/// The length of the header: the offset of the schedule.
const HEADER_BYTES: usize = 24;

/// Where the checksum stands in the header.
const CHECKSUM_OFFSET: usize = 20;

/// Why a schedule file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be opened, read or written.
    #[error("{path}: {cause}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The file is something else.
    #[error(
        "{path}: at byte 0: not a schedule file; `foretrace predict TRACE -o SCHEDULE` writes one"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by another version of foretrace.
    #[error(
        "{path}: at byte 8: format version {found}, this foretrace reads up to {VERSION}; \
         predict the schedule again, or read it with a newer foretrace"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version found.
        found: u32,
    },
    /// The file is shorter or longer than it says.
    #[error(
        "{path}: at byte {offset}: the file should hold {expected} bytes and holds {found}; \
         it was cut or added to: copy it again, or predict the schedule again"
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// Where the file ends, or should have ended.
        offset: u64,
        /// Its length according to its header.
        expected: u64,
        /// Its length.
        found: u64,
    },
    /// The file's bytes are not those that were written.
    #[error(
        "{path}: at byte {CHECKSUM_OFFSET}: checksum {expected:08x} where the content gives {found:08x}; \
         the file is damaged: copy it again, or predict the schedule again"
    )]
    Checksum {
        /// The file.
        path: PathBuf,
        /// The checksum in the file.
        expected: u32,
        /// The checksum of the file's content.
        found: u32,
    },
    /// The file's bytes are whole, yet no schedule.
    #[error("{path}: from byte {offset}: not a schedule: {cause}; predict the schedule again")]
    Encoding {
        /// The file.
        path: PathBuf,
        /// Where the encoded schedule begins.
        offset: u64,
        /// What is wrong with it.
        cause: encoding::Error,
    },
    /// The schedule contradicts itself.
    #[error("{path}: from byte {offset}: {cause}; predict the schedule again")]
    Contradiction {
        /// The file.
        path: PathBuf,
        /// Where the encoded schedule begins.
        offset: u64,
        /// How.
        cause: Contradiction,
    },
}

impl Schedule {
    /// Reads a schedule file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is not a schedule file, is damaged, or holds a schedule that contradicts itself.
    pub fn load(path: &Path) -> Result<Self, Error> {
        Ok(Self::load_with_details(path)?.0)
    }

    /// Reads a schedule file, and what it tells of the schedule's operations.
    ///
    /// # Errors
    ///
    /// As [`Self::load`].
    pub fn load_with_details(path: &Path) -> Result<(Self, Details), Error> {
        let bytes = fs::read(path).map_err(|cause| Error::Io {
            path: path.to_owned(),
            cause,
        })?;
        Self::from_bytes(&bytes, path)
    }

    /// Reads a schedule and its details from the bytes of a file; `path` is for messages.
    ///
    /// # Errors
    ///
    /// When the bytes are not those of a schedule file, or of one that contradicts itself.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<(Self, Details), Error> {
        let (version, payload) = checked_payload(bytes, path)?;
        let decoded = match version {
            1 => encoding::decode::<Earlier<EarlierWake>>(payload)
                .map(|first| (first.into(), Details::default())),
            2 => encoding::decode::<(Earlier<Wake>, Details)>(payload)
                .map(|(second, details)| (second.into(), details)),
            _ => encoding::decode(payload),
        };
        let (schedule, details) = decoded.map_err(|cause| Error::Encoding {
            path: path.to_owned(),
            offset: HEADER_BYTES as u64,
            cause,
        })?;
        check(&schedule, &details, path)?;
        Ok((schedule, details))
    }

    /// Writes a schedule file: the whole of it or nothing, in place of what was there.
    ///
    /// # Errors
    ///
    /// When the file cannot be written, or the schedule contradicts itself or its details and could not be read again.
    pub fn save(&self, details: &Details, path: &Path) -> Result<(), Error> {
        let bytes = self.to_bytes(details, path)?;
        write_whole(path, |out| out.write_all(&bytes)).map_err(|cause| Error::Io {
            path: path.to_owned(),
            cause,
        })
    }

    /// Returns the bytes of the schedule's file; `path` is for messages.
    ///
    /// # Errors
    ///
    /// When the schedule contradicts itself or its details.
    pub fn to_bytes(&self, details: &Details, path: &Path) -> Result<Vec<u8>, Error> {
        check(self, details, path)?;
        let payload = encoding::encode(&(self, details)).map_err(|cause| Error::Encoding {
            path: path.to_owned(),
            offset: HEADER_BYTES as u64,
            cause,
        })?;
        let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((payload.len() as u64).to_le_bytes());
        bytes.extend(checksum(&bytes, &payload).to_le_bytes());
        bytes.extend(payload);
        Ok(bytes)
    }
}

/// Checks that a schedule and its details contradict neither themselves nor each other.
fn check(schedule: &Schedule, details: &Details, path: &Path) -> Result<(), Error> {
    let checked = schedule.check().and_then(|()| details.check(schedule));
    checked.map_err(|cause| Error::Contradiction {
        path: path.to_owned(),
        offset: HEADER_BYTES as u64,
        cause,
    })
}

/// A schedule as versions 1 and 2 held it, of which the first had wakes of another kind.
#[derive(Serialize, Deserialize)]
struct Earlier<W> {
    source: String,
    model: String,
    cpus: u32,
    end: SimTime,
    outcome: Outcome,
    processes: Vec<String>,
    lanes: Vec<Lane>,
    objects: Vec<ObjectLabel>,
    wakes: Vec<W>,
}

/// A wake as version 1 held it: from whom, to whom, and when.
#[derive(Serialize, Deserialize)]
struct EarlierWake(u32, u32, SimTime);

impl From<EarlierWake> for Wake {
    fn from(EarlierWake(from, to, at): EarlierWake) -> Self {
        Self::at_once(from, to, at)
    }
}

impl<W: Into<Wake>> From<Earlier<W>> for Schedule {
    fn from(earlier: Earlier<W>) -> Self {
        Self {
            source: earlier.source,
            model: earlier.model,
            cpus: earlier.cpus,
            network: None,
            end: earlier.end,
            outcome: earlier.outcome,
            processes: earlier.processes,
            lanes: earlier.lanes,
            objects: earlier.objects,
            wakes: earlier.wakes.into_iter().map(Into::into).collect(),
        }
    }
}

/// Checks all but the schedule itself, whose bytes it returns with their version.
fn checked_payload<'a>(bytes: &'a [u8], path: &Path) -> Result<(u32, &'a [u8]), Error> {
    let path = || path.to_owned();
    let told = bytes.len().min(MAGIC.len());
    if told == 0 || bytes[..told] != MAGIC[..told] {
        return Err(Error::Foreign { path: path() });
    }
    let length = |expected: u64| Error::Length {
        path: path(),
        offset: expected.min(bytes.len() as u64),
        expected,
        found: bytes.len() as u64,
    };
    let (Some(header), Some(payload)) = (bytes.get(..HEADER_BYTES), bytes.get(HEADER_BYTES..))
    else {
        return Err(length(HEADER_BYTES as u64));
    };
    let version = u32::from_le_bytes(field(header, 8));
    if !(1..=VERSION).contains(&version) {
        return Err(Error::Version {
            path: path(),
            found: version,
        });
    }
    let expected = u64::from_le_bytes(field(header, 12));
    if payload.len() as u64 != expected {
        return Err(length(expected.saturating_add(HEADER_BYTES as u64)));
    }
    let expected = u32::from_le_bytes(field(header, CHECKSUM_OFFSET));
    let found = checksum(&header[..CHECKSUM_OFFSET], payload);
    if found != expected {
        return Err(Error::Checksum {
            path: path(),
            expected,
            found,
        });
    }
    Ok((version, payload))
}

/// Returns the field of `N` bytes at an offset of the header.
fn field<const N: usize>(header: &[u8], offset: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&header[offset..offset + N]);
    field
}

/// Returns the checksum of a header, without its checksum, and a schedule.
fn checksum(header: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    hasher.update(payload);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::example::{details, two_threads_and_a_lock};

    fn example_bytes() -> Vec<u8> {
        two_threads_and_a_lock()
            .to_bytes(&details(), Path::new("x"))
            .unwrap()
    }

    fn read(bytes: &[u8]) -> Result<(Schedule, Details), Error> {
        Schedule::from_bytes(bytes, Path::new("x.fts"))
    }

    /// The bytes of a file with this content and a checksum that fits.
    fn sealed(payload: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((payload.len() as u64).to_le_bytes());
        bytes.extend(checksum(&bytes, payload).to_le_bytes());
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn what_is_saved_is_loaded_and_nothing_else_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.fts");
        let schedule = two_threads_and_a_lock();
        schedule.save(&details(), &path).unwrap();
        schedule.save(&details(), &path).unwrap();
        assert_eq!(
            Schedule::load_with_details(&path).unwrap(),
            (schedule, details())
        );
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_saved_link_stays_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("a"), directory.path().join("b"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        two_threads_and_a_lock().save(&details(), &link).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), example_bytes());
    }

    #[test]
    fn a_missing_directory_is_named() {
        let path = Path::new("/nonexistent-directory/a.fts");
        let error = two_threads_and_a_lock()
            .save(&Details::default(), path)
            .unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("/nonexistent-directory/a.fts: ")
        );
        assert!(matches!(Schedule::load(path), Err(Error::Io { .. })));
    }

    #[test]
    fn the_bytes_of_all_versions_are_still_read() {
        assert_eq!(
            read(include_bytes!("../tests/version1.fts")).unwrap(),
            (two_threads_and_a_lock(), Details::default())
        );
        let mut with_message = two_threads_and_a_lock();
        with_message.wakes[0].delay = SimTime(2);
        assert_eq!(
            read(include_bytes!("../tests/version2.fts")).unwrap(),
            (with_message.clone(), details())
        );
        with_message.network = Some(crate::NetworkLabel {
            name: "Gigabit".to_owned(),
            path: "gigabit.toml".to_owned(),
        });
        assert_eq!(
            read(include_bytes!("../tests/version3.fts")).unwrap(),
            (with_message, details())
        );
    }

    #[test]
    fn a_foreign_file_is_called_so() {
        for foreign in [
            &b""[..],
            b"foretrace-text 1\n",
            b"\x89FTSCHD\r\n",
            b"\x89F ",
        ] {
            let error = read(foreign).unwrap_err();
            assert!(matches!(error, Error::Foreign { .. }), "{error}");
        }
    }

    #[test]
    fn every_cut_is_found() {
        let bytes = example_bytes();
        for length in 1..bytes.len() {
            let error = read(&bytes[..length]).unwrap_err();
            assert!(
                matches!(error, Error::Length { offset, .. } if offset == length as u64),
                "{error}"
            );
        }
        let longer = [&bytes[..], b"x"].concat();
        let offset_of_excess = bytes.len() as u64;
        let error = read(&longer).unwrap_err();
        assert!(matches!(error, Error::Length { offset, .. } if offset == offset_of_excess));
    }

    #[test]
    fn every_changed_bit_is_found() {
        let bytes = example_bytes();
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&damaged).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_later_version_names_the_remedy() {
        let mut bytes = example_bytes();
        bytes[8] = 4;
        let message = read(&bytes).unwrap_err().to_string();
        assert!(
            message.contains("x.fts: at byte 8: format version 4"),
            "{message}"
        );
        assert!(message.contains("newer foretrace"), "{message}");
    }

    #[test]
    fn a_contradiction_is_neither_saved_nor_loaded() {
        let mut schedule = two_threads_and_a_lock();
        schedule.wakes[0].to = 77;
        let saved = schedule.to_bytes(&Details::default(), Path::new("x"));
        assert!(matches!(saved, Err(Error::Contradiction { .. })));
        let loaded = read(&sealed(&encoding::encode(&(&schedule, details())).unwrap()));
        assert!(matches!(loaded, Err(Error::Contradiction { .. })));
    }

    #[test]
    fn a_string_longer_than_memory_is_refused() {
        let length_of_u64_max = [253, 255, 255, 255, 255, 255, 255, 255, 255];
        let error = read(&sealed(&length_of_u64_max)).unwrap_err();
        assert!(matches!(error, Error::Encoding { .. }), "{error}");
    }

    #[test]
    fn bytes_after_the_schedule_are_refused() {
        let mut payload = encoding::encode(&(two_threads_and_a_lock(), details())).unwrap();
        payload.push(0);
        assert!(matches!(
            read(&sealed(&payload)),
            Err(Error::Encoding { .. })
        ));
    }

    proptest! {
        #[test]
        fn hostile_content_under_a_right_checksum_gives_an_error_or_a_sound_schedule(
            payload in proptest::collection::vec(any::<u8>(), 0..200)
        ) {
            if let Ok((schedule, details)) = read(&sealed(&payload)) {
                prop_assert_eq!(schedule.check(), Ok(()));
                prop_assert_eq!(details.check(&schedule), Ok(()));
            }
        }

        #[test]
        fn changed_content_under_a_right_checksum_gives_an_error_or_a_sound_schedule(
            position in any::<prop::sample::Index>(),
            byte in any::<u8>()
        ) {
            let mut payload = encoding::encode(&(two_threads_and_a_lock(), details())).unwrap();
            let position = position.index(payload.len());
            payload[position] = byte;
            if let Ok((schedule, details)) = read(&sealed(&payload)) {
                prop_assert_eq!(schedule.check(), Ok(()));
                prop_assert_eq!(details.check(&schedule), Ok(()));
            }
        }
    }
}
