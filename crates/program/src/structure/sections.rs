//! Critical sections of the mutexes that condition variables are used with.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};

use foretrace_trace::{ObjectId, Operation as Op, Outcome, SiteId, Trace};

use crate::{events::Following, lower::NONE, polls::SPIN};

/// A section that worked so often between two of its waits waits for several things, one after the other.
const WORKS: u32 = 2;

/// What a thread does between locking a mutex and unlocking it.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub mutex: ObjectId,
    /// The call that locked; `None` where it is not known.
    pub site: Option<SiteId>,
    /// The event of that call.
    pub lock: u32,
    /// The event by which the mutex was held: the call, or its return.
    pub held: u32,
    /// The event of the unlocking; [`NONE`] where there is none.
    pub unlock: u32,
    /// The condition variable that was waited on; the first, where there were several.
    pub waited: Option<ObjectId>,
    /// The waits, each with the event of its return ([`NONE`] where it never came back). Where the thread then only unlocked the mutex to lock it again
    /// and look again, the event by which it was held again.
    pub waits: Vec<(u32, u32)>,
    /// The events from such a return until the mutex was held again.
    pub looked: Vec<u32>,
    /// The signals and broadcasts made in it, or after it and before the next: condition variable, event, whether it was a broadcast.
    pub signals: Vec<(ObjectId, u32, bool)>,
    /// How many there were, one after the other, of which one record tells; none of them waited.
    pub times: u64,
    /// Whether the time of some wait ran out, after which it waited again.
    pub looks: bool,
    /// Whether the time of its last wait ran out, and it gave up; or, in a listing by hand, went on because it had become what it waited for.
    pub ran_out: bool,
    /// Where nobody woke it from its last wait, but what it waited for was told about then: its thread's next event, before which it knew.
    pub until: Option<u32>,
    /// How often it worked after a wait, and then waited again, holding the mutex all the while.
    pub works: u32,
    /// Whether something happened that no hypothesis is about: a wait failed, there were several condition variables, or it waited for several
    /// things one after the other.
    pub odd: bool,
}

impl Section {
    /// Returns the number of its thread.
    pub fn thread(&self, trace: &Trace) -> u32 {
        trace.call(&trace.events[self.lock as usize]).thread.0
    }

    /// Returns the event by which it had what it looked for: [`NONE`] where that never came.
    pub fn went_on(&self) -> u32 {
        let back = || self.waits.last().map_or(self.held, |&(_, back)| back);
        self.until.unwrap_or_else(back)
    }

    /// Returns when it tells what it did, by one of its signals where it makes one; `None` where it did not come to that.
    pub fn told_by(&self, signal: Option<u32>) -> Option<Told> {
        let within = signal.filter(|&signal| self.waits.iter().any(|&(wait, _)| wait > signal));
        within
            .map(Told::Within)
            .or_else(|| (self.unlock != NONE).then_some(Told::AtEnd(self.unlock)))
    }
}

/// All sections of a trace's mutexes that condition variables are used with.
pub(super) struct Sections {
    all: Vec<Section>,
    /// The positions of each mutex's sections.
    of_mutex: BTreeMap<ObjectId, Vec<u32>>,
    /// From which places each condition variable is waited on, and how often.
    waits: BTreeMap<ObjectId, (BTreeSet<SiteId>, u64)>,
    /// Signals and broadcasts of threads that had not locked their mutex before: event, and whether it was a broadcast.
    bare: BTreeMap<ObjectId, Vec<(u32, bool)>>,
    mutex_of: BTreeMap<ObjectId, ObjectId>,
    /// Condition variables that nobody waited on, but which are only signalled under one mutex each, of which that is not known of any other.
    unawaited: BTreeSet<ObjectId>,
    /// Condition variables that are used with several mutexes.
    ambiguous: BTreeSet<ObjectId>,
    is_recording: bool,
    next: Rc<Following>,
}

