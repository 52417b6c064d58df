//! One thread's records, one after the other, as calls with CPU times.

use std::collections::VecDeque;

use super::clock::Timescale;
use super::file::{Journal, JournalThread, RawRecord};
use super::hash::FastMap;
use super::layout::{
    Kind, OUTCOME_BUSY, OUTCOME_CHOSEN, OUTCOME_FAILED, OUTCOME_PENDING, OUTCOME_SUCCESS,
    REPETITIONS_RECORDED, SECTION_BITS, Unread, release_of, section_tsc,
};
use super::records::Records;
use super::shares::Shares;
use super::streaks::{self, Member, divide};

/// What a wait that had not come back at the end is given as its outcome: `EINTR`, interrupted by the end.
const INTERRUPTED: u8 = OUTCOME_FAILED + 4;

/// The third operand of a wait for a condition that was seen to give its mutex up before.
const GAVE_UP: u64 = 1;

/// A call, or a return, of one thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoded {
    /// When, by the counter; never less than the thread's event before.
    pub tsc: u64,
    /// The thread's CPU time in nanoseconds; never less than before.
    pub cpu: u64,
    pub kind: Kind,
    pub outcome: u8,
    pub object: u64,
    pub site: u64,
    /// The operands of an extension.
    pub second: u64,
    pub third: u64,
    /// Where the call's function was called from.
    pub stack: StackId,
    /// The words of a [`Kind::Mpi`] and of its return.
    pub words: WordsId,
    /// Of a [`Kind::Repetition`], whose operands are how many and the nanoseconds held, the releases' call site.
    pub release_site: u64,
}

/// A call stack of a decoder: a position in its table; 0 is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StackId(usize);

/// Words that belong to a call or a return of a decoder, until they are taken; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct WordsId(u64);

/// Decodes one thread's records in the order in which they were made.
///
/// A call that was made by a signal handler while the thread waited in another call is moved before that other call:
/// a waiting thread does nothing, and the kernel, too, makes it wait anew after the handler. What waits for a condition has given its mutex
/// up by then, and is taken to have done so by itself, and to get it again before it goes on waiting.
pub(super) struct Decoder<'a> {
    records: Records<'a>,
    scale: Timescale,
    /// The latest pair of counter and CPU time.
    pair: (u64, u64),
    /// The latest one that was read, and not worked out.
    read: (u64, u64),
    shares: Shares,
    /// What the CPU time began at, in a program that another became by `exec`.
    base: u64,
    /// What the recorder itself used of it so far, in nanoseconds.
    overhead: f64,
    /// What each event adds to that.
    overhead_per_event: f64,
    /// What a section, a section that was counted, and one that was counted where several mutexes take turns add to that.
    overhead_per_section: f64,
    overhead_per_repetition: f64,
    overhead_per_turn: f64,
    /// What the recorder takes between the return of a call of MPI and the next call.
    overhead_per_message: f64,
    /// The counter at the record before, for those that hold only a part of it.
    near: u64,
    /// The counter until which the repetition right before has counted.
    counted_until: Option<u64>,
    last_tsc: u64,
    last_cpu: u64,
    /// Calls that did not come back yet, the innermost last.
    waiting: Vec<Decoded>,
    ready: VecDeque<Decoded>,
    /// The call stacks seen, each once: return addresses from the inside out.
    stacks: Vec<Vec<u64>>,
    stack_ids: FastMap<Vec<u64>, StackId>,
    /// Words that nobody took yet.
    words: FastMap<WordsId, Vec<u64>>,
    words_seen: u64,
    terminate: Option<Decoded>,
    exhausted: bool,
}

