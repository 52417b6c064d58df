//! All edges of a recording.

use super::{Edge, OpRef};

/// Which acquisition waited for which release, in little more than eight bytes each: most are found in the order of
/// their threads' acquisitions.
#[derive(Clone, Debug)]
pub(crate) struct Edges {
    threads: Vec<OfThread>,
    /// Those that are not.
    others: Vec<Edge>,
}

/// The edges of one thread's acquisitions, of each one at most.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfThread {
    /// Which of its operations have one, a bit each.
    has_one: Vec<u64>,
    /// The releases, in the order of the acquisitions.
    releases: Vec<OpRef>,
    /// One beyond the last acquisition that has one.
    end: u32,
}

impl Edges {
    /// Returns none, of so many threads.
    pub fn none(threads: usize) -> Self {
        Self {
            threads: vec![OfThread::default(); threads],
            others: Vec::new(),
        }
    }

    pub fn push(&mut self, edge: Edge) {
        let OpRef { thread, index } = edge.acquire;
        let of_thread = &mut self.threads[thread as usize];
        if index < of_thread.end {
            self.others.push(edge);
            return;
        }
        of_thread.end = index + 1;
        of_thread.has_one.resize(index as usize / 64 + 1, 0);
        of_thread.has_one[index as usize / 64] |= 1 << (index % 64);
        of_thread.releases.push(edge.release);
    }

    /// Calls `each` with every edge. What is done with is given back to the system on the way.
    pub fn for_each(self, mut each: impl FnMut(Edge)) {
        for (thread, of_thread) in self.threads.into_iter().enumerate() {
            let mut releases = of_thread.releases.into_iter();
            for (place, &word) in of_thread.has_one.iter().enumerate() {
                let mut left = word;
                while let Some(release) = (left != 0).then(|| releases.next()).flatten() {
                    let acquire = OpRef {
                        thread: thread as u32,
                        index: place as u32 * 64 + left.trailing_zeros(),
                    };
                    left &= left - 1;
                    each(Edge { acquire, release });
                }
            }
        }
        self.others.into_iter().for_each(each);
    }
}

impl Extend<Edge> for Edges {
    fn extend<I: IntoIterator<Item = Edge>>(&mut self, edges: I) {
        edges.into_iter().for_each(|edge| self.push(edge));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edge_is_found_again() {
        let at = |thread, index| OpRef { thread, index };
        let edge = |acquire, release| Edge { acquire, release };
        let all = vec![
            edge(at(0, 3), at(1, 0)),
            edge(at(0, 200), at(1, 9)),
            edge(at(0, 201), at(2, 4)),
            edge(at(2, 63), at(0, 1)),
            edge(at(2, 64), at(0, 1)),
            edge(at(2, 64), at(1, 1)),
            edge(at(2, 7), at(1, 2)),
        ];
        let mut edges = Edges::none(3);
        edges.extend(all.iter().copied());
        let mut found = Vec::new();
        edges.for_each(|edge| found.push(edge));
        assert_eq!(found, all);
    }
}
