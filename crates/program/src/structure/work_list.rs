//! Lists of work to which those that take from them add: a thread that has done a part of the work puts what that made there, and takes the next part, both in
//! one section of the mutex, until nothing is left and nobody has anything to add.
//!
//! The hypothesis is that each section that signals puts as many things there as it signals, or, by a broadcast, always as many as any other that broadcasts; that
//! it takes one then; and that the last one that signals says that nothing will come any more. Whoever waits finds that nothing is there, and each thread's last
//! section finds so, too. How many things a broadcast puts there, and how many there are at first, follows from the first wait, and from how many were taken in all.
//!
//! # Source
//!
//! `docs/models.md`, "Structure".

use std::collections::BTreeMap;

use foretrace_trace::Trace;

use super::{
    Pattern,
    plan::{Gift, Need, Plan},
    sections::{Section, Uses},
};
use crate::lower::NONE;

/// Fewer that put something there tell too little.
const LEAST_PUTS: usize = 4;

/// What a section puts there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Put {
    Nothing,
    /// As many things as it signals.
    Signalled(u32),
    /// As many as any other that broadcasts.
    Broadcast,
    /// Nothing; and nothing will come any more.
    End,
}

/// How many things there are at first, and how many a broadcast puts there.
#[derive(Clone, Copy)]
struct Amounts {
    initial: i64,
    batch: i64,
}

/// Tests the hypothesis over the whole recording, and plans what becomes of the condition variable if it holds.
pub(super) fn test(trace: &Trace, uses: &Uses<'_>, plan: &mut Plan) -> Option<Pattern> {
    let both = uses.waiting.intersection(&uses.signalling);
    let is_regular = uses.bare.is_empty() && !uses.runs_out && !uses.repeats;
    if trace.recording.is_none() || both.count() == 0 || !is_regular {
        return None;
    }
    let mut sections = uses.sections.clone();
    // One that puts something there and takes nothing is one of another place.
    let takes = |section: &&Section| uses.is_waiting_site(section) && section.unlock != NONE;
    if !sections.iter().all(takes) {
        return None;
    }
    sections.sort_by_key(|section| section.unlock);
    let puts = puts(uses, &sections)?;
    let mut last: BTreeMap<u32, usize> = BTreeMap::new();
    for (number, section) in sections.iter().enumerate() {
        last.insert(section.thread(trace), number);
    }
    let finds_nothing = |number: usize| last.values().any(|&place| place == number);
    let amounts = amounts(&sections, &puts, last.len())?;
    if !holds(&sections, &puts, amounts, &finds_nothing) {
        return None;
    }
    let threads = u32::try_from(last.len()).ok()?;
    let initial = u32::try_from(amounts.initial).ok()?;
    let batch = u32::try_from(amounts.batch).ok()?;
    let end = plan.new_end(uses.object, threads);
    for (number, (section, put)) in sections.iter().zip(puts).enumerate() {
        let gifts = match put {
            Put::Nothing | Put::End => Vec::new(),
            Put::Signalled(count) => vec![Gift::Tokens(uses.object, count)],
            Put::Broadcast => vec![Gift::Tokens(uses.object, batch)],
        };
        let need = if finds_nothing(number) {
            Need::All(end)
        } else {
            Need::Tokens(uses.object, 1)
        };
        plan.give_and_take(section, gifts, vec![need]);
    }
    let pattern = Pattern::Semaphore { initial };
    plan.found(uses, pattern);
    Some(pattern)
}

