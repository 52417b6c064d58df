//! What lies on the lanes: arrows, operations, the critical path, a deadlock, what is selected, measured and pointed at.

use eframe::egui::{self, Mesh, Rect, Shape, Stroke, pos2};
use foretrace_gantt::{
    arrows::{self, Line},
    scale::TimeScale,
};
use foretrace_schedule::{Activity, SimTime, Wake};

use super::{
    Scene, badge, input,
    shapes::{arrow, heights, shaft, sign, tip},
};
use crate::{
    navigate::{self, Selected, Selection},
    panels::words::describe,
    source::EventClass,
    state::Open,
    theme,
};

/// So many arrows are drawn; where there are more, those of the shortest waits are left out.
const ARROWS: usize = 400;

/// So many operations are drawn with their shapes; where there are more, ticks in the pixels tell of them.
const SHAPES: usize = 2_500;

/// Finds the arrows in view anew where that has changed and, where there are very many, does not change on.
pub fn refresh(open: &mut Open, scene: &Scene<'_>, moving: bool) {
    let picture = &scene.loaded.picture;
    let wakes = &picture.schedule.wakes;
    if open.arrows.0 == open.cache.version || (moving && wakes.len() > MANY_WAKES) {
        return;
    }
    let scale = scene.layout.scale(&open.view);
    let height = scene.layout.lanes.height();
    let seen = open.rows.visible(open.scroll, open.scroll + height);
    open.arrows = (
        open.cache.version,
        arrows::arrows(
            wakes,
            &picture.wakes,
            &scale,
            &|lane| open.rows.of_lane(lane),
            seen,
            ARROWS,
        ),
    );
}

/// With more wakes, arrows wait until the view rests.
const MANY_WAKES: usize = 100_000;

/// Paints it.
pub fn draw(ui: &egui::Ui, open: &Open, scene: &Scene<'_>) {
    let lanes = scene.layout.lanes;
    let painter = ui.painter().with_clip_rect(lanes);
    let scale = scene.layout.scale(&open.view);
    let over = Over {
        open,
        scene,
        scale,
        painter,
    };
    if scene.settings.show_arrows && open.arrows.0 == open.cache.version {
        over.arrows();
    }
    over.deadlock();
    if scene.settings.show_path {
        over.path();
    }
    if scene.settings.show_marks {
        over.marks();
    }
    over.selection();
    over.times(ui);
    over.pointer(ui);
}

/// What painting on the lanes needs.
struct Over<'a> {
    open: &'a Open,
    scene: &'a Scene<'a>,
    scale: TimeScale,
    painter: egui::Painter,
}

