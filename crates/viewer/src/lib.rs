//! The window on predicted runs: where N CPUs would wait, for what, and in which line of the source.
//!
//! [`run`] opens it. Who simulates is behind a trait ([`source::ScheduleSource`]), so that the window knows nothing of
//! models; what is pure geometry is in `foretrace-gantt`. State (`state`), what can be done (`command`, `run`) and what is
//! painted (`canvas`, `panels`) are apart.
//!
//! Deliberately absent: simulation, files of traces, and the environment.

pub mod source;

mod app;
mod canvas;
mod command;
mod export;
mod index;
mod jobs;
mod lists;
mod loaded;
mod navigate;
mod panels;
mod run;
mod settings;
mod state;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod theme;

use std::{path::PathBuf, sync::Arc};

use eframe::egui;

pub use app::Viewer;

use crate::{settings::Settings, source::Opener};

/// Why there is no window.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system could not open one.
    #[error("cannot open a window: {0}")]
    Window(String),
}

/// Opens a window on files, and returns when it is closed.
///
/// `settings_file` is where its state is kept between runs, if anywhere.
///
/// # Errors
///
/// When the system has no display, or none that it can draw on.
pub fn run(
    opener: Arc<dyn Opener>,
    files: &[PathBuf],
    settings_file: Option<PathBuf>,
) -> Result<(), Error> {
    let kept = Settings::load(settings_file.as_deref());
    let viewport = egui::ViewportBuilder::default()
        .with_title("foretrace")
        .with_app_id("foretrace")
        .with_inner_size(kept.window.unwrap_or([1400.0, 900.0]))
        .with_min_inner_size([640.0, 400.0])
        .with_drag_and_drop(true);
    let options = eframe::NativeOptions {
        viewport,
        ..eframe::NativeOptions::default()
    };
    let files = files.to_vec();
    eframe::run_native(
        "foretrace",
        options,
        Box::new(move |context| {
            let viewer = Viewer::new(&context.egui_ctx, opener, &files, settings_file);
            Ok(Box::new(viewer))
        }),
    )
    .map_err(|error| Error::Window(error.to_string()))
}
