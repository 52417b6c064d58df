//! Loops whose iterations threads take by themselves, as by an atomic counter, which no call tells (self-scheduling).
//!
//! Threads that meet after such a loop have done as much of it each as they had the CPU: on one CPU who runs first does most. Replayed as recorded, all would
//! wait for that one, though on more CPUs all would have taken iterations until none was left.
//!
//! What tells is when they come to meet. Who has a part of its own comes when that is done, and the others still have what theirs have more, at least: on one CPU
//! they had no more of it by then, but for a slice. Who takes iterations comes when none is left, and so do all others, up to the one that they are at. So the
//! hypothesis holds where from who comes first to who comes last less time goes by, in all rounds together, than the others did more than who did least, and in a quarter
//! of the rounds much less. Only those count that did half as much as who did most, at least: a single one that works, while others come to wait, says nothing.
//!
//! # Source
//!
//! `docs/models.md`, "Self-scheduling".

mod rounds;

use foretrace_trace::{Object, Trace};

pub(crate) use rounds::Meeting;

use self::rounds::Part;
use crate::{Operation, Operations, Structure, Thread};

/// Fewer rounds may be so by chance.
const LEAST_ROUNDS: usize = 8;

/// What is not in one piece before threads meet may be this share of the work, in hundredths, at most.
const MOST_ELSEWHERE: u64 = 20;

/// From who comes first to who comes last goes by at most this share, in hundredths, of what the others did more than who did least.
const MOST_LEFT: u64 = 90;

/// The same, of one round in four.
const MUCH_LESS: u64 = 75;

/// What is shared out less unevenly than by so many hundredths may stay as it is.
const UNEVEN: u64 = 5;

/// A thread that did so many times less than another, at least, may have come to wait only.
const LITTLE: u64 = 4;

/// Threads that share out what they do before they meet.
pub(crate) struct Crew {
    pub meeting: Meeting,
    pub threads: usize,
    pub rounds: usize,
}

/// Deals out anew what threads shared out by themselves; returns which.
pub(crate) fn deal_out(
    trace: &Trace,
    (threads, objects): (&[Thread], &[Object]),
    structures: &[Structure],
    operations: &mut Operations,
) -> Vec<Crew> {
    let mut found = Vec::new();
    let rounds = rounds::collect(trace, (threads, objects), structures, operations);
    for (meeting, rounds) in rounds {
        if let Some(left) = left_when_none_is(&rounds) {
            let shared = rounds.iter().filter(|round| is_shared(round));
            for (number, round) in shared.enumerate() {
                even_out(round, (number, left), operations);
            }
            found.push(Crew {
                meeting,
                threads: rounds[0].len(),
                rounds: rounds.len(),
            });
        }
    }
    found
}

/// Returns how much a thread mostly has left to do when no iterations are left, in nanoseconds, where threads take them by themselves.
fn left_when_none_is(rounds: &[Vec<Part>]) -> Option<u64> {
    let (mut work, mut all, mut uneven) = (0, 0, 0);
    let (mut told, mut left, mut more, mut much_less, mut others) = (0, 0, 0, 0, 0);
    for round in rounds {
        let most = round.iter().map(|part| part.all).max().unwrap_or(0);
        let sum: u64 = round.iter().map(|part| part.all).sum();
        work += round.iter().map(|part| part.work).sum::<u64>();
        all += sum;
        uneven += most * round.len() as u64 - sum;
        let busy = || round.iter().filter(|part| 2 * part.all >= most);
        let came = || busy().map(|part| part.came);
        let (Some(first), Some(until)) = (came().min(), came().max()) else {
            continue;
        };
        let least = busy().map(|part| part.all).min().unwrap_or(0);
        let until_last = (until - first).min(sum);
        let more_than_least: u64 = busy().map(|part| part.all - least).sum();
        if more_than_least == 0 {
            continue;
        }
        told += 1;
        left += until_last;
        more += more_than_least;
        much_less += usize::from(100 * until_last <= MUCH_LESS * more_than_least);
        others += busy().count() as u64 - 1;
    }
    let holds = told >= LEAST_ROUNDS
        && (all - work) * 100 <= MOST_ELSEWHERE * all
        && left * 100 <= MOST_LEFT * more
        && 4 * much_less >= told
        && uneven * 100 >= UNEVEN * all;
    holds.then(|| left / others.max(1))
}

/// Returns whether two threads had part in a round, at least: one that works alone has no iterations that others could take.
fn is_shared(round: &[Part]) -> bool {
    let most = round.iter().map(|part| part.all).max().unwrap_or(0);
    let those = round.iter().filter(|part| LITTLE * part.all >= most);
    those.count() >= 2
}

/// Shares out a round's work so that all come at a time, but for what each still has to do when no iterations are left: from nothing up to an iteration.
fn even_out(round: &[Part], (number, left): (usize, u64), operations: &mut Operations) {
    let threads = round.len() as u64;
    let all: u64 = round.iter().map(|part| part.work).sum();
    let iteration = (2 * left).min(all / threads);
    let ends = |place: usize| {
        let place = (place + number) as u64 % threads;
        iteration * (2 * place + 1) / (2 * threads)
    };
    let later: u64 = round.iter().map(|part| part.later).sum();
    let at_end: u64 = (0..round.len()).map(ends).sum();
    let until = (all + later).saturating_sub(at_end) / threads;
    let mut rest = all;
    for (place, part) in round.iter().enumerate() {
        let is_last = place + 1 == round.len();
        let own = until.saturating_sub(part.later) + ends(place);
        let work_nanos = if is_last { rest } else { own.min(rest) };
        rest -= work_nanos;
        let operation = operations.get(part.operation);
        operations.set(
            part.operation,
            Operation {
                work_nanos,
                ..operation
            },
        );
    }
}
