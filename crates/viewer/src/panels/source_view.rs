//! A file of the source, with a line in it highlighted.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc, time::UNIX_EPOCH};

use eframe::egui::{self, FontId, TextFormat, text::LayoutJob};

use crate::theme::Colours;

/// Files that were read, or why they could not be.
#[derive(Default)]
pub struct SourceFiles {
    files: BTreeMap<String, Result<Arc<SourceFile>, String>>,
}

/// A file that was read.
#[derive(Debug)]
pub struct SourceFile {
    /// Its lines.
    pub lines: Vec<String>,
    /// When it was last changed, in seconds since 1970, where the system tells.
    changed: Option<u64>,
}

impl SourceFile {
    /// Returns whether it was changed after a time, in seconds since 1970: its lines are not those of then any more.
    pub fn is_changed_since(&self, time: Option<u64>) -> bool {
        // In the same second a program can be compiled and then recorded.
        self.changed
            .zip(time)
            .is_some_and(|(changed, time)| changed > time)
    }
}

/// Larger files are not shown.
const MOST_BYTES: u64 = 32 << 20;

impl SourceFiles {
    /// Returns a file.
    pub fn file(&mut self, file: &str) -> Result<Arc<SourceFile>, String> {
        let read = || read(Path::new(file)).map(Arc::new);
        self.files
            .entry(file.to_owned())
            .or_insert_with(read)
            .clone()
    }
}

fn read(file: &Path) -> Result<SourceFile, String> {
    let metadata = fs::metadata(file).map_err(|error| {
        format!(
            "The source is not at {} on this machine ({error}). Programs know their sources by the paths that they were \
             compiled at.",
            file.display()
        )
    })?;
    if metadata.len() > MOST_BYTES {
        return Err(format!("{} is too large to be shown", file.display()));
    }
    let bytes =
        fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let changed = metadata.modified().ok();
    let changed = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(|line| line.replace('\t', "    "));
    Ok(SourceFile {
        lines: lines.collect(),
        changed: changed.map(|since| since.as_secs()),
    })
}

/// Shows a file around a line; `anew` scrolls there.
pub fn show(ui: &mut egui::Ui, lines: &[String], line: u32, anew: bool, colours: &Colours) {
    let height = 15.0;
    ui.spacing_mut().item_spacing.y = 0.0;
    let mut area = egui::ScrollArea::both()
        .auto_shrink(false)
        .id_salt("source");
    if anew {
        let middle = ui.available_height() / 2.0;
        let offset = (line.saturating_sub(1) as f32 * height - middle + height / 2.0).max(0.0);
        area = area
            .vertical_scroll_offset(offset)
            .horizontal_scroll_offset(0.0);
    }
    area.show_rows(ui, height, lines.len(), |ui, range| {
        for position in range {
            let number = position as u32 + 1;
            let is_it = number == line;
            let job = layout(number, &lines[position], is_it, colours);
            let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
            let width = galley.size().x.max(ui.available_width());
            let (rect, response) =
                ui.allocate_exact_size(egui::vec2(width, height), egui::Sense::hover());
            let text = format!("{number}: {}", lines[position]);
            response.widget_info(|| {
                egui::WidgetInfo::labeled(egui::accesskit::Role::Label, true, text.clone())
            });
            if is_it {
                ui.painter()
                    .rect_filled(rect, 0.0, colours.accent.gamma_multiply(0.25));
                let edge = egui::Rect::from_min_size(rect.min, egui::vec2(3.0, height));
                ui.painter().rect_filled(edge, 0.0, colours.accent);
            }
            ui.painter()
                .galley(rect.min + egui::vec2(5.0, 0.0), galley, colours.text());
        }
    });
}

fn layout(number: u32, line: &str, is_it: bool, colours: &Colours) -> LayoutJob {
    let mut job = LayoutJob::default();
    let format = |color| TextFormat {
        font_id: FontId::monospace(12.0),
        color,
        ..TextFormat::default()
    };
    let ink = if is_it {
        colours.accent
    } else {
        colours.muted()
    };
    job.append(&format!("{number:>5}  "), 0.0, format(ink));
    let kept: String = line.chars().take(400).collect();
    let (code, comment) = match kept.find("//") {
        Some(at) => kept.split_at(at),
        None => (kept.as_str(), ""),
    };
    job.append(code, 0.0, format(colours.text()));
    job.append(comment, 0.0, format(colours.muted()));
    job.wrap.max_width = f32::INFINITY;
    job
}

/// Returns `file:line`, the file without its directories.
pub fn short_line(file: &str, line: u32) -> String {
    format!("{}:{line}", file.rsplit('/').next().unwrap_or(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_is_not_there_is_explained() {
        let mut files = SourceFiles::default();
        let error = files.file("/nowhere/main.c").unwrap_err();
        assert!(
            error.contains("/nowhere/main.c") && error.contains("compiled"),
            "{error}"
        );
        let this = concat!(env!("CARGO_MANIFEST_DIR"), "/src/panels/source_view.rs");
        let this = files.file(this).unwrap();
        assert!(this.lines[0].starts_with("//! A file of the source"));
    }

    #[test]
    fn a_source_that_was_changed_after_the_recording_is_told_from_one_that_was_not() {
        let file = SourceFile {
            lines: Vec::new(),
            changed: Some(100),
        };
        let changed = [Some(99), Some(100), None].map(|time| file.is_changed_since(time));
        assert_eq!(changed, [true, false, false]);
    }
}
