//! The time scale: from times to pixels and back, and the ticks of a time axis.

use foretrace_schedule::SimTime;

/// A stretch of time laid out over a stretch of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeScale {
    start: SimTime,
    end: SimTime,
    left: f64,
    width: f64,
}

impl TimeScale {
    /// Lays out the range `start..end` over `width` pixels from `left` on.
    ///
    /// A range that is empty or upside down becomes one of a picosecond, so that a scale always has a length.
    pub fn new(start: SimTime, end: SimTime, left: f64, width: f64) -> Self {
        let start = start.min(SimTime(u64::MAX - 1));
        Self {
            start,
            end: end.max(SimTime(start.0 + 1)),
            left,
            width: width.max(1.0),
        }
    }

    /// The first time shown.
    pub fn start(&self) -> SimTime {
        self.start
    }

    /// The time at which the picture ends.
    pub fn end(&self) -> SimTime {
        self.end
    }

    /// The pixel at which the picture begins.
    pub fn left(&self) -> f64 {
        self.left
    }

    /// The pixel at which the picture ends.
    pub fn right(&self) -> f64 {
        self.left + self.width
    }

    /// The number of pixels.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// The number of whole pixels.
    #[expect(clippy::cast_sign_loss, reason = "a width is not negative")]
    pub fn pixels(&self) -> u32 {
        self.width as u32
    }

    /// The length of time shown.
    pub fn span(&self) -> SimTime {
        self.end.since(self.start)
    }

    /// Returns the pixel of a time; times outside of the range go to its ends.
    ///
    /// The clamp stands before the conversion to floating point: so close a zoom would not survive it the other way.
    pub fn x(&self, time: SimTime) -> f64 {
        let inside = time.clamp(self.start, self.end).since(self.start);
        self.left + inside.0 as f64 / self.span().0 as f64 * self.width
    }

    /// Returns the time at a pixel; pixels outside of the picture go to its ends.
    #[expect(
        clippy::cast_sign_loss,
        reason = "the share is clamped to between 0 and 1"
    )]
    pub fn time(&self, x: f64) -> SimTime {
        let share = ((x - self.left) / self.width).clamp(0.0, 1.0);
        let offset = (share * self.span().0 as f64).round() as u64;
        SimTime(self.start.0.saturating_add(offset)).min(self.end)
    }

    /// Writes a time with as many digits as tell it apart from those a pixel away, in the unit of the ticks.
    pub fn label(&self, time: SimTime) -> String {
        self.label_within(time, self.span())
    }

    /// Writes a time like [`Self::label`], and where a stretch that it bounds takes less than a pixel, with as many digits as
    /// tell the ends of that apart.
    pub fn label_within(&self, time: SimTime, length: SimTime) -> String {
        if time == SimTime::ZERO {
            return "0".to_owned();
        }
        written(time, Unit::of(self.end), self.pixel().min(length.0))
    }

    /// Writes a time in the unit that suits it: to the nanosecond, and further where less than that can be seen.
    pub fn exactly(&self, time: SimTime) -> String {
        written(time, Unit::of(time), self.pixel().min(1_000))
    }

    /// Returns how many picoseconds there are in a pixel, one at least.
    #[expect(
        clippy::cast_sign_loss,
        reason = "neither a span nor a width is negative"
    )]
    fn pixel(&self) -> u64 {
        ((self.span().0 as f64 / self.width) as u64).max(1)
    }

    /// Chooses ticks at multiples of 1, 2 or 5 times a power of ten.
    ///
    /// `label_width` measures a label; ticks stand far enough apart for each label to have `gap` pixels of air.
    pub fn ticks(&self, gap: f64, label_width: impl Fn(&str) -> f64) -> Ticks {
        let unit = Unit::of(self.end);
        let mut chosen = None;
        for step in steps() {
            let pixels = step as f64 / self.span().0 as f64 * self.width;
            if pixels < gap {
                continue;
            }
            let ticks = Ticks { step, unit };
            // The latest label is as wide as any.
            let widest = label_width(&ticks.label(self.end));
            chosen = Some(ticks);
            if pixels >= widest + gap {
                break;
            }
        }
        chosen.unwrap_or(Ticks {
            step: MAX_STEP,
            unit,
        })
    }
}

/// The largest step between ticks: 10^19 ps, 116 days.
const MAX_STEP: u64 = 10_000_000_000_000_000_000;

/// Returns the steps 1, 2, 5, 10, 20, ... in picoseconds.
fn steps() -> impl Iterator<Item = u64> {
    let small = (0..19).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    small.chain([MAX_STEP])
}

/// The ticks of a time axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    step: u64,
    unit: Unit,
}

impl Ticks {
    /// The time between two ticks.
    pub fn step(&self) -> SimTime {
        SimTime(self.step)
    }

    /// The unit of the labels.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Returns the times of the ticks within a scale, its ends included.
    pub fn times(&self, scale: &TimeScale) -> Vec<SimTime> {
        let first = scale.start().0.div_ceil(self.step);
        let last = scale.end().0 / self.step;
        (first..=last).map(|n| SimTime(n * self.step)).collect()
    }

    /// Returns the label of a tick: the number in [`Ticks::unit`] and the unit, with as many decimals as the step has.
    pub fn label(&self, time: SimTime) -> String {
        if time == SimTime::ZERO {
            return "0".to_owned();
        }
        written(time, self.unit, self.step)
    }
}

