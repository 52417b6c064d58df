//! The rows: names, headings, the lanes' pixels, and the text in segments.

use eframe::egui::{self, Align2, FontId, Rect, Sense, pos2};
use foretrace_gantt::{
    arrange::{RowKind, RowSlot},
    raster::Solid,
    text,
    track::Fill,
};
use foretrace_schedule::{Segment, State};

use super::Scene;
use crate::{
    command::Command,
    loaded::Loaded,
    navigate::{Selected, Selection},
    state::Open,
};

/// The size of the font of names.
const NAME: f32 = 12.0;

/// The size of the font in segments.
const CAPTION: f32 = 10.5;

/// So many captions are written in a frame at most; they stand in segments that are wide, so that there are few.
const CAPTIONS: usize = 1_500;

/// So far from the left the names of lanes stand; signs of what is folded stand before those of groups.
const INDENT: f32 = 18.0;

/// Returns where the name of a row begins.
fn indent(kind: &RowKind) -> f32 {
    match kind {
        RowKind::Group { depth, .. } => INDENT + 10.0 * *depth as f32,
        RowKind::Lane(_) | RowKind::Cpu(_) => INDENT,
    }
}

/// Returns what a row is called.
fn title(kind: &RowKind, loaded: &Loaded) -> String {
    match kind {
        RowKind::Group { title, .. } => title.clone(),
        RowKind::Lane(lane) => loaded.lane(*lane).to_owned(),
        RowKind::Cpu(cpu) => format!("CPU {cpu}"),
    }
}

/// Returns how wide the names of rows are, within bounds.
pub fn gutter_width(ui: &egui::Ui, loaded: &Loaded, rows: &[RowSlot]) -> f32 {
    let widths = rows.iter().take(2_000).map(|row| {
        let name = title(&row.kind, loaded);
        indent(&row.kind) + text::width(&name, f64::from(NAME)) as f32
    });
    let most = (ui.available_width() * 0.3).clamp(90.0, 220.0);
    // No less than the names of the strips above take, with their numbers.
    (widths.fold(0.0, f32::max) + 8.0).clamp(90.0, most)
}

/// Paints the rows and their names.
pub fn draw(ui: &mut egui::Ui, open: &mut Open, scene: &Scene<'_>, commands: &mut Vec<Command>) {
    let layout = scene.layout;
    panes(ui, open, scene);
    let lanes = layout.lanes;
    let gutter = Rect::from_min_max(
        pos2(lanes.left() - layout.gutter, lanes.top()),
        pos2(lanes.left(), lanes.bottom()),
    );
    let visible = open.rows.visible(open.scroll, open.scroll + lanes.height());
    let slots: Vec<(usize, RowSlot)> = visible
        .map(|row| (row, open.rows.rows()[row].clone()))
        .collect();
    for (row, slot) in &slots {
        let top = lanes.top() + slot.top - open.scroll;
        let rect = Rect::from_min_max(
            pos2(gutter.left(), top),
            pos2(gutter.right(), top + slot.height),
        );
        name(
            ui,
            open,
            scene,
            (*row, slot),
            rect.intersect(gutter),
            commands,
        );
    }
    if let Some(other) = layout.other {
        apart_labels(ui, open, scene, other);
    }
    if slots.is_empty() {
        nothing(ui, open, scene);
    }
    scrollbar(ui, open, scene);
}

/// Says why there is no row.
fn nothing(ui: &egui::Ui, open: &Open, scene: &Scene<'_>) {
    if !open.rows.rows().is_empty() {
        return;
    }
    let (how, kind) = (&open.arrangement, scene.loaded.kind_of_lane());
    let text = if how.filter.is_empty() {
        format!("All {kind}s are left out: see Hide idle, and the hidden ones, above.")
    } else {
        format!("No {kind} has a name with {:?} in it.", how.filter)
    };
    let lanes = scene.layout.lanes;
    let at = pos2(lanes.center().x, lanes.top() + 24.0);
    let (font, muted) = (FontId::proportional(13.0), scene.colours.muted());
    let place = ui
        .painter()
        .with_clip_rect(lanes)
        .text(at, Align2::CENTER_TOP, &text, font, muted);
    let said = ui.interact(place, ui.scope_id().with("nothing"), Sense::hover());
    let role = egui::accesskit::Role::Label;
    said.widget_info(|| egui::WidgetInfo::labeled(role, true, &text));
}

