//! Progress: some threads tell, step by step, how far they have come, and others keep behind them.
//!
//! Encoders of video do so: before it goes on within a picture, a thread looks whether the picture that it refers to is far
//! enough, and after each row it tells how far its own is. On one CPU most looks find that it is, so that a recording holds few of the
//! waits that there are where both run at the same time, and a broadcast wakes others than it would there.
//!
//! The hypothesis is about condition variables whose sections tell at the same places. What a thread tells on one of them with nothing
//! told on another in between is a *course*, or several, one after the other; all courses have as many steps. A thread that has told `r` steps of a course of
//! its own needs `r + c` steps of the other, or all; with one `c` for all of them. A wait says that there were fewer, a look
//! that went on that there were as many: where one `c` fits them all, each look needs its step, and no thread has to be
//! awake for a broadcast.
//!
//! Who works on a picture that no other refers to tells nothing, but looks at others all the same. How far it has come is told by how often it has looked:
//! where it looks `n` times at a course of `s` steps, with nothing else in between, it has done `k s / n` steps at its look `k`. That is good to some
//! steps only, as not all rows look equally often, and is never taken to need more than there was, nor less than it waited for. A thread of
//! which neither is known needs what it waited for.
//!
//! Courses that nobody had to wait for in the recording are followed as well, where the calls are those of others.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{ObjectId, Operation as Op, SiteId, Trace};

use super::{
    Pattern,
    plan::Plan,
    rounds::LEAST_WAITS,
    sections::{Section, Sections, Told, Uses},
};
use crate::lower::NONE;

/// A course has so many steps at least: fewer are no progress that anybody could follow.
const LEAST_STEPS: u32 = 4;

/// What one thread told on one condition variable.
struct Course {
    thread: u32,
    steps: Vec<Told>,
}

impl Course {
    /// Returns how many steps there are so far.
    fn length(&self) -> u32 {
        self.steps.len() as u32
    }
}

/// A section that looks how far a course has come.
struct Look<'a> {
    section: &'a Section,
    course: u32,
    /// How many steps there were at its end.
    found: u32,
    /// How many there were when its last wait began, where it waited.
    missed: Option<u32>,
    /// How many steps of its own course its thread had told, where it was in one.
    own: Option<u32>,
    /// About how many it would have told, by how often it had looked.
    paced: Option<u32>,
}

impl Look<'_> {
    /// Returns how many steps it needs, where those of a course are to be so many ahead of a thread.
    fn needs(&self, distance: i64) -> u32 {
        let least = self.missed.map_or(0, |missed| missed + 1);
        let told = self.own.or(self.paced);
        let needed = told.map_or(0, |told| {
            u32::try_from(distance + i64::from(told)).unwrap_or(0)
        });
        needed.max(least).min(self.found)
    }
}

