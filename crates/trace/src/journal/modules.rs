//! From addresses to places in files, through copies of `/proc/self/maps`.

use std::collections::HashMap;

use super::hash::FastMap;
use crate::{CallSite, Module, ModuleId, SiteId};

/// What was mapped at one moment.
pub(super) struct Snapshot {
    pub tsc: u64,
    pub text: Vec<u8>,
}

impl Snapshot {
    pub fn new(tsc: u64) -> Self {
        Self {
            tsc,
            text: Vec::new(),
        }
    }
}

/// A range of addresses that a file's code was mapped to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
    path: String,
}

/// The copies of one process, parsed, in the order of their times.
pub(super) struct AddressSpace {
    snapshots: Vec<(u64, Vec<Mapping>)>,
}

impl AddressSpace {
    pub fn new(snapshots: &[Snapshot]) -> Self {
        let mut snapshots: Vec<_> = snapshots
            .iter()
            .map(|snapshot| {
                (
                    snapshot.tsc,
                    parse(&String::from_utf8_lossy(&snapshot.text)),
                )
            })
            .collect();
        snapshots.sort_by_key(|&(tsc, _)| tsc);
        Self { snapshots }
    }

    /// Returns the newest copy of a moment, as a position; 0 if there is none so early.
    fn epoch(&self, tsc: u64) -> usize {
        self.snapshots
            .partition_point(|&(taken, _)| taken <= tsc)
            .saturating_sub(1)
    }

    /// Returns until when addresses mean what they mean at a moment.
    pub fn valid_until(&self, tsc: u64) -> u64 {
        let next = self.snapshots.partition_point(|&(taken, _)| taken <= tsc);
        self.snapshots
            .get(next)
            .map_or(u64::MAX, |&(taken, _)| taken)
    }

    /// Finds an address in the newest copy that was taken before, else in the first one after that has it: a library
    /// may have been opened between two copies.
    fn find(&self, address: u64, epoch: usize) -> Option<&Mapping> {
        let (before, after) = self
            .snapshots
            .split_at((epoch + 1).min(self.snapshots.len()));
        before
            .iter()
            .rev()
            .take(1)
            .chain(after)
            .find_map(|(_, mappings)| {
                mappings
                    .iter()
                    .find(|mapping| (mapping.start..mapping.end).contains(&address))
            })
    }
}

fn parse(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(parse_line).collect()
}

/// Parses `start-end permissions offset device inode path`, if code can run there and it has a name.
fn parse_line(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut field = || {
        let (first, others) = rest.split_once(' ')?;
        rest = others.trim_start();
        Some(first)
    };
    let (start, end) = field()?.split_once('-')?;
    let permissions = field()?;
    let offset = field()?;
    field()?;
    field()?;
    let executable = permissions.as_bytes().get(2) == Some(&b'x');
    (executable && !rest.is_empty()).then_some(())?;
    Some(Mapping {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        offset: u64::from_str_radix(offset, 16).ok()?,
        path: rest.to_owned(),
    })
}

/// The tables of modules and sites, each entry once.
#[derive(Default)]
pub(super) struct Sites {
    pub modules: Vec<Module>,
    pub table: Vec<CallSite>,
    module_ids: HashMap<String, ModuleId>,
    site_ids: HashMap<CallSite, SiteId>,
    known: FastMap<(usize, usize, u64, Option<SiteId>), Option<SiteId>>,
}

impl Sites {
    /// Returns the site of an address in a process at a moment, without callers.
    pub fn site(
        &mut self,
        process: usize,
        space: &AddressSpace,
        address: u64,
        tsc: u64,
    ) -> Option<SiteId> {
        self.called_from(None, process, space, address, tsc)
    }

    /// Returns the site of an address whose function was called from `caller`.
    pub fn called_from(
        &mut self,
        caller: Option<SiteId>,
        process: usize,
        space: &AddressSpace,
        address: u64,
        tsc: u64,
    ) -> Option<SiteId> {
        if address == 0 {
            return None;
        }
        let epoch = space.epoch(tsc);
        let key = (process, epoch, address, caller);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let site = space.find(address, epoch).map(|mapping| {
            let module = self.module(&mapping.path);
            self.intern(CallSite {
                module,
                offset: address - mapping.start + mapping.offset,
                caller,
            })
        });
        self.known.insert(key, site);
        site
    }

    fn module(&mut self, path: &str) -> ModuleId {
        if let Some(&id) = self.module_ids.get(path) {
            return id;
        }
        let id = ModuleId::from_index(self.modules.len());
        self.modules.push(Module {
            path: path.to_owned(),
            build_id: None,
        });
        self.module_ids.insert(path.to_owned(), id);
        id
    }

    fn intern(&mut self, site: CallSite) -> SiteId {
        let next = SiteId::from_index(self.table.len());
        let id = *self.site_ids.entry(site).or_insert(next);
        if id == next {
            self.table.push(site);
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0c0000000-55d0c0001000 r--p 00000000 fe:00 131 /opt/a program
55d0c0001000-55d0c0002000 r-xp 00001000 fe:00 131 /opt/a program
7f0000000000-7f0000001000 rw-p 00000000 00:00 0
7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          [vdso]
";

    #[test]
    fn only_named_code_is_kept_and_names_may_hold_spaces() {
        let paths: Vec<String> = parse(MAPS)
            .into_iter()
            .map(|mapping| mapping.path)
            .collect();
        assert_eq!(paths, ["/opt/a program", "[vdso]"]);
    }

    #[test]
    fn an_address_of_a_library_opened_later_is_found_in_the_later_copy() {
        let mut early = Snapshot::new(10);
        early.text = MAPS.as_bytes().to_vec();
        let mut late = Snapshot::new(20);
        late.text = b"7000-8000 r-xp 00002000 fe:00 7 /lib/late.so\n".to_vec();
        let space = AddressSpace::new(&[late, early]);
        let mut sites = Sites::default();
        let site = sites
            .site(0, &space, 0x7010, 15)
            .expect("it is in the later copy");
        assert_eq!(sites.table[site.index()].offset, 0x2010);
        assert_eq!(sites.modules[0].path, "/lib/late.so");
        assert_eq!(sites.site(0, &space, 0x9999, 15), None);
        let again = sites
            .site(0, &space, 0x55d0_c000_1004, 12)
            .expect("it is in the first copy");
        assert_eq!(sites.table[again.index()].offset, 0x1004);
    }
}
