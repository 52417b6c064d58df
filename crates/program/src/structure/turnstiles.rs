//! Barriers that programs make of a count and semaphores: each thread counts itself under a lock, the last of all posts, and all wait for a token,
//! which each either keeps or hands on to the next (a turnstile).
//!
//! The hypothesis is about the waits of one call and the sections of a lock at another call right before them: of always as many such sections by
//! different threads the last one posts, not always the same, and no other does. What closes such a turnstile again, for the next time, has to be done by those that open
//! another.
//!
//! # Source
//!
//! `docs/models.md`, "Structure".

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{ObjectId, Operation as Op, Outcome, SiteId, Trace};

use super::{
    Pattern, Structure,
    plan::{Gift, Plan},
    token_locks::{TokenLocks, answer},
};
use crate::{events::Following, lower::NONE};

/// A section of a lock, as far as it matters here.
#[derive(Clone, Copy)]
struct Section {
    lock: ObjectId,
    site: SiteId,
    thread: u32,
    /// The event by which the lock was held, which no other section has.
    held: u32,
    /// The event of its end; [`NONE`] before that.
    end: u32,
}

/// A wait for a token.
struct Take {
    semaphore: ObjectId,
    site: Option<SiteId>,
    /// The events of its call and of its return, [`NONE`] where it did not block.
    event: u32,
    back: u32,
    /// The section of its thread before it, or in which it is.
    section: Option<u32>,
    /// The post by which the thread handed the token on at once.
    handed_on: Option<u32>,
}

/// A token that was given by somebody who had not just taken it.
struct Post {
    semaphore: ObjectId,
    event: u32,
    section: Option<u32>,
}

/// All that happens to semaphores, in the order of the recording.
struct Uses {
    sections: BTreeMap<u32, Section>,
    takes: Vec<Take>,
    posts: Vec<Post>,
    /// How often a lock was acquired at each call.
    times: BTreeMap<SiteId, usize>,
    /// Semaphores to which something else happens.
    odd: BTreeSet<ObjectId>,
}

/// What each of a barrier's threads does to meet the others once.
#[derive(Default)]
struct Arrival {
    take: Option<usize>,
    posts: Vec<usize>,
}

/// A barrier.
struct Barrier {
    site: SiteId,
    threads: usize,
    semaphores: BTreeSet<ObjectId>,
    /// By the section of each.
    arrivals: BTreeMap<u32, Arrival>,
    /// Takes elsewhere.
    closing: Vec<usize>,
}

/// Finds all such barriers, and plans what becomes of them.
pub(super) fn recognize(
    trace: &Trace,
    locks: &TokenLocks,
    structures: &mut Vec<Structure>,
    plan: &mut Plan,
) {
    let uses = Uses::collect(trace, locks);
    let sites: BTreeSet<SiteId> = uses.takes.iter().filter_map(|take| take.site).collect();
    let mut barriers: Vec<Barrier> = sites
        .into_iter()
        .filter_map(|site| uses.barrier(site))
        .collect();
    loop {
        let opening: BTreeSet<u32> = barriers.iter().flat_map(Barrier::opening).collect();
        let before = barriers.len();
        barriers.retain(|barrier| {
            let mut closing = barrier.closing.iter().map(|&take| &uses.takes[take]);
            closing.all(|take| {
                let section = take.section.filter(|section| opening.contains(section));
                section.is_some_and(|section| take.event < uses.sections[&section].end)
            })
        });
        if barriers.len() == before {
            break;
        }
    }
    for barrier in &barriers {
        structures.extend(uses.plan(barrier, plan));
    }
}

impl Barrier {
    /// Returns the sections in which threads let the others go on.
    fn opening(&self) -> impl Iterator<Item = u32> {
        let arrivals = self.arrivals.iter();
        arrivals
            .filter(|(_, arrival)| !arrival.posts.is_empty())
            .map(|(&section, _)| section)
    }
}

