//! From records of calls of MPI to messages: handles become numbers that mean the same in all ranks.
//!
//! A communicator is known by its members and by how many with the same members its ranks made before: all of them make
//! communicators in the same order. A request is known by its handle; libraries give one handle to several requests that were
//! over at once, so that of those with the same handle the oldest is meant.
//!
//! What neighbours in a topology exchange, and messages that come in partitions, never meet other messages: they are told as
//! messages of communicators of their own, with the same members.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;

use super::hash::FastMap;
use super::layout::{OUTCOME_BUSY, OUTCOME_SUCCESS};
use super::mpi::{
    ANY, Class, Collects, Ends, FUNCTIONS, Function, NO_REQUEST, NOBODY, Sends, Waits, envelope,
    opened, position,
};
use crate::{
    Action, Collective, CollectiveKind, Communicator, End, Message, MessageId, Peer, Point,
    SendMode, ThreadId, ThreadLevel,
};

/// What is known about a communicator in one process.
#[derive(Clone, Debug)]
struct Known {
    number: u32,
    /// The ranks that its members talk to, as ranks of the world.
    peers: Rc<[u32]>,
    /// Whether those are others than its members.
    has_sides: bool,
    /// The numbers of those for messages that meet no others, where there are any.
    apart: [Option<u32>; 2],
}

/// Messages that meet no others of their communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Apart {
    /// Those between neighbours.
    Neighbours,
    /// Those that come in partitions.
    Partitions,
}

impl Apart {
    fn name(self) -> &'static str {
        match self {
            Self::Neighbours => "neighbours",
            Self::Partitions => "partitions",
        }
    }
}

/// A request that was begun and not waited for.
#[derive(Clone, Debug)]
struct Open {
    /// The numbers of its messages.
    numbers: Vec<u32>,
    /// The event of its call, and which of its messages is the first.
    event: usize,
    place: usize,
}

/// What a persistent request stands for.
#[derive(Clone, Debug)]
enum Lasting {
    /// Messages.
    Points(Vec<Point>),
    /// An operation of all.
    Collective(Collective),
    /// A message that is sent in partitions; and, while it is sent, how many are not ready.
    Partitioned {
        point: Point,
        partitions: u64,
        left: u64,
    },
}

/// What is known about a process.
#[derive(Debug, Default)]
struct Rank {
    communicators: FastMap<u64, Known>,
    /// The ranks that members talk to, by the number of the communicator.
    peers: FastMap<u32, Rc<[u32]>>,
    /// How many communicators there were with the same members.
    made: FastMap<(Vec<u32>, usize), u32>,
    requests: FastMap<u64, VecDeque<Open>>,
    persistent: FastMap<u64, Lasting>,
    /// Numbers of requests that are no longer used, and the first that never was.
    free: BinaryHeap<Reverse<u32>>,
    next: u32,
}

/// A call that did not come back yet.
#[derive(Debug)]
struct Pending {
    position: u16,
    words: Vec<u64>,
    event: usize,
}

/// What is to be changed about an event that was told before.
#[derive(Clone, Debug)]
pub(super) struct Amendment {
    /// Which event, by its position among all.
    pub event: usize,
    /// Its message.
    pub message: MessageId,
}

/// The calls of MPI of all processes.
#[derive(Debug, Default)]
pub(super) struct Messages {
    ranks: FastMap<usize, Rank>,
    pending: FastMap<ThreadId, Pending>,
    ids: FastMap<Message, MessageId>,
    pub(super) table: Vec<Message>,
    /// Of each event whose message may yet become another, that message.
    told: FastMap<usize, MessageId>,
    numbers: FastMap<(Vec<u32>, usize, u32), u32>,
    apart: FastMap<(u32, Apart), u32>,
    pub(super) communicators: Vec<Communicator>,
    /// Calls whose words are not whole, or that name what is not known.
    pub(super) unclear: u64,
}

