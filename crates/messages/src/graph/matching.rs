//! Messages and receives of a task graph that have not met, in the order in which they came.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::ANY;

/// What waits: a message's sender or a receive's wanted sender, its tag, and its operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub from: u32,
    pub tag: u32,
    pub task: u32,
}

/// What waits at all hosts, of one sort.
#[derive(Debug, Default)]
pub(super) struct Queue {
    count: u64,
    by_key: HashMap<(u32, u32, u32), VecDeque<(u64, u32)>>,
    /// All of a host in order, where some receives are open.
    in_order: Option<BTreeMap<(u32, u64), Waiting>>,
}

impl Queue {
    /// Makes one; `open` where receives from anybody or of any tag are there.
    pub fn new(open: bool) -> Self {
        Self {
            in_order: open.then(BTreeMap::new),
            ..Self::default()
        }
    }

    pub fn put(&mut self, host: u32, waiting: Waiting) {
        let number = self.count;
        self.count += 1;
        let key = (host, waiting.from, waiting.tag);
        self.by_key
            .entry(key)
            .or_default()
            .push_back((number, waiting.task));
        if let Some(all) = &mut self.in_order {
            all.insert((host, number), waiting);
        }
    }

    /// Takes the first that fits, where either side may be open.
    pub fn take(&mut self, host: u32, from: u32, tag: u32) -> Option<Waiting> {
        if self.in_order.is_none() {
            let (_, task) = self.by_key.get_mut(&(host, from, tag))?.pop_front()?;
            return Some(Waiting { from, tag, task });
        }
        let found = if from == ANY || tag == ANY {
            self.scan(host, from, tag)
        } else {
            self.look_up(host, from, tag)
        };
        let (number, waiting) = found?;
        if let Some(queue) = self.by_key.get_mut(&(host, waiting.from, waiting.tag)) {
            queue.retain(|(other, _)| *other != number);
        }
        if let Some(all) = &mut self.in_order {
            all.remove(&(host, number));
        }
        Some(waiting)
    }

    /// Finds the first that an open receive fits.
    fn scan(&self, host: u32, from: u32, tag: u32) -> Option<(u64, Waiting)> {
        let all = self.in_order.as_ref()?;
        all.range((host, 0)..=(host, u64::MAX))
            .find(|(_, waiting)| {
                (from == ANY || waiting.from == from) && (tag == ANY || waiting.tag == tag)
            })
            .map(|((_, number), waiting)| (*number, *waiting))
    }

    /// Finds the first, of those that say what they want and of open ones, that fits a message.
    fn look_up(&self, host: u32, from: u32, tag: u32) -> Option<(u64, Waiting)> {
        [(from, tag), (ANY, tag), (from, ANY), (ANY, ANY)]
            .into_iter()
            .filter_map(|(from, tag)| {
                let (number, task) = *self.by_key.get(&(host, from, tag))?.front()?;
                Some((number, Waiting { from, tag, task }))
            })
            .min_by_key(|(number, _)| *number)
    }

    /// Returns what is left, in the order in which it came: host and what waits.
    pub fn left(&self) -> Vec<(u32, Waiting)> {
        let mut left: Vec<(u64, u32, Waiting)> = Vec::new();
        #[expect(clippy::iter_over_hash_type, reason = "what is found is sorted")]
        for ((host, from, tag), queue) in &self.by_key {
            left.extend(queue.iter().map(|(number, task)| {
                let waiting = Waiting {
                    from: *from,
                    tag: *tag,
                    task: *task,
                };
                (*number, *host, waiting)
            }));
        }
        left.sort_by_key(|(number, ..)| *number);
        left.into_iter()
            .map(|(_, host, waiting)| (host, waiting))
            .collect()
    }
}
