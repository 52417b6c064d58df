//! Handles of objects that every program has.

use core::ffi::CStr;

/// A predefined object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predefined {
    /// `MPI_COMM_WORLD`
    CommWorld,
    /// `MPI_COMM_SELF`
    CommSelf,
    /// `MPI_COMM_NULL`
    CommNull,
    /// `MPI_GROUP_NULL`
    GroupNull,
    /// `MPI_GROUP_EMPTY`
    GroupEmpty,
    /// `MPI_REQUEST_NULL`
    RequestNull,
    /// `MPI_MESSAGE_NULL`
    MessageNull,
    /// `MPI_MESSAGE_NO_PROC`
    MessageNoProc,
    /// `MPI_WIN_NULL`
    WinNull,
    /// `MPI_FILE_NULL`
    FileNull,
    /// `MPI_INFO_NULL`
    InfoNull,
    /// `MPI_DATATYPE_NULL`
    DatatypeNull,
    /// `MPI_BYTE`
    Byte,
    /// `MPI_PACKED`
    Packed,
    /// `MPI_CHAR`
    Char,
    /// `MPI_INT`
    Int,
    /// `MPI_DOUBLE`
    Double,
    /// `MPI_OP_NULL`
    OpNull,
    /// `MPI_SUM`
    Sum,
    /// `MPI_MAX`
    Max,
    /// `MPI_ERRORS_ARE_FATAL`
    ErrorsAreFatal,
    /// `MPI_ERRORS_RETURN`
    ErrorsReturn,
}

/// A predefined object in each family.
pub(crate) struct Names {
    /// Open MPI: the symbol whose address is the handle.
    pub symbol: &'static CStr,
    /// MPICH: a number of 32 bits.
    pub mpich: usize,
    /// The standard ABI: an address in the page that nothing is ever mapped at.
    pub abi: usize,
}

impl Predefined {
    pub(crate) const fn names(self) -> Names {
        let (symbol, mpich, abi) = match self {
            Self::CommWorld => (c"ompi_mpi_comm_world", 0x4400_0000, 0x101),
            Self::CommSelf => (c"ompi_mpi_comm_self", 0x4400_0001, 0x102),
            Self::CommNull => (c"ompi_mpi_comm_null", 0x0400_0000, 0x100),
            Self::GroupNull => (c"ompi_mpi_group_null", 0x0800_0000, 0x108),
            Self::GroupEmpty => (c"ompi_mpi_group_empty", 0x4800_0000, 0x109),
            Self::RequestNull => (c"ompi_request_null", 0x2c00_0000, 0x180),
            Self::MessageNull => (c"ompi_message_null", 0x2c00_0000, 0x128),
            Self::MessageNoProc => (c"ompi_message_no_proc", 0x6c00_0000, 0x129),
            Self::WinNull => (c"ompi_mpi_win_null", 0x2000_0000, 0x110),
            Self::FileNull => (c"ompi_mpi_file_null", 0, 0x118),
            Self::InfoNull => (c"ompi_mpi_info_null", 0x1c00_0000, 0x130),
            Self::DatatypeNull => (c"ompi_mpi_datatype_null", 0x0c00_0000, 0x200),
            Self::Byte => (c"ompi_mpi_byte", 0x4c00_010d, 0x247),
            Self::Packed => (c"ompi_mpi_packed", 0x4c00_010f, 0x207),
            Self::Char => (c"ompi_mpi_char", 0x4c00_0101, 0x243),
            Self::Int => (c"ompi_mpi_int", 0x4c00_0405, 0x209),
            Self::Double => (c"ompi_mpi_double", 0x4c00_080b, 0x214),
            Self::OpNull => (c"ompi_mpi_op_null", 0x1800_0000, 0x20),
            Self::Sum => (c"ompi_mpi_op_sum", 0x5800_0003, 0x21),
            Self::Max => (c"ompi_mpi_op_max", 0x5800_0001, 0x23),
            Self::ErrorsAreFatal => (c"ompi_mpi_errors_are_fatal", 0x5400_0000, 0x141),
            Self::ErrorsReturn => (c"ompi_mpi_errors_return", 0x5400_0001, 0x142),
        };
        Names { symbol, mpich, abi }
    }
}