impl Uses {
    fn collect(trace: &Trace, locks: &TokenLocks) -> Self {
        let next = &locks.next;
        let mut uses = Self {
            sections: BTreeMap::new(),
            takes: Vec::new(),
            posts: Vec::new(),
            times: BTreeMap::new(),
            odd: BTreeSet::new(),
        };
        let mut latest: Vec<Option<Section>> = vec![None; trace.threads.len()];
        // What each thread took last, if it did nothing to locks and semaphores since.
        let mut just_taken: Vec<Option<usize>> = vec![None; trace.threads.len()];
        for (index, event) in (0..).zip(&trace.events) {
            let call = trace.call(event);
            let thread = call.thread.0;
            let own = &mut latest[call.thread.index()];
            let just_taken = &mut just_taken[call.thread.index()];
            match call.operation {
                Op::Lock(lock) => {
                    *own = uses.begin(lock, call.site, thread, (trace, next, index));
                    *just_taken = None;
                }
                Op::SemWait(lock) if locks.contains(lock) => {
                    *own = uses.begin(lock, call.site, thread, (trace, next, index));
                    *just_taken = None;
                }
                Op::SemPost(lock) if locks.contains(lock) => {
                    uses.end(own, lock, index);
                    *just_taken = None;
                }
                Op::Unlock(lock) => {
                    uses.end(own, lock, index);
                    *just_taken = None;
                }
                Op::SemWait(semaphore) => {
                    let (back, outcome) = answer(trace, next.after(index as usize));
                    if outcome.unwrap_or(call.outcome) != Outcome::Success {
                        uses.odd.insert(semaphore);
                    }
                    *just_taken = Some(uses.takes.len());
                    let section = uses.note(*own);
                    uses.takes.push(Take {
                        semaphore,
                        site: call.site,
                        event: index,
                        back,
                        section,
                        handed_on: None,
                    });
                }
                Op::SemPost(semaphore) => {
                    let taken = just_taken.take();
                    let taken = taken.filter(|&take| uses.takes[take].semaphore == semaphore);
                    if let Some(take) = taken {
                        uses.takes[take].handed_on = Some(index);
                    } else {
                        let section = uses.note(*own);
                        uses.posts.push(Post {
                            semaphore,
                            event: index,
                            section,
                        });
                    }
                }
                Op::SemTryWait(semaphore) | Op::SemTimedWait(semaphore) => {
                    uses.odd.insert(semaphore);
                }
                _ => {}
            }
        }
        uses
    }

    fn begin(
        &mut self,
        lock: ObjectId,
        site: Option<SiteId>,
        thread: u32,
        (trace, next, index): (&Trace, &Following, u32),
    ) -> Option<Section> {
        let site = site?;
        *self.times.entry(site).or_default() += 1;
        let (back, _) = answer(trace, next.after(index as usize));
        Some(Section {
            lock,
            site,
            thread,
            held: if back == NONE { index } else { back },
            end: NONE,
        })
    }

    /// The latest section of a thread ends, if it is one of this lock.
    fn end(&mut self, latest: &mut Option<Section>, lock: ObjectId, end: u32) {
        let Some(section) = latest.as_mut().filter(|section| section.lock == lock) else {
            return;
        };
        section.end = end;
        if let Some(known) = self.sections.get_mut(&section.held) {
            known.end = end;
        }
    }

    /// Notes a section that matters.
    fn note(&mut self, section: Option<Section>) -> Option<u32> {
        let section = section?;
        self.sections.insert(section.held, section);
        Some(section.held)
    }