/// How one condition variable is used.
#[derive(Clone)]
pub(super) struct Uses<'a> {
    pub cond: ObjectId,
    /// What stands for it in replays: it itself, or, for some of those that wait on it, another.
    pub object: ObjectId,
    /// Whether these are not all of its uses: those of other call sites are others' then.
    pub is_part: bool,
    /// The sections whose call sites sometimes wait on it or signal it, in the order in which they began.
    pub sections: Vec<&'a Section>,
    /// The call sites whose sections sometimes wait on it.
    pub waiting: BTreeSet<SiteId>,
    /// Those whose sections sometimes signal it, or broadcast it.
    pub signalling: BTreeSet<SiteId>,
    /// Those whose sections sometimes broadcast it.
    pub broadcasting: BTreeSet<SiteId>,
    /// Signals and broadcasts outside of sections: event, and whether it is a broadcast.
    pub bare: Vec<(u32, bool)>,
    /// Whether a thread went on because its time had run out.
    pub runs_out: bool,
    /// Whether one record tells of several sections: which of them found what is not known.
    pub repeats: bool,
    /// What sections do that few hypotheses are about. What woke each wait is known all the same.
    pub beyond: Option<Beyond>,
}

/// What sections do that few hypotheses are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beyond {
    /// They signal it several times.
    SignalOften,
    /// They wait for something else where others wait for this.
    WaitForOthers,
}

impl Sections {
    /// Collects them in one pass.
    pub fn collect(trace: &Trace, next: &Rc<Following>) -> Self {
        let mut collector = Collector::new(trace, next);
        for index in 0..trace.events.len() as u32 {
            collector.event(index);
        }
        collector.finish()
    }

    /// Returns the condition variables that are waited on.
    pub fn conditions(&self) -> impl Iterator<Item = ObjectId> {
        let all = self.mutex_of.keys().copied();
        all.filter(|cond| !self.unawaited.contains(cond))
    }

    /// Returns the condition variables and the sections, in the order in which they began, of each mutex of which all uses of these are known.
    pub fn of_mutexes(&self) -> impl Iterator<Item = (Vec<ObjectId>, Vec<&Section>)> {
        let mut conds: BTreeMap<ObjectId, Vec<ObjectId>> = BTreeMap::new();
        for (&cond, &mutex) in &self.mutex_of {
            conds.entry(mutex).or_default().push(cond);
        }
        conds.into_iter().filter_map(|(mutex, conds)| {
            let is_odd =
                |cond: &ObjectId| self.ambiguous.contains(cond) || self.bare.contains_key(cond);
            if conds.iter().any(is_odd) {
                return None;
            }
            let positions = self.of_mutex.get(&mutex)?.iter();
            let sections = positions.map(|&place| &self.all[place as usize]);
            Some((conds, sections.collect()))
        })
    }

    /// Returns how those are used that nobody waited on, but which are told and looked at by the same calls as another: who tells is
    /// `like` that one, who looks may have waited there.
    pub fn unawaited<'a>(&'a self, like: &Uses<'_>, looking: &BTreeSet<SiteId>) -> Vec<Uses<'a>> {
        let conds = self.unawaited.iter();
        let uses = conds.filter_map(|&cond| self.unawaited_uses(cond, like, looking));
        uses.collect()
    }

