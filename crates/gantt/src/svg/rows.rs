//! The rows: a thread's name, and what it did.

use foretrace_schedule::{Activity, Lane, Segment, State, Totals};

use super::{
    LABEL_GAP, MARGIN, Plot,
    document::{Anchor, Area, Document, Style},
};
use crate::{
    lanes::Row,
    pixels::{Piece, pieces},
    text,
};

/// Segments reach this far under their neighbours, or the background would shine through where two meet in a pixel.
const OVERLAP: f64 = 0.6;

/// Draws all rows.
pub fn draw(document: &mut Document, plot: &Plot, label_width: f64) {
    let every = plot.rows.label_every();
    let size = plot.rows.label_size();
    let style = Style::new(size, plot.palette.text).anchored(Anchor::End);
    for (index, lane) in plot.schedule.lanes.iter().enumerate() {
        let row = plot.rows.row(index);
        if index % every == 0
            && let Some(name) = text::fit(&lane.name, size, label_width + 0.5)
        {
            let x = MARGIN + label_width;
            let middle = row.middle();
            document.text_around(x.min(plot.scale.left() - LABEL_GAP), middle, style, &name);
        }
        draw_lane(document, plot, lane, row);
    }
}

/// Draws what one thread did: what is wide in order of time, then what is narrow on top, then what is written on it.
fn draw_lane(document: &mut Document, plot: &Plot, lane: &Lane, row: Row) {
    let pieces = pieces(lane, &plot.columns);
    let mut mixture = Mixture::new(row);
    for (position, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Solid { segment, .. } => {
                let after_mixed = position
                    .checked_sub(1)
                    .is_some_and(|p| matches!(pieces[p], Piece::Mixed { .. }));
                let is_last = position + 1 == pieces.len();
                draw_solid(document, plot, lane, row, *segment, (after_mixed, is_last));
            }
            Piece::Mixed {
                start, end, shares, ..
            } => mixture.add(plot.scale.x(*start), plot.scale.x(*end), shares),
        }
    }
    mixture.draw(document, plot);
    let Some(size) = plot.rows.segment_text_size() else {
        return;
    };
    for piece in pieces {
        if let Piece::Solid { segment, .. } = piece {
            draw_caption(document, plot, &lane.segments[segment], row, size);
        }
    }
}

/// Draws a segment that is a pixel wide or wider.
fn draw_solid(
    document: &mut Document,
    plot: &Plot,
    lane: &Lane,
    row: Row,
    index: usize,
    (after_mixed, is_last): (bool, bool),
) {
    let segment = &lane.segments[index];
    let activity = segment.state.activity();
    let (mut x0, mut x1) = (plot.scale.x(segment.start), plot.scale.x(segment.end));
    let before = index.checked_sub(1).map(|i| &lane.segments[i]);
    if x1 - x0 > 4.0 && before.is_some_and(|b| b.state.activity() == activity) {
        // Two of one colour, on two CPUs or blocked on two objects, are seen to be two.
        let gap = (x0, row.bar_top, 1.0, row.bar_height);
        document.rect(gap, plot.palette.background, None);
        x0 += 1.0;
    } else if after_mixed {
        x0 -= OVERLAP;
    }
    if !is_last {
        x1 += OVERLAP;
    }
    let place = (x0, row.bar_top, x1 - x0, row.bar_height);
    let tooltip = tooltip(plot, lane, segment);
    document.rect(place, plot.palette.fill(activity), Some(&tooltip));
}

/// Says what a segment is.
fn tooltip(plot: &Plot, lane: &Lane, segment: &Segment) -> String {
    let state = match segment.state {
        State::Running(cpu) => format!("running on CPU {cpu}"),
        State::Ready => "ready".to_owned(),
        State::Blocked(kind) => format!("blocked: {}", kind.name()),
    };
    let object = object_name(plot, segment).map_or_else(String::new, |name| format!(" {name}"));
    format!(
        "{}: {state}{object}, {} to {}, {}",
        lane.name,
        segment.start,
        segment.end,
        segment.duration()
    )
}

/// Returns the name of the object that a segment waits for.
fn object_name<'a>(plot: &'a Plot, segment: &Segment) -> Option<&'a str> {
    let object = plot.schedule.objects.get(segment.object? as usize)?;
    Some(&object.name)
}

/// Writes the CPU or the object into a segment where it fits.
fn draw_caption(document: &mut Document, plot: &Plot, segment: &Segment, row: Row, size: f64) {
    let (x0, x1) = (plot.scale.x(segment.start), plot.scale.x(segment.end));
    let space = x1 - x0 - 6.0;
    if space < text::width("0", size) {
        return;
    }
    let caption = match segment.state {
        State::Running(cpu) => {
            let number = cpu.to_string();
            let long = format!("CPU {cpu}");
            let fits = text::width(&long, size) + 12.0 <= space;
            let caption = if fits { long } else { number };
            (text::width(&caption, size) <= space).then_some(caption)
        }
        State::Ready => None,
        State::Blocked(kind) => {
            let name = object_name(plot, segment).unwrap_or(kind.name());
            text::fit(name, size, space).map(String::from)
        }
    };
    if let Some(caption) = caption {
        let ink = plot.palette.fill(segment.state.activity()).ink();
        let style = Style::new(size, ink).anchored(Anchor::Middle);
        document.text_around(f64::midpoint(x0, x1), row.middle(), style, &caption);
    }
}

/// The columns of a row that several segments share: their shares, stacked, as an area for each activity.
struct Mixture {
    areas: [Area; Activity::ALL.len()],
    height: f64,
}

impl Mixture {
    fn new(row: Row) -> Self {
        Self {
            areas: std::array::from_fn(|_| Area::on(row.bar_bottom())),
            height: row.bar_height,
        }
    }

    /// Adds a column. What runs stands at the bottom, as in the strip.
    ///
    /// Each area reaches from the bottom up to the upper edge of its own share; drawn from the highest to the lowest,
    /// they leave of each just its share, without a seam.
    fn add(&mut self, x0: f64, x1: f64, shares: &Totals) {
        let whole = shares.whole().0 as f64;
        let mut below = 0;
        for (activity, time) in shares.present() {
            below += time.0;
            let height = below as f64 / whole * self.height;
            self.areas[activity.index()].step(x0, x1, height);
        }
    }

    fn draw(self, document: &mut Document, plot: &Plot) {
        let areas = Activity::ALL.into_iter().zip(self.areas);
        let paths: Vec<_> = areas
            .filter_map(|(activity, area)| Some((activity, area.finish()?)))
            .collect();
        for (activity, data) in paths.into_iter().rev() {
            let fill = plot.palette.fill(activity);
            document.path(data, format_args!("fill=\"{fill}\""));
        }
    }
}
