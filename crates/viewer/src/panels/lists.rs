//! Beside the picture: threads, objects, call sites, the speed-up curve, warnings. A click selects in the picture.

use std::fmt::Write as _;

use eframe::egui::{
    self, RichText, TextStyle,
    text::{LayoutJob, TextWrapping},
};
use foretrace_schedule::SimTime;

use crate::{
    app::Viewer,
    command::Command,
    lists::Waits,
    loaded::Loaded,
    navigate::{Selected, Selection},
    panels::{curve, source_view},
    state::Open,
    theme::Colours,
};

/// What the lists remember.
#[derive(Default)]
pub struct ListsState {
    tab: Tab,
    /// Whether waits are ordered by the longest, not by all together.
    by_longest: bool,
}

/// Which list is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tab {
    #[default]
    Waits,
    Threads,
    Sites,
    Curve,
    Notes,
}

/// Shows them.
pub fn show(viewer: &mut Viewer, ui: &mut egui::Ui, commands: &mut Vec<Command>) {
    let colours = viewer.colours.clone();
    let visible = viewer.rows_height;
    let mut tab = viewer.lists.tab;
    let is_ranks = viewer
        .open_front()
        .is_some_and(|open| open.source.about().passes_messages());
    let (waits, lanes, speed) = if is_ranks {
        ("Waits", "Ranks", "Networks")
    } else {
        ("Objects", "Threads", "Curve")
    };
    ui.horizontal_wrapped(|ui| {
        for (value, text) in [
            (Tab::Waits, waits),
            (Tab::Sites, "Sites"),
            (Tab::Threads, lanes),
            (Tab::Curve, speed),
            (Tab::Notes, "Notes"),
        ] {
            ui.selectable_value(&mut tab, value, text);
        }
    });
    viewer.lists.tab = tab;
    if matches!(tab, Tab::Waits | Tab::Sites) {
        let by_longest = &mut viewer.lists.by_longest;
        ui.horizontal(|ui| {
            ui.selectable_value(by_longest, false, "by total wait");
            ui.selectable_value(by_longest, true, "by longest");
        });
    }
    let by_longest = viewer.lists.by_longest;
    ui.separator();
    let Some(open) = viewer.open_front() else {
        return;
    };
    let Some(loaded) = open.shown.clone() else {
        return;
    };
    let now = ui.input(|input| input.time);
    let chosen = match tab {
        Tab::Waits => objects(&loaded, by_longest, ui, &colours),
        Tab::Sites => sites(&loaded, open, by_longest, ui, &colours),
        Tab::Threads => threads(&loaded, open, ui, &colours),
        Tab::Curve => {
            curve::show(open, ui, &colours);
            None
        }
        Tab::Notes => {
            notes(&loaded, open, ui, &colours);
            None
        }
    };
    if let Some(selection) = chosen {
        open.path_step = None;
        open.select(selection, now, visible);
    }
    let _ = commands;
}

/// A row of a list: a name, and below it what there is to know. Returns whether it was clicked.
fn row(
    ui: &mut egui::Ui,
    chosen: bool,
    name: &str,
    facts: &str,
    share: f32,
    colours: &Colours,
) -> bool {
    let width = ui.available_width();
    let (rect, response) = ui.allocate_exact_size(egui::vec2(width, 36.0), egui::Sense::click());
    let role = egui::accesskit::Role::ListItem;
    response.widget_info(|| egui::WidgetInfo::labeled(role, true, name));
    if !ui.is_rect_visible(rect) {
        return response.clicked();
    }
    let painter = ui.painter().with_clip_rect(rect);
    if chosen {
        painter.rect_filled(rect, 3.0, colours.accent.gamma_multiply(0.22));
    } else if response.hovered() {
        painter.rect_filled(rect, 3.0, colours.grid().gamma_multiply(0.6));
    }
    let bar = egui::Rect::from_min_max(
        egui::pos2(rect.left() + 4.0, rect.bottom() - 4.0),
        egui::pos2(
            rect.left() + 4.0 + (width - 8.0) * share.clamp(0.0, 1.0),
            rect.bottom() - 2.0,
        ),
    );
    painter.rect_filled(bar, 1.0, colours.accent.gamma_multiply(0.8));
    let at = |y: f32| egui::pos2(rect.left() + 5.0, rect.top() + y);
    let body = TextStyle::Body.resolve(ui.style());
    let shown = foretrace_gantt::text::fit(name, 13.0, f64::from(width - 8.0)).unwrap_or_default();
    painter.text(at(2.0), egui::Align2::LEFT_TOP, shown, body, colours.text());
    let small = TextStyle::Small.resolve(ui.style());
    let mut job = LayoutJob::simple_singleline(facts.to_owned(), small, colours.muted());
    job.wrap = TextWrapping::truncate_at_width(width - 8.0);
    painter.galley(at(18.0), painter.layout_job(job), colours.muted());
    response.on_hover_text(format!("{name}\n{facts}")).clicked()
}