    fn unawaited_uses(
        &self,
        cond: ObjectId,
        like: &Uses<'_>,
        looking: &BTreeSet<SiteId>,
    ) -> Option<Uses<'_>> {
        let mutex = self.mutex_of.get(&cond)?;
        let positions = self.of_mutex.get(mutex)?.iter();
        let sections = positions.map(|&position| &self.all[position as usize]);
        let concerned = |section: &&Section| {
            let site = section.site.as_ref();
            site.is_some_and(|site| like.signalling.contains(site) || looking.contains(site))
        };
        let (concerned, others): (Vec<_>, Vec<_>) = sections.partition(concerned);
        let is_told = |section: &&Section| !section.signals.is_empty();
        let is_odd = concerned.iter().any(|section| section.odd);
        if is_odd || !concerned.iter().any(is_told) || others.iter().any(is_told) {
            return None;
        }
        Some(Uses {
            cond,
            object: cond,
            is_part: false,
            waiting: looking.clone(),
            signalling: like.signalling.clone(),
            broadcasting: like.broadcasting.clone(),
            bare: Vec::new(),
            runs_out: false,
            repeats: concerned.iter().any(|section| section.times > 1),
            sections: concerned,
            beyond: None,
        })
    }

    /// Returns all sections of the mutex that a condition variable is used with.
    pub fn of_the_mutex(&self, uses: &Uses<'_>) -> Vec<&Section> {
        let mutex = self.mutex_of.get(&uses.cond);
        let positions = mutex.and_then(|mutex| self.of_mutex.get(mutex));
        let positions = positions.into_iter().flatten();
        positions.map(|&place| &self.all[place as usize]).collect()
    }

    /// Returns where sections begin that wait on it.
    pub fn waiting_sites(&self, cond: ObjectId) -> Vec<SiteId> {
        let waits = self.waits.get(&cond);
        waits.map_or(Vec::new(), |(sites, _)| sites.iter().copied().collect())
    }

    /// Returns how often it was waited on.
    pub fn waits(&self, cond: ObjectId) -> u64 {
        self.waits.get(&cond).map_or(0, |(_, count)| *count)
    }

    /// Returns how a condition variable is used; `None` where that is too odd to tell.
    pub fn uses_of(&self, cond: ObjectId) -> Option<Uses<'_>> {
        let mutex = *self.mutex_of.get(&cond)?;
        if self.ambiguous.contains(&cond) {
            return None;
        }
        // What one waited for that gave up is of no use to others.
        let gave_up =
            |section: &&Section| self.is_recording && section.ran_out && section.signals.is_empty();
        let of_mutex = || {
            let positions = self.of_mutex.get(&mutex).into_iter().flatten();
            let sections = positions.map(|&position| &self.all[position as usize]);
            sections.filter(|section| !gave_up(section))
        };
        let mut uses = Uses {
            cond,
            object: cond,
            is_part: false,
            sections: Vec::new(),
            waiting: BTreeSet::new(),
            signalling: BTreeSet::new(),
            broadcasting: BTreeSet::new(),
            bare: Vec::new(),
            runs_out: false,
            repeats: false,
            beyond: None,
        };
        for section in of_mutex() {
            let waits = section.waited == Some(cond);
            let mut signals = section.signals.iter().filter(|signal| signal.0 == cond);
            let signal = signals.next();
            if !waits && signal.is_none() {
                continue;
            }
            let site = section.site.filter(|_| !section.odd)?;
            if signals.next().is_some() {
                uses.beyond = Some(Beyond::SignalOften);
            }
            if waits {
                uses.waiting.insert(site);
            }
            if let Some(&(_, _, broadcasts)) = signal {
                uses.signalling.insert(site);
                if broadcasts {
                    uses.broadcasting.insert(site);
                }
            }
        }
        let concerned =
            |site: SiteId| uses.waiting.contains(&site) || uses.signalling.contains(&site);
        let sections: Vec<&Section> = of_mutex()
            .filter(|section| section.site.is_some_and(concerned))
            .collect();
        let waits_for_another = |section: &&Section| {
            let looks = section
                .site
                .is_some_and(|site| uses.waiting.contains(&site));
            looks && section.waited.is_some_and(|other| other != cond)
        };
        if sections.iter().any(|section| section.odd) {
            return None;
        }
        if sections.iter().any(waits_for_another) {
            uses.beyond = Some(Beyond::WaitForOthers);
        }
        uses.runs_out = sections.iter().any(|section| section.ran_out);
        uses.repeats = sections.iter().any(|section| section.times > 1);
        uses.sections = sections;
        uses.bare = self.bare.get(&cond).cloned().unwrap_or_default();
        Some(uses)
    }
}

impl Uses<'_> {
    pub fn waits(&self, section: &Section) -> bool {
        section.waited == Some(self.cond) && (!self.is_part || self.is_waiting_site(section))
    }

    pub fn is_waiting_site(&self, section: &Section) -> bool {
        section
            .site
            .is_some_and(|site| self.waiting.contains(&site))
    }

    pub fn is_signalling_site(&self, section: &Section) -> bool {
        section
            .site
            .is_some_and(|site| self.signalling.contains(&site))
    }

    /// Returns the signal or broadcast of a section: its event, and whether it is a broadcast.
    pub fn signal(&self, section: &Section) -> Option<(u32, bool)> {
        self.signals(section).next()
    }

    /// Returns all signals and broadcasts of a section, likewise.
    pub fn signals(&self, section: &Section) -> impl Iterator<Item = (u32, bool)> {
        let is_told_here = !self.is_part || self.is_signalling_site(section);
        let own = move |signal: &&(ObjectId, u32, bool)| is_told_here && signal.0 == self.cond;
        let signals = section.signals.iter().filter(own);
        signals.map(|&(_, event, broadcasts)| (event, broadcasts))
    }

    /// Returns the threads of the sections that do something.
    pub fn threads_that(&self, trace: &Trace, does: impl Fn(&Section) -> bool) -> BTreeSet<u32> {
        let sections = self.sections.iter().filter(|section| does(section));
        sections.map(|section| section.thread(trace)).collect()
    }

    /// Returns when a section tells what it did; `None` where it did not come to that.
    pub fn told(&self, section: &Section) -> Option<Told> {
        section.told_by(self.signal(section).map(|(signal, _)| signal))
    }
}