impl Over<'_> {
    fn x(&self, time: SimTime) -> f32 {
        self.scale.x(time) as f32
    }

    /// Returns the place of a row's bar.
    fn bar(&self, row: usize) -> Rect {
        let slot = &self.open.rows.rows()[row];
        let lanes = self.scene.layout.lanes;
        let top = lanes.top() + slot.top - self.open.scroll;
        let top = pos2(lanes.left(), top + 3.0);
        Rect::from_min_max(top, pos2(lanes.right(), top.y + slot.height - 5.0))
    }

    fn of_lane(&self, lane: usize) -> Option<Rect> {
        Some(self.bar(self.open.rows.of_lane(lane)?))
    }

    fn is_visible(&self, bar: &Rect) -> bool {
        self.scene.layout.lanes.y_range().intersects(bar.y_range())
    }

    /// Lays a wake out between two bars.
    fn line(&self, wake: &Wake, from: Rect, to: Rect) -> Line {
        Line::of(wake, &self.scale, heights(from, to))
    }

    fn arrows(&self) {
        let drawn = &self.open.arrows.1.drawn;
        // Where there are many they recede, lest they hide what they are about.
        let strength = match drawn.len() {
            0..40 => 0.9,
            40..150 => 0.5,
            150..600 => 0.28,
            many => (130.0 / many as f32).max(0.13),
        };
        let mut mesh = Mesh::default();
        for one in drawn {
            let (from, to) = (self.bar(one.from), self.bar(one.to));
            if !self.is_visible(&from.union(to)) {
                continue;
            }
            let colour = |strength| self.scene.colours.arrow().gamma_multiply(strength);
            let wake = &self.scene.loaded.picture.schedule.wakes[one.wake];
            let (line, thick) = (self.line(wake, from, to), one.thickness());
            if one.has_line {
                shaft(&mut mesh, &line, thick, colour(strength.min(one.opacity())));
            }
            tip(&mut mesh, &line, thick, colour(strength));
        }
        self.painter.add(mesh);
    }

    /// Draws operations one by one while they are few.
    fn marks(&self) {
        let picture = &self.scene.loaded.picture;
        let lanes = self.scene.layout.lanes;
        let rows = self
            .open
            .rows
            .visible(self.open.scroll, self.open.scroll + lanes.height());
        let view = self.open.view;
        let mut seen = Vec::new();
        for row in rows {
            let foretrace_gantt::arrange::RowKind::Lane(lane) = self.open.rows.rows()[row].kind
            else {
                continue;
            };
            let within = picture.marks.lane(lane).within(view.start, view.end);
            // A lane whose operations are too near each other keeps its ticks.
            if (within.len() as f32) < lanes.width() / 8.0 {
                seen.push((lane, row, within));
            }
        }
        if seen
            .iter()
            .map(|(_, _, within)| within.len())
            .sum::<usize>()
            > SHAPES
        {
            return;
        }
        let mut mesh = Mesh::default();
        for (lane, row, within) in seen {
            let marks = picture.marks.lane(lane);
            let y = self.bar(row).top() + 1.0;
            for mark in within {
                let class = self
                    .open
                    .source
                    .event(marks.events[mark])
                    .map_or(EventClass::Other, |e| e.class);
                let at = pos2(self.x(marks.times[mark]), y);
                sign(&mut mesh, class, at, 3.6, self.scene.colours.background());
                sign(&mut mesh, class, at, 2.7, self.scene.colours.text());
            }
        }
        self.painter.add(mesh);
    }

    /// Draws the critical path: a line below the bars that it goes through, and from bar to bar.
    fn path(&self) {
        let path = &self.scene.loaded.path;
        let view = self.open.view;
        let colour = self.scene.colours.alarm();
        let mut mesh = Mesh::default();
        let mut next = path.partition_point(|step| step.end <= view.start);
        let mut before: Option<(f32, Rect)> = None;
        while let Some(step) = path.get(next).filter(|step| step.start < view.end) {
            if let Some(bar) = self.of_lane(step.lane) {
                let (x0, x1) = (self.x(step.start), self.x(step.end));
                let thick = if step.activity == Activity::Running {
                    3.0
                } else {
                    1.5
                };
                let line = Rect::from_min_max(
                    pos2(x0, bar.bottom()),
                    pos2(x1.max(x0 + 1.0), bar.bottom() + thick),
                );
                mesh.add_colored_rect(line, colour);
                if let Some((x, other)) = before.filter(|(_, other)| *other != bar) {
                    let joint = Rect::from_two_pos(
                        pos2(x - 1.0, other.bottom()),
                        pos2(x + 1.0, bar.bottom() + 2.0),
                    );
                    mesh.add_colored_rect(joint, colour);
                }
                before = Some((x1, bar));
            }
            // What is narrower than a pixel is stepped over.
            let pixel = self
                .scale
                .time(self.scale.x(step.end) + 0.7)
                .max(SimTime(step.end.0 + 1));
            next = (next + 1).max(path.partition_point(|step| step.end < pixel));
        }
        self.painter.add(mesh);
    }

    /// Draws who waits for ever, and the circle in which they do.
    fn deadlock(&self) {
        let loaded = &self.scene.loaded;
        if !loaded.is_deadlock() {
            return;
        }
        let alarm = self.scene.colours.alarm();
        let x = self.x(loaded.end());
        let lanes = self.scene.layout.lanes;
        if loaded.end() > self.open.view.end || loaded.end() < self.open.view.start {
            return;
        }
        self.painter
            .vline(x, lanes.y_range(), Stroke::new(2.0, alarm));
        for (lane, of) in loaded.picture.schedule.lanes.iter().enumerate() {
            let (None, Some(last), Some(bar)) = (of.end, of.segments.last(), self.of_lane(lane))
            else {
                continue;
            };
            // One that began to wait just then has no segment of it.
            let colour = match last.state.activity() {
                Activity::Blocked(kind) => theme::colour(self.scene.colours.palette.wait(kind)),
                Activity::Running | Activity::Ready => {
                    theme::colour(self.scene.colours.palette.blocked)
                }
            };
            let rest = Rect::from_min_max(pos2(x, bar.top()), pos2(lanes.right(), bar.bottom()));
            self.painter
                .rect_filled(rest, 0.0, colour.gamma_multiply(0.5));
        }
        let mut at = x + 14.0;
        for (from, to) in &loaded.deadlock.edges {
            let (Some(a), Some(b)) = (self.of_lane(*from), self.of_lane(*to)) else {
                continue;
            };
            let circle = loaded.deadlock.is_in_circle((*from, *to));
            let colour = if circle {
                alarm
            } else {
                self.scene.colours.muted()
            };
            let (from, to) = (pos2(at, a.center().y), pos2(at, b.center().y));
            let thick = if circle { 2.5 } else { 1.0 };
            self.painter
                .arrow(from, to - from, Stroke::new(thick, colour));
            self.painter
                .circle_filled(pos2(at, a.center().y), 3.0, colour);
            at = if at > lanes.right() - 16.0 {
                x + 14.0
            } else {
                at + 12.0
            };
        }
        let text = if loaded.deadlock.cycle.is_empty() {
            "deadlock"
        } else {
            "deadlock: they wait in a circle"
        };
        badge(
            &self.painter,
            pos2(x + 4.0, lanes.bottom() - 28.0),
            lanes,
            text,
            self.scene.colours,
        );
    }

    /// Frames what is selected, and draws who let it go on and whom it let go on.
    fn selection(&self) {
        let Some(selection) = self.open.selection else {
            return;
        };
        let Some(bar) = self.of_lane(selection.lane) else {
            return;
        };
        let loaded = &self.scene.loaded;
        let accent = self.scene.colours.accent;
        let (start, end) = selection.span(loaded);
        let (x0, x1) = (self.x(start), self.x(end));
        let frame = Rect::from_min_max(
            pos2(x0 - 1.0, bar.top() - 1.0),
            pos2(x1.max(x0 + 2.0) + 1.0, bar.bottom() + 1.0),
        );
        match selection.what {
            Selected::Lane => {}
            Selected::Segment(_) => {
                self.painter.rect_stroke(
                    frame,
                    1.0,
                    Stroke::new(2.0, accent),
                    egui::StrokeKind::Outside,
                );
            }
            Selected::Mark(_) => {
                self.painter
                    .vline(x0, bar.y_range(), Stroke::new(2.0, accent));
                self.painter.circle_stroke(
                    pos2(x0, bar.top() + 1.0),
                    6.0,
                    Stroke::new(2.0, accent),
                );
            }
        }
        let mut mesh = Mesh::default();
        let wakes = &loaded.picture.schedule.wakes;
        let mut link = |wake: usize| {
            let wake = wakes[wake];
            let bars = (
                self.of_lane(wake.from as usize),
                self.of_lane(wake.to as usize),
            );
            if let (Some(from), Some(to)) = bars
                && from != to
            {
                arrow(&mut mesh, &self.line(&wake, from, to), 2.5, accent);
            }
        };
        if let Some((wake, _)) = navigate::cause(loaded, &*self.open.source, &selection) {
            link(wake);
        }
        let made = match selection.what {
            Selected::Mark(_) => loaded.picture.wakes.made(wakes, selection.lane, start, end),
            Selected::Lane | Selected::Segment(_) => &[],
        };
        made.iter().take(64).for_each(|wake| link(*wake as usize));
        self.painter.add(mesh);
    }

    /// Draws what was selected, measured and marked of time.
    fn times(&self, ui: &egui::Ui) {
        let plot = self.scene.layout.plot();
        let painter = ui.painter().with_clip_rect(plot);
        let accent = self.scene.colours.accent;
        let band = |start: SimTime, end: SimTime, strength: f32| {
            let (x0, x1) = (self.x(start), self.x(end));
            let rect = Rect::from_min_max(pos2(x0, plot.top()), pos2(x1, plot.bottom()));
            painter.rect_filled(rect, 0.0, accent.gamma_multiply(strength));
            for x in [x0, x1] {
                painter.vline(x, plot.y_range(), Stroke::new(1.0, accent));
            }
            rect
        };
        if let Some((start, end)) = self.open.range {
            band(start, end, 0.12);
        }
        if let Some((from, to)) = self.open.measured {
            let rect = band(from.min(to), from.max(to), 0.06);
            let length = from.max(to).since(from.min(to));
            let at = pos2(rect.center().x - 20.0, self.scene.layout.lanes.top() + 4.0);
            badge(&painter, at, plot, &length.to_string(), self.scene.colours);
        }
        for (position, time) in self.open.marked.iter().enumerate() {
            if *time < self.open.view.start || *time > self.open.view.end {
                continue;
            }
            let x = self.x(*time);
            let line = [pos2(x, plot.top()), pos2(x, plot.bottom())];
            painter.extend(Shape::dashed_line(
                &line,
                Stroke::new(1.0, accent),
                4.0,
                3.0,
            ));
            let text = format!("{}: {}", position + 1, self.scale.label(*time));
            badge(
                &painter,
                pos2(x, plot.top()),
                plot,
                &text,
                self.scene.colours,
            );
        }
    }

    /// Draws a line at the pointer, and says what is there.
    fn pointer(&self, ui: &egui::Ui) {
        let plot = self.scene.layout.plot();
        let Some(at) = ui
            .input(|input| input.pointer.hover_pos())
            .filter(|at| plot.contains(*at))
        else {
            return;
        };
        if ui.ctx().layer_id_at(at) != Some(ui.layer_id())
            || ui.input(|input| input.pointer.any_down())
        {
            return;
        }
        let painter = ui.painter().with_clip_rect(plot);
        painter.vline(
            at.x,
            plot.y_range(),
            Stroke::new(1.0, self.scene.colours.muted().gamma_multiply(0.5)),
        );
        let axis = self.scene.layout.axis;
        let time = self.scale.time(f64::from(at.x));
        badge(
            ui.painter(),
            pos2(at.x - 24.0, axis.top()),
            axis,
            &self.scale.label(time),
            self.scene.colours,
        );
        let still = ui.input(|input| input.pointer.time_since_last_movement() > 0.35);
        let Some(there) = input::pick(self.open, self.scene, at) else {
            return;
        };
        if !still {
            ui.ctx()
                .request_repaint_after(std::time::Duration::from_millis(360));
            return;
        }
        egui::Tooltip::always_open(
            ui.ctx().clone(),
            ui.layer_id(),
            // Each has a width of its own: it is not that of the one before.
            ui.scope_id().with(("there", there)),
            egui::PopupAnchor::Pointer,
        )
        .gap(14.0)
        .show(|ui| tooltip(ui, self.open, self.scene, &there));
    }
}

fn tooltip(ui: &mut egui::Ui, open: &Open, scene: &Scene<'_>, there: &Selection) {
    let loaded = &scene.loaded;
    let (start, end) = there.span(loaded);
    ui.strong(loaded.lane(there.lane));
    ui.label(describe(loaded, &*open.source, there));
    let scale = scene.layout.scale(&open.view);
    let length = end.since(start);
    if end > start {
        let (start, end) = (
            scale.label_within(start, length),
            scale.label_within(end, length),
        );
        ui.label(format!("{length}, from {start} to {end}"));
    } else {
        ui.label(format!("at {}", scale.label(start)));
    }
}
