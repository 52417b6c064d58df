//! Paints tracks into rows of pixels, and sums what they did column by column.
//!
//! What a column shares out to several states is stacked within the row, the bottom running, in exact proportion: blended
//! hues would be in no legend. A state that waits and would vanish between two pixels keeps one at the upper edge.

use crate::track::{Detail, FILLS, Fill, Run, Track};

/// A segment that a row shows by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solid {
    /// The segment of the track.
    pub segment: usize,
    /// Its first column.
    pub from: usize,
    /// The column after its last one.
    pub until: usize,
}

/// Segments up to so many columns wide are painted together with the columns beside them.
const NARROW: usize = 24;

/// Paints rows that are equally wide; keeps what it needs for one to use it for the next.
///
/// Pixels are four bytes in whatever order their colours have; 0 is left where nothing is.
#[derive(Debug)]
pub struct Painter<'a> {
    width: usize,
    colours: &'a [u32; FILLS],
    /// For each of the fills that a row has, up to which line each column is filled with it or one before it.
    tops: Vec<i32>,
    /// Waits that got no line, and their columns.
    vanished: Vec<(usize, Fill)>,
}

impl<'a> Painter<'a> {
    /// Paints so many columns. Of the colours, the last three are of what is drawn as a thin line.
    pub fn new(width: usize, colours: &'a [u32; FILLS]) -> Self {
        Self {
            width,
            colours,
            tops: vec![0; width * FILLS],
            vanished: Vec::new(),
        }
    }

    /// Paints a track into a row, from its upper line to its lowest, adds it to a heap, or both; and notes the segments that
    /// are at least `wide` columns wide. A row without lines is not painted.
    pub fn paint(
        &mut self,
        track: &Track,
        bounds: &[u64],
        detail: Detail,
        row: &mut [u32],
        mut heap: Option<&mut Heap>,
        (wide, solids): (usize, &mut Vec<Solid>),
    ) {
        let mut present = [Fill::IDLE; FILLS];
        let mut kinds = 0;
        for fill in track.present() {
            present[kinds] = fill;
            kinds += 1;
        }
        let present = &present[..kinds];
        // Columns are shared out in stretches, line by line, for neighbours in a line lie together in memory.
        let mut stretch = 0..0;
        track.columns(bounds, detail, |run| match run {
            Run::Solid {
                from,
                until,
                fill,
                segment,
            } => {
                if !row.is_empty() {
                    let joins = from == stretch.end && !stretch.is_empty();
                    if joins && until - from <= NARROW {
                        let kind = present.iter().position(|other| *other == fill);
                        self.note_solid(
                            from..until,
                            row.len() / self.width,
                            kind.unwrap_or(0),
                            kinds,
                        );
                        stretch.end = until;
                    } else {
                        self.fill(row, from..until, fill);
                    }
                    if until - from >= wide {
                        solids.push(Solid {
                            segment,
                            from,
                            until,
                        });
                    }
                }
                if let Some(heap) = &mut heap {
                    heap.add(from..until, fill, 1.0);
                }
            }
            Run::Mixed { column, shares } => {
                if !row.is_empty() {
                    if column != stretch.end {
                        self.flush(row, stretch.clone(), present);
                        stretch = column..column;
                    }
                    stretch.end = column + 1;
                    let height = row.len() / self.width;
                    let whole: u64 = shares.iter().sum();
                    // Times are below 2^63 but for runs of a hundred days, and signed numbers convert faster.
                    let scale = height as f32 / whole.cast_signed() as f32;
                    let shares = shares
                        .iter()
                        .map(|share| share.cast_signed() as f32 * scale);
                    self.note(column, height, present, shares);
                }
                if let Some(heap) = &mut heap {
                    let width = (bounds[column + 1] - bounds[column]).max(1) as f32;
                    for (fill, share) in present.iter().zip(shares) {
                        heap.add(column..column + 1, *fill, *share as f32 / width);
                    }
                }
            }
        });
        self.flush(row, stretch, present);
    }

    /// Paints what a heap holds; the row's height stands for so many lanes.
    pub fn paint_heap(&mut self, heap: &Heap, most: f32, row: &mut [u32]) {
        let height = row.len() / self.width.max(1);
        let present: Vec<Fill> = Fill::all()
            .filter(|fill| fill.activity().is_some())
            .collect();
        let columns = self.width.min(heap.columns());
        for column in 0..columns {
            let counts = heap.column(column);
            let lines = present
                .iter()
                .map(|fill| counts[fill.index()] / most.max(1e-6) * height as f32);
            self.note(column, height, &present, lines);
        }
        self.flush(row, 0..columns, &present);
    }

