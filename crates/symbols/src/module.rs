//! A file with code, opened for lookups.

use std::{cell::Cell, fmt, fs, os::unix::fs::MetadataExt as _, path::Path, sync::Arc};

use addr2line::{Context, LookupContinuation as _, LookupResult, SplitDwarfLoad};
use gimli::{EndianArcSlice, Reader as _, RunTimeEndian};

use foretrace_trace::Module;

use crate::{
    debug_files,
    image::{self, Image, LoadedRange, OwnedDwarf},
    names,
    place::Frame,
    symbol_table::SymbolTable,
};

type Reader = EndianArcSlice<RunTimeEndian>;

/// A file with code, and what is known about it.
pub struct ResolvedModule {
    path: String,
    ranges: Vec<LoadedRange>,
    symbols: SymbolTable,
    context: Option<Context<Reader>>,
    notes: Vec<String>,
    /// Whether a place was asked for that the debug information does not cover.
    uncovered: Cell<bool>,
    /// Whether a place was asked for whose split DWARF is missing.
    missing_split: Cell<bool>,
}

impl fmt::Debug for ResolvedModule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // DWARF is no use in a debugger's window.
        formatter
            .debug_struct("ResolvedModule")
            .field("path", &self.path)
            .field("has_dwarf", &self.context.is_some())
            .field("notes", &self.notes)
            .finish_non_exhaustive()
    }
}

impl ResolvedModule {
    /// Opens the file, and its separate debug file where it has no debug information itself.
    pub fn read(file: &Module, debug_directory: &Path, recorded_at: Option<u64>) -> Self {
        let mut module = Self {
            path: file.path.clone(),
            ranges: Vec::new(),
            symbols: SymbolTable::default(),
            context: None,
            notes: Vec::new(),
            uncovered: Cell::new(false),
            missing_split: Cell::new(false),
        };
        // What the kernel maps without a file, such as [vdso], is not to be found anywhere.
        if file.path.starts_with('/') {
            module.open(file.build_id.as_deref(), debug_directory, recorded_at);
        }
        module
    }

    fn open(&mut self, recorded: Option<&str>, debug_directory: &Path, recorded_at: Option<u64>) {
        let path = self.path.clone();
        let file = Path::new(&path);
        let mut image = match Image::read(file) {
            Ok(image) => image,
            Err(error) => {
                self.notes.push(format!(
                    "cannot read {path}, so its functions and lines are not known: {error}"
                ));
                return;
            }
        };
        let build_id = image.build_id.as_deref().map(image::hexadecimal);
        match (recorded, build_id) {
            (Some(recorded), Some(found)) if recorded != found => {
                self.notes.push(format!(
                    "{path} is not the file that was recorded (its build id is {found}, that one's was {recorded}), so \
                     functions and lines are not known: record again, or put the old file back"
                ));
                return;
            }
            (Some(_), Some(_)) => {}
            _ if changed_since(file, recorded_at) => self.notes.push(format!(
                "{path} has changed since the recording, so its functions and lines may be wrong: record again"
            )),
            _ => {}
        }
        self.ranges = std::mem::take(&mut image.ranges);
        let mut symbols = std::mem::take(&mut image.symbols);
        let debug = match image.dwarf {
            Some(_) => Some(image),
            None => debug_files::find(file, &image, debug_directory),
        };
        if let Some(mut debug) = debug {
            symbols.append(&mut debug.symbols);
            self.attach(debug, debug_directory);
        } else {
            self.notes.push(format!(
                "no debug information in {path}: compile with -g, or install its -dbgsym package"
            ));
        }
        self.symbols = SymbolTable::new(symbols);
    }

    fn attach(&mut self, debug: Image, debug_directory: &Path) {
        let Some(mut dwarf) = debug.dwarf else {
            return;
        };
        if let Some(link) = &debug.supplement {
            match debug_files::find_supplement(&debug.path, link, debug_directory) {
                Some(Image {
                    dwarf: Some(supplement),
                    ..
                }) => dwarf.set_sup(supplement),
                _ => self.notes.push(format!(
                    "the debug information of {} is incomplete without {}",
                    self.path,
                    link.path.display()
                )),
            }
        }
        self.set_dwarf(dwarf);
    }

