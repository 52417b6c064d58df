//! The rows: a thread's name, and what it did.

use std::borrow::Cow;

use foretrace_schedule::{Activity, Lane, Segment, State, Totals};

use super::{
    LABEL_GAP, MARGIN, Plot,
    document::{Anchor, Area, Document, Style},
};
use crate::{
    lanes::Row,
    palette::Rgb,
    pixels::{Piece, pieces},
    text::{self, Px},
};

/// Segments reach this far under their neighbours, or the background would shine through where two meet in a pixel.
const OVERLAP: f64 = 0.6;

/// What is written into a segment: after the arrows, lest they cross it out.
pub struct Caption {
    x: f64,
    y: f64,
    size: f64,
    fill: Rgb,
    text: String,
}

/// Draws all rows; returns what is to be written on them.
pub fn draw(document: &mut Document, plot: &Plot, label_width: f64) -> Vec<Caption> {
    let mut captions = Vec::new();
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
        draw_lane(document, plot, lane, row, &mut captions);
    }
    captions
}

/// Writes captions, each on a ground of its segment's colour where there are arrows for it to interrupt.
pub fn draw_captions(document: &mut Document, captions: &[Caption], arrows: bool) {
    for caption in captions {
        let (x, y, size) = (caption.x, caption.y, caption.size);
        if arrows {
            let width = text::width(&caption.text, size);
            let ground = (x - width / 2.0, y - size / 2.0, width, size);
            document.rect(ground, caption.fill, None);
        }
        let style = Style::new(size, caption.fill.ink()).anchored(Anchor::Middle);
        document.text_around(x, y, style, &caption.text);
    }
}

/// Draws what one thread did: what is wide in order of time, then what is narrow on top.
fn draw_lane(
    document: &mut Document,
    plot: &Plot,
    lane: &Lane,
    row: Row,
    captions: &mut Vec<Caption>,
) {
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
    draw_eternity(document, plot, lane, row);
    let Some(size) = plot.rows.segment_text_size() else {
        return;
    };
    for piece in pieces {
        if let Piece::Solid { segment, .. } = piece {
            captions.extend(caption(plot, &lane.segments[segment], row, size));
        }
    }
}

/// Shows, in a deadlock, that a thread would wait on as it does at the end.
fn draw_eternity(document: &mut Document, plot: &Plot, lane: &Lane, row: Row) {
    let (Some(at), None, Some(last)) = (plot.deadlock(), lane.end, lane.segments.last()) else {
        return;
    };
    let (x0, x1) = (plot.scale.x(at), plot.scale.right());
    let fill = match last.state.activity() {
        blocked @ Activity::Blocked(_) => plot.palette.fill(blocked),
        // One that began to wait just then has no segment of it.
        Activity::Running | Activity::Ready => plot.palette.blocked,
    };
    let (y, height) = (Px(row.bar_top), Px(row.bar_height));
    let data = format!("M{} {y}h{}v{height}h{}z", Px(x0), Px(x1 - x0), Px(x0 - x1));
    document.path(data, format_args!("fill=\"{fill}\" fill-opacity=\"0.35\""));
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
    let object =
        object_name(plot, segment).map_or_else(String::new, |name| format!(" {}", shorten(name)));
    format!(
        "{}: {state}{object}, {} to {}, {}",
        shorten(&lane.name),
        segment.start,
        segment.end,
        segment.duration()
    )
}

/// Shortens a name to a length that a tooltip can bear a thousand times.
fn shorten(name: &str) -> Cow<'_, str> {
    text::fit(name, 1.0, 60.0).unwrap_or_default()
}

/// Returns the name of the object that a segment waits for.
fn object_name<'a>(plot: &'a Plot, segment: &Segment) -> Option<&'a str> {
    let object = plot.schedule.objects.get(segment.object? as usize)?;
    Some(&object.name)
}

/// Returns the CPU or the object as a segment's caption where it fits.
fn caption(plot: &Plot, segment: &Segment, row: Row, size: f64) -> Option<Caption> {
    let (x0, x1) = (plot.scale.x(segment.start), plot.scale.x(segment.end));
    let space = x1 - x0 - 6.0;
    if space < text::width("0", size) {
        return None;
    }
    let text = match segment.state {
        State::Running(cpu) => {
            let long = format!("CPU {cpu}");
            let fits = text::width(&long, size) + 12.0 <= space;
            let short = || Some(cpu.to_string()).filter(|n| text::width(n, size) <= space);
            if fits { Some(long) } else { short() }
        }
        State::Ready => None,
        State::Blocked(kind) => {
            let name = object_name(plot, segment).unwrap_or(kind.name());
            text::fit(name, size, space).map(Cow::into_owned)
        }
    };
    Some(Caption {
        x: f64::midpoint(x0, x1),
        y: row.middle(),
        size,
        fill: plot.palette.fill(segment.state.activity()),
        text: text?,
    })
}

/// The columns of a row that several segments share: their shares, stacked, as an area for each activity.
struct Mixture {
    areas: [Area; Activity::ALL.len()],
    /// Behind all of them, or the background would shine through where two columns meet in a pixel.
    ground: Area,
    totals: Totals,
    height: f64,
}

impl Mixture {
    fn new(row: Row) -> Self {
        Self {
            areas: std::array::from_fn(|_| Area::on(row.bar_bottom())),
            ground: Area::on(row.bar_bottom()),
            totals: Totals::default(),
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
        self.ground.step(x0, x1, self.height);
        self.totals.add_all(shares);
    }

    fn draw(self, document: &mut Document, plot: &Plot) {
        let mut path = |activity, area: Area| {
            if let Some(data) = area.finish() {
                let fill = plot.palette.fill(activity);
                document.path(data, format_args!("fill=\"{fill}\""));
            }
        };
        let most = self.totals.present().max_by_key(|(_, time)| *time);
        let Some((most, _)) = most else {
            return;
        };
        path(most, self.ground);
        for (activity, area) in Activity::ALL.into_iter().zip(self.areas).rev() {
            path(activity, area);
        }
    }
}
