//! Messages and receives that have not met: one queue for each (communicator, sender, receiver, tag), found by hashing.
//!
//! In a queue are messages or receives, never both: the next one of the other sort takes the first. So messages of one queue
//! do not overtake each other, whatever their sizes, and finding a partner takes the same time however many wait.
//!
//! Who sends to a rank mostly receives from it as well, right before or after. So the queues of both directions lie side by side,
//! and the second is found in the cache: many ranks have more queues than caches hold.

/// The bit of a communicator's number that sets messages of collectives apart.
pub(crate) const CONTEXT: u16 = 0x8000;

/// Stands for no node.
pub(crate) const NIL: u32 = u32::MAX;

/// Which queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub communicator: u16,
    pub from: u32,
    pub to: u32,
    pub tag: u32,
}

impl Key {
    /// Returns the pair of ranks and the communicator, the tag, and which direction it is.
    ///
    /// Ranks are below 2^24: programs with more are refused.
    #[inline]
    fn packed(self) -> (u64, u32, usize) {
        let (low, high) = (self.from.min(self.to), self.from.max(self.to));
        let ends = u64::from(low) << 24 | u64::from(high);
        let ends = u64::from(self.communicator) << 48 | ends;
        (ends, self.tag, usize::from(self.from > self.to))
    }

    /// Returns the key of a direction of a pair.
    fn unpacked(ends: u64, tag: u32, direction: usize) -> Self {
        let (low, high) = ((ends >> 24) as u32 & 0xff_ffff, ends as u32 & 0xff_ffff);
        let (from, to) = if direction == 0 {
            (low, high)
        } else {
            (high, low)
        };
        Self {
            communicator: (ends >> 48) as u16,
            from,
            to,
            tag,
        }
    }
}

/// A message or a receive that waits for its partner: a cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Node {
    /// Of a message: when it can be received, or, of one that needs a handshake, when its request can be seen;
    /// [`UNKNOWN`] while it is under way on a shared network. Of a receive: when it was called.
    pub time: u64,
    /// Of a message: when its send began.
    pub sent: u64,
    /// Of a message: its size.
    pub bytes: u64,
    /// The number by which messages of equal times are ordered.
    pub number: u64,
    /// The lane that sent it or is to receive it.
    pub lane: u32,
    /// Of a message: the rank that sent it, and the one that is to receive it.
    pub from: u32,
    pub to: u32,
    /// Of a message to a rank that receives from anybody: its tag and communicator.
    pub tag: u32,
    pub communicator: u16,
    /// The request of that lane, or [`BLOCKING`](crate::BLOCKING).
    pub request: u32,
    /// The next of the queue; of a message that is under way and has met its receive, that receive.
    pub next: u32,
    /// What it is.
    pub state: NodeState,
}

/// A receive, or what waits for a message without receiving it.
///
/// It is handed on in so few words as matter: copying a whole [`Node`] waits for all that was just written to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receive {
    /// When it was called.
    pub time: u64,
    /// The lane that called it.
    pub lane: u32,
    /// Its request, or [`BLOCKING`](crate::BLOCKING).
    pub request: u32,
}

/// A message that is handed on, like a [`Receive`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    /// As in [`Node::time`].
    pub time: u64,
    /// When its send began.
    pub sent: u64,
    /// Its size.
    pub bytes: u64,
    /// The lane that sent it.
    pub lane: u32,
    /// The rank that sent it, and the one that is to receive it.
    pub from: u32,
    pub to: u32,
    /// The request of its send, or [`BLOCKING`](crate::BLOCKING).
    pub request: u32,
    /// Whether it waits for its receive before its data go.
    pub shakes_hands: bool,
}

impl From<Message> for Node {
    fn from(message: Message) -> Self {
        Self {
            time: message.time,
            sent: message.sent,
            bytes: message.bytes,
            lane: message.lane,
            from: message.from,
            to: message.to,
            request: message.request,
            state: if message.shakes_hands {
                NodeState::Handshake
            } else {
                NodeState::Eager
            },
            ..Self::default()
        }
    }
}