/// Paints the pixels of one or two predictions, stripes behind and captions on them.
fn panes(ui: &egui::Ui, open: &Open, scene: &Scene<'_>) {
    let layout = scene.layout;
    let mut panes = vec![(layout.lanes, &open.cache, &scene.loaded)];
    if let (Some(rect), Some(baseline)) = (layout.other, &open.baseline) {
        panes.push((rect, &open.other_cache, baseline));
    }
    for (rect, cache, loaded) in panes {
        let painter = ui.painter().with_clip_rect(rect);
        let visible = open.rows.visible(open.scroll, open.scroll + rect.height());
        for row in visible {
            let slot = &open.rows.rows()[row];
            let top = rect.top() + slot.top - open.scroll;
            let place = Rect::from_min_max(
                pos2(rect.left(), top),
                pos2(rect.right(), top + slot.height),
            );
            let is_group = matches!(slot.kind, RowKind::Group { .. });
            if row % 2 == 1 && !is_group {
                painter.rect_filled(place, 0.0, scene.colours.stripe().gamma_multiply(0.6));
            }
            if is_group {
                painter.hline(
                    place.x_range(),
                    place.bottom() - 1.0,
                    (1.0, scene.colours.grid()),
                );
            }
        }
        cache.draw(&painter, rect);
        let mut left = CAPTIONS;
        for solids in &cache.solids {
            let slot = &open.rows.rows()[solids.row];
            let top = rect.top() + slot.top - open.scroll;
            let pixel = rect.width() / cache.heap.columns().max(1) as f32;
            for solid in &solids.solids {
                let (x0, x1) = (solid.from as f32 * pixel, solid.until as f32 * pixel);
                let is_lane = matches!(slot.kind, RowKind::Lane(_));
                let compared = open.baseline.is_some() && layout.other.is_none() && is_lane;
                let bottom = top + slot.height * if compared { 0.62 } else { 1.0 };
                let place =
                    Rect::from_min_max(pos2(rect.left() + x0, top), pos2(rect.left() + x1, bottom));
                if left > 0 && x1 - x0 >= 24.0 && bottom - top >= 14.0 {
                    left -= usize::from(caption(&painter, loaded, &slot.kind, solid, place, scene));
                }
            }
        }
    }
}

/// Writes into a segment what it is, where that fits; returns whether it did.
fn caption(
    painter: &egui::Painter,
    loaded: &Loaded,
    kind: &RowKind,
    solid: &Solid,
    place: Rect,
    scene: &Scene<'_>,
) -> bool {
    let (text, fill) = match kind {
        RowKind::Lane(lane) => {
            let track = &loaded.picture.tracks[*lane];
            let segment = track.lane_segment(solid.segment);
            let Some(segment) = segment.and_then(|segment| loaded.picture.segment(*lane, segment))
            else {
                return false;
            };
            (caption_text(loaded, segment), track.fill(solid.segment))
        }
        RowKind::Cpu(cpu) => match loaded.picture.cpus[*cpu].turn(solid.segment) {
            Some((lane, _)) => (Some(loaded.lane(lane).to_owned()), Fill::RUNNING),
            None => return false,
        },
        RowKind::Group { .. } => return false,
    };
    let space = f64::from(place.width() - 8.0);
    let size = f64::from(CAPTION);
    let Some(text) = text
        .as_deref()
        .and_then(|text| text::fit(text, size, space))
    else {
        return false;
    };
    let font = FontId::proportional(CAPTION);
    let at = place.center() + egui::vec2(0.0, 0.5);
    painter.text(
        at,
        Align2::CENTER_CENTER,
        text,
        font,
        scene.colours.ink(fill),
    );
    true
}

