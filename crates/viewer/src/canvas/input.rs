//! What pointer and wheel do in the picture.

use eframe::egui::{self, Key, PointerButton, Response, Sense};
use foretrace_gantt::{arrange::RowKind, view::TimeView};
use foretrace_schedule::SimTime;

use super::Scene;
use crate::{
    command::Command,
    navigate::{Selected, Selection},
    state::Open,
};

/// Takes what was done since the last frame.
pub fn take(ui: &egui::Ui, open: &mut Open, scene: &Scene<'_>, commands: &mut Vec<Command>) {
    let plot = scene.layout.plot();
    let response = ui.interact(plot, ui.scope_id().with("plot"), Sense::click_and_drag());
    response
        .widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::Canvas, true, "lanes"));
    wheel(ui, open, scene, &response);
    open.pointer = response
        .hover_pos()
        .map(|at| scene.layout.scale(&open.view).time(f64::from(at.x)));
    drag(ui, open, scene, &response);
    if response.clicked()
        && let Some(at) = response.interact_pointer_pos()
    {
        ui.memory_mut(|memory| {
            if let Some(focus) = memory.focused() {
                memory.surrender_focus(focus);
            }
        });
        open.range = None;
        open.measured = None;
        open.path_step = None;
        open.selection = pick(open, scene, at);
        if response.double_clicked() {
            commands.push(Command::Focus);
        }
    }
}

fn wheel(ui: &egui::Ui, open: &mut Open, scene: &Scene<'_>, response: &Response) {
    let Some(at) = response.hover_pos() else {
        return;
    };
    let (mut zoom, mut scroll, now, shift) = ui.input(|input| {
        let delta = input.smooth_scroll_delta();
        (input.zoom_delta(), delta, input.time, input.modifiers.shift)
    });
    if scene.settings.wheel_zooms {
        let zoomed = (scroll.y / 200.0).exp();
        scroll.y = if (zoom - 1.0).abs() > 1e-3 {
            (zoom.ln()) * 200.0
        } else {
            0.0
        };
        zoom = if shift { 1.0 } else { zoomed };
    }
    let limit = open.limit();
    let width = f64::from(scene.layout.lanes.width());
    if (zoom - 1.0).abs() > 1e-4 {
        let share = f64::from(at.x - scene.layout.lanes.left()) / width;
        let view = open.view.zoomed(share, 1.0 / f64::from(zoom), limit);
        open.look(view, now);
    }
    let sideways = if shift && scroll.x == 0.0 {
        scroll.y
    } else {
        scroll.x
    };
    if sideways != 0.0 {
        let view = open.view.panned(-f64::from(sideways) / width, limit);
        open.look(view, now);
    }
    if !shift {
        open.scroll -= scroll.y;
    }
}

fn drag(ui: &egui::Ui, open: &mut Open, scene: &Scene<'_>, response: &Response) {
    let (shift, space, now) = ui.input(|input| {
        (
            input.modifiers.shift,
            input.key_down(Key::Space),
            input.time,
        )
    });
    let pans = response.dragged_by(PointerButton::Middle)
        || response.dragged_by(PointerButton::Secondary)
        || (space && response.dragged_by(PointerButton::Primary));
    if pans {
        let delta = response.drag_delta();
        let width = f64::from(scene.layout.lanes.width());
        let view = open.view.panned(-f64::from(delta.x) / width, open.limit());
        open.look(view, now);
        open.scroll -= delta.y;
        return;
    }
    if !response.dragged_by(PointerButton::Primary) {
        return;
    }
    let ends = ui.input(|input| (input.pointer.press_origin(), input.pointer.latest_pos()));
    let (Some(from), Some(to)) = ends else {
        return;
    };
    let scale = scene.layout.scale(&open.view);
    let (start, end) = (scale.time(f64::from(from.x)), scale.time(f64::from(to.x)));
    if shift {
        let reach = scale.time(scale.left() + 8.0).since(scale.start());
        open.measured = Some((
            snap(open, scene, from, start, reach),
            snap(open, scene, to, end, reach),
        ));
        open.range = None;
    } else {
        open.range = Some((start.min(end), start.max(end)));
        open.measured = None;
    }
}

/// Returns the lane at a point, and the share of its row's height above the row's bottom.
pub fn lane_at(open: &Open, scene: &Scene<'_>, at: egui::Pos2) -> Option<(usize, f64)> {
    let row = row_at(open, scene, at)?;
    let slot = &open.rows.rows()[row];
    let RowKind::Lane(lane) = slot.kind else {
        return None;
    };
    let below = slot.top + slot.height - (at.y - scene.layout.lanes.top() + open.scroll);
    let air = 3.0;
    Some((
        lane,
        f64::from((below - air) / (slot.height - 2.0 * air).max(1.0)),
    ))
}

