//! Messages and receives that have not met: one queue for each (communicator, sender, receiver, tag), found by hashing.
//!
//! In a queue are messages or receives, never both: the next one of the other sort takes the first. So messages of one queue
//! do not overtake each other, whatever their sizes, and finding a partner takes the same time however many wait.

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
    /// Ranks are below 2^24: programs with more are refused.
    fn packed(self) -> (u64, u32) {
        let ends = u64::from(self.from) << 24 | u64::from(self.to);
        (u64::from(self.communicator) << 48 | ends, self.tag)
    }
}

/// A message or a receive that waits for its partner.
#[derive(Clone, Copy, Debug, Default)]
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
    /// A rank that waits until it could receive a message.
    Probe,
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

    #[inline]
    pub fn remove(&mut self, index: u32) -> Node {
        self.free.push(index);
        let node = self.all[index as usize];
        self.all[index as usize].state = NodeState::Free;
        node
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

#[derive(Clone, Copy, Debug)]
struct Slot {
    ends: u64,
    tag: u32,
    head: u32,
    tail: u32,
}

const EMPTY: u64 = u64::MAX;

/// The size of a table from which on empty queues are forgotten.
const LARGE: usize = 1 << 17;

/// The queues.
#[derive(Debug)]
pub(crate) struct Channels {
    slots: Vec<Slot>,
    used: usize,
}

impl Channels {
    pub fn new() -> Self {
        Self {
            slots: vec![Self::empty(); 1024],
            used: 0,
        }
    }

    fn empty() -> Slot {
        Slot {
            ends: EMPTY,
            tag: 0,
            head: NIL,
            tail: NIL,
        }
    }

    /// Finds the queue's place in the table, and makes one where there is none.
    #[inline]
    pub fn find(&mut self, key: Key) -> usize {
        let (ends, tag) = key.packed();
        let mask = self.slots.len() - 1;
        let mut at = hash(ends, tag) & mask;
        loop {
            let slot = &self.slots[at];
            if slot.ends == ends && slot.tag == tag {
                return at;
            }
            if slot.ends == EMPTY {
                return self.insert(at, ends, tag);
            }
            at = (at + 1) & mask;
        }
    }

    fn insert(&mut self, at: usize, ends: u64, tag: u32) -> usize {
        self.slots[at] = Slot {
            ends,
            tag,
            ..Self::empty()
        };
        self.used += 1;
        if self.used * 2 < self.slots.len() {
            return at;
        }
        self.grow();
        // Making room may have forgotten it, as it is empty yet.
        let (from, to) = ((ends >> 24) as u32 & 0xff_ffff, ends as u32 & 0xff_ffff);
        self.find(Key {
            communicator: (ends >> 48) as u16,
            from,
            to,
            tag,
        })
    }

    /// Makes room. In a large table queues that are empty now are forgotten, so that tags which never come again do not
    /// pile up.
    #[cold]
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        let is_waiting = |slot: &Slot| slot.ends != EMPTY && slot.head != NIL;
        let forgets = old.len() >= LARGE;
        let kept = old.iter().filter(|slot| is_waiting(slot)).count();
        let size = if forgets && kept * 4 <= old.len() {
            old.len()
        } else {
            2 * old.len()
        };
        self.slots = vec![Self::empty(); size];
        self.used = 0;
        for slot in old {
            if slot.ends == EMPTY || (forgets && slot.head == NIL) {
                continue;
            }
            let mut at = hash(slot.ends, slot.tag) & (size - 1);
            while self.slots[at].ends != EMPTY {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = slot;
            self.used += 1;
        }
    }

    /// Returns the first node of a queue.
    #[inline]
    pub fn first(&self, at: usize) -> u32 {
        self.slots[at].head
    }

    /// Takes the first node out of a queue.
    #[inline]
    pub fn take(&mut self, at: usize, nodes: &Nodes) -> u32 {
        let head = self.slots[at].head;
        self.slots[at].head = nodes.get(head).next;
        head
    }

    /// Puts a node at the end of a queue.
    #[inline]
    pub fn put(&mut self, at: usize, nodes: &mut Nodes, index: u32) {
        nodes.get_mut(index).next = NIL;
        let slot = &mut self.slots[at];
        if slot.head == NIL {
            slot.head = index;
        } else {
            nodes.get_mut(slot.tail).next = index;
        }
        slot.tail = index;
    }

    /// Returns the queues that are not empty, with their first nodes.
    pub fn waiting(&self) -> impl Iterator<Item = (Key, u32)> {
        let used = self
            .slots
            .iter()
            .filter(|slot| slot.ends != EMPTY && slot.head != NIL);
        used.map(|slot| {
            let key = Key {
                communicator: (slot.ends >> 48) as u16,
                from: (slot.ends >> 24) as u32 & 0xff_ffff,
                to: slot.ends as u32 & 0xff_ffff,
                tag: slot.tag,
            };
            (key, slot.head)
        })
    }
}

#[inline]
fn hash(ends: u64, tag: u32) -> usize {
    let mixed = (ends ^ u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed ^ (mixed >> 32)) as usize
}
