//! Formats of programs that pass messages, and of the networks that come with them.

mod container;
mod cursor;
mod dimemas;
mod dimemas_machine;
mod goal;
mod paraver;
mod requests;
mod simgrid;
mod simgrid_collectives;

use std::{io, path::Path};

use foretrace_messages::{Program, TaskGraph};
use foretrace_network::Description;
use foretrace_trace::Error;

pub use container::{is_wrapped, wrap};

use crate::ExportError;

/// A program that passes messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Messages {
    /// Every rank does its operations in order.
    Program(Program),
    /// Operations begin when others are over.
    Graph(TaskGraph),
}

/// A format of programs that pass messages.
pub trait MessageFormat: Sync {
    /// Returns its name on the command line.
    fn name(&self) -> &'static str;

    /// Returns what it is, in a line for the help.
    fn about(&self) -> &'static str;

    /// Returns whether a file of this name that begins so is of this format.
    fn recognizes(&self, name: &str, start: &[u8]) -> bool;

    /// Reads it; `source` names it in errors, and `read` reads other files that it names, whose paths are as it has them.
    ///
    /// # Errors
    ///
    /// When the bytes are not of this format: with line and column.
    fn import(
        &self,
        bytes: &[u8],
        source: &str,
        read: &dyn Fn(&str) -> io::Result<Vec<u8>>,
    ) -> Result<Messages, Error>;

    /// Writes it, where that is possible.
    ///
    /// # Errors
    ///
    /// When the format cannot be written, or cannot hold the program.
    fn export(&self, _messages: &Messages, _out: &mut dyn io::Write) -> Result<(), ExportError> {
        Err(ExportError::Messages {
            format: self.name(),
            problem: "is only read".to_owned(),
        })
    }

    /// Returns whether it can be written.
    fn is_written(&self) -> bool {
        false
    }
}

/// The formats of programs that pass messages.
pub const MESSAGE_FORMATS: [&dyn MessageFormat; 4] = [
    &goal::Goal,
    &dimemas::Dim,
    &simgrid::TimeIndependent,
    &paraver::Prv,
];

/// Finds a format by its name.
pub fn message_format(name: &str) -> Option<&'static dyn MessageFormat> {
    MESSAGE_FORMATS
        .into_iter()
        .find(|format| format.name() == name)
}

/// Finds the format of a file by its name and its beginning.
pub fn recognized(name: &str, start: &[u8]) -> Option<&'static dyn MessageFormat> {
    MESSAGE_FORMATS
        .into_iter()
        .find(|format| format.recognizes(name, start))
}

/// Reads a program that passes messages: an imported one, or of the format that it is recognized to be; `None` where it is
/// nothing of the kind.
///
/// # Errors
///
/// As [`MessageFormat::import`].
pub fn read_messages(
    bytes: &[u8],
    source: &str,
    read: &dyn Fn(&str) -> io::Result<Vec<u8>>,
) -> Option<Result<Messages, Error>> {
    if is_wrapped(bytes) {
        return Some(container::unwrap(bytes, source));
    }
    let format = recognized(source, &bytes[..bytes.len().min(RECOGNIZED_BYTES)])?;
    Some(format.import(bytes, source, read))
}

/// How much of a file's beginning is looked at to know what it is.
pub const RECOGNIZED_BYTES: usize = 512;

/// Reads a configuration of Dimemas as a network.
///
/// # Errors
///
/// When it is none: with line and column.
pub fn dimemas_machine(bytes: &[u8], source: &str) -> Result<Description, Error> {
    dimemas_machine::import(bytes, source)
}

/// Returns whether a file that begins so is a configuration of Dimemas.
pub fn is_dimemas_machine(start: &[u8]) -> bool {
    start.starts_with(b"#DIMEMAS_CONFIGURATION") || start.starts_with(b"SDDFA")
}

/// Returns whether a file's name says what it is, so that one which is damaged at its very beginning is refused for that.
fn has_suffix(name: &str, suffix: &str) -> bool {
    let own = Path::new(name).extension();
    own.is_some_and(|own| own.eq_ignore_ascii_case(suffix))
}

/// Returns the text of a file.
fn utf8<'a>(bytes: &'a [u8], source: &str) -> Result<&'a str, Error> {
    std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        Error::NotUtf8 {
            path: source.to_owned(),
            offset: offset as u64,
            found: bytes.get(offset).copied().unwrap_or_default(),
        }
    })
}

/// Checks a program that was read.
fn checked(program: Program) -> Result<Messages, Error> {
    match program.check() {
        Ok(()) => Ok(Messages::Program(program)),
        Err(error) => Err(Error::Invalid {
            path: program.source.clone(),
            place: "as a whole".to_owned(),
            problem: error.to_string(),
            remedy: "check that the file is complete",
        }),
    }
}
