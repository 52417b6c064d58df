//! Where separate debug information lies, and whether it is the right one.

use std::{
    ffi::OsStr,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use crate::image::{DebugLink, Identity, Image, hexadecimal};

/// Finds and reads the separate debug file of a module, if there is one with DWARF in it.
pub fn find(path: &Path, module: &Image, debug_directory: &Path) -> Option<Image> {
    let by_build_id = module
        .build_id
        .iter()
        .map(|id| build_id_path(id, debug_directory));
    let by_link = module
        .debug_link
        .iter()
        .flat_map(|link| link_paths(path, &link.path, debug_directory));
    by_build_id
        .chain(by_link)
        .find_map(|candidate| read_matching(&candidate, module))
}

/// Finds and reads the file that a debug file's DWARF refers to for what it shares with others.
pub fn find_supplement(path: &Path, link: &DebugLink, debug_directory: &Path) -> Option<Image> {
    let Identity::BuildId(build_id) = &link.identity else {
        return None;
    };
    // Relative paths begin at the directory of the file that has them; joining keeps absolute ones.
    let named = path.parent()?.join(&link.path);
    [named, build_id_path(build_id, debug_directory)]
        .iter()
        .filter_map(|candidate| Image::read(candidate).ok())
        .find(|image| image.build_id.as_ref() == Some(build_id) && image.dwarf.is_some())
}

fn read_matching(candidate: &Path, module: &Image) -> Option<Image> {
    let image = Image::read(candidate).ok()?;
    image.dwarf.as_ref()?;
    let matches = match (&module.build_id, &image.build_id, &module.debug_link) {
        (Some(wanted), Some(found), _) => wanted == found,
        (_, _, Some(link)) => match link.identity {
            Identity::Checksum(checksum) => file_checksum(candidate)? == checksum,
            Identity::BuildId(_) => false,
        },
        _ => false,
    };
    matches.then_some(image)
}

/// Returns `.build-id/xx/yyyy.debug` below the debug directory.
fn build_id_path(build_id: &[u8], debug_directory: &Path) -> PathBuf {
    let hex = hexadecimal(build_id);
    let (first, rest) = hex.split_at(hex.len().min(2));
    debug_directory
        .join(".build-id")
        .join(first)
        .join(format!("{rest}.debug"))
}

/// Returns where the file that `.gnu_debuglink` names may lie, as GDB looks for it.
fn link_paths(module: &Path, link: &Path, debug_directory: &Path) -> Vec<PathBuf> {
    // A link is a name; a path in it could lead anywhere.
    let name = link.file_name().unwrap_or(OsStr::new(""));
    let directory = module.parent().unwrap_or(Path::new("/"));
    let below_debug = debug_directory.join(directory.strip_prefix("/").unwrap_or(directory));
    [
        directory.join(name),
        directory.join(".debug").join(name),
        below_debug.join(name),
    ]
    .into_iter()
    .filter(|candidate| candidate != module)
    .collect()
}

fn file_checksum(path: &Path) -> Option<u32> {
    let mut file = fs::File::open(path).ok()?;
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(hasher.finalize()),
            length => hasher.update(&buffer[..length]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_files_are_named_by_build_id() {
        let path = build_id_path(&[0xab, 0xcd, 0x01], Path::new("/usr/lib/debug"));
        assert_eq!(path, Path::new("/usr/lib/debug/.build-id/ab/cd01.debug"));
        // An id that is too short to be one leads nowhere, but not astray.
        assert_eq!(
            build_id_path(&[], Path::new("/d")),
            Path::new("/d/.build-id/.debug")
        );
    }

    #[test]
    fn linked_debug_files_are_sought_beside_the_file_and_below_the_debug_directory() {
        let found = link_paths(
            Path::new("/usr/bin/pigz"),
            Path::new("pigz.debug"),
            Path::new("/usr/lib/debug"),
        );
        let wanted = [
            "/usr/bin/pigz.debug",
            "/usr/bin/.debug/pigz.debug",
            "/usr/lib/debug/usr/bin/pigz.debug",
        ];
        assert_eq!(found, wanted.map(PathBuf::from));
    }

    #[test]
    fn a_file_that_links_to_itself_is_not_its_own_debug_file() {
        let found = link_paths(Path::new("/bin/a"), Path::new("a"), Path::new("/d"));
        assert!(!found.contains(&PathBuf::from("/bin/a")));
    }
}
