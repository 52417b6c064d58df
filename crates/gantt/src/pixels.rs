//! The level of detail: what is narrower than a pixel becomes the pixel's exact shares of each state.
//!
//! Nothing is dropped and nothing estimated. A [`Columns`] divides a range of time into pixels whose bounds are whole
//! picoseconds; whatever is spread over them sums to the true times again, to the picosecond. Both the picture of a
//! lane ([`pieces`]) and the counts of threads over time ([`Shares`]) come from the same walk over the segments.

use foretrace_schedule::{Activity, Lane, Segment, SimTime, Totals};

/// A range of time, divided into columns a pixel wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    start: SimTime,
    end: SimTime,
    count: u32,
}

impl Columns {
    /// Divides the range `start..end`, a picosecond at least, into `count` columns, one at least.
    pub fn new(start: SimTime, end: SimTime, count: u32) -> Self {
        let start = start.min(SimTime(u64::MAX - 1));
        Self {
            start,
            end: end.max(SimTime(start.0 + 1)),
            count: count.max(1),
        }
    }

    /// The number of columns.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The begin of the first column.
    pub fn start(&self) -> SimTime {
        self.start
    }

    /// The end of the last column.
    pub fn end(&self) -> SimTime {
        self.end
    }

    /// Returns when a column begins, which is when the one before it ends.
    ///
    /// Columns of a range of fewer picoseconds than columns may be empty.
    pub fn bound(&self, column: u32) -> SimTime {
        let offset = u128::from(self.span()) * u128::from(column.min(self.count));
        SimTime(self.start.0 + (offset / u128::from(self.count)) as u64)
    }

    /// Returns the column that a time within the range lies in; the last one for later times.
    pub fn column(&self, time: SimTime) -> u32 {
        let offset = u128::from(time.since(self.start).0) * u128::from(self.count);
        let near = (offset / u128::from(self.span())) as u64;
        let mut column = near.min(u64::from(self.count - 1)) as u32;
        // Bounds are rounded down, so the next column may already have begun.
        while column + 1 < self.count && self.bound(column + 1) <= time {
            column += 1;
        }
        column
    }

    /// Tells whether a stretch of time is a pixel wide or wider.
    pub fn is_visible(&self, length: SimTime) -> bool {
        u128::from(length.0) * u128::from(self.count) >= u128::from(self.span())
    }

    fn span(&self) -> u64 {
        self.end.0 - self.start.0
    }

    /// Returns the part of a segment that lies in the range.
    fn clip(&self, segment: &Segment) -> (SimTime, SimTime) {
        (segment.start.max(self.start), segment.end.min(self.end))
    }

    /// Cuts a stretch of time at the columns' bounds and visits the parts: column, begin, end.
    fn cut(&self, start: SimTime, end: SimTime, mut visit: impl FnMut(u32, SimTime, SimTime)) {
        let mut at = start;
        let mut column = self.column(start);
        while at < end {
            let until = match column + 1 {
                last if last == self.count => end,
                next => self.bound(next).min(end),
            };
            if until > at {
                visit(column, at, until);
            }
            at = until;
            column += 1;
        }
    }
}

/// A part of a lane as it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A segment, the visible part of which is a pixel wide or wider.
    Solid {
        /// Its position in the lane.
        segment: usize,
        /// Where its visible part begins.
        start: SimTime,
        /// Where its visible part ends.
        end: SimTime,
    },
    /// Segments narrower than a pixel, or parts of them, side by side within one column.
    Mixed {
        /// The column.
        column: u32,
        /// Where the first one begins.
        start: SimTime,
        /// Where the last one ends.
        end: SimTime,
        /// The exact time of each activity; together as long as the piece.
        shares: Totals,
    },
}

