//! The window as its users have it, without a screen: panels by what they say, keys, and pictures by their structure.

use std::{path::PathBuf, sync::Arc};

use eframe::egui::{self, Key, Modifiers, accesskit::Role, vec2};
use egui_kittest::{Harness, kittest::Queryable as _};
use foretrace_schedule::SimTime;

use crate::{
    Viewer,
    navigate::Selected,
    state::Open,
    testing::{Example, MILLI},
};

/// A window on a file, in which everything has come.
fn window(file: &str) -> Harness<'static, Viewer> {
    let file = PathBuf::from(file);
    let mut viewer = None;
    let mut harness = Harness::builder()
        .with_size(vec2(1200.0, 800.0))
        .with_accessibility_check(false)
        .with_max_steps(40)
        .build_ui_state(
            move |ui, viewer: &mut Viewer| {
                viewer.advance(ui.ctx());
                viewer.show(ui);
            },
            {
                let ctx = egui::Context::default();
                viewer.get_or_insert_with(|| Viewer::new(&ctx, Arc::new(Example), &[file], None));
                viewer.take().unwrap()
            },
        );
    settle(&mut harness);
    harness
}

/// Waits for what is on its way.
fn settle(harness: &mut Harness<'static, Viewer>) {
    for _ in 0..2_000 {
        harness.run_steps(1);
        if !harness.state().is_busy() {
            harness.run_steps(3);
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    panic!("the window is still busy");
}

fn open<'a>(harness: &'a mut Harness<'static, Viewer>) -> &'a mut Open {
    harness.state_mut().open_front().expect("a file is open")
}

/// The place of the canvas.
fn canvas(harness: &Harness<'static, Viewer>) -> egui::Rect {
    harness.get_by_role_and_label(Role::Canvas, "lanes").rect()
}

fn press(harness: &mut Harness<'static, Viewer>, modifiers: Modifiers, key: Key) {
    harness.key_press_modifiers(modifiers, key);
    harness.run_steps(2);
}

/// Clicks on a lane at a time.
fn click(harness: &mut Harness<'static, Viewer>, lane: usize, milli: u64) {
    let at = place(harness, lane, milli);
    harness.hover_at(at);
    harness.run_steps(1);
    harness.drag_at(at);
    harness.run_steps(1);
    harness.drop_at(at);
    harness.run_steps(1);
    // A tooltip would say the same again.
    harness.remove_cursor();
    harness.run_steps(2);
}

/// Where a lane shows a time.
fn place(harness: &mut Harness<'static, Viewer>, lane: usize, milli: u64) -> egui::Pos2 {
    let canvas = canvas(harness);
    let open = open(harness);
    let row = &open.rows.rows()[open.rows.of_lane(lane).unwrap()];
    let share = (milli * MILLI - open.view.start.0) as f32 / open.view.span().0 as f32;
    // Overview, graph and axis have fixed heights.
    let lanes_top = canvas.top() + 92.0 + 22.0 + if open.baseline.is_some() { 40.0 } else { 0.0 };
    egui::pos2(
        canvas.left() + share * canvas.width(),
        lanes_top + row.top + row.height * 0.6,
    )
}

/// Shows a window in a size, on a screen with so many pixels in a point.
fn show_in(harness: &mut Harness<'static, Viewer>, size: egui::Vec2, pixels: f32) {
    harness.set_size(size);
    harness.set_pixels_per_point(pixels);
    harness.run_steps(2);
}

#[test]
fn a_window_of_any_size_is_drawn() {
    for name in ["example.ftrace", "deadlock.ftrace", "ranks.goal"] {
        let mut harness = window(name);
        harness.state_mut().settings.show_path = true;
        harness.state_mut().settings.show_cpus = true;
        click(&mut harness, 1, 35);
        press(&mut harness, Modifiers::NONE, Key::B);
        let whole = open(&mut harness).view;
        // Labels are long where times are late, and near each other.
        let near = foretrace_gantt::view::TimeView::new(SimTime(40 * MILLI), SimTime(40 * MILLI));
        for (view, apart, pixels) in [(whole, false, 1.0), (near, true, 1.5), (near, false, 2.0)] {
            let file = open(&mut harness);
            file.view = view;
            file.compare = if apart {
                crate::state::Compare::Apart
            } else {
                crate::state::Compare::Overlay
            };
            for width in [1.0, 200.0, 420.0, 640.0, 690.0, 800.0, 1100.0, 1500.0] {
                for height in [1.0, 100.0, 250.0, 400.0, 900.0] {
                    show_in(&mut harness, vec2(width, height), pixels);
                    let least = (width - 120.0).min(80.0);
                    let canvas = canvas(&harness);
                    assert!(canvas.width() >= least, "{width} x {height}: {canvas}");
                }
            }
        }
    }
}

#[test]
fn panels_end_where_what_is_below_them_begins() {
    for name in ["example.ftrace", "ranks.goal"] {
        let mut harness = window(name);
        for (width, height, selected) in [
            (1500.0, 950.0, false),
            (1000.0, 633.0, true),
            (800.0, 400.0, false),
        ] {
            show_in(&mut harness, vec2(width, height), 1.5);
            let selection = crate::navigate::Selection {
                lane: 1,
                what: Selected::Segment(1),
            };
            open(&mut harness).selection = selected.then_some(selection);
            harness.run_steps(3);
            let status = harness.get_by_label("makespan 100 ms").rect().top();
            let borders = harness.get_all_by_role(Role::Splitter);
            let borders: Vec<egui::Rect> = borders.map(|border| border.rect()).collect();
            let upright = borders.iter().filter(|border| border.height() > 40.0);
            for border in upright {
                assert!(border.bottom() <= status, "{width} x {height}: {border}");
            }
        }
    }
}

#[test]
fn panels_that_are_dragged_wide_leave_room_for_the_picture() {
    let mut harness = window("example.ftrace");
    for (from, to) in [(250.0, 1150.0), (860.0, 20.0), (250.0, 1150.0)] {
        let mut at = egui::pos2(from, 500.0);
        harness.hover_at(at);
        harness.run_steps(2);
        harness.drag_at(at);
        harness.run_steps(1);
        while (at.x - to).abs() > 1.0 {
            at.x += (to - at.x).clamp(-100.0, 100.0);
            harness.hover_at(at);
            harness.run_steps(1);
        }
        harness.drop_at(at);
        harness.run_steps(2);
        assert!(canvas(&harness).width() >= 100.0);
    }
    show_in(&mut harness, vec2(640.0, 400.0), 1.0);
    assert!(canvas(&harness).width() >= 100.0);
}

#[test]
fn a_file_is_opened_predicted_and_described() {
    let mut harness = window("example.ftrace");
    for text in [
        "makespan 100 ms",
        "speed-up 2.00, efficiency 100 %",
        "(deadlock in pool)",
        "an example machine",
    ] {
        harness.get_by_label(text);
    }
    harness.get_by_label("gate");
    assert_eq!(open(&mut harness).rows.lanes().count(), 3);
}

#[test]
fn a_click_selects_a_wait_and_shows_its_line() {
    let mut harness = window("example.ftrace");
    click(&mut harness, 1, 35);
    let selection = open(&mut harness).selection.unwrap();
    assert_eq!((selection.lane, selection.what), (1, Selected::Segment(1)));
    harness.get_by_label("blocked: lock gate");
    harness.get_by_label("take_the_gate");
    harness.get_by_label("let go on by main at 50.0 ms");
    harness.get_by_label_contains("3: use std::{path::Path, sync::Arc};");
}

#[test]
fn a_source_that_was_changed_after_the_recording_is_told() {
    let told = "changed after the recording";
    let mut harness = window("long-ago.ftrace");
    click(&mut harness, 1, 35);
    harness.get_by_label_contains(told);
    let mut harness = window("example.ftrace");
    click(&mut harness, 1, 35);
    assert!(harness.query_by_label_contains(told).is_none());
}

#[test]
fn what_a_thread_runs_between_and_what_it_waits_in_is_told_with_both_lines() {
    let mut harness = window("example.ftrace");
    click(&mut harness, 1, 35);
    harness.get_by_label("waits in");
    harness.get_by_label("lock gate, testing.rs:3");
    // It unlocks meanwhile, which is not where it ends.
    click(&mut harness, 1, 55);
    harness.get_by_label("after");
    harness.get_by_label("lock gate, testing.rs:3");
    harness.get_by_label("until");
    harness.get_by_label("terminate");
    // The end has no place; where the code begins has one.
    harness.get_by_label("take_the_gate");
    click(&mut harness, 0, 80);
    harness.get_by_label("running on CPU 0");
    assert!(harness.query_by_label("until").is_none());
}

#[test]
fn times_are_told_apart_as_far_as_they_can_be_in_view() {
    let mut harness = window("example.ftrace");
    click(&mut harness, 1, 35);
    harness.get_by_label("let go on by main at 50.0 ms");
    let from = SimTime(50 * MILLI - 50_000);
    open(&mut harness).view = foretrace_gantt::view::TimeView::new(from, from + SimTime(103_000));
    harness.run_steps(2);
    harness.get_by_label("let go on by main at 50.0000000 ms");
    harness.get_by_label("20.0000000 ms");
}

#[test]
fn keys_go_along_thread_object_and_cause() {
    let mut harness = window("example.ftrace");
    click(&mut harness, 1, 35);
    let none = Modifiers::NONE;
    let selected = |harness: &mut Harness<'static, Viewer>| {
        let selection = open(harness).selection.unwrap();
        (selection.lane, selection.what)
    };
    press(&mut harness, none, Key::C);
    assert_eq!(
        selected(&mut harness),
        (0, Selected::Mark(0)),
        "main's unlock let it go on"
    );
    press(&mut harness, none, Key::CloseBracket);
    assert_eq!(
        selected(&mut harness),
        (1, Selected::Mark(1)),
        "the lock's next event"
    );
    press(&mut harness, none, Key::OpenBracket);
    assert_eq!(selected(&mut harness), (0, Selected::Mark(0)));
    press(&mut harness, none, Key::K);
    assert_eq!(
        selected(&mut harness),
        (1, Selected::Mark(1)),
        "the next unlock"
    );
    press(&mut harness, none, Key::Period);
    assert_eq!(
        selected(&mut harness),
        (1, Selected::Mark(2)),
        "the thread's next event"
    );
    press(&mut harness, none, Key::Comma);
    assert_eq!(selected(&mut harness), (1, Selected::Mark(1)));
    press(&mut harness, none, Key::Escape);
    assert_eq!(open(&mut harness).selection, None);
}

#[test]
fn the_number_of_cpus_changes_the_picture_and_keeps_zoom_and_selection() {
    let mut harness = window("example.ftrace");
    click(&mut harness, 1, 35);
    press(&mut harness, Modifiers::NONE, Key::W);
    let (view, selection) = (open(&mut harness).view, open(&mut harness).selection);
    press(
        &mut harness,
        Modifiers::CTRL | Modifiers::COMMAND,
        Key::ArrowUp,
    );
    settle(&mut harness);
    let open = open(&mut harness);
    assert_eq!(open.shown.as_ref().unwrap().what.cpus, 3);
    assert_eq!((open.view, open.selection), (view, selection));
    harness.get_by_label_contains("on 3 CPUs");
}

#[test]
fn the_name_of_a_machines_file_can_be_typed() {
    let mut harness = window("example.ftrace");
    harness.get_by_label("as recorded").click();
    harness.run_steps(3);
    // A click into the menu leaves it open.
    let entry = "machine file";
    harness
        .get_by_role_and_label(Role::TextInput, entry)
        .click();
    harness.run_steps(3);
    harness
        .get_by_role_and_label(Role::TextInput, entry)
        .type_text("other.toml");
    harness.run_steps(3);
    harness.get_by_label("Use").click();
    settle(&mut harness);
    assert_eq!(
        open(&mut harness).what.machine.as_deref(),
        Some("other.toml")
    );
}

#[test]
fn views_are_zoomed_moved_and_undone_by_keys() {
    let mut harness = window("example.ftrace");
    let whole = open(&mut harness).view;
    press(&mut harness, Modifiers::NONE, Key::W);
    let near = open(&mut harness).view;
    assert!(near.span() < whole.span());
    press(&mut harness, Modifiers::NONE, Key::D);
    assert!(open(&mut harness).view.start > near.start);
    let undo = Modifiers::CTRL | Modifiers::COMMAND;
    press(&mut harness, undo, Key::Z);
    assert_eq!(open(&mut harness).view, near);
    press(&mut harness, undo, Key::Z);
    assert_eq!(open(&mut harness).view, whole);
    press(&mut harness, undo | Modifiers::SHIFT, Key::Z);
    assert_eq!(open(&mut harness).view, near);
    press(&mut harness, Modifiers::NONE, Key::Home);
    assert_eq!(open(&mut harness).view, whole);
}

#[test]
fn a_drag_selects_a_range_whose_statistics_are_shown() {
    let mut harness = window("example.ftrace");
    let (from, to) = (place(&mut harness, 1, 20), place(&mut harness, 1, 50));
    harness.hover_at(from);
    harness.run_steps(1);
    harness.drag_at(from);
    harness.run_steps(1);
    harness.hover_at(egui::pos2(to.x - 20.0, to.y));
    harness.run_steps(1);
    harness.hover_at(to);
    harness.run_steps(1);
    harness.drop_at(to);
    harness.run_steps(2);
    let (start, end) = open(&mut harness).range.unwrap();
    let near = |time: u64, milli: u64| time.abs_diff(milli * MILLI) < MILLI;
    assert!(near(start.0, 20) && near(end.0, 50), "{start} to {end}");
    harness.get_by_label_contains("selected: ");
    press(&mut harness, Modifiers::NONE, Key::Z);
    assert_eq!(open(&mut harness).view.start, start);
}

#[test]
fn two_predictions_are_compared() {
    let mut harness = window("example.ftrace");
    press(&mut harness, Modifiers::NONE, Key::B);
    press(
        &mut harness,
        Modifiers::CTRL | Modifiers::COMMAND,
        Key::ArrowUp,
    );
    settle(&mut harness);
    harness.get_by_label_contains("3 CPUs, direct: 100 ms  against  2 CPUs, direct: 100 ms");
    harness.get_by_label("apart").click();
    harness.run_steps(3);
    assert!(open(&mut harness).is_apart());
    harness.get_by_label("overlaid").click();
    harness.run_steps(3);
    assert!(!open(&mut harness).is_apart());
    press(&mut harness, Modifiers::NONE, Key::B);
    assert!(open(&mut harness).baseline.is_none());
}

#[test]
fn names_are_found_and_lanes_filtered() {
    let mut harness = window("example.ftrace");
    press(&mut harness, Modifiers::NONE, Key::Slash);
    harness.run_steps(2);
    harness
        .get_by_role_and_label(Role::TextInput, "find")
        .type_text("gate");
    settle(&mut harness);
    harness.get_by_label("gate: longest wait 30.0 ms").click();
    harness.run_steps(3);
    assert_eq!(
        open(&mut harness).selection.unwrap().what,
        Selected::Segment(1)
    );
    open(&mut harness).arrangement.filter = "WORKER 2".to_owned();
    harness.run_steps(3);
    assert_eq!(open(&mut harness).rows.lanes().collect::<Vec<_>>(), [2]);
}

/// Opens the search and types into it.
fn find(harness: &mut Harness<'static, Viewer>, text: &str) {
    press(harness, Modifiers::NONE, Key::Slash);
    settle(harness);
    harness
        .get_by_role_and_label(Role::TextInput, "find")
        .type_text(text);
    settle(harness);
}

#[test]
fn what_nobody_waits_for_is_found_by_function_and_file() {
    for (text, found) in [
        ("TAKE_the", "lock in take_the_gate, testing.rs:3"),
        ("src/testing.rs", "lock in take_the_gate, testing.rs:3"),
        ("gate", "gate"),
        ("worker", "thread worker 2, runs work"),
    ] {
        // Nobody waits for an object or at a site here.
        let mut harness = window("nobody-waits.ftrace");
        find(&mut harness, text);
        harness.get_by_label(found).click();
        harness.run_steps(3);
        let selection = open(&mut harness).selection.unwrap();
        let expected = if text == "worker" {
            (2, Selected::Lane)
        } else {
            (1, Selected::Mark(0))
        };
        assert_eq!((selection.lane, selection.what), expected, "{text}");
    }
}

#[test]
fn what_is_typed_into_the_search_is_no_command() {
    let mut harness = window("example.ftrace");
    find(&mut harness, "nowhere");
    harness.get_by_label("nothing of this name");
    press(&mut harness, Modifiers::NONE, Key::Enter);
    let dark = harness.state().settings.dark;
    press(&mut harness, Modifiers::NONE, Key::T);
    assert_eq!(harness.state().settings.dark, dark);
    press(&mut harness, Modifiers::NONE, Key::Escape);
    // Opened again, it has what was searched for, which is typed over.
    find(&mut harness, "gate");
    harness.get_by_label("gate: longest wait 30.0 ms");
    press(&mut harness, Modifiers::NONE, Key::Enter);
    let selection = open(&mut harness).selection.unwrap();
    assert_eq!((selection.lane, selection.what), (1, Selected::Segment(1)));
}

#[test]
fn a_filter_that_matches_nothing_is_told_of() {
    let mut harness = window("example.ftrace");
    open(&mut harness).arrangement.filter = "nowhere".to_owned();
    harness.run_steps(3);
    harness.get_by_label("No thread has a name with \"nowhere\" in it.");
}

#[test]
fn names_of_rows_have_the_room_that_they_need_and_no_more() {
    // Names and headings of groups alike are short here.
    let mut harness = window("example.ftrace");
    let left = |harness: &Harness<'static, Viewer>| canvas(harness).left();
    let grouped = left(&harness);
    open(&mut harness).arrangement.grouped = false;
    harness.run_steps(3);
    assert!(left(&harness) <= grouped);
    let file = open(&mut harness);
    let shown = Arc::clone(file.shown.as_ref().unwrap());
    let widest = |rows: &[foretrace_gantt::arrange::RowSlot]| {
        let ctx = egui::Context::default();
        let mut width = 0.0;
        let _ = ctx.run_ui(egui::RawInput::default(), |ui| {
            width = crate::canvas::gutter_width(ui, &shown, rows);
        });
        width
    };
    let slot = |title: &str| foretrace_gantt::arrange::RowSlot {
        kind: foretrace_gantt::arrange::RowKind::Group {
            key: title.to_owned(),
            title: title.to_owned(),
            depth: 1,
            lanes: Vec::new(),
            collapsed: false,
        },
        top: 0.0,
        height: 20.0,
    };
    let width = |title: &str| f64::from(widest(&[slot(title)]));
    // Its name begins 28 points from the left, and ends 4 before the lanes.
    let needed = 32.0 + foretrace_gantt::text::width("computing cells (1000)", 12.0);
    assert!((needed..needed + 10.0).contains(&width("computing cells (1000)")));
    assert!(width("T1") < 100.0);
}

#[test]
fn lists_and_curve_are_there() {
    let mut harness = window("example.ftrace");
    harness.get_by_label("Notes").click();
    harness.run_steps(2);
    harness.get_by_label("one event was lost");
    harness.get_by_label("Sites").click();
    harness.run_steps(2);
    harness.get_by_label_contains("take_the_gate  testing.rs:3");
    harness.get_by_label("Curve").click();
    settle(&mut harness);
    harness.get_by_role_and_label(Role::Canvas, "speed-up curve");
    press(&mut harness, Modifiers::SHIFT, Key::Questionmark);
    harness.get_by_label("jump to who let it go on");
}

#[test]
fn the_line_of_the_critical_path_is_explained_where_it_is_drawn() {
    let mut harness = window("example.ftrace");
    assert!(harness.query_by_label("critical path").is_none());
    press(&mut harness, Modifiers::NONE, Key::P);
    harness.get_by_label("critical path");
}

#[test]
fn what_the_critical_path_is_spent_on_is_told() {
    let harness = window("example.ftrace");
    harness.get_by_label("The critical path has 1 step: runs 100.0 %.");
    let harness = window("message.ftrace");
    harness.get_by_label("What would help");
}

#[test]
fn what_would_help_is_told_of_ranks_too_but_not_of_a_deadlock() {
    let harness = window("ranks.goal");
    harness.get_by_label("What would help");
    harness.get_by_label("-20.0 %");
    let harness = window("deadlock.ftrace");
    assert!(harness.query_by_label("What would help").is_none());
    let none = "No single change that was tried takes off 1 % of the time.";
    assert!(harness.query_by_label(none).is_none());
}

#[test]
fn what_would_help_is_listed_and_a_click_shows_where() {
    let mut harness = window("example.ftrace");
    harness.get_by_label("What would help");
    harness.get_by_label("-20.0 %");
    harness.get_by_label("input and output took no time");
    harness
        .get_by_label("nobody waited for gate: finer locks")
        .click();
    harness.run_steps(3);
    let open_file = open(&mut harness);
    let selection = open_file.selection.unwrap();
    assert_eq!((selection.lane, selection.what), (1, Selected::Segment(1)));
    let range = (SimTime(20 * MILLI), SimTime(50 * MILLI));
    assert_eq!(open_file.range, Some(range));
    harness.get_by_label("blocked: lock gate");
}

#[test]
fn where_nothing_helps_that_is_told() {
    let mut harness = window("example.ftrace");
    let file = open(&mut harness);
    let mut what = file.what.clone();
    what.cpus = 1;
    file.set(what);
    settle(&mut harness);
    harness.get_by_label("No single change that was tried takes off 1 % of the time.");
}

#[test]
fn what_cannot_be_opened_is_told_and_the_window_stays_usable() {
    let mut harness = window("damaged.ftrace");
    harness.get_by_label("damaged.ftrace: is damaged at byte 12; record the program again");
    let ctx = harness.ctx.clone();
    harness.state_mut().open(&ctx, "fine.ftrace".to_owned());
    settle(&mut harness);
    harness.get_by_label("makespan 100 ms");
    let what = open(&mut harness).what.clone();
    open(&mut harness).set(crate::source::WhatIf { cpus: 13, ..what });
    settle(&mut harness);
    harness.get_by_label("no machine has 13 CPUs; ask for 12");
    harness.get_by_label("makespan 100 ms");
}

/// A file that is dropped.
#[derive(Debug)]
struct Dropped(PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &std::path::Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        Ok(Vec::new())
    }
}

