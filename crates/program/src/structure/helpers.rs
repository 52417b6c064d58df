//! Queues of tasks from which a thread takes some that does not wait for any: who puts tasks there helps those that do them, and then waits until all are
//! done.
//!
//! The hypothesis is that of [`queues`], but for that as many are not taken by those who wait for tasks. At some calls
//! of another thread's, each section takes one where one is there; with these, all are taken, and nobody ever waits for a task where one is there. Where that thread
//! waits itself, nothing is there, and it goes on when all that was put there is done: each task by a worker is told of under the same mutex, and
//! its own are done when it comes back.
//!
//! # Source
//!
//! `docs/models.md`, "Structure".

use std::collections::BTreeSet;

use foretrace_trace::{ObjectId, SiteId, Trace};

use super::{
    Pattern, Structure,
    plan::{Gift, Need, Plan},
    queues::{self, LEAST, Looks, Queue, Takers},
    sections::{Section, Sections, Told},
};
use crate::lower::NONE;

/// A section of a thread that helps.
struct Help<'s> {
    section: &'s Section,
    /// Whether it takes a task, or finds that there is none.
    takes: bool,
}

/// What a thread that helps waits for when nothing is left to take.
struct Done<'s> {
    cond: ObjectId,
    /// The sections in which workers tell that a task is done.
    tells: Vec<&'s Section>,
}

/// What happens to a queue.
#[derive(Clone, Copy)]
enum Step<'s> {
    Put(&'s Section),
    Take(&'s Section),
    /// Somebody waits for a task, or, helping, for what others do.
    Wait,
    Help(&'s Section),
}

/// Tests the hypothesis for the mutexes of condition variables, plans what becomes of those for which it holds, and returns their condition
/// variables. Adds the threads that take from each queue to `takers`.
pub(super) fn recognize(
    trace: &Trace,
    sections: &Sections,
    structures: &mut Vec<Structure>,
    (plan, takers): (&mut Plan, &mut Vec<BTreeSet<u32>>),
) -> BTreeSet<ObjectId> {
    let mut known = BTreeSet::new();
    if trace.recording.is_none() {
        return known;
    }
    for (_, own) in sections.of_mutexes() {
        for looks in queues::looks_of(&own) {
            let Some((queue, helps)) = helped(trace, &own, &looks) else {
                continue;
            };
            let done = match done(trace, &own, &queue, &helps) {
                Ok(done) => done,
                Err(Unknown) => continue,
            };
            let found = queue.plan(&own, plan);
            plan_helps(trace, &own, (&queue, &helps, done.as_ref()), plan);
            let mut entry = |cond: ObjectId, pattern| {
                structures.push(Structure {
                    object: cond,
                    pattern,
                    sites: sections.waiting_sites(cond),
                    waits: sections.waits(cond),
                    given_up: 0,
                });
                known.insert(cond);
            };
            for &cond in &queue.conds {
                entry(cond, found);
            }
            if let Some(done) = done {
                plan.stays(done.cond, Pattern::Count);
                entry(done.cond, Some(Pattern::Count));
            }
            takers.push(queue.takers.threads);
        }
    }
    known
}

/// Returns the queue from which is taken at some calls, and the sections of another thread that help, if there are any.
fn helped<'s>(
    trace: &Trace,
    own: &[&'s Section],
    looks: &Looks,
) -> Option<(Queue<'s>, Vec<Help<'s>>)> {
    let takers = queues::takers(trace, own, looks)?;
    let others = queues::by_others(trace, own, (looks, &takers));
    let sites = || others.keys().copied();
    // More is put than is taken there, but for the last take of each, which finds nothing.
    let least = takers.takes.len().saturating_sub(takers.threads.len());
    let candidates = sites().filter(|site| others[site].len() > least);
    let (puts, helps, free) = candidates
        .flat_map(|put| {
            // All other calls of other threads', or only one.
            let all: BTreeSet<SiteId> = sites().filter(|&site| site != put).collect();
            let each: Vec<_> = all.iter().map(|&site| BTreeSet::from([site])).collect();
            std::iter::once(all).chain(each).map(move |at| (put, at))
        })
        .find_map(|(put, at)| {
            let helping = at.iter().flat_map(|site| &others[site]).copied();
            let (helps, free) = follow(trace, (&others[&put], &takers), helping)?;
            Some((others[&put].clone(), helps, free))
        })?;
    let end = queues::end(trace, own, (looks, &takers.takes), &free)?;
    let conds = looks.conds.clone();
    let queue = Queue {
        conds,
        puts,
        takers,
        end,
    };
    Some((queue, helps))
}

/// Returns what sections that may help find, and the takes that find nothing any more, if the hypothesis holds.
fn follow<'s>(
    trace: &Trace,
    (puts, who): (&[&'s Section], &Takers<'s>),
    helping: impl Iterator<Item = &'s Section>,
) -> Option<(Vec<Help<'s>>, Vec<&'s Section>)> {
    let mut steps: Vec<(u32, Step<'s>)> = Vec::new();
    let waits = |section: &&'s Section| {
        let waits = section.waits.iter();
        waits.map(|&(wait, _)| (wait, Step::Wait))
    };
    for section in who.takes.iter().chain(&who.unfinished) {
        steps.extend(waits(section));
    }
    let waited = steps.len();
    steps.extend(
        puts.iter()
            .map(|section| (section.unlock, Step::Put(section))),
    );
    let taking = who.takes.iter();
    steps.extend(taking.map(|section| (section.unlock, Step::Take(section))));
    for section in helping {
        steps.extend(waits(&section));
        steps.push((section.unlock, Step::Help(section)));
    }
    steps.sort_by_key(|&(event, _)| event);
    let (mut helps, mut free) = (Vec::new(), Vec::new());
    let mut there = 0_usize;
    // The threads that did not come back from a task.
    let (mut busy, mut sites) = (BTreeSet::new(), BTreeSet::new());
    for (_, step) in steps {
        match step {
            // Who puts tasks there has none of its own then.
            Step::Put(section) if busy.contains(&section.thread(trace)) => return None,
            Step::Put(_) => there += 1,
            Step::Wait if there > 0 => return None,
            Step::Wait => {}
            Step::Take(section) if there == 0 => free.push(section),
            // Whoever found nothing found that nothing comes any more.
            Step::Take(_) if !free.is_empty() => return None,
            Step::Take(_) => there -= 1,
            Step::Help(section) => {
                let takes = there > 0;
                there -= usize::from(takes);
                let thread = section.thread(trace);
                let comes_back = busy.remove(&thread);
                if takes {
                    busy.insert(thread);
                }
                // At other calls a thread does something else while none is there.
                if takes || comes_back {
                    sites.insert(section.site);
                }
                helps.push(Help { section, takes });
            }
        }
    }
    helps.retain(|help| sites.contains(&help.section.site));
    // Some may be left where the recording ends before the queue does.
    let fits = there == 0 || free.is_empty();
    let holds = fits && waited >= LEAST && helps.iter().any(|help| help.takes);
    holds.then_some((helps, free))
}

/// A thread that helps waits for something that is not known.
struct Unknown;

/// Returns what the thread that helps waits for, if it waits.
fn done<'s>(
    trace: &Trace,
    own: &[&'s Section],
    queue: &Queue<'s>,
    helps: &[Help<'s>],
) -> Result<Option<Done<'s>>, Unknown> {
    let waited = helps.iter().filter_map(|help| help.section.waited);
    let conds: BTreeSet<ObjectId> = waited.collect();
    let threads: BTreeSet<u32> = helps
        .iter()
        .map(|help| help.section.thread(trace))
        .collect();
    let cond = match (conds.first(), conds.len(), threads.len()) {
        (None, ..) => return Ok(None),
        (Some(&cond), 1, 1) => cond,
        _ => return Err(Unknown),
    };
    // Perhaps only the last to be done is told of, but it is counted at the same call.
    let telling = own.iter().filter(|section| {
        let mut signals = section.signals.iter();
        signals.any(|&(signalled, ..)| signalled == cond)
    });
    let sites: BTreeSet<SiteId> = telling.filter_map(|section| section.site).collect();
    let at_these = own.iter().copied();
    let tells: Vec<&Section> = at_these
        .filter(|section| section.site.is_some_and(|site| sites.contains(&site)))
        .collect();
    let by_workers = |section: &&Section| queue.takers.threads.contains(&section.thread(trace));
    let done = Done { cond, tells };
    let holds = done.tells.iter().all(by_workers) && done.explains(queue, helps);
    if holds { Ok(Some(done)) } else { Err(Unknown) }
}

impl Done<'_> {
    /// Returns whether all that was put there is done where a section that helps goes on having found nothing to take.
    fn explains(&self, queue: &Queue<'_>, helps: &[Help<'_>]) -> bool {
        let mut told: Vec<u32> = self.told().map(Told::event).collect();
        told.sort_unstable();
        let mut own = 0;
        helps.iter().all(|help| {
            let end = help.section.unlock;
            let done = told.partition_point(|&event| event < end) + own;
            own += usize::from(help.takes);
            help.takes || done == put_before(queue, end)
        })
    }

    fn told(&self) -> impl Iterator<Item = Told> {
        self.tells.iter().filter_map(|section| {
            let mut signals = section.signals.iter();
            let signal = signals.find(|signal| signal.0 == self.cond);
            section.told_by(signal.map(|signal| signal.1))
        })
    }
}