/// Returns a lane as it is drawn, in order of time and without gaps: at most three pieces for every column.
///
/// Takes time linear in the segments within the range.
pub fn pieces(lane: &Lane, columns: &Columns) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut open: Option<(u32, SimTime, SimTime, Totals)> = None;
    let close = |open: &mut Option<(u32, SimTime, SimTime, Totals)>, pieces: &mut Vec<Piece>| {
        if let Some((column, start, end, shares)) = open.take() {
            pieces.push(Piece::Mixed {
                column,
                start,
                end,
                shares,
            });
        }
    };
    for index in lane.segments_in(columns.start, columns.end) {
        let segment = &lane.segments[index];
        let (start, end) = columns.clip(segment);
        if columns.is_visible(end.since(start)) {
            close(&mut open, &mut pieces);
            pieces.push(Piece::Solid {
                segment: index,
                start,
                end,
            });
            continue;
        }
        let activity = segment.state.activity();
        columns.cut(start, end, |column, from, until| {
            if open.is_some_and(|(of, ..)| of != column) {
                close(&mut open, &mut pieces);
            }
            let (_, _, last, shares) = open.get_or_insert((column, from, until, Totals::default()));
            *last = until;
            shares.add(activity, until.since(from));
        });
    }
    close(&mut open, &mut pieces);
    pieces
}

/// The time that lanes spend in each activity, column by column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    columns: Columns,
    totals: Vec<Totals>,
}

impl Shares {
    /// Makes empty shares.
    pub fn new(columns: Columns) -> Self {
        Self {
            columns,
            totals: vec![Totals::default(); columns.count as usize],
        }
    }

    /// Sums the shares of several lanes.
    pub fn of<'a>(lanes: impl IntoIterator<Item = &'a Lane>, columns: Columns) -> Self {
        let mut shares = Self::new(columns);
        for lane in lanes {
            shares.add(lane);
        }
        shares
    }

    /// Adds a lane's.
    ///
    /// Takes time linear in the segments within the range and the columns.
    pub fn add(&mut self, lane: &Lane) {
        let columns = self.columns;
        for index in lane.segments_in(columns.start, columns.end) {
            let segment = &lane.segments[index];
            let activity = segment.state.activity();
            let (start, end) = columns.clip(segment);
            columns.cut(start, end, |column, from, until| {
                self.totals[column as usize].add(activity, until.since(from));
            });
        }
    }

    /// The columns.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The time of each activity, for every column.
    pub fn totals(&self) -> &[Totals] {
        &self.totals
    }

    /// Sums all columns.
    pub fn whole(&self) -> Totals {
        let mut whole = Totals::default();
        for totals in &self.totals {
            whole.add_all(totals);
        }
        whole
    }

    /// Returns the average number of threads that were in a column in certain activities; 0 for an empty column.
    pub fn threads(&self, column: u32, of: impl Fn(Activity) -> bool) -> f64 {
        let length = self
            .columns
            .bound(column + 1)
            .since(self.columns.bound(column));
        if length == SimTime::ZERO {
            return 0.0;
        }
        let totals = &self.totals[column as usize];
        let time: u64 = totals
            .present()
            .filter(|(a, _)| of(*a))
            .map(|(_, t)| t.0)
            .sum();
        time as f64 / length.0 as f64
    }
}

#[cfg(test)]
mod tests {
    use foretrace_schedule::{State, WaitKind};
    use proptest::prelude::*;

    use super::*;

    fn lane(start: u64, lengths: &[(u64, State)]) -> Lane {
        let mut at = SimTime(start);
        let segments = lengths
            .iter()
            .map(|(length, state)| {
                let start = at;
                at = at + SimTime(*length);
                Segment {
                    start,
                    end: at,
                    state: *state,
                    object: None,
                    event: None,
                }
            })
            .collect();
        Lane {
            segments,
            end: Some(at),
            ..Lane::default()
        }
    }

    /// The time of each activity in a range, the plain way.
    fn truth(lane: &Lane, start: SimTime, end: SimTime) -> Totals {
        let mut totals = Totals::default();
        for s in &lane.segments {
            totals.add(s.state.activity(), s.end.min(end).since(s.start.max(start)));
        }
        totals
    }

    fn any_lane() -> impl Strategy<Value = Lane> {
        let state = prop_oneof![
            (0..4_u32).prop_map(State::Running),
            Just(State::Ready),
            proptest::sample::select(&WaitKind::ALL[..]).prop_map(State::Blocked),
        ];
        let length = prop_oneof![1..5_u64, 1..500_u64, 1..1_000_000_u64];
        let segments = proptest::collection::vec((length, state), 0..200);
        (0..10_000_u64, segments).prop_map(|(start, lengths)| lane(start, &lengths))
    }

