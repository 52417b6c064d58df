//! What is needed of an ELF file.

use std::{
    fmt::{self, Write as _},
    fs::{self, File},
    io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use gimli::{Dwarf, DwoId, EndianArcSlice, RunTimeEndian, SectionId};
use object::{
    Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _, ReadCache,
    SegmentFlags, SymbolKind, elf,
};

use crate::symbol_table::Symbol;

/// DWARF that owns its bytes.
pub type OwnedDwarf = Dwarf<EndianArcSlice<RunTimeEndian>>;

type ElfFile<'data> = object::File<'data, &'data ReadCache<File>>;

/// Why a file is of no use.
#[derive(Debug)]
pub enum ImageError {
    /// It cannot be read.
    Read(io::Error),
    /// It is no ELF file, or damaged.
    Parse(object::Error),
}

impl fmt::Display for ImageError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(formatter),
            Self::Parse(error) => error.fmt(formatter),
        }
    }
}

impl From<object::Error> for ImageError {
    fn from(error: object::Error) -> Self {
        Self::Parse(error)
    }
}

/// A part of a file that the loader maps into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedRange {
    /// Where it lies in the file.
    pub file_offset: u64,
    /// How many bytes of the file it has.
    pub file_size: u64,
    /// The address that the file gives its first byte.
    pub address: u64,
    /// Whether code can run there.
    pub executable: bool,
}

/// Returns the address that the file itself gives the byte at an offset, which is what its symbols and its DWARF use.
pub fn address_of(ranges: &[LoadedRange], file_offset: u64) -> Option<u64> {
    let address = |executable: bool| {
        ranges
            .iter()
            .filter(|range| range.executable == executable)
            .find_map(|range| {
                let within = file_offset.checked_sub(range.file_offset)?;
                (within < range.file_size).then(|| range.address.wrapping_add(within))
            })
    };
    // Neighbouring ranges may share bytes of the file; what was called is code.
    address(true).or_else(|| address(false))
}

/// A link to another file with debug information.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugLink {
    /// The other file's name, or its path.
    pub path: PathBuf,
    /// What identifies it: for a supplementary file, its build id.
    pub identity: Identity,
}

/// What tells that a debug file is the right one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The CRC-32 of the whole file.
    Checksum(u32),
    /// The build id.
    BuildId(Vec<u8>),
}

/// What is needed of an ELF file.
#[derive(Debug)]
pub struct Image {
    /// Where it lies.
    pub path: PathBuf,
    /// The parts that are mapped.
    pub ranges: Vec<LoadedRange>,
    /// Its functions.
    pub symbols: Vec<Symbol>,
    /// Its build id.
    pub build_id: Option<Vec<u8>>,
    /// The debug file that it names (`.gnu_debuglink`).
    pub debug_link: Option<DebugLink>,
    /// The file with what its DWARF shares with other files' (`.gnu_debugaltlink`).
    pub supplement: Option<DebugLink>,
    /// Its DWARF, if it has any.
    pub dwarf: Option<OwnedDwarf>,
}

/// Reads a file's build id, and no more of it than that needs.
pub fn build_id(path: &Path) -> Option<Vec<u8>> {
    let cache = ReadCache::new(open_file(path).ok()?);
    let file = ElfFile::parse(&cache).ok()?;
    file.build_id().ok().flatten().map(<[u8]>::to_vec)
}

/// Writes bytes as hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

impl Image {
    /// Reads a file; of its sections only those that are needed.
    pub fn read(path: &Path) -> Result<Self, ImageError> {
        let file = open_file(path).map_err(ImageError::Read)?;
        let cache = ReadCache::new(file);
        let file = ElfFile::parse(&cache)?;
        // Damage outside the headers costs what is damaged only.
        let build_id = file.build_id().ok().flatten().map(<[u8]>::to_vec);
        let debug_link = file.gnu_debuglink().ok().flatten();
        let supplement = file.gnu_debugaltlink().ok().flatten();
        Ok(Self {
            path: path.to_owned(),
            ranges: loaded_ranges(&file),
            symbols: functions(&file),
            build_id,
            debug_link: debug_link.map(|(name, checksum)| DebugLink {
                path: bytes_path(name),
                identity: Identity::Checksum(checksum),
            }),
            supplement: supplement.map(|(name, build_id)| DebugLink {
                path: bytes_path(name),
                identity: Identity::BuildId(build_id.to_vec()),
            }),
            dwarf: has_dwarf(&file)
                .then(|| dwarf(&file, |id| Some(id.name())))
                .transpose()?,
        })
    }
}