    /// Notes how many lines of a column each fill gets.
    fn note(
        &mut self,
        column: usize,
        height: usize,
        present: &[Fill],
        lines: impl Iterator<Item = f32>,
    ) {
        let height = lines_of(height);
        let (mut below, mut top) = (0.5, 0);
        let mut vanished = 1;
        for (kind, lines) in lines.enumerate() {
            below += lines;
            let until = (below as i32).min(height);
            self.tops[kind * self.width + column] = until;
            if until == top && lines > 0.0 && present[kind].severity() > vanished {
                vanished = present[kind].severity();
                self.vanished.push((column, present[kind]));
            }
            top = until;
        }
    }

    /// Notes that columns are filled with one of the fills alone.
    fn note_solid(
        &mut self,
        columns: std::ops::Range<usize>,
        height: usize,
        kind: usize,
        kinds: usize,
    ) {
        for other in 0..kinds {
            let top = if other < kind { 0 } else { lines_of(height) };
            let start = other * self.width;
            self.tops[start + columns.start..start + columns.end].fill(top);
        }
    }

    /// Paints the columns that were noted.
    fn flush(&mut self, row: &mut [u32], columns: std::ops::Range<usize>, present: &[Fill]) {
        if columns.is_empty() {
            return;
        }
        let colours = present.iter().map(|fill| match fill.activity() {
            Some(_) => self.colours[fill.index()],
            None => 0,
        });
        let colours: Vec<u32> = colours.collect();
        let tops = self
            .tops
            .chunks_exact(self.width)
            .map(|tops| &tops[columns.clone()]);
        let tops: Vec<&[i32]> = tops.take(present.len()).collect();
        for (line, pixels) in (0_i32..).zip(row.chunks_exact_mut(self.width).rev()) {
            let pixels = &mut pixels[columns.clone()];
            match present.len() {
                1 => share_out::<1>(line, pixels, &tops, &colours),
                2 => share_out::<2>(line, pixels, &tops, &colours),
                3 => share_out::<3>(line, pixels, &tops, &colours),
                4 => share_out::<4>(line, pixels, &tops, &colours),
                5 => share_out::<5>(line, pixels, &tops, &colours),
                6 => share_out::<6>(line, pixels, &tops, &colours),
                _ => share_out::<FILLS>(line, pixels, &tops, &colours),
            }
        }
        for (column, fill) in self.vanished.drain(..) {
            row[column] = self.colours[fill.index()];
        }
    }

    fn fill(&self, row: &mut [u32], columns: std::ops::Range<usize>, fill: Fill) {
        let colour = self.colours[fill.index()];
        let height = row.len() / self.width;
        let lines = if fill.activity().is_some() {
            0..height
        } else {
            height / 2..(height / 2 + 1).min(height)
        };
        for line in lines {
            let start = line * self.width;
            row[start + columns.start..start + columns.end].fill(colour);
        }
    }
}

/// Returns a number of lines as a signed one: those are compared faster.
fn lines_of(height: usize) -> i32 {
    i32::try_from(height).unwrap_or(i32::MAX)
}

/// Paints a line: each pixel in the first colour that reaches higher than the line, else with nothing.
///
/// The number of colours is known when this is compiled, which makes it four times as fast.
fn share_out<const KINDS: usize>(line: i32, pixels: &mut [u32], tops: &[&[i32]], colours: &[u32]) {
    // A kind that is not there reaches nowhere.
    const NOWHERE: &[i32] = &[];
    let tops: [&[i32]; KINDS] =
        std::array::from_fn(|kind| tops.get(kind).copied().unwrap_or(NOWHERE));
    let colours: [u32; KINDS] = std::array::from_fn(|kind| colours.get(kind).copied().unwrap_or(0));
    let columns = pixels.len();
    if tops.iter().any(|tops| tops.len() != columns) {
        for (column, pixel) in pixels.iter_mut().enumerate() {
            let reaches = |tops: &&[i32]| tops.get(column).is_some_and(|top| line < *top);
            let kind = tops.iter().position(reaches);
            *pixel = kind.map_or(0, |kind| colours[kind]);
        }
        return;
    }
    for column in 0..columns {
        let mut colour = 0;
        for kind in (0..KINDS).rev() {
            colour = if line < tops[kind][column] {
                colours[kind]
            } else {
                colour
            };
        }
        pixels[column] = colour;
    }
}

/// How many lanes were in each fill, column by column, on average.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    counts: Vec<[f32; FILLS]>,
}

impl Heap {
    /// Makes an empty one.
    pub fn new(columns: usize) -> Self {
        Self {
            counts: vec![[0.0; FILLS]; columns],
        }
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.counts.len()
    }

    /// Returns how many lanes were in each fill in a column.
    pub fn column(&self, column: usize) -> &[f32; FILLS] {
        &self.counts[column]
    }

