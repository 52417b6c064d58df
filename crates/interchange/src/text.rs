//! Our own text form of traces.

use std::io;

use foretrace_trace::{Error, Trace, text};

use crate::{ExportError, Exporter, Importer, Needs, Source};

/// The text form.
pub(crate) struct Text;

impl Exporter for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn about(&self) -> &'static str {
        "The trace as text, one event a line, which can be edited and read again"
    }

    fn needs(&self) -> Needs {
        Needs::Trace
    }

    fn export(&self, source: Source<'_>, out: &mut dyn io::Write) -> Result<(), ExportError> {
        let Source::Trace(trace) = source else {
            return Err(source.refused_by(self));
        };
        Ok(text::write(trace, out)?)
    }
}

impl Importer for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn about(&self) -> &'static str {
        "A text trace, as `export --format text` writes it"
    }

    fn import(&self, bytes: &[u8], source: &str) -> Result<Trace, Error> {
        text::parse_bytes(bytes, source)
    }
}