impl Messages {
    /// Takes a call, whose event stands at a position among all. Returns what is known of it by now; `None` where it cannot be
    /// told.
    pub fn call(
        &mut self,
        process: usize,
        thread: ThreadId,
        event: usize,
        (function, words): (u64, Vec<u64>),
    ) -> Option<MessageId> {
        let position = u16::try_from(function).ok()?;
        let function = *FUNCTIONS.get(usize::from(position))?;
        let apart = match function.class {
            Class::Neighbours(..) => words.first().zip(Some(Apart::Neighbours)),
            Class::Partitioned { .. } => words.get(2).zip(Some(Apart::Partitions)),
            _ => None,
        };
        if let Some((&communicator, apart)) = apart {
            self.know_apart(process, communicator, apart);
        }
        let rank = self.ranks.entry(process).or_default();
        let action = rank.called(function, &words);
        if action.is_none() {
            self.unclear += 1;
        }
        let id = self.message(function, action.unwrap_or(Action::Span { bytes: 0 }));
        let pending = Pending {
            position,
            words,
            event,
        };
        self.pending.insert(thread, pending);
        Some(id)
    }

    /// Takes a return. Returns what is to be changed about earlier events.
    pub fn came_back(
        &mut self,
        process: usize,
        thread: ThreadId,
        outcome: u8,
        words: &[u64],
    ) -> Vec<Amendment> {
        let Some(call) = self.pending.remove(&thread) else {
            return Vec::new();
        };
        let Some(&function) = FUNCTIONS.get(usize::from(call.position)) else {
            return Vec::new();
        };
        if outcome == OUTCOME_BUSY {
            let count = words.first().copied().unwrap_or(1);
            let message = self.message(function, Action::Tries { count });
            return vec![Amendment {
                event: call.event,
                message,
            }];
        }
        // What failed had no effect that others would notice. Of several requests, some may have come to their ends.
        if outcome != OUTCOME_SUCCESS && words.is_empty() {
            let message = self.message(function, Action::Span { bytes: 0 });
            return vec![Amendment {
                event: call.event,
                message,
            }];
        }
        self.returned(process, function, &call, words)
    }

    fn returned(
        &mut self,
        process: usize,
        function: Function,
        call: &Pending,
        words: &[u64],
    ) -> Vec<Amendment> {
        if let Class::Begin = function.class {
            return self.begun(process, function, call, words);
        }
        if let Class::Make { .. } = function.class {
            self.made(process, words);
            return Vec::new();
        }
        let rank = self.ranks.entry(process).or_default();
        let mut changed = Vec::new();
        let Some(mut action) = rank.called(function, &call.words) else {
            return Vec::new();
        };
        match function.class {
            Class::Send(_, ends) | Class::Receive(ends) => {
                if let (Action::Point(point), Some(&word)) = (&mut action, words.first()) {
                    match ends {
                        Ends::Itself => rank.meet(point, word),
                        Ends::ByRequest => point.request = rank.open_one(word, call.event),
                        Ends::Persistent => {
                            let lasting = Lasting::Points(vec![*point]);
                            action = rank.keep(word, lasting);
                        }
                    }
                }
            }
            Class::SendReceive { ends, .. } => {
                if let (Action::Exchange { sent, received }, Some(&word)) =
                    (&mut action, words.first())
                {
                    match ends {
                        Ends::Itself => rank.meet(received, word),
                        _ => action = rank.begin(word, call.event, vec![*received, *sent]),
                    }
                }
            }
            Class::Probe { .. } => {
                if let (Action::Point(point), Some(&word)) = (&mut action, words.first()) {
                    rank.meet(point, word);
                }
            }
            Class::Start => action = rank.start(&call.words, call.event),
            Class::Ready => action = rank.ready(&call.words, call.event),
            Class::Partitioned { sends } => {
                if let (Action::Point(point), [.., partitions], Some(&word)) =
                    (&action, call.words.as_slice(), words.first())
                {
                    let lasting = if sends {
                        Lasting::Partitioned {
                            point: *point,
                            partitions: *partitions,
                            left: 0,
                        }
                    } else {
                        Lasting::Points(vec![*point])
                    };
                    action = rank.keep(word, lasting);
                }
            }
            Class::Wait { waits, .. } => {
                let over = over(waits, &call.words, words);
                let (requests, met) = rank.wait(&over);
                action = Action::Wait { requests };
                changed = met;
            }
            Class::Free => {
                let handle = call.words.first().copied().unwrap_or(NO_REQUEST);
                changed.extend(rank.give_up(handle, call.position == position::Cancel));
            }
            Class::Collective(_, ends @ (Ends::ByRequest | Ends::Persistent)) => {
                if let (Action::Collective(collective), Some(&word)) = (&mut action, words.first())
                {
                    if ends == Ends::Persistent {
                        let lasting = Lasting::Collective(*collective);
                        action = rank.keep(word, lasting);
                    } else {
                        collective.request = rank.open_one(word, call.event);
                    }
                }
            }
            Class::Neighbours(_, ends @ (Ends::ByRequest | Ends::Persistent)) => {
                if let (Action::Exchanges(points), Some(&word)) = (&mut action, words.first()) {
                    let points = std::mem::take(points);
                    action = if ends == Ends::Persistent {
                        rank.keep(word, Lasting::Points(points))
                    } else {
                        rank.begin(word, call.event, points)
                    };
                }
            }
            _ => return Vec::new(),
        }
        let message = self.message(function, action);
        self.told.insert(call.event, message);
        let mut amendments = vec![Amendment {
            event: call.event,
            message,
        }];
        for change in changed {
            amendments.extend(self.met(process, change));
        }
        amendments
    }

