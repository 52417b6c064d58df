//! What differs between implementations of MPI, for callers that were built without their `mpi.h`: handles, special ranks and
//! tags, special addresses, and where things are in a status.
//!
//! MPI leaves these to the implementation, so that three families of them are around. Which one a loaded library belongs to
//! is found at run time ([`Family::detect`]); what is defined then follows from it. Every argument of an MPI function is an
//! `int` or a pointer, so that handles are passed as `usize` whatever the family.
//!
//! ```
//! use foretrace_mpi::{Family, Predefined};
//!
//! // In a library whose symbols tell that it is MPICH:
//! let lookup = |_: &core::ffi::CStr| 0;
//! let family = Family::detect(lookup, |_| None);
//! assert_eq!(family, Family::Mpich);
//! assert_eq!(family.handle(Predefined::CommWorld, lookup), 0x4400_0000);
//! assert_eq!(family.any_source(), -2);
//! ```
//!
//! Deliberately absent: calls of MPI, loading of libraries, allocation, the standard library, and `unsafe`: the recorder's
//! preloaded library links this.
//!
//! # Source
//!
//! `mpi.h` of Open MPI 4.1.4 (the same in 5.0), `mpi.h` of MPICH 4.0.2 (the same in 5.0, Intel MPI and MVAPICH), and the
//! standard ABI of MPI 5.0, chapter 20, with the MPI Forum's `mpi-abi-stubs`.

#![no_std]

mod predefined;
mod status;

use core::ffi::CStr;

pub use {
    predefined::Predefined,
    status::{MOST_STATUS_BYTES, StatusLayout},
};

/// The names that libraries of MPI go by when they are loaded: where several could be, the earlier is more likely meant.
///
/// Debian renames MPICH's `libmpi.so.12`, since Open MPI has a `libmpi.so` too.
pub const LIBRARIES: [(&CStr, Family); 6] = [
    (c"libmpi.so.40", Family::OpenMpi),
    (c"libmpich.so.12", Family::Mpich),
    (c"libmpi.so.12", Family::Mpich),
    (c"libmpi_abi.so.1", Family::Abi),
    (c"libmpi_abi.so.0", Family::Abi),
    (c"libmpi_abi.so", Family::Abi),
];

/// How the names of libraries begin that pass messages: those of MPI itself, and those that they do it by.
const PARTS: [&str; 10] = [
    "libmpi.",
    "libmpi_",
    "libmpich",
    "libopen-pal.",
    "libopen-rte.",
    "libucp.",
    "libucs.",
    "libuct.",
    "libfabric.",
    "mca_",
];

/// Returns whether the file of this name, without directories, is of a library that passes messages. Such look again and again while they
/// wait.
#[must_use]
pub fn passes_messages(file: &str) -> bool {
    PARTS.iter().any(|part| file.starts_with(part))
}

/// As many bytes as `MPI_Get_library_version` writes at most, in any family.
pub const MOST_VERSION_BYTES: usize = 8_192;

/// As many bytes as `MPI_Error_string` writes at most, in any family.
pub const MOST_ERROR_BYTES: usize = 512;

/// What functions return that succeeded, in every family.
pub const SUCCESS: i32 = 0;

/// `MPI_UNDEFINED`, in every family.
pub const UNDEFINED: i32 = -32_766;

/// Which ranks of a communicator are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Those next to each other in a grid.
    Cartesian,
    /// Those that a graph says, which all ranks know.
    Graph,
    /// Those that a graph says of which each rank knows its part.
    DistributedGraph,
}

/// Implementations that share constants and layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Open MPI.
    OpenMpi,
    /// MPICH and what descends from it: Intel MPI, MVAPICH, Cray MPICH.
    Mpich,
    /// Any implementation, through the standard ABI of MPI 5.
    Abi,
}

