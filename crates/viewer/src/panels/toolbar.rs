//! Above the picture: files, conditions of the prediction, how lanes are arranged.

use eframe::egui::{
    self, RichText,
    containers::menu::{MenuButton, MenuConfig},
};
use foretrace_gantt::arrange::Order;

use crate::{
    app::Viewer,
    command::{Command, Picture},
    export,
    jobs::Job,
    loaded::Loaded,
    panels::welcome,
    run::MOST_CPUS,
    settings::Settings,
    source::{About, WhatIf},
    state::{Compare, Open, Phase},
};

/// Shows it.
pub fn show(viewer: &mut Viewer, ui: &mut egui::Ui, commands: &mut Vec<Command>) {
    ui.add_space(4.0);
    ui.horizontal_wrapped(|ui| files(viewer, ui, commands));
    let Viewer {
        documents,
        front,
        settings,
        colours,
        note,
        dialog,
        ..
    } = viewer;
    let _ = dialog;
    if let Some(document) = documents.get_mut(*front)
        && let Phase::Open(open) = &mut document.phase
    {
        ui.horizontal_wrapped(|ui| conditions(open, ui, commands));
        ui.horizontal_wrapped(|ui| arrangement(open, settings, ui, commands));
        if let Some(error) = open.error.clone() {
            ui.horizontal_wrapped(|ui| {
                ui.label(RichText::new(error).color(colours.alarm()));
                if ui.button("Dismiss").clicked() {
                    open.cancel();
                    open.error = None;
                }
            });
        }
    }
    if let Some(text) = note.clone() {
        ui.horizontal_wrapped(|ui| {
            ui.label(text);
            if ui.button("OK").clicked() {
                *note = None;
            }
        });
    }
    ui.add_space(2.0);
}

fn files(viewer: &mut Viewer, ui: &mut egui::Ui, commands: &mut Vec<Command>) {
    if ui.button("Open…").on_hover_text("Ctrl+O").clicked() {
        commands.push(Command::OpenDialog);
    }
    ui.menu_button("Recent", |ui| {
        if viewer.settings.recent.is_empty() {
            ui.label("nothing was opened yet");
        }
        for file in viewer.settings.recent.clone() {
            if ui
                .button(welcome::short(&file, 60))
                .on_hover_text(&file)
                .clicked()
            {
                commands.push(Command::Open(file));
                ui.close();
            }
        }
    });
    ui.separator();
    for (position, document) in viewer.documents.iter().enumerate() {
        let name = welcome::file_name(&document.path);
        let chosen = position == viewer.front;
        if ui
            .selectable_label(chosen, name)
            .on_hover_text(&document.path)
            .clicked()
        {
            viewer.front = position;
        }
    }
    if !viewer.documents.is_empty()
        && ui
            .small_button("Close")
            .on_hover_text("Close this file (Ctrl+W)")
            .clicked()
    {
        commands.push(Command::Close);
    }
    ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
        let light = if viewer.settings.dark {
            "Light"
        } else {
            "Dark"
        };
        let keys = [
            ("Keys", Command::Help, "?"),
            ("Find", Command::Find, "Ctrl+F or /"),
            (light, Command::SwitchTheme, "light or dark (T)"),
        ];
        for (text, command, about) in keys {
            if ui.button(text).on_hover_text(about).clicked() {
                commands.push(command);
            }
        }
        lasting_menu(ui, "View".to_owned(), |ui| {
            preferences(&mut viewer.settings, ui);
        })
        .on_hover_text("Preferences");
        ui.menu_button("Export", |ui| {
            for (text, picture) in [("SVG…", Picture::Svg), ("PNG…", Picture::Png)] {
                if ui.button(text).clicked() {
                    commands.push(Command::Export(picture));
                    ui.close();
                }
            }
        });
    });
}

/// A menu that a click into it leaves open: there is something to be typed, or to be set several times.
fn lasting_menu(
    ui: &mut egui::Ui,
    name: String,
    contents: impl FnOnce(&mut egui::Ui),
) -> egui::Response {
    let config = MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
    let (response, _) = MenuButton::new(name).config(config).ui(ui, contents);
    response
}

fn preferences(settings: &mut Settings, ui: &mut egui::Ui) {
    ui.checkbox(
        &mut settings.wheel_zooms,
        "the wheel zooms, Ctrl+wheel scrolls",
    );
    ui.checkbox(&mut settings.show_lists, "lists at the left");
    ui.checkbox(&mut settings.show_inspector, "inspector at the right");
    ui.checkbox(&mut settings.show_marks, "events");
    ui.checkbox(&mut settings.show_arrows, "arrows (R)");
    ui.checkbox(&mut settings.show_path, "critical path (P)");
    ui.add(egui::Slider::new(&mut settings.lane_height, 10.0..=60.0).text("height of lanes"));
}

