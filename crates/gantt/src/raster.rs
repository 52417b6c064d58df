//! Paints tracks into rows of pixels, and sums what they did column by column.
//!
//! What a column shares out to several states is stacked within the row, the bottom running, in exact proportion: blended
//! hues would be in no legend. A state that waits and would vanish between two pixels keeps one at the upper edge.

use crate::track::{Detail, FILLS, Fill, Run, Track};

/// A row of an image: as many lines as it is high, each as long as there are columns.
#[derive(Debug)]
pub struct Band<'a, P> {
    /// The pixels, line by line.
    pub pixels: &'a mut [P],
    /// The number of columns.
    pub width: usize,
    /// The colour of each fill; the last three fills are drawn as a thin line.
    pub colours: &'a [P; FILLS],
}

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

impl<P: Copy> Band<'_, P> {
    fn height(&self) -> usize {
        self.pixels.len() / self.width.max(1)
    }

    /// Fills columns from bottom to top, in shares of which the whole is `whole`.
    fn stack(&mut self, column: usize, shares: impl Iterator<Item = (Fill, f32)>, whole: f32) {
        let height = self.height();
        let scale = height as f32 / whole;
        let (mut below, mut line) = (0.0, 0);
        let mut vanished: Option<Fill> = None;
        for (fill, share) in shares {
            if share <= 0.0 {
                continue;
            }
            below += share * scale;
            #[expect(
                clippy::cast_sign_loss,
                reason = "shares of a height are not negative"
            )]
            let until = ((below + 0.5) as usize).min(height);
            if until == line && fill.severity() > vanished.map_or(1, Fill::severity) {
                vanished = Some(fill);
            }
            if fill.activity().is_some() {
                for y in line..until {
                    self.pixels[(height - 1 - y) * self.width + column] =
                        self.colours[fill.index()];
                }
            }
            line = until;
        }
        if let Some(fill) = vanished {
            self.pixels[column] = self.colours[fill.index()];
        }
    }

    fn fill(&mut self, from: usize, until: usize, fill: Fill) {
        let colour = self.colours[fill.index()];
        let height = self.height();
        let lines = if fill.activity().is_some() {
            0..height
        } else {
            height / 2..(height / 2 + 1).min(height)
        };
        for line in lines {
            self.pixels[line * self.width + from..line * self.width + until].fill(colour);
        }
    }

    /// Paints what a heap holds, in shares of its highest column.
    pub fn paint_heap(&mut self, heap: &Heap, most: f32) {
        for column in 0..self.width.min(heap.columns()) {
            let shares = heap.column(column);
            let shares = Fill::all().zip(shares.iter().copied());
            // Threads that are not there leave their place empty.
            self.stack(column, shares.filter(|(fill, _)| fill.activity().is_some()), most.max(1e-6));
        }
    }
}

/// Paints a track, adds it to a heap, or both; returns the segments that are at least `wide` columns wide, where they are
/// asked for.
pub fn paint<P: Copy>(
    track: &Track,
    bounds: &[u64],
    detail: Detail,
    mut band: Option<&mut Band<'_, P>>,
    mut heap: Option<&mut Heap>,
    (wide, solids): (usize, &mut Vec<Solid>),
) {
    let mut present = [Fill::IDLE; FILLS];
    let mut kinds = 0;
    for fill in track.present() {
        present[kinds] = fill;
        kinds += 1;
    }
    track.columns(bounds, detail, |run| match run {
        Run::Solid {
            from,
            until,
            fill,
            segment,
        } => {
            if let Some(band) = &mut band {
                band.fill(from, until, fill);
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
            let whole: u64 = shares.iter().sum();
            if let Some(band) = &mut band {
                let shares = shares.iter().map(|share| *share as f32);
                let shares = present[..kinds].iter().copied().zip(shares);
                band.stack(column, shares, whole as f32);
            }
            if let Some(heap) = &mut heap {
                let width = (bounds[column + 1] - bounds[column]).max(1) as f32;
                for (fill, share) in present.iter().zip(shares) {
                    heap.add(column..column + 1, *fill, *share as f32 / width);
                }
            }
        }
    });
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

    fn colours() -> [u8; FILLS] {
        std::array::from_fn(|index| index as u8 + 1)
    }

    fn track(segments: &[(u64, Fill)], end: u64) -> Track {
        let (starts, fills) = segments.iter().copied().unzip();
        Track::new(starts, fills, SimTime(end))
    }

    fn painted(track: &Track, bounds: &[u64], height: usize) -> (Vec<u8>, Heap, Vec<Solid>) {
        let width = bounds.len() - 1;
        let mut pixels = vec![0; width * height];
        let (mut heap, mut solids) = (Heap::new(width), Vec::new());
        let colours = colours();
        let mut band = Band {
            pixels: &mut pixels,
            width,
            colours: &colours,
        };
        paint(
            track,
            bounds,
            Detail::Exact,
            Some(&mut band),
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
        let column = |x: usize| -> Vec<u8> { (0..4).map(|y| pixels[y * 3 + x]).collect() };
        assert_eq!(column(0), [3, 1, 1, 1]);
        assert_eq!(column(1), [1; 4]);
        assert_eq!(heap.threads(0), [0.75, 0.0, 0.25]);
        assert_eq!(heap.threads(2), [1.0, 0.0, 0.0]);
        let solid = Solid {
            segment: 2,
            from: 1,
            until: 3,
        };
        assert_eq!(solids, [solid]);
    }

    #[test]
    fn a_wait_too_short_for_a_pixel_keeps_one() {
        let track = track(&[(0, Fill::RUNNING), (500, Fill::of(LOCK)), (501, Fill::RUNNING)], 1_000);
        let (pixels, ..) = painted(&track, &[0, 1_000], 8);
        assert_eq!(pixels, [3, 1, 1, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn who_is_not_there_is_a_thin_line() {
        let track = track(&[(0, Fill::UNBORN), (10, Fill::RUNNING)], 20);
        let (pixels, heap, _) = painted(&track, &[0, 10, 20], 3);
        let unborn = Fill::UNBORN.index() as u8 + 1;
        assert_eq!(pixels, [0, 1, unborn, 1, 0, 1]);
        assert_eq!(heap.threads(0), [0.0; 3]);
    }

    #[test]
    fn heaps_add_up_and_are_painted() {
        let running = track(&[(0, Fill::RUNNING)], 20);
        let locked = track(&[(0, Fill::of(LOCK))], 20);
        let (_, mut heap, _) = painted(&running, &[0, 10, 20], 3);
        let (_, other, _) = painted(&locked, &[0, 10, 20], 3);
        heap.add_all(&other);
        assert!((heap.most_threads() - 2.0).abs() < 1e-6);
        let colours = colours();
        let mut pixels = vec![0; 4 * 2];
        Band {
            pixels: &mut pixels,
            width: 2,
            colours: &colours,
        }
        .paint_heap(&heap, 4.0);
        assert_eq!(pixels, [0, 0, 0, 0, 3, 3, 1, 1]);
    }
}
