//! Lightswitches: the first of several threads takes a token, or a mutex, for all, and the last gives it back.

use foretrace_trace::ObjectId;

/// A lightswitch. The lock under which threads come and go is an object of its own.
#[derive(Clone, Debug)]
pub(crate) struct Lightswitch {
    there: u32,
    /// What the first takes.
    room: ObjectId,
}

impl Lightswitch {
    /// Returns one by which a semaphore's token or a mutex is taken.
    pub fn of(room: ObjectId) -> Self {
        Self { there: 0, room }
    }

    /// A thread comes where others are; returns what it has to take first where nobody is.
    pub fn come_too(&mut self) -> Option<ObjectId> {
        if self.there == 0 {
            return Some(self.room);
        }
        self.come();
        None
    }

    /// A thread is there.
    pub fn come(&mut self) {
        self.there += 1;
    }

    /// A thread goes; returns what it gives up where nobody stays.
    pub fn go(&mut self) -> Option<ObjectId> {
        self.there = self.there.saturating_sub(1);
        (self.there == 0).then_some(self.room)
    }
}
