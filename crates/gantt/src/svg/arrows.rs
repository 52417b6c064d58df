//! Arrows from who let go to who could go on.

use foretrace_schedule::Wake;

use super::{Plot, document::Document};
use crate::text::Px;

/// Draws the arrows within the picture where there are no more than a limit; tells whether there are any.
pub fn draw(document: &mut Document, plot: &Plot, limit: usize) -> bool {
    let visible = || {
        let wakes = plot.schedule.wakes.iter();
        wakes.filter(|w| w.from != w.to && plot.shows(w.at) && is_drawable(plot, w))
    };
    if visible().nth(limit).is_some() || visible().next().is_none() {
        return false;
    }
    let colour = plot.palette.arrow;
    let halo = plot.palette.background;
    let (mut lines, mut heads) = (String::new(), String::new());
    for wake in visible() {
        let (line, head) = arrow(plot, wake);
        lines += &line;
        heads += &head;
    }
    // The halo keeps arrows legible across segments of any colour.
    document.path(
        &lines,
        format_args!("fill=\"none\" stroke=\"{halo}\" stroke-width=\"3\" stroke-opacity=\"0.45\""),
    );
    document.path(
        &lines,
        format_args!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1\""),
    );
    document.path(heads, format_args!("fill=\"{colour}\""));
    true
}

/// Tells whether both ends of an arrow are lanes.
fn is_drawable(plot: &Plot, wake: &Wake) -> bool {
    let lanes = plot.rows.count();
    (wake.from as usize) < lanes && (wake.to as usize) < lanes
}

/// Returns the data of an arrow's line and of its head.
fn arrow(plot: &Plot, wake: &Wake) -> (String, String) {
    let (from, to) = (
        plot.rows.row(wake.from as usize),
        plot.rows.row(wake.to as usize),
    );
    let x = plot.scale.x(wake.at);
    let down = from.top < to.top;
    let reach = (from.bar_height / 2.0).min(5.0);
    let (start, tip, shaft) = if down {
        (
            from.bar_bottom() - reach,
            to.bar_top + 1.0,
            to.bar_top - 2.0,
        )
    } else {
        (
            from.bar_top + reach,
            to.bar_bottom() - 1.0,
            to.bar_bottom() + 2.0,
        )
    };
    let line = format!("M{x} {}V{}", Px(start), Px(shaft), x = Px(x));
    (line, arrow_head(x, tip, down))
}

/// Returns the data of an arrow head whose tip is at a point.
pub fn arrow_head(x: f64, tip: f64, down: bool) -> String {
    let length = if down { -6.0 } else { 6.0 };
    format!("M{} {}l-3 {length}h6Z", Px(x), Px(tip))
}
