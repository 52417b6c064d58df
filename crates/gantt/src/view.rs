//! The part of time that is seen: zooming, panning, and undoing both.

use foretrace_schedule::SimTime;

/// The shortest stretch that is shown, in picoseconds: longer than a screen has columns.
const SHORTEST: u64 = 4_096;

/// A stretch of time that is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeView {
    /// Where it begins.
    pub start: SimTime,
    /// Where it ends.
    pub end: SimTime,
}

impl TimeView {
    /// Shows a range, made long enough to be seen.
    pub fn new(start: SimTime, end: SimTime) -> Self {
        let start = start.min(SimTime(u64::MAX / 2));
        let (low, high) = (start.min(end), start.max(end));
        let missing = SHORTEST.saturating_sub(high.0 - low.0);
        let low = low.0.saturating_sub(missing / 2);
        Self {
            start: SimTime(low),
            end: SimTime(high.0.max(low + SHORTEST)),
        }
    }

    /// Shows a whole run that takes so long, with a little air behind it.
    pub fn whole(end: SimTime) -> Self {
        Self::new(SimTime::ZERO, SimTime(end.0.saturating_add(end.0 / 40)))
    }

    /// The length of time that is seen.
    pub fn span(&self) -> SimTime {
        self.end.since(self.start)
    }

    /// Returns the view with so many times its span (below 1: nearer), a point in it staying where it is. `share` is
    /// where that point is: 0 at the left edge, 1 at the right one.
    #[must_use]
    pub fn zoomed(&self, share: f64, factor: f64, limit: SimTime) -> Self {
        let span = self.span().0 as f64;
        let most = Self::whole(limit).span().0.max(SHORTEST) as f64;
        let new = (span * factor).clamp(SHORTEST as f64, most);
        let fixed = self.start.0 as f64 + share.clamp(0.0, 1.0) * span;
        let start = fixed - share.clamp(0.0, 1.0) * new;
        Self::at(start, new, limit)
    }

    /// Returns the view moved by so many of its spans, later ones positive.
    #[must_use]
    pub fn panned(&self, spans: f64, limit: SimTime) -> Self {
        let span = self.span().0 as f64;
        Self::at(self.start.0 as f64 + spans * span, span, limit)
    }

    /// Returns the view with a time in its middle, where that was not well within it.
    #[must_use]
    pub fn showing(&self, time: SimTime, limit: SimTime) -> Self {
        let edge = self.span().0 / 10;
        let well = self.start.0.saturating_add(edge)..self.end.0.saturating_sub(edge);
        if well.contains(&time.0) {
            return *self;
        }
        let span = self.span().0 as f64;
        Self::at(time.0 as f64 - span / 2.0, span, limit)
    }

    /// Keeps the view within the run and a little air.
    #[expect(clippy::cast_sign_loss, reason = "clamped to what is not negative")]
    fn at(start: f64, span: f64, limit: SimTime) -> Self {
        let latest = (Self::whole(limit).end.0 as f64 - span).max(0.0);
        let start = start.clamp(0.0, latest).round() as u64;
        let span = (span.round() as u64).max(SHORTEST);
        Self {
            start: SimTime(start),
            end: SimTime(start.saturating_add(span)),
        }
    }
}

/// What was seen before, to go back to.
#[derive(Clone, Debug)]
pub struct History<T> {
    past: Vec<T>,
    future: Vec<T>,
}

/// So many steps can be undone.
const STEPS: usize = 200;

impl<T> Default for History<T> {
    fn default() -> Self {
        Self {
            past: Vec::new(),
            future: Vec::new(),
        }
    }
}

impl<T: PartialEq> History<T> {
    /// Notes what was seen before a change.
    pub fn note(&mut self, before: T) {
        if self.past.last() == Some(&before) {
            return;
        }
        self.past.push(before);
        if self.past.len() > STEPS {
            self.past.remove(0);
        }
        self.future.clear();
    }

    /// Goes a step back from what is seen now.
    pub fn undo(&mut self, now: T) -> Option<T> {
        while let Some(past) = self.past.pop() {
            if past != now {
                self.future.push(now);
                return Some(past);
            }
        }
        None
    }

    /// Goes a step forward again.
    pub fn redo(&mut self, now: T) -> Option<T> {
        let future = self.future.pop()?;
        self.past.push(now);
        Some(future)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn zooming_keeps_the_point_under_the_pointer(
            start in 0..900_000_000_u64, span in SHORTEST..90_000_000, share in 0.0..1.0_f64, factor in 0.2..1.0_f64
        ) {
            let limit = SimTime(1_000_000_000);
            let view = TimeView::new(SimTime(start), SimTime(start + span));
            let near = view.zoomed(share, factor, limit);
            let at = |view: &TimeView| view.start.0 as f64 + share * view.span().0 as f64;
            prop_assert!((at(&view) - at(&near)).abs() <= 2.0);
            prop_assert!(near.span() <= view.span());
        }

        #[test]
        fn no_view_leaves_the_run(start in any::<u64>(), span in any::<u64>(), spans in -9.0..9.0_f64, factor in 0.0..99.0_f64) {
            let limit = SimTime(5_000_000_000);
            let view = TimeView::new(SimTime(start), SimTime(span));
            for moved in [view.panned(spans, limit), view.zoomed(0.3, factor, limit), view.showing(SimTime(start), limit)] {
                prop_assert!(moved.end > moved.start);
            }
            let whole = TimeView::whole(limit);
            let moved = whole.panned(spans, limit).zoomed(0.5, factor, limit);
            prop_assert!(moved.end <= SimTime(whole.end.0 + 2));
        }
    }

    #[test]
    fn views_are_undone_and_done_again() {
        let mut history = History::default();
        history.note(1);
        history.note(2);
        history.note(2);
        assert_eq!(history.undo(3), Some(2));
        assert_eq!(history.undo(2), Some(1));
        assert_eq!(history.undo(1), None);
        assert_eq!(history.redo(1), Some(2));
        assert_eq!(history.redo(2), Some(3));
        assert_eq!(history.redo(3), None);
        history.note(3);
        assert_eq!(history.undo(4), Some(3));
    }

    #[test]
    fn a_time_at_the_edge_is_brought_into_the_middle() {
        let limit = SimTime(1_000_000_000);
        let view = TimeView::new(SimTime(100_000), SimTime(200_000));
        assert_eq!(view.showing(SimTime(150_000), limit), view);
        let moved = view.showing(SimTime(900_000), limit);
        assert_eq!(
            (moved.start, moved.end),
            (SimTime(850_000), SimTime(950_000))
        );
    }
}
