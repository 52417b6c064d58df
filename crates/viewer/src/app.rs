//! The window: takes in files, results and keys, and lays out the panels.

use std::{path::PathBuf, sync::Arc};

use eframe::egui;

use crate::{
    command,
    jobs::Job,
    panels,
    settings::Settings,
    source::Opener,
    state::{Document, Open, Phase},
    theme::{self, Colours},
};

/// Settings are written at most once in so many seconds.
const KEPT_EVERY: f64 = 1.0;

/// The picture is at least so wide, with its names; panels give way to it.
const LEAST_PICTURE: f32 = 220.0;

/// The lists are at least so wide.
const LEAST_LISTS: f32 = 180.0;

/// The inspector is at least so wide.
const LEAST_INSPECTOR: f32 = 240.0;

/// Which panels there is room for beside the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sides {
    /// The most that the lists take, where they are shown.
    lists: Option<f32>,
    /// Whether the inspector is shown.
    inspector: bool,
}

impl Sides {
    /// Shares out a width among those that are wanted; the lists give way first.
    fn new(width: f32, lists: bool, inspector: bool) -> Self {
        let room = width - LEAST_PICTURE;
        let inspector = inspector && room >= LEAST_INSPECTOR;
        let left = room - if inspector { LEAST_INSPECTOR } else { 0.0 };
        let lists = (lists && left >= LEAST_LISTS).then(|| left.min(560.0));
        Self { lists, inspector }
    }
}

/// Returns whether two names are those of one file.
fn is_same(one: &str, other: &str) -> bool {
    let absolute = |path: &str| std::path::absolute(path).ok();
    one == other || absolute(one).is_some_and(|path| Some(path) == absolute(other))
}

/// The whole window.
pub struct Viewer {
    pub(crate) opener: Arc<dyn Opener>,
    pub(crate) settings: Settings,
    pub(crate) settings_file: Option<PathBuf>,
    /// The settings as the file has them, and when it was written, in the window's seconds.
    kept: (Settings, f64),
    pub(crate) colours: Colours,
    pub(crate) documents: Vec<Document>,
    pub(crate) front: usize,
    pub(crate) show_help: bool,
    pub(crate) find: panels::find::Find,
    pub(crate) source_files: panels::inspector::SourceFiles,
    pub(crate) lists: panels::lists::ListsState,
    /// A message about something that was done or could not be.
    pub(crate) note: Option<String>,
    pub(crate) dialog: Option<Job<Option<PathBuf>>>,
    pub(crate) saving: Option<Job<String>>,
    /// The height of the rows that are seen.
    pub(crate) rows_height: f32,
    styled: Option<bool>,
    /// What the window is called.
    title: String,
}

impl Viewer {
    /// Opens files in a window.
    pub fn new(
        ctx: &egui::Context,
        opener: Arc<dyn Opener>,
        files: &[PathBuf],
        settings_file: Option<PathBuf>,
    ) -> Self {
        let settings = Settings::load(settings_file.as_deref());
        let mut viewer = Self {
            colours: Colours::of(settings.dark),
            opener,
            kept: (settings.clone(), 0.0),
            settings,
            settings_file,
            documents: Vec::new(),
            front: 0,
            show_help: false,
            find: panels::find::Find::default(),
            source_files: panels::inspector::SourceFiles::default(),
            lists: panels::lists::ListsState::default(),
            note: None,
            dialog: None,
            saving: None,
            rows_height: 300.0,
            styled: None,
            title: String::new(),
        };
        for file in files {
            viewer.open(ctx, file.display().to_string());
        }
        viewer.front = 0;
        viewer
    }

    /// Opens a file, or brings it to the front where it is open.
    pub fn open(&mut self, ctx: &egui::Context, path: String) {
        if let Some(open) = self
            .documents
            .iter()
            .position(|document| is_same(&document.path, &path))
        {
            self.front = open;
            if matches!(self.documents[open].phase, Phase::Failed(_)) {
                self.documents[open].phase = self.opening(ctx, &path);
            }
            return;
        }
        let phase = self.opening(ctx, &path);
        self.documents.push(Document { path, phase });
        self.front = self.documents.len() - 1;
    }

    fn opening(&self, ctx: &egui::Context, path: &str) -> Phase {
        let (opener, path, ctx) = (Arc::clone(&self.opener), PathBuf::from(path), ctx.clone());
        let work = move |progress: &crate::source::Progress| {
            progress.begin("reading");
            opener.open(&path, progress)
        };
        Phase::Opening(Job::start(work, move || ctx.request_repaint()))
    }

    /// Returns the open file in front.
    pub fn open_front(&mut self) -> Option<&mut Open> {
        match &mut self.documents.get_mut(self.front)?.phase {
            Phase::Open(open) => Some(open),
            Phase::Opening(_) | Phase::Failed(_) => None,
        }
    }

    /// Returns whether work is under way.
    pub fn is_busy(&self) -> bool {
        let find = self.find.is_busy();
        find || self.documents.iter().any(|document| match &document.phase {
            Phase::Opening(_) => true,
            Phase::Failed(_) => false,
            Phase::Open(open) => {
                open.predicting.is_some()
                    || open.curving.is_some()
                    || open.advising.is_some()
                    || ((open.shown.is_none() || open.stale) && open.error.is_none())
            }
        })
    }

