//! Which lanes are seen, in what order, under which headings: grouping, sorting, filtering, hiding, and where rows lie.

use std::{
    cmp::{Ordering, Reverse},
    collections::BTreeSet,
    ops::Range,
};

use serde::{Deserialize, Serialize};

/// What lanes are arranged by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaneFacts {
    /// The thread's name.
    pub name: String,
    /// The name of its process.
    pub process: String,
    /// The name of its start routine, where that is known.
    pub routine: Option<String>,
    /// How many operations it did.
    pub operations: usize,
    /// When it was born.
    pub born: u64,
    /// How long it ran.
    pub running: u64,
    /// How long it wanted a CPU.
    pub ready: u64,
    /// How long it was blocked.
    pub blocked: u64,
}

/// What lanes are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// As in the trace.
    #[default]
    Trace,
    /// By name, numbers by their value.
    Name,
    /// By birth.
    Born,
    /// Those that ran longest first.
    Running,
    /// Those that wanted a CPU longest first.
    Ready,
    /// Those that were blocked longest first.
    Blocked,
}

impl Order {
    /// All orders, as menus list them.
    pub const ALL: [Self; 6] = [
        Self::Trace,
        Self::Name,
        Self::Born,
        Self::Running,
        Self::Ready,
        Self::Blocked,
    ];

    /// Returns its name for menus.
    pub fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace order",
            Self::Name => "name",
            Self::Born => "birth",
            Self::Running => "running time",
            Self::Ready => "ready time",
            Self::Blocked => "blocked time",
        }
    }
}

/// How lanes are arranged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a choice of its own in the window"
)]
pub struct Arrangement {
    /// Whether threads are shown.
    pub threads: bool,
    /// Whether CPUs are shown.
    pub cpus: bool,
    /// Whether lanes stand under headings of their processes and start routines.
    pub grouped: bool,
    /// The order within a group.
    pub order: Order,
    /// What a lane's name, start routine or process must contain, in whatever case.
    pub filter: String,
    /// Whether lanes that did nothing but begin and end are left out.
    pub hide_quiet: bool,
    /// Lanes that are left out.
    pub hidden: BTreeSet<usize>,
    /// The groups that are folded, by their keys.
    pub collapsed: BTreeSet<String>,
}

impl Default for Arrangement {
    fn default() -> Self {
        Self {
            threads: true,
            cpus: false,
            grouped: true,
            order: Order::Trace,
            filter: String::new(),
            hide_quiet: false,
            hidden: BTreeSet::new(),
            collapsed: BTreeSet::new(),
        }
    }
}

/// What a row shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// A heading of a group.
    Group {
        /// What names it among all groups.
        key: String,
        /// What is written.
        title: String,
        /// Its lanes, also when they are folded away.
        lanes: Vec<usize>,
        /// Whether they are.
        collapsed: bool,
        /// How deep it lies in others.
        depth: usize,
    },
    /// A thread.
    Lane(usize),
    /// A CPU.
    Cpu(usize),
}

/// A row and where it lies.
#[derive(Clone, Debug, PartialEq)]
pub struct RowSlot {
    /// What it shows.
    pub kind: RowKind,
    /// Its upper edge.
    pub top: f32,
    /// Its height.
    pub height: f32,
}

/// How high rows are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heights {
    /// Of threads and CPUs.
    pub lane: f32,
    /// Of headings.
    pub group: f32,
}

/// All rows, from top to bottom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arranged {
    rows: Vec<RowSlot>,
    of_lane: Vec<Option<usize>>,
    height: f32,
}

/// As many lanes need no headings where there is but one process.
const FEW: usize = 6;