impl From<Receive> for Node {
    fn from(receive: Receive) -> Self {
        Self {
            time: receive.time,
            lane: receive.lane,
            request: receive.request,
            state: NodeState::Receive,
            ..Self::default()
        }
    }
}

impl Node {
    /// Returns the message that it is; of one that has met its receive, what is left of it.
    pub fn message(&self) -> Message {
        Message {
            time: self.time,
            sent: self.sent,
            bytes: self.bytes,
            lane: self.lane,
            from: self.from,
            to: self.to,
            request: self.request,
            shakes_hands: self.state == NodeState::Handshake,
        }
    }

    /// Returns the receive that it is.
    pub fn receive(&self) -> Receive {
        Receive {
            time: self.time,
            lane: self.lane,
            request: self.request,
        }
    }
}

/// What a node is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NodeState {
    /// Nothing: it can be used again.
    #[default]
    Free,
    /// A receive.
    Receive,
    /// A message.
    Eager,
    /// A message that waits for its receive.
    Handshake,
    /// A message whose receive has been found, still under way on a shared network.
    Matched,
    /// The same, whose sender waits for its arrival.
    MatchedSender,
}

/// Stands for a time that is not known yet.
pub(crate) const UNKNOWN: u64 = u64::MAX;

/// All nodes; freed ones are used again.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    all: Vec<Node>,
    free: Vec<u32>,
    count: u64,
}

impl Nodes {
    #[inline]
    pub fn add(&mut self, mut node: Node) -> u32 {
        node.number = self.count;
        self.count += 1;
        if let Some(index) = self.free.pop() {
            self.all[index as usize] = node;
            index
        } else {
            self.all.push(node);
            self.all.len() as u32 - 1
        }
    }

    #[inline]
    pub fn get(&self, index: u32) -> &Node {
        &self.all[index as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, index: u32) -> &mut Node {
        &mut self.all[index as usize]
    }

    /// Removes a message.
    #[inline]
    pub fn remove_message(&mut self, index: u32) -> Message {
        self.free.push(index);
        let node = &mut self.all[index as usize];
        let message = node.message();
        node.state = NodeState::Free;
        message
    }

    /// Removes a receive.
    #[inline]
    pub fn remove_receive(&mut self, index: u32) -> Receive {
        self.free.push(index);
        let node = &mut self.all[index as usize];
        node.state = NodeState::Free;
        node.receive()
    }
}

impl Nodes {
    /// Returns messages that no receive has met.
    pub fn unreceived(&self) -> impl Iterator<Item = &Node> {
        let is_message =
            |node: &&Node| matches!(node.state, NodeState::Eager | NodeState::Handshake);
        self.all.iter().filter(is_message)
    }
}

/// The queues of a pair of ranks, one for each direction: half a cache line, so that none lies in two.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Pair {
    ends: u64,
    tag: u32,
    /// Of each queue the last node, which is followed by the first; [`NIL`] where nothing waits.
    last: [u32; 2],
}

const NO_ENDS: u64 = u64::MAX;

/// The size of a table from which on empty queues are forgotten.
const LARGE: usize = 1 << 17;

impl Pair {
    const NONE: Self = Self::new(NO_ENDS, 0);

    const fn new(ends: u64, tag: u32) -> Self {
        Self {
            ends,
            tag,
            last: [NIL; 2],
        }
    }

    fn is_waiting(&self) -> bool {
        self.last != [NIL; 2]
    }
}

/// A queue's place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pair: usize,
    direction: usize,
}

/// The queues.
#[derive(Debug)]
pub(crate) struct Channels {
    pairs: Vec<Pair>,
    used: usize,
}

