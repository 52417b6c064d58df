//! What becomes of the events of a condition variable whose structure is known.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use foretrace_trace::{Object, ObjectId, ObjectKind, ThreadId};

use super::{
    Pattern,
    sections::{Section, Told, Uses},
};
use crate::lower::NONE;

/// What an event becomes instead of what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing: its work belongs to what follows.
    Nothing,
    /// Nothing: the thread looked again whether it had to wait, since the time of its wait had run out.
    LookAgain,
    /// The thread first takes what the section is about, then does what the event says: lock.
    TakeFirst(Vec<Need>),
    /// The end of a wait: the thread takes what it waited for, then locks the mutex, which it did not do before.
    TakeAndLock { needs: Vec<Need>, mutex: ObjectId },
    /// The thread does what the event says, unlock, then lets others go on, and takes what it needs for what follows.
    After { gifts: Vec<Gift>, needs: Vec<Need> },
    /// The thread gives up the mutex, then lets others go on, and no more.
    GiveUp { mutex: ObjectId, gifts: Vec<Gift> },
    /// A wait that is an arrival at a barrier: the mutex is given up, and not taken again.
    Arrive { barrier: ObjectId, mutex: ObjectId },
    /// Lets others go on, outside of any section.
    Give(Gift),
    /// The end of a wait for this object, in which the thread did nothing but sleep.
    Wake(ObjectId),
    /// The thread does what the event says; its events from then on, up to this one, do the same again and again.
    RepeatUntil(u32),
    /// The thread only looks, up to this event.
    LookUntil(u32),
    /// The end of a thread's looking, under this mutex, which others do not notice.
    Looked(ObjectId),
    /// The thread does what the event says, take or give a token, by a lightswitch.
    Switch(ObjectId),
}

/// What a section needs before it can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// So many tokens of a semaphore.
    Tokens(ObjectId, u32),
    /// Nothing: a token of a semaphore would have been taken, and there was none.
    NoToken(ObjectId),
    /// A readers-writer lock, to read or to write.
    Read(ObjectId),
    Write(ObjectId),
    /// An open gate.
    Gate(ObjectId),
    /// All that come to a barrier.
    All(ObjectId),
    /// Polling: the end of another thread's section of the mutex, by its event.
    Section(ObjectId, u32),
    /// The same, of which a sleeping thread is told.
    Step(ObjectId, u32),
    /// A lightswitch, which somebody had in the recording.
    Light(ObjectId),
    /// Nothing: up to it the thread looked, without the mutex, and waited for something else.
    Looked(ObjectId),
}

/// What a section gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gift {
    /// So many tokens of a semaphore.
    Tokens(ObjectId, u32),
    /// A readers-writer lock that is held.
    Lock(ObjectId),
    /// The gate is open from now on.
    Gate(ObjectId),
    /// An arrival at a barrier, which is no gift to those that did not come.
    Arrival(ObjectId),
    /// Its own end, to those that poll the mutex or sleep until then.
    Section(ObjectId),
    /// A lightswitch, which somebody still had in the recording.
    Light(ObjectId),
}

/// What becomes of which events.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    roles: HashMap<u32, Role>,
    patterns: Vec<(ObjectId, Pattern)>,
    /// How many objects the trace has, behind which those stand that are made.
    objects: usize,
    /// Objects made of mutexes or condition variables.
    made: Vec<Made>,
    /// Those at which threads find that there is nothing to take, and that nobody is left who might put something there, each with what they
    /// take from.
    ends: BTreeMap<ObjectId, ObjectId>,
    /// The threads that take from semaphores without ever waiting for that.
    helpers: BTreeSet<(ObjectId, ThreadId)>,
    /// The lightswitches, each with the semaphore or mutex that its first takes.
    lightswitches: BTreeMap<ObjectId, ObjectId>,
}

/// An object that the trace does not have.
#[derive(Clone, Debug)]
struct Made {
    /// What it is made of, and what of that.
    of: ObjectId,
    name: String,
    kind: ObjectKind,
    initial: Option<u32>,
}

/// What becomes of which events, to be asked for in their order.
#[derive(Debug)]
pub(crate) struct Roles {
    next: std::vec::IntoIter<(u32, Role)>,
}

impl Roles {
    /// Returns whether something becomes of an event that is not what it says. Later events only can be asked for then.
    #[inline]
    pub fn has(&self, event: u32) -> bool {
        self.next
            .as_slice()
            .first()
            .is_some_and(|&(other, _)| other <= event)
    }

    /// Returns what becomes of an event to come, where it is not what it says.
    pub fn of(&self, event: u32) -> Option<&Role> {
        let next = self.next.as_slice();
        let place = next.binary_search_by_key(&event, |&(other, _)| other);
        place.ok().map(|place| &next[place].1)
    }

