//! From records of calls of MPI to messages: handles become numbers that mean the same in all ranks.
//!
//! A communicator is known by its members and by how many with the same members its ranks made before: all of them make
//! communicators in the same order. A request is known by its handle; libraries give one handle to several requests that were
//! over at once, so that of those with the same handle the oldest is meant.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;

use super::hash::FastMap;
use super::layout::{OUTCOME_BUSY, OUTCOME_SUCCESS};
use super::mpi::{
    ANY, Class, Collects, Ends, FUNCTIONS, Function, NO_REQUEST, NOBODY, Sends, Waits, opened,
    position,
};
use crate::{
    Action, Collective, CollectiveKind, Communicator, End, Message, MessageId, Peer, Point,
    SendMode, ThreadId,
};

/// What is known about a communicator in one process.
#[derive(Clone, Debug)]
struct Known {
    number: u32,
    /// The ranks that its members talk to, as ranks of the world.
    peers: Rc<[u32]>,
    /// Whether those are others than its members.
    has_sides: bool,
}

/// A request that was begun and not waited for.
#[derive(Clone, Copy, Debug)]
struct Open {
    number: u32,
    /// The event of its call, and which of its messages it is.
    event: usize,
    place: usize,
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
    persistent: FastMap<u64, Point>,
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
            return self.begun(process, function, call.event, words);
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
                        Ends::ByRequest => point.request = rank.open(word, call.event, 0),
                        Ends::Persistent => {
                            rank.persistent.insert(word, *point);
                            action = Action::Span { bytes: 0 };
                        }
                    }
                }
            }
            Class::SendReceive => {
                if let (Action::Exchange { received, .. }, Some(&word)) =
                    (&mut action, words.first())
                {
                    rank.meet(received, word);
                }
            }
            Class::Probe { .. } => {
                if let (Action::Point(point), Some(&word)) = (&mut action, words.first()) {
                    rank.meet(point, word);
                }
            }
            Class::Start => action = rank.start(&call.words, call.event),
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
            Class::Collective(_, Ends::ByRequest) => {
                if let (Action::Collective(collective), Some(&word)) = (&mut action, words.first())
                {
                    collective.request = rank.open(word, call.event, 0);
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
            Action::Several(points) => points,
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
        event: usize,
        words: &[u64],
    ) -> Vec<Amendment> {
        let &[rank, ranks, world, own, ..] = words else {
            self.unclear += 1;
            return Vec::new();
        };
        let (rank, ranks) = (rank as u32, ranks as u32);
        self.know(process, world, (0..ranks).collect(), None);
        self.know(process, own, vec![rank], None);
        let message = self.message(function, Action::Begin { rank, ranks });
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
        };
        rank.communicators.insert(handle, known);
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
            Class::Receive(_) => {
                let [envelope, bytes, communicator] = words else {
                    return None;
                };
                Action::Point(self.point(End::Receive, *envelope, *bytes, *communicator)?)
            }
            Class::SendReceive => {
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

    /// Puts the sender into a receive from anybody.
    fn meet(&self, point: &mut Point, envelope: u64) {
        let (rank, _) = opened(envelope);
        let peers = self.peers.get(&point.communicator);
        if let (Peer::Any(got), Some(peers)) = (&mut point.peer, peers) {
            *got = peers.get(rank as usize).copied();
        }
    }

    /// Begins a request, and returns its number.
    fn open(&mut self, handle: u64, event: usize, place: usize) -> Option<u32> {
        if handle == NO_REQUEST {
            return None;
        }
        let number = self.free.pop().map_or(self.next, |Reverse(free)| free);
        self.next = self.next.max(number + 1);
        self.requests.entry(handle).or_default().push_back(Open {
            number,
            event,
            place,
        });
        Some(number)
    }

    fn start(&mut self, handles: &[u64], event: usize) -> Action {
        let mut points = Vec::new();
        for &handle in handles {
            if let Some(&point) = self.persistent.get(&handle) {
                let request = self.open(handle, event, points.len());
                points.push(Point { request, ..point });
            }
        }
        Action::Several(points)
    }

    /// Returns the numbers of the requests that a call waits for.
    fn waited_for(&self, handles: &[u64]) -> Vec<u32> {
        let mut taken: FastMap<u64, usize> = FastMap::default();
        let number = |handle: &u64| {
            let place = taken.entry(*handle).or_default();
            let open = self.requests.get(handle)?.get(*place)?;
            *place += 1;
            Some(open.number)
        };
        handles.iter().filter_map(number).collect()
    }

    /// Ends requests: returns their numbers, and the calls that they are of with what was received.
    fn wait(&mut self, over: &[(u64, u64)]) -> (Vec<u32>, Vec<(Open, Option<u64>)>) {
        let mut numbers = Vec::new();
        let mut met = Vec::new();
        for (handle, envelope) in over {
            let queue = self.requests.get_mut(handle);
            if let Some(open) = queue.and_then(VecDeque::pop_front) {
                numbers.push(open.number);
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
            return Some((*open, None));
        }
        self.persistent.remove(&handle);
        // It comes to its end by itself, and nobody waits.
        self.requests.get_mut(&handle)?.pop_front();
        None
    }
}
