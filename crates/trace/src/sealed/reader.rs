//! Reads sealed traces.

use std::io::Read;

use serde::de::DeserializeOwned;

use super::{
    block::{self, Broken, CpuTimes},
    layout::{
        BLOCK_LIMIT_BYTES, END, END_BYTES, EVENTS, FILE_HEADER_BYTES, FIRST_VERSION, HAS_MESSAGES,
        HAS_REMAPS, MAGIC, MESSAGES, META, REMAPS, ROW_BYTES, SECTION_HEADER_BYTES, VERSION,
        u32_at, u64_at,
    },
    metadata::{Messages, Metadata, Remaps},
};
use crate::{Error, Trace, encoding, validate};

const REMEDY: &str = "copy the file again from where it was recorded, or record again";

/// Reads a whole file of `length` bytes.
pub(super) fn read(input: impl Read, length: u64, path: &str) -> Result<Trace, Error> {
    let mut file = File {
        input,
        offset: 0,
        length,
        path,
    };
    let sections = file.check_header()? - FIRST_VERSION;
    let (mut trace, event_count) = file.metadata()?;
    if sections & HAS_MESSAGES != 0 {
        file.messages(&mut trace)?;
    }
    if sections & HAS_REMAPS != 0 {
        file.remaps(&mut trace)?;
    }
    validate::tables(&trace).map_err(|broken| broken.into_error(path, validate::event_place))?;
    file.events(&mut trace, event_count)?;
    validate::events(&trace).map_err(|broken| broken.into_error(path, validate::event_place))?;
    Ok(trace)
}

/// A file that is being read from its beginning to its end.
struct File<'p, R> {
    input: R,
    /// The bytes that were read.
    offset: u64,
    /// The bytes that there are.
    length: u64,
    path: &'p str,
}

/// A section, without its payload.
struct Header {
    tag: [u8; 4],
    checksum: u32,
    length: u64,
}

/// How the sections went on.
enum Next {
    Section(Header),
    /// The file ends before the section does.
    CutShort,
}

