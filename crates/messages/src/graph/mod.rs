//! Task graphs: operations that begin when others are over, in place of an order.

mod engine;
mod matching;
mod order;

pub(crate) use engine::run;

/// What an operation of a task graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// Sends a message of so many bytes.
    Send,
    /// Receives one.
    Receive,
    /// Works for so many picoseconds.
    Work,
}

/// An operation of a task graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Picoseconds or bytes.
    pub value: u64,
    /// The other rank; [`ANY`](crate::ANY) for a receive from anybody.
    pub peer: u32,
    /// The tag; [`ANY`](crate::ANY) for a receive of any.
    pub tag: u32,
    /// What it is.
    pub kind: TaskKind,
    /// The CPU of the rank that does it.
    pub cpu: u8,
    /// The network interface that it takes.
    pub nic: u8,
}

/// Operations of ranks, and which need which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskGraph {
    /// The file that it came from.
    pub source: String,
    /// The operations of all ranks, one rank after the other.
    pub tasks: Vec<Task>,
    /// Where each rank's operations begin, and where the last one's end.
    pub starts: Vec<usize>,
    /// Of each operation: where those that need it begin in [`Self::dependents`].
    pub(crate) dependents_start: Vec<usize>,
    /// Operations that need another: which, and whether its begin is enough.
    pub(crate) dependents: Vec<(u32, bool)>,
    /// How many operations each needs.
    pub(crate) needs: Vec<u32>,
    /// The CPUs of a rank, and its interfaces.
    pub cpus: u32,
    /// The interfaces of a rank.
    pub nics: u32,
}

impl TaskGraph {
    /// Returns the number of ranks.
    pub fn ranks(&self) -> u32 {
        self.starts.len().saturating_sub(1) as u32
    }

    /// Returns the rank of an operation.
    pub fn rank_of(&self, task: u32) -> u32 {
        self.starts.partition_point(|start| *start <= task as usize) as u32 - 1
    }

    /// Returns the number of messages.
    pub fn messages(&self) -> u64 {
        self.tasks
            .iter()
            .filter(|task| task.kind == TaskKind::Send)
            .count() as u64
    }

    /// Returns the bytes of all messages.
    pub fn bytes(&self) -> u64 {
        let sends = self.tasks.iter().filter(|task| task.kind == TaskKind::Send);
        sends.map(|task| task.value).fold(0, u64::saturating_add)
    }

    /// Returns the work of all ranks together, in picoseconds.
    pub fn work(&self) -> u64 {
        let work = self.tasks.iter().filter(|task| task.kind == TaskKind::Work);
        work.map(|task| task.value).fold(0, u64::saturating_add)
    }

    /// Returns the graph with other times of its work, each by its task and the time that it takes now, in picoseconds.
    #[must_use]
    pub fn with_work(&self, mut time: impl FnMut(usize, u64) -> u64) -> Self {
        let mut graph = self.clone();
        for (number, task) in graph.tasks.iter_mut().enumerate() {
            if task.kind == TaskKind::Work {
                task.value = time(number, task.value);
            }
        }
        graph
    }

    fn dependents_of(&self, task: u32) -> &[(u32, bool)] {
        let task = task as usize;
        &self.dependents[self.dependents_start[task]..self.dependents_start[task + 1]]
    }
}

/// Makes a task graph, rank by rank.
#[derive(Clone, Debug, Default)]
pub struct GraphBuilder {
    tasks: Vec<Vec<Task>>,
    /// In a rank: which operation needs which, and whether its begin is enough.
    needs: Vec<Vec<(u32, u32, bool)>>,
}

impl GraphBuilder {
    /// Begins with so many ranks.
    pub fn new(ranks: u32) -> Self {
        Self {
            tasks: vec![Vec::new(); ranks as usize],
            needs: vec![Vec::new(); ranks as usize],
        }
    }

    /// Adds an operation, and returns its number within the rank.
    pub fn push(&mut self, rank: u32, task: Task) -> u32 {
        let tasks = &mut self.tasks[rank as usize];
        tasks.push(task);
        tasks.len() as u32 - 1
    }

    /// Lets an operation of a rank begin only when another is over; or has begun, where that is enough.
    pub fn require(&mut self, rank: u32, task: u32, needed: u32, begin_is_enough: bool) {
        self.needs[rank as usize].push((task, needed, begin_is_enough));
    }

    /// Returns the graph.
    pub fn finish(self, source: impl Into<String>) -> TaskGraph {
        let mut graph = TaskGraph {
            source: source.into(),
            ..TaskGraph::default()
        };
        for (tasks, needs) in self.tasks.into_iter().zip(self.needs) {
            let first = graph.tasks.len();
            graph.starts.push(first);
            let mut counts = vec![0_u32; tasks.len()];
            let mut dependents: Vec<Vec<(u32, bool)>> = vec![Vec::new(); tasks.len()];
            for (task, needed, begin) in needs {
                counts[task as usize] += 1;
                dependents[needed as usize].push((first as u32 + task, begin));
            }
            for list in dependents {
                graph.dependents_start.push(graph.dependents.len());
                graph.dependents.extend(list);
            }
            graph.needs.extend(counts);
            graph.tasks.extend(tasks);
        }
        graph.starts.push(graph.tasks.len());
        graph.dependents_start.push(graph.dependents.len());
        let most = |number: fn(&Task) -> u8| graph.tasks.iter().map(number).max().unwrap_or(0);
        graph.cpus = u32::from(most(|task| task.cpu)) + 1;
        graph.nics = u32::from(most(|task| task.nic)) + 1;
        graph
    }
}