impl<'a> Decoder<'a> {
    pub fn new(
        journal: &'a Journal,
        thread: &'a JournalThread,
        scale: Timescale,
        base: u64,
    ) -> Self {
        Self {
            records: Records::new(&journal.bytes, &thread.parts),
            scale,
            pair: (thread.tsc, base),
            read: (thread.tsc, base),
            shares: Shares::default(),
            base,
            overhead: 0.0,
            overhead_per_event: scale.exact_nanos(journal.record_cost),
            overhead_per_section: scale.exact_nanos(journal.section_cost),
            overhead_per_repetition: scale.exact_nanos(journal.repetition_cost),
            overhead_per_turn: scale.exact_nanos(journal.turn_cost.max(journal.repetition_cost)),
            overhead_per_message: scale.exact_nanos(journal.message_cost),
            near: thread.tsc,
            counted_until: None,
            last_tsc: 0,
            last_cpu: 0,
            waiting: Vec::new(),
            ready: VecDeque::new(),
            stacks: vec![Vec::new()],
            stack_ids: FastMap::default(),
            words: FastMap::default(),
            words_seen: 0,
            terminate: None,
            exhausted: false,
        }
    }

    /// Returns the thread's end, once all else was taken and if it ended while it was watched.
    pub fn terminate(&self) -> Option<Decoded> {
        self.terminate
    }

    /// Returns the latest time and CPU time.
    pub fn latest(&self) -> (u64, u64) {
        (self.last_tsc, self.last_cpu)
    }

    /// Returns what the recorder itself used of the thread's CPU time.
    #[expect(clippy::cast_sign_loss, reason = "a sum of non-negative costs")]
    pub fn recorder_cpu(&self) -> u64 {
        self.overhead as u64
    }

    /// Returns the latest CPU time as the kernel counts it.
    #[expect(clippy::cast_sign_loss, reason = "a sum of non-negative costs")]
    pub fn kernel_cpu(&self) -> u64 {
        self.last_cpu
            .saturating_add(self.base)
            .saturating_add(self.overhead as u64)
    }

    /// Takes the call stack that belongs to the records before.
    fn stack(&mut self) -> StackId {
        let mut addresses = Vec::new();
        while let Some(record) = self.records.following(Kind::Stack) {
            addresses.extend([record.object, record.tsc].into_iter().filter(|&a| a != 0));
        }
        if addresses.is_empty() {
            return StackId::default();
        }
        let next = StackId(self.stacks.len());
        *self
            .stack_ids
            .entry(addresses)
            .or_insert_with_key(|addresses| {
                self.stacks.push(addresses.clone());
                next
            })
    }

    /// Takes the words that belong to the record before. Those of long calls need not lie in one chunk.
    fn words(&mut self) -> WordsId {
        let mut words = Vec::new();
        let mut left = u64::MAX;
        while left > 0 {
            let record = if left == u64::MAX {
                self.records.following(Kind::Words)
            } else {
                self.continued_words()
            };
            let Some(record) = record else { break };
            if record.site == 0 || left != u64::MAX && record.site != left {
                break;
            }
            left = record.site;
            words.extend([record.object, record.tsc].iter().take(left as usize));
            left -= left.min(2);
        }
        if words.is_empty() {
            return WordsId::default();
        }
        self.words_seen += 1;
        let id = WordsId(self.words_seen);
        self.words.insert(id, words);
        id
    }

    /// Takes the next of a long call's words, which may begin a chunk: behind what making it took of the CPU time.
    fn continued_words(&mut self) -> Option<RawRecord> {
        if let Some(record) = self.records.continued(Kind::Words) {
            return Some(record);
        }
        let record = self.records.following(Kind::Overhead)?;
        self.spend(record);
        self.records.following(Kind::Words)
    }

    /// Takes CPU time that the recorder itself used.
    fn spend(&mut self, record: RawRecord) {
        self.overhead += record.object as f64 + self.scale.exact_nanos(record.site as f64);
    }

    /// Takes the words of a call or a return.
    pub fn take_words(&mut self, words: WordsId) -> Vec<u64> {
        if words == WordsId::default() {
            return Vec::new();
        }
        self.words.remove(&words).unwrap_or_default()
    }

    /// Returns a call stack: return addresses from the inside out.
    pub fn addresses(&self, stack: StackId) -> &[u64] {
        &self.stacks[stack.0]
    }

