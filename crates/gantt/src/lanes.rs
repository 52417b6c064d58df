//! Where rows lie: a row for each lane, as high as the number of lanes allows.

use foretrace_schedule::Schedule;

use crate::text;

/// The height that rows together strive for, in pixels.
const COMFORTABLE: f64 = 900.0;

/// The width that names may take at most.
const WIDEST_LABELS: f64 = 190.0;

/// Where the rows of a picture lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rows {
    top: f64,
    pitch: f64,
    count: usize,
}

/// Where one row lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The upper edge of the row.
    pub top: f64,
    /// The height of the row.
    pub height: f64,
    /// The upper edge of its segments.
    pub bar_top: f64,
    /// The height of its segments.
    pub bar_height: f64,
}

impl Row {
    /// The middle of the row.
    pub fn middle(&self) -> f64 {
        self.top + self.height / 2.0
    }

    /// The lower edge of its segments.
    pub fn bar_bottom(&self) -> f64 {
        self.bar_top + self.bar_height
    }
}

impl Rows {
    /// Lays out `count` rows from `top` on: 34 pixels each where they are few, 3 where they are a thousand.
    pub fn new(top: f64, count: usize) -> Self {
        let pitch = (COMFORTABLE / count.max(1) as f64).clamp(3.0, 34.0);
        // Whole pixels, or rows of one picture would look unlike each other.
        Self {
            top,
            pitch: pitch.floor(),
            count,
        }
    }

    /// The number of rows.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The upper edge of the first row.
    pub fn top(&self) -> f64 {
        self.top
    }

    /// The lower edge of the last row.
    pub fn bottom(&self) -> f64 {
        self.top + self.pitch * self.count as f64
    }

    /// The distance between two rows.
    pub fn pitch(&self) -> f64 {
        self.pitch
    }

    /// Returns where a row lies.
    pub fn row(&self, index: usize) -> Row {
        let top = self.top + self.pitch * index as f64;
        let air = match self.pitch {
            p if p >= 24.0 => 4.0,
            p if p >= 16.0 => 2.0,
            p if p >= 8.0 => 1.0,
            _ => 0.5,
        };
        Row {
            top,
            height: self.pitch,
            bar_top: top + air,
            bar_height: self.pitch - 2.0 * air,
        }
    }

    /// The size of the font of names.
    pub fn label_size(&self) -> f64 {
        (self.pitch - 2.0).clamp(9.0, 12.0)
    }

    /// Returns every how many rows a name is shown, so that names do not overlap: 1, 2, 5, 10, ...
    pub fn label_every(&self) -> usize {
        let needed = self.label_size() + 1.0;
        let mut power = 1;
        loop {
            for digit in [1, 2, 5] {
                let every = digit * power;
                if every as f64 * self.pitch >= needed {
                    return every;
                }
            }
            power *= 10;
        }
    }

    /// The size of the font within segments; none where they are too low for text.
    pub fn segment_text_size(&self) -> Option<f64> {
        let height = self.row(0).bar_height;
        (height >= 10.0).then(|| (height * 0.55).clamp(8.5, 11.0))
    }

    /// Returns the width that the names of a schedule's lanes take.
    pub fn label_width(&self, schedule: &Schedule) -> f64 {
        let size = self.label_size();
        let names = schedule.lanes.iter().step_by(self.label_every());
        let widest = names
            .map(|lane| text::width(&lane.name, size))
            .fold(0.0, f64::max);
        // The strip's own label has room in any case.
        widest.clamp(40.0, WIDEST_LABELS).ceil()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_high_where_they_are_few_and_thin_where_they_are_many() {
        let pitches =
            [1, 2, 8, 64, 1_000, 100_000].map(|count| Rows::new(0.0, count).pitch().to_string());
        assert_eq!(pitches, ["34", "34", "34", "14", "3", "3"]);
        assert!((Rows::new(10.0, 64).bottom() - 906.0).abs() < 1e-9);
    }

    #[test]
    fn names_never_overlap() {
        for count in 1..3_000 {
            let rows = Rows::new(0.0, count);
            assert!(rows.label_every() as f64 * rows.pitch() > rows.label_size());
        }
    }

    #[test]
    fn segments_lie_within_their_rows() {
        for count in [1, 40, 60, 100, 5_000] {
            let row = Rows::new(5.0, count).row(count - 1);
            assert!(row.bar_height >= 2.0);
            assert!(row.top < row.bar_top && row.bar_bottom() < row.top + row.height);
        }
    }

    #[test]
    fn segments_carry_text_where_it_is_legible() {
        assert!(Rows::new(0.0, 64).segment_text_size().is_some());
        assert!(Rows::new(0.0, 200).segment_text_size().is_none());
    }
}