#[test]
fn a_file_that_is_dropped_is_opened_in_front() {
    let mut harness = window("example.ftrace");
    let dropped = |name: &str| -> egui::DroppedFileHandle { Arc::new(Dropped(name.into())) };
    let files = vec![dropped("other.ftrace"), dropped("damaged.ftrace")];
    harness.input_mut().dropped_files = files;
    harness.run_steps(1);
    settle(&mut harness);
    // The last one is in front; what came before it is behind a tab.
    harness.get_by_label("damaged.ftrace: is damaged at byte 12; record the program again");
    let ctx = harness.ctx.clone();
    harness.state_mut().open(&ctx, "other.ftrace".to_owned());
    settle(&mut harness);
    harness.get_by_label("makespan 100 ms");
    assert_eq!(harness.state().documents.len(), 3);
}

#[test]
fn what_is_chosen_is_kept_while_the_window_is_open() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("viewer.json");
    let mut harness = window("example.ftrace");
    harness.state_mut().settings_file = Some(file.clone());
    press(&mut harness, Modifiers::NONE, Key::T);
    press(&mut harness, Modifiers::NONE, Key::P);
    open(&mut harness).arrangement.order = foretrace_gantt::arrange::Order::Blocked;
    press(&mut harness, Modifiers::NONE, Key::U);
    for _ in 0..200 {
        harness.run_steps(1);
        let kept = crate::settings::Settings::load(Some(&file));
        if kept.dark && kept.show_path && kept.show_cpus {
            // The next file's lanes are arranged so, too.
            let how = kept.arrangement();
            assert_eq!(how, open(&mut harness).arrangement);
            // Recent files are found from wherever the next window is opened.
            assert!(kept.recent[0].starts_with('/') && kept.recent[0].ends_with("example.ftrace"));
            return;
        }
    }
    panic!("nothing was kept");
}

