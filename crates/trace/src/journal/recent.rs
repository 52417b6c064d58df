//! The calls that a thread made lately. Most events are one of a few calls again: what each is about need not be looked up each time.

use super::decode::{Decoded, StackId, WordsId};
use super::layout::Kind;
use super::objects::object_kind;
use crate::CallId;

/// So many calls are kept of each thread; a power of two. One that comes in the place of another is looked up again.
const PLACES: usize = 64;

/// What a record says of a call on an object, and the call.
#[derive(Clone, Copy)]
struct Known {
    kind: Kind,
    outcome: u8,
    object: u64,
    site: u64,
    /// Until when addresses mean what they mean now, and which lives of objects were known.
    until: u64,
    lives: u64,
    call: CallId,
}

/// None are kept of a thread that makes fewer calls than this: there may be very many such threads.
const LEAST: u32 = 32;

/// The latest calls of one thread.
#[derive(Default)]
pub(super) struct Recent {
    /// Empty until the thread has made some calls.
    known: Vec<Option<Known>>,
    calls: u32,
}

impl Recent {
    /// Returns the call of an event, where it was known after so many lives of objects had begun or ended.
    pub fn call(&self, event: &Decoded, lives: u64) -> Option<CallId> {
        let known = self.known.get(place(event))?.as_ref()?;
        let is_same = known.kind == event.kind
            && known.outcome == event.outcome
            && known.object == event.object
            && known.site == event.site
            && is_plain(event);
        (is_same && known.lives == lives && event.tsc < known.until).then_some(known.call)
    }

    /// Keeps the call of an event: of an address that means the same until a moment, after so many lives of objects.
    pub fn keep(&mut self, event: &Decoded, call: CallId, lives: u64, until: u64) {
        if is_plain(event) && object_kind(event.kind).is_some() {
            self.calls = self.calls.saturating_add(1);
            if self.calls < LEAST {
                return;
            }
            self.known.resize(PLACES, None);
            self.known[place(event)] = Some(Known {
                kind: event.kind,
                outcome: event.outcome,
                object: event.object,
                site: event.site,
                until,
                lives,
                call,
            });
        }
    }
}

/// Returns whether nothing more belongs to an event than what is kept.
fn is_plain(event: &Decoded) -> bool {
    let is_alone = event.second == 0 && event.third == 0 && event.release_site == 0;
    is_alone && event.stack == StackId::default() && event.words == WordsId::default()
}

fn place(event: &Decoded) -> usize {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = (event.object ^ event.site.rotate_left(20) ^ event.kind as u64).wrapping_mul(ODD);
    (mixed >> 32) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_known_until_its_address_may_mean_something_else() {
        let event = Decoded {
            tsc: 10,
            cpu: 0,
            kind: Kind::MutexLock,
            outcome: 0,
            object: 64,
            site: 7,
            second: 0,
            third: 0,
            stack: StackId::default(),
            words: WordsId::default(),
            release_site: 0,
        };
        let mut recent = Recent::default();
        recent.keep(&event, CallId(3), 1, 20);
        assert_eq!(recent.call(&event, 1), None, "it may be its only one");
        for _ in 1..LEAST {
            recent.keep(&event, CallId(3), 1, 20);
        }
        assert_eq!(recent.call(&event, 1), Some(CallId(3)));
        assert_eq!(recent.call(&event, 2), None, "an object began or ended");
        let late = Decoded { tsc: 20, ..event };
        assert_eq!(recent.call(&late, 1), None, "something else was mapped");
        let other = Decoded {
            outcome: 1,
            ..event
        };
        assert_eq!(recent.call(&other, 1), None);
        let more = Decoded { second: 9, ..event };
        assert_eq!(recent.call(&more, 1), None);
        recent.keep(&more, CallId(4), 1, 20);
        assert_eq!(
            recent.call(&more, 1),
            None,
            "a mutex waited with is not kept"
        );
    }
}