/// Arranges lanes and so many CPUs.
pub fn arrange(lanes: &[LaneFacts], cpus: usize, how: &Arrangement, heights: Heights) -> Arranged {
    let mut arranged = Arranged {
        of_lane: vec![None; lanes.len()],
        ..Arranged::default()
    };
    let mut shown: Vec<usize> = (0..lanes.len())
        .filter(|&lane| how.threads && is_shown(lane, &lanes[lane], how))
        .collect();
    sort(&mut shown, lanes, how.order);
    if how.cpus {
        let key = "CPUs".to_owned();
        let collapsed = how.collapsed.contains(&key);
        arranged.push_group(
            key,
            format!("{cpus} CPUs"),
            Vec::new(),
            collapsed,
            0,
            heights,
        );
        for cpu in 0..if collapsed { 0 } else { cpus } {
            arranged.push(RowKind::Cpu(cpu), heights.lane);
        }
    }
    if how.grouped {
        push_groups(&mut arranged, &shown, lanes, how, heights);
    } else {
        for lane in shown {
            arranged.push(RowKind::Lane(lane), heights.lane);
        }
    }
    arranged
}

fn push_groups(
    arranged: &mut Arranged,
    shown: &[usize],
    lanes: &[LaneFacts],
    how: &Arrangement,
    heights: Heights,
) {
    let processes = split(shown, |lane| lanes[lane].process.clone());
    // Ranks are processes of one lane each: headings would only repeat the lanes' names.
    let is_alone = |(process, of): &(String, Vec<usize>)| {
        of.len() == 1 && of.iter().all(|lane| lanes[*lane].name == *process)
    };
    let several = processes.len() > 1 && !processes.iter().all(is_alone);
    for (process, of_process) in processes {
        let key = format!("process {process}");
        let folded = several && how.collapsed.contains(&key);
        if several {
            let title = format!("{process}  ({})", of_process.len());
            arranged.push_group(key, title, of_process.clone(), folded, 0, heights);
        }
        if folded {
            continue;
        }
        let routine = |lane: usize| lanes[lane].routine.clone().unwrap_or_default();
        let routines = split(&of_process, routine);
        let plain = routines.len() == 1 || of_process.len() <= FEW;
        for (routine, of_routine) in routines {
            // A heading above a single thread says nothing that the thread's own name does not.
            if plain || of_routine.len() == 1 {
                for lane in of_routine {
                    arranged.push(RowKind::Lane(lane), heights.lane);
                }
                continue;
            }
            let key = format!("routine {process}/{routine}");
            let folded = how.collapsed.contains(&key);
            let name = if routine.is_empty() {
                "other threads"
            } else {
                &routine
            };
            let title = format!("{name}  ({})", of_routine.len());
            let depth = usize::from(several);
            arranged.push_group(key, title, of_routine.clone(), folded, depth, heights);
            for lane in of_routine.into_iter().filter(|_| !folded) {
                arranged.push(RowKind::Lane(lane), heights.lane);
            }
        }
    }
}

/// Splits lanes by a key, keys in the order in which they come up first.
fn split(lanes: &[usize], key: impl Fn(usize) -> String) -> Vec<(String, Vec<usize>)> {
    let mut parts: Vec<(String, Vec<usize>)> = Vec::new();
    let mut known = std::collections::BTreeMap::new();
    for &lane in lanes {
        let key = key(lane);
        let next = parts.len();
        let part = *known.entry(key.clone()).or_insert(next);
        if part == next {
            parts.push((key, Vec::new()));
        }
        parts[part].1.push(lane);
    }
    parts
}

fn is_shown(lane: usize, facts: &LaneFacts, how: &Arrangement) -> bool {
    let quiet = how.hide_quiet && facts.operations <= 1;
    !quiet && !how.hidden.contains(&lane) && matches(facts, &how.filter)
}

/// Returns whether a lane's name, start routine or process contains a text, in whatever case.
pub fn matches(facts: &LaneFacts, filter: &str) -> bool {
    let filter = filter.to_lowercase();
    let has = |text: &str| text.to_lowercase().contains(&filter);
    filter.is_empty()
        || has(&facts.name)
        || has(&facts.process)
        || facts.routine.as_deref().is_some_and(has)
}

fn sort(shown: &mut [usize], lanes: &[LaneFacts], order: Order) {
    let facts = |lane: &usize| &lanes[*lane];
    // Stable, so that equals stay in the trace's order.
    match order {
        Order::Trace => {}
        Order::Name => shown.sort_by(|a, b| compare_names(&facts(a).name, &facts(b).name)),
        Order::Born => shown.sort_by_key(|lane| facts(lane).born),
        Order::Running => shown.sort_by_key(|lane| Reverse(facts(lane).running)),
        Order::Ready => shown.sort_by_key(|lane| Reverse(facts(lane).ready)),
        Order::Blocked => shown.sort_by_key(|lane| Reverse(facts(lane).blocked)),
    }
}

