//! What is kept between runs.

use std::{fs, path::Path};

use foretrace_gantt::arrange::{Arrangement, Order};
use serde::{Deserialize, Serialize};

/// So many files are remembered.
const RECENT: usize = 12;

/// No window is kept that was larger; X11 has none of 32,768 pixels, of which some screens have two or three in a point.
const MOST_WINDOW: f32 = 10_000.0;

/// The state of the window that outlives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Settings {
    /// Whether light ink is drawn on dark ground.
    pub dark: bool,
    /// Files opened before, the latest first.
    pub recent: Vec<String>,
    /// The size of the window.
    pub window: Option<[f32; 2]>,
    /// The height of lanes.
    pub lane_height: f32,
    /// Whether the wheel zooms and Ctrl+wheel scrolls, instead of the other way round.
    pub wheel_zooms: bool,
    /// Whether the lists are shown.
    pub show_lists: bool,
    /// Whether the inspector is shown.
    pub show_inspector: bool,
    /// Whether arrows are drawn.
    pub show_arrows: bool,
    /// Whether operations are marked.
    pub show_marks: bool,
    /// Whether the critical path is drawn.
    pub show_path: bool,
    /// Whether threads, or ranks, have lanes.
    pub show_threads: bool,
    /// Whether CPUs have lanes.
    pub show_cpus: bool,
    /// Whether lanes stand under headings.
    pub grouped: bool,
    /// What lanes are ordered by.
    pub order: Order,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dark: false,
            recent: Vec::new(),
            window: None,
            lane_height: 24.0,
            wheel_zooms: false,
            show_lists: true,
            show_inspector: true,
            show_arrows: true,
            show_marks: true,
            show_path: false,
            show_threads: true,
            show_cpus: false,
            grouped: true,
            order: Order::default(),
        }
    }
}

impl Settings {
    /// Reads them; those by default where there are none, or none that can be read: it is only comfort.
    pub fn load(file: Option<&Path>) -> Self {
        let text = file.and_then(|file| fs::read_to_string(file).ok());
        let settings: Option<Self> = text.and_then(|text| serde_json::from_str(&text).ok());
        let mut settings = settings.unwrap_or_default();
        settings.lane_height = if settings.lane_height.is_finite() {
            settings.lane_height.clamp(10.0, 60.0)
        } else {
            Self::default().lane_height
        };
        // A window that is closed while it is minimized has no size, and none can be larger than the system's largest.
        settings.window = settings.window.filter(|size| {
            let [width, height] = size.map(|side| (1.0..=MOST_WINDOW).contains(&side));
            width && height
        });
        settings.recent.truncate(RECENT);
        settings
    }

    /// Writes them, as far as that is possible: it is only comfort.
    pub fn save(&self, file: Option<&Path>) {
        let (Some(file), Ok(text)) = (file, serde_json::to_string_pretty(self)) else {
            return;
        };
        if let Some(directory) = file.parent() {
            let _ = fs::create_dir_all(directory);
        }
        let _ = fs::write(file, text);
    }

    /// Returns how the lanes of a file that is opened are arranged.
    pub fn arrangement(&self) -> Arrangement {
        Arrangement {
            threads: self.show_threads,
            cpus: self.show_cpus,
            grouped: self.grouped,
            order: self.order,
            ..Arrangement::default()
        }
    }

    /// Notes how lanes are arranged now; which are hidden or filtered is the file's own affair.
    pub fn arranged(&mut self, how: &Arrangement) {
        // With neither, the next file would look empty.
        self.show_threads = how.threads || !how.cpus;
        self.show_cpus = how.cpus;
        self.grouped = how.grouped;
        self.order = how.order;
    }

    /// Notes that a file was opened.
    pub fn opened(&mut self, file: &str) {
        self.recent.retain(|other| other != file);
        self.recent.insert(0, file.to_owned());
        self.recent.truncate(RECENT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_file_comes_first_and_each_once() {
        let mut settings = Settings::default();
        for file in ["a", "b", "a"] {
            settings.opened(file);
        }
        assert_eq!(settings.recent, ["a", "b"]);
        (0..50).for_each(|i| settings.opened(&i.to_string()));
        assert_eq!(settings.recent.len(), RECENT);
    }

    #[test]
    fn what_was_saved_is_read_and_what_is_damaged_is_not_an_error() {
        let directory =
            std::env::temp_dir().join(format!("foretrace-settings-{}", std::process::id()));
        let file = directory.join("deep/viewer.json");
        let settings = Settings {
            dark: true,
            recent: vec!["x".to_owned()],
            ..Settings::default()
        };
        settings.save(Some(&file));
        assert_eq!(Settings::load(Some(&file)), settings);
        fs::write(&file, "{\"dark\": 3}").unwrap();
        assert_eq!(Settings::load(Some(&file)), Settings::default());
        fs::write(&file, "{\"dark\": true, \"lane_height\": 1e9, \"new\": 1}").unwrap();
        assert!(Settings::load(Some(&file)).dark);
        // Of whatever size it was, a window can be opened.
        for size in ["0,0", "-5,700", "1e9,1e9", "1e39,900"] {
            fs::write(&file, format!("{{\"dark\": true, \"window\": [{size}]}}")).unwrap();
            let kept = Settings::load(Some(&file));
            assert!(kept.dark && kept.window.is_none());
        }
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(Settings::load(None), Settings::default());
    }
}