#[test]
fn a_desktop_without_dialogs_is_told_of_and_the_window_stays_usable() {
    let mut harness = window("example.ftrace");
    let told = "this desktop has no dialog for files; drop the file into the window";
    let absent = crate::jobs::Job::start(|_| Err(told.to_owned()), || ());
    harness.state_mut().dialog = Some(absent);
    for _ in 0..1_000 {
        harness.run_steps(1);
        if harness.state().dialog.is_none() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    harness.run_steps(2);
    harness.get_by_label(told);
    press(&mut harness, Modifiers::NONE, Key::W);
    harness.get_by_label("makespan 100 ms");
}

#[test]
fn a_file_that_is_gone_meanwhile_leaves_what_is_shown() {
    let mut harness = window("gone-later.ftrace");
    press(
        &mut harness,
        Modifiers::CTRL | Modifiers::COMMAND,
        Key::ArrowUp,
    );
    settle(&mut harness);
    harness.get_by_label("gone-later.ftrace: cannot be read any more; put it back");
    harness.get_by_label("makespan 100 ms");
    let shown = open(&mut harness).shown.as_ref().unwrap().what.clone();
    open(&mut harness).set(shown);
    settle(&mut harness);
    click(&mut harness, 1, 35);
    harness.get_by_label("blocked: lock gate");
}

#[test]
fn a_message_is_told_with_both_its_times() {
    let mut harness = window("message.ftrace");
    click(&mut harness, 1, 35);
    harness.get_by_label(
        "by a message of main, sent at 30.0 ms, received at 50.0 ms: 20.0 ms on its way",
    );
    press(&mut harness, Modifiers::NONE, Key::C);
    // What the sender did when it sent.
    let selection = open(&mut harness).selection.unwrap();
    assert_eq!((selection.lane, selection.what), (0, Selected::Segment(0)));
    let arrows = open(&mut harness).arrows.1.drawn.clone();
    assert_eq!(arrows.len(), 1);
    harness.render().expect("a software renderer is there");
}

#[test]
fn ranks_have_a_network_in_place_of_cpus_which_can_be_changed_and_compared() {
    let mut harness = window("ranks.goal");
    assert!(harness.query_by_label("scheduler").is_none());
    harness.get_by_label_contains("on 2 ranks, direct model");
    harness.get_by_label("the network infiniband");
    click(&mut harness, 1, 35);
    press(&mut harness, Modifiers::NONE, Key::W);
    press(&mut harness, Modifiers::NONE, Key::B);
    let (view, selection) = (open(&mut harness).view, open(&mut harness).selection);
    harness.get_by_label("infiniband").click();
    harness.run_steps(3);
    harness.get_by_label("gigabit-ethernet").click();
    harness.run_steps(3);
    settle(&mut harness);
    harness.get_by_label("the network gigabit-ethernet");
    assert_eq!(
        (open(&mut harness).view, open(&mut harness).selection),
        (view, selection)
    );
    harness.get_by_label_contains("gigabit-ethernet, direct: 100 ms  against  infiniband, direct");
    harness.get_by_label("CPU speed").click();
    harness.run_steps(3);
    settle(&mut harness);
    assert_eq!(open(&mut harness).what.cpu_percent, Some(100));
    harness.get_by_label_contains("gigabit-ethernet, CPUs at 100 %, direct");
    // More CPUs make no sense.
    let before = open(&mut harness).what.clone();
    press(
        &mut harness,
        Modifiers::CTRL | Modifiers::COMMAND,
        Key::ArrowUp,
    );
    assert_eq!(open(&mut harness).what, before);
}

#[test]
fn waits_of_ranks_are_listed_by_the_call_that_they_are_in() {
    let mut harness = window("ranks-no-objects.goal");
    harness
        .get_by_label("lock: 30.0 ms (longest 30.0 ms)")
        .click();
    harness.run_steps(3);
    let selection = open(&mut harness).selection.unwrap();
    assert_eq!((selection.lane, selection.what), (1, Selected::Segment(1)));
    harness.get_by_role_and_label(Role::Label, "rank");
    // The list at the left has them, too.
    harness.get_by_role_and_label(Role::ListItem, "lock");
    assert!(harness.query_all_by_label("Ranks").next().is_some());
}

#[test]
fn all_networks_are_listed_with_their_makespans_and_a_click_chooses_one() {
    let mut harness = window("ranks.goal");
    harness.get_by_label("Networks").click();
    settle(&mut harness);
    harness.get_by_label("gigabit-ethernet").click();
    harness.run_steps(2);
    settle(&mut harness);
    harness.get_by_label("the network gigabit-ethernet");
}

#[test]
fn a_networks_file_that_cannot_be_used_is_told_of_and_what_is_shown_stays() {
    let mut harness = window("ranks.goal");
    open(&mut harness).use_file("damaged.toml");
    settle(&mut harness);
    harness.get_by_label("damaged.toml: line 2: no such key");
    harness.get_by_label("the network infiniband");
    open(&mut harness).use_file("mine.toml");
    settle(&mut harness);
    harness.get_by_label("the network mine.toml");
    // The same file again is read again: it may have been changed.
    let before = open(&mut harness).shown.as_ref().unwrap().id;
    open(&mut harness).use_file("mine.toml");
    settle(&mut harness);
    assert!(open(&mut harness).shown.as_ref().unwrap().id > before);
}

#[test]
fn a_long_prediction_can_be_cancelled() {
    let mut harness = window("slow.ftrace");
    press(
        &mut harness,
        Modifiers::CTRL | Modifiers::COMMAND,
        Key::ArrowUp,
    );
    harness.run_steps(3);
    assert!(harness.state().is_busy());
    harness.get_by_label("Cancel").click();
    harness.run_steps(3);
    settle(&mut harness);
    assert_eq!(open(&mut harness).what.cpus, 2);
}

#[test]
fn a_deadlock_is_drawn_and_told() {
    let mut harness = window("deadlock.ftrace");
    harness.get_by_label("deadlock after 100 ms");
    let cycle = open(&mut harness)
        .shown
        .as_ref()
        .unwrap()
        .deadlock
        .cycle
        .clone();
    assert_eq!(cycle, [1, 2]);
    harness.get_by_label("Notes").click();
    harness.run_steps(2);
    harness.get_by_label_contains("They wait in a circle");
}

/// How many pixels of the lanes have a colour.
fn pixels(harness: &mut Harness<'static, Viewer>, colour: egui::Color32) -> usize {
    let canvas = canvas(harness);
    let image = harness.render().expect("a software renderer is there");
    let lanes = canvas.top() + 114.0;
    let inside =
        |x: u32, y: u32| canvas.contains(egui::pos2(x as f32, y as f32)) && y as f32 > lanes;
    // Renderers round differently.
    let near = |a: &u8, b: &u8| a.abs_diff(*b) <= 3;
    let is_it = |pixel: &[u8; 4]| {
        pixel[..3]
            .iter()
            .zip(&colour.to_array())
            .all(|(a, b)| near(a, b))
    };
    image
        .enumerate_pixels()
        .filter(|(x, y, pixel)| inside(*x, *y) && is_it(&pixel.0))
        .count()
}

#[test]
fn pictures_have_the_states_in_their_proportions() {
    use foretrace_gantt::track::Fill;
    use foretrace_schedule::{Activity, WaitKind};
    for dark in [false, true] {
        let mut harness = window("example.ftrace");
        harness.state_mut().settings.dark = dark;
        // Text and signs would take pixels from the states.
        harness.state_mut().settings.show_arrows = false;
        harness.state_mut().settings.show_marks = false;
        harness.run_steps(3);
        let colours = harness.state().colours.clone();
        let running = pixels(&mut harness, colours.fill(Fill::RUNNING)) as f64;
        let locked = pixels(
            &mut harness,
            colours.fill(Fill::of(Activity::Blocked(WaitKind::Lock))),
        ) as f64;
        let ready = pixels(&mut harness, colours.fill(Fill::of(Activity::Ready))) as f64;
        // 180 ms run, 30 ms wait for the lock, 50 ms for a CPU.
        assert!(
            (running / locked / 6.0 - 1.0).abs() < 0.1,
            "{running} {locked}"
        );
        assert!(
            (ready / locked / (50.0 / 30.0) - 1.0).abs() < 0.1,
            "{ready} {locked}"
        );
    }
}