/// Compares names as people do: numbers within them by their value.
pub fn compare_names(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let digits =
            |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (in_a, in_b) = (digits(a), digits(b));
        if in_a > 0 && in_b > 0 {
            let number = |text: &str| text.trim_start_matches('0').len();
            let (left, right) = (&a[..in_a], &b[..in_b]);
            let by_value = number(left).cmp(&number(right)).then_with(|| {
                left.trim_start_matches('0')
                    .cmp(right.trim_start_matches('0'))
            });
            if by_value.is_ne() {
                return by_value;
            }
            (a, b) = (&a[in_a..], &b[in_b..]);
            continue;
        }
        match (a.chars().next(), b.chars().next()) {
            (Some(left), Some(right)) if left == right => {
                (a, b) = (&a[left.len_utf8()..], &b[right.len_utf8()..]);
            }
            (left, right) => return left.cmp(&right),
        }
    }
}

impl Arranged {
    /// The rows, from top to bottom.
    pub fn rows(&self) -> &[RowSlot] {
        &self.rows
    }

    /// The height of all rows together.
    pub fn height(&self) -> f32 {
        self.height
    }

    /// Returns the row at a height, if there is one.
    pub fn row_at(&self, y: f32) -> Option<usize> {
        let after = self.rows.partition_point(|row| row.top <= y);
        let row = after.checked_sub(1)?;
        (y < self.rows[row].top + self.rows[row].height).then_some(row)
    }

    /// Returns the rows that lie, at least in part, between two heights.
    pub fn visible(&self, top: f32, bottom: f32) -> Range<usize> {
        let first = self.rows.partition_point(|row| row.top + row.height <= top);
        let last = self.rows.partition_point(|row| row.top < bottom);
        first..last.max(first)
    }

    /// Returns the row of a lane, or that of the folded group that it lies in; none where it is left out.
    pub fn of_lane(&self, lane: usize) -> Option<usize> {
        self.of_lane.get(lane).copied().flatten()
    }

    /// The lanes that are seen, from top to bottom, those of folded groups left out.
    pub fn lanes(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.rows.iter().filter_map(|row| match row.kind {
            RowKind::Lane(lane) => Some(lane),
            RowKind::Group { .. } | RowKind::Cpu(_) => None,
        })
    }

    fn push(&mut self, kind: RowKind, height: f32) {
        if let RowKind::Lane(lane) = kind {
            self.of_lane[lane] = Some(self.rows.len());
        }
        self.rows.push(RowSlot {
            kind,
            top: self.height,
            height,
        });
        self.height += height;
    }

