//! The journals of a directory whose programs may still run, looked through again and again.
//!
//! A recording may have tens of thousands, most of them of processes that are over.

use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use foretrace_trace::journal::layout;

/// Between two looks passes so many times as long as the first one took.
const REST: u32 = 30;

/// Journals that may grow.
pub struct Growing {
    directory: PathBuf,
    over: HashSet<OsString>,
    rests_until: Option<Instant>,
}

impl Growing {
    /// Of a directory.
    pub fn in_directory(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            over: HashSet::new(),
            rests_until: None,
        }
    }

    /// Visits each by its name and path, but not soon after the last time. Those of which the visit says that they are over are not
    /// visited again, nor are those whose process has become another program since.
    pub fn look(&mut self, mut visit: impl FnMut(&OsStr, &Path) -> bool) {
        let begun = Instant::now();
        if self.rests_until.is_some_and(|until| begun < until) {
            return;
        }
        let entries = fs::read_dir(&self.directory);
        for entry in entries.into_iter().flatten().flatten() {
            let name = entry.file_name();
            let path = Path::new(&name);
            let is_journal = path
                .extension()
                .is_some_and(|extension| extension == layout::FILE_EXTENSION);
            if !is_journal || self.over.contains(&name) {
                continue;
            }
            if let Some(predecessor) = predecessor(path) {
                self.over.insert(predecessor);
            }
            if visit(&name, &entry.path()) {
                self.over.insert(name);
            }
        }
        let took: Duration = begun.elapsed();
        self.rests_until = Some(begun + REST * took);
    }
}

/// Returns the name of the journal that a process wrote before, as another program.
fn predecessor(name: &Path) -> Option<OsString> {
    let (process, number) = name.file_stem()?.to_str()?.rsplit_once('-')?;
    let before = number.parse::<u32>().ok()?.checked_sub(1)?;
    Some(format!("{process}-{before}.{}", layout::FILE_EXTENSION).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_is_not_looked_at_again() {
        let directory = tempfile::tempdir().expect("there is room");
        for name in ["1-2-0.ftj", "1-2-1.ftj", "3-2-0.ftj", "note"] {
            fs::write(directory.path().join(name), "").expect("there is room");
        }
        let mut journals = Growing::in_directory(directory.path());
        let mut look = |ends: &str| {
            let mut names = Vec::new();
            journals.rests_until = None;
            journals.look(|name, _| {
                names.push(name.to_string_lossy().into_owned());
                name == ends
            });
            names.sort_unstable();
            names
        };
        assert!(look("3-2-0.ftj").contains(&"3-2-0.ftj".to_owned()));
        assert_eq!(look(""), ["1-2-1.ftj"]);
        journals.rests_until = Some(Instant::now() + Duration::from_hours(1));
        journals.look(|_, _| panic!("it rests"));
    }
}
