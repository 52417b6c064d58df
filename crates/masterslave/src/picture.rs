//! The networks of a grid as SVG, with what flows through them.

use foretrace_gantt::{
    Theme,
    palette::{Palette, Rgb},
    svg::document::{Anchor, Document, Style},
    text::{self, Px},
};

use crate::{
    grid::Grid,
    plan::{Plan, Resource, Use},
};

const MARGIN: f64 = 20.0;
const HEAD: f64 = 58.0;
const BOX_WIDTH: f64 = 190.0;
const GAP_X: f64 = 90.0;
const GAP_Y: f64 = 22.0;
const TITLE_HEIGHT: f64 = 40.0;
const ROW: f64 = 19.0;

/// As many processors of a cluster as are shown, those that do most first; fewer where many clusters stand below each other.
const MOST_ROWS: usize = 8;

/// About so many processors are shown in a column.
const COLUMN_ROWS: usize = 40;

/// As many networks of a column as are shown.
const MOST_BOXES: usize = 16;

const USED: Rgb = Rgb(0, 114, 178);
const FULL: Rgb = Rgb(213, 94, 0);
const MASTER: Rgb = Rgb(0, 158, 115);

/// From this share of its capacity on, a resource counts as full.
const NEARLY_FULL: f64 = 0.999;

/// A network and where it is drawn.
struct Shape {
    network: usize,
    left: f64,
    top: f64,
    height: f64,
    rows: Vec<Row>,
    more: usize,
}

/// A processor of a cluster.
struct Row {
    name: String,
    used: f64,
    capacity: f64,
    master: bool,
}

/// Draws a plan's best candidate: networks in columns by their distance from the master, in each cluster its processors with
/// the share of each that is used.
pub fn render(grid: &Grid, plan: &Plan) -> String {
    let candidate = &plan.candidates[plan.best];
    let uses = plan.uses(candidate);
    let palette = Palette::of(Theme::Light);
    let home = plan.rates.cluster[candidate.master];
    let (shapes, hidden) = layout(grid, plan, &uses, home);
    let right = shapes
        .iter()
        .map(|s| s.left + BOX_WIDTH)
        .fold(0.0, f64::max);
    let bottom = shapes.iter().map(|s| s.top + s.height).fold(0.0, f64::max);
    let mut document = Document::default();
    let title = format!(
        "{} tasks/s with the master {}",
        number(candidate.rate),
        grid.processors[candidate.master].name
    );
    document.open(
        &title,
        ((right + MARGIN).max(560.0), bottom + MARGIN + 18.0),
        palette,
    );
    document.text(
        MARGIN,
        MARGIN + 16.0,
        Style::new(18.0, palette.text).bold(),
        &title,
    );
    let limit = format!(
        "limited by the {} {}",
        candidate.bottleneck.kind(),
        candidate.bottleneck.name(grid)
    );
    document.text(
        MARGIN,
        MARGIN + 36.0,
        Style::new(12.0, palette.muted),
        &limit,
    );
    for (index, shape) in shapes.iter().enumerate() {
        for other in &shapes[index + 1..] {
            if grid.networks[shape.network].joins.contains(&other.network) {
                link(&mut document, shape, other, &uses, palette);
            }
        }
    }
    for shape in &shapes {
        draw(&mut document, grid, shape, &uses, palette);
    }
    if hidden > 0 {
        let text = format!("and {hidden} more networks");
        document.text(
            MARGIN,
            bottom + 20.0,
            Style::new(12.0, palette.muted),
            &text,
        );
    }
    document.close()
}