    /// Takes out what becomes of an event, where it is not what it says. Later events only can be asked for then.
    pub fn take(&mut self, event: u32) -> Option<Role> {
        while self.has(event) {
            if let Some((at, role)) = self.next.next()
                && at == event
            {
                return Some(role);
            }
        }
        None
    }
}

impl Plan {
    /// Begins a plan for a trace of so many objects.
    pub fn new(objects: usize) -> Self {
        Self {
            roles: HashMap::new(),
            patterns: Vec::new(),
            objects,
            made: Vec::new(),
            ends: BTreeMap::new(),
            helpers: BTreeSet::new(),
            lightswitches: BTreeMap::new(),
        }
    }

    /// Returns the barriers at which threads find that nothing is left, and nobody who might put something there, each with what they take from.
    pub fn ends(&self) -> BTreeMap<ObjectId, ObjectId> {
        self.ends.clone()
    }

    /// Returns the threads that take from semaphores without ever waiting for that.
    pub fn helpers(&self) -> BTreeSet<(ObjectId, ThreadId)> {
        self.helpers.clone()
    }

    /// Returns the lightswitches, each with the semaphore or mutex that its first takes.
    pub fn lightswitches(&self) -> BTreeMap<ObjectId, ObjectId> {
        self.lightswitches.clone()
    }

    /// Returns what becomes of events.
    pub fn into_roles(self) -> Roles {
        let mut roles: Vec<(u32, Role)> = self.roles.into_iter().collect();
        roles.sort_by_key(|&(event, _)| event);
        Roles {
            next: roles.into_iter(),
        }
    }

    /// Returns the trace's objects with those condition variables changed into what they are, and with those that were
    /// made behind them.
    pub fn objects(&self, objects: &[Object]) -> Vec<Object> {
        let mut objects = objects.to_vec();
        for made in &self.made {
            let made_of = &objects[made.of.index()];
            objects.push(Object {
                kind: made.kind,
                name: format!("{} of {}", made.name, made_of.name),
                initial: made.initial,
                ..made_of.clone()
            });
        }
        for &(cond, pattern) in &self.patterns {
            let object = &mut objects[cond.index()];
            (object.kind, object.initial) = match pattern {
                Pattern::Barrier { threads } => (ObjectKind::Barrier, Some(threads)),
                Pattern::Semaphore { initial } => (ObjectKind::Semaphore, Some(initial)),
                Pattern::Latch { .. } | Pattern::Count => (ObjectKind::Semaphore, Some(0)),
                Pattern::Gate => (ObjectKind::Once, None),
                Pattern::Polling
                | Pattern::Tries
                | Pattern::Progress
                | Pattern::Rounds
                | Pattern::ReadersWriter
                | Pattern::Lock
                | Pattern::Lightswitch => (object.kind, object.initial),
            };
        }
        objects
    }

    /// Notes what a condition variable stays that is one.
    pub(super) fn stays(&mut self, cond: ObjectId, pattern: Pattern) {
        self.patterns.push((cond, pattern));
    }

    /// Notes what a condition variable is instead. What happens to it, and has no part in that, is nothing of its own any more: the end of a
    /// recording may cut off what would have told.
    pub(super) fn found(&mut self, uses: &Uses<'_>, pattern: Pattern) {
        self.patterns.push((uses.object, pattern));
        let mut signals: Vec<u32> = uses.bare.iter().map(|&(event, _)| event).collect();
        for section in &uses.sections {
            signals.extend(uses.signals(section).map(|(event, _)| event));
            match section.waits.last() {
                Some((_, back)) if uses.waits(section) && !self.roles.contains_key(back) => {
                    self.pass(section);
                }
                _ => {}
            }
        }
        for signal in signals {
            self.roles.entry(signal).or_insert(Role::Nothing);
        }
    }

    /// A section's wait is nothing; where the section never ended, nor is the section.
    pub(super) fn pass(&mut self, section: &Section) {
        if section.unlock == NONE {
            self.look(section);
        } else {
            self.begin_after_wait(section, Vec::new());
        }
    }

    /// A section needs something before it begins.
    pub(super) fn take(&mut self, section: &Section, need: Need) {
        if section.waits.is_empty() {
            self.add_need(section.lock, need);
        } else {
            self.begin_after_wait(section, vec![need]);
        }
    }

    /// A section begins when its last wait is over, if it has what it needs by then; what it did before was to look.
    fn begin_after_wait(&mut self, section: &Section, needs: Vec<Need>) {
        self.look(section);
        let mutex = section.mutex;
        if let Some(&(_, back)) = section.waits.last()
            && back != NONE
        {
            self.roles.insert(back, Role::TakeAndLock { needs, mutex });
        }
    }