/// Reads the part of a unit's DWARF that the compiler left beside the object file (`.dwo`); `None` where it is missing or
/// belongs to another build.
pub fn read_split(path: &Path, id: DwoId, parent: &OwnedDwarf) -> Option<OwnedDwarf> {
    let cache = ReadCache::new(open_file(path).ok()?);
    let file = ElfFile::parse(&cache).ok()?;
    let mut dwarf = dwarf(&file, SectionId::dwo_name).ok()?;
    let header = dwarf.units().next().ok()??;
    let is_it = dwarf.unit(header).ok()?.dwo_id == Some(id);
    dwarf.make_dwo(parent);
    is_it.then_some(dwarf)
}

/// Opens what is a file: a pipe in its place would keep us waiting.
fn open_file(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(io::Error::other("not a file"))
    }
}

/// Makes a path of a file's bytes.
pub fn bytes_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

fn loaded_ranges(file: &ElfFile<'_>) -> Vec<LoadedRange> {
    file.segments()
        .map(|segment| {
            let (file_offset, file_size) = segment.file_range();
            LoadedRange {
                file_offset,
                file_size,
                address: segment.address(),
                executable: matches!(
                    segment.flags(),
                    SegmentFlags::Elf { p_flags, .. } if p_flags.contains(elf::PF_X)
                ),
            }
        })
        .collect()
}

fn functions(file: &ElfFile<'_>) -> Vec<Symbol> {
    file.symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
        .filter_map(|symbol| {
            Some(Symbol {
                address: symbol.address(),
                size: symbol.size(),
                name: symbol
                    .name()
                    .ok()
                    .filter(|name| !name.is_empty())?
                    .to_owned(),
            })
        })
        .collect()
}

/// Returns whether there is DWARF in the file itself: what is left of a section in a stripped file has no bytes.
fn has_dwarf(file: &ElfFile<'_>) -> bool {
    file.section_by_name(".debug_info")
        .is_some_and(|section| section.file_range().is_some_and(|(_, size)| size > 0))
}

fn dwarf(
    file: &ElfFile<'_>,
    name_of: impl Fn(SectionId) -> Option<&'static str>,
) -> Result<OwnedDwarf, object::Error> {
    let endian = if file.is_little_endian() {
        RunTimeEndian::Little
    } else {
        RunTimeEndian::Big
    };
    Dwarf::load(|id: SectionId| {
        let section = name_of(id).and_then(|name| file.section_by_name(name));
        let bytes: Arc<[u8]> = match section {
            Some(section) => Arc::from(section.uncompressed_data()?.as_ref()),
            None => Arc::from([].as_slice()),
        };
        Ok(EndianArcSlice::new(bytes, endian))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(file_offset: u64, file_size: u64, address: u64, executable: bool) -> LoadedRange {
        LoadedRange {
            file_offset,
            file_size,
            address,
            executable,
        }
    }

    #[test]
    fn offsets_become_the_addresses_of_the_program_headers() {
        let ranges = [
            range(0, 0x800, 0x40_0000, false),
            range(0x800, 0x100, 0x40_1800, true),
        ];
        assert_eq!(address_of(&ranges, 0x10), Some(0x40_0010));
        assert_eq!(address_of(&ranges, 0x800), Some(0x40_1800));
        assert_eq!(address_of(&ranges, 0x8ff), Some(0x40_18ff));
        assert_eq!(address_of(&ranges, 0x900), None);
    }

    #[test]
    fn of_two_ranges_with_a_byte_the_one_with_code_counts() {
        let ranges = [
            range(0, 0x1000, 0, false),
            range(0x800, 0x100, 0x5800, true),
        ];
        assert_eq!(address_of(&ranges, 0x810), Some(0x5810));
    }

    #[test]
    fn what_is_no_elf_file_is_an_error_with_its_reason() {
        let text = tempfile::NamedTempFile::new().expect("temporary files can be made");
        std::fs::write(text.path(), "#!/bin/sh\n").expect("it is ours");
        let error = Image::read(text.path()).expect_err("a script has no ELF header");
        assert!(matches!(error, ImageError::Parse(_)), "{error}");
        let error = Image::read(Path::new("/nowhere")).expect_err("there is no such file");
        assert!(matches!(error, ImageError::Read(_)), "{error}");
    }
}
