//! The file as it is written: its tables and keys. What they mean is in `docs/machine.md`.

use foretrace_sim::{Handover, SchedulerKind};
use serde::Deserialize;
use toml::Spanned;

use crate::values::{Bandwidth, Count, Priority, Share, Slice, Speed, Throughput, Time};

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct File {
    pub cpus: Cpus,
    pub scheduler: Scheduler,
    pub locks: Locks,
    pub costs: CostTable,
    pub memory: MemoryTable,
    pub threads: Threads,
    pub thread: Vec<Spanned<ThreadRule>>,
}

/// `[cpus]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[serde(expecting = "a table, [cpus]")]
pub(crate) struct Cpus {
    pub count: Option<Spanned<Count>>,
    pub speeds: Option<Spanned<Vec<Speed>>>,
    pub migration: Option<Time>,
    pub smt: Option<Spanned<Smt>>,
    pub sockets: Option<Spanned<Sockets>>,
    pub group: Vec<Spanned<Group>>,
}

/// `[[cpus.group]]`: CPUs that are alike.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(expecting = "a table, [[cpus.group]]")]
pub(crate) struct Group {
    pub count: Count,
    pub speed: Option<Speed>,
    pub smt: Option<Spanned<Smt>>,
}

/// `[cpus.smt]`: CPUs that share a core.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[serde(expecting = "a table, [cpus.smt]")]
pub(crate) struct Smt {
    pub ways: Count,
    pub throughput: Throughput,
}

impl Default for Smt {
    fn default() -> Self {
        Self {
            ways: Count(2),
            throughput: Throughput::USUAL,
        }
    }
}

impl Smt {
    /// Returns what a core is whose CPU it has for itself.
    pub fn alone() -> Self {
        Self {
            ways: Count(1),
            throughput: Throughput::ONE,
        }
    }
}

/// `[cpus.sockets]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(expecting = "a table, [cpus.sockets]")]
pub(crate) struct Sockets {
    pub count: Count,
    pub migration: Option<Time>,
}

/// `[scheduler]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[serde(expecting = "a table, [scheduler]")]
pub(crate) struct Scheduler {
    pub kind: Option<SchedulerName>,
    /// The quantum of round-robin is the same thing by its other name.
    #[serde(alias = "quantum")]
    pub slice: Option<Slice>,
    pub wakeup_preemption: Option<bool>,
    pub run_queues: Option<bool>,
    pub idle_search: Option<bool>,
    pub idle_search_from: Option<Share>,
    pub idle_balance: Option<Time>,
    pub idle_takes: Option<Share>,
}

/// Who runs when there are more threads than CPUs.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SchedulerName {
    Priority,
    Fair,
    RoundRobin,
}

impl From<SchedulerName> for SchedulerKind {
    fn from(name: SchedulerName) -> Self {
        match name {
            SchedulerName::Priority => Self::Priority,
            SchedulerName::Fair => Self::Fair,
            SchedulerName::RoundRobin => Self::RoundRobin,
        }
    }
}

/// `[locks]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[serde(expecting = "a table, [locks]")]
pub(crate) struct Locks {
    pub handover: Option<HandoverName>,
}

/// Who gets a lock that is given up.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HandoverName {
    Barging,
    FirstCome,
}

impl From<HandoverName> for Handover {
    fn from(name: HandoverName) -> Self {
        match name {
            HandoverName::Barging => Self::Barging,
            HandoverName::FirstCome => Self::FirstCome,
        }
    }
}

/// `[costs]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[serde(expecting = "a table, [costs]")]
pub(crate) struct CostTable {
    pub wake_latency: Option<Time>,
    pub shallow_latency: Option<Time>,
    pub shallow_idle: Option<Time>,
    pub wake_cost: Option<Time>,
    pub preempt_cost: Option<Time>,
    pub block_cost: Option<Time>,
    pub lock_transfer: Option<Time>,
    pub call_cost: Option<Time>,
    pub offer_cost: Option<Time>,
    pub remap_cost: Option<Time>,
    pub switch_cost: Option<Time>,
    pub create_cost: Option<Time>,
    pub team_spin: Option<Time>,
    pub team_latency: Option<Time>,
}

/// `[memory]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[serde(expecting = "a table, [memory]")]
pub(crate) struct MemoryTable {
    pub bandwidth: Option<Bandwidth>,
    pub bound: Option<Share>,
    pub refill: Option<Share>,
}

/// `[threads]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[serde(expecting = "a table, [threads]")]
pub(crate) struct Threads {
    pub limit: Option<Count>,
}

/// `[[thread]]`: what is said of the threads of a name, or of one by its number.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[serde(expecting = "a table, [[thread]]")]
pub(crate) struct ThreadRule {
    pub name: Option<String>,
    pub number: Option<u32>,
    pub priority: Option<Spanned<Priority>>,
    pub cpu: Option<Spanned<u32>>,
}

impl ThreadRule {
    /// Returns whether another rule says another priority.
    pub fn priority_overruled_by(&self, other: &Self) -> bool {
        let said = |rule: &Self| rule.priority.as_ref().map(|said| said.get_ref().0);
        said(self).is_some_and(|own| said(other).is_some_and(|other| other != own))
    }

    /// Returns whether another rule names another CPU.
    pub fn cpu_overruled_by(&self, other: &Self) -> bool {
        let said = |rule: &Self| rule.cpu.as_ref().map(|said| *said.get_ref());
        said(self).is_some_and(|own| said(other).is_some_and(|other| other != own))
    }

    /// Returns whether it is about this thread.
    pub fn is_about(&self, index: usize, name: &str) -> bool {
        let by_name = self.name.as_ref().is_none_or(|glob| matches(glob, name));
        by_name && self.number.is_none_or(|number| number as usize == index)
    }
}

/// Returns whether a name is one that a pattern stands for, in which `*` is any letters and `?` any letter.
fn matches(glob: &str, name: &str) -> bool {
    let glob: Vec<char> = glob.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut in_glob, mut in_name) = (0, 0);
    // Behind the last `*` passed, and where in the name the letters begin that it does not stand for: fewer are of no use to those before.
    let mut star = None;
    while in_name < name.len() {
        match glob.get(in_glob) {
            Some('*') => {
                in_glob += 1;
                star = Some((in_glob, in_name));
            }
            Some(&letter) if letter == '?' || letter == name[in_name] => {
                in_glob += 1;
                in_name += 1;
            }
            _ => {
                let Some((behind, from)) = star else {
                    return false;
                };
                star = Some((behind, from + 1));
                (in_glob, in_name) = (behind, from + 1);
            }
        }
    }
    glob[in_glob..].iter().all(|&letter| letter == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_stand_for_names() {
        for (glob, name) in [
            ("T1", "T1"),
            ("*", ""),
            ("w*r?", "worker7"),
            ("*:T1", "a:b:T1"),
            ("*ab*b", "aabab"),
            ("a*", "a"),
        ] {
            assert!(matches(glob, name), "{glob} {name}");
        }
        for (glob, name) in [("T1", "T11"), ("", "T1"), ("w?", "w"), ("*r", "rs")] {
            assert!(!matches(glob, name), "{glob} {name}");
        }
    }
}
