//! What files say of each CPU: which others are in its core, share its caches, are in its socket.

use crate::cpu_files::{CpuFile, mask, range};
use crate::memory_file::MemoryFile;

/// What a file of `/sys/devices/system/cpu/cpuK` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// A list of CPUs: this one alone.
    OwnList,
    /// A mask of CPUs: this one alone.
    OwnMask,
    /// A list of CPUs: all.
    AllList,
    /// A mask of CPUs: all.
    AllMask,
    /// Its own number.
    Number,
    /// That of the first of what all are in.
    First,
}

impl Topology {
    /// The files' names: each CPU is a core with caches of its own, but for the last, and all are in one socket.
    const FILES: [(&'static [u8], Self); 26] = [
        (b"topology/thread_siblings_list", Self::OwnList),
        (b"topology/thread_siblings", Self::OwnMask),
        (b"topology/core_cpus_list", Self::OwnList),
        (b"topology/core_cpus", Self::OwnMask),
        (b"topology/cluster_cpus_list", Self::OwnList),
        (b"topology/cluster_cpus", Self::OwnMask),
        (b"topology/core_siblings_list", Self::AllList),
        (b"topology/core_siblings", Self::AllMask),
        (b"topology/package_cpus_list", Self::AllList),
        (b"topology/package_cpus", Self::AllMask),
        (b"topology/die_cpus_list", Self::AllList),
        (b"topology/die_cpus", Self::AllMask),
        (b"topology/core_id", Self::Number),
        (b"topology/physical_package_id", Self::First),
        (b"cache/index0/shared_cpu_list", Self::OwnList),
        (b"cache/index0/shared_cpu_map", Self::OwnMask),
        (b"cache/index1/shared_cpu_list", Self::OwnList),
        (b"cache/index1/shared_cpu_map", Self::OwnMask),
        (b"cache/index2/shared_cpu_list", Self::OwnList),
        (b"cache/index2/shared_cpu_map", Self::OwnMask),
        (b"cache/index3/shared_cpu_list", Self::AllList),
        (b"cache/index3/shared_cpu_map", Self::AllMask),
        (b"cache/index0/id", Self::Number),
        (b"cache/index1/id", Self::Number),
        (b"cache/index2/id", Self::Number),
        (b"cache/index3/id", Self::First),
    ];

    /// Tells such a file, or another of a CPU's, by the path below `/sys/devices/system/cpu/`.
    pub(crate) fn recognize(path: &[u8]) -> Option<CpuFile> {
        let path = path.strip_prefix(b"cpu")?;
        let digits = path.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = path.split_at(digits);
        let cpu = core::str::from_utf8(number).ok()?.parse().ok()?;
        let file = match rest {
            [] => return Some(CpuFile::OfCpu(cpu)),
            [b'/', file @ ..] => file,
            _ => return None,
        };
        let known = Self::FILES.iter().find(|(name, _)| *name == file);
        Some(known.map_or(CpuFile::OfCpu(cpu), |&(_, topology)| {
            CpuFile::Topology(topology, cpu)
        }))
    }

    pub(crate) fn write(self, cpu: u32, cpus: u32, out: &mut MemoryFile) {
        match self {
            Self::OwnList | Self::Number => out.number(cpu),
            Self::OwnMask => mask(cpus, |other| other == cpu, out),
            Self::AllList => range(0, cpus - 1, out),
            Self::AllMask => mask(cpus, |_| true, out),
            Self::First => out.put(b'0'),
        }
        out.put(b'\n');
    }
}
