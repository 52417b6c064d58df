//! What a rank does to the windows of others, and when it may: told as messages.

use super::mpi::{Epochs, InWindow, envelope};
use super::ranks::{Apart, Rank};
use crate::{Action, End, Peer, Point, SendMode};

/// The tags of the messages that stand for the beginning and the end of a time in which a window may be used.
const BEGINS: u32 = 0;
const ENDS: u32 = 1;

/// Who is meant of those that use a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Side {
    /// Those whose parts a rank uses.
    Targets,
    /// Those that use its own.
    Origins,
}

impl Rank {
    /// Returns the messages that stand for what is put into a window and got from there: what follows tells when that is done.
    pub fn moved(&self, how: InWindow, bytes: u64, whose: u64, window: u64) -> Option<Action> {
        let point = |end| self.point(end, envelope(whose as u32, 0), bytes, window);
        let put = || point(End::Send(SendMode::Buffered));
        let got = || point(End::Receive);
        Some(match (how.puts, how.gets) {
            (true, true) => Action::Exchanges(vec![put()?, got()?]),
            (true, false) => Action::Point(put()?),
            _ => Action::Point(got()?),
        })
    }

    /// Notes with whom the time begins in which a window may be used.
    pub fn begin_epoch(&mut self, sort: Epochs, words: &[u64]) {
        let (Some(side), [window, ranks @ ..]) = (begins(sort), words) else {
            return;
        };
        let ranks = ranks.iter().map(|&rank| rank as u32).collect();
        self.epochs.insert((*window, side), ranks);
    }

    /// Returns the messages that stand for the beginning or the end of such a time: who lets others use its part tells them, and
    /// these tell it when they are done.
    pub fn epoch(&self, sort: Epochs, window: u64) -> Option<Vec<Point>> {
        let (side, tag, end) = match sort {
            Epochs::Post => (Side::Origins, BEGINS, End::Send(SendMode::Buffered)),
            Epochs::Start => (Side::Targets, BEGINS, End::Receive),
            Epochs::Complete => (Side::Targets, ENDS, End::Send(SendMode::Buffered)),
            Epochs::Wait => (Side::Origins, ENDS, End::Receive),
        };
        let communicator = self.communicators.get(&window)?.apart[Apart::Epochs as usize]?;
        let ranks = self.epochs.get(&(window, side))?;
        let point = |&rank: &u32| Point {
            end,
            peer: Peer::Rank(rank),
            tag: Some(tag),
            bytes: 0,
            communicator,
            request: None,
        };
        Some(ranks.iter().map(point).collect())
    }
}

/// Whose ranks a call tells.
fn begins(sort: Epochs) -> Option<Side> {
    match sort {
        Epochs::Post => Some(Side::Origins),
        Epochs::Start => Some(Side::Targets),
        Epochs::Complete | Epochs::Wait => None,
    }
}
