//! What one lane did, packed for drawing: exact shares of any pixel in time that does not grow with the segments.
//!
//! A [`Track`] is a gap-free sequence of states over the whole of a schedule; where its thread is not yet born or has
//! ended, that is a state too. After every [`BLOCK`] segments stand the sums of time by state so far. The time that a
//! pixel spends in each state is the difference of two such sums, each corrected by at most half a block: exact, at
//! whatever zoom. Where there are very many segments, a `Grid` holds the sums at equal steps of time as well: a level
//! of detail from which any coarser one follows by one subtraction, for views that move; and above it a pyramid of
//! ever fewer steps, for what lies together in memory is read faster.

use foretrace_schedule::{Activity, Lane, Schedule, SimTime, State, WaitKind};

use crate::pixels::Columns;

/// So many segments have a sum together.
pub const BLOCK: usize = 64;

/// The number of fills.
pub const FILLS: usize = Activity::ALL.len() + 3;

/// Tracks of at least so many segments have a grid.
const GRID_FROM: usize = 1 << 15;

/// A level of fewer steps has no coarser one above it.
const LEAST_STEPS: usize = 1 << 13;

/// A grid has about one step for so many segments.
const SEGMENTS_A_STEP: usize = 24;

/// What a piece of a track looks like: an activity, or nothing for one of three reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fill(u8);

impl Fill {
    /// The thread is not yet born.
    pub const UNBORN: Self = Self(Activity::ALL.len() as u8);
    /// The thread has ended.
    pub const ENDED: Self = Self(Activity::ALL.len() as u8 + 1);
    /// The CPU runs nothing.
    pub const IDLE: Self = Self(Activity::ALL.len() as u8 + 2);
    /// A thread runs.
    pub const RUNNING: Self = Self(0);

    /// Returns the fill of an activity.
    pub fn of(activity: Activity) -> Self {
        Self(activity.index() as u8)
    }

    /// Returns the activity; none where nothing is done.
    pub fn activity(self) -> Option<Activity> {
        Activity::ALL.get(self.index()).copied()
    }

    /// Returns its position among all fills, below [`FILLS`].
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns all fills, in the order in which rows stack them from the bottom.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..FILLS as u8).map(Self)
    }

    /// Returns its name for legends and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::UNBORN => "not yet born",
            Self::ENDED => "ended",
            Self::IDLE => "idle",
            _ => self.activity().map_or("", Activity::name),
        }
    }

    /// Returns how much a developer wants to know of it where it is short: waiting threads first.
    pub fn severity(self) -> u8 {
        match self.activity() {
            None => 0,
            Some(Activity::Running) => 1,
            Some(Activity::Ready) => 2,
            Some(Activity::Blocked(WaitKind::Timeout | WaitKind::Io)) => 3,
            Some(Activity::Blocked(_)) => 4,
        }
    }
}

/// The time spent in each fill, indexed by [`Fill::index`], in picoseconds.
pub type Sums = [u64; FILLS];

/// One lane over the whole of a schedule.
#[derive(Clone, Debug, Default)]
pub struct Track {
    starts: Vec<u64>,
    /// What each segment is, as a position among the fills that occur.
    slots: Vec<u8>,
    end: u64,
    /// What comes before the lane's first segment is a segment of the track, too.
    offset: usize,
    index: Index,
}

/// The sums of a track.
#[derive(Clone, Debug, Default)]
struct Index {
    /// The fills that occur.
    present: Vec<u8>,
    /// The time in each present fill before each block, and before the end.
    sums: Vec<u64>,
    block_starts: Vec<u64>,
    /// Sums at equal steps of time, each level's four times as long as those of the one before.
    pyramid: Vec<Grid>,
}

/// Sums at equal steps of time.
#[derive(Clone, Debug)]
struct Grid {
    /// A step is 2^shift picoseconds.
    shift: u32,
    sums: Vec<u64>,
}

/// How a pixel's shares are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// From the segments: to the picosecond.
    #[default]
    Exact,
    /// From the grid where there is one and a pixel covers several of its steps: within a step of the truth.
    Fast,
}