/// Returns what is written into a segment: the CPU, or what it waits for.
fn caption_text(loaded: &Loaded, segment: &Segment) -> Option<String> {
    match segment.state {
        State::Running(cpu) => Some(format!("CPU {cpu}")),
        State::Ready => None,
        State::Blocked(kind) => Some(match segment.object {
            Some(object) => loaded.object(object).to_owned(),
            None => kind.name().to_owned(),
        }),
    }
}

/// Writes a row's name, and takes clicks on it.
fn name(
    ui: &mut egui::Ui,
    open: &mut Open,
    scene: &Scene<'_>,
    (row, slot): (usize, &RowSlot),
    rect: Rect,
    commands: &mut Vec<Command>,
) {
    if !rect.is_positive() {
        return;
    }
    let response = ui.interact(rect, ui.scope_id().with(("row", row)), Sense::click());
    let painter = ui.painter().with_clip_rect(rect);
    let selected = open.selection.map(|selection| selection.lane);
    let (text, indent) = (title(&slot.kind, &scene.loaded), indent(&slot.kind));
    let colour = match &slot.kind {
        RowKind::Group { .. } => scene.colours.muted(),
        RowKind::Lane(_) | RowKind::Cpu(_) => scene.colours.text(),
    };
    let role = egui::accesskit::Role::Button;
    response.widget_info(|| egui::WidgetInfo::labeled(role, true, text.clone()));
    let is_selected = matches!(slot.kind, RowKind::Lane(lane) if selected == Some(lane));
    if is_selected {
        painter.rect_filled(rect, 0.0, scene.colours.accent.gamma_multiply(0.22));
    } else if response.hovered() {
        painter.rect_filled(rect, 0.0, scene.colours.grid().gamma_multiply(0.6));
    }
    if slot.height >= 9.0 {
        let size = NAME.min(slot.height - 1.0);
        let space = f64::from(rect.width() - indent - 4.0);
        let shown = text::fit(&text, f64::from(size), space);
        let at = pos2(rect.left() + indent, rect.top() + slot.height / 2.0);
        if let Some(shown) = shown {
            painter.text(
                at,
                Align2::LEFT_CENTER,
                shown,
                FontId::proportional(size),
                colour,
            );
        }
    }
    match &slot.kind {
        RowKind::Group { key, collapsed, .. } => {
            fold_sign(
                &painter,
                pos2(rect.left() + indent - 8.0, rect.center().y),
                *collapsed,
                colour,
            );
            if response.clicked() && !open.arrangement.collapsed.remove(key) {
                open.arrangement.collapsed.insert(key.clone());
            }
        }
        RowKind::Lane(lane) => {
            let lane = *lane;
            if response.clicked() {
                open.selection = Some(Selection {
                    lane,
                    what: Selected::Lane,
                });
            }
            if response.double_clicked() {
                commands.push(Command::Focus);
            }
            let response = response.on_hover_ui(|ui| hover(ui, scene, lane));
            let kind = scene.loaded.kind_of_lane();
            response.context_menu(|ui| lane_menu(ui, open, lane, kind));
        }
        RowKind::Cpu(_) => {}
    }
}

/// Draws whether a group is folded.
fn fold_sign(painter: &egui::Painter, at: egui::Pos2, collapsed: bool, colour: egui::Color32) {
    let corner = |x: f32, y: f32| at + egui::vec2(x, y);
    let corners = if collapsed {
        vec![corner(-2.5, -4.0), corner(3.5, 0.0), corner(-2.5, 4.0)]
    } else {
        vec![corner(-4.0, -2.5), corner(4.0, -2.5), corner(0.0, 3.5)]
    };
    painter.add(egui::Shape::convex_polygon(
        corners,
        colour,
        egui::Stroke::NONE,
    ));
}