    /// Puts the sender into a receive from anybody that is over now, or takes a receive back that was cancelled.
    fn met(&mut self, process: usize, (open, envelope): (Open, Option<u64>)) -> Option<Amendment> {
        let id = *self.told.get(&open.event)?;
        let mut message = self.table[id.index()].clone();
        let rank = self.ranks.get(&process)?;
        let points: &mut [Point] = match &mut message.action {
            Action::Point(point) => std::slice::from_mut(point),
            Action::Several(points) | Action::Together { points, .. } => points,
            _ => &mut [],
        };
        let point = points.get_mut(open.place)?;
        match envelope {
            Some(envelope) => rank.meet(point, envelope),
            None if point.end == End::Receive => point.peer = Peer::Nobody,
            None => {}
        }
        let message = self.intern(message);
        self.told.insert(open.event, message);
        Some(Amendment {
            event: open.event,
            message,
        })
    }

    fn begun(
        &mut self,
        process: usize,
        function: Function,
        call: &Pending,
        words: &[u64],
    ) -> Vec<Amendment> {
        let event = call.event;
        let &[rank, ranks, world, own, ref more @ ..] = words else {
            // A session of a rank that had begun before.
            self.unclear += u64::from(function.name != "Session_init");
            return Vec::new();
        };
        let (rank, ranks) = (rank as u32, ranks as u32);
        self.know(process, world, (0..ranks).collect(), None);
        self.know(process, own, vec![rank], None);
        let level = |word: Option<&u64>| ThreadLevel::from_index(usize::try_from(*word?).ok()?);
        let action = match (level(call.words.first()), more) {
            (Some(asked), &[own_threads, granted, ..]) => Action::BeginThreaded {
                rank,
                ranks,
                asked,
                granted: level(Some(&granted)).unwrap_or(asked),
                own_threads: own_threads as u32,
            },
            _ => Action::Begin { rank, ranks },
        };
        let message = self.message(function, action);
        vec![Amendment { event, message }]
    }

    fn made(&mut self, process: usize, words: &[u64]) {
        let [handle, members, others, ranks @ ..] = words else {
            return;
        };
        let ranks: Vec<u32> = ranks.iter().map(|&rank| rank as u32).collect();
        let (members, others) = (*members as usize, *others as usize);
        if ranks.len() != members + others {
            self.unclear += 1;
            return;
        }
        let remote = (others > 0).then(|| ranks[members..].to_vec());
        self.know(process, *handle, ranks[..members].to_vec(), remote);
    }

    /// Notes a communicator of a process.
    fn know(&mut self, process: usize, handle: u64, members: Vec<u32>, remote: Option<Vec<u32>>) {
        let has_sides = remote.is_some();
        let peers: Rc<[u32]> = remote.as_ref().unwrap_or(&members).as_slice().into();
        // Both sides must come to the same: the one with the smaller first rank is named first.
        let mut sides = [members, remote.unwrap_or_default()];
        if has_sides && sides[1].first() < sides[0].first() {
            sides.swap(0, 1);
        }
        let first = sides[0].len();
        let all = sides.concat();
        let rank = self.ranks.entry(process).or_default();
        let count = rank.made.entry((all.clone(), first)).or_default();
        let nth = *count;
        *count += 1;
        let next = self.communicators.len() as u32;
        let number = *self
            .numbers
            .entry((all.clone(), first, nth))
            .or_insert(next);
        if number == next {
            let name = match next {
                0 => "world".to_owned(),
                number => format!("comm{number}"),
            };
            self.communicators.push(Communicator { name, members: all });
        }
        rank.peers.insert(number, Rc::clone(&peers));
        let known = Known {
            number,
            peers,
            has_sides,
            apart: [None; 2],
        };
        rank.communicators.insert(handle, known);
    }