    fn push_group(
        &mut self,
        key: String,
        title: String,
        lanes: Vec<usize>,
        collapsed: bool,
        depth: usize,
        heights: Heights,
    ) {
        for &lane in lanes.iter().filter(|_| collapsed) {
            self.of_lane[lane] = Some(self.rows.len());
        }
        // A folded group shows its lanes together, in a row as high as theirs.
        let height = if collapsed && !lanes.is_empty() {
            heights.lane.max(heights.group)
        } else {
            heights.group
        };
        let kind = RowKind::Group {
            key,
            title,
            lanes,
            collapsed,
            depth,
        };
        self.push(kind, height);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEIGHTS: Heights = Heights {
        lane: 20.0,
        group: 10.0,
    };

    fn facts(name: &str, process: &str, routine: &str, running: u64) -> LaneFacts {
        LaneFacts {
            name: name.to_owned(),
            process: process.to_owned(),
            routine: (!routine.is_empty()).then(|| routine.to_owned()),
            operations: 5,
            running,
            ..LaneFacts::default()
        }
    }

    fn program() -> Vec<LaneFacts> {
        let mut lanes = vec![facts("main", "prog", "", 9)];
        lanes.extend((1..=10).map(|i| facts(&format!("worker {i}"), "prog", "work", i)));
        lanes
    }

    fn shown(arranged: &Arranged) -> Vec<String> {
        let text = |row: &RowSlot| match &row.kind {
            RowKind::Group { title, .. } => title.clone(),
            RowKind::Lane(lane) => lane.to_string(),
            RowKind::Cpu(cpu) => format!("CPU {cpu}"),
        };
        arranged.rows().iter().map(text).collect()
    }

    #[test]
    fn ranks_stand_without_headings_that_only_repeat_their_names() {
        let ranks: Vec<LaneFacts> = (0..3)
            .map(|rank| facts(&format!("rank {rank}"), &format!("rank {rank}"), "", 1))
            .collect();
        let arranged = arrange(&ranks, 3, &Arrangement::default(), HEIGHTS);
        assert_eq!(shown(&arranged), ["0", "1", "2"]);
    }

    #[test]
    fn threads_of_one_start_routine_stand_together() {
        let how = Arrangement::default();
        let arranged = arrange(&program(), 2, &how, HEIGHTS);
        assert_eq!(shown(&arranged)[..4], ["0", "work  (10)", "1", "2"]);
        assert!((arranged.height() - 230.0).abs() < 1e-6);
        let mut lanes = program();
        lanes.push(facts("main", "child", "", 1));
        let arranged = arrange(&lanes, 2, &how, HEIGHTS);
        assert_eq!(shown(&arranged)[..3], ["prog  (11)", "0", "work  (10)"]);
        assert_eq!(shown(&arranged)[13..], ["child  (1)", "11"]);
    }

    #[test]
    fn a_folded_group_stands_for_its_lanes() {
        let mut how = Arrangement::default();
        how.collapsed.insert("routine prog/work".to_owned());
        let arranged = arrange(&program(), 2, &how, HEIGHTS);
        assert_eq!(shown(&arranged), ["0", "work  (10)"]);
        assert_eq!(arranged.of_lane(7), Some(1));
        assert_eq!(arranged.lanes().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn lanes_are_sorted_filtered_and_hidden() {
        let mut how = Arrangement {
            grouped: false,
            order: Order::Running,
            ..Arrangement::default()
        };
        let lanes = program();
        assert_eq!(
            shown(&arrange(&lanes, 0, &how, HEIGHTS))[..3],
            ["10", "0", "9"]
        );
        how.filter = "WORKER 1".to_owned();
        assert_eq!(shown(&arrange(&lanes, 0, &how, HEIGHTS)), ["10", "1"]);
        how.filter.clear();
        how.hidden.extend(0..10);
        assert_eq!(shown(&arrange(&lanes, 0, &how, HEIGHTS)), ["10"]);
        how.hidden.clear();
        how.hide_quiet = true;
        let mut quiet = program();
        quiet[3].operations = 1;
        assert_eq!(arrange(&quiet, 0, &how, HEIGHTS).of_lane(3), None);
        how.threads = false;
        how.cpus = true;
        assert_eq!(
            shown(&arrange(&quiet, 2, &how, HEIGHTS)),
            ["2 CPUs", "CPU 0", "CPU 1"]
        );
    }

    #[test]
    fn names_are_compared_as_people_do() {
        let mut names = ["t10", "t9", "t 1", "t010", "main", "t9a", ""];
        names.sort_by(|a, b| compare_names(a, b));
        assert_eq!(names, ["", "main", "t 1", "t9", "t9a", "t10", "t010"]);
    }

    #[test]
    fn rows_are_found_by_their_heights() {
        let how = Arrangement {
            grouped: false,
            ..Arrangement::default()
        };
        let arranged = arrange(&program(), 0, &how, HEIGHTS);
        assert_eq!(arranged.row_at(0.0), Some(0));
        assert_eq!(arranged.row_at(45.0), Some(2));
        assert_eq!(arranged.row_at(-1.0), None);
        assert_eq!(arranged.row_at(220.0), None);
        assert_eq!(arranged.visible(19.0, 41.0), 0..3);
        assert_eq!(arranged.visible(20.0, 40.0), 1..2);
        assert!(arranged.visible(500.0, 600.0).is_empty());
    }
}