fn hover(ui: &mut egui::Ui, scene: &Scene<'_>, lane: usize) {
    let facts = &scene.loaded.facts[lane];
    ui.strong(&facts.name);
    if let Some(routine) = &facts.routine {
        ui.label(format!("runs {routine}"));
    }
    let time = |picos| foretrace_schedule::SimTime(picos).to_string();
    ui.label(format!(
        "running {}, ready {}, blocked {}",
        time(facts.running),
        time(facts.ready),
        time(facts.blocked)
    ));
}

fn lane_menu(ui: &mut egui::Ui, open: &mut Open, lane: usize, kind: &str) {
    if ui.button(format!("Hide this {kind}")).clicked() {
        open.arrangement.hidden.insert(lane);
        ui.close();
    }
    if ui.button("Hide all others").clicked() {
        let count = open.shown.as_ref().map_or(0, |shown| shown.facts.len());
        open.arrangement.hidden = (0..count).filter(|other| *other != lane).collect();
        ui.close();
    }
    if !open.arrangement.hidden.is_empty() && ui.button("Show all").clicked() {
        open.arrangement.hidden.clear();
        ui.close();
    }
}

/// Says what the lower part shows, and writes its rows' names.
fn apart_labels(ui: &egui::Ui, open: &Open, scene: &Scene<'_>, other: Rect) {
    let Some(baseline) = &open.baseline else {
        return;
    };
    let border = other.top() - 18.0;
    let x = other.left() - scene.layout.gutter;
    ui.painter()
        .hline(x..=other.right(), border, (1.0, scene.colours.grid()));
    let text = baseline.what.brief(&baseline.picture.schedule.model);
    let at = pos2(other.left() + 4.0, other.top() - 9.0);
    let (small, muted) = (FontId::proportional(11.0), scene.colours.muted());
    ui.painter()
        .text(at, Align2::LEFT_CENTER, text, small, muted);
    let gutter = Rect::from_min_max(pos2(x, other.top()), other.left_bottom());
    let painter = ui.painter().with_clip_rect(gutter);
    for row in open.rows.visible(open.scroll, open.scroll + other.height()) {
        let slot = &open.rows.rows()[row];
        if let RowKind::Group { .. } = slot.kind {
            continue;
        }
        let name = title(&slot.kind, baseline);
        let size = NAME.min(slot.height - 1.0);
        let space = f64::from(gutter.width() - INDENT - 4.0);
        if slot.height >= 9.0
            && let Some(name) = text::fit(&name, f64::from(size), space)
        {
            let y = other.top() + slot.top - open.scroll + slot.height / 2.0;
            let (at, font) = (pos2(x + INDENT, y), FontId::proportional(size));
            painter.text(at, Align2::LEFT_CENTER, name, font, muted);
        }
    }
}

/// Draws where the rows are scrolled to, and lets that be dragged.
fn scrollbar(ui: &egui::Ui, open: &mut Open, scene: &Scene<'_>) {
    let lanes = scene.layout.lanes;
    let whole = open.rows.height() + 20.0;
    if whole <= lanes.height() + 20.5 {
        return;
    }
    let track = Rect::from_min_max(
        pos2(lanes.right() + 2.0, lanes.top()),
        pos2(lanes.right() + 9.0, lanes.bottom()),
    );
    let height = (lanes.height() / whole * track.height()).max(18.0);
    let room = track.height() - height;
    let most = (whole - lanes.height()).max(1.0);
    let top = track.top() + open.scroll / most * room;
    let handle = Rect::from_min_max(pos2(track.left(), top), pos2(track.right(), top + height));
    let response = ui.interact(
        track,
        ui.scope_id().with("scrollbar"),
        Sense::click_and_drag(),
    );
    response
        .widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::ScrollBar, true, "rows"));
    if response.dragged() {
        open.scroll += response.drag_delta().y / room.max(1.0) * most;
    } else if response.clicked()
        && let Some(at) = response.interact_pointer_pos()
    {
        open.scroll = (at.y - track.top() - height / 2.0) / room.max(1.0) * most;
    }
    let colour = if response.hovered() {
        scene.colours.muted()
    } else {
        scene.colours.grid()
    };
    ui.painter().rect_filled(handle, 3.0, colour);
}