/// The conditions of the prediction, and what came of it.
fn conditions(open: &mut Open, ui: &mut egui::Ui, commands: &mut Vec<Command>) {
    let about = open.source.about().clone();
    let mut what = open.what.clone();
    ui.add_enabled_ui(about.can_predict, |ui| {
        if about.passes_messages() {
            network(open, &mut what, &about, ui);
            return;
        }
        cpus(&mut what, &about, ui);
        choice(ui, "model", &mut what.model, &about.models);
        let own = "as the machine's";
        let mut scheduler = what.scheduler.clone().unwrap_or_else(|| own.to_owned());
        let schedulers: Vec<String> = std::iter::once(own.to_owned())
            .chain(about.schedulers.iter().cloned())
            .collect();
        choice(ui, "scheduler", &mut scheduler, &schedulers);
        what.scheduler = Some(scheduler).filter(|chosen| chosen != own);
        machine(open, &mut what, ui);
    });
    open.set(what);
    ui.separator();
    if let Some((what, job)) = &open.predicting {
        let (stage, share) = job.progress().now();
        let bar = egui::ProgressBar::new(share.unwrap_or(0.0)).desired_width(220.0);
        ui.add(
            bar.text(format!("{stage}: {}", what.brief(&what.model)))
                .animate(share.is_none()),
        );
        if ui.button("Cancel").on_hover_text("Esc").clicked() {
            commands.push(Command::Escape);
        }
    }
    compare(open, ui, commands);
}

fn cpus(what: &mut WhatIf, about: &About, ui: &mut egui::Ui) {
    let label = ui.label("CPUs");
    let most = (about.threads as u32 * 2)
        .clamp(16, MOST_CPUS)
        .max(what.cpus);
    let slider = egui::Slider::new(&mut what.cpus, 1..=most)
        .logarithmic(most > 64)
        .integer();
    ui.spacing_mut().slider_width = 170.0;
    ui.add(slider)
        .on_hover_text("Ctrl+Up, Ctrl+Down")
        .labelled_by(label.id);
}

fn choice(ui: &mut egui::Ui, name: &str, chosen: &mut String, values: &[String]) {
    ui.label(name);
    egui::ComboBox::from_id_salt(name)
        .selected_text(chosen.as_str())
        .show_ui(ui, |ui| {
            for value in values {
                ui.selectable_value(chosen, value.clone(), value);
            }
        });
}

fn machine(open: &mut Open, what: &mut WhatIf, ui: &mut egui::Ui) {
    ui.label("machine");
    let own = "as recorded";
    let chosen = what.machine.as_deref();
    let name = chosen.map_or(own, welcome::file_name).to_owned();
    lasting_menu(ui, name, |ui| {
        if ui.button(own).clicked() {
            what.machine = None;
            ui.close();
        }
        ui.separator();
        ui.label("a machine's file (see docs/machine.md):");
        if file_entry(open, "machine file", what.machine.is_some(), ui) {
            what.machine.clone_from(&open.what.machine);
            ui.close();
        }
    });
}

/// The conditions of a program that passes messages.
fn network(open: &mut Open, what: &mut WhatIf, about: &About, ui: &mut egui::Ui) {
    ui.label("network");
    let chosen = what.network.as_deref();
    let name = chosen.map_or("choose one", welcome::file_name).to_owned();
    lasting_menu(ui, name, |ui| {
        for known in &about.networks {
            let is_chosen = what.network.as_ref() == Some(known);
            if ui.selectable_label(is_chosen, known).clicked() {
                what.network = Some(known.clone());
                ui.close();
            }
        }
        ui.separator();
        ui.label("a network's file (see docs/network.md), or a configuration of Dimemas:");
        if file_entry(open, "network file", what.network.is_some(), ui) {
            what.network.clone_from(&open.what.network);
            ui.close();
        }
    });
    choice(ui, "model", &mut what.model, &about.models);
    let ranks = about.threads.max(1) as u32;
    own_or(
        ui,
        "ranks a node",
        "neighbouring ranks share a node",
        &mut what.ranks_per_node,
        1,
        |value| egui::DragValue::new(value).range(1..=ranks),
    );
    own_or(
        ui,
        "CPU speed",
        "of all CPUs, against what the network's file says of them",
        &mut what.cpu_percent,
        100,
        |value| {
            let drag = egui::DragValue::new(value).range(1..=100_000);
            drag.suffix(" %")
        },
    );
}

/// A number in place of what the network says, where that is wanted.
fn own_or<'v>(
    ui: &mut egui::Ui,
    name: &str,
    about: &str,
    value: &'v mut Option<u32>,
    first: u32,
    drag: impl FnOnce(&'v mut u32) -> egui::DragValue<'v>,
) {
    let mut own = value.is_some();
    let label = ui
        .checkbox(&mut own, name)
        .on_hover_text(format!("{about}; without the tick, as the network says"));
    if own != value.is_some() {
        *value = own.then_some(first);
    }
    if let Some(value) = value {
        ui.add(drag(value)).labelled_by(label.id);
    }
}