/// What a track did over some columns.
#[derive(Clone, Copy, Debug)]
pub enum Run<'a> {
    /// One segment fills all of these columns.
    Solid {
        /// The first column.
        from: usize,
        /// The column after the last one.
        until: usize,
        /// The fill.
        fill: Fill,
        /// The segment of the track.
        segment: usize,
    },
    /// Several segments share one column.
    Mixed {
        /// The column.
        column: usize,
        /// The time in each fill that the track has, in the order of [`Track::present`].
        shares: &'a [u64],
    },
}

impl Track {
    /// Packs segments given by when they begin and what they are; the last one ends at `end`.
    ///
    /// Takes time linear in the segments. The first segment begins at 0.
    pub fn new(starts: Vec<u64>, fills: Vec<Fill>, end: SimTime) -> Self {
        let fills = fills.into_iter().map(|fill| fill.0).collect();
        Self::packed(starts, fills, end.0, 0)
    }

    fn packed(starts: Vec<u64>, fills: Vec<u8>, end: u64, offset: usize) -> Self {
        let mut slots = fills;
        let index = Index::build(&starts, &mut slots, end);
        Self {
            starts,
            slots,
            end,
            offset,
            index,
        }
    }

    /// Packs a thread's lane of a schedule that ends at `end`.
    pub fn of_lane(lane: &Lane, end: SimTime) -> Self {
        let count = lane.segments.len() + 2;
        let (mut starts, mut fills) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let born = lane.segments.first().map_or(end, |segment| segment.start);
        let offset = usize::from(born > SimTime::ZERO || lane.segments.is_empty());
        if offset > 0 {
            starts.push(0);
            fills.push(Fill::UNBORN.0);
        }
        for segment in &lane.segments {
            starts.push(segment.start.0);
            fills.push(Fill::of(segment.state.activity()).0);
        }
        if let Some(last) = lane.segments.last()
            && last.end < end
        {
            starts.push(last.end.0);
            fills.push(Fill::ENDED.0);
        }
        Self::packed(starts, fills, end.0, offset)
    }

    /// When the track ends.
    pub fn end(&self) -> SimTime {
        SimTime(self.end)
    }

    /// The number of segments.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns whether there are no segments.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Returns what a segment of the track is.
    pub fn fill(&self, segment: usize) -> Fill {
        Fill(self.index.present[self.slots[segment] as usize])
    }

    /// Returns when a segment of the track begins and ends.
    pub fn span(&self, segment: usize) -> (SimTime, SimTime) {
        let end = self.starts.get(segment + 1).copied().unwrap_or(self.end);
        (SimTime(self.starts[segment]), SimTime(end))
    }

    /// Returns the position of a segment in the lane that the track was made of; none for what comes before and after.
    pub fn lane_segment(&self, segment: usize) -> Option<usize> {
        let fill = self.fill(segment);
        if fill == Fill::UNBORN || fill == Fill::ENDED {
            return None;
        }
        segment.checked_sub(self.offset)
    }

    /// Returns the segment of the track that is a lane's.
    pub fn of_lane_segment(&self, segment: usize) -> usize {
        segment + self.offset
    }

    /// Returns the segment at a time; none where there is no segment at all.
    pub fn segment_at(&self, time: SimTime) -> Option<usize> {
        let after = self.starts.partition_point(|start| *start <= time.0);
        after.checked_sub(1).or((!self.is_empty()).then_some(0))
    }

