//! Mutexes and spin locks: acquisition k waited for release k-1.

use super::{Edge, Edges, OpRef};

/// What happened to one mutex so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct MutexLog {
    holder: Option<u32>,
    depth: u32,
    last_release: Option<OpRef>,
    /// Waits on a condition whose signaller held the mutex: they also need its next release.
    after_release: Vec<OpRef>,
}

/// What an acquisition turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acquired {
    /// The first by this thread; it waited for this release, if there was one before.
    Outermost(Option<OpRef>),
    /// One more by the holder: nothing that another thread could notice.
    Nested,
    /// Taken although the trace says that another thread held it; the recording missed something.
    FromHolder(u32),
}

impl MutexLog {
    /// Logs an acquisition.
    pub fn acquire(&mut self, thread: u32) -> Acquired {
        match self.holder {
            Some(holder) if holder == thread => {
                self.depth += 1;
                Acquired::Nested
            }
            previous => {
                self.holder = Some(thread);
                self.depth = 1;
                previous.map_or(Acquired::Outermost(self.last_release), Acquired::FromHolder)
            }
        }
    }

    /// Logs that a wait on a condition got the mutex back, as deep as it had it.
    pub fn reacquire(&mut self, thread: u32, depth: u32) {
        self.holder = Some(thread);
        self.depth = depth;
    }

    /// Logs an unlock. Returns whether it let the mutex go; not so for a nested one, or where nobody held it.
    pub fn unlock(&mut self, release: OpRef, edges: &mut Edges) -> bool {
        match self.holder {
            None => false,
            Some(holder) if holder == release.thread && self.depth > 1 => {
                self.depth -= 1;
                false
            }
            Some(_) => {
                self.release(release, edges);
                true
            }
        }
    }

    /// Logs that a wait on a condition gave the mutex up. Returns how deep it had it.
    pub fn give_up(&mut self, release: OpRef, edges: &mut Edges) -> u32 {
        let depth = if self.holder == Some(release.thread) {
            self.depth
        } else {
            1
        };
        self.release(release, edges);
        depth
    }

    /// Makes a wait also need the holder's next release, if `signaller` holds the mutex.
    pub fn require_next_release(&mut self, signaller: u32, wait: OpRef) {
        if self.holder == Some(signaller) {
            self.after_release.push(wait);
        }
    }

    /// Returns whether nobody holds it.
    pub fn is_free(&self) -> bool {
        self.holder.is_none()
    }

    fn release(&mut self, release: OpRef, edges: &mut Edges) {
        self.holder = None;
        self.depth = 0;
        self.last_release = Some(release);
        edges.extend(
            self.after_release
                .drain(..)
                .map(|acquire| Edge { acquire, release }),
        );
    }
}
