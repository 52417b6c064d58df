//! Futexes: waits take a token that the wake-up gives which ended them in the recording.
//!
//! A wake-up that comes before its wait lets it pass: so would the program's look at the futex's value, which the
//! wake-up's thread changed before.

use foretrace_trace::ObjectId;

use crate::{
    Action,
    lower::{Lowering, OpenKind},
    matching::{Edge, OpRef, Woken},
};

impl Lowering<'_> {
    /// Lowers a wait that ended by a wake-up, as far as is known.
    pub fn futex_wait(&mut self, index: usize, thread: u32, futex: ObjectId) {
        let at = self.push(index, thread, Action::TakeToken(futex));
        let from = self.return_of(index).and_then(|back| back.from);
        let back = self.next[index];
        self.logs[futex.index()]
            .futex()
            .wait(at, back, from.map(|from| from.0));
        self.set_open(at, OpenKind::Futex(futex));
    }

    /// Lowers a wake-up: an operation for each thread that it woke.
    pub fn futex_wake(&mut self, index: usize, thread: u32, (futex, woken): (ObjectId, u32)) {
        if woken == 0 {
            self.push(index, thread, Action::Pass);
        }
        // No more threads can wait than there are, whatever a file says.
        for _ in 0..woken.min(self.lists.len() as u32) {
            let wake = self.push(index, thread, Action::Pass);
            if let Some(wait) = self.logs[futex.index()].futex().wake(wake) {
                self.futex_woke(wake, wait, futex);
            }
        }
    }

    /// Logs that a wait came back.
    pub fn futex_returned(&mut self, wait: OpRef, futex: ObjectId) {
        match self.logs[futex.index()].futex().returned(wait) {
            Woken::Known => {}
            Woken::Late(wake) => self.futex_woke(wake, wait, futex),
            Woken::ByNobody => self.set_action(wait, Action::Pass),
        }
    }

    fn futex_woke(&mut self, release: OpRef, acquire: OpRef, futex: ObjectId) {
        self.set_action(release, Action::GiveToken(futex));
        self.edges.push(Edge { acquire, release });
    }
}
