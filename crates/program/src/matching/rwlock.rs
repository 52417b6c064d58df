//! Readers-writer locks: a read waited for the last write-unlock; a write for all read-unlocks of the phase before,
//! or for the write-unlock before it.

use super::{Edge, Edges, OpRef};

/// What happened to one readers-writer lock so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct RwlockLog {
    is_written: bool,
    last_write_release: Option<OpRef>,
    /// The read-unlocks since the last write-unlock.
    read_releases: Vec<OpRef>,
}

impl RwlockLog {
    /// Logs an acquisition for reading.
    pub fn read(&mut self, acquire: OpRef, edges: &mut Edges) {
        edges.extend(
            self.last_write_release
                .map(|release| Edge { acquire, release }),
        );
    }

    /// Logs an acquisition for writing.
    pub fn write(&mut self, acquire: OpRef, edges: &mut Edges) {
        self.is_written = true;
        if self.read_releases.is_empty() {
            edges.extend(
                self.last_write_release
                    .map(|release| Edge { acquire, release }),
            );
        } else {
            edges.extend(
                self.read_releases
                    .drain(..)
                    .map(|release| Edge { acquire, release }),
            );
        }
    }

    /// Logs a release, whichever way it was held.
    pub fn unlock(&mut self, release: OpRef) {
        if std::mem::take(&mut self.is_written) {
            self.last_write_release = Some(release);
            self.read_releases.clear();
        } else {
            self.read_releases.push(release);
        }
    }
}