/// Returns the condition variables that nobody waits on and which are signalled under one mutex only, each with that; not
/// those whose mutex is another's as well.
fn signalled_under(
    trace: &Trace,
    awaited: &BTreeMap<ObjectId, ObjectId>,
) -> BTreeMap<ObjectId, ObjectId> {
    let is_silent = |cond: &ObjectId| !awaited.contains_key(cond);
    let signalled = |operation: Op| match operation {
        Op::CondSignal(cond) | Op::CondBroadcast(cond) => Some(cond).filter(is_silent),
        _ => None,
    };
    if !trace
        .calls
        .iter()
        .any(|call| signalled(call.operation).is_some())
    {
        return BTreeMap::new();
    }
    let mut held: Vec<Vec<ObjectId>> = vec![Vec::new(); trace.threads.len()];
    let mut under: BTreeMap<ObjectId, BTreeSet<Option<ObjectId>>> = BTreeMap::new();
    for event in &trace.events {
        let call = trace.call(event);
        let held = &mut held[call.thread.index()];
        match call.operation {
            Op::Lock(mutex) => held.push(mutex),
            Op::Unlock(mutex) => {
                let place = held.iter().rposition(|&other| other == mutex);
                place.map(|place| held.remove(place));
            }
            operation => {
                if let Some(cond) = signalled(operation) {
                    under.entry(cond).or_default().insert(held.last().copied());
                }
            }
        }
    }
    let mut of: BTreeMap<ObjectId, Vec<ObjectId>> = BTreeMap::new();
    for (cond, mutexes) in under {
        if let (1, Some(&Some(mutex))) = (mutexes.len(), mutexes.first()) {
            of.entry(mutex).or_default().push(cond);
        }
    }
    of.retain(|mutex, conds| conds.len() == 1 && !awaited.values().any(|other| other == mutex));
    of.into_iter()
        .map(|(mutex, conds)| (conds[0], mutex))
        .collect()
}

/// When a section told others what it had done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// With its end, by the event of that.
    AtEnd(u32),
    /// By a signal of its own, after which it waits, so that others go on before its end.
    Within(u32),
}

impl Told {
    /// Returns the event.
    pub fn event(self) -> u32 {
        let (Self::AtEnd(event) | Self::Within(event)) = self;
        event
    }
}

struct Collector<'t> {
    trace: &'t Trace,
    sections: Sections,
    /// Per thread, the sections that it is in: position, and how often it locked the mutex.
    open: Vec<Vec<(usize, u32)>>,
    /// The section of each thread and mutex that ended last.
    latest: HashMap<(usize, ObjectId), usize>,
    mutexes: BTreeSet<ObjectId>,
}

impl<'t> Collector<'t> {
    fn new(trace: &'t Trace, next: &Rc<Following>) -> Self {
        let mut mutex_of = BTreeMap::new();
        let mut ambiguous = BTreeSet::new();
        for call in &trace.calls {
            if let Op::CondWait { cond, mutex } | Op::CondTimedWait { cond, mutex } = call.operation
                && mutex_of
                    .insert(cond, mutex)
                    .is_some_and(|other| other != mutex)
            {
                ambiguous.insert(cond);
            }
        }
        let unawaited = signalled_under(trace, &mutex_of);
        mutex_of.extend(&unawaited);
        Self {
            trace,
            open: vec![Vec::new(); trace.threads.len()],
            latest: HashMap::new(),
            mutexes: mutex_of.values().copied().collect(),
            sections: Sections {
                all: Vec::new(),
                of_mutex: BTreeMap::new(),
                waits: BTreeMap::new(),
                bare: BTreeMap::new(),
                mutex_of,
                unawaited: unawaited.into_keys().collect(),
                ambiguous,
                is_recording: trace.recording.is_some(),
                next: Rc::clone(next),
            },
        }
    }

    /// Returns the event of a call's return and what came of the call.
    fn result(&self, index: u32, outcome: Outcome) -> (Option<u32>, Outcome) {
        let next = self.sections.next.after(index as usize);
        if next == NONE {
            return (None, outcome);
        }
        let call = self.trace.call(&self.trace.events[next as usize]);
        if call.operation == Op::Return {
            (Some(next), call.outcome)
        } else {
            (None, outcome)
        }
    }

