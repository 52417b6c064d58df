//! One-sided communication: what ranks put into each other's windows and get from there, and when that is done.
//!
//! What is put is sent at once, and is over with the first call of its rank that follows and ends such things:
//!
//! - A fence: what is put is received by its target when that comes to the same fence, and what is got is a message that the target sends then.
//! - The end of an epoch (`MPI_Win_complete`): what is put is received by its target when that waits for the end, and what is got is a
//!   message that the target sends when it lets its part be used (`MPI_Win_post`).
//! - An unlock or a flush: targets have no part in that; a rank waits until what it put and what it asked for have been there and back.
//!
//! What nothing of these follows is not replayed.

use foretrace_trace::{Action, End, Message, Operation as Event, Peer, Point, Trace};
use rustc_hash::FxHashMap;

use crate::{Mode, Operation, recorded::name_of};

/// Functions that put data into a window or get them from there.
const MOVES: [&str; 10] = [
    "put",
    "rput",
    "accumulate",
    "raccumulate",
    "get",
    "rget",
    "get_accumulate",
    "rget_accumulate",
    "fetch_and_op",
    "compare_and_swap",
];

/// Functions after which those that were called before are over, without the target.
const ALONE: [&str; 6] = [
    "win_unlock",
    "win_unlock_all",
    "win_flush",
    "win_flush_all",
    "win_flush_local",
    "win_flush_local_all",
];

/// The tags of what is put and of what is got.
const PUT: u32 = 0;
const GOT: u32 = 1;

/// The windows of a trace.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    /// What is done before an event's own action.
    before: FxHashMap<u32, Settlement>,
    /// What becomes of events that put data or get them.
    fates: FxHashMap<u32, Fate>,
}

/// What a rank does when it comes to a call that ends something: sends before it receives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settlement {
    sends: Vec<Operation>,
    receives: Vec<Operation>,
    /// The number of the window's communicator.
    pub communicator: u32,
    /// Whether it waits for what it does alone.
    pub waits: bool,
}

impl Settlement {
    pub fn operations(&self) -> impl Iterator<Item = Operation> + '_ {
        self.sends.iter().chain(&self.receives).copied()
    }
}

/// What becomes of what is put or got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is sent and received as the calls say that end it: what is put is sent at once.
    Settled,
    /// It goes there and back without the target.
    Alone,
    /// Nothing ends it: it is not replayed.
    Lost,
}

/// A pair of ranks: who acts, and on whom.
type Pair = (u32, u32);

/// A call by which a rank takes part in what two ranks do with a window, of each kind the n-th.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    Fence,
    Post,
    Complete,
    Wait,
}

/// What is put or got and not over.
struct Move {
    event: u32,
    points: Vec<Point>,
}

/// Goes through the events.
#[derive(Default)]
struct Search {
    windows: Windows,
    /// The windows that communicators stand for the epochs of.
    window_of: FxHashMap<u32, u32>,
    /// The events of each kind of step by a window's communicator and who acts on whom; of fences, each on itself.
    steps: FxHashMap<(Step, u32, Pair), Vec<u32>>,
    /// What each rank has not ended.
    open: FxHashMap<u32, Vec<Move>>,
    /// What was ended together with its target: the steps, of the rank and of the target, that settle what is put and got.
    settled: Vec<(Move, u32, Step, usize)>,
}

/// Returns what a call puts into a window and gets from there.
pub(crate) fn moved(message: &Message) -> Option<&[Point]> {
    if !MOVES.contains(&name_of(message)) {
        return None;
    }
    match &message.action {
        Action::Point(point) => Some(std::slice::from_ref(point)),
        Action::Exchanges(points) => Some(points),
        _ => None,
    }
}

impl Windows {
    /// Finds out what is moved when. `rank_of` tells of which rank a thread is.
    pub fn of(trace: &Trace, rank_of: impl Fn(usize) -> Option<u32>) -> Self {
        if !trace
            .messages
            .iter()
            .any(|message| moved(message).is_some())
        {
            return Self::default();
        }
        let mut search = Search {
            window_of: windows_of_epochs(trace),
            ..Search::default()
        };
        for (number, event) in (0..).zip(&trace.events) {
            let call = trace.call(event);
            if let (Event::Message(id), Some(rank)) = (call.operation, rank_of(call.thread.index()))
            {
                search.call(rank, number, &trace.messages[id.index()]);
            }
        }
        search.finish()
    }

    /// Returns what a rank does before what an event says.
    pub fn before(&mut self, event: u32) -> Option<Settlement> {
        self.before.remove(&event)
    }

    /// Returns what becomes of what an event puts or gets.
    pub fn fate(&self, event: u32) -> Fate {
        self.fates.get(&event).copied().unwrap_or(Fate::Lost)
    }
}

