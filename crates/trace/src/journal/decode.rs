//! One thread's records, one after the other, as calls with CPU times.

use std::collections::VecDeque;
use std::ops::Range;

use super::clock::Timescale;
use super::file::{Journal, JournalThread, RawRecord, record_at};
use super::hash::FastMap;
use super::layout::{Kind, OUTCOME_CHOSEN, OUTCOME_FAILED, OUTCOME_PENDING, RECORD_BYTES};

/// What a wait that had not come back at the end is given as its outcome: `EINTR`, interrupted by the end.
const INTERRUPTED: u8 = OUTCOME_FAILED + 4;

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
}

/// A call stack of a decoder: a position in its table; 0 is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StackId(usize);

/// Decodes one thread's records in the order in which they were made.
///
/// A call that was made by a signal handler while the thread waited in another call is moved before that other call:
/// a waiting thread does nothing, and the kernel, too, makes it wait anew after the handler.
pub(super) struct Decoder<'a> {
    bytes: &'a [u8],
    parts: std::slice::Iter<'a, Range<usize>>,
    current: Range<usize>,
    scale: Timescale,
    /// The latest pair of counter and CPU time.
    pair: (u64, u64),
    /// What the CPU time began at, in a program that another became by `exec`.
    base: u64,
    /// What the recorder itself used of it so far, in nanoseconds.
    overhead: f64,
    /// What each event adds to that.
    overhead_per_event: f64,
    last_tsc: u64,
    last_cpu: u64,
    /// Calls that did not come back yet, the innermost last.
    waiting: Vec<Decoded>,
    ready: VecDeque<Decoded>,
    /// The call stacks seen, each once: return addresses from the inside out.
    stacks: Vec<Vec<u64>>,
    stack_ids: FastMap<Vec<u64>, StackId>,
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
            bytes: &journal.bytes,
            parts: thread.parts.iter(),
            current: 0..0,
            scale,
            pair: (thread.tsc, base),
            base,
            overhead: 0.0,
            overhead_per_event: scale.exact_nanos(journal.record_cost),
            last_tsc: 0,
            last_cpu: 0,
            waiting: Vec::new(),
            ready: VecDeque::new(),
            stacks: vec![Vec::new()],
            stack_ids: FastMap::default(),
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

    /// Returns the latest CPU time as the kernel counts it.
    #[expect(clippy::cast_sign_loss, reason = "a sum of non-negative costs")]
    pub fn kernel_cpu(&self) -> u64 {
        self.last_cpu
            .saturating_add(self.base)
            .saturating_add(self.overhead as u64)
    }

    fn next_record(&mut self) -> Option<RawRecord> {
        loop {
            if self.current.start + RECORD_BYTES > self.current.end {
                self.current = self.parts.next()?.clone();
                continue;
            }
            let offset = self.current.start;
            self.current.start += RECORD_BYTES;
            if let Some(record) = record_at(self.bytes, offset) {
                return Some(record);
            }
        }
    }

    /// Takes the next record if it is of this kind: what belongs to a record always lies in the same chunk.
    fn following(&mut self, kind: Kind) -> Option<RawRecord> {
        let offset = self.current.start;
        let record = record_at(self.bytes, offset)?;
        (record.kind == kind && offset + RECORD_BYTES <= self.current.end).then(|| {
            self.current.start += RECORD_BYTES;
            record
        })
    }

    /// Takes the call stack that belongs to the records before.
    fn stack(&mut self) -> StackId {
        let mut addresses = Vec::new();
        while let Some(record) = self.following(Kind::Stack) {
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
        let Some(record) = self.next_record() else {
            self.give_up_waiting();
            self.exhausted = true;
            return;
        };
        match record.kind {
            Kind::Sync => {
                self.pair = (record.tsc, record.object);
                self.overhead += self.scale.exact_nanos(record.site as f64);
            }
            Kind::Overhead => {
                self.overhead += record.object as f64 + self.scale.exact_nanos(record.site as f64);
            }
            Kind::Stamp | Kind::Final | Kind::Extension | Kind::Stack => {}
            Kind::Terminate => self.terminate = Some(self.decode(record)),
            Kind::Return => self.come_back(record),
            _ => self.call(record),
        }
    }

    fn decode(&mut self, record: RawRecord) -> Decoded {
        self.last_tsc = self.last_tsc.max(record.tsc);
        self.last_cpu = self.last_cpu.max(self.cpu_at(record.tsc));
        self.overhead += self.overhead_per_event;
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
        }
    }

    fn call(&mut self, record: RawRecord) {
        let mut event = self.decode(record);
        if let Some(extension) = self.following(Kind::Extension) {
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
            waiting.tsc = event.tsc;
            waiting.cpu = event.cpu;
        }
        self.ready.push_back(event);
    }

    fn come_back(&mut self, record: RawRecord) {
        let kind = Kind::from_byte(record.site as u8);
        let mut event = self.decode(record);
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
                    self.emit(call);
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
            self.emit(call);
            let stands_alone = matches!(
                call.kind,
                Kind::CondWait
                    | Kind::CondTimedWait
                    | Kind::BarrierWait
                    | Kind::FutexWait
                    | Kind::FutexTimedWait
                    | Kind::Join
                    | Kind::TimedJoin
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
