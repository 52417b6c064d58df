//! Semaphores, gates and latches: what some sections give, others take.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use foretrace_trace::{SiteId, Trace};

use super::{
    Pattern,
    plan::{Gift, Need, Plan},
    sections::{Beyond, Section, Told, Uses},
};
use crate::lower::NONE;

/// Something that happens to the predicate behind a condition variable.
#[derive(Clone, Copy)]
enum Step<'a> {
    /// A thread finds nothing and begins to wait.
    Wait,
    /// A section that had to find something ends; whether it had waited.
    Take(&'a Section),
    /// A section puts so many things there.
    Give(&'a Section, u32),
    /// So does a signal outside of sections.
    Bare(u32),
    /// From here on nobody has to wait any more.
    Close(Closer<'a>),
}

#[derive(Clone, Copy)]
enum Closer<'a> {
    Section(&'a Section),
    Bare(u32),
}

/// Tests the hypotheses one after the other, and plans what becomes of the condition variable under the first that holds.
pub(super) fn test(trace: &Trace, uses: &Uses<'_>, plan: &mut Plan) -> Option<Pattern> {
    let closing = steps(uses, Some(&uses.broadcasting));
    if uses.waiting.intersection(&uses.signalling).next().is_some() {
        return semaphore(trace, uses, &ended_by_last(uses, &closing)?, plan);
    }
    let everything = steps(uses, None);
    // Where everything is told by broadcasts, what is told from a place of its own, and once.
    let once = || steps(uses, Some(&told_once(uses)));
    semaphore(trace, uses, &everything, plan)
        .or_else(|| gate(uses, &closing, plan))
        .or_else(|| semaphore(trace, uses, &closing, plan))
        .or_else(|| semaphore(trace, uses, &once(), plan))
        .or_else(|| latch(uses, &everything, plan))
        .or_else(|| semaphore(trace, uses, &ended_by_broadcast(uses, &closing), plan))
        .or_else(|| latch_looked_at(trace, uses, &everything, plan))
}

/// Tests whether what sections give is as much as they signal, of a condition variable that some of them signal several times, and several threads wait
/// on; broadcasts are the end.
pub(super) fn test_signals(trace: &Trace, uses: &Uses<'_>, plan: &mut Plan) -> Option<Pattern> {
    let takers = uses.threads_that(trace, |section| uses.is_waiting_site(section));
    if takers.len() < 2 || uses.waiting.intersection(&uses.signalling).next().is_some() {
        return None;
    }
    let mut steps = Vec::new();
    for &section in &uses.sections {
        if uses.is_waiting_site(section) {
            add_looks(section, &mut steps);
            continue;
        }
        // What it tells before it waits itself, others know by then; the rest when it ends.
        let mut at_end = (0, false);
        for (signal, broadcasts) in uses.signals(section) {
            match (section.told_by(Some(signal)), broadcasts) {
                (Some(Told::Within(event)), true) => {
                    steps.push((event, Step::Close(Closer::Bare(event))));
                }
                (Some(Told::Within(event)), false) => steps.push((event, Step::Bare(event))),
                (Some(Told::AtEnd(_)), true) => at_end.1 = true,
                (Some(Told::AtEnd(_)), false) => at_end.0 += 1,
                (None, _) => {}
            }
        }
        let (count, closes) = at_end;
        if count > 0 {
            steps.push((section.unlock, Step::Give(section, count)));
        }
        if closes {
            steps.push((section.unlock, Step::Close(Closer::Section(section))));
        }
    }
    add_bare(uses, true, &mut steps);
    steps.sort_by_key(|&(event, _)| event);
    semaphore(trace, uses, &steps, plan)
}

/// Tests whether broadcasts put several things there at once, as many as are taken until somebody waits again or the next broadcast. That threads take several of
/// them tells that these are not for each thread one.
pub(super) fn test_batches(trace: &Trace, uses: &Uses<'_>, plan: &mut Plan) -> Option<Pattern> {
    let broadcasts = |section: &&Section| uses.signals(section).all(|(_, broadcasts)| broadcasts);
    let apart = uses.waiting.is_disjoint(&uses.signalling);
    if !apart || uses.runs_out || !uses.bare.is_empty() || !uses.sections.iter().all(broadcasts) {
        return None;
    }
    let told = |section: &Section| uses.signal(section).is_some();
    let mut steps = steps(uses, None);
    steps.retain(|(_, step)| !matches!(step, Step::Give(section, _) if !told(section)));
    let mut batch: Option<usize> = None;
    let mut takers = BTreeSet::new();
    let (mut nothing_left, mut several) = (true, false);
    for place in 0..steps.len() {
        match &mut steps[place].1 {
            Step::Give(_, count) => {
                *count = 0;
                batch = Some(place);
                takers.clear();
                nothing_left = false;
            }
            Step::Wait => nothing_left = true,
            Step::Take(_) if nothing_left => return None,
            Step::Take(section) => {
                several |= !takers.insert(section.thread(trace));
                match &mut steps[batch?].1 {
                    Step::Give(_, count) => *count += 1,
                    _ => return None,
                }
            }
            Step::Bare(_) | Step::Close(_) => return None,
        }
    }
    if !several {
        return None;
    }
    semaphore(trace, uses, &steps, plan)
}

/// Returns the steps where only sections that broadcast are the end: others of their call sites found that it had not come yet.
fn ended_by_broadcast<'a>(uses: &Uses<'_>, closing: &[(u32, Step<'a>)]) -> Vec<(u32, Step<'a>)> {
    let steps = closing.iter().filter_map(|&(event, step)| match step {
        Step::Close(Closer::Section(section)) => match uses.signal(section) {
            None => None,
            Some((_, true)) => Some((event, step)),
            Some((_, false)) => Some((event, Step::Give(section, 1))),
        },
        _ => Some((event, step)),
    });
    steps.collect()
}

/// Returns the steps where threads that look, and find that nothing will come any more, tell all others: the first of these is the end, if no
/// other section was before. `None` where sections that look tell something else: such are beyond these hypotheses.
fn ended_by_last<'a>(uses: &Uses<'a>, closing: &[(u32, Step<'a>)]) -> Option<Vec<(u32, Step<'a>)>> {
    let mut steps = ended_by_broadcast(uses, closing);
    // Where nothing is put, all of them wait for each other.
    let puts = |(_, step): &(u32, Step<'_>)| matches!(step, Step::Give(..) | Step::Bare(_));
    if !steps.iter().any(puts) {
        return None;
    }
    let mut last = None;
    for section in last_lookers(uses) {
        if uses.signals(section).any(|(_, broadcasts)| !broadcasts) {
            return None;
        }
        if section.unlock != NONE && section.waits.is_empty() {
            last = last.or(Some(section));
        }
    }
    let is_closed = |steps: &[(u32, Step<'_>)]| {
        let closes = |(_, step): &(u32, Step<'_>)| matches!(step, Step::Close(_));
        steps.iter().any(closes)
    };
    if let Some(section) = last {
        let place = steps.partition_point(|&(event, _)| event < section.unlock);
        if !is_closed(&steps[..place]) {
            steps.insert(
                place,
                (section.unlock, Step::Close(Closer::Section(section))),
            );
        }
    }
    Some(steps)
}

/// Returns the sections that look, and tell something themselves.
fn last_lookers<'u, 'a>(uses: &'u Uses<'a>) -> impl Iterator<Item = &'a Section> + use<'u, 'a> {
    let sections = uses.sections.iter().copied();
    sections.filter(|section| uses.is_waiting_site(section) && uses.signal(section).is_some())
}

/// Returns the call sites of sections that broadcast, of which there was one each.
fn told_once(uses: &Uses<'_>) -> BTreeSet<SiteId> {
    let count = |site| {
        let sections = uses.sections.iter();
        sections
            .filter(|section| section.site == Some(site))
            .count()
    };
    let sites = uses.broadcasting.iter().copied();
    sites.filter(|&site| count(site) == 1).collect()
}

/// Lists the steps in the order in which they happened. With `closing`, sections of these call sites are the end, and broadcasts
/// outside of sections.
fn steps<'a>(uses: &Uses<'a>, closing: Option<&BTreeSet<SiteId>>) -> Vec<(u32, Step<'a>)> {
    let mut steps = Vec::new();
    for &section in &uses.sections {
        if uses.is_waiting_site(section) {
            add_looks(section, &mut steps);
        } else if uses.is_signalling_site(section)
            && let Some(told) = uses.told(section)
        {
            let is_closing = |site| closing.is_some_and(|closing| closing.contains(&site));
            let closes = section.site.is_some_and(is_closing);
            let step = if closes {
                Step::Close(Closer::Section(section))
            } else {
                Step::Give(section, 1)
            };
            steps.push((told.event(), step));
        }
    }
    add_bare(uses, closing.is_some(), &mut steps);
    steps.sort_by_key(|&(event, _)| event);
    steps
}

/// Adds what a section does that looks.
fn add_looks<'a>(section: &'a Section, steps: &mut Vec<(u32, Step<'a>)>) {
    for &(wait, _) in &section.waits {
        steps.push((wait, Step::Wait));
    }
    if section.unlock != NONE {
        steps.push((section.unlock, Step::Take(section)));
    }
}

/// Adds what is told outside of sections, where broadcasts may be the end.
fn add_bare(uses: &Uses<'_>, closes: bool, steps: &mut Vec<(u32, Step<'_>)>) {
    for &(event, broadcasts) in &uses.bare {
        let step = if closes && broadcasts {
            Step::Close(Closer::Bare(event))
        } else {
            Step::Bare(event)
        };
        steps.push((event, step));
    }
}

/// Returns whether threads tell each other different things by turns, as one that asks another for something, and waits until that is done: of those who take what
/// others give some give, too, always for others who take elsewhere. As tokens who asks could take what it gave itself.
fn goes_both_ways(trace: &Trace, steps: &[(u32, Step<'_>)]) -> bool {
    let mut given = VecDeque::new();
    let mut sites_of: BTreeMap<u32, BTreeSet<Option<SiteId>>> = BTreeMap::new();
    let mut pairs = Vec::new();
    for (_, step) in steps {
        match *step {
            Step::Give(section, count) => {
                given.extend((0..count).map(|_| section.thread(trace)));
            }
            Step::Bare(event) => {
                let event = &trace.events[event as usize];
                given.push_back(trace.call(event).thread.0);
            }
            Step::Take(section) => {
                let taker = section.thread(trace);
                sites_of.entry(taker).or_default().insert(section.site);
                pairs.extend(given.pop_front().map(|giver| (giver, section.site)));
            }
            Step::Wait | Step::Close(_) => {}
        }
    }
    let answers = |&(giver, _): &(u32, _)| sites_of.contains_key(&giver);
    let elsewhere = |(giver, site)| {
        sites_of
            .get(giver)
            .is_none_or(|sites| !sites.contains(site))
    };
    pairs.iter().any(answers) && pairs.iter().all(|(giver, site)| elsewhere((giver, site)))
}

/// A number that each giving section increases and each taking one decreases; it is zero when a wait begins.
fn semaphore(
    trace: &Trace,
    uses: &Uses<'_>,
    steps: &[(u32, Step<'_>)],
    plan: &mut Plan,
) -> Option<Pattern> {
    let initial = initial_tokens(steps)?;
    let mut tokens = i64::from(initial);
    let mut closed = false;
    let mut free: Vec<&Section> = Vec::new();
    for (_, step) in steps {
        match step {
            Step::Wait if tokens > 0 || closed => return None,
            Step::Wait => {}
            Step::Take(_) if tokens > 0 => tokens -= 1,
            Step::Take(section) if closed => free.push(section),
            Step::Take(_) => return None,
            Step::Give(_, count) => tokens += i64::from(*count),
            Step::Bare(_) => tokens += 1,
            // Closing twice is one more than we understand.
            Step::Close(_) if closed => return None,
            // Who looks and finds something does not say that nothing will come.
            Step::Close(Closer::Section(section))
                if uses.is_waiting_site(section) && tokens > 0 =>
            {
                return None;
            }
            Step::Close(_) => closed = true,
        }
    }
    if initial == 0 && goes_both_ways(trace, steps) {
        return None;
    }
    for section in last_lookers(uses) {
        for (signal, _) in uses.signals(section) {
            plan.silence(signal);
        }
    }
    let mut initial = initial;
    let is_closed_by_one = |(_, step): &(u32, Step<'_>)| match step {
        Step::Close(Closer::Section(section)) => uses.is_waiting_site(section),
        _ => false,
    };
    let count = free.len() as u32;
    // Where one of those that take is the last to find nothing, all of them come to that.
    let by_one = steps.iter().any(is_closed_by_one);
    let for_good = ends_for_good(trace, uses, &free);
    let end = (by_one && for_good && count >= 2).then(|| plan.new_end(uses.object, count));
    // Who comes to the end takes nothing that others need. In a listing by hand as many tokens come with the end.
    let by_gate = !by_one && for_good && trace.recording.is_some();
    let need_at_end = match end {
        Some(end) => Need::All(end),
        None if by_gate => Need::Gate(uses.object),
        None => Need::Tokens(uses.object, 1),
    };
    let gift_at_end = |count| {
        if by_gate {
            Gift::Gate(uses.object)
        } else {
            Gift::Tokens(uses.object, count)
        }
    };
    let give = |plan: &mut Plan, section: &Section, gift| {
        if uses.beyond == Some(Beyond::SignalOften) {
            plan.give_at_end(section, gift);
        } else {
            plan.give(uses, section, gift);
        }
    };
    for (_, step) in steps {
        match *step {
            Step::Take(section) => {
                let is_free = free.iter().any(|free| std::ptr::eq(*free, section));
                let need = if is_free {
                    need_at_end
                } else {
                    Need::Tokens(uses.object, 1)
                };
                plan.take(section, need);
            }
            Step::Give(section, count) => {
                give(plan, section, Gift::Tokens(uses.object, count));
            }
            Step::Bare(event) => plan.give_bare(event, Gift::Tokens(uses.object, 1)),
            Step::Close(_) if end.is_some() => {}
            // Those that pass for free afterwards are let in by it.
            Step::Close(Closer::Section(section)) => {
                // Where it is one of those, it passes itself before.
                let is_one = uses.is_waiting_site(section);
                initial += u32::from(is_one);
                let others = count - u32::from(is_one);
                give(plan, section, gift_at_end(others));
            }
            Step::Close(Closer::Bare(event)) => {
                plan.give_bare(event, gift_at_end(count));
            }
            Step::Wait => {}
        }
    }
    let pattern = Pattern::Semaphore { initial };
    plan.found(uses, pattern);
    Some(pattern)
}

/// Returns whether some sections are each its thread's last one of those that look.
fn ends_for_good(trace: &Trace, uses: &Uses<'_>, found_nothing: &[&Section]) -> bool {
    let mut last: BTreeMap<u32, &Section> = BTreeMap::new();
    for &section in &uses.sections {
        if uses.is_waiting_site(section) {
            last.insert(section.thread(trace), section);
        }
    }
    found_nothing.iter().all(|section| {
        let last = last.get(&section.thread(trace));
        last.is_some_and(|last| std::ptr::eq(*last, *section))
    })
}

/// Returns how many tokens there must have been at first, for none to be left when the first wait began.
fn initial_tokens(steps: &[(u32, Step<'_>)]) -> Option<u32> {
    let mut taken = 0_i64;
    for (_, step) in steps {
        match step {
            Step::Wait => return u32::try_from(taken).ok(),
            Step::Take(_) => taken += 1,
            Step::Give(_, count) => taken -= i64::from(*count),
            Step::Bare(_) => taken -= 1,
            Step::Close(_) => {}
        }
    }
    None
}

/// Closed until a broadcast opens it for good: before that all wait, after it none.
fn gate(uses: &Uses<'_>, steps: &[(u32, Step<'_>)], plan: &mut Plan) -> Option<Pattern> {
    // Who went on when its time had run out may have given up.
    if uses.runs_out {
        return None;
    }
    let mut open = false;
    let mut openings = 0;
    let mut waiting = 0_u64;
    for (_, step) in steps {
        match step {
            Step::Wait if open => return None,
            Step::Wait => waiting += 1,
            Step::Take(section) if !open && !uses.waits(section) => return None,
            Step::Take(_) => {}
            Step::Close(_) => {
                open = true;
                openings += 1;
            }
            Step::Give(..) | Step::Bare(_) => return None,
        }
    }
    if openings != 1 || waiting == 0 {
        return None;
    }
    for (_, step) in steps {
        match *step {
            Step::Take(section) => plan.take(section, Need::Gate(uses.object)),
            Step::Close(Closer::Section(section)) => {
                plan.give(uses, section, Gift::Gate(uses.object));
            }
            Step::Close(Closer::Bare(event)) => plan.give_bare(event, Gift::Gate(uses.object)),
            _ => {}
        }
    }
    plan.found(uses, Pattern::Gate);
    Some(Pattern::Gate)
}

/// One waits until so many others came; then all begins anew.
fn latch(uses: &Uses<'_>, steps: &[(u32, Step<'_>)], plan: &mut Plan) -> Option<Pattern> {
    // As of a gate.
    if uses.runs_out {
        return None;
    }
    let mut came = 0_u32;
    let mut count = None;
    for (_, step) in steps {
        match step {
            Step::Give(..) | Step::Bare(_) => came += 1,
            // Nobody waits when all have come.
            Step::Wait if count == Some(came) => return None,
            Step::Wait => {}
            Step::Take(_) => {
                if came < 2 || *count.get_or_insert(came) != came {
                    return None;
                }
                came = 0;
            }
            Step::Close(_) => return None,
        }
    }
    let count = count.filter(|_| came == 0)?;
    for (_, step) in steps {
        match *step {
            Step::Take(section) => plan.take(section, Need::Tokens(uses.object, count)),
            Step::Give(section, _) => plan.give(uses, section, Gift::Tokens(uses.object, 1)),
            Step::Bare(event) => plan.give_bare(event, Gift::Tokens(uses.object, 1)),
            Step::Wait | Step::Close(_) => {}
        }
    }
    let pattern = Pattern::Latch { count };
    plan.found(uses, pattern);
    Some(pattern)
}

/// As a latch, but whoever waits at it finds sometimes that all have come already: the last to come tells, whether or not somebody waits.
fn latch_looked_at(
    trace: &Trace,
    uses: &Uses<'_>,
    steps: &[(u32, Step<'_>)],
    plan: &mut Plan,
) -> Option<Pattern> {
    if uses.runs_out || !uses.bare.is_empty() {
        return None;
    }
    // How many have come when somebody tells: always as many more.
    let (mut came, mut told) = (0_u32, 0_u32);
    let mut count = None;
    // How often all had come at each look, where it waited; and where not, at most.
    let mut looks: Vec<(&Section, Option<u32>, u32)> = Vec::new();
    let (mut waits, mut looker) = (false, None);
    for (_, step) in steps {
        match *step {
            Step::Give(section, _) => {
                came += 1;
                if uses.signal(section).is_some() {
                    told += 1;
                    if came != told * *count.get_or_insert(came) {
                        return None;
                    }
                }
            }
            Step::Wait => waits = true,
            Step::Take(section) => {
                let thread = section.thread(trace);
                if *looker.get_or_insert(thread) != thread {
                    return None;
                }
                looks.push((section, std::mem::take(&mut waits).then_some(told), told));
            }
            Step::Bare(_) | Step::Close(_) => return None,
        }
    }
    let count = count.filter(|&count| count >= 2)?;
    // Each look is for the next time that all come: the first one that waited tells for which it was.
    let waiting = looks.iter().position(|&(_, waited, _)| waited.is_some())?;
    let first = looks[waiting].2 as usize;
    let needed = |look: usize| (first + look).saturating_sub(waiting);
    let holds = |(look, &(_, waited, most)): (usize, &(&Section, Option<u32>, u32))| match waited {
        Some(told) => told > 0 && needed(look) == told as usize,
        None => needed(look) <= most as usize,
    };
    if !looks.iter().enumerate().all(holds) {
        return None;
    }
    for (look, &(section, ..)) in looks.iter().enumerate() {
        // The first may need nothing.
        if needed(look) > 0 {
            plan.take(section, Need::Tokens(uses.object, count));
        }
    }
    for (_, step) in steps {
        if let Step::Give(section, _) = *step {
            plan.give(uses, section, Gift::Tokens(uses.object, 1));
        }
    }
    let pattern = Pattern::Latch { count };
    plan.found(uses, pattern);
    Some(pattern)
}