    /// Returns how many lanes ran, were ready and were blocked in a column.
    pub fn threads(&self, column: usize) -> [f32; 3] {
        let counts = &self.counts[column];
        let blocked = Fill::all().filter(|fill| fill.severity() > 2);
        [
            counts[0],
            counts[1],
            blocked.map(|fill| counts[fill.index()]).sum(),
        ]
    }

    /// Returns the most threads that any column has.
    pub fn most_threads(&self) -> f32 {
        let sums = (0..self.columns()).map(|column| self.threads(column).iter().sum());
        sums.fold(0.0, f32::max)
    }

    /// Adds another heap of as many columns.
    pub fn add_all(&mut self, other: &Self) {
        for (counts, more) in self.counts.iter_mut().zip(&other.counts) {
            for (count, more) in counts.iter_mut().zip(more) {
                *count += more;
            }
        }
    }

    fn add(&mut self, columns: std::ops::Range<usize>, fill: Fill, count: f32) {
        for counts in &mut self.counts[columns] {
            counts[fill.index()] += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use foretrace_schedule::{Activity, SimTime, WaitKind};

    use super::*;

    const LOCK: Activity = Activity::Blocked(WaitKind::Lock);

    fn is_near(counts: [f32; 3], expected: [f32; 3]) -> bool {
        counts
            .iter()
            .zip(expected)
            .all(|(count, expected)| (count - expected).abs() < 1e-6)
    }

    fn colours() -> [u32; FILLS] {
        std::array::from_fn(|index| index as u32 + 1)
    }

    fn track(segments: &[(u64, Fill)], end: u64) -> Track {
        let (starts, fills) = segments.iter().copied().unzip();
        Track::new(starts, fills, SimTime(end))
    }

    fn painted(track: &Track, bounds: &[u64], height: usize) -> (Vec<u32>, Heap, Vec<Solid>) {
        let width = bounds.len() - 1;
        let mut pixels = vec![0; width * height];
        let (mut heap, mut solids) = (Heap::new(width), Vec::new());
        Painter::new(width, &colours()).paint(
            track,
            bounds,
            Detail::Exact,
            &mut pixels,
            Some(&mut heap),
            (2, &mut solids),
        );
        (pixels, heap, solids)
    }

    #[test]
    fn what_shares_a_column_is_stacked_in_proportion() {
        let running = Fill::RUNNING;
        let lock = Fill::of(LOCK);
        let track = track(&[(0, running), (15, lock), (20, running)], 40);
        let (pixels, heap, solids) = painted(&track, &[0, 20, 30, 40], 4);
        let column = |x: usize| -> Vec<u32> { (0..4).map(|y| pixels[y * 3 + x]).collect() };
        assert_eq!(column(0), [3, 1, 1, 1]);
        assert_eq!(column(1), [1; 4]);
        assert!(is_near(heap.threads(0), [0.75, 0.0, 0.25]));
        assert!(is_near(heap.threads(2), [1.0, 0.0, 0.0]));
        let solid = Solid {
            segment: 2,
            from: 1,
            until: 3,
        };
        assert_eq!(solids, [solid]);
    }

    #[test]
    fn a_wait_too_short_for_a_pixel_keeps_one() {
        let track = track(
            &[
                (0, Fill::RUNNING),
                (500, Fill::of(LOCK)),
                (501, Fill::RUNNING),
            ],
            1_000,
        );
        let (pixels, ..) = painted(&track, &[0, 1_000], 8);
        assert_eq!(pixels, [3, 1, 1, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn who_is_not_there_is_a_thin_line() {
        let track = track(&[(0, Fill::UNBORN), (10, Fill::RUNNING)], 20);
        let (pixels, heap, _) = painted(&track, &[0, 10, 20], 3);
        let unborn = Fill::UNBORN.index() as u32 + 1;
        assert_eq!(pixels, [0, 1, unborn, 1, 0, 1]);
        assert!(is_near(heap.threads(0), [0.0; 3]));
    }

    #[test]
    fn heaps_add_up_and_are_painted() {
        let running = track(&[(0, Fill::RUNNING)], 20);
        let locked = track(&[(0, Fill::of(LOCK))], 20);
        let (_, mut heap, _) = painted(&running, &[0, 10, 20], 3);
        let (_, other, _) = painted(&locked, &[0, 10, 20], 3);
        heap.add_all(&other);
        assert!((heap.most_threads() - 2.0).abs() < 1e-6);
        let mut pixels = vec![0; 4 * 2];
        Painter::new(2, &colours()).paint_heap(&heap, 4.0, &mut pixels);
        assert_eq!(pixels, [0, 0, 0, 0, 3, 3, 1, 1]);
    }
}