    /// Returns the barrier whose threads wait at a call, if there is one.
    fn barrier(&self, site: SiteId) -> Option<Barrier> {
        let mut arrivals: BTreeMap<u32, Arrival> = BTreeMap::new();
        let waits = || self.takes.iter().enumerate();
        let is_here = |take: &Take| take.site == Some(site);
        for (index, _) in waits().filter(|(_, take)| is_here(take)) {
            let arrival = arrivals.entry(self.takes[index].section?).or_default();
            if arrival.take.replace(index).is_some() {
                return None;
            }
        }
        let here = self.takes.iter().filter(|take| is_here(take));
        let semaphores: BTreeSet<ObjectId> = here.map(|take| take.semaphore).collect();
        if !semaphores.is_disjoint(&self.odd) {
            return None;
        }
        for (index, post) in self.posts.iter().enumerate() {
            if semaphores.contains(&post.semaphore) {
                arrivals.entry(post.section?).or_default().posts.push(index);
            }
        }
        let sections = || arrivals.keys().map(|held| &self.sections[held]);
        let first = sections().next()?;
        let is_like_first =
            |section: &Section| section.site == first.site && section.lock == first.lock;
        let threads: BTreeSet<u32> = sections().map(|section| section.thread).collect();
        let threads = threads.len();
        let closing =
            waits().filter(|(_, take)| semaphores.contains(&take.semaphore) && !is_here(take));
        let barrier = Barrier {
            site,
            threads,
            closing: closing.map(|(index, _)| index).collect(),
            semaphores,
            arrivals,
        };
        // Where it is always the same that lets the others go on, it may not wait for them.
        let opening = barrier.opening().map(|held| self.sections[&held].thread);
        let openers: BTreeSet<u32> = opening.collect();
        let arrivals: Vec<(&u32, &Arrival)> = barrier.arrivals.iter().collect();
        let explains = openers.len() >= 2
            && arrivals.len() >= 2 * threads
            && arrivals.len().is_multiple_of(threads)
            && self.times.get(&first.site) == Some(&arrivals.len())
            && arrivals.iter().all(|(held, _)| {
                let section = &self.sections[*held];
                is_like_first(section) && section.end != NONE
            })
            && arrivals.chunks(threads).all(|round| self.is_round(round));
        explains.then_some(barrier)
    }

    /// Returns whether all threads come, one after the other, and the last lets all of them go on.
    fn is_round(&self, round: &[(&u32, &Arrival)]) -> bool {
        let threads = round.iter().map(|(held, _)| self.sections[*held].thread);
        let Some(((_, last), others)) = round.split_last() else {
            return false;
        };
        let posts = last.posts.iter().map(|&post| self.posts[post].semaphore);
        let opened: BTreeSet<ObjectId> = posts.collect();
        let takes = || round.iter().filter_map(|(_, arrival)| arrival.take);
        let hands_on = |take: usize| self.takes[take].handed_on.is_some();
        let enough = if takes().all(hands_on) {
            last.posts.len() == 1 && last.take.is_some()
        } else {
            last.posts.len() == takes().count() && !takes().any(hands_on)
        };
        enough
            && threads.collect::<BTreeSet<u32>>().len() == round.len()
            && others
                .iter()
                .all(|(_, arrival)| arrival.posts.is_empty() && arrival.take.is_some())
            && opened.len() == 1
            && takes().all(|take| opened.contains(&self.takes[take].semaphore))
    }

    /// Plans what becomes of a barrier's events.
    fn plan(&self, barrier: &Barrier, plan: &mut Plan) -> Option<Structure> {
        let threads = u32::try_from(barrier.threads).ok()?;
        let &object = barrier.semaphores.first()?;
        let made = plan.new_barrier(object, "barrier", threads);
        let closing = barrier.closing.iter().map(|&take| &self.takes[take]);
        for take in closing.chain(self.takes_of(barrier)) {
            plan.silence(take.event);
            if let Some(post) = take.handed_on {
                plan.silence(post);
            }
            if take.back != NONE {
                plan.wakes(take.back, made);
            }
        }
        for (held, arrival) in &barrier.arrivals {
            let posts = arrival.posts.iter().map(|&post| self.posts[post].event);
            let last_post = posts.clone().max();
            posts.for_each(|post| plan.silence(post));
            let end = self.sections[held].end;
            match (arrival.take, last_post) {
                (Some(take), _) => {
                    plan.give_bare(self.takes[take].event, Gift::Arrival(made));
                }
                (None, Some(post)) if post > end => plan.give_bare(post, Gift::Arrival(made)),
                (None, _) => plan.arrive_after(end, made),
            }
        }
        let waits = self.takes_of(barrier).filter(|take| take.back != NONE);
        Some(Structure {
            object,
            pattern: Some(Pattern::Barrier { threads }),
            sites: vec![barrier.site],
            waits: waits.count() as u64,
            given_up: 0,
        })
    }

    fn takes_of<'a>(&'a self, barrier: &'a Barrier) -> impl Iterator<Item = &'a Take> {
        let arrivals = barrier.arrivals.values();
        arrivals.filter_map(|arrival| arrival.take.map(|take| &self.takes[take]))
    }
}