/// Returns the row at a point.
pub fn row_at(open: &Open, scene: &Scene<'_>, at: egui::Pos2) -> Option<usize> {
    let lanes = scene.layout.lanes;
    if !lanes.y_range().contains(at.y) {
        return None;
    }
    open.rows.row_at(at.y - lanes.top() + open.scroll)
}

/// Moves a time to an operation or a border of a segment of the lane at a point, where one is near.
fn snap(open: &Open, scene: &Scene<'_>, at: egui::Pos2, time: SimTime, reach: SimTime) -> SimTime {
    let Some((lane, _)) = lane_at(open, scene, at) else {
        return time;
    };
    let picture = &scene.loaded.picture;
    let marks = &picture.marks.lane(lane).times;
    let after = marks.partition_point(|mark| *mark < time);
    let near_marks = marks.iter().skip(after.saturating_sub(1)).take(2).copied();
    let track = &picture.tracks[lane];
    let borders = track.segment_at(time).map(|segment| track.span(segment));
    let borders = borders.into_iter().flat_map(|(start, end)| [start, end]);
    let distance = |other: &SimTime| other.0.abs_diff(time.0);
    let nearest = near_marks.chain(borders).min_by_key(distance);
    nearest
        .filter(|other| distance(other) <= reach.0)
        .unwrap_or(time)
}

/// Returns what is at a point: an operation where one is marked there, else a segment.
pub fn pick(open: &Open, scene: &Scene<'_>, at: egui::Pos2) -> Option<Selection> {
    let row = row_at(open, scene, at)?;
    let scale = scene.layout.scale(&open.view);
    let picture = &scene.loaded.picture;
    let x = f64::from(at.x);
    let (start, end) = (scale.time(x - 0.5), scale.time(x + 0.5));
    if let RowKind::Cpu(cpu) = open.rows.rows()[row].kind {
        let cpu = &picture.cpus[cpu];
        let (lane, segment) = cpu.turn(cpu.track.segment_at(scale.time(x))?)?;
        return Some(Selection {
            lane,
            what: Selected::Segment(segment),
        });
    }
    let (lane, height) = lane_at(open, scene, at)?;
    let marks = picture.marks.lane(lane);
    let reach = (scale.time(x - 4.0), scale.time(x + 4.0));
    let near = marks.within(reach.0, reach.1);
    // Operations are clicked at the upper edge, where they are marked, and only while they stand apart.
    if height > 0.72 && scene.settings.show_marks && !near.is_empty() && near.len() <= 8 {
        let here = scale.time(x);
        let mark = near.min_by_key(|mark| marks.times[*mark].0.abs_diff(here.0))?;
        return Some(Selection {
            lane,
            what: Selected::Mark(mark),
        });
    }
    let segment = picture.pick(lane, start, end.max(SimTime(start.0 + 1)), height)?;
    Some(Selection {
        lane,
        what: Selected::Segment(segment),
    })
}

/// Chooses what is seen by dragging in the overview.
pub fn overview(ui: &egui::Ui, open: &mut Open, scene: &Scene<'_>, whole: TimeView) {
    let rect = scene.layout.overview;
    let response = ui.interact(
        rect,
        ui.scope_id().with("overview"),
        Sense::click_and_drag(),
    );
    response
        .widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::Slider, true, "overview"));
    let now = ui.input(|input| input.time);
    let share = |x: f32| f64::from((x - rect.left()) / rect.width()).clamp(0.0, 1.0);
    let span = whole.span().0 as f64;
    #[expect(clippy::cast_sign_loss, reason = "shares are not negative")]
    let time = |x: f32| SimTime(whole.start.0 + (share(x) * span) as u64);
    let Some(at) = response.interact_pointer_pos() else {
        return;
    };
    let limit = open.limit();
    if response.drag_started_by(PointerButton::Primary) || response.clicked() {
        let here = time(at.x);
        let middle = SimTime(open.view.start.0 + open.view.span().0 / 2);
        let is_inside = here >= open.view.start && here <= open.view.end;
        let all = open.view.span().0 as f64 > 0.9 * span;
        // What is seen is taken along; elsewhere it jumps there.
        if !is_inside && !all {
            let spans = (here.0 as f64 - middle.0 as f64) / open.view.span().0 as f64;
            let view = open.view.panned(spans, limit);
            open.look(view, now);
        }
    }
    if response.dragged_by(PointerButton::Primary) {
        let all = open.view.span().0 as f64 > 0.9 * span;
        if all && let Some(from) = ui.input(|input| input.pointer.press_origin()) {
            open.range = Some((time(from.x.min(at.x)), time(from.x.max(at.x))));
        } else {
            let moved = f64::from(response.drag_delta().x / rect.width()) * span;
            let view = open.view.panned(moved / open.view.span().0 as f64, limit);
            open.look(view, now);
        }
    }
    if response.drag_stopped()
        && let Some((start, end)) = open
            .range
            .take_if(|_| open.view.span().0 as f64 > 0.9 * span)
    {
        let view = TimeView::new(start, end);
        open.look(view, now);
    }
}