/// Shows rows, only those that are seen.
fn list<T>(ui: &mut egui::Ui, items: &[T], empty: &str, mut show: impl FnMut(&mut egui::Ui, &T)) {
    if items.is_empty() {
        ui.label(empty);
        return;
    }
    ui.spacing_mut().item_spacing.y = 2.0;
    egui::ScrollArea::vertical().auto_shrink(false).show_rows(
        ui,
        36.0,
        items.len(),
        |ui, range| {
            for item in &items[range] {
                show(ui, item);
            }
        },
    );
}

fn share(part: SimTime, whole: SimTime) -> f32 {
    part.0 as f32 / whole.0.max(1) as f32
}

fn at((lane, segment): (usize, usize)) -> Selection {
    Selection {
        lane,
        what: Selected::Segment(segment),
    }
}

/// Returns items in the order that was chosen, and how long the wait is that fills a bar. They come by total wait.
fn ordered<T>(items: &[T], by_longest: bool, waits: impl Fn(&T) -> &Waits) -> (Vec<&T>, SimTime) {
    let mut ordered: Vec<&T> = items.iter().collect();
    if by_longest {
        // Stable, so that equals stay in the order of their totals.
        ordered.sort_by_key(|item| std::cmp::Reverse(waits(item).longest));
    }
    let most = ordered
        .first()
        .map_or(SimTime::ZERO, |first| length(waits(first), by_longest));
    (ordered, most)
}

fn length(waits: &Waits, by_longest: bool) -> SimTime {
    if by_longest {
        waits.longest
    } else {
        waits.total
    }
}

fn objects(
    loaded: &Loaded,
    by_longest: bool,
    ui: &mut egui::Ui,
    colours: &Colours,
) -> Option<Selection> {
    let lists = &loaded.lists;
    let named = |(object, waits): &(u32, Waits)| (loaded.object(*object).to_owned(), *waits);
    let mut items: Vec<_> = lists.objects.iter().map(named).collect();
    if items.is_empty() {
        // Ranks wait for each other, in calls; so do threads of some programs.
        let operations = lists.operations.iter();
        items.extend(operations.map(|(name, waits)| (name.to_string(), *waits)));
    }
    let (items, most) = ordered(&items, by_longest, |(_, waits)| waits);
    let empty = format!("No {} waits for anything.", loaded.kind_of_lane());
    let mut chosen = None;
    list(ui, &items, &empty, |ui, (name, waits)| {
        let facts = format!(
            "waited {} in {} waits, longest {}",
            waits.total, waits.count, waits.longest
        );
        let share = share(length(waits, by_longest), most);
        if row(ui, false, name, &facts, share, colours) {
            chosen = Some(at(waits.at));
        }
    });
    chosen
}

fn sites(
    loaded: &Loaded,
    open: &Open,
    by_longest: bool,
    ui: &mut egui::Ui,
    colours: &Colours,
) -> Option<Selection> {
    let mut chosen = None;
    let (sites, most) = ordered(&loaded.lists.sites, by_longest, |site| &site.waits);
    let kind = loaded.kind_of_lane();
    let empty = format!("No call sites are known, or no {kind} waits at one.");
    list(ui, &sites, &empty, |ui, site| {
        let place = open.source.site(site.site);
        let line = place
            .line
            .as_ref()
            .map(|(file, line)| source_view::short_line(file, *line));
        let name = match line {
            Some(line) => format!("{}  {line}", place.function),
            None => place.function.clone(),
        };
        let waits = &site.waits;
        let facts = format!(
            "{}: {} in {}, longest {}",
            site.operation, waits.total, waits.count, waits.longest
        );
        if row(
            ui,
            false,
            &name,
            &facts,
            share(length(waits, by_longest), most),
            colours,
        ) {
            chosen = Some(at(waits.at));
        }
    });
    chosen
}

