//! Below the picture: what is shown, the legend, and the statistics of what is seen or selected.

use eframe::egui::{
    self, Painter, Rect, Response, RichText, Sense, TextStyle, TextWrapMode, Ui, WidgetText,
    accesskit::Role, pos2, vec2,
};
use foretrace_gantt::{
    picture::total,
    track::{Fill, Sums},
};
use foretrace_schedule::SimTime;

use crate::{app::Viewer, canvas, loaded::Loaded, source::EventClass, theme::Colours};

/// Shows it.
pub fn show(viewer: &mut Viewer, ui: &mut Ui) {
    let colours = viewer.colours.clone();
    let (marks, show_arrows) = (viewer.settings.show_marks, viewer.settings.show_arrows);
    let show_path = viewer.settings.show_path;
    let Some(open) = viewer.open_front() else {
        return;
    };
    let Some(loaded) = open.shown.clone() else {
        return;
    };
    let arrows = open.arrows.1.note().filter(|_| show_arrows);
    ui.add_space(2.0);
    ui.horizontal_wrapped(|ui| headline(&loaded, ui, &colours));
    let limit = loaded.end();
    let (start, end, name) = match open.range {
        Some((start, end)) => (start, end, "selected"),
        None => (open.view.start, open.view.end, "in view"),
    };
    let end = end.min(limit);
    let sums = total(&loaded.picture.statistics(start, end));
    ui.horizontal_wrapped(|ui| legend(ui, &sums, (start, end, name), &colours));
    ui.horizontal_wrapped(|ui| {
        if marks {
            signs(ui, &colours);
        }
        if show_path {
            path(ui, &colours);
        }
        let detail = if open.cache.exact {
            "every pixel shows its exact shares"
        } else {
            "moving: shares within a pixel of the truth"
        };
        ui.label(RichText::new(detail).small().color(colours.muted()));
        if let Some(note) = arrows {
            ui.label(RichText::new(note).small().color(colours.muted()));
        }
    });
    ui.add_space(2.0);
}

fn headline(loaded: &Loaded, ui: &mut Ui, colours: &Colours) {
    let schedule = &loaded.picture.schedule;
    if loaded.is_deadlock() {
        let text = format!("deadlock after {}", loaded.end());
        ui.label(RichText::new(text).strong().color(colours.alarm()));
        ui.label("nothing can run any more; the lists name who waits for whom");
    } else {
        ui.strong(format!("makespan {}", loaded.end()));
        if let Some(speedup) = loaded.speedup() {
            let efficiency = 100.0 * speedup / f64::from(schedule.cpus.max(1));
            ui.label(format!(
                "speed-up {speedup:.2}, efficiency {efficiency:.0} %"
            ));
        }
    }
    let ranks = || format!("{} ranks", schedule.processes.len());
    let (on, model) = (schedule.cpus_label().unwrap_or_else(ranks), &schedule.model);
    ui.label(format!("on {on}, {model} model"));
    if !loaded.failed.is_empty() {
        let failed = loaded.failed.join(", ");
        ui.label(RichText::new(format!("(deadlock in {failed})")).color(colours.muted()));
    }
    ui.label(RichText::new(&loaded.machine).color(colours.muted()));
    for warning in &loaded.warnings {
        ui.label(RichText::new(warning).color(colours.alarm()));
    }
}

/// The states, with their shares of a range.
fn legend(
    ui: &mut Ui,
    sums: &Sums,
    (start, end, name): (SimTime, SimTime, &str),
    colours: &Colours,
) {
    let length = end.since(start);
    let running = sums[Fill::RUNNING.index()] as f64;
    ui.label(format!("{name}: {length}"));
    if length > SimTime::ZERO {
        ui.label(format!("{:.2} run on average", running / length.0 as f64));
    }
    let there: u64 = Fill::all()
        .filter(|fill| fill.activity().is_some())
        .map(|fill| sums[fill.index()])
        .sum();
    for fill in Fill::all().filter(|fill| fill.activity().is_some()) {
        let time = sums[fill.index()];
        if time == 0 {
            continue;
        }
        let percent = 100.0 * time as f64 / there as f64;
        let name = if fill.severity() > 2 {
            format!("blocked: {}", fill.name())
        } else {
            fill.name().to_owned()
        };
        let share = if percent < 0.1 {
            "<0.1 %".to_owned()
        } else {
            format!("{percent:.1} %")
        };
        let ink = colours.fill(fill);
        let sign = |painter: &Painter, rect: Rect| {
            let square = Rect::from_center_size(rect.center(), vec2(11.0, 11.0));
            painter.rect_filled(square, 2.0, ink);
        };
        let text = RichText::new(format!("{name} {share}"));
        entry(ui, text, sign).on_hover_text(SimTime(time).to_string());
    }
}

/// An entry of the legend: a sign and what it stands for, which stay together where a line ends.
pub fn entry(ui: &mut Ui, text: RichText, sign: impl FnOnce(&Painter, Rect)) -> Response {
    const SIGN: f32 = 11.0;
    const AIR: f32 = 4.0;
    let name = text.text().to_owned();
    let text = WidgetText::from(text);
    let galley = text.into_galley(
        ui,
        Some(TextWrapMode::Extend),
        f32::INFINITY,
        TextStyle::Body,
    );
    let size = vec2(SIGN + AIR + galley.size().x, galley.size().y.max(SIGN));
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    response.widget_info(|| egui::WidgetInfo::labeled(Role::Label, true, &name));
    let (left, right) = rect.split_left_right_at_x(rect.left() + SIGN);
    sign(ui.painter(), left);
    let at = pos2(right.left() + AIR, rect.center().y - galley.size().y / 2.0);
    let ink = ui.visuals().text_color();
    ui.painter().galley(at, galley, ink);
    response
}

/// The signs of operations.
fn signs(ui: &mut Ui, colours: &Colours) {
    for class in EventClass::ALL {
        let text = RichText::new(class.name()).small().color(colours.muted());
        entry(ui, text, |painter, rect| {
            let mut mesh = egui::Mesh::default();
            canvas::sign(&mut mesh, class, rect.center(), 3.2, colours.muted());
            painter.add(mesh);
        });
    }
}

/// The line of the critical path.
fn path(ui: &mut Ui, colours: &Colours) {
    let text = RichText::new("critical path")
        .small()
        .color(colours.muted());
    entry(ui, text, |painter, rect| {
        painter.hline(rect.x_range(), rect.center().y, (3.0, colours.alarm()));
    });
}