/// Returns what each section puts there; nothing where few put anything, or one tells of something after its wait.
fn puts(uses: &Uses<'_>, sections: &[&Section]) -> Option<Vec<Put>> {
    let put = |section: &&Section| {
        let wait = section.waits.first().map_or(NONE, |&(wait, _)| wait);
        let mut signals = uses.signals(section);
        if signals.any(|(signal, _)| signal > wait) {
            return None;
        }
        if uses.signals(section).any(|(_, broadcasts)| broadcasts) {
            return Some(Put::Broadcast);
        }
        let count = u32::try_from(uses.signals(section).count()).ok()?;
        Some(match count {
            0 => Put::Nothing,
            count => Put::Signalled(count),
        })
    };
    let mut puts: Vec<Put> = sections.iter().map(put).collect::<Option<_>>()?;
    let end = puts.iter().rposition(|&put| put == Put::Broadcast)?;
    puts[end] = Put::End;
    let told = puts.iter().filter(|&&put| put != Put::Nothing);
    (told.count() > LEAST_PUTS).then_some(puts)
}

/// Works out how many things there are: none when the first wait begins, and none when each of so many threads has found nothing.
fn amounts(sections: &[&Section], puts: &[Put], threads: usize) -> Option<Amounts> {
    let first = sections
        .iter()
        .filter_map(|section| section.waits.first())
        .map(|&(wait, _)| wait)
        .min()?;
    // What was signalled and broadcast by sections that began up to an event.
    let put_until = |event: u32| {
        let begun = sections.iter().zip(puts);
        let begun = begun.filter(|(section, _)| section.held <= event);
        begun.fold((0, 0), |(signalled, batches), (_, put)| match put {
            Put::Signalled(count) => (signalled + i64::from(*count), batches),
            Put::Broadcast => (signalled, batches + 1),
            Put::Nothing | Put::End => (signalled, batches),
        })
    };
    let signed = |count: usize| i64::try_from(count).ok();
    // Who waits has put something by then, too, and not taken.
    let (signalled_at_first, batches_at_first) = put_until(first);
    let ended = sections.iter().filter(|section| section.unlock < first);
    let taken = signed(ended.count())?;
    let (signalled, batches) = put_until(NONE);
    let all = signed(sections.len())? - signed(threads)?;
    // initial + batch * batches = taken - signalled, at both moments.
    let rest = (all - signalled) - (taken - signalled_at_first);
    let between = batches - batches_at_first;
    let batch = match (between, rest) {
        (0, 0) => 0,
        (0, _) => return None,
        _ => (rest % between == 0).then_some(rest / between)?,
    };
    let initial = taken - signalled_at_first - batch * batches_at_first;
    (initial >= 0 && batch >= 0 && (batches == 0 || batch > 0))
        .then_some(Amounts { initial, batch })
}

impl Amounts {
    fn of(self, put: Put) -> i64 {
        match put {
            Put::Nothing | Put::End => 0,
            Put::Signalled(count) => count.into(),
            Put::Broadcast => self.batch,
        }
    }
}

/// Returns whether whoever waits finds that nothing is there, all others find something, and each thread's last section nothing.
fn holds(
    sections: &[&Section],
    puts: &[Put],
    amounts: Amounts,
    finds_nothing: &dyn Fn(usize) -> bool,
) -> bool {
    /// What happens, in order.
    enum Step {
        Put(i64),
        Waits,
        Takes(usize),
        Ends,
    }
    let mut steps = Vec::new();
    for (number, (section, &put)) in sections.iter().zip(puts).enumerate() {
        // What is put is there before the thread looks itself.
        let step = match put {
            Put::End => Step::Ends,
            put => Step::Put(amounts.of(put)),
        };
        steps.push((section.held, step));
        let waits = section.waits.iter().map(|&(wait, _)| (wait, Step::Waits));
        steps.extend(waits);
        steps.push((section.unlock, Step::Takes(number)));
    }
    steps.sort_by_key(|&(event, _)| event);
    let (mut there, mut is_over) = (amounts.initial, false);
    steps.into_iter().all(|(_, step)| match step {
        Step::Put(count) => {
            there += count;
            !is_over || count == 0
        }
        Step::Waits => there == 0 && !is_over,
        Step::Takes(number) if finds_nothing(number) => there == 0 && is_over,
        Step::Takes(_) => {
            there -= 1;
            there >= 0
        }
        Step::Ends => {
            is_over = true;
            there == 0
        }
    })
}