/// Takes the name of a file, or asks for one; returns whether another one is used now.
fn file_entry(open: &mut Open, name: &'static str, is_named: bool, ui: &mut egui::Ui) -> bool {
    let id = ui.scope_id().with(name);
    let mut text = ui
        .data(|data| data.get_temp::<String>(id))
        .unwrap_or_default();
    let edit = ui.add(egui::TextEdit::singleline(&mut text).hint_text("its path"));
    edit.widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::TextInput, true, name));
    let entered = edit.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
    let used = ui.button("Use").clicked() || entered;
    if ui.button("Choose…").clicked() {
        let (ctx, is_network) = (ui.ctx().clone(), open.source.about().passes_messages());
        open.choosing = Some(Job::start(
            move |_| export::ask_for_conditions(is_network),
            move || ctx.request_repaint(),
        ));
        ui.close();
    }
    let about = "predict anew, after the file was changed";
    let again = ui.add_enabled(is_named, egui::Button::new("Read it again"));
    if again.on_hover_text(about).clicked() {
        open.again();
        ui.close();
    }
    let is_used = used && !text.is_empty();
    if is_used {
        open.use_file(&text);
    }
    ui.data_mut(|data| data.insert_temp(id, text));
    is_used
}

fn compare(open: &mut Open, ui: &mut egui::Ui, commands: &mut Vec<Command>) {
    let Some(shown) = open.shown.clone() else {
        return;
    };
    let Some(baseline) = open.baseline.clone() else {
        let about = "Keep this prediction, and compare others with it (B)";
        if ui.button("Compare").on_hover_text(about).clicked() {
            commands.push(Command::Pin);
        }
        return;
    };
    let (ours, theirs) = (shown.end().as_secs_f64(), baseline.end().as_secs_f64());
    let percent = if theirs > 0.0 {
        (ours / theirs - 1.0) * 100.0
    } else {
        0.0
    };
    let brief = |loaded: &Loaded| {
        let conditions = loaded.what.brief(&loaded.picture.schedule.model);
        format!("{conditions}: {}", loaded.end())
    };
    ui.label(format!(
        "{}  against  {}  ({percent:+.1} %)",
        brief(&shown),
        brief(&baseline)
    ));
    for (mode, text) in [(Compare::Overlay, "overlaid"), (Compare::Apart, "apart")] {
        ui.selectable_value(&mut open.compare, mode, text);
    }
    if ui.button("End comparison").clicked() {
        commands.push(Command::Pin);
    }
}

/// How lanes are arranged.
fn arrangement(
    open: &mut Open,
    settings: &mut Settings,
    ui: &mut egui::Ui,
    commands: &mut Vec<Command>,
) {
    let lanes = if open.source.about().passes_messages() {
        "Ranks"
    } else {
        "Threads"
    };
    let how = &mut open.arrangement;
    ui.toggle_value(&mut how.threads, lanes);
    ui.toggle_value(&mut how.cpus, "CPUs").on_hover_text("U");
    ui.separator();
    ui.toggle_value(&mut how.grouped, "Grouped")
        .on_hover_text("by process and start routine");
    ui.toggle_value(&mut how.hide_quiet, "Hide idle")
        .on_hover_text("leave lanes without events out");
    ui.toggle_value(&mut settings.show_arrows, "Arrows")
        .on_hover_text("R");
    ui.toggle_value(&mut settings.show_path, "Critical path")
        .on_hover_text("P; N goes along it");
    egui::ComboBox::from_id_salt("order")
        .selected_text(format!("by {}", how.order.name()))
        .show_ui(ui, |ui| {
            for order in Order::ALL {
                ui.selectable_value(&mut how.order, order, order.name());
            }
        });
    let filter = egui::TextEdit::singleline(&mut how.filter)
        .hint_text("filter by name")
        .desired_width(130.0);
    let response = ui.add(filter);
    response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::accesskit::Role::TextInput, true, "filter")
    });
    if !how.filter.is_empty() && ui.small_button("Clear").on_hover_text("Show all").clicked() {
        how.filter.clear();
    }
    if !how.hidden.is_empty() {
        let text = format!("{} hidden: show", how.hidden.len());
        if ui.button(text).clicked() {
            how.hidden.clear();
        }
    }
    ui.separator();
    for (text, command, about) in [
        ("Fit", Command::Fit, "Home"),
        ("Back", Command::Undo, "the view before (Ctrl+Z)"),
        ("Forward", Command::Redo, "the view after (Ctrl+Shift+Z)"),
    ] {
        if ui.button(text).on_hover_text(about).clicked() {
            commands.push(command);
        }
    }
}