    fn event(&mut self, index: u32) {
        let call = *self.trace.call(&self.trace.events[index as usize]);
        let thread = call.thread.index();
        match call.operation {
            Op::Lock(mutex) | Op::TryLock(mutex) | Op::TimedLock(mutex)
                if self.mutexes.contains(&mutex) =>
            {
                let (back, outcome) = self.result(index, call.outcome);
                if matches!(outcome, Outcome::Success | Outcome::OwnerDied) {
                    self.lock(index, back.unwrap_or(index), thread, mutex, call.site);
                }
            }
            Op::LockSections { mutex, count, .. } if self.mutexes.contains(&mutex) => {
                self.lock(index, index, thread, mutex, call.site);
                self.unlock(index, thread, mutex);
                let latest = self.sections.all.last_mut();
                if let Some(section) = latest.filter(|section| section.lock == index) {
                    section.times = count;
                }
            }
            Op::Unlock(mutex) if self.mutexes.contains(&mutex) => {
                self.unlock(index, thread, mutex);
            }
            Op::CondWait { cond, mutex } | Op::CondTimedWait { cond, mutex } => {
                let (back, outcome) = self.result(index, call.outcome);
                // Without a return it never came back, unless the thread went on and did more than end with its process.
                let lost =
                    back.is_none() && !self.sections.next.is_last_call(self.trace, index as usize);
                // One that waits again whenever its time has run out goes on waiting.
                let ran_out = outcome == Outcome::TimedOut;
                let odd = !(ran_out || outcome == Outcome::Success) || lost;
                let works = self.has_worked_since_it_waited(index, thread, mutex);
                if let Some(section) = self.current(thread, mutex) {
                    section.works += u32::from(works);
                    section.odd |= odd
                        || section.waited.is_some_and(|other| other != cond)
                        || section.works >= WORKS;
                    section.looks |= section.ran_out;
                    section.ran_out = ran_out;
                    section.waited.get_or_insert(cond);
                    section.waits.push((index, back.unwrap_or(NONE)));
                } else {
                    self.sections.ambiguous.insert(cond);
                }
            }
            Op::CondSignal(cond) | Op::CondBroadcast(cond) => {
                let broadcasts = matches!(call.operation, Op::CondBroadcast(_));
                let Some(&mutex) = self.sections.mutex_of.get(&cond) else {
                    return;
                };
                // A signal after the unlocking tells of what was done before it.
                let latest = self.latest.get(&(thread, mutex)).copied();
                if let Some(section) = self.current(thread, mutex) {
                    section.signals.push((cond, index, broadcasts));
                } else if let Some(latest) = latest {
                    let section = &mut self.sections.all[latest];
                    section.signals.push((cond, index, broadcasts));
                } else {
                    let bare = self.sections.bare.entry(cond).or_default();
                    bare.push((index, broadcasts));
                }
            }
            _ => {}
        }
    }

    /// Returns whether a thread that waits did more than look at what it waits for since a wait before in the same section.
    fn has_worked_since_it_waited(&self, wait: u32, thread: usize, mutex: ObjectId) -> bool {
        let mut open = self.open[thread].iter();
        let section = open.find(|(position, _)| self.sections.all[*position].mutex == mutex);
        let waits = section.map(|&(position, _)| &self.sections.all[position].waits);
        let Some(&(_, back)) = waits.and_then(|waits| waits.last()) else {
            return false;
        };
        let cpu = |event: u32| self.trace.events.get(event as usize)?.cpu();
        let (since, until) = (cpu(back), cpu(wait));
        let worked = since
            .zip(until)
            .map(|(since, until)| until.0.saturating_sub(since.0));
        self.trace.recording.is_some() && worked.is_some_and(|worked| worked > SPIN)
    }

