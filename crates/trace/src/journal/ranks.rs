//! What is known about a rank while its records are read: its communicators and its requests.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;

use super::hash::FastMap;
use super::mpi::{
    ANY, Class, Collects, Ends, Function, NO_REQUEST, NOBODY, Sends, Waits, envelope, opened,
    position,
};
use super::windows::Side;
use crate::{Action, Collective, CollectiveKind, End, Peer, Point, SendMode};

/// What is known about a communicator in one process.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub number: u32,
    /// The ranks that its members talk to, as ranks of the world.
    pub peers: Rc<[u32]>,
    /// Whether those are others than its members.
    pub has_sides: bool,
    /// The numbers of those for messages that meet no others, where there are any.
    pub apart: [Option<u32>; Apart::COUNT],
}

/// Messages that meet no others of their communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Apart {
    /// Those between neighbours.
    Neighbours,
    /// Those that come in partitions.
    Partitions,
    /// Those that stand for the times in which windows may be used.
    Epochs,
}

impl Apart {
    /// How many kinds there are.
    pub const COUNT: usize = 3;

    pub fn name(self) -> &'static str {
        match self {
            Self::Neighbours => "neighbours",
            Self::Partitions => "partitions",
            Self::Epochs => "epochs",
        }
    }
}

/// A request that was begun and not waited for.
#[derive(Clone, Debug)]
pub(super) struct Open {
    /// The numbers of its messages.
    pub numbers: Vec<u32>,
    /// The event of its call, and which of its messages is the first.
    pub event: usize,
    pub place: usize,
}

/// A request that is over, with what it received; nothing where it was given up.
pub(super) type Over = (Open, Option<u64>);

/// What a persistent request stands for.
#[derive(Clone, Debug)]
pub(super) enum Lasting {
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
pub(super) struct Rank {
    pub communicators: FastMap<u64, Known>,
    /// The ranks that members talk to, by the number of the communicator.
    pub peers: FastMap<u32, Rc<[u32]>>,
    /// How many communicators there were with the same members.
    pub made: FastMap<(Vec<u32>, usize), u32>,
    /// With whom it may use a window, and who may use its own part, as ranks of the world.
    pub epochs: FastMap<(u64, Side), Rc<[u32]>>,
    pub requests: FastMap<u64, VecDeque<Open>>,
    pub persistent: FastMap<u64, Lasting>,
    /// Numbers of requests that are no longer used, and the first that never was.
    pub free: BinaryHeap<Reverse<u32>>,
    pub next: u32,
}

/// A call that did not come back yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub position: u16,
    pub words: Vec<u64>,
    pub event: usize,
}

