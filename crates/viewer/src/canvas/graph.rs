//! The parallelism graph, the difference of two predictions, and the overview.

use eframe::egui::{self, Align2, FontId, Rect, Shape, Stroke, pos2};
use foretrace_gantt::view::TimeView;

use super::{Scene, input};
use crate::state::Open;

/// Paints the whole run, small, and what of it is seen.
pub fn overview(ui: &egui::Ui, open: &mut Open, scene: &Scene<'_>) {
    let whole = TimeView::whole(open.limit());
    input::overview(ui, open, scene, whole);
    let painter = ui.painter();
    let rect = scene.layout.overview;
    painter.rect_filled(rect, 0.0, scene.colours.stripe());
    open.cache
        .draw_overview(painter, rect, whole, (&scene.loaded, scene.colours));
    let share = |time: foretrace_schedule::SimTime| {
        let offset = time.clamp(whole.start, whole.end).since(whole.start);
        rect.left() + (offset.0 as f64 / whole.span().0 as f64) as f32 * rect.width()
    };
    let (x0, x1) = (share(open.view.start), share(open.view.end));
    let veil = scene.colours.background().gamma_multiply(0.72);
    for hidden in [(rect.left(), x0), (x1, rect.right())] {
        let hidden = Rect::from_min_max(pos2(hidden.0, rect.top()), pos2(hidden.1, rect.bottom()));
        if hidden.width() > 0.0 {
            painter.rect_filled(hidden, 0.0, veil);
        }
    }
    let window = Rect::from_min_max(pos2(x0, rect.top()), pos2(x1.max(x0 + 2.0), rect.bottom()));
    let stroke = Stroke::new(1.5, scene.colours.accent);
    painter.rect_stroke(window, 2.0, stroke, egui::StrokeKind::Inside);
    label(painter, rect, "whole run", scene);
}

/// Paints how many threads do what over time, and the CPUs as a line.
pub fn parallelism(ui: &egui::Ui, open: &mut Open, scene: &Scene<'_>) {
    let painter = ui.painter();
    let rect = scene.layout.graph;
    let threads = open.cache.heap.most_threads();
    let schedule = &scene.loaded.picture.schedule;
    let cpus = schedule.cpus as f32;
    // Many idle CPUs would press the threads flat.
    let most = threads.max(cpus.min(2.0 * threads)).max(1.0).ceil();
    open.cache.draw_graph(painter, rect, most, scene.colours);
    let y = |threads: f32| rect.bottom() - threads / most * rect.height();
    painter.hline(rect.x_range(), rect.bottom(), (1.0, scene.colours.muted()));
    label(painter, rect, schedule.kind_of_lanes(), scene);
    let small = FontId::proportional(10.0);
    let x = rect.left() - 6.0;
    for (threads, align) in [(0.0, Align2::RIGHT_BOTTOM), (most, Align2::RIGHT_TOP)] {
        let text = format!("{threads:.0}");
        painter.text(
            pos2(x, y(threads)),
            align,
            text,
            small.clone(),
            scene.colours.muted(),
        );
    }
    if let Some(text) = schedule.cpus_label() {
        mark_cpus(
            painter,
            rect,
            (y(cpus.min(most)), cpus <= most),
            text,
            scene,
        );
    }
    if let Some(rect) = scene.layout.difference {
        difference(painter, open, scene, rect);
    }
}

/// Paints the line of the CPUs, or where it would be if it were not above.
fn mark_cpus(
    painter: &egui::Painter,
    rect: Rect,
    (y, is_within): (f32, bool),
    text: String,
    scene: &Scene<'_>,
) {
    if is_within {
        let line = [pos2(rect.left(), y), pos2(rect.right(), y)];
        let stroke = Stroke::new(1.5, scene.colours.text());
        painter.extend(Shape::dashed_line(&line, stroke, 6.0, 4.0));
    }
    let text = if is_within {
        text
    } else {
        format!("{text} (above)")
    };
    let at = pos2(rect.right() - 4.0, y + 2.0);
    let galley = painter.layout_no_wrap(text, FontId::proportional(10.0), scene.colours.text());
    let place = Align2::RIGHT_TOP.anchor_size(at, galley.size());
    painter.rect_filled(
        place.expand(2.0),
        2.0,
        scene.colours.background().gamma_multiply(0.85),
    );
    painter.galley(place.min, galley, scene.colours.text());
}

/// Paints how many more or fewer threads run than in the prediction that this is compared with.
fn difference(painter: &egui::Painter, open: &Open, scene: &Scene<'_>, rect: Rect) {
    painter.rect_filled(rect, 0.0, scene.colours.stripe());
    let theirs = if scene.layout.other.is_some() {
        Some(&open.other_cache.heap)
    } else {
        open.cache.baseline_heap.as_ref()
    };
    let Some(theirs) = theirs else {
        return;
    };
    let ours = &open.cache.heap;
    let columns = ours.columns().min(theirs.columns());
    let differences: Vec<f32> = (0..columns)
        .map(|column| ours.threads(column)[0] - theirs.threads(column)[0])
        .collect();
    let most = differences
        .iter()
        .fold(1.0_f32, |most, d| most.max(d.abs()));
    let middle = rect.center().y;
    let mut mesh = egui::Mesh::default();
    let more = scene.colours.fill(foretrace_gantt::track::Fill::RUNNING);
    let fewer = scene.colours.alarm();
    let width = rect.width() / columns.max(1) as f32;
    let mut from = 0;
    while from < columns {
        // Equal neighbours become one rectangle.
        let same = |d: &&f32| (**d - differences[from]).abs() < 0.01;
        let until = from + differences[from..].iter().take_while(same).count();
        let value = differences[from];
        if value.abs() > 0.02 {
            let y = middle - value / most * rect.height() / 2.0;
            let (x0, x1) = (
                rect.left() + from as f32 * width,
                rect.left() + until as f32 * width,
            );
            let bar = Rect::from_two_pos(pos2(x0, middle), pos2(x1, y));
            mesh.add_colored_rect(bar, if value > 0.0 { more } else { fewer });
        }
        from = until.max(from + 1);
    }
    painter.add(mesh);
    painter.hline(rect.x_range(), middle, (1.0, scene.colours.muted()));
    label(painter, rect, "difference", scene);
    let small = FontId::proportional(10.0);
    let x = rect.left() - 6.0;
    for (text, y, align) in [
        (format!("+{most:.0}"), rect.top(), Align2::RIGHT_TOP),
        (format!("-{most:.0}"), rect.bottom(), Align2::RIGHT_BOTTOM),
    ] {
        painter.text(
            pos2(x, y),
            align,
            text,
            small.clone(),
            scene.colours.muted(),
        );
    }
}

/// Names a strip in the gutter.
fn label(painter: &egui::Painter, rect: Rect, text: &str, scene: &Scene<'_>) {
    let at = pos2(rect.left() - scene.layout.gutter + 10.0, rect.center().y);
    painter.text(
        at,
        Align2::LEFT_CENTER,
        text,
        FontId::proportional(12.0),
        scene.colours.muted(),
    );
}