    /// Notes a process's communicator for messages that meet no others.
    fn know_apart(&mut self, process: usize, handle: u64, apart: Apart) {
        let Some(rank) = self.ranks.get_mut(&process) else {
            return;
        };
        let Some(known) = rank.communicators.get_mut(&handle) else {
            return;
        };
        let place = &mut known.apart[apart as usize];
        if place.is_some() {
            return;
        }
        let next = self.communicators.len() as u32;
        let number = *self.apart.entry((known.number, apart)).or_insert(next);
        *place = Some(number);
        if number == next {
            let base = &self.communicators[known.number as usize];
            let communicator = Communicator {
                name: format!("{}.{}", base.name, apart.name()),
                members: base.members.clone(),
            };
            self.communicators.push(communicator);
        }
        rank.peers.insert(number, Rc::clone(&known.peers));
    }

    fn message(&mut self, function: Function, action: Action) -> MessageId {
        self.intern(Message {
            name: function.name.to_ascii_lowercase(),
            action,
        })
    }

    fn intern(&mut self, message: Message) -> MessageId {
        if let Some(&id) = self.ids.get(&message) {
            return id;
        }
        let id = MessageId::from_index(self.table.len());
        self.table.push(message.clone());
        self.ids.insert(message, id);
        id
    }
}

/// Returns the requests that a wait found to be over, with what they received.
fn over(waits: Waits, requests: &[u64], words: &[u64]) -> Vec<(u64, u64)> {
    match waits {
        Waits::One | Waits::All => {
            let envelopes = words.iter().copied().chain(std::iter::repeat(0));
            requests.iter().copied().zip(envelopes).collect()
        }
        Waits::Any | Waits::Some => words
            .chunks_exact(2)
            .filter_map(|pair| {
                let index = usize::try_from(pair[0]).ok()?;
                Some((*requests.get(index)?, pair[1]))
            })
            .collect(),
    }
}

fn send_mode(sends: Sends) -> SendMode {
    match sends {
        Sends::Standard => SendMode::Standard,
        Sends::Synchronous => SendMode::Synchronous,
        Sends::Buffered => SendMode::Buffered,
        Sends::Ready => SendMode::Ready,
    }
}

fn sort(collects: Collects) -> CollectiveKind {
    match collects {
        Collects::Barrier => CollectiveKind::Barrier,
        Collects::Bcast => CollectiveKind::Bcast,
        Collects::Gather | Collects::Gatherv => CollectiveKind::Gather,
        Collects::Scatter | Collects::Scatterv => CollectiveKind::Scatter,
        Collects::Allgather | Collects::Allgatherv => CollectiveKind::Allgather,
        Collects::Alltoall | Collects::Alltoallv | Collects::Alltoallw => CollectiveKind::Alltoall,
        Collects::Reduce => CollectiveKind::Reduce,
        Collects::Allreduce => CollectiveKind::Allreduce,
        Collects::ReduceScatter | Collects::ReduceScatterBlock => CollectiveKind::ReduceScatter,
        Collects::Scan | Collects::Exscan => CollectiveKind::Scan,
    }
}

impl Rank {
    /// Returns what a call says by its own words.
    fn called(&self, function: Function, words: &[u64]) -> Option<Action> {
        let span = |bytes| Action::Span { bytes };
        Some(match function.class {
            Class::Send(sends, _) => {
                let [envelope, bytes, communicator] = words else {
                    return None;
                };
                let end = End::Send(send_mode(sends));
                Action::Point(self.point(end, *envelope, *bytes, *communicator)?)
            }
            Class::Partitioned { sends } => {
                let [envelope, bytes, communicator, _] = words else {
                    return None;
                };
                let end = if sends {
                    End::Send(SendMode::Standard)
                } else {
                    End::Receive
                };
                let point = self.point(end, *envelope, *bytes, *communicator)?;
                Action::Point(self.set_apart(point, *communicator, Apart::Partitions)?)
            }
            Class::Neighbours(..) => Action::Exchanges(self.neighbours(words)?),
            Class::Transfer { .. } => span(words.first().copied().unwrap_or(0)),
            Class::Receive(_) => {
                let [envelope, bytes, communicator] = words else {
                    return None;
                };
                Action::Point(self.point(End::Receive, *envelope, *bytes, *communicator)?)
            }
            Class::SendReceive { .. } => {
                let [to, sent, from, received, communicator] = words else {
                    return None;
                };
                let end = End::Send(SendMode::Standard);
                Action::Exchange {
                    sent: self.point(end, *to, *sent, *communicator)?,
                    received: self.point(End::Receive, *from, *received, *communicator)?,
                }
            }
            Class::Probe { takes, .. } => {
                let [envelope, communicator] = words else {
                    return None;
                };
                let end = if takes { End::Receive } else { End::Probe };
                Action::Point(self.point(end, *envelope, 0, *communicator)?)
            }
            Class::Wait { .. } => Action::Wait {
                requests: self.waited_for(words),
            },
            Class::Collective(collects, _) => {
                let [communicator, root, given, got] = words else {
                    return None;
                };
                self.collective(sort(collects), *communicator, *root as u32, (*given, *got))?
            }
            Class::Make { together: true } => {
                let communicator = *words.first()?;
                self.collective(CollectiveKind::Barrier, communicator, 0, (0, 0))?
            }
            _ => span(0),
        })
    }

