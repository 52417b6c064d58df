//! Formats that traces and schedules are written in and read from, one file each.
//!
//! A format is an [`Exporter`], an [`Importer`] or both, and stands in [`EXPORTERS`] and [`IMPORTERS`]; the command
//! line lists what it finds there.
//!
//! ```
//! let trace = foretrace_trace::text::parse("foretrace-text 1\n0 A lock m\n3 A unlock m\n3 A terminate\n", "example")?;
//! let text = foretrace_interchange::exporter("text").expect("it is one of the formats");
//! let mut written = Vec::new();
//! text.export(foretrace_interchange::Source::Trace(&trace), &mut written)?;
//! assert!(written.starts_with(b"foretrace-text 1\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Deliberately absent: predicting. Whoever exports a format that needs a schedule brings one.

mod messages;
pub mod png;

mod svg;
mod text;

use std::io;

pub use messages::{
    MESSAGE_FORMATS, MessageFormat, Messages, RECOGNIZED_BYTES, dimemas_machine,
    is_dimemas_machine, is_wrapped, message_format, read_messages, recognized, wrap,
};

use foretrace_schedule::Schedule;
use foretrace_trace::Trace;

/// The formats that can be written.
pub const EXPORTERS: [&dyn Exporter; 3] = [&svg::Svg, &png::Png, &text::Text];

/// The formats that can be read.
pub const IMPORTERS: [&dyn Importer; 1] = [&text::Text];

/// Finds a format to write by its name.
pub fn exporter(name: &str) -> Option<&'static dyn Exporter> {
    EXPORTERS
        .into_iter()
        .find(|exporter| exporter.name() == name)
}

/// Finds a format to read by its name.
pub fn importer(name: &str) -> Option<&'static dyn Importer> {
    IMPORTERS
        .into_iter()
        .find(|importer| importer.name() == name)
}

/// A format that can be written.
pub trait Exporter: Sync {
    /// Returns its name on the command line.
    fn name(&self) -> &'static str;

    /// Returns what it is, in a line for the help.
    fn about(&self) -> &'static str;

    /// Returns what it is made from.
    fn needs(&self) -> Needs;

    /// Writes it.
    ///
    /// # Errors
    ///
    /// When the source is not what it [`needs`](Self::needs), has nothing to write, or cannot be written.
    fn export(&self, source: Source<'_>, out: &mut dyn io::Write) -> Result<(), ExportError>;
}

/// A format that can be read as a trace.
pub trait Importer: Sync {
    /// Returns its name on the command line.
    fn name(&self) -> &'static str;

    /// Returns what it is, in a line for the help.
    fn about(&self) -> &'static str;

    /// Reads it; `source` names it in errors.
    ///
    /// # Errors
    ///
    /// When the bytes are not of this format, with the place.
    fn import(&self, bytes: &[u8], source: &str) -> Result<Trace, foretrace_trace::Error>;
}

/// What a format is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// A trace: what was recorded.
    Trace,
    /// A schedule: what was predicted.
    Schedule,
}

/// What is exported.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// What was recorded.
    Trace(&'a Trace),
    /// What was predicted.
    Schedule(&'a Schedule),
}

/// Why something could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The format is made from something else.
    #[error("the format {format} shows {needed}, not {given}")]
    WrongSource {
        /// The format.
        format: &'static str,
        /// What it is made from.
        needed: &'static str,
        /// What it was given.
        given: &'static str,
    },
    /// A program that passes messages cannot be written so.
    #[error("the format {format} {problem}")]
    Messages {
        /// The format.
        format: &'static str,
        /// What it cannot hold.
        problem: String,
    },
    /// The trace cannot be written.
    #[error(transparent)]
    Trace(#[from] foretrace_trace::Error),
    /// The picture could not be drawn.
    #[error("cannot draw the picture: {0}")]
    Picture(String),
    /// The file could not be written.
    #[error("cannot write: {0}")]
    Io(#[from] io::Error),
}

impl Needs {
    fn described(self) -> &'static str {
        match self {
            Self::Trace => "a recorded trace",
            Self::Schedule => "a predicted schedule",
        }
    }
}

impl Source<'_> {
    /// Refuses to be exported in a format that is made from something else.
    fn refused_by(self, format: &dyn Exporter) -> ExportError {
        let given = match self {
            Self::Trace(_) => Needs::Trace,
            Self::Schedule(_) => Needs::Schedule,
        };
        ExportError::WrongSource {
            format: format.name(),
            needed: format.needs().described(),
            given: given.described(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_found_by_their_names() {
        for exporter in EXPORTERS {
            assert_eq!(
                super::exporter(exporter.name()).map(Exporter::name),
                Some(exporter.name())
            );
        }
        for importer in IMPORTERS {
            assert_eq!(
                super::importer(importer.name()).map(Importer::name),
                Some(importer.name())
            );
        }
        assert!(exporter("nonsense").is_none());
    }

    #[test]
    fn a_format_refuses_what_it_is_not_made_from() {
        let trace = foretrace_testkit::trace(foretrace_testkit::P);
        let error = svg::Svg
            .export(Source::Trace(&trace), &mut Vec::new())
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the format svg shows a predicted schedule, not a recorded trace"
        );
    }

    #[test]
    fn text_is_read_as_it_was_written() {
        let trace = foretrace_testkit::trace(foretrace_testkit::Q);
        let mut written = Vec::new();
        text::Text
            .export(Source::Trace(&trace), &mut written)
            .unwrap();
        assert_eq!(text::Text.import(&written, &trace.source).unwrap(), trace);
    }
}