    fn cpu_at(&self, tsc: u64) -> u64 {
        let (pair_tsc, pair_cpu) = self.pair;
        let cpu = if tsc >= pair_tsc {
            pair_cpu.saturating_add(self.scale.nanos(tsc - pair_tsc))
        } else {
            pair_cpu.saturating_sub(self.scale.nanos(pair_tsc - tsc))
        };
        self.own(cpu)
    }

    /// Takes out of a CPU time what is not the program's: what another program used before it became this one, and
    /// what the recorder used.
    #[expect(clippy::cast_sign_loss, reason = "a sum of non-negative costs")]
    pub fn own(&self, cpu: u64) -> u64 {
        cpu.saturating_sub(self.base)
            .saturating_sub(self.overhead as u64)
    }

    /// Decodes records until an event is ready or there are no more.
    fn advance(&mut self) {
        let Some(mut record) = self.records.next() else {
            self.give_up_waiting();
            self.exhausted = true;
            return;
        };
        let counted_until = self.counted_until.take();
        if release_of(record.kind).is_some() {
            restore(&mut record, self.near);
            // Its program was killed when it had just been counted.
            if counted_until.is_some_and(|until| record.tsc < until) {
                return;
            }
        }
        match record.kind {
            Kind::Section => self.section(record),
            Kind::Repetition => self.repetition(record),
            Kind::Sync => {
                self.near = record.tsc;
                self.pair = (record.tsc, record.object);
                self.read = self.pair;
                self.shares.forget();
                self.overhead += self.scale.exact_nanos(record.site as f64);
            }
            Kind::Overhead => self.spend(record),
            Kind::Resume => {
                if let Some(unread) = Unread::unpack(record.site) {
                    self.resume(record.tsc, unread);
                }
            }
            Kind::Stamp
            | Kind::Final
            | Kind::Extension
            | Kind::Stack
            | Kind::Words
            | Kind::Reaped => {}
            Kind::Terminate => self.terminate = Some(self.decode(record)),
            Kind::Return => {
                if let Some(unread) = Unread::unpack(record.site) {
                    self.resume(record.tsc, unread);
                }
                self.come_back(record);
            }
            _ => self.call(record),
        }
    }

    /// Works out the CPU time at the end of a wait after which nobody asked for it.
    fn resume(&mut self, tsc: u64, unread: Unread) {
        let (from, cpu) = self.pair;
        let ticks = unread.ticks.min(tsc.saturating_sub(from));
        let share = self
            .shares
            .of((tsc, ticks), self.read, self.records.clone(), self.scale);
        let watched = self.scale.nanos(tsc.saturating_sub(from) - ticks);
        self.pair = (
            tsc.max(from),
            cpu.saturating_add(watched).saturating_add(share),
        );
        self.overhead += self.scale.exact_nanos(unread.own as f64);
    }

    fn decode(&mut self, record: RawRecord) -> Decoded {
        self.decode_at_cost(record, self.overhead_per_event)
    }

    fn decode_at_cost(&mut self, record: RawRecord, cost: f64) -> Decoded {
        self.near = record.tsc;
        self.last_tsc = self.last_tsc.max(record.tsc);
        self.last_cpu = self.last_cpu.max(self.cpu_at(record.tsc));
        self.overhead += cost;
        Decoded {
            tsc: self.last_tsc,
            cpu: self.last_cpu,
            kind: record.kind,
            outcome: record.outcome,
            object: record.object,
            site: record.site,
            second: 0,
            third: 0,
            stack: StackId::default(),
            words: WordsId::default(),
            release_site: 0,
        }
    }

    /// Makes two events of a section.
    fn section(&mut self, record: RawRecord) {
        let Some((kind, release)) = Kind::from_byte(record.outcome)
            .and_then(|acquisition| Some((acquisition, release_of(acquisition)?)))
        else {
            return;
        };
        let stored = record.tsc;
        let (object, distance) = divide(record.object);
        let tsc = section_tsc(stored, self.near);
        let held = (stored ^ tsc) >> SECTION_BITS;
        let acquisition = RawRecord {
            tsc,
            object,
            kind,
            outcome: OUTCOME_SUCCESS,
            site: record.site,
        };
        let cost = self.overhead_per_section / 2.0;
        let event = self.decode_at_cost(acquisition, cost);
        self.emit(event);
        let release = RawRecord {
            tsc: tsc.wrapping_add(held),
            kind: release,
            site: record.site.wrapping_add_signed(distance),
            ..acquisition
        };
        let event = self.decode_at_cost(release, cost);
        self.emit(event);
    }