    /// The fills that occur, in the order of the shares of [`Run::Mixed`].
    pub fn present(&self) -> impl Iterator<Item = Fill> + '_ {
        self.index.present.iter().map(|fill| Fill(*fill))
    }

    /// The bytes that the index takes beside the segments.
    pub fn index_bytes(&self) -> usize {
        let pyramid: usize = self.index.pyramid.iter().map(|grid| grid.sums.len()).sum();
        8 * (self.index.sums.len() + self.index.block_starts.len() + pyramid)
    }

    /// Returns the exact time in each fill within a range; O(log n).
    pub fn sums(&self, start: SimTime, end: SimTime) -> Sums {
        let mut sums = [0; FILLS];
        let (start, end) = (start.0.min(self.end), end.0.min(self.end));
        if self.is_empty() || start >= end {
            return sums;
        }
        let (mut before, mut after) = ([0; FILLS], [0; FILLS]);
        let first = self.until(start, 0, &mut before);
        self.until(end, first, &mut after);
        for (slot, fill) in self.index.present.iter().enumerate() {
            sums[*fill as usize] = after[slot] - before[slot];
        }
        sums
    }

    /// Visits what the track did, column by column, in order. `bounds` are the times at which columns begin, and the end of
    /// the last one.
    pub fn columns(&self, bounds: &[u64], detail: Detail, mut visit: impl FnMut(Run<'_>)) {
        if self.is_empty() || bounds.len() < 2 {
            return;
        }
        let columns = bounds.len() - 1;
        let width = bounds[columns].saturating_sub(bounds[0]) / columns as u64;
        let mut levels = self.index.pyramid.iter().rev();
        if detail == Detail::Fast
            && let Some(grid) = levels.find(|grid| width >= 2 << grid.shift)
        {
            return self.grid_columns(grid, bounds, &mut visit);
        }
        self.exact_columns(bounds, &mut visit);
    }

    fn exact_columns(&self, bounds: &[u64], visit: &mut impl FnMut(Run<'_>)) {
        let kinds = self.index.present.len();
        let mut here = [0; FILLS];
        let mut next = [0; FILLS];
        let mut shares = [0; FILLS];
        let mut segment = self.until(bounds[0].min(self.end), 0, &mut here);
        let mut column = 0;
        let last = bounds.len() - 1;
        while column < last {
            let segment_end = self.starts.get(segment + 1).copied().unwrap_or(self.end);
            if segment_end >= bounds[column + 1] {
                // One segment covers this column, and often many after it.
                let until = column
                    + 1
                    + bounds[column + 2..].partition_point(|bound| *bound <= segment_end);
                if bounds[column] < self.end {
                    visit(Run::Solid {
                        from: column,
                        until,
                        fill: self.fill(segment),
                        segment,
                    });
                }
                column = until;
                let at = bounds[column].min(self.end);
                segment = self.until(at, segment, &mut here);
                continue;
            }
            let at = bounds[column + 1].min(self.end);
            segment = self.until(at, segment, &mut next);
            let mut any = 0;
            for kind in 0..kinds {
                shares[kind] = next[kind] - here[kind];
                here[kind] = next[kind];
                any |= shares[kind];
            }
            if any > 0 {
                visit(Run::Mixed {
                    column,
                    shares: &shares[..kinds],
                });
            }
            column += 1;
        }
    }

    fn grid_columns(&self, grid: &Grid, bounds: &[u64], visit: &mut impl FnMut(Run<'_>)) {
        let kinds = self.index.present.len();
        let mut here = [0; FILLS];
        let mut next = [0; FILLS];
        let mut shares = [0; FILLS];
        grid.until(bounds[0].min(self.end), &mut here[..kinds]);
        for column in 0..bounds.len() - 1 {
            grid.until(bounds[column + 1].min(self.end), &mut next[..kinds]);
            let mut any = 0;
            for kind in 0..kinds {
                // Each sum is rounded down on its own.
                shares[kind] = next[kind].saturating_sub(here[kind]);
                here[kind] = next[kind];
                any |= shares[kind];
            }
            if any > 0 {
                visit(Run::Mixed {
                    column,
                    shares: &shares[..kinds],
                });
            }
        }
    }

    /// Finds the segment that a time lies in, and sums the time in each present fill before that time. `from` is a segment
    /// not after it.
    fn until(&self, time: u64, from: usize, sums: &mut Sums) -> usize {
        let block = self.block(time, from);
        let kinds = self.index.present.len();
        let first = block * BLOCK;
        let last = (first + BLOCK).min(self.starts.len());
        let begin = self.index.block_starts[block];
        let next = self.index.block_starts.get(block + 1);
        let mut end = next.copied().unwrap_or(self.end);
        // Slots are below FILLS; said so, the compiler need not check.
        let at = |segment: usize| self.slots[segment] as usize % FILLS;
        // From the end of the block that is probably nearer: what is not read costs nothing, and reading is what costs most.
        let mut segment;
        if time - begin <= (end - begin) / 2 {
            let before = &self.index.sums[block * kinds..(block + 1) * kinds];
            sums[..kinds]
                .iter_mut()
                .zip(before)
                .for_each(|(sum, before)| *sum = *before);
            segment = first;
            let mut start = begin;
            while let Some(&next) = self.starts[..last].get(segment + 1)
                && next <= time
            {
                sums[at(segment)] += next - start;
                start = next;
                segment += 1;
            }
            sums[at(segment)] += time - start;
        } else {
            let after = &self.index.sums[(block + 1) * kinds..(block + 2) * kinds];
            sums[..kinds]
                .iter_mut()
                .zip(after)
                .for_each(|(sum, after)| *sum = *after);
            segment = last - 1;
            while self.starts[segment] > time {
                sums[at(segment)] -= end - self.starts[segment];
                end = self.starts[segment];
                segment -= 1;
            }
            sums[at(segment)] -= end - time;
        }
        segment
    }

    /// Returns the block that a time lies in; `from` is a segment not after it.
    fn block(&self, time: u64, from: usize) -> usize {
        let starts = &self.index.block_starts;
        let mut low = from / BLOCK;
        let mut step = 1;
        // Most steps are short: look near first.
        while low + step < starts.len() && starts[low + step] <= time {
            low += step;
            step *= 2;
        }
        let high = (low + step).min(starts.len());
        let after = low + starts[low..high].partition_point(|start| *start <= time);
        after.saturating_sub(1)
    }
}

impl Index {
    /// Sums up the segments; what comes as fills goes as positions among those that occur.
    fn build(starts: &[u64], fills: &mut [u8], end: u64) -> Self {
        let mut occurs = [false; FILLS];
        for fill in &*fills {
            occurs[*fill as usize] = true;
        }
        let mut index = Self::default();
        let mut slots = [0; FILLS];
        for (fill, occurs) in occurs.into_iter().enumerate() {
            if occurs {
                slots[fill] = index.present.len() as u8;
                index.present.push(fill as u8);
            }
        }
        let kinds = index.present.len();
        let blocks = starts.len().div_ceil(BLOCK);
        index.sums.reserve_exact((blocks + 1) * kinds);
        index.block_starts.extend(starts.iter().step_by(BLOCK));
        let mut grid = Grid::planned(starts.len(), end, kinds);
        // The next step of the grid: most segments end before it, and need not ask.
        let mut due = if grid.is_some() { 0 } else { u64::MAX };
        let mut sums = [0; FILLS];
        for block in 0..blocks {
            let first = block * BLOCK;
            let last = (first + BLOCK).min(starts.len());
            index.sums.extend_from_slice(&sums[..kinds]);
            let mut start = starts[first];
            for (segment, fill) in (first..last).zip(&mut fills[first..last]) {
                let until = starts.get(segment + 1).copied().unwrap_or(end);
                // Fills are below FILLS; said so, the compiler need not check.
                *fill = slots[*fill as usize % FILLS];
                let slot = *fill as usize % FILLS;
                if until > due
                    && let Some(grid) = &mut grid
                {
                    due = grid.note(start, until, slot, &sums[..kinds]);
                }
                sums[slot] += until - start;
                start = until;
            }
        }
        index.sums.extend_from_slice(&sums[..kinds]);
        let mut level = grid.map(|mut grid| {
            grid.close(&sums[..kinds]);
            grid
        });
        while let Some(grid) = level {
            level = grid.coarser(kinds);
            index.pyramid.push(grid);
        }
        index
    }
}

impl Grid {
    /// Plans a grid for so many segments of so many fills.
    fn planned(segments: usize, end: u64, kinds: usize) -> Option<Self> {
        if segments < GRID_FROM {
            return None;
        }
        let step = (end / (segments / SEGMENTS_A_STEP) as u64).max(1);
        let shift = step.ilog2();
        let steps = (end >> shift) as usize + 2;
        Some(Self {
            shift,
            sums: Vec::with_capacity(steps * kinds),
        })
    }

    /// Writes the sums at the steps that lie in a segment, given those at its begin; returns the next step.
    fn note(&mut self, start: u64, until: u64, slot: usize, sums: &[u64]) -> u64 {
        let kinds = sums.len();
        let mut at = ((self.sums.len() / kinds) as u64) << self.shift;
        while at < until {
            self.sums.extend_from_slice(sums);
            let this = self.sums.len() - kinds + slot;
            self.sums[this] += at - start;
            at += 1 << self.shift;
        }
        at
    }

    /// Returns every fourth step; nothing where they are few.
    fn coarser(&self, kinds: usize) -> Option<Self> {
        let rows = self.sums.chunks_exact(kinds);
        if rows.len() < LEAST_STEPS {
            return None;
        }
        let end = &self.sums[self.sums.len() - kinds..];
        let mut sums = Vec::with_capacity((rows.len() / 4 + 3) * kinds);
        // Whatever time there is must lie between two steps.
        for row in rows.step_by(4).chain([end, end]) {
            sums.extend_from_slice(row);
        }
        Some(Self {
            shift: self.shift + 2,
            sums,
        })
    }

    fn close(&mut self, sums: &[u64]) {
        // Two, so that whatever time there is lies between two steps.
        self.sums.extend_from_slice(sums);
        self.sums.extend_from_slice(sums);
    }

    /// Sums the time in each present fill before a time, taking what happens within a step as spread evenly over it.
    fn until(&self, time: u64, sums: &mut [u64]) {
        let kinds = sums.len();
        let step = (time >> self.shift) as usize;
        let within = time & ((1 << self.shift) - 1);
        let share = within as f64 / (1_u64 << self.shift) as f64;
        let (before, after) = self.sums[step * kinds..(step + 2) * kinds].split_at(kinds);
        for (sum, (low, high)) in sums.iter_mut().zip(before.iter().zip(after)) {
            #[expect(clippy::cast_sign_loss, reason = "sums never decrease")]
            let part = ((high - low) as f64 * share) as u64;
            *sum = low + part;
        }
    }
}

/// Returns the begins of columns and the end of the last one.
pub fn bounds(columns: &Columns) -> Vec<u64> {
    (0..=columns.count())
        .map(|column| columns.bound(column).0)
        .collect()
}

/// Packs what each CPU ran: a track for each, and the lane and segment that each of its segments is.
pub fn of_cpus(schedule: &Schedule) -> Vec<CpuTrack> {
    let mut turns: Vec<Vec<(u64, u64, u32, u32)>> = vec![Vec::new(); schedule.cpus as usize];
    for (lane, of) in schedule.lanes.iter().enumerate() {
        for (position, segment) in of.segments.iter().enumerate() {
            if let State::Running(cpu) = segment.state
                && let Some(turns) = turns.get_mut(cpu as usize)
            {
                turns.push((segment.start.0, segment.end.0, lane as u32, position as u32));
            }
        }
    }
    turns
        .into_iter()
        .map(|mut turns| {
            turns.sort_unstable();
            CpuTrack::new(&turns, schedule.end.0)
        })
        .collect()
}

/// What a CPU ran.
#[derive(Clone, Debug, Default)]
pub struct CpuTrack {
    /// Running or idle.
    pub track: Track,
    /// The lane and its segment for each segment of the track; none where the CPU was idle.
    turns: Vec<Option<(u32, u32)>>,
}

impl CpuTrack {
    fn new(turns: &[(u64, u64, u32, u32)], end: u64) -> Self {
        let (mut starts, mut fills, mut of) = (Vec::new(), Vec::new(), Vec::new());
        if turns.first().is_none_or(|turn| turn.0 > 0) && end > 0 {
            starts.push(0);
            fills.push(Fill::IDLE.0);
            of.push(None);
        }
        for (position, &(start, until, lane, segment)) in turns.iter().enumerate() {
            starts.push(start);
            fills.push(Fill::RUNNING.0);
            of.push(Some((lane, segment)));
            let next = turns.get(position + 1).map_or(end, |turn| turn.0);
            if next > until {
                starts.push(until);
                fills.push(Fill::IDLE.0);
                of.push(None);
            }
        }
        Self {
            track: Track::packed(starts, fills, end, 0),
            turns: of,
        }
    }

    /// Returns the lane and its segment that the CPU ran; none where it was idle.
    pub fn turn(&self, segment: usize) -> Option<(usize, usize)> {
        let (lane, segment) = (*self.turns.get(segment)?)?;
        Some((lane as usize, segment as usize))
    }
}

#[cfg(test)]
mod tests;