/// Writes a time in a unit, with as many decimals as tell times apart that differ by so many picoseconds.
fn written(time: SimTime, unit: Unit, apart: u64) -> String {
    let (picos, name) = (unit.picos(), unit.name());
    let mut decimals = 0;
    let mut resolution = picos;
    while resolution > apart.max(1) {
        resolution /= 10;
        decimals += 1;
    }
    let whole = time.0 / picos;
    if decimals == 0 {
        return format!("{whole} {name}");
    }
    let fraction = time.0 % picos / resolution;
    format!("{whole}.{fraction:0decimals$} {name}")
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// 10^-12 s.
    Picoseconds,
    /// 10^-9 s.
    Nanoseconds,
    /// 10^-6 s.
    Microseconds,
    /// 10^-3 s.
    Milliseconds,
    /// A second.
    Seconds,
}

impl Unit {
    /// Returns the largest unit of which a time holds at least one.
    pub fn of(time: SimTime) -> Self {
        match time.0 {
            0..1_000 => Self::Picoseconds,
            1_000..1_000_000 => Self::Nanoseconds,
            1_000_000..1_000_000_000 => Self::Microseconds,
            1_000_000_000..1_000_000_000_000 => Self::Milliseconds,
            _ => Self::Seconds,
        }
    }

    /// Returns its symbol; microseconds in ASCII, as everywhere in foretrace.
    pub fn name(self) -> &'static str {
        match self {
            Self::Picoseconds => "ps",
            Self::Nanoseconds => "ns",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
        }
    }

    /// Returns its length in picoseconds.
    pub fn picos(self) -> u64 {
        match self {
            Self::Picoseconds => 1,
            Self::Nanoseconds => 1_000,
            Self::Microseconds => 1_000_000,
            Self::Milliseconds => 1_000_000_000,
            Self::Seconds => 1_000_000_000_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(start: u64, end: u64, width: f64) -> Vec<String> {
        let scale = TimeScale::new(SimTime(start), SimTime(end), 0.0, width);
        let ticks = scale.ticks(40.0, |label| 7.0 * label.len() as f64);
        let times = ticks.times(&scale);
        times.into_iter().map(|t| ticks.label(t)).collect()
    }

    #[test]
    fn ticks_are_round_and_carry_a_sensible_unit() {
        let ms = 1_000_000_000;
        assert_eq!(
            labels(0, 10_000, 500.0),
            ["0", "2 ns", "4 ns", "6 ns", "8 ns", "10 ns"]
        );
        assert_eq!(labels(0, 37 * ms, 400.0), ["0", "10 ms", "20 ms", "30 ms"]);
        let zoomed = labels(1_500 * ms, 1_500 * ms + 4_000_000, 500.0);
        assert_eq!(zoomed[..2], ["1.500000 s", "1.500001 s"]);
    }

    #[test]
    fn the_ends_of_time_have_ticks_and_no_overflow() {
        assert!(labels(0, u64::MAX, 300.0).len() > 1);
        assert!(!labels(u64::MAX - 5, u64::MAX, 900.0).is_empty());
        assert_eq!(labels(0, 0, 10.0).len(), 1);
        assert_eq!(labels(9, 3, 500.0), ["9 ps", "10 ps"]);
    }

    #[test]
    fn times_are_written_by_the_scale_in_view() {
        let ms = 1_000_000_000;
        let whole = TimeScale::new(SimTime::ZERO, SimTime(102 * ms), 0.0, 1_000.0);
        let near = TimeScale::new(
            SimTime(31_745_640_000),
            SimTime(31_745_743_000),
            0.0,
            1_000.0,
        );
        let (time, later) = (SimTime(31_745_651_200), SimTime(31_745_651_300));
        assert_eq!(whole.label(time), "31.7 ms");
        assert_eq!(whole.exactly(time), "31.745651 ms");
        assert_eq!(near.label(time), "31.7456512 ms");
        assert_eq!(near.label(later), "31.7456513 ms");
        assert_eq!(near.exactly(later), "31.7456513 ms");
        // The ends of what is too short to be seen are told apart all the same.
        let length = SimTime(50_000);
        assert_eq!(whole.label_within(time, length), "31.74565 ms");
        assert_eq!(whole.label(SimTime::ZERO), "0");
        assert_eq!(near.exactly(SimTime(7_000)), "7.0 ns");
        assert_eq!(whole.exactly(SimTime(7_000)), "7 ns");
    }

    proptest! {
        #[test]
        fn times_a_pixel_apart_are_told_apart(start in 0..u64::MAX / 2, span in 1_000..1_u64 << 50, share in 0.0..0.99_f64) {
            let scale = TimeScale::new(SimTime(start), SimTime(start + span), 0.0, 1_000.0);
            let time = scale.time(share * 1_000.0);
            let next = time + SimTime(scale.pixel());
            prop_assert!(scale.label(time) != scale.label(next));
            prop_assert!(scale.exactly(time) != scale.exactly(next));
        }

        #[test]
        fn labels_never_touch(start in any::<u64>(), span in 1..u64::MAX, width in 150.0..2_000.0_f64) {
            let scale = TimeScale::new(SimTime(start), SimTime(start.saturating_add(span)), 0.0, width);
            let measure = |label: &str| 7.0 * label.len() as f64;
            let ticks = scale.ticks(20.0, measure);
            for pair in ticks.times(&scale).windows(2) {
                let apart = scale.x(pair[1]) - scale.x(pair[0]);
                let half = |t| measure(&ticks.label(t)) / 2.0;
                prop_assert!(apart > half(pair[0]) + half(pair[1]));
            }
        }

        #[test]
        fn pixels_and_times_agree_to_a_rounding(start in 0..u64::MAX / 2, span in 1_000..1_u64 << 50, x in 0.0..1_000.0_f64) {
            let scale = TimeScale::new(SimTime(start), SimTime(start + span), 50.0, 1_000.0);
            let back = scale.x(scale.time(50.0 + x));
            prop_assert!((back - 50.0 - x).abs() <= 1.0, "{back}");
        }
    }
}