    /// Makes one event of a repetition, at its end; or, of several locks in turn, of readers-writer locks or of few sections, two of each of these.
    fn repetition(&mut self, record: RawRecord) {
        let Some(member) = Member::read(record, &mut self.records) else {
            return;
        };
        let members = streaks::take_others(member, &mut self.records);
        let is_one_mutex = members.len() == 1 && streaks::released_by(&member) == Kind::MutexUnlock;
        if is_one_mutex && (member.is_each_timed() || member.count > REPETITIONS_RECORDED.into()) {
            self.repeated(&member);
        } else {
            self.in_turn(&members);
        }
        self.counted_until = members.iter().map(|member| member.until).max();
        for member in members.iter().filter(|member| member.has_begun) {
            let tsc = self.near;
            let acquisition = RawRecord {
                tsc,
                ..member.acquisition
            };
            let event = self.decode_at_cost(acquisition, 0.0);
            self.emit(event);
        }
    }

    #[expect(clippy::cast_sign_loss, reason = "a difference that is not negative")]
    fn repeated(&mut self, member: &Member) {
        let Member {
            acquisition, count, ..
        } = *member;
        let each = if acquisition.outcome == OUTCOME_BUSY {
            self.overhead_per_event
        } else {
            self.overhead_per_repetition
        };
        self.overhead += each * count as f64;
        let at_end = RawRecord {
            tsc: member.until,
            kind: Kind::Repetition,
            ..acquisition
        };
        let event = self.decode_at_cost(at_end, 0.0);
        let held = self.held(member) * count as f64;
        self.emit(Decoded {
            second: count,
            third: held as u64,
            release_site: member.release_site,
            ..event
        });
    }

    /// Returns for how long a section of a streak was held in the mean, in nanoseconds.
    fn held(&self, member: &Member) -> f64 {
        let ticks = member.held();
        let each = if member.is_each_timed() {
            self.overhead_per_repetition
        } else {
            self.overhead_per_section
        };
        // About half of the recorder's work for each lies between lock and unlock.
        (self.scale.exact_nanos(ticks) - each / 2.0).max(0.0)
    }

    #[expect(clippy::cast_sign_loss, reason = "no time is negative")]
    fn in_turn(&mut self, members: &[Member]) {
        let held: Vec<u64> = members
            .iter()
            .map(|member| (self.held(member) / self.scale.exact_nanos(1.0)) as u64)
            .collect();
        let cost = match members {
            [_] => self.overhead_per_repetition,
            _ => self.overhead_per_turn,
        };
        for turn in streaks::turns(members) {
            let member = &members[turn.member];
            let acquisition = RawRecord {
                tsc: turn.tsc.saturating_sub(held[turn.member]),
                ..member.acquisition
            };
            let event = self.decode_at_cost(acquisition, 0.0);
            self.emit(event);
            let release = RawRecord {
                tsc: turn.tsc,
                kind: streaks::released_by(member),
                site: member.release_site,
                ..acquisition
            };
            let event = self.decode_at_cost(release, cost);
            self.emit(event);
        }
    }

    fn call(&mut self, record: RawRecord) {
        let mut event = self.decode(record);
        if event.kind == Kind::Mpi {
            event.words = self.words();
        }
        if let Some(extension) = self.records.following(Kind::Extension) {
            event.second = extension.object;
            event.third = extension.tsc;
        }
        event.stack = self.stack();
        if event.outcome == OUTCOME_PENDING {
            self.waiting.push(event);
        } else {
            self.emit(event);
        }
    }