/// Places the networks; returns also how many are not shown.
fn layout(grid: &Grid, plan: &Plan, uses: &[Use], home: usize) -> (Vec<Shape>, usize) {
    let distance: Vec<usize> = grid.routes_from(home).iter().map(Vec::len).collect();
    let columns = distance.iter().copied().max().unwrap_or(1);
    let (mut shapes, mut hidden) = (Vec::new(), 0);
    for column in 1..=columns {
        let mut members: Vec<usize> = (0..grid.networks.len())
            .filter(|n| distance[*n] == column)
            .collect();
        members.sort_by(|a, b| used(uses, *b).0.total_cmp(&used(uses, *a).0).then(a.cmp(b)));
        hidden += members.len().saturating_sub(MOST_BOXES);
        members.truncate(MOST_BOXES);
        let mut top = MARGIN + HEAD;
        let most = (COLUMN_ROWS / members.len().max(1)).clamp(1, MOST_ROWS);
        for network in members {
            let (rows, more) = processors(grid, plan, uses, network, most);
            let lines = rows.len() + usize::from(more > 0);
            let height = TITLE_HEIGHT + ROW * lines as f64 + if lines > 0 { 8.0 } else { 0.0 };
            shapes.push(Shape {
                network,
                left: MARGIN + (column - 1) as f64 * (BOX_WIDTH + GAP_X),
                top,
                height,
                rows,
                more,
            });
            top += height + GAP_Y;
        }
    }
    centre(&mut shapes);
    (shapes, hidden)
}

/// Moves shorter columns down to the middle of the longest.
fn centre(shapes: &mut [Shape]) {
    let bottom = |shapes: &[&Shape]| shapes.iter().map(|s| s.top + s.height).fold(0.0, f64::max);
    let lowest = bottom(&shapes.iter().collect::<Vec<_>>());
    let mut begin = 0;
    while begin < shapes.len() {
        let left = shapes[begin].left;
        let column = shapes[begin..]
            .iter()
            .take_while(|s| s.left.total_cmp(&left).is_eq())
            .count();
        let column = &mut shapes[begin..begin + column];
        let by = (lowest - bottom(&column.iter().collect::<Vec<_>>())) / 2.0;
        for shape in column.iter_mut() {
            shape.top += by;
        }
        begin += column.len();
    }
}

/// Returns what is used of a network, and its capacity.
fn used(uses: &[Use], network: usize) -> (f64, f64) {
    let found = uses
        .iter()
        .find(|u| u.resource == Resource::Network(network));
    found.map_or((0.0, 0.0), |u| (u.used, u.capacity))
}

fn processors(
    grid: &Grid,
    plan: &Plan,
    uses: &[Use],
    network: usize,
    most: usize,
) -> (Vec<Row>, usize) {
    let Some(members) = plan.rates.members.get(network) else {
        return (Vec::new(), 0);
    };
    let mut rows: Vec<Row> = members
        .iter()
        .map(|processor| {
            let of = |u: &&Use| matches!(u.resource, Resource::Master(p) | Resource::Slave(p) if p == *processor);
            let found = uses.iter().find(of);
            Row {
                name: grid.processors[*processor].name.clone(),
                used: found.map_or(0.0, |u| u.used),
                capacity: found.map_or(plan.rates.slave[*processor], |u| u.capacity),
                master: found.is_some_and(|u| matches!(u.resource, Resource::Master(_))),
            }
        })
        .collect();
    rows.sort_by(|a, b| b.master.cmp(&a.master).then(b.used.total_cmp(&a.used)));
    let more = rows.len().saturating_sub(most);
    rows.truncate(most);
    (rows, more)
}

fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

