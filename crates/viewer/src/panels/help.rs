//! The keys and the mouse, from the table that acts on them.

use eframe::egui;

use crate::{
    app::Viewer,
    command::{BINDINGS, MOUSE, keys_text},
};

/// Shows them where they were asked for.
pub fn show(viewer: &mut Viewer, ctx: &egui::Context) {
    let mut is_open = viewer.show_help;
    egui::Window::new("Keys and mouse")
        .open(&mut is_open)
        .collapsible(false)
        .default_width(620.0)
        .default_height(640.0)
        .anchor(egui::Align2::CENTER_CENTER, [0.0, 0.0])
        .show(ctx, |ui| {
            egui::ScrollArea::vertical()
                .max_height(ctx.content_rect().height() - 120.0)
                .show(ui, |ui| {
                    egui::Grid::new("keys")
                        .num_columns(2)
                        .striped(true)
                        .show(ui, |ui| {
                            for (keys, about) in MOUSE {
                                ui.label(*keys);
                                ui.label(*about);
                                ui.end_row();
                            }
                            for binding in BINDINGS {
                                ui.label(keys_text(binding));
                                ui.label(binding.about);
                                ui.end_row();
                            }
                        });
                });
        });
    viewer.show_help = is_open;
}
