//! The picture: overview, parallelism, axis, lanes, and what pointer and wheel do in it.

pub mod cache;

mod graph;
mod input;
mod overlay;
mod rows;
mod shapes;
mod tiles;

#[cfg(test)]
pub use rows::gutter_width;
pub use shapes::sign;

use std::sync::Arc;

use eframe::egui::{self, Align2, FontId, Rect, Sense, pos2, vec2};
use foretrace_gantt::{arrange::Heights, scale::TimeScale, view::TimeView};

use crate::{
    app::Viewer, canvas::cache::Wanted, command::Command, loaded::Loaded, settings::Settings,
    state::Open, theme::Colours,
};

/// What painting needs to know of the window.
pub struct Scene<'a> {
    /// The colours.
    pub colours: &'a Colours,
    /// The settings.
    pub settings: &'a Settings,
    /// What is shown.
    pub loaded: Arc<Loaded>,
    /// Where everything lies.
    pub layout: Layout,
}

/// Where everything lies.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Left of the lanes: names.
    pub gutter: f32,
    /// The whole run.
    pub overview: Rect,
    /// The parallelism graph.
    pub graph: Rect,
    /// The difference of two predictions.
    pub difference: Option<Rect>,
    /// The labels of times.
    pub axis: Rect,
    /// The lanes.
    pub lanes: Rect,
    /// The lanes of the other prediction, where they stand apart.
    pub other: Option<Rect>,
}

/// The height of the parallelism graph, where there is room.
const GRAPH: f32 = 92.0;

impl Layout {
    fn new(rect: Rect, gutter: f32, open: &Open) -> Self {
        let left = rect.left() + gutter;
        // However small the window is, there is something to be laid out over.
        let right = (rect.right() - 10.0).max(left + 1.0);
        let mut top = rect.top() + 4.0;
        let mut take = |height: f32| {
            let part = Rect::from_min_max(pos2(left, top), pos2(right, top + height));
            top += height;
            part
        };
        let overview = take(30.0);
        take(8.0);
        // In a low window the graph leaves half of the room to the lanes.
        let graph = take(((rect.height() - 64.0) / 2.0).clamp(24.0, GRAPH));
        let difference = open.baseline.is_some().then(|| {
            take(4.0);
            take(36.0)
        });
        let axis = take(22.0);
        let bottom = rect.bottom().max(top + 1.0);
        let below = Rect::from_min_max(pos2(left, top), pos2(right, bottom));
        let (lanes, other) = if open.is_apart() {
            let middle = below.center().y;
            let (mut upper, mut lower) = (below, below);
            let air = (below.height() / 4.0).min(9.0);
            upper.max.y = middle - air;
            lower.min.y = middle + air;
            (upper, Some(lower))
        } else {
            (below, None)
        };
        Self {
            gutter,
            overview,
            graph,
            difference,
            axis,
            lanes,
            other,
        }
    }

    /// Everything that shows the same stretch of time.
    pub fn plot(&self) -> Rect {
        let bottom = self.other.unwrap_or(self.lanes).bottom();
        Rect::from_min_max(self.graph.min, pos2(self.lanes.right(), bottom))
    }

    /// From times to points.
    pub fn scale(&self, view: &TimeView) -> TimeScale {
        let (left, width) = (self.lanes.left(), self.lanes.width());
        TimeScale::new(view.start, view.end, f64::from(left), f64::from(width))
    }
}