/// Draws what flows between two networks.
fn link(document: &mut Document, from: &Shape, to: &Shape, uses: &[Use], palette: &Palette) {
    let flow = used(uses, from.network).0.min(used(uses, to.network).0);
    let most = uses.iter().map(|u| u.used).fold(1e-300, f64::max);
    let (left, right) = if from.left <= to.left {
        (from, to)
    } else {
        (to, from)
    };
    let begin = (left.left + BOX_WIDTH, left.top + TITLE_HEIGHT / 2.0);
    let end = (right.left, right.top + TITLE_HEIGHT / 2.0);
    // Networks of one column are joined by a bow on their right.
    let same = (left.left - right.left).abs() < 1.0;
    let end = if same {
        (end.0 + BOX_WIDTH, end.1)
    } else {
        end
    };
    let middle = if same {
        begin.0 + GAP_X / 2.0
    } else {
        f64::midpoint(begin.0, end.0)
    };
    let data = format!(
        "M{} {}C{} {} {} {} {} {}",
        Px(begin.0),
        Px(begin.1),
        Px(middle),
        Px(begin.1),
        Px(middle),
        Px(end.1),
        Px(end.0),
        Px(end.1)
    );
    let (colour, width) = if flow > 0.0 {
        (USED, 1.5 + 8.0 * flow / most)
    } else {
        (palette.axis, 1.0)
    };
    document.path(
        data,
        format_args!(
            "stroke=\"{colour}\" stroke-width=\"{}\" stroke-opacity=\"0.55\" fill=\"none\"",
            Px(width)
        ),
    );
}

fn draw(document: &mut Document, grid: &Grid, shape: &Shape, uses: &[Use], palette: &Palette) {
    let (flow, capacity) = used(uses, shape.network);
    document.rect(
        (shape.left, shape.top, BOX_WIDTH, shape.height),
        palette.grid,
        None,
    );
    let inner = (
        shape.left + 1.0,
        shape.top + 1.0,
        BOX_WIDTH - 2.0,
        shape.height - 2.0,
    );
    document.rect(inner, palette.background, None);
    let name = text::fit(&grid.networks[shape.network].name, 13.0, 84.0).unwrap_or_default();
    document.text(
        shape.left + 10.0,
        shape.top + 18.0,
        Style::new(13.0, palette.text).bold(),
        &name,
    );
    let amount = format!("{} of {}", number(flow), number(capacity));
    let style = Style::new(11.0, palette.muted).anchored(Anchor::End);
    document.text(
        shape.left + BOX_WIDTH - 10.0,
        shape.top + 18.0,
        style,
        &amount,
    );
    let bar = (shape.left + 10.0, shape.top + 26.0, BOX_WIDTH - 20.0, 6.0);
    gauge(document, bar, flow, capacity, USED, palette);
    for (index, row) in shape.rows.iter().enumerate() {
        let y = shape.top + TITLE_HEIGHT + ROW * index as f64 + ROW / 2.0;
        let name = text::fit(&row.name, 11.0, 62.0).unwrap_or_default();
        let style = Style::new(11.0, palette.text);
        let style = if row.master { style.bold() } else { style };
        document.text_around(shape.left + 10.0, y, style, &name);
        let bar = (shape.left + 76.0, y - 4.0, 58.0, 8.0);
        let colour = if row.master { MASTER } else { USED };
        gauge(document, bar, row.used, row.capacity, colour, palette);
        let style = Style::new(10.0, palette.muted).anchored(Anchor::End);
        document.text_around(shape.left + BOX_WIDTH - 10.0, y, style, &number(row.used));
    }
    if shape.more > 0 {
        let y = shape.top + TITLE_HEIGHT + ROW * shape.rows.len() as f64 + ROW / 2.0;
        let text = format!("and {} more", shape.more);
        document.text_around(shape.left + 10.0, y, Style::new(11.0, palette.muted), &text);
    }
}

/// Draws a bar that is filled as far as a resource is used; full ones in another colour.
fn gauge(
    document: &mut Document,
    (x, y, width, height): (f64, f64, f64, f64),
    used: f64,
    capacity: f64,
    colour: Rgb,
    palette: &Palette,
) {
    let share = if capacity > 0.0 {
        (used / capacity).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let colour = if share >= NEARLY_FULL { FULL } else { colour };
    let tooltip = format!("{} of {} tasks/s", number(used), number(capacity));
    document.rect((x, y, width, height), palette.grid, Some(&tooltip));
    if share > 0.0 {
        document.rect((x, y, width * share, height), colour, Some(&tooltip));
    }
}
