//! The same program with another number of workers.

use foretrace_trace::{ObjectId, ThreadId};

use super::{Origin, WorkPool, Worker};
use crate::{Action, GateId, Operation, Program, Thread};

impl Program {
    /// Returns the program with so many workers in each of its pools; at least one.
    ///
    /// Those beyond the recorded ones do what the recorded ones did before their first task and after their last; those
    /// that are left out end at once. Their creators and those that join them see no difference, and barriers that the
    /// workers wait at are made for as many.
    #[must_use]
    pub fn with_workers(&self, workers: u32) -> Self {
        let mut program = self.clone();
        let pools = std::mem::take(&mut program.pools);
        let added: usize = pools
            .iter()
            .map(|pool| (workers as usize).saturating_sub(pool.workers.len()))
            .sum();
        program.renumber_gates(self.threads.len(), self.threads.len() + added);
        let resized = pools
            .into_iter()
            .map(|pool| program.resize(pool, workers as usize));
        program.pools = resized.collect();
        program
    }

    fn renumber_gates(&mut self, threads: usize, then: usize) {
        let renumbered = |gate: GateId| GateId::of(gate.opener(threads), then);
        for position in 0..self.operations.len() as u32 {
            let action = match self.operations.action(position) {
                Action::Await(gate) => Action::Await(renumbered(gate)),
                Action::Open(gate) => Action::Open(renumbered(gate)),
                _ => continue,
            };
            self.operations.set_action(position, action);
        }
    }

    fn resize(&mut self, mut pool: WorkPool, workers: usize) -> WorkPool {
        let recorded = pool.workers.len();
        self.resize_barriers(&pool, workers);
        // The first ones stay; those that take part without being of the group come last, and stay in any case.
        let of_group = |worker: &Worker| self.threads[worker.thread.index()].created;
        for index in (0..recorded)
            .rev()
            .take(recorded.saturating_sub(workers.max(1)))
        {
            if of_group(&pool.workers[index]) {
                pool.workers[index].origin = Origin::LeftOut;
            }
        }
        for worker in &pool.workers {
            if worker.origin == Origin::LeftOut {
                self.leave_out(worker.thread);
            }
        }
        let mut taken_at = Vec::new();
        for index in recorded..workers {
            let originals: Vec<usize> = (0..recorded)
                .filter(|&index| self.threads[pool.workers[index].thread.index()].created)
                .collect();
            let Some(&original) = originals.get(index % originals.len().max(1)) else {
                break;
            };
            let added = self.add_beside(&pool, original, &mut taken_at);
            pool.workers.push(added);
        }
        pool.taken_at = pool.taken_at.with_bound(self.operations.len());
        for take in taken_at {
            pool.taken_at.insert(take);
        }
        pool
    }

    /// Changes the sizes of the barriers that the workers wait at.
    fn resize_barriers(&mut self, pool: &WorkPool, workers: usize) {
        let recorded = pool.workers.len();
        let Some(first) = pool.workers.first() else {
            return;
        };
        let range = self.threads[first.thread.index()].operations.clone();
        let mut barriers: Vec<ObjectId> = self
            .operations
            .range(range)
            .filter_map(|operation| match operation.action {
                Action::Barrier(barrier) => Some(barrier),
                _ => None,
            })
            .collect();
        barriers.sort_unstable();
        barriers.dedup();
        for barrier in barriers {
            let size = &mut self.objects[barrier.index()].initial;
            let threads = size.unwrap_or(1) as usize + workers;
            *size = Some(threads.saturating_sub(recorded).max(1) as u32);
        }
    }

    /// Leaves a thread with nothing but its end.
    fn leave_out(&mut self, thread: ThreadId) {
        let range = &mut self.threads[thread.index()].operations;
        range.start = range.end - 1;
        let last = self.operations.get(range.start);
        let end = Operation {
            work_nanos: 0,
            action: Action::Terminate,
            ..last
        };
        self.operations.set(range.start, end);
    }

    /// Adds a thread that does what a worker did, but for its tasks; notes where it takes.
    fn add_beside(&mut self, pool: &WorkPool, original: usize, taken_at: &mut Vec<u32>) -> Worker {
        let original = &pool.workers[original];
        let thread = ThreadId::from_index(self.threads.len());
        let model = self.threads[original.thread.index()].clone();
        let mut tails = vec![None; original.tails.len()];
        let start = self.operations.len() as u32;
        let mut epoch = 0;
        let mut within = false;
        for position in model.operations.clone() {
            let operation = self.operations.get(position);
            let is_take = pool.taken_at.contains(position);
            if let (true, None, Some(tail)) = (is_take, tails[epoch], original.tails[epoch]) {
                let take = self.operations.len() as u32;
                tails[epoch] = Some(take);
                taken_at.push(take);
                // The work before the first take, and then what the last one does.
                self.append(Operation {
                    work_nanos: operation.work_nanos,
                    ..self.operations.get(tail)
                });
            }
            let is_tail = original.tails[epoch] == Some(position);
            within = (within || is_take) && !is_tail;
            if !is_take && !within {
                self.append(operation);
            }
            if matches!(operation.action, Action::Barrier(_)) && !is_take {
                epoch += 1;
            }
        }
        let added = Worker {
            thread,
            tails,
            leaves: Vec::new(),
            origin: Origin::Added(original.thread),
        };
        let beside = self
            .threads
            .iter()
            .filter(|other| other.name.starts_with(&model.name))
            .count();
        self.threads.push(Thread {
            name: format!("{}+{beside}", model.name),
            operations: start..self.operations.len() as u32,
            created: true,
            // Where it would be bound to is not known.
            cpu: None,
            ..model
        });
        added
    }

    fn append(&mut self, operation: Operation) {
        self.operations.push(operation);
        self.requirements.fill_up(self.operations.len());
        self.dependents.take();
    }
}