fn threads(
    loaded: &Loaded,
    open: &Open,
    ui: &mut egui::Ui,
    colours: &Colours,
) -> Option<Selection> {
    let mut chosen = None;
    let selected = open.selection.map(|selection| selection.lane);
    let lanes: Vec<usize> = open.rows.lanes().collect();
    let empty = format!("All {}s are left out.", loaded.kind_of_lane());
    list(ui, &lanes, &empty, |ui, lane| {
        let facts = &loaded.facts[*lane];
        let time = |picos: u64| SimTime(picos).to_string();
        let mut text = format!("runs {}, ready {}", time(facts.running), time(facts.ready));
        let sums = loaded.picture.tracks[*lane].sums(SimTime::ZERO, loaded.end());
        // The causes that it was blocked by longest.
        let mut causes: Vec<_> = foretrace_gantt::track::Fill::all()
            .filter(|fill| fill.severity() > 2 && sums[fill.index()] > 0)
            .map(|fill| (sums[fill.index()], fill.name()))
            .collect();
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.0));
        for (picos, name) in causes.into_iter().take(2) {
            // Writing to a string cannot fail.
            let _ = write!(text, ", {name} {}", time(picos));
        }
        let busy = share(SimTime(facts.running), loaded.end());
        if row(
            ui,
            selected == Some(*lane),
            &facts.name,
            &text,
            busy,
            colours,
        ) {
            chosen = Some(Selection {
                lane: *lane,
                what: Selected::Lane,
            });
        }
    });
    chosen
}

/// Deadlocks explained, and what limits the predictions.
fn notes(loaded: &Loaded, open: &Open, ui: &mut egui::Ui, colours: &Colours) {
    let about = open.source.about();
    egui::ScrollArea::vertical()
        .auto_shrink(false)
        .show(ui, |ui| {
            ui.label(RichText::new(&about.path).strong());
            ui.label(&about.summary);
            for blocked in loaded.picture.deadlocked() {
                let part = |before: &str, name: &Option<String>| {
                    name.as_ref()
                        .map_or_else(String::new, |name| format!("{before}{name}"))
                };
                let text = format!(
                    "{}: {}{}{}, since {}",
                    blocked.thread,
                    blocked.operation,
                    part(" ", &blocked.object),
                    part(", waits for ", &blocked.waits_for),
                    blocked.since
                );
                ui.label(RichText::new(text).color(colours.alarm()));
            }
            if !loaded.deadlock.cycle.is_empty() {
                let names: Vec<&str> = loaded
                    .deadlock
                    .cycle
                    .iter()
                    .map(|lane| loaded.lane(*lane))
                    .collect();
                let first = names.first().copied().unwrap_or_default();
                ui.label(format!(
                    "They wait in a circle, each for the next: {}, {first}",
                    names.join(", ")
                ));
            }
            ui.separator();
            if about.warnings.is_empty() {
                ui.label("Nothing is known that limits these predictions.");
            }
            for warning in &about.warnings {
                ui.label(warning);
                ui.add_space(4.0);
            }
        });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_ordered_by_their_total_or_by_the_longest() {
        let waits = |total, longest| Waits {
            total: SimTime(total),
            longest: SimTime(longest),
            ..Waits::default()
        };
        let all = [waits(9, 2), waits(7, 5), waits(5, 2)];
        let totals = |by_longest| {
            let (ordered, most) = ordered(&all, by_longest, |waits| waits);
            (ordered.iter().map(|w| w.total.0).collect::<Vec<_>>(), most)
        };
        assert_eq!(totals(false), (vec![9, 7, 5], SimTime(9)));
        assert_eq!(totals(true), (vec![7, 9, 5], SimTime(5)));
    }
}