    /// What a section does up to the end of its last wait is nothing.
    fn look(&mut self, section: &Section) {
        self.silence(section.lock);
        if section.held != section.lock {
            self.silence(section.held);
        }
        self.silence_waits(section);
    }

    /// A section's waits are nothing.
    fn silence_waits(&mut self, section: &Section) {
        for &(wait, back) in &section.waits {
            self.silence(wait);
            if back != NONE {
                self.silence(back);
            }
        }
        if !section.looks {
            return;
        }
        let waits = section.waits.iter().flat_map(|&(wait, back)| [wait, back]);
        let again = waits.skip(1).filter(|&event| event != NONE);
        for event in again.chain(section.looked.iter().copied()) {
            self.roles.insert(event, Role::LookAgain);
        }
    }

    fn add_need(&mut self, lock: u32, need: Need) {
        match self.roles.get_mut(&lock) {
            Some(Role::TakeFirst(needs)) => needs.push(need),
            _ => {
                self.roles.insert(lock, Role::TakeFirst(vec![need]));
            }
        }
    }

    /// A section lets others go on when it has told them, mostly at its end; its own signal is that.
    pub(super) fn give(&mut self, uses: &Uses<'_>, section: &Section, gift: Gift) {
        if let Some((signal, _)) = uses.signal(section) {
            self.silence(signal);
        }
        if let Some(told) = uses.told(section) {
            self.tell(told, gift);
        }
    }

    /// Where a section tells what it did, it lets others go on.
    pub(super) fn tell(&mut self, told: Told, gift: Gift) {
        match told {
            Told::AtEnd(unlock) => self.add_gift(unlock, gift),
            Told::Within(signal) => self.give_bare(signal, gift),
        }
    }

    /// The end of a section lets others go on.
    pub(super) fn give_at_end(&mut self, section: &Section, gift: Gift) {
        self.add_gift(section.unlock, gift);
    }

    /// A signal or broadcast outside of sections lets others go on.
    pub(super) fn give_bare(&mut self, event: u32, gift: Gift) {
        self.roles.insert(event, Role::Give(gift));
    }

    /// An event is nothing of its own any more.
    pub(super) fn silence(&mut self, event: u32) {
        self.roles.insert(event, Role::Nothing);
    }

    /// An event is the end of a wait for an object, in which its thread did nothing but sleep.
    pub(super) fn wakes(&mut self, event: u32, object: ObjectId) {
        self.roles.insert(event, Role::Wake(object));
    }

    /// From one event on, up to another, a thread polls a mutex, until the section is over that ends with `release`.
    pub(super) fn poll(&mut self, (begin, end): (u32, u32), mutex: ObjectId, release: u32) {
        self.roles.insert(begin, Role::RepeatUntil(end));
        self.add_need(end, Need::Section(mutex, release));
        self.give_once(release, Gift::Section(mutex));
    }

    /// A section needs that another thread has told something, under the same mutex.
    pub(super) fn follow(&mut self, section: &Section, told: Told) {
        let mutex = section.mutex;
        self.take(section, Need::Step(mutex, told.event()));
        match told {
            Told::AtEnd(unlock) => self.give_once(unlock, Gift::Section(mutex)),
            Told::Within(signal) => self.give_bare(signal, Gift::Section(mutex)),
        }
    }

    /// What is signalled is told in another way.
    pub(super) fn tell_otherwise(&mut self, uses: &Uses<'_>) {
        for section in &uses.sections {
            if let Some((signal, _)) = uses.signal(section) {
                self.silence(signal);
            }
        }
    }

    /// Gives something with the end of a section, though several may wait for it.
    fn give_once(&mut self, end: u32, gift: Gift) {
        let known = matches!(self.roles.get(&end), Some(Role::After { gifts, .. }) if gifts.contains(&gift));
        if !known {
            self.add_gift(end, gift);
        }
    }

    /// Makes a barrier for so many threads, which they make of something, as what of it.
    pub(super) fn new_barrier(&mut self, made_of: ObjectId, name: &str, threads: u32) -> ObjectId {
        self.make(Made {
            of: made_of,
            name: name.to_owned(),
            kind: ObjectKind::Barrier,
            initial: Some(threads),
        })
    }

    /// Makes a readers-writer lock of a condition variable and its mutex.
    pub(super) fn new_rwlock(&mut self, cond: ObjectId, prefers_writers: bool) -> ObjectId {
        self.make(Made {
            of: cond,
            name: "lock".to_owned(),
            kind: ObjectKind::Rwlock,
            initial: prefers_writers.then_some(1),
        })
    }