impl Family {
    /// Tells the family of a loaded library.
    ///
    /// `lookup` finds symbols, 0 for those that are not there. It must search as programs are linked (`RTLD_DEFAULT`): an
    /// executable may hold a copy of the library's data. `abi_major` calls `MPI_Abi_get_version` at the address that it is
    /// given, and returns the major number that it tells.
    pub fn detect(
        lookup: impl Fn(&CStr) -> usize,
        abi_major: impl FnOnce(usize) -> Option<i32>,
    ) -> Self {
        let version = lookup(c"PMPI_Abi_get_version");
        // Libraries with an ABI of their own have the function, too, and answer -1.
        if version != 0 && abi_major(version).is_some_and(|major| major >= 1) {
            Self::Abi
        } else if lookup(c"ompi_mpi_comm_world") != 0 {
            Self::OpenMpi
        } else {
            Self::Mpich
        }
    }

    /// Returns what it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "Open MPI",
            Self::Mpich => "MPICH",
            Self::Abi => "the MPI 5 ABI",
        }
    }

    /// Returns how many bytes a handle in memory has, as in an array of requests; files excepted, whose handles are addresses
    /// everywhere.
    pub const fn handle_bytes(self) -> usize {
        match self {
            Self::OpenMpi | Self::Abi => 8,
            Self::Mpich => 4,
        }
    }

    /// Returns a handle that was passed as an argument: of narrow ones, the rest of the register says nothing.
    pub const fn argument(self, word: usize) -> usize {
        match self {
            Self::OpenMpi | Self::Abi => word,
            Self::Mpich => word & 0xffff_ffff,
        }
    }

    /// Returns the handle of a predefined object; 0 where it is a symbol that is not there.
    pub fn handle(self, object: Predefined, lookup: impl Fn(&CStr) -> usize) -> usize {
        let names = object.names();
        match self {
            Self::OpenMpi => lookup(names.symbol),
            Self::Mpich => names.mpich,
            Self::Abi => names.abi,
        }
    }

    /// Returns `MPI_COMM_WORLD`; as [`Self::handle`].
    pub fn comm_world(self, lookup: impl Fn(&CStr) -> usize) -> usize {
        self.handle(Predefined::CommWorld, lookup)
    }

    /// Returns `MPI_COMM_NULL`; as [`Self::handle`].
    pub fn comm_null(self, lookup: impl Fn(&CStr) -> usize) -> usize {
        self.handle(Predefined::CommNull, lookup)
    }

    /// Returns `MPI_REQUEST_NULL`; as [`Self::handle`].
    pub fn request_null(self, lookup: impl Fn(&CStr) -> usize) -> usize {
        self.handle(Predefined::RequestNull, lookup)
    }

    /// Returns `MPI_BYTE`; as [`Self::handle`].
    pub fn byte(self, lookup: impl Fn(&CStr) -> usize) -> usize {
        self.handle(Predefined::Byte, lookup)
    }

    /// Returns `MPI_ANY_SOURCE`.
    pub const fn any_source(self) -> i32 {
        match self {
            Self::OpenMpi | Self::Abi => -1,
            Self::Mpich => -2,
        }
    }

    /// Returns `MPI_ANY_TAG`.
    pub const fn any_tag(self) -> i32 {
        match self {
            Self::OpenMpi | Self::Mpich => -1,
            Self::Abi => -2,
        }
    }

    /// Returns `MPI_PROC_NULL`.
    pub const fn proc_null(self) -> i32 {
        match self {
            Self::OpenMpi => -2,
            Self::Mpich => -1,
            Self::Abi => -3,
        }
    }

    /// Returns `MPI_ROOT`.
    pub const fn root(self) -> i32 {
        match self {
            Self::OpenMpi | Self::Abi => -4,
            Self::Mpich => -3,
        }
    }

    /// Returns `MPI_STATUS_IGNORE`, which is `MPI_STATUSES_IGNORE` too.
    pub const fn status_ignore(self) -> usize {
        match self {
            Self::OpenMpi | Self::Abi => 0,
            Self::Mpich => 1,
        }
    }

    /// Returns `MPI_IN_PLACE`.
    pub const fn in_place(self) -> usize {
        match self {
            Self::OpenMpi | Self::Abi => 1,
            Self::Mpich => usize::MAX,
        }
    }

    /// Returns `MPI_ERR_IN_STATUS`: of several requests, some failed, and their statuses tell which.
    pub const fn error_in_status(self) -> i32 {
        match self {
            Self::OpenMpi => 18,
            Self::Mpich => 17,
            Self::Abi => 19,
        }
    }

    /// Returns `MPI_THREAD_SINGLE`, `FUNNELED`, `SERIALIZED` and `MULTIPLE`.
    pub const fn thread_levels(self) -> [i32; 4] {
        match self {
            Self::OpenMpi | Self::Mpich => [0, 1, 2, 3],
            Self::Abi => [0, 1_024, 2_048, 4_096],
        }
    }

    /// Returns what `MPI_Topo_test` told; `None` where ranks are not neighbours.
    pub const fn topology(self, told: i32) -> Option<Topology> {
        use Topology::{Cartesian, DistributedGraph, Graph};
        match (self, told) {
            (Self::OpenMpi, 1) | (Self::Mpich, 2) | (Self::Abi, 211) => Some(Cartesian),
            (Self::OpenMpi, 2) | (Self::Mpich, 1) | (Self::Abi, 212) => Some(Graph),
            (Self::OpenMpi | Self::Mpich, 3) | (Self::Abi, 213) => Some(DistributedGraph),
            _ => None,
        }
    }

    /// Returns where things are in a status.
    pub const fn status(self) -> StatusLayout {
        StatusLayout::of(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_family_follows_from_the_symbols_that_a_library_has() {
        let open_mpi = |name: &CStr| usize::from(name == c"ompi_mpi_comm_world") * 0x7000;
        assert_eq!(Family::detect(open_mpi, |_| None), Family::OpenMpi);
        assert_eq!(Family::detect(|_| 0, |_| Some(1)), Family::Mpich);
        let both = |_: &CStr| 0x7000;
        assert_eq!(Family::detect(both, |_| Some(1)), Family::Abi);
        // A library with handles of its own tells that it has no ABI.
        assert_eq!(Family::detect(both, |_| Some(-1)), Family::OpenMpi);
    }

    #[test]
    fn handles_are_addresses_or_numbers() {
        let lookup = |name: &CStr| usize::from(name == c"ompi_mpi_byte") * 0x7000;
        assert_eq!(Family::OpenMpi.byte(lookup), 0x7000);
        assert_eq!(Family::OpenMpi.comm_world(lookup), 0);
        assert_eq!(Family::Mpich.byte(lookup), 0x4c00_010d);
        assert_eq!(Family::Abi.request_null(lookup), 0x180);
        let word = 0xffff_ffff_4400_0000_u64 as usize;
        assert_eq!(Family::Mpich.argument(word), 0x4400_0000);
        assert_eq!(Family::Abi.argument(word), word);
    }

    #[test]
    fn every_topology_has_a_number_of_its_own() {
        for (family, numbers) in [
            (Family::OpenMpi, [1, 2, 3]),
            (Family::Mpich, [2, 1, 3]),
            (Family::Abi, [211, 212, 213]),
        ] {
            let told = numbers.map(|number| family.topology(number));
            let all = [
                Topology::Cartesian,
                Topology::Graph,
                Topology::DistributedGraph,
            ];
            assert_eq!(told, all.map(Some), "{family:?}");
            assert_eq!(family.topology(UNDEFINED), None);
        }
    }

    #[test]
    fn special_ranks_of_a_family_are_told_apart() {
        for family in [Family::OpenMpi, Family::Mpich, Family::Abi] {
            let ranks = [
                family.any_source(),
                family.proc_null(),
                family.root(),
                UNDEFINED,
            ];
            for (at, rank) in ranks.iter().enumerate() {
                assert!(*rank < 0 && !ranks[..at].contains(rank), "{family:?}");
            }
            assert!(family.status().bytes <= MOST_STATUS_BYTES);
        }
    }
}