/// Returns how much was put there before an event.
fn put_before(queue: &Queue<'_>, event: u32) -> usize {
    let puts = &queue.puts;
    puts.partition_point(|section| section.unlock < event)
}

/// Plans what becomes of the sections that help, and of those that tell that tasks are done.
fn plan_helps(
    trace: &Trace,
    own: &[&Section],
    (queue, helps, done): (&Queue<'_>, &[Help<'_>], Option<&Done<'_>>),
    plan: &mut Plan,
) {
    let Some(&tasks) = queue.conds.first() else {
        return;
    };
    // Whether the thread comes back from a task, and how many it knows to be done.
    let (mut has_task, mut known) = (false, 0);
    for help in helps {
        plan.helps(tasks, help.section.thread(trace));
        let mut gifts = Vec::new();
        let mut needs = Vec::new();
        if let Some(done) = done
            && has_task
        {
            gifts.push(Gift::Tokens(done.cond, 1));
        }
        has_task = help.takes;
        if help.takes {
            needs.push(Need::Tokens(tasks, 1));
        } else {
            needs.push(Need::NoToken(tasks));
            if let Some(done) = done {
                let all = put_before(queue, help.section.unlock) as u32;
                needs.push(Need::Tokens(done.cond, all - known));
                known = all;
            }
        }
        plan.give_and_take(help.section, gifts, needs);
    }
    let Some(done) = done else {
        return;
    };
    for section in own {
        let told = section.signals.iter().filter(|told| told.0 == done.cond);
        for &(_, signal, _) in told {
            plan.silence(signal);
        }
        // It was waiting when the recording ended.
        if section.waited == Some(done.cond) && section.unlock == NONE {
            plan.pass(section);
        }
    }
    for told in done.told() {
        plan.tell(told, Gift::Tokens(done.cond, 1));
    }
}