    fn set_dwarf(&mut self, dwarf: OwnedDwarf) {
        match Context::from_dwarf(dwarf) {
            Ok(context) => self.context = Some(context),
            Err(error) => self.notes.push(format!(
                "the debug information of {} is damaged: {error}",
                self.path
            )),
        }
    }

    /// Returns the functions at an offset in the file, the innermost first.
    pub fn frames(&self, file_offset: u64) -> Vec<Frame> {
        let Some(address) = image::address_of(&self.ranges, file_offset) else {
            return Vec::new();
        };
        let mut frames = self.dwarf_frames(address);
        if self.context.is_some() && frames.iter().all(|frame| frame.line.is_none()) {
            self.uncovered.set(true);
        }
        if frames.is_empty() {
            frames.push(Frame::default());
        }
        if let (Some(outermost), Some((symbol, distance))) =
            (frames.last_mut(), self.symbols.find(address))
        {
            complete(outermost, &names::demangled(symbol), distance);
        }
        frames.retain(|frame| *frame != Frame::default());
        frames
    }

    /// Returns the functions as the DWARF has them; damage ends the list.
    fn dwarf_frames(&self, address: u64) -> Vec<Frame> {
        let mut frames = Vec::new();
        let Some(context) = &self.context else {
            return frames;
        };
        let mut lookup = context.find_frames(address);
        let found = loop {
            match lookup {
                LookupResult::Output(found) => break found,
                LookupResult::Load { load, continuation } => {
                    lookup = continuation.resume(self.load_split(&load));
                }
            }
        };
        let Ok(mut found) = found else {
            return frames;
        };
        while let Ok(Some(frame)) = found.next() {
            let function = frame.function.as_ref();
            let location = frame.location.as_ref();
            frames.push(Frame {
                function: function
                    .and_then(|name| name.raw_name().ok())
                    .map(|name| names::demangled(&name)),
                offset: None,
                file: location
                    .and_then(|location| location.file)
                    .map(str::to_owned),
                line: location
                    .and_then(|location| location.line)
                    .filter(|&line| line > 0),
            });
        }
        frames
    }

    /// Reads the split DWARF of a unit. Lines are known without it, functions are not.
    fn load_split(&self, load: &SplitDwarfLoad<Reader>) -> Option<Arc<OwnedDwarf>> {
        let path = |reader: &Option<Reader>| {
            let bytes = reader.as_ref()?.to_slice().ok()?;
            Some(image::bytes_path(&bytes))
        };
        let directory = path(&load.comp_dir).unwrap_or_default();
        let file = directory.join(path(&load.path)?);
        let dwarf = image::read_split(&file, load.dwo_id, &load.parent);
        if dwarf.is_none() {
            self.missing_split.set(true);
        }
        dwarf.map(Arc::new)
    }

    /// Returns what limits the answers.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        if self.missing_split.get() {
            notes.push(format!(
                "a part of the debug information of {} is missing: keep the .dwo files, or compile without -gsplit-dwarf",
                self.path
            ));
        }
        if self.uncovered.get() {
            notes.push(format!(
                "the debug information of {} leaves out some of the calls: compile all of it with -g",
                self.path
            ));
        }
        notes
    }
}

/// Adds what the symbol table knows of the function that was really called.
fn complete(outermost: &mut Frame, symbol: &str, distance: u64) {
    match &outermost.function {
        // Code without a description of its functions, such as assembly, still has symbols.
        None => {
            outermost.function = Some(symbol.to_owned());
            outermost.offset = Some(distance);
        }
        // Tables of lines alone have a function's bare name.
        Some(name) if names::qualifies(symbol, name) => {
            outermost.function = Some(symbol.to_owned());
        }
        Some(_) => {}
    }
}

/// Returns whether a file was written after the recording began. A file that was replaced by an older one goes unnoticed.
fn changed_since(file: &Path, recorded_at: Option<u64>) -> bool {
    let modified = fs::metadata(file).map(|metadata| metadata.mtime());
    match (modified, recorded_at) {
        (Ok(modified), Some(recorded_at)) if recorded_at > 0 => {
            u64::try_from(modified).is_ok_and(|modified| modified > recorded_at)
        }
        _ => false,
    }
}
