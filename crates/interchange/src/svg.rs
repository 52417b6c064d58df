//! SVG: the Gantt picture of a schedule.

use std::io;

use foretrace_gantt::{SvgOptions, render};

use crate::{ExportError, Exporter, Needs, Source};

/// The Gantt picture.
pub(crate) struct Svg;

impl Exporter for Svg {
    fn name(&self) -> &'static str {
        "svg"
    }

    fn about(&self) -> &'static str {
        "The predicted run as a Gantt picture"
    }

    fn needs(&self) -> Needs {
        Needs::Schedule
    }

    fn export(&self, source: Source<'_>, out: &mut dyn io::Write) -> Result<(), ExportError> {
        let Source::Schedule(schedule) = source else {
            return Err(source.refused_by(self));
        };
        Ok(out.write_all(render(schedule, &SvgOptions::default()).as_bytes())?)
    }
}