impl Rank {
    /// Completes what a call did by what its return tells, and says what is known of earlier messages now; `None` where nothing is
    /// added.
    pub fn completed(
        &mut self,
        function: Function,
        call: &Pending,
        words: &[u64],
        mut action: Action,
    ) -> Option<(Action, Vec<Over>)> {
        let mut changed = Vec::new();
        match function.class {
            Class::Send(_, ends) | Class::Receive(ends) => {
                if let (Action::Point(point), Some(&word)) = (&mut action, words.first()) {
                    match ends {
                        Ends::Itself => self.meet(point, word),
                        Ends::ByRequest => point.request = self.open_one(word, call.event),
                        Ends::Persistent => {
                            let lasting = Lasting::Points(vec![*point]);
                            action = self.keep(word, lasting);
                        }
                    }
                }
            }
            Class::SendReceive { ends, .. } => {
                if let (Action::Exchange { sent, received }, Some(&word)) =
                    (&mut action, words.first())
                {
                    match ends {
                        Ends::Itself => self.meet(received, word),
                        _ => action = self.begin(word, call.event, vec![*received, *sent]),
                    }
                }
            }
            Class::Probe { .. } => {
                if let (Action::Point(point), Some(&word)) = (&mut action, words.first()) {
                    self.meet(point, word);
                }
            }
            Class::Start => action = self.start(&call.words, call.event),
            Class::Ready => action = self.ready(&call.words, call.event),
            Class::Partitioned { sends } => action = self.partitioned(sends, call, words, action),
            Class::Wait { waits, .. } => {
                let over = over(waits, &call.words, words);
                let (requests, met) = self.wait(&over);
                action = Action::Wait { requests };
                changed = met;
            }
            Class::Free => {
                let handle = call.words.first().copied().unwrap_or(NO_REQUEST);
                changed.extend(self.give_up(handle, call.position == position::Cancel));
            }
            Class::Collective(_, ends @ (Ends::ByRequest | Ends::Persistent)) => {
                if let (Action::Collective(collective), Some(&word)) = (&mut action, words.first())
                {
                    if ends == Ends::Persistent {
                        let lasting = Lasting::Collective(*collective);
                        action = self.keep(word, lasting);
                    } else {
                        collective.request = self.open_one(word, call.event);
                    }
                }
            }
            Class::Neighbours(_, ends @ (Ends::ByRequest | Ends::Persistent)) => {
                if let (Action::Exchanges(points), Some(&word)) = (&mut action, words.first()) {
                    let points = std::mem::take(points);
                    action = if ends == Ends::Persistent {
                        self.keep(word, Lasting::Points(points))
                    } else {
                        self.begin(word, call.event, points)
                    };
                }
            }
            _ => return None,
        }
        Some((action, changed))
    }

    /// Notes a persistent request for a message in partitions.
    fn partitioned(
        &mut self,
        sends: bool,
        call: &Pending,
        words: &[u64],
        action: Action,
    ) -> Action {
        let (Action::Point(point), [.., partitions], Some(&handle)) =
            (&action, call.words.as_slice(), words.first())
        else {
            return action;
        };
        let lasting = if sends {
            Lasting::Partitioned {
                point: *point,
                partitions: *partitions,
                left: 0,
            }
        } else {
            Lasting::Points(vec![*point])
        };
        self.keep(handle, lasting)
    }