impl Search {
    /// Goes on to a call.
    fn call(&mut self, rank: u32, event: u32, message: &Message) {
        if let Some(points) = moved(message) {
            let open = self.open.entry(rank).or_default();
            open.push(Move {
                event,
                points: points.to_vec(),
            });
            return;
        }
        match (message.name.as_str(), &message.action) {
            ("win_fence", Action::Collective(fence)) => {
                let count = self.step(Step::Fence, fence.communicator, (rank, rank), event);
                self.end(rank, Step::Fence, |point| {
                    (point.communicator == fence.communicator).then_some(count)
                });
            }
            ("win_post" | "win_wait" | "win_test" | "win_complete", Action::Exchanges(points)) => {
                let step = match message.name.as_str() {
                    "win_post" => Step::Post,
                    "win_complete" => Step::Complete,
                    _ => Step::Wait,
                };
                let mut counts = Vec::new();
                for point in points {
                    let window = self.window_of.get(&point.communicator).copied();
                    let (Peer::Rank(peer), Some(window)) = (point.peer, window) else {
                        continue;
                    };
                    let pair = if step == Step::Complete {
                        (rank, peer)
                    } else {
                        (peer, rank)
                    };
                    counts.push((window, peer, self.step(step, window, pair, event)));
                }
                if step == Step::Complete {
                    self.end(rank, Step::Complete, |point| {
                        let with = |&&(window, peer, _): &&(u32, u32, usize)| {
                            point.communicator == window && point.peer == Peer::Rank(peer)
                        };
                        counts.iter().find(with).map(|&(_, _, count)| count)
                    });
                }
            }
            (name, _) if ALONE.contains(&name) => self.end_alone(rank, event),
            _ => {}
        }
    }

    /// Notes a step, and returns which one of its kind it is.
    fn step(&mut self, step: Step, window: u32, pair: Pair, event: u32) -> usize {
        let steps = self.steps.entry((step, window, pair)).or_default();
        steps.push(event);
        steps.len() - 1
    }

    /// Ends what a rank began, as far as the call is for it: then it is known which one of such calls it is.
    fn end(&mut self, rank: u32, step: Step, nth: impl Fn(&Point) -> Option<usize>) {
        let open = self.open.entry(rank).or_default();
        for ended in std::mem::take(open) {
            match ended.points.first().and_then(&nth) {
                Some(count) => self.settled.push((ended, rank, step, count)),
                None => open.push(ended),
            }
        }
    }

    /// Ends all that a rank began, without the targets.
    fn end_alone(&mut self, rank: u32, event: u32) {
        let open = self.open.get_mut(&rank).map(std::mem::take);
        for ended in open.unwrap_or_default() {
            self.windows.fates.insert(ended.event, Fate::Alone);
            self.windows.before.entry(event).or_default().waits = true;
        }
    }

    fn finish(mut self) -> Windows {
        for (ended, rank, step, count) in std::mem::take(&mut self.settled) {
            for point in &ended.points {
                if self.settle(point, rank, step, count).is_some() {
                    self.windows.fates.insert(ended.event, Fate::Settled);
                }
            }
        }
        self.windows
    }

    /// Lets a message be sent and received where that belongs. Returns `None` where the recording does not hold the calls for it.
    fn settle(&mut self, point: &Point, rank: u32, step: Step, count: usize) -> Option<()> {
        let Peer::Rank(target) = point.peer else {
            return None;
        };
        let window = point.communicator;
        let at = |step, pair| self.steps.get(&(step, window, pair))?.get(count).copied();
        let with_target = |own: Step| match step {
            Step::Fence => at(Step::Fence, (target, target)),
            _ => at(own, (rank, target)),
        };
        let (sender, receiver) = match point.end {
            End::Receive => {
                let own = match step {
                    Step::Fence => at(Step::Fence, (rank, rank)),
                    _ => at(step, (rank, target)),
                };
                (Some(with_target(Step::Post)?), own?)
            }
            _ => (None, with_target(Step::Wait)?),
        };
        let (from, tag) = match sender {
            Some(_) => (target, GOT),
            None => (rank, PUT),
        };
        let to = self.windows.before.entry(receiver).or_default();
        to.communicator = window;
        to.receives.push(Operation::receive(from, tag, point.bytes));
        if let Some(sender) = sender {
            let from = self.windows.before.entry(sender).or_default();
            from.communicator = window;
            let send = Operation::send(rank, GOT, point.bytes).in_mode(Mode::Buffered);
            from.sends.push(send);
        }
        Some(())
    }
}

/// Returns, of communicators whose messages stand for epochs, the numbers of their windows.
fn windows_of_epochs(trace: &Trace) -> FxHashMap<u32, u32> {
    let names = (0..).zip(trace.communicators.iter().map(|known| known.name.as_str()));
    let numbers: FxHashMap<&str, u32> =
        names.clone().map(|(number, name)| (name, number)).collect();
    names
        .filter_map(|(number, name)| {
            let window = name.strip_suffix(".epochs")?;
            Some((number, *numbers.get(window)?))
        })
        .collect()
}