    /// Makes a lightswitch of a lock, by which a token of this semaphore is taken, or this mutex.
    pub(super) fn new_lightswitch(&mut self, lock: ObjectId, room: ObjectId) -> ObjectId {
        let light = self.make(Made {
            of: lock,
            name: "lightswitch".to_owned(),
            kind: ObjectKind::Semaphore,
            initial: None,
        });
        self.lightswitches.insert(light, room);
        light
    }

    /// Returns whether something becomes of an event already.
    pub(super) fn has(&self, event: u32) -> bool {
        self.roles.contains_key(&event)
    }

    /// A thread takes or gives a token, as the first or last that has a lightswitch.
    pub(super) fn switch(&mut self, event: u32, light: ObjectId) {
        self.roles.insert(event, Role::Switch(light));
    }

    /// Before a section ends, its thread has a lightswitch, too.
    pub(super) fn enter_before(&mut self, end: u32, light: ObjectId) {
        self.add_need(end, Need::Light(light));
    }

    /// When a section ends, its thread has a lightswitch no more.
    pub(super) fn leave_after(&mut self, end: u32, light: ObjectId) {
        self.add_gift(end, Gift::Light(light));
    }

    /// Makes another condition variable, for some of those that wait on one.
    pub(super) fn new_condition(&mut self, cond: ObjectId) -> ObjectId {
        self.make(Made {
            of: cond,
            name: "another use".to_owned(),
            kind: ObjectKind::Cond,
            initial: None,
        })
    }

    fn make(&mut self, made: Made) -> ObjectId {
        self.made.push(made);
        ObjectId((self.objects + self.made.len() - 1) as u32)
    }

    /// A thread takes from a semaphore where it sees that there is something.
    pub(super) fn helps(&mut self, semaphore: ObjectId, thread: u32) {
        self.helpers.insert((semaphore, ThreadId(thread)));
    }

    /// Makes a barrier at which so many threads find that nothing is left of what they take, and nobody who might put something there.
    pub(super) fn new_end(&mut self, cond: ObjectId, threads: u32) -> ObjectId {
        let end = self.new_barrier(cond, "end", threads);
        self.ends.insert(end, cond);
        end
    }

    /// With the end of a section, its thread arrives at a barrier.
    pub(super) fn arrive_after(&mut self, end: u32, barrier: ObjectId) {
        self.add_gift(end, Gift::Arrival(barrier));
    }

    /// A thread looks from one event to another, and waits for something else.
    pub(super) fn only_look(&mut self, (begin, end): (u32, u32), mutex: ObjectId) {
        if begin < end {
            self.roles.insert(begin, Role::LookUntil(end));
        }
        self.roles.insert(end, Role::Looked(mutex));
    }

    fn add_gift(&mut self, end: u32, gift: Gift) {
        self.after(end).0.push(gift);
    }

    /// Returns what a thread gives and takes after an event.
    fn after(&mut self, end: u32) -> (&mut Vec<Gift>, &mut Vec<Need>) {
        let nothing = || Role::After {
            gifts: Vec::new(),
            needs: Vec::new(),
        };
        let role = self.roles.entry(end).or_insert_with(nothing);
        if !matches!(role, Role::After { .. }) {
            *role = nothing();
        }
        match role {
            Role::After { gifts, needs } => (gifts, needs),
            _ => unreachable!("it was made so"),
        }
    }

    /// A section's thread lets others go on where its first wait begins, up to which it does what it does, and takes what it needs where its last wait is
    /// over; both at the section's end where it does not wait.
    pub(super) fn give_and_take(&mut self, section: &Section, gifts: Vec<Gift>, needs: Vec<Need>) {
        let mutex = section.mutex;
        let Some(&(_, last)) = section.waits.last() else {
            let after = self.after(section.unlock);
            after.0.extend(gifts);
            after.1.extend(needs);
            return;
        };
        self.silence_waits(section);
        if let Some(&(first, _)) = section.waits.first() {
            self.roles.insert(first, Role::GiveUp { mutex, gifts });
        }
        if last != NONE {
            self.roles.insert(last, Role::TakeAndLock { needs, mutex });
        }
    }

    /// A section's wait is an arrival at a barrier, after which it does not hold the mutex.
    pub(super) fn arrive(&mut self, section: &Section, barrier: ObjectId) {
        let mutex = section.mutex;
        self.silence_waits(section);
        if let Some(&(first, _)) = section.waits.first() {
            self.roles.insert(first, Role::Arrive { barrier, mutex });
        }
        self.roles.insert(section.unlock, Role::Nothing);
    }
}