    /// Returns what a call says by its own words.
    pub fn called(&self, function: Function, words: &[u64]) -> Option<Action> {
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
            Class::Transfer { window, .. } => {
                let moved = match (window, words) {
                    (Some(how), [bytes, whose, window]) => self.moved(how, *bytes, *whose, *window),
                    _ => None,
                };
                moved.unwrap_or(span(words.first().copied().unwrap_or(0)))
            }
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
            // Earlier recorders did not tell which window it was.
            Class::Collective(..) | Class::Make { .. } | Class::Epoch(_) if words.is_empty() => {
                span(0)
            }
            Class::Epoch(sort) => Action::Exchanges(self.epoch(sort, *words.first()?)?),
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

    pub fn point(&self, end: End, envelope: u64, bytes: u64, communicator: u64) -> Option<Point> {
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
    pub fn meet(&self, point: &mut Point, envelope: u64) {
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
    fn wait(&mut self, over: &[(u64, u64)]) -> (Vec<u32>, Vec<Over>) {
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
    fn give_up(&mut self, handle: u64, cancelled: bool) -> Option<Over> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::mpi::FUNCTIONS;

    const COMMUNICATOR: u64 = 0x44;

    fn rank_of_three() -> Rank {
        let mut rank = Rank::default();
        let known = Known {
            number: 0,
            peers: vec![0, 1, 2].into(),
            has_sides: false,
            apart: [Some(1), Some(2), Some(3)],
        };
        rank.communicators.insert(COMMUNICATOR, known);
        rank
    }

    /// Makes a call whose return has some words, and returns what it did.
    fn call(rank: &mut Rank, name: &str, words: &[u64], returned: &[u64]) -> Action {
        let position = FUNCTIONS.iter().position(|known| *known.name == *name);
        let position = position.expect("it is one of the functions");
        let call = Pending {
            position: position as u16,
            words: words.to_vec(),
            event: 0,
        };
        let function = FUNCTIONS[position];
        let action = rank.called(function, words).expect("its words are whole");
        let completed = rank.completed(function, &call, returned, action.clone());
        completed.map_or(action, |(action, _)| action)
    }

    #[test]
    fn partitions_are_sent_with_the_last_that_is_ready() {
        let mut rank = rank_of_three();
        let to_two = [envelope(2, 7), 30, COMMUNICATOR, 3];
        call(&mut rank, "Psend_init", &to_two, &[0x99]);
        for _ in 0..2 {
            assert_eq!(
                call(&mut rank, "Start", &[0x99], &[]),
                Action::Several(Vec::new())
            );
            let early = call(&mut rank, "Pready", &[0x99, 2], &[]);
            assert_eq!(early, Action::Span { bytes: 20 });
            let Action::Point(point) = call(&mut rank, "Pready", &[0x99, 1], &[]) else {
                panic!("with the last partition, there is a message");
            };
            assert_eq!((point.bytes, point.communicator), (30, 2));
            assert_eq!((point.peer, point.request), (Peer::Rank(2), Some(0)));
            let waited = call(&mut rank, "Wait", &[0x99], &[0]);
            assert_eq!(waited, Action::Wait { requests: vec![0] });
        }
    }

    #[test]
    fn a_request_for_two_messages_is_over_when_both_are() {
        let mut rank = rank_of_three();
        let words = [envelope(1, 5), 8, envelope(ANY, 5), 16, COMMUNICATOR];
        let Action::Several(points) = call(&mut rank, "Isendrecv", &words, &[0x50]) else {
            panic!("it begins two messages");
        };
        let ends: Vec<_> = points
            .iter()
            .map(|point| (point.end, point.request))
            .collect();
        let sent = End::Send(SendMode::Standard);
        assert_eq!(ends, [(End::Receive, Some(0)), (sent, Some(1))]);
        let waited = call(&mut rank, "Wait", &[0x50], &[envelope(2, 5)]);
        assert_eq!(
            waited,
            Action::Wait {
                requests: vec![0, 1]
            }
        );
    }

    #[test]
    fn persistent_operations_begin_together_with_messages() {
        let mut rank = rank_of_three();
        call(&mut rank, "Barrier_init", &[COMMUNICATOR, 0, 0, 0], &[0x10]);
        let words = [envelope(1, 3), 4, COMMUNICATOR];
        call(&mut rank, "Send_init", &words, &[0x11]);
        let alone = call(&mut rank, "Start", &[0x10], &[]);
        let Action::Collective(barrier) = alone else {
            panic!("an operation alone is told as what it is: {alone:?}");
        };
        assert_eq!(barrier.request, Some(0));
        call(&mut rank, "Wait", &[0x10], &[0]);
        let both = call(&mut rank, "Startall", &[0x10, 0x11], &[]);
        let Action::Together {
            points,
            collectives,
        } = both
        else {
            panic!("it begins both: {both:?}");
        };
        assert_eq!(collectives[0].request, Some(0));
        assert_eq!(points[0].request, Some(1));
    }

    #[test]
    fn neighbours_exchange_what_is_for_each_and_nothing_with_nobody() {
        let rank = rank_of_three();
        // To the ranks 1 and nobody, from nobody and rank 2.
        let nobody = u64::from(NOBODY);
        let words = [COMMUNICATOR, 2, 2, 1, 40, nobody, 40, nobody, 8, 2, 8];
        let points = rank.neighbours(&words).expect("the words are whole");
        let told: Vec<_> = points
            .iter()
            .map(|point| (point.peer, point.bytes, point.communicator))
            .collect();
        assert_eq!(told, [(Peer::Rank(2), 8, 1), (Peer::Rank(1), 40, 1)]);
        assert_eq!(rank.neighbours(&words[..10]), None);
        assert_eq!(rank.neighbours(&[COMMUNICATOR, u64::MAX, 2]), None);
    }
}
