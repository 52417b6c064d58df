//! Files: which to open, and what is seen as a picture.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use foretrace_gantt::{SvgOptions, Theme, picture::only_lanes, render};
use foretrace_schedule::SimTime;

use crate::{command::Picture, loaded::Loaded, state::Open};

/// A dialog that was there for a shorter time was not there at all.
const SEEN: Duration = Duration::from_millis(400);

/// Asks the user, by the desktop's own dialog; `None` where nothing was chosen.
fn ask(dialog: impl FnOnce() -> Option<PathBuf>, instead: &str) -> Result<Option<PathBuf>, String> {
    let began = Instant::now();
    let chosen = dialog();
    if chosen.is_none() && began.elapsed() < SEEN {
        return Err(format!(
            "this desktop has no dialog for files (xdg-desktop-portal or zenity bring one); {instead}"
        ));
    }
    Ok(chosen)
}

/// How files end that can be opened.
const OPENED: &[&str] = &[
    "ftrace", "ftsched", "txt", "journal", "goal", "dim", "prv", "trace",
];

/// Asks the user what to open, in a directory at first.
///
/// # Errors
///
/// With what to do instead, where there is no dialog.
pub fn ask_what_to_open(directory: Option<PathBuf>) -> Result<Option<PathBuf>, String> {
    let dialog = rfd::FileDialog::new()
        .set_title("Open a trace or a schedule")
        .add_filter("traces and schedules", OPENED)
        .add_filter("all files", &["*"]);
    let dialog = match directory {
        Some(directory) => dialog.set_directory(directory),
        None => dialog,
    };
    let instead = "drop the file into the window, or name it on the command line";
    ask(|| dialog.pick_file(), instead)
}

/// Asks the user for a machine's or a network's file.
///
/// # Errors
///
/// With what to do instead, where there is no dialog.
pub fn ask_for_conditions(is_network: bool) -> Result<Option<PathBuf>, String> {
    let dialog = rfd::FileDialog::new();
    let dialog = if is_network {
        let dialog = dialog.set_title("Choose a network");
        dialog.add_filter("networks", &["toml", "cfg"])
    } else {
        let dialog = dialog.set_title("Choose a machine");
        dialog.add_filter("machines", &["toml"])
    };
    ask(|| dialog.pick_file(), "enter the name of the file")
}

/// Returns a name in a directory that no file has yet.
fn unused(directory: &Path, name: &str, ending: &str) -> PathBuf {
    let first = directory.join(format!("{name}.{ending}"));
    let others = (2..).map(|number| directory.join(format!("{name}-{number}.{ending}")));
    let mut all = std::iter::once(first.clone()).chain(others);
    all.find(|path| !path.exists()).unwrap_or(first)
}

/// What is seen, to be written.
pub struct Seen {
    loaded: Arc<Loaded>,
    lanes: Vec<usize>,
    range: (SimTime, SimTime),
    dark: bool,
    name: String,
}

impl Seen {
    /// Takes what is seen of a file.
    pub fn of(open: &Open, dark: bool) -> Option<Self> {
        let loaded = Arc::clone(open.shown.as_ref()?);
        let path = PathBuf::from(&open.source.about().path);
        let stem = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        let stem = stem.unwrap_or_default();
        let name = match &loaded.what.network {
            Some(network) => {
                let network = crate::panels::welcome::file_name(network);
                format!("{stem}-{}", network.trim_end_matches(".toml"))
            }
            None => format!("{stem}-{}cpus", loaded.what.cpus),
        };
        Some(Self {
            lanes: open.rows.lanes().collect(),
            range: (open.view.start, open.view.end.min(open.limit())),
            loaded,
            dark,
            name,
        })
    }

    /// Draws it.
    pub fn svg(&self) -> String {
        let schedule = only_lanes(&self.loaded.picture.schedule, &self.lanes);
        let options = SvgOptions {
            theme: if self.dark { Theme::Dark } else { Theme::Light },
            range: Some(self.range),
            ..SvgOptions::default()
        };
        render(&schedule, &options)
    }

    /// Asks where to, and writes it there; returns what is to be told.
    ///
    /// # Errors
    ///
    /// With a message for users.
    pub fn save(&self, picture: Picture) -> Result<String, String> {
        let ending = match picture {
            Picture::Svg => "svg",
            Picture::Png => "png",
        };
        let file = format!("{}.{ending}", self.name);
        let dialog = rfd::FileDialog::new()
            .set_title("Write what is seen")
            .set_file_name(&file)
            .add_filter(ending, &[ending]);
        match ask(|| dialog.save_file(), "") {
            Ok(None) => Ok("nothing was written".to_owned()),
            Ok(Some(path)) => {
                self.write(picture, &path)?;
                Ok(format!("wrote {}", path.display()))
            }
            Err(_) => {
                let path = unused(Path::new(""), &self.name, ending);
                self.write(picture, &path)?;
                let path = std::path::absolute(&path).unwrap_or(path);
                Ok(format!(
                    "wrote {}: this desktop has no dialog that would ask for another place",
                    path.display()
                ))
            }
        }
    }

    /// Writes it.
    ///
    /// # Errors
    ///
    /// With a message for users.
    pub fn write(&self, picture: Picture, path: &Path) -> Result<(), String> {
        let svg = self.svg();
        let bytes = match picture {
            Picture::Svg => svg.into_bytes(),
            Picture::Png => {
                foretrace_interchange::png::from_svg(&svg, 2.0).map_err(|e| e.to_string())?
            }
        };
        fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_written_over_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let name = || unused(directory.path(), "a-4cpus", "svg");
        assert_eq!(name(), directory.path().join("a-4cpus.svg"));
        for next in ["a-4cpus-2.svg", "a-4cpus-3.svg"] {
            fs::write(name(), "").unwrap();
            assert_eq!(name(), directory.path().join(next));
        }
    }

    #[test]
    fn a_dialog_that_is_not_there_is_told_of_and_one_that_was_closed_is_not() {
        let absent = ask(|| None, "drop the file into the window").unwrap_err();
        assert!(
            absent.contains("no dialog") && absent.ends_with("drop the file into the window"),
            "{absent}"
        );
        let closed = ask(
            || {
                std::thread::sleep(SEEN);
                None
            },
            "",
        );
        assert_eq!(closed, Ok(None));
        let path = PathBuf::from("a.ftrace");
        assert_eq!(ask(|| Some(path.clone()), ""), Ok(Some(path.clone())));
    }
}
