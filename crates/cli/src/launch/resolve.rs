//! Finds the file that a command means, as a shell would.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use super::system;

/// Where programs are looked for when `PATH` is not set; the C library's default.
pub const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Why no file was found.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// A name without a slash, in no directory of `PATH`.
    #[error("`{name}` is in no directory of PATH; {remedy}")]
    NotInPath {
        /// The name.
        name: String,
        /// What to do.
        remedy: String,
    },
    /// A path to nothing.
    #[error("`{0}` does not exist; check the spelling")]
    Missing(String),
    /// An empty command.
    #[error("the command is empty; name the program to record after `--`")]
    Empty,
}

/// Finds the file that `command` means: itself where it has a slash, else the first executable file of that name in the
/// directories of `search_path`.
///
/// # Errors
///
/// Where there is no such file. What is found need not be a program: that is for `check` to say.
pub fn resolve(command: &OsStr, search_path: Option<&OsStr>) -> Result<PathBuf, Unresolved> {
    if command.is_empty() {
        return Err(Unresolved::Empty);
    }
    if command.as_bytes().contains(&b'/') {
        let path = PathBuf::from(command);
        // Also a broken link exists in a way, but not one that helps.
        return if path.exists() {
            Ok(path)
        } else {
            Err(Unresolved::Missing(command.display().to_string()))
        };
    }
    let search_path = search_path.unwrap_or(OsStr::new(DEFAULT_PATH));
    let candidates = || {
        std::env::split_paths(search_path)
            .map(|directory| {
                // An empty entry means the current directory.
                if directory.as_os_str().is_empty() {
                    PathBuf::from(".")
                } else {
                    directory
                }
            })
            .map(|directory| directory.join(command))
            .filter(|path| path.is_file())
    };
    candidates()
        .find(|path| system::may_access(path, libc::X_OK))
        .or_else(|| candidates().next())
        .ok_or_else(|| Unresolved::NotInPath {
            name: command.display().to_string(),
            remedy: remedy(command),
        })
}

fn remedy(command: &OsStr) -> String {
    if Path::new(command).exists() {
        format!(
            "to record the file in this directory, say ./{}",
            command.display()
        )
    } else {
        "check the spelling, or give the path to the program".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    #[test]
    fn an_executable_file_wins_over_an_earlier_one_that_is_not() {
        let home = tempfile::tempdir().expect("a temporary directory");
        for (directory, mode) in [("first", 0o644), ("second", 0o755)] {
            let file = home.path().join(directory).join("tool");
            fs::create_dir(home.path().join(directory)).expect("it is new");
            fs::write(&file, "").expect("it is ours");
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("it is ours");
        }
        let path = std::env::join_paths([home.path().join("first"), home.path().join("second")])
            .expect("no colons");
        assert_eq!(
            resolve(OsStr::new("tool"), Some(&path)),
            Ok(home.path().join("second/tool"))
        );
    }

    #[test]
    fn a_name_is_not_looked_for_in_the_current_directory() {
        let error = resolve(OsStr::new("Cargo.toml"), Some(OsStr::new("/nowhere")));
        assert_eq!(
            error.expect_err("PATH is empty").to_string(),
            "`Cargo.toml` is in no directory of PATH; to record the file in this directory, say ./Cargo.toml"
        );
    }

    #[test]
    fn without_a_path_variable_the_standard_directories_count() {
        assert!(resolve(OsStr::new("sh"), None).is_ok());
        assert_eq!(resolve(OsStr::new(""), None), Err(Unresolved::Empty));
    }
}