    fn collective(
        &self,
        kind: CollectiveKind,
        communicator: u64,
        root: u32,
        (given, got): (u64, u64),
    ) -> Option<Action> {
        let known = self.communicators.get(&communicator)?;
        if known.has_sides {
            return Some(Action::Span { bytes: given });
        }
        let has_root = matches!(
            kind,
            CollectiveKind::Bcast
                | CollectiveKind::Gather
                | CollectiveKind::Scatter
                | CollectiveKind::Reduce
        );
        let root = has_root.then(|| known.peers.get(root as usize).copied());
        Some(Action::Collective(Collective {
            kind,
            root: root.flatten(),
            given,
            got,
            communicator: known.number,
            request: None,
        }))
    }

    fn point(&self, end: End, envelope: u64, bytes: u64, communicator: u64) -> Option<Point> {
        let known = self.communicators.get(&communicator)?;
        let (rank, tag) = opened(envelope);
        let peer = match rank {
            ANY => Peer::Any(None),
            NOBODY => Peer::Nobody,
            rank => Peer::Rank(*known.peers.get(rank as usize)?),
        };
        Some(Point {
            end,
            peer,
            tag: (tag != ANY).then_some(tag),
            bytes,
            communicator: known.number,
            request: None,
        })
    }

    /// Puts a message where it meets no others.
    fn set_apart(&self, point: Point, communicator: u64, apart: Apart) -> Option<Point> {
        let known = self.communicators.get(&communicator)?;
        Some(Point {
            communicator: known.apart[apart as usize]?,
            ..point
        })
    }

    /// Returns what is received from neighbours, and sent to them.
    fn neighbours(&self, words: &[u64]) -> Option<Vec<Point>> {
        let [communicator, outs, ins, pairs @ ..] = words else {
            return None;
        };
        let (outs, ins) = (usize::try_from(*outs).ok()?, usize::try_from(*ins).ok()?);
        let pairs = pairs.get(..2 * outs.checked_add(ins)?)?;
        let (sent, received) = pairs.split_at(2 * outs);
        let mut points = Vec::new();
        for (end, pairs) in [
            (End::Receive, received),
            (End::Send(SendMode::Standard), sent),
        ] {
            for pair in pairs.chunks_exact(2) {
                let point = self.point(end, envelope(pair[0] as u32, 0), pair[1], *communicator)?;
                if point.peer != Peer::Nobody {
                    points.push(self.set_apart(point, *communicator, Apart::Neighbours)?);
                }
            }
        }
        Some(points)
    }

    /// Puts the sender into a receive from anybody.
    fn meet(&self, point: &mut Point, envelope: u64) {
        let (rank, _) = opened(envelope);
        let peers = self.peers.get(&point.communicator);
        if let (Peer::Any(got), Some(peers)) = (&mut point.peer, peers) {
            *got = peers.get(rank as usize).copied();
        }
    }

    /// Begins a request, and returns the numbers of its messages.
    fn open(&mut self, handle: u64, event: usize, place: usize, count: usize) -> Vec<u32> {
        if handle == NO_REQUEST {
            return Vec::new();
        }
        let mut number = || {
            let number = self.free.pop().map_or(self.next, |Reverse(free)| free);
            self.next = self.next.max(number + 1);
            number
        };
        let numbers: Vec<u32> = (0..count).map(|_| number()).collect();
        self.requests.entry(handle).or_default().push_back(Open {
            numbers: numbers.clone(),
            event,
            place,
        });
        numbers
    }