/// Paints the picture and takes what is done in it.
pub fn show(viewer: &mut Viewer, ui: &mut egui::Ui, commands: &mut Vec<Command>) {
    let rect = ui.available_rect_before_wrap();
    ui.allocate_rect(rect, Sense::hover());
    let colours = viewer.colours.clone();
    let settings = viewer.settings.clone();
    let Some(open) = viewer.open_front() else {
        return;
    };
    let Some(loaded) = open.shown.clone() else {
        return;
    };
    // A few threads fill the window.
    let panes = if open.is_apart() { 2.0 } else { 1.0 };
    let room = (rect.height() - 200.0) / panes / (loaded.facts.len() as f32 + 2.0);
    let heights = Heights {
        lane: settings.lane_height.max(room.clamp(0.0, 38.0).floor()),
        group: 20.0,
    };
    open.arrange(heights);
    let gutter = rows::gutter_width(ui, &loaded, open.rows.rows());
    let layout = Layout::new(rect, gutter, open);
    let most = (open.rows.height() - layout.lanes.height() + 20.0).max(0.0);
    open.scroll = open.scroll.clamp(0.0, most);
    let scene = Scene {
        colours: &colours,
        settings: &settings,
        loaded,
        layout,
    };
    input::take(ui, open, &scene, commands);
    open.scroll = open.scroll.clamp(0.0, most);
    refresh(ui, open, &scene);
    graph::overview(ui, open, &scene);
    draw_axis(ui, open, &scene);
    graph::parallelism(ui, open, &scene);
    rows::draw(ui, open, &scene, commands);
    let moving = is_moving(ui, open);
    if moving {
        // What waits for the view to rest is drawn then.
        ui.ctx()
            .request_repaint_after(std::time::Duration::from_millis(200));
    }
    overlay::refresh(open, &scene, moving);
    overlay::draw(ui, open, &scene);
    let height = layout.lanes.height();
    viewer.rows_height = height;
}

/// Returns whether the view was moved just now.
fn is_moving(ui: &egui::Ui, open: &Open) -> bool {
    ui.input(|input| input.time) - open.moved_at < 0.18
}

/// Makes the pixels of what is seen.
fn refresh(ui: &egui::Ui, open: &mut Open, scene: &Scene<'_>) {
    let moving = is_moving(ui, open);
    let baseline = open.baseline.clone();
    let overlaid = baseline.as_deref().filter(|_| scene.layout.other.is_none());
    let wanted = Wanted {
        loaded: &scene.loaded,
        baseline: overlaid,
        rows: (&open.rows, open.rows_version),
        view: open.view,
        scroll: open.scroll,
        moving,
        marks: scene.settings.show_marks,
        rect: scene.layout.lanes,
        colours: scene.colours,
    };
    open.cache.refresh(ui.ctx(), &wanted);

    if let (Some(rect), Some(baseline)) = (scene.layout.other, &baseline) {
        let wanted = Wanted {
            loaded: baseline,
            baseline: None,
            rect,
            ..wanted
        };
        open.other_cache.refresh(ui.ctx(), &wanted);
    }
}

/// The size of the axis's font.
const AXIS_SIZE: f32 = 11.0;

fn draw_axis(ui: &egui::Ui, open: &Open, scene: &Scene<'_>) {
    let painter = ui.painter();
    let scale = scene.layout.scale(&open.view);
    let width = |label: &str| foretrace_gantt::text::width(label, f64::from(AXIS_SIZE));
    let ticks = scale.ticks(30.0, width);
    let axis = scene.layout.axis;
    let plot = scene.layout.plot();
    for time in ticks.times(&scale) {
        let x = scale.x(time) as f32;
        let lines = [
            scene.layout.graph.y_range(),
            egui::Rangef::new(axis.bottom() - 3.0, plot.bottom()),
        ];
        for line in lines {
            painter.vline(x, line, (1.0, scene.colours.grid()));
        }
        let place = pos2(x, axis.center().y - 1.0);
        let label = ticks.label(time);
        let font = FontId::proportional(AXIS_SIZE);
        let half = width(&label) as f32 / 2.0;
        let (first, last) = (axis.left() + half, axis.right() - half);
        if first > last {
            // The axis is narrower than what would stand there.
            continue;
        }
        painter.text(
            pos2(place.x.clamp(first, last), place.y),
            Align2::CENTER_CENTER,
            label,
            font,
            scene.colours.muted(),
        );
    }
}

/// A text on a ground of its own, near a point and within a rectangle.
pub fn badge(painter: &egui::Painter, at: egui::Pos2, within: Rect, text: &str, colours: &Colours) {
    let galley =
        painter.layout_no_wrap(text.to_owned(), FontId::proportional(12.0), colours.text());
    let size = galley.size() + vec2(12.0, 6.0);
    let x =
        at.x.clamp(within.left(), (within.right() - size.x).max(within.left()));
    let rect = Rect::from_min_size(pos2(x, at.y), size);
    painter.rect_filled(rect, 3.0, colours.background());
    let stroke = (1.0, colours.grid());
    painter.rect_stroke(rect, 3.0, stroke, egui::StrokeKind::Inside);
    painter.galley(rect.min + vec2(6.0, 3.0), galley, colours.text());
}
