//! From records of calls of MPI to messages: handles become numbers that mean the same in all ranks.
//!
//! A communicator is known by its members and by how many with the same members its ranks made before: all of them make
//! communicators in the same order. A request is known by its handle; libraries give one handle to several requests that were
//! over at once, so that of those with the same handle the oldest is meant.
//!
//! What neighbours in a topology exchange, and messages that come in partitions, never meet other messages: they are told as
//! messages of communicators of their own, with the same members.

use std::rc::Rc;

use super::hash::FastMap;
use super::layout::{OUTCOME_BUSY, OUTCOME_SUCCESS};
use super::mpi::{Class, FUNCTIONS, Function, NOBODY, opened};
use super::ranks::{Apart, Known, Over, Pending, Rank};
use crate::{Action, Communicator, End, Message, MessageId, Peer, Point, ThreadId, ThreadLevel};

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
    /// Receives that may have been cancelled, or else met a message before: what they were, by their event and place.
    cancelled: FastMap<(usize, usize), Peer>,
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
            Class::Epoch(_) => words.first().zip(Some(Apart::Epochs)),
            _ => None,
        };
        if let Some((&communicator, apart)) = apart {
            self.know_apart(process, communicator, apart);
        }
        let rank = self.ranks.entry(process).or_default();
        if let Class::Epoch(sort) = function.class {
            rank.begin_epoch(sort, &words);
        }
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
            self.made(process, function, words);
            return Vec::new();
        }
        let rank = self.ranks.entry(process).or_default();
        let Some(action) = rank.called(function, &call.words) else {
            return Vec::new();
        };
        let Some((action, changed)) = rank.completed(function, call, words, action) else {
            return Vec::new();
        };
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
    fn met(&mut self, process: usize, (open, envelope): Over) -> Option<Amendment> {
        let id = *self.told.get(&open.event)?;
        let mut message = self.table[id.index()].clone();
        let rank = self.ranks.get(&process)?;
        let points: &mut [Point] = match &mut message.action {
            Action::Point(point) => std::slice::from_mut(point),
            Action::Several(points) | Action::Together { points, .. } => points,
            _ => &mut [],
        };
        let point = points.get_mut(open.place)?;
        let at = (open.event, open.place);
        match envelope {
            Some(envelope) => {
                if let Some(peer) = self.cancelled.remove(&at)
                    && opened(envelope).0 < NOBODY
                {
                    point.peer = peer;
                }
                rank.meet(point, envelope);
            }
            None if point.end == End::Receive => {
                self.cancelled.insert(at, point.peer);
                point.peer = Peer::Nobody;
            }
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
            self.unclear += u64::from(*function.name != *"Session_init");
            return Vec::new();
        };
        let (rank, ranks) = (rank as u32, ranks as u32);
        self.know(process, "comm", world, ((0..ranks).collect(), None));
        self.know(process, "comm", own, (vec![rank], None));
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

    fn made(&mut self, process: usize, function: Function, words: &[u64]) {
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
        let what = if function.makes_window() {
            "window"
        } else {
            "comm"
        };
        self.know(process, what, *handle, (ranks[..members].to_vec(), remote));
    }

    /// Notes a communicator of a process, or a window, which is one as well.
    fn know(
        &mut self,
        process: usize,
        what: &str,
        handle: u64,
        (members, remote): (Vec<u32>, Option<Vec<u32>>),
    ) {
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
                number => format!("{what}{number}"),
            };
            self.communicators.push(Communicator { name, members: all });
        }
        rank.peers.insert(number, Rc::clone(&peers));
        let known = Known {
            number,
            peers,
            has_sides,
            apart: [None; Apart::COUNT],
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
