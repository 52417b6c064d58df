//! From call sites to functions, files and lines.
//!
//! A trace names the places in a program by file and offset. [`SourceMap`] tells what stands there in the source: from the
//! files' DWARF, be it in them or in a separate debug file, else the function from the symbol table. Nothing here fails: what
//! cannot be told is left out, and [`SourceMap::notes`] says why, and what helps.
//!
//! ```
//! use foretrace_symbols::SourceMap;
//! use foretrace_trace::{CallSite, Module, ModuleId, SiteId, Trace};
//!
//! let trace = Trace {
//!     modules: vec![Module { path: "/opt/gone".to_owned(), build_id: None }],
//!     sites: vec![CallSite { module: ModuleId(0), offset: 0x1234, caller: None }],
//!     ..Trace::default()
//! };
//! let sources = SourceMap::new(&trace);
//! let place = sources.call(SiteId(0));
//! assert_eq!(place.name(), "gone+0x1234");
//! assert!(sources.notes()[0].starts_with("cannot read /opt/gone"));
//! ```
//!
//! Deliberately absent: fetching debug information from the network; packages of split DWARF (`.dwp`; `.dwo` files are read)
//! and the compressed symbols of `.gnu_debugdata`; unwinding, since a trace has the stacks; the sources themselves;
//! printing, and the environment.

mod debug_files;
mod image;
mod module;
mod names;
mod place;
mod symbol_table;

use std::{
    cell::OnceCell,
    path::{Path, PathBuf},
};

use foretrace_trace::{CallSite, Module, SiteId, Trace};

use crate::module::ResolvedModule;
pub use crate::place::{Frame, Place};

/// Where Linux distributions put separate debug files.
const DEBUG_DIRECTORY: &str = "/usr/lib/debug";

/// Returns a file's GNU build id in hexadecimal, where it is an ELF file that has one.
pub fn build_id(path: &Path) -> Option<String> {
    image::build_id(path).map(|id| image::hexadecimal(&id))
}

/// What stands in the source at the sites of a trace.
///
/// Files are read when a site in them is first asked for, and once.
#[derive(Debug)]
pub struct SourceMap {
    sites: Vec<CallSite>,
    calls: Vec<OnceCell<Place>>,
    routines: Vec<OnceCell<Place>>,
    files: Vec<Module>,
    modules: Vec<OnceCell<ResolvedModule>>,
    debug_directory: PathBuf,
    recorded_at: Option<u64>,
}

impl SourceMap {
    /// Prepares to look up the sites of a trace; reads nothing yet.
    pub fn new(trace: &Trace) -> Self {
        Self::with_debug_directory(trace, Path::new(DEBUG_DIRECTORY))
    }

    /// Does the same where separate debug files lie below another directory than `/usr/lib/debug`.
    pub fn with_debug_directory(trace: &Trace, debug_directory: &Path) -> Self {
        Self {
            sites: trace.sites.clone(),
            calls: vec![OnceCell::new(); trace.sites.len()],
            routines: vec![OnceCell::new(); trace.sites.len()],
            files: trace.modules.clone(),
            modules: trace.modules.iter().map(|_| OnceCell::new()).collect(),
            debug_directory: debug_directory.to_owned(),
            recorded_at: trace
                .recording
                .as_ref()
                .map(|recording| recording.started_unix_seconds),
        }
    }

    /// Returns the place of a call, whose site is the address after it.
    ///
    /// A call that ends its function may be compiled to a jump; what it returns to, and so its place, is its function's
    /// caller.
    ///
    /// # Panics
    ///
    /// When the site is of another trace.
    pub fn call(&self, site: SiteId) -> &Place {
        self.calls[site.index()].get_or_init(|| {
            let CallSite { offset, .. } = self.sites[site.index()];
            // The next instruction may belong to another line, or, after a call that never returns, to another function.
            self.look_up(site, offset.saturating_sub(1))
        })
    }

    /// Returns where the function at a call's site was called from, and so on outwards; nothing where no call stacks were
    /// recorded.
    ///
    /// # Panics
    ///
    /// When the site is of another trace.
    pub fn callers(&self, site: SiteId) -> impl Iterator<Item = &Place> {
        let outwards = |site: &SiteId| self.sites[site.index()].caller;
        std::iter::successors(outwards(&site), outwards).map(|caller| self.call(caller))
    }

    /// Returns the place of a routine, whose site is its first instruction.
    ///
    /// # Panics
    ///
    /// When the site is of another trace.
    pub fn routine(&self, site: SiteId) -> &Place {
        self.routines[site.index()].get_or_init(|| {
            let CallSite { offset, .. } = self.sites[site.index()];
            self.look_up(site, offset)
        })
    }

    fn look_up(&self, site: SiteId, file_offset: u64) -> Place {
        let CallSite { module, offset, .. } = self.sites[site.index()];
        let file = &self.files[module.index()];
        let resolved = self.modules[module.index()]
            .get_or_init(|| ResolvedModule::read(file, &self.debug_directory, self.recorded_at));
        Place {
            frames: resolved.frames(file_offset),
            module: file.path.clone(),
            offset,
        }
    }

    /// Returns what limits the answers given so far: files that are missing, changed, or without debug information. In the
    /// order of the trace's modules.
    pub fn notes(&self) -> Vec<String> {
        self.modules
            .iter()
            .filter_map(OnceCell::get)
            .flat_map(ResolvedModule::notes)
            .collect()
    }
}