impl Channels {
    pub fn new() -> Self {
        Self {
            pairs: vec![Pair::NONE; 1024],
            used: 0,
        }
    }

    /// Finds the queue's place in the table, and makes one where there is none.
    #[inline]
    pub fn find(&mut self, key: Key) -> Place {
        let (ends, tag, direction) = key.packed();
        let mask = self.pairs.len() - 1;
        let mut at = hash(ends, tag) & mask;
        loop {
            let found = &self.pairs[at];
            if found.ends == ends && found.tag == tag {
                break;
            }
            if found.ends == NO_ENDS {
                at = self.insert(at, ends, tag);
                break;
            }
            at = (at + 1) & mask;
        }
        Place {
            pair: at,
            direction,
        }
    }

    fn insert(&mut self, at: usize, ends: u64, tag: u32) -> usize {
        if (self.used + 1) * 2 < self.pairs.len() {
            self.pairs[at] = Pair::new(ends, tag);
            self.used += 1;
            return at;
        }
        self.grow();
        self.add(Pair::new(ends, tag))
    }

    /// Adds a pair that is not there, and returns where.
    fn add(&mut self, pair: Pair) -> usize {
        let mask = self.pairs.len() - 1;
        let mut at = hash(pair.ends, pair.tag) & mask;
        while self.pairs[at].ends != NO_ENDS {
            at = (at + 1) & mask;
        }
        self.pairs[at] = pair;
        self.used += 1;
        at
    }

    /// Makes room. In a large table queues that are empty now are forgotten, so that tags which never come again do not
    /// pile up.
    #[cold]
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.pairs);
        let forgets = old.len() >= LARGE;
        let kept = old.iter().filter(|pair| pair.is_waiting()).count();
        let size = if forgets && kept * 4 <= old.len() {
            old.len()
        } else {
            2 * old.len()
        };
        self.pairs = vec![Pair::NONE; size];
        self.used = 0;
        for pair in old {
            if pair.ends != NO_ENDS && (!forgets || pair.is_waiting()) {
                self.add(pair);
            }
        }
    }

    /// Returns the first node of a queue.
    #[inline]
    pub fn first(&self, at: Place, nodes: &Nodes) -> u32 {
        match self.pairs[at.pair].last[at.direction] {
            NIL => NIL,
            last => nodes.get(last).next,
        }
    }

    /// Takes the first node out of a queue that is not empty.
    #[inline]
    pub fn take(&mut self, at: Place, nodes: &mut Nodes) {
        let last = &mut self.pairs[at.pair].last[at.direction];
        let first = nodes.get(*last).next;
        if first == *last {
            *last = NIL;
        } else {
            nodes.get_mut(*last).next = nodes.get(first).next;
        }
    }

    /// Puts a node at the end of a queue.
    #[inline]
    pub fn put(&mut self, at: Place, nodes: &mut Nodes, index: u32) {
        let last = &mut self.pairs[at.pair].last[at.direction];
        let first = match *last {
            NIL => index,
            last => std::mem::replace(&mut nodes.get_mut(last).next, index),
        };
        nodes.get_mut(index).next = first;
        *last = index;
    }

    /// Returns the queues that are not empty, with their first nodes.
    pub fn waiting<'a>(&'a self, nodes: &'a Nodes) -> impl Iterator<Item = (Key, u32)> + 'a {
        let pairs = self.pairs.iter().filter(|pair| pair.ends != NO_ENDS);
        pairs.flat_map(|pair| {
            let queues = pair.last.iter().enumerate();
            let waiting = queues.filter(|(_, last)| **last != NIL);
            waiting.map(|(direction, last)| {
                let key = Key::unpacked(pair.ends, pair.tag, direction);
                (key, nodes.get(*last).next)
            })
        })
    }
}

#[inline]
fn hash(ends: u64, tag: u32) -> usize {
    let mixed = (ends ^ u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed ^ (mixed >> 32)) as usize
}
