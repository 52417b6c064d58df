//! Readers-writer locks: first come, first served, neighbouring readers together; or readers first, as glibc has them and Linux its locks on
//! files; or writers first, as glibc has those that prefer them.

use std::collections::VecDeque;

/// Who of those that wait gets a readers-writer lock first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// Whoever came first.
    Oldest,
    /// Readers: writers that wait do not keep them out, and may wait for as long as there is always one that reads.
    Readers,
    /// Writers: readers wait for as long as there is always one that writes or waits for it.
    Writers,
}

/// A readers-writer lock.
#[derive(Clone, Debug)]
pub(crate) struct Rwlock {
    first: First,
    readers: u32,
    writer: Option<u32>,
    queue: VecDeque<Request>,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    thread: u32,
    writes: bool,
}

impl Rwlock {
    pub fn new(first: First) -> Self {
        Self {
            first,
            readers: 0,
            writer: None,
            queue: VecDeque::new(),
        }
    }

    /// Takes it for reading; the thread queues where it cannot.
    pub fn read(&mut self, thread: u32) -> bool {
        self.request(Request {
            thread,
            writes: false,
        })
    }

    /// Takes it for writing; the thread queues where it cannot.
    pub fn write(&mut self, thread: u32) -> bool {
        self.request(Request {
            thread,
            writes: true,
        })
    }

    /// Releases it, whoever holds it and whichever way: another thread may give up a process's lock on a file. Returns those that it is
    /// handed to.
    pub fn release(&mut self) -> Vec<u32> {
        if self.writer.take().is_none() {
            self.readers = self.readers.saturating_sub(1);
        }
        let mut granted = Vec::new();
        while let Some(&request) = self.queue.front() {
            if !self.is_grantable(request) {
                break;
            }
            self.queue.pop_front();
            self.grant(request);
            granted.push(request.thread);
        }
        granted
    }

    /// Returns the thread that holds it for writing.
    pub fn writer(&self) -> Option<u32> {
        self.writer
    }

    fn request(&mut self, request: Request) -> bool {
        let comes_first = match self.first {
            First::Oldest => false,
            First::Readers => !request.writes,
            First::Writers => request.writes,
        };
        let place = if comes_first {
            let is_alike = |waiting: &Request| waiting.writes == request.writes;
            self.queue.partition_point(is_alike)
        } else {
            self.queue.len()
        };
        let granted = place == 0 && self.is_grantable(request);
        if granted {
            self.grant(request);
        } else {
            self.queue.insert(place, request);
        }
        granted
    }

    fn is_grantable(&self, request: Request) -> bool {
        self.writer.is_none() && (!request.writes || self.readers == 0)
    }

    fn grant(&mut self, request: Request) {
        if request.writes {
            self.writer = Some(request.thread);
        } else {
            self.readers += 1;
        }
    }
}
