//! Arrows from who let go to who could go on, and from sends to receives.

use std::collections::BTreeMap;

use foretrace_schedule::Wake;

use super::{Plot, document::Document};
use crate::{
    arrows::{self, Line, WakeIndex},
    text::Px,
};

/// What sorts of arrows a picture has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    /// Releases, which take no time.
    pub wakes: bool,
    /// Messages, from their sends to their receives.
    pub messages: bool,
    /// What they stand for, where there is not one for each.
    pub note: Option<String>,
}

impl Drawn {
    /// Tells whether there is any.
    pub fn any(&self) -> bool {
        self.wakes || self.messages
    }
}

/// Draws the arrows within the picture, not more than a limit; tells what there are.
pub fn draw(document: &mut Document, plot: &Plot, limit: usize) -> Drawn {
    let wakes = &plot.schedule.wakes;
    let lanes = plot.rows.count();
    let row = |lane: usize| (lane < lanes).then_some(lane);
    let index = WakeIndex::new(plot.schedule);
    let found = arrows::arrows(wakes, &index, &plot.scale, &row, 0..lanes, limit);
    let colour = plot.palette.arrow;
    let halo = plot.palette.background;
    // Where there are many they recede, lest they hide what they are about.
    let strength = (60.0 / found.drawn.len().max(1) as f64).clamp(0.4, 1.0);
    let mut heads = String::new();
    let mut shafts: BTreeMap<u32, String> = BTreeMap::new();
    for bundle in &found.drawn {
        let (shaft, head) = arrow(plot, &wakes[bundle.wake]);
        *shafts.entry(bundle.count.ilog10().min(2)).or_default() += &shaft;
        heads += &head;
    }
    // The halo keeps arrows legible across segments of any colour.
    for (power, lines) in &shafts {
        let width = f64::from(*power) * 0.8;
        let opacity = 0.45 * strength;
        document.path(
            lines,
            format_args!(
                "fill=\"none\" stroke=\"{halo}\" stroke-width=\"{}\" stroke-opacity=\"{}\"",
                Px(3.0 + width),
                Px(opacity)
            ),
        );
    }
    let opacity = if strength < 1.0 {
        format!(" opacity=\"{}\"", Px(strength))
    } else {
        String::new()
    };
    for (power, lines) in &shafts {
        let width = 1.0 + f64::from(*power) * 0.8;
        document.path(
            lines,
            format_args!(
                "fill=\"none\" stroke=\"{colour}\" stroke-width=\"{}\"{opacity}",
                Px(width)
            ),
        );
    }
    if !heads.is_empty() {
        document.path(heads, format_args!("fill=\"{colour}\"{opacity}"));
    }
    let is = |message: bool| {
        let drawn = &mut found.drawn.iter();
        drawn.any(|arrow| wakes[arrow.wake].is_message() == message)
    };
    Drawn {
        wakes: is(false),
        messages: is(true),
        note: found.note(),
    }
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