    /// Emits an event, and moves the calls that wait around it to after it.
    fn emit(&mut self, event: Decoded) {
        for waiting in &mut self.waiting {
            if is_of_condition(waiting.kind) && waiting.third != GAVE_UP {
                waiting.third = GAVE_UP;
                self.ready.push_back(of_mutex(waiting, Kind::MutexUnlock));
            }
            waiting.tsc = event.tsc;
            waiting.cpu = event.cpu;
        }
        self.ready.push_back(event);
    }

    /// Emits a call that waited.
    fn emit_wait(&mut self, call: Decoded) {
        if is_of_condition(call.kind) && call.third == GAVE_UP {
            self.emit(of_mutex(&call, Kind::MutexLock));
        }
        self.emit(call);
    }

    /// Dates the return of a row of looks back by what the program worked in between, which so counts as work after it.
    fn free_work_between_looks(&self, event: &mut Decoded) {
        if event.outcome == OUTCOME_BUSY
            && let Some(&[_, ticks]) = self.words.get(&event.words).map(Vec::as_slice)
        {
            let began = self.waiting.last().map_or(0, |call| call.cpu);
            let work = self.scale.nanos(ticks);
            event.cpu = event.cpu.saturating_sub(work).max(began);
        }
    }

    fn come_back(&mut self, record: RawRecord) {
        let kind = Kind::from_byte(record.site as u8);
        let cost = match kind {
            // Where it was not measured, no more is known than of other records.
            Some(Kind::Mpi) => self.overhead_per_message.max(self.overhead_per_event),
            _ => self.overhead_per_event,
        };
        let mut event = self.decode_at_cost(record, cost);
        if kind == Some(Kind::Mpi) {
            event.words = self.words();
            self.free_work_between_looks(&mut event);
        }
        event.site = 0;
        let innermost = self
            .waiting
            .iter()
            .rposition(|call| Some(call.kind) == kind && call.object == event.object);
        match innermost {
            // The one who runs a one-time routine does not wait; its other calls lie between call and return.
            _ if event.outcome == OUTCOME_CHOSEN && kind == Some(Kind::Once) => self.emit(event),
            // What was entered later and never came back was left by a jump.
            Some(position) => {
                let left = self.waiting.split_off(position);
                if let Some(&call) = left.first() {
                    self.emit_wait(call);
                }
                self.emit(event);
            }
            // Its call was lost.
            None => {}
        }
    }

    /// Emits the calls that never came back. A wait for a condition, a barrier, a thread or a futex stands alone then; what
    /// would look like an acquisition is followed by its failure.
    fn give_up_waiting(&mut self) {
        while let Some(call) = self.waiting.pop() {
            self.emit_wait(call);
            let stands_alone = matches!(
                call.kind,
                Kind::CondWait
                    | Kind::CondTimedWait
                    | Kind::BarrierWait
                    | Kind::FutexWait
                    | Kind::FutexTimedWait
                    | Kind::Join
                    | Kind::TimedJoin
                    | Kind::Mpi
            );
            if !stands_alone {
                self.emit(Decoded {
                    kind: Kind::Return,
                    outcome: INTERRUPTED,
                    site: 0,
                    ..call
                });
            }
        }
    }
}

fn is_of_condition(kind: Kind) -> bool {
    matches!(kind, Kind::CondWait | Kind::CondTimedWait)
}

/// Returns what a wait for a condition does to its mutex by the way.
fn of_mutex(wait: &Decoded, kind: Kind) -> Decoded {
    Decoded {
        kind,
        outcome: OUTCOME_SUCCESS,
        object: wait.second,
        second: 0,
        third: 0,
        ..*wait
    }
}

/// Restores an acquisition that its program was killed while making a section of.
fn restore(record: &mut RawRecord, near: u64) {
    let tsc = section_tsc(record.tsc, near);
    if tsc != record.tsc {
        record.tsc = tsc;
        record.object = divide(record.object).0;
    }
}

impl Iterator for Decoder<'_> {
    type Item = Decoded;

    fn next(&mut self) -> Option<Decoded> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.exhausted {
                return None;
            }
            self.advance();
        }
    }
}
