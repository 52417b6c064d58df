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
//! awake for a broadcast. A thread that is in no course of its own needs what it waited for.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{SiteId, Trace};

use super::{
    Pattern,
    plan::Plan,
    rounds::{LEAST_WAITS, signed},
    sections::{Section, Told, Uses},
};
use crate::lower::NONE;

/// A course has so many steps at least: fewer are no progress that anybody could follow.
const LEAST_STEPS: usize = 4;

/// What one thread told on one condition variable.
struct Course {
    thread: u32,
    steps: Vec<Told>,
}

/// A section that looks how far a course has come.
struct Look<'a> {
    section: &'a Section,
    course: usize,
    /// How many steps there were at its end.
    found: usize,
    /// How many there were when its last wait began, where it waited.
    missed: Option<usize>,
    /// How many steps of its own course its thread had told, where it was in one.
    own: Option<usize>,
}

impl Look<'_> {
    /// Returns how many steps it needs, where those of a course are to be so many ahead of those of the thread's own.
    fn needs(&self, distance: i64) -> usize {
        let needed = match (self.own, self.missed) {
            (Some(told), _) => distance + signed(told),
            (None, Some(missed)) => signed(missed) + 1,
            (None, None) => 0,
        };
        usize::try_from(needed).unwrap_or(0).min(self.found)
    }
}

/// What happens to the condition variables of a group.
#[derive(Clone, Copy)]
enum Step<'a> {
    Tell(usize, &'a Section, Told),
    Wait(usize, &'a Section),
    Look(usize, &'a Section),
}

/// Tests all that no other hypothesis explains, and returns which are progress; plans what becomes of them.
pub(super) fn test(trace: &Trace, unexplained: &[Uses<'_>], plan: &mut Plan) -> Vec<bool> {
    let mut groups: BTreeMap<&BTreeSet<SiteId>, Vec<usize>> = BTreeMap::new();
    for (index, uses) in unexplained.iter().enumerate() {
        let both = uses.waiting.intersection(&uses.signalling).next().is_some();
        if !both && uses.bare.is_empty() && !uses.signalling.is_empty() {
            groups.entry(&uses.signalling).or_default().push(index);
        }
    }
    let mut found = vec![false; unexplained.len()];
    for group in groups.into_values() {
        let uses: Vec<&Uses<'_>> = group.iter().map(|&index| &unexplained[index]).collect();
        if explains(trace, &uses, plan) {
            for index in group {
                found[index] = true;
            }
        }
    }
    found
}

fn explains(trace: &Trace, group: &[&Uses<'_>], plan: &mut Plan) -> bool {
    // A thread may begin the next course where its last one was; the shortest of all is one.
    let Some(length) = follow(trace, group, usize::MAX)
        .and_then(|(courses, _)| courses.iter().map(|course| course.steps.len()).min())
    else {
        return false;
    };
    let Some((courses, mut looks)) = follow(trace, group, length) else {
        return false;
    };
    if length < LEAST_STEPS || courses.iter().any(|course| course.steps.len() < length) {
        return false;
    }
    for look in &mut looks {
        // One that has told all is in none any more.
        look.own = look.own.filter(|&told| told < length);
    }
    let Some(distance) = distance(&looks, length) else {
        return false;
    };
    let needs: Vec<usize> = looks.iter().map(|look| look.needs(distance)).collect();
    // Nobody would end a wait that needs nothing.
    let mut both = looks.iter().zip(&needs);
    if both.any(|(look, &needed)| needed == 0 && look.missed.is_some()) {
        return false;
    }
    for (look, needed) in looks.iter().zip(needs) {
        if let Some(last) = needed.checked_sub(1) {
            plan.follow(look.section, courses[look.course].steps[last]);
        }
    }
    for uses in group {
        plan.tell(uses);
        plan.found(uses.cond, Pattern::Progress);
    }
    true
}

/// Follows the courses of a group, of at most so many steps each, and who looks at them; `None` where somebody waited for no other's
/// course.
fn follow<'a>(
    trace: &Trace,
    group: &[&Uses<'a>],
    length: usize,
) -> Option<(Vec<Course>, Vec<Look<'a>>)> {
    let (mut courses, mut looks) = (Vec::<Course>::new(), Vec::new());
    // The latest course of each condition variable, and of each thread.
    let mut current: Vec<Option<usize>> = vec![None; group.len()];
    let mut own: BTreeMap<u32, usize> = BTreeMap::new();
    // The course that a thread began to wait for, and its steps then.
    let mut waits: BTreeMap<u32, (Option<usize>, usize)> = BTreeMap::new();
    for (_, step) in steps(group) {
        match step {
            Step::Tell(place, section, told) => {
                let thread = section.thread(trace);
                let goes_on = own.get(&thread).copied();
                let goes_on = goes_on.filter(|&course| {
                    current[place] == Some(course) && courses[course].steps.len() < length
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
                let told = current[place].map_or(0, |course| courses[course].steps.len());
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
                    course,
                    found: courses[course].steps.len(),
                    // A wait that began before the course did found nothing of it.
                    missed: waited.map(|(of, told)| if of == Some(course) { told } else { 0 }),
                    own: own.get(&thread).map(|&own| courses[own].steps.len()),
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

/// Returns by how many steps the others have to be ahead of a thread's own course, where all looks agree on that.
fn distance(looks: &[Look<'_>], length: usize) -> Option<i64> {
    let (mut least, mut most, mut waits) = (i64::MIN, i64::MAX, 0);
    for look in looks {
        let Some(told) = look.own else {
            continue;
        };
        if let Some(missed) = look.missed {
            least = least.max(signed(missed) + 1 - signed(told));
            waits += 1;
        }
        if look.found < length {
            most = most.min(signed(look.found) - signed(told));
        }
    }
    (waits >= LEAST_WAITS && least <= most).then_some(least)
}