    /// Takes over what has come, and asks for what is wanted next.
    pub fn advance(&mut self, ctx: &egui::Context) {
        if self.styled != Some(self.settings.dark) {
            self.colours = Colours::of(self.settings.dark);
            theme::apply(ctx, &self.colours);
            self.styled = Some(self.settings.dark);
        }
        let mut opened = Vec::new();
        for document in &mut self.documents {
            if let Phase::Opening(job) = &document.phase
                && let Some(result) = job.poll()
            {
                document.phase = match result {
                    Ok(source) => {
                        opened.push(document.path.clone());
                        let mut open = Open::new(source);
                        open.arrangement = self.settings.arrangement();
                        Phase::Open(Box::new(open))
                    }
                    Err(error) => Phase::Failed(error),
                };
            }
            if let Phase::Open(open) = &mut document.phase {
                open.poll();
                let ctx = ctx.clone();
                open.want(move || ctx.request_repaint());
            }
        }
        for path in opened {
            // The next window may be opened elsewhere.
            let path = std::path::absolute(&path).map_or(path, |path| path.display().to_string());
            self.settings.opened(&path);
        }
        if let Some(Phase::Open(open)) = self.documents.get(self.front).map(|front| &front.phase) {
            self.settings.arranged(&open.arrangement);
        }
        self.keep_settings(ctx.input(|input| input.time));
        self.take_dialog(ctx);
        self.name_window(ctx);
        if self.is_busy() {
            // Bars move also while nothing else does.
            ctx.request_repaint_after(std::time::Duration::from_millis(80));
        }
    }

    /// Writes settings that have changed, now and then: the window may be ended by others.
    fn keep_settings(&mut self, now: f64) {
        let (kept, at) = &self.kept;
        if *kept != self.settings && (now - at).abs() >= KEPT_EVERY {
            self.settings.save(self.settings_file.as_deref());
            self.kept = (self.settings.clone(), now);
        }
    }

    /// Tells the desktop which file is in front.
    fn name_window(&mut self, ctx: &egui::Context) {
        let front = self.documents.get(self.front);
        let title = match front.map(|document| panels::welcome::file_name(&document.path)) {
            Some(file) => format!("{file} - foretrace"),
            None => "foretrace".to_owned(),
        };
        if title != self.title {
            ctx.send_viewport_cmd(egui::ViewportCommand::Title(title.clone()));
            self.title = title;
        }
    }

    fn take_dialog(&mut self, ctx: &egui::Context) {
        if let Some(result) = self.dialog.as_ref().and_then(Job::poll) {
            self.dialog = None;
            match result {
                Ok(Some(path)) => self.open(ctx, path.display().to_string()),
                Ok(None) => {}
                Err(error) => self.note = Some(error),
            }
        }
        if let Some(result) = self.saving.as_ref().and_then(Job::poll) {
            self.saving = None;
            self.note = Some(result.unwrap_or_else(|error| error));
        }
        let dropped = ctx.input(|input| input.raw.dropped_files.clone());
        for file in dropped {
            self.open(ctx, file.path().display().to_string());
        }
    }

    /// Lays out and paints.
    pub fn show(&mut self, ui: &mut egui::Ui) {
        let ctx = ui.ctx().clone();
        for command in command::pressed(&ctx) {
            self.run(&ctx, command);
        }
        let mut commands = Vec::new();
        egui::Panel::top("toolbar").show(ui, |ui| panels::toolbar::show(self, ui, &mut commands));
        if self.open_front().is_some_and(|open| open.shown.is_some()) {
            egui::Panel::bottom("status").show(ui, |ui| panels::status::show(self, ui));
            let (lists, inspector) = (self.settings.show_lists, self.settings.show_inspector);
            let sides = Sides::new(ui.available_width(), lists, inspector);
            if let Some(most) = sides.lists {
                egui::Panel::left("lists")
                    .default_size(250.0)
                    .size_range(LEAST_LISTS..=most)
                    .show(ui, |ui| panels::lists::show(self, ui, &mut commands));
            }
            if sides.inspector {
                let most = (ui.available_width() - LEAST_PICTURE).clamp(LEAST_INSPECTOR, 900.0);
                egui::Panel::right("inspector")
                    .default_size(340.0)
                    .size_range(LEAST_INSPECTOR..=most)
                    .show(ui, |ui| panels::inspector::show(self, ui, &mut commands));
            }
            let frame = egui::Frame::new().fill(self.colours.background());
            egui::CentralPanel::default()
                .frame(frame)
                .show(ui, |ui| crate::canvas::show(self, ui, &mut commands));
        } else {
            let frame = egui::Frame::new()
                .fill(self.colours.background())
                .inner_margin(24.0);
            egui::CentralPanel::default()
                .frame(frame)
                .show(ui, |ui| panels::welcome::show(self, ui, &mut commands));
        }
        panels::find::show(self, &ctx);
        panels::help::show(self, &ctx);
        for command in commands {
            self.run(&ctx, command);
        }
    }
}

impl eframe::App for Viewer {
    fn logic(&mut self, ctx: &egui::Context, _: &mut eframe::Frame) {
        self.advance(ctx);
        let size = ctx.input(|input| input.viewport().inner_rect.map(|rect| rect.size()));
        if let Some(size) = size {
            self.settings.window = Some([size.x, size.y]);
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui, _: &mut eframe::Frame) {
        self.show(ui);
    }

    fn on_exit(&mut self, _: Option<&eframe::glow::Context>) {
        self.settings.save(self.settings_file.as_deref());
    }

    fn clear_color(&self, _: &egui::Visuals) -> [f32; 4] {
        self.colours.background().to_normalized_gamma_f32()
    }
}
