//! Imported programs: the foreign file as it is, behind a line that says what it is, with a checksum.
//!
//! ```text
//! foretrace-messages 1 FORMAT CRC32 LENGTH\n
//! LENGTH bytes in that format
//! ```

use std::io;

use foretrace_trace::Error;

use super::{Messages, message_format};

const MAGIC: &str = "foretrace-messages ";
const VERSION: u32 = 1;
const REMEDY: &str = "import the foreign file again";

/// Returns an imported file of these bytes.
pub fn wrap(format: &str, bytes: &[u8]) -> Vec<u8> {
    let sum = crc32fast::hash(bytes);
    let mut out = format!("{MAGIC}{VERSION} {format} {sum:08x} {}\n", bytes.len()).into_bytes();
    out.extend_from_slice(bytes);
    out
}

/// Returns whether a file that begins so is an imported one.
pub fn is_wrapped(start: &[u8]) -> bool {
    start.starts_with(MAGIC.as_bytes())
}

/// Reads an imported file.
pub(super) fn unwrap(bytes: &[u8], source: &str) -> Result<Messages, Error> {
    let damaged = |offset: usize, expected: &str, found: String| Error::Damaged {
        path: source.to_owned(),
        offset: offset as u64,
        expected: expected.to_owned(),
        found,
        remedy: REMEDY,
    };
    let end = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(bytes.len());
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut words = head.split(' ').skip(1);
    let version = words.next().and_then(|word| word.parse::<u32>().ok());
    match version {
        Some(VERSION) => {}
        Some(found) => {
            return Err(Error::NewerVersion {
                path: source.to_owned(),
                found,
                known: VERSION,
            });
        }
        None => return Err(damaged(MAGIC.len(), "a version", format!("`{head}`"))),
    }
    let format = words.next().and_then(message_format);
    let format = format.ok_or_else(|| damaged(MAGIC.len(), "a format", format!("`{head}`")))?;
    let sum = words
        .next()
        .and_then(|word| u32::from_str_radix(word, 16).ok());
    let length = words.next().and_then(|word| word.parse::<usize>().ok());
    let body = bytes.get(end + 1..).unwrap_or_default();
    if length != Some(body.len()) {
        let found = format!("{} bytes", body.len());
        return Err(damaged(
            bytes.len(),
            "as many bytes as the first line says",
            found,
        ));
    }
    if sum != Some(crc32fast::hash(body)) {
        return Err(damaged(
            end + 1,
            "bytes with the checksum of the first line",
            "others".to_owned(),
        ));
    }
    let refuse = |_: &str| Err(io::Error::from(io::ErrorKind::NotFound));
    format.import(body, source, &refuse)
}
