//! What is shown while there is nothing to be looked at: a start, progress, an error.

use eframe::egui::{self, RichText};

use crate::{app::Viewer, command::Command, state::Phase};

/// Shows it.
pub fn show(viewer: &mut Viewer, ui: &mut egui::Ui, commands: &mut Vec<Command>) {
    let alarm = viewer.colours.alarm();
    let muted = viewer.colours.muted();
    ui.vertical(|ui| {
        let Some(document) = viewer.documents.get_mut(viewer.front) else {
            ui.heading("foretrace");
            ui.label("Where would N CPUs wait? Open a recorded trace, a text trace, or a schedule that predict -o saved.");
            return start(ui, &viewer.settings.recent, muted, commands);
        };
        match &mut document.phase {
            Phase::Opening(job) => {
                ui.heading(format!("Opening {}", short(&document.path, 80)));
                progress(ui, job.progress());
            }
            Phase::Failed(error) => {
                ui.heading("This could not be opened");
                ui.label(RichText::new(error.as_str()).color(alarm));
                ui.add_space(8.0);
                if ui.button("Try again").clicked() {
                    commands.push(Command::Open(document.path.clone()));
                }
                start(ui, &viewer.settings.recent, muted, commands);
            }
            Phase::Open(open) => match (&open.predicting, &open.error) {
                (Some((what, job)), _) => {
                    ui.heading(format!("Predicting a run: {}", what.brief(&what.model)));
                    progress(ui, job.progress());
                    if ui.button("Cancel").clicked() {
                        commands.push(Command::Escape);
                    }
                }
                (None, Some(_)) => {
                    ui.heading("There is no prediction");
                    ui.label("The message above says why. Other conditions may do.");
                }
                (None, None) => {
                    ui.spinner();
                }
            },
        }
    });
}

fn start(ui: &mut egui::Ui, recent: &[String], muted: egui::Color32, commands: &mut Vec<Command>) {
    ui.add_space(12.0);
    if ui.button("Open a file…").clicked() {
        commands.push(Command::OpenDialog);
    }
    ui.label(
        RichText::new(
            "or drop one here. To record a program:  foretrace record -- ./prog --its --options",
        )
        .color(muted),
    );
    if recent.is_empty() {
        return;
    }
    ui.add_space(12.0);
    ui.strong("Opened before");
    for file in recent {
        if ui.link(short(file, 100)).clicked() {
            commands.push(Command::Open(file.clone()));
        }
    }
}

fn progress(ui: &mut egui::Ui, progress: &crate::source::Progress) {
    let (stage, share) = progress.now();
    ui.add_space(8.0);
    let bar = egui::ProgressBar::new(share.unwrap_or(0.0)).desired_width(320.0);
    ui.add(bar.text(stage).animate(share.is_none()));
}

/// Returns a path's last part.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns a path with its middle left out where it is long.
pub fn short(path: &str, most: usize) -> String {
    let count = path.chars().count();
    if count <= most {
        return path.to_owned();
    }
    let head: String = path.chars().take(most / 3).collect();
    let tail: String = path.chars().skip(count - (most - most / 3 - 1)).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_keep_both_ends() {
        assert_eq!(short("/a/b", 10), "/a/b");
        let long = short(&format!("/start/{}/end.ftrace", "x".repeat(200)), 40);
        assert_eq!(long.chars().count(), 40);
        assert!(long.starts_with("/start/") && long.ends_with("/end.ftrace"));
        assert_eq!(file_name("/a/b.ftrace"), "b.ftrace");
    }
}