    /// Begins a request of one message.
    fn open_one(&mut self, handle: u64, event: usize) -> Option<u32> {
        self.open(handle, event, 0, 1).first().copied()
    }

    /// Begins messages that are over together.
    fn begin(&mut self, handle: u64, event: usize, mut points: Vec<Point>) -> Action {
        let numbers = self.open(handle, event, 0, points.len());
        for (point, number) in points.iter_mut().zip(numbers) {
            point.request = Some(number);
        }
        Action::Several(points)
    }

    /// Notes what a persistent request stands for.
    fn keep(&mut self, handle: u64, lasting: Lasting) -> Action {
        self.persistent.insert(handle, lasting);
        Action::Span { bytes: 0 }
    }

    fn start(&mut self, handles: &[u64], event: usize) -> Action {
        let (mut points, mut collectives) = (Vec::new(), Vec::new());
        for &handle in handles {
            match self.persistent.get_mut(&handle) {
                Some(Lasting::Points(lasting)) => {
                    let lasting = lasting.clone();
                    let numbers = self.open(handle, event, points.len(), lasting.len());
                    let mut numbers = numbers.into_iter();
                    points.extend(lasting.into_iter().map(|point| Point {
                        request: numbers.next(),
                        ..point
                    }));
                }
                Some(Lasting::Collective(collective)) => {
                    let collective = *collective;
                    let request = self.open_one(handle, event);
                    collectives.push(Collective {
                        request,
                        ..collective
                    });
                }
                Some(Lasting::Partitioned {
                    point,
                    partitions,
                    left,
                }) => {
                    *left = *partitions;
                    // Nothing is sent before the last partition is ready.
                    if *partitions == 0 {
                        let point = *point;
                        let request = self.open_one(handle, event);
                        points.push(Point { request, ..point });
                    }
                }
                None => {}
            }
        }
        match collectives.as_slice() {
            [] => Action::Several(points),
            [one] if points.is_empty() => Action::Collective(*one),
            _ => Action::Together {
                points,
                collectives,
            },
        }
    }

    /// Says that partitions may be sent. With the last of them, the message is.
    fn ready(&mut self, words: &[u64], event: usize) -> Action {
        let (&[handle, count], mut bytes) = (words.first_chunk().unwrap_or(&[0; 2]), 0);
        if let Some(Lasting::Partitioned {
            point,
            partitions,
            left,
        }) = self.persistent.get_mut(&handle)
        {
            bytes = point.bytes.saturating_mul(count) / (*partitions).max(1);
            let was_waiting = *left > 0;
            *left = left.saturating_sub(count);
            if was_waiting && *left == 0 {
                let point = *point;
                let request = self.open_one(handle, event);
                return Action::Point(Point { request, ..point });
            }
        }
        Action::Span { bytes }
    }

    /// Returns the numbers of the requests that a call waits for.
    fn waited_for(&self, handles: &[u64]) -> Vec<u32> {
        let mut taken: FastMap<u64, usize> = FastMap::default();
        let mut numbers = Vec::new();
        for handle in handles {
            let place = taken.entry(*handle).or_default();
            if let Some(open) = self.requests.get(handle).and_then(|open| open.get(*place)) {
                *place += 1;
                numbers.extend_from_slice(&open.numbers);
            }
        }
        numbers
    }

    /// Ends requests: returns their numbers, and the calls that they are of with what was received.
    fn wait(&mut self, over: &[(u64, u64)]) -> (Vec<u32>, Vec<(Open, Option<u64>)>) {
        let mut numbers = Vec::new();
        let mut met = Vec::new();
        for (handle, envelope) in over {
            let queue = self.requests.get_mut(handle);
            if let Some(open) = queue.and_then(VecDeque::pop_front) {
                numbers.extend_from_slice(&open.numbers);
                met.push((open, Some(*envelope)));
            }
        }
        self.free
            .extend(numbers.iter().map(|&number| Reverse(number)));
        (numbers, met)
    }

    /// Gives a request up, which may have been cancelled only.
    fn give_up(&mut self, handle: u64, cancelled: bool) -> Option<(Open, Option<u64>)> {
        if cancelled {
            let open = self.requests.get(&handle)?.front()?;
            return Some((open.clone(), None));
        }
        self.persistent.remove(&handle);
        // It comes to its end by itself, and nobody waits.
        self.requests.get_mut(&handle)?.pop_front();
        None
    }
}