    fn any_columns() -> impl Strategy<Value = Columns> {
        let length = prop_oneof![1..50_u64, 1..100_000_u64, 1..50_000_000_u64];
        (0..1_000_000_u64, length, 1..700_u32).prop_map(|(start, length, count)| {
            Columns::new(SimTime(start), SimTime(start + length), count)
        })
    }

    proptest! {
        #[test]
        fn shares_sum_to_the_true_times(lane in any_lane(), columns in any_columns()) {
            let shares = Shares::of([&lane], columns);
            let mut sum = Totals::default();
            for (column, totals) in (0..).zip(shares.totals()) {
                sum.add_all(totals);
                let expected = truth(&lane, columns.bound(column), columns.bound(column + 1));
                prop_assert_eq!(*totals, expected);
            }
            prop_assert_eq!(sum, truth(&lane, columns.start(), columns.end()));
        }

        #[test]
        fn pieces_are_without_gaps_and_sum_to_the_true_times(lane in any_lane(), columns in any_columns()) {
            let mut sum = Totals::default();
            let mut at = None;
            for piece in pieces(&lane, &columns) {
                let (start, end) = match piece {
                    Piece::Solid { segment, start, end } => {
                        prop_assert!(columns.is_visible(end.since(start)));
                        sum.add(lane.segments[segment].state.activity(), end.since(start));
                        (start, end)
                    }
                    Piece::Mixed { column, start, end, shares } => {
                        prop_assert!(columns.bound(column) <= start && end <= columns.bound(column + 1));
                        prop_assert_eq!(shares.whole(), end.since(start));
                        sum.add_all(&shares);
                        (start, end)
                    }
                };
                prop_assert!(at.is_none_or(|at| at == start));
                prop_assert!(start < end);
                at = Some(end);
            }
            prop_assert_eq!(sum, truth(&lane, columns.start(), columns.end()));
        }

        #[test]
        fn there_are_at_most_three_pieces_to_a_column(lane in any_lane(), columns in any_columns()) {
            prop_assert!(pieces(&lane, &columns).len() <= 3 * columns.count() as usize);
        }

        #[test]
        fn a_time_lies_in_its_column(columns in any_columns(), share in 0.0..1.0_f64) {
            let length = columns.end().since(columns.start()).0;
            #[expect(clippy::cast_sign_loss, reason = "the share is not negative")]
            let time = SimTime(columns.start().0 + (length as f64 * share) as u64);
            let column = columns.column(time);
            prop_assert!(columns.bound(column) <= time && time < columns.bound(column + 1));
        }
    }

    #[test]
    fn a_rare_short_state_keeps_its_share() {
        let lock = State::Blocked(WaitKind::Lock);
        let lane = lane(
            0,
            &[
                (4_999, State::Running(0)),
                (2, lock),
                (4_999, State::Running(0)),
            ],
        );
        let columns = Columns::new(SimTime(0), SimTime(10_000), 10);
        let pieces = pieces(&lane, &columns);
        assert_eq!(pieces.len(), 4, "{pieces:?}");
        let locked: u64 = pieces
            .iter()
            .map(|piece| match piece {
                Piece::Mixed { shares, .. } => shares[lock.activity()].0,
                Piece::Solid { .. } => 0,
            })
            .sum();
        assert_eq!(locked, 2);
    }

    #[test]
    fn a_column_counts_threads_by_their_average() {
        let half = lane(0, &[(50, State::Running(0)), (50, State::Ready)]);
        let shares = Shares::of([&half, &half], Columns::new(SimTime(0), SimTime(100), 1));
        assert!((shares.threads(0, |a| a == Activity::Running) - 1.0).abs() < 1e-12);
        assert!((shares.threads(0, |_| true) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn the_largest_times_do_not_overflow() {
        let long = lane(0, &[(u64::MAX, State::Ready)]);
        let columns = Columns::new(SimTime(u64::MAX), SimTime(u64::MAX), 3_000);
        assert_eq!(pieces(&long, &columns).len(), 1);
        let whole = Columns::new(SimTime(0), SimTime(u64::MAX), 3_000);
        let sum: u64 = Shares::of([&long], whole)
            .totals()
            .iter()
            .map(|t| t.whole().0)
            .sum();
        assert_eq!(sum, u64::MAX);
    }
}