/// What happens to the condition variables of a group.
#[derive(Clone, Copy)]
enum Step<'a> {
    Tell(usize, &'a Section, Told),
    Wait(usize, &'a Section),
    Look(usize, &'a Section),
}

/// Tests all that no other hypothesis explains, and returns which are progress, and which others are that nobody waited on, with the calls that look
/// at them; plans what becomes of them.
pub(super) fn test(
    trace: &Trace,
    sections: &Sections,
    unexplained: &[Uses<'_>],
    plan: &mut Plan,
) -> (Vec<bool>, Vec<(ObjectId, Vec<SiteId>)>) {
    let mut groups: BTreeMap<&BTreeSet<SiteId>, Vec<usize>> = BTreeMap::new();
    for (index, uses) in unexplained.iter().enumerate() {
        let both = uses.waiting.intersection(&uses.signalling).next().is_some();
        if !both && uses.bare.is_empty() && !uses.signalling.is_empty() {
            groups.entry(&uses.signalling).or_default().push(index);
        }
    }
    let mut found = vec![false; unexplained.len()];
    let mut others = Vec::new();
    for group in groups.into_values() {
        let mut uses: Vec<&Uses<'_>> = group.iter().map(|&index| &unexplained[index]).collect();
        let looking: BTreeSet<SiteId> = uses
            .iter()
            .flat_map(|uses| &uses.waiting)
            .copied()
            .collect();
        let unawaited = sections.unawaited(uses[0], &looking);
        let awaited = uses.len();
        uses.extend(&unawaited);
        let all = explains(trace, &uses, plan);
        if all {
            let sites: Vec<SiteId> = looking.into_iter().collect();
            others.extend(unawaited.iter().map(|uses| (uses.cond, sites.clone())));
        }
        if all || !unawaited.is_empty() && explains(trace, &uses[..awaited], plan) {
            for index in group {
                found[index] = true;
            }
        }
    }
    (found, others)
}

fn explains(trace: &Trace, group: &[&Uses<'_>], plan: &mut Plan) -> bool {
    // A thread may begin the next course where its last one was; the shortest of all is one.
    let Some(length) = follow(trace, group, u32::MAX)
        .and_then(|(courses, _)| courses.iter().map(Course::length).min())
    else {
        return false;
    };
    let Some((courses, mut looks)) = follow(trace, group, length) else {
        return false;
    };
    if length < LEAST_STEPS || courses.iter().any(|course| course.length() < length) {
        return false;
    }
    for look in &mut looks {
        // One that has told all is in none any more.
        look.own = look.own.filter(|&told| told < length);
    }
    pace(trace, group, &mut looks, length);
    let distance = distance(&looks, length).or_else(|| usual_distance(&looks, length));
    let Some(distance) = distance else {
        return false;
    };
    let needs: Vec<u32> = looks.iter().map(|look| look.needs(distance)).collect();
    // Nobody would end a wait that needs nothing.
    let mut both = looks.iter().zip(&needs);
    if both.any(|(look, &needed)| needed == 0 && look.missed.is_some()) {
        return false;
    }
    for (look, needed) in looks.iter().zip(needs) {
        if let Some(last) = needed.checked_sub(1) {
            plan.follow(
                look.section,
                courses[look.course as usize].steps[last as usize],
            );
        }
    }
    for uses in group {
        plan.tell_otherwise(uses);
        plan.stays(uses.cond, Pattern::Progress);
    }
    true
}

/// Follows the courses of a group, of at most so many steps each, and who looks at them; `None` where somebody waited for no other's
/// course.
fn follow<'a>(
    trace: &Trace,
    group: &[&Uses<'a>],
    length: u32,
) -> Option<(Vec<Course>, Vec<Look<'a>>)> {
    let (mut courses, mut looks) = (Vec::<Course>::new(), Vec::new());
    // The latest course of each condition variable, and of each thread.
    let mut current: Vec<Option<usize>> = vec![None; group.len()];
    let mut own: BTreeMap<u32, usize> = BTreeMap::new();
    // The course that a thread began to wait for, and its steps then.
    let mut waits: BTreeMap<u32, (Option<usize>, u32)> = BTreeMap::new();
    for (_, step) in steps(group) {
        match step {
            Step::Tell(place, section, told) => {
                let thread = section.thread(trace);
                let goes_on = own.get(&thread).copied();
                let goes_on = goes_on.filter(|&course| {
                    current[place] == Some(course) && courses[course].length() < length
                });
                let course = goes_on.unwrap_or_else(|| {
                    courses.push(Course {
                        thread,
                        steps: Vec::new(),
                    });
                    courses.len() - 1
                });
                courses[course].steps.push(told);
                current[place] = Some(course);
                own.insert(thread, course);
            }
            Step::Wait(place, section) => {
                let told = current[place].map_or(0, |course| courses[course].length());
                waits.insert(section.thread(trace), (current[place], told));
            }
            Step::Look(place, section) => {
                let thread = section.thread(trace);
                let waited = waits.remove(&thread);
                let Some(course) =
                    current[place].filter(|&course| courses[course].thread != thread)
                else {
                    if waited.is_some() {
                        return None;
                    }
                    continue;
                };
                looks.push(Look {
                    section,
                    course: course as u32,
                    found: courses[course].length(),
                    // A wait that began before the course did found nothing of it.
                    missed: waited.map(|(of, told)| if of == Some(course) { told } else { 0 }),
                    own: own.get(&thread).map(|&own| courses[own].length()),
                    paced: None,
                });
            }
        }
    }
    Some((courses, looks))
}

/// Lists what happens to a group, in order.
fn steps<'a>(group: &[&Uses<'a>]) -> Vec<(u32, Step<'a>)> {
    let mut steps = Vec::new();
    for (place, uses) in group.iter().enumerate() {
        for &section in &uses.sections {
            if uses.is_waiting_site(section) {
                let waits = section.waits.iter();
                steps.extend(waits.map(|&(wait, _)| (wait, Step::Wait(place, section))));
                if section.unlock != NONE {
                    steps.push((section.unlock, Step::Look(place, section)));
                }
            } else if let Some(told) = uses.told(section) {
                steps.push((told.event(), Step::Tell(place, section, told)));
            }
        }
    }
    steps.sort_by_key(|&(event, _)| event);
    steps
}

/// Finds out about how far threads have come, by how often they look at one course.
fn pace(trace: &Trace, group: &[&Uses<'_>], looks: &mut [Look<'_>], length: u32) {
    let stretches = stretches(trace, group, looks);
    let together =
        |look: &Look<'_>, stretch: u32| (look.section.thread(trace), stretch, look.course);
    let mut counts: BTreeMap<(u32, u32, u32), u64> = BTreeMap::new();
    for (look, &stretch) in looks.iter().zip(&stretches) {
        *counts.entry(together(look, stretch)).or_default() += look.section.times;
    }
    // Who looks less often does not follow it step by step.
    let length = u64::from(length);
    counts.retain(|_, all| *all >= length);
    let mut so_far: BTreeMap<(u32, u32, u32), u64> = BTreeMap::new();
    for (look, &stretch) in looks.iter_mut().zip(&stretches) {
        let of = together(look, stretch);
        if let Some(&all) = counts.get(&of) {
            let number = so_far.entry(of).or_default();
            let step = *number * length / all;
            look.paced = u32::try_from(step).ok();
            *number += look.section.times;
        }
    }
}

/// Returns for each look how often its thread did something else before than what concerns the group.
fn stretches(trace: &Trace, group: &[&Uses<'_>], looks: &[Look<'_>]) -> Vec<u32> {
    let mut concerned = vec![false; trace.objects.len()];
    for uses in group {
        concerned[uses.cond.index()] = true;
        for section in &uses.sections {
            concerned[section.mutex.index()] = true;
        }
    }
    let mut others = vec![0; trace.threads.len()];
    let mut stretches = Vec::with_capacity(looks.len());
    let mut ends = looks.iter().map(|look| look.section.unlock).peekable();
    for (index, event) in (0..).zip(&trace.events) {
        let call = trace.call(event);
        let concerns = match call.operation {
            Op::Lock(object)
            | Op::TryLock(object)
            | Op::Unlock(object)
            | Op::CondSignal(object)
            | Op::CondBroadcast(object)
            | Op::CondWait { cond: object, .. }
            | Op::LockSections { mutex: object, .. } => concerned[object.index()],
            operation => operation == Op::Return,
        };
        others[call.thread.index()] += u32::from(!concerns);
        while ends.next_if_eq(&index).is_some() {
            stretches.push(others[call.thread.index()]);
        }
    }
    stretches
}

/// Returns by how many steps the others have to be ahead of a thread's own course, where all looks agree on that.
fn distance(looks: &[Look<'_>], length: u32) -> Option<i64> {
    let (least, most, waits) = bounds(looks, length);
    (waits >= LEAST_WAITS && least <= most).then_some(least)
}

/// Returns the least and the most that others may have to be ahead of a thread's own course, and how many waits say so.
fn bounds(looks: &[Look<'_>], length: u32) -> (i64, i64, usize) {
    let (mut least, mut most, mut waits) = (i64::MIN, i64::MAX, 0);
    for look in looks {
        let Some(told) = look.own else {
            continue;
        };
        if let Some(missed) = look.missed {
            least = least.max(i64::from(missed) + 1 - i64::from(told));
            waits += 1;
        }
        if look.found < length {
            most = most.min(i64::from(look.found) - i64::from(told));
        }
    }
    (least, most, waits)
}

/// Returns by how many steps the others have to be ahead where too few threads waited that tell steps of their own: what most waits of
/// the others say, if nearly all say about the same, and nothing is against it.
fn usual_distance(looks: &[Look<'_>], length: u32) -> Option<i64> {
    let mut says: BTreeMap<i64, usize> = BTreeMap::new();
    for look in looks.iter().filter(|look| look.own.is_none()) {
        if let (Some(paced), Some(missed)) = (look.paced, look.missed) {
            *says
                .entry(i64::from(missed) + 1 - i64::from(paced))
                .or_default() += 1;
        }
    }
    let (&usual, &often) = says.iter().rev().max_by_key(|(_, often)| **often)?;
    let near = i64::from(length / 10).max(1);
    let agree: usize = says
        .range(usual - near..=usual + near)
        .map(|(_, often)| often)
        .sum();
    let all: usize = says.values().sum();
    // Where nobody looks who tells steps of its own, nobody keeps behind anybody.
    let follows = looks.iter().any(|look| look.own.is_some());
    let (least, most, _) = bounds(looks, length);
    let fits = follows && least <= usual && usual <= most && agree * 4 >= all * 3;
    (often >= LEAST_WAITS && fits).then_some(usual)
}
