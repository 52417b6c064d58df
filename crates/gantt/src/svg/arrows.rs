//! Arrows from who let go to who could go on, and from sends to receives.

use foretrace_schedule::Wake;

use super::{Plot, document::Document};
use crate::{arrows::Line, text::Px};

/// What sorts of arrows a picture has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    /// Releases, which take no time.
    pub wakes: bool,
    /// Messages, from their sends to their receives.
    pub messages: bool,
}

impl Drawn {
    /// Tells whether there is any.
    pub fn any(self) -> bool {
        self.wakes || self.messages
    }
}

/// Draws the arrows within the picture where there are no more than a limit; tells what there are.
pub fn draw(document: &mut Document, plot: &Plot, limit: usize) -> Drawn {
    let visible = || {
        let wakes = plot.schedule.wakes.iter();
        wakes.filter(|w| w.from != w.to && is_within(plot, w) && is_drawable(plot, w))
    };
    let drawn = Drawn {
        wakes: visible().any(|wake| !wake.is_message()),
        messages: visible().any(Wake::is_message),
    };
    if visible().nth(limit).is_some() || drawn == Drawn::default() {
        return Drawn::default();
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
    drawn
}

/// Tells whether a part of an arrow is in the picture.
fn is_within(plot: &Plot, wake: &Wake) -> bool {
    wake.at >= plot.scale.start() && wake.sent() <= plot.scale.end()
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
    let down = from.top < to.top;
    let reach = (from.bar_height / 2.0).min(5.0);
    let heights = if down {
        (from.bar_bottom() - reach, to.bar_top + 1.0)
    } else {
        (from.bar_top + reach, to.bar_bottom() - 1.0)
    };
    let line = Line::of(wake, &plot.scale, heights);
    let ((x0, y0), (x1, y1)) = (line.start, line.end);
    let (x, y) = line.direction();
    // The shaft ends within the head, whose tip is sharper than it.
    let length = (x1 - x0).hypot(y1 - y0);
    let short = if line.has_tip { length.min(3.0) } else { 0.0 };
    let (x, y) = (x1 - short * x, y1 - short * y);
    let shaft = format!("M{} {}L{} {}", Px(x0), Px(y0), Px(x), Px(y));
    let head = if line.has_tip {
        arrow_head((x1, y1), line.direction())
    } else {
        String::new()
    };
    (shaft, head)
}

/// Returns the data of an arrow head whose tip is at a point, in a direction.
pub fn arrow_head((x, y): (f64, f64), (along, down): (f64, f64)) -> String {
    let (back_x, back_y) = (x - 6.0 * along, y - 6.0 * down);
    let (wide_x, wide_y) = (-3.0 * down, 3.0 * along);
    let corner = |sign: f64| {
        let (x, y) = (back_x + sign * wide_x, back_y + sign * wide_y);
        format!("L{} {}", Px(x), Px(y))
    };
    format!("M{} {}{}{}Z", Px(x), Px(y), corner(1.0), corner(-1.0))
}
