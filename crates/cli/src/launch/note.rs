//! A note beside the journals: how the recording was started. Only foretrace knows it, and foretrace may be killed
//! before it seals the trace.

use std::{fs, io, path::Path};

use foretrace_trace::Recording;

/// The note's name in the directory of the journals.
pub const FILE: &str = "recording.json";

/// Leaves the note.
pub fn write(journals: &Path, recording: &Recording) -> io::Result<()> {
    let text = serde_json::to_string_pretty(recording).map_err(io::Error::other)?;
    fs::write(journals.join(FILE), text)
}

/// Returns the version of the foretrace that left the note, also where the rest of it is not understood.
pub fn version(journals: &Path) -> Option<String> {
    let text = fs::read_to_string(journals.join(FILE)).ok()?;
    let note: serde_json::Value = serde_json::from_str(&text).ok()?;
    note["recorder_version"].as_str().map(str::to_owned)
}

/// Completes what the recorder itself noted by the note, where there is one that can be read.
pub fn complete(journals: &Path, noted: &mut Option<Recording>) {
    let text = fs::read_to_string(journals.join(FILE)).ok();
    let told = text.and_then(|text| serde_json::from_str::<Recording>(&text).ok());
    if let (Some(told), Some(noted)) = (told, noted) {
        *noted = Recording {
            clock: noted.clock,
            wall: noted.wall,
            lost_events: noted.lost_events,
            recorder_cpu: noted.recorder_cpu,
            ..told
        };
    }
}
