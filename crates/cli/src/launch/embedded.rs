//! The files carried inside the binary, and their unpacking.

use std::{
    env, fs,
    io::Write as _,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
};

use anyhow::Context as _;

/// A file carried inside the binary.
pub struct Embedded {
    name: &'static str,
    hash: &'static str,
    bytes: &'static [u8],
}

/// The library that is preloaded into recorded programs.
pub const PRELOAD: Embedded = Embedded {
    name: "libforetrace_preload.so",
    hash: include_str!(concat!(env!("OUT_DIR"), "/libforetrace_preload.so.hash")),
    bytes: include_bytes!(concat!(env!("OUT_DIR"), "/libforetrace_preload.so")),
};

/// The program that `foretrace demo` records.
pub const DEMO: Embedded = Embedded {
    name: "mandelbrot_farm",
    hash: include_str!(concat!(env!("OUT_DIR"), "/mandelbrot_farm.hash")),
    bytes: include_bytes!(concat!(env!("OUT_DIR"), "/mandelbrot_farm")),
};

/// A file that was unpacked. Where it lies in a temporary directory, it is removed with this value.
pub struct Unpacked {
    /// Where it is.
    pub path: PathBuf,
    _directory: Option<tempfile::TempDir>,
}

impl Embedded {
    /// Unpacks the file below the user's cache directory, where it stays for the next time, or else into a private
    /// temporary directory.
    ///
    /// Programs of root's may go on as another user's, who cannot look into root's home; the loader complains in their
    /// name then. So what root unpacks lies where everybody can read it, if there is such a place.
    pub fn unpack(&self) -> anyhow::Result<Unpacked> {
        let own = cache_directory(
            env::var_os("XDG_CACHE_HOME").map(PathBuf::from),
            env::var_os("HOME").map(PathBuf::from),
        );
        let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
        let shared = is_root.then(|| PathBuf::from("/var/cache/foretrace"));
        let mut unpacked = None;
        for cache in own.into_iter().chain(shared) {
            let Ok(path) = self.unpack_below(&cache) else {
                continue;
            };
            let is_for_all = !is_root || everybody_can_read(&path);
            if is_for_all || unpacked.is_none() {
                unpacked = Some(path);
            }
            if is_for_all {
                break;
            }
        }
        if let Some(path) = unpacked {
            return Ok(Unpacked {
                path,
                _directory: None,
            });
        }
        let directory = tempfile::Builder::new()
            .prefix("foretrace-")
            .tempdir()
            .context("cannot make a temporary directory; set TMPDIR to one that can be written")?;
        let path = self.unpack_below(directory.path())?;
        Ok(Unpacked {
            path,
            _directory: Some(directory),
        })
    }

    /// Unpacks the file into `directory/HASH/NAME` unless it is there already, whole.
    fn unpack_below(&self, directory: &Path) -> anyhow::Result<PathBuf> {
        let directory = directory.join(self.hash);
        let path = directory.join(self.name);
        if fs::read(&path).is_ok_and(|there| there == self.bytes) {
            return Ok(path);
        }
        let context = || format!("cannot unpack {}", path.display());
        fs::create_dir_all(&directory).with_context(context)?;
        // Whatever the file mode creation mask says: these hold nothing else.
        for ours in directory.ancestors().take(2) {
            let _ = fs::set_permissions(ours, fs::Permissions::from_mode(0o755));
        }
        // Written beside and moved into place: another foretrace may be starting a program from it right now.
        let mut file = tempfile::NamedTempFile::new_in(&directory).with_context(context)?;
        file.write_all(self.bytes).with_context(context)?;
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o755))
            .with_context(context)?;
        file.persist(&path).with_context(context)?;
        Ok(path)
    }
}

/// Returns the directory for foretrace's files in the user's cache, where there is a usable one.
fn cache_directory(xdg: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    // The base directory specification says to ignore a relative path.
    let base = xdg
        .filter(|path| path.is_absolute())
        .or_else(|| Some(home.filter(|path| path.is_absolute())?.join(".cache")))?;
    preloadable(&base).then(|| base.join("foretrace"))
}

/// Returns whether every user can read a file.
fn everybody_can_read(path: &Path) -> bool {
    let allows = |path: &Path, bits: u32| {
        fs::metadata(path).is_ok_and(|there| there.permissions().mode() & bits == bits)
    };
    allows(path, 0o004) && path.ancestors().skip(1).all(|above| allows(above, 0o001))
}

/// Returns whether a file below this directory can be named in `LD_PRELOAD`, which separates names by colons and spaces
/// and expands dollar signs.
fn preloadable(directory: &Path) -> bool {
    !directory
        .as_os_str()
        .as_bytes()
        .iter()
        .any(|byte| matches!(byte, b':' | b'$') || byte.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_unpacked_once_and_mended_where_it_was_damaged() {
        let cache = tempfile::tempdir().expect("a temporary directory");
        let path = DEMO.unpack_below(cache.path()).expect("it is writable");
        assert_eq!(fs::read(&path).expect("it is there"), DEMO.bytes);
        fs::write(&path, "damaged").expect("it is ours");
        assert_eq!(DEMO.unpack_below(cache.path()).expect("writable"), path);
        assert_eq!(fs::read(&path).expect("it is there"), DEMO.bytes);
    }

    #[test]
    fn a_file_in_a_private_directory_is_not_for_everybody() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let set = |mode| fs::set_permissions(home.path(), fs::Permissions::from_mode(mode));
        let path = DEMO
            .unpack_below(&home.path().join("foretrace"))
            .expect("it is writable");
        set(0o700).expect("it is ours");
        assert!(!everybody_can_read(&path));
        set(0o711).expect("it is ours");
        let above = home.path().parent().expect("it lies in a directory");
        assert_eq!(everybody_can_read(&path), everybody_can_read_below(above));
    }

    fn everybody_can_read_below(directory: &Path) -> bool {
        directory.ancestors().all(|above| {
            fs::metadata(above).is_ok_and(|there| there.permissions().mode() & 0o001 != 0)
        })
    }

    #[test]
    fn the_cache_directory_follows_the_base_directory_specification() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(
            cache_directory(path("/x"), path("/h")),
            path("/x/foretrace")
        );
        assert_eq!(
            cache_directory(path("relative"), path("/h")),
            path("/h/.cache/foretrace")
        );
        assert_eq!(cache_directory(None, None), None);
    }

    #[test]
    fn a_directory_that_the_loader_would_split_is_not_used() {
        assert_eq!(cache_directory(None, Some(PathBuf::from("/my home"))), None);
        assert_eq!(cache_directory(Some(PathBuf::from("/a:b")), None), None);
    }
}