    fn lock(&mut self, lock: u32, held: u32, thread: usize, mutex: ObjectId, site: Option<SiteId>) {
        let sections = &self.sections.all;
        let nested = self.open[thread]
            .iter_mut()
            .find(|(position, _)| sections[*position].mutex == mutex);
        if let Some((_, depth)) = nested {
            *depth += 1;
            return;
        }
        if let Some(position) = self.looked_before(lock, thread, mutex, site) {
            let section = &mut self.sections.all[position];
            if let Some((_, back)) = section.waits.last_mut() {
                section.looked.extend([*back, section.unlock]);
                section.looked.extend((lock != held).then_some(lock));
                *back = held;
            }
            section.unlock = NONE;
            section.looks = true;
            self.open[thread].push((position, 1));
            return;
        }
        let sections = &self.sections.all;
        self.open[thread].push((sections.len(), 1));
        self.sections.all.push(Section {
            mutex,
            site,
            lock,
            held,
            unlock: NONE,
            waited: None,
            waits: Vec::new(),
            looked: Vec::new(),
            signals: Vec::new(),
            times: 1,
            looks: false,
            ran_out: false,
            until: None,
            works: 0,
            odd: false,
        });
    }

    /// Returns the section that a thread only ended to begin it anew, at the same place: the time of its wait had run out, and it looked whether it had
    /// to wait again.
    fn looked_before(
        &self,
        lock: u32,
        thread: usize,
        mutex: ObjectId,
        site: Option<SiteId>,
    ) -> Option<usize> {
        let position = *self.latest.get(&(thread, mutex))?;
        let section = &self.sections.all[position];
        let cpu = |event: u32| Some(self.trace.events.get(event as usize)?.cpu()?.0);
        let is_same = self.trace.recording.is_some()
            && section.ran_out
            && section.site == site
            && section.signals.is_empty()
            && self.sections.next.after(section.unlock as usize) == lock;
        let &(_, back) = section.waits.last().filter(|_| is_same)?;
        let worked = cpu(lock)?.saturating_sub(cpu(back)?);
        (worked <= SPIN).then_some(position)
    }

    fn unlock(&mut self, index: u32, thread: usize, mutex: ObjectId) {
        let sections = &mut self.sections.all;
        let open = &mut self.open[thread];
        let Some(place) = open
            .iter()
            .position(|&(position, _)| sections[position].mutex == mutex)
        else {
            return;
        };
        let (position, depth) = &mut open[place];
        *depth -= 1;
        if *depth == 0 {
            sections[*position].unlock = index;
            self.latest.insert((thread, mutex), *position);
            open.remove(place);
        }
    }

    /// Returns the section of a mutex that a thread is in.
    fn current(&mut self, thread: usize, mutex: ObjectId) -> Option<&mut Section> {
        let sections = &mut self.sections.all;
        let open = self.open[thread].iter();
        let position = open
            .map(|&(position, _)| position)
            .find(|&position| sections[position].mutex == mutex)?;
        Some(&mut sections[position])
    }

    /// Of the sections whose last wait's time ran out, finds those that went on all the same because somebody told them before their threads did anything
    /// else.
    fn tell_who_gave_up(&mut self) {
        let sections = &mut self.sections;
        if self.trace.recording.is_none() || !sections.all.iter().any(|section| section.ran_out) {
            return;
        }
        let mut told: BTreeMap<ObjectId, BTreeSet<u32>> = BTreeMap::new();
        let signals = sections.all.iter().flat_map(|section| &section.signals);
        let bare = sections.bare.iter();
        let bare = bare.flat_map(|(&cond, all)| all.iter().map(move |&(event, _)| (cond, event)));
        for (cond, event) in signals.map(|&(cond, event, _)| (cond, event)).chain(bare) {
            told.entry(cond).or_default().insert(event);
        }
        let next = &sections.next;
        for section in sections.all.iter_mut().filter(|section| section.ran_out) {
            let told = section.waited.and_then(|cond| told.get(&cond));
            let (Some(&(wait, _)), Some(told)) = (section.waits.last(), told) else {
                continue;
            };
            let until = match section.unlock {
                NONE => continue,
                unlock => next.after(unlock as usize),
            };
            if told.range(wait..until).next().is_some() {
                section.ran_out = false;
                section.until = Some(until);
            }
        }
    }

    /// Puts the sections into the order in which they began, and notes where those of each object are.
    fn finish(mut self) -> Sections {
        self.tell_who_gave_up();
        let mut sections = self.sections;
        sections.all.sort_by_key(|section| section.held);
        for (position, section) in (0..).zip(&sections.all) {
            let of_mutex = sections.of_mutex.entry(section.mutex).or_default();
            of_mutex.push(position);
            if let Some(cond) = section.waited {
                let (sites, count) = sections.waits.entry(cond).or_default();
                sites.extend(section.site);
                *count += section.waits.len() as u64;
            }
        }
        sections
    }
}