impl<R: Read> File<'_, R> {
    fn left(&self) -> u64 {
        self.length.saturating_sub(self.offset)
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), Error> {
        self.input.read_exact(buffer).map_err(|source| Error::Io {
            path: self.path.to_owned(),
            source,
        })?;
        self.offset += buffer.len() as u64;
        Ok(())
    }

    fn damaged(&self, offset: u64, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::Damaged {
            path: self.path.to_owned(),
            offset,
            expected: expected.into(),
            found: found.into(),
            remedy: REMEDY,
        }
    }

    fn check_header(&mut self) -> Result<u32, Error> {
        if self.length == 0 {
            return Err(Error::Empty {
                path: self.path.to_owned(),
            });
        }
        if self.left() < FILE_HEADER_BYTES as u64 {
            let expected = format!("a file header of {FILE_HEADER_BYTES} bytes");
            return Err(self.damaged(0, expected, format!("{} bytes in all", self.length)));
        }
        let mut header = [0; FILE_HEADER_BYTES];
        self.fill(&mut header)?;
        if header[..MAGIC.len()] != MAGIC {
            let found = header[..MAGIC.len()].escape_ascii().to_string();
            return Err(self.damaged(0, format!("the magic {}", MAGIC.escape_ascii()), found));
        }
        match u32_at(&header, MAGIC.len()) {
            Some(version @ 1..=VERSION) => Ok(version),
            Some(found) if found > VERSION => Err(Error::NewerVersion {
                path: self.path.to_owned(),
                found,
                known: VERSION,
            }),
            _ => Err(self.damaged(
                MAGIC.len() as u64,
                format!("a version from 1 to {VERSION}"),
                "version 0",
            )),
        }
    }

    /// Reads the header of the next section and checks its length against the file's.
    fn next_section(&mut self) -> Result<Next, Error> {
        if self.left() < SECTION_HEADER_BYTES as u64 {
            return Ok(Next::CutShort);
        }
        let at = self.offset;
        let mut bytes = [0; SECTION_HEADER_BYTES];
        self.fill(&mut bytes)?;
        let tag = [bytes[0], bytes[1], bytes[2], bytes[3]];
        let header = Header {
            tag,
            checksum: u32_at(&bytes, 4).unwrap_or_default(),
            length: u64_at(&bytes, 8).unwrap_or_default(),
        };
        let limit = match tag {
            META | MESSAGES | REMAPS => u64::MAX,
            EVENTS => BLOCK_LIMIT_BYTES,
            END => END_BYTES,
            _ => {
                let found = format!("{:?}", tag.escape_ascii().to_string());
                return Err(self.damaged(at, "a section META, EVTS or END.", found));
            }
        };
        if header.length > limit {
            let expected = format!("a length of at most {limit}");
            return Err(self.damaged(at + 8, expected, header.length.to_string()));
        }
        if header.length > self.left() {
            return Ok(Next::CutShort);
        }
        Ok(Next::Section(header))
    }

    /// Reads the payload of a section into `payload` and checks it.
    fn payload(&mut self, header: &Header, payload: &mut Vec<u8>) -> Result<(), Error> {
        let at = self.offset;
        let length = usize::try_from(header.length).map_err(|_| {
            self.damaged(
                at - 8,
                "a length that fits into memory",
                header.length.to_string(),
            )
        })?;
        payload.clear();
        payload.resize(length, 0);
        self.fill(payload)?;
        let checksum = crc32fast::hash(payload);
        if checksum == header.checksum {
            return Ok(());
        }
        let expected = format!("bytes of checksum {:#010x}", header.checksum);
        Err(self.damaged(at, expected, format!("{checksum:#010x}")))
    }

    fn metadata(&mut self) -> Result<(Trace, u64), Error> {
        let metadata: Metadata<'static> = self.value(META, "metadata")?;
        let event_count = metadata.event_count;
        Ok((metadata.into_trace(self.path), event_count))
    }

    fn messages(&mut self, trace: &mut Trace) -> Result<(), Error> {
        let messages: Messages<'static> = self.value(MESSAGES, "messages")?;
        messages.put_into(trace);
        Ok(())
    }

    fn remaps(&mut self, trace: &mut Trace) -> Result<(), Error> {
        let at = self.offset;
        let remaps: Remaps = self.value(REMAPS, "how often memory was given back")?;
        let (expected, found) = (trace.processes.len(), remaps.len());
        if expected != found {
            let expected = format!("a number for each of {expected} processes");
            return Err(self.damaged(at, expected, format!("{found} numbers")));
        }
        remaps.put_into(trace);
        Ok(())
    }

    /// Reads the next section, which must be one that holds a value.
    fn value<T: DeserializeOwned>(&mut self, tag: [u8; 4], what: &str) -> Result<T, Error> {
        let at = self.offset;
        let name = tag.escape_ascii().to_string();
        let header = match self.next_section()? {
            Next::Section(header) => header,
            Next::CutShort => {
                let found = format!("the end of the file, at byte {}", self.length);
                return Err(self.damaged(at, format!("a whole {name} section"), found));
            }
        };
        if header.tag != tag {
            let found = header.tag.escape_ascii().to_string();
            return Err(self.damaged(at, format!("section {name}"), found));
        }
        let mut payload = Vec::new();
        let start = self.offset;
        self.payload(&header, &mut payload)?;
        encoding::decode(&payload)
            .map_err(|error| self.damaged(start, format!("{what} in bincode"), error.to_string()))
    }

    fn events(&mut self, trace: &mut Trace, event_count: u64) -> Result<(), Error> {
        // The count is only believed as far as the file is long enough for it.
        let room = event_count.min(self.left() / ROW_BYTES as u64);
        trace
            .events
            .reserve_exact(usize::try_from(room).unwrap_or(0));
        let mut cpu_times = CpuTimes::new(trace.threads.len());
        let mut payload = Vec::new();
        let mut blocks = 0u64;
        loop {
            let at = self.offset;
            match self.next_section()? {
                Next::Section(header) if header.tag == EVENTS => {
                    self.block(&header, &mut payload, &mut cpu_times, trace)?;
                    blocks += 1;
                }
                Next::Section(header) if header.tag == END => {
                    self.payload(&header, &mut payload)?;
                    return self.end(&payload, trace.events.len() as u64, blocks, event_count);
                }
                Next::Section(_) => {
                    return Err(self.damaged(at, "section EVTS or END.", "another"));
                }
                Next::CutShort => {
                    let (length, whole) = (self.length, trace.events.len());
                    trace.warnings.push(format!(
                        "the file is cut short: it ends at byte {length} within the section that starts at byte \
                         {at}; {whole} of {event_count} events are whole, and only these were read"
                    ));
                    return Ok(());
                }
            }
        }
    }

    fn block(
        &mut self,
        header: &Header,
        payload: &mut Vec<u8>,
        cpu_times: &mut CpuTimes,
        trace: &mut Trace,
    ) -> Result<(), Error> {
        let start = self.offset;
        self.payload(header, payload)?;
        block::decode(payload, &trace.calls, cpu_times, &mut trace.events).map_err(
            |Broken {
                 offset,
                 expected,
                 found,
             }| self.damaged(start + offset as u64, expected, found),
        )
    }

    /// Checks the last section against what was read, and that nothing follows.
    fn end(&self, payload: &[u8], events: u64, blocks: u64, promised: u64) -> Result<(), Error> {
        let start = self.offset - payload.len() as u64;
        let counts = (u64_at(payload, 0), u64_at(payload, 8));
        let (Some(end_events), Some(end_blocks)) = counts else {
            let found = format!("{} bytes", payload.len());
            return Err(self.damaged(start, format!("{END_BYTES} bytes of totals"), found));
        };
        if (end_events, end_blocks) != (events, blocks) || promised != events {
            let expected =
                format!("{end_events} events in {end_blocks} blocks ({promised} by META)");
            return Err(self.damaged(start, expected, format!("{events} in {blocks}")));
        }
        if self.left() > 0 {
            let found = format!("{} more bytes", self.left());
            return Err(self.damaged(self.offset, "the end of the file", found));
        }
        Ok(())
    }
}
