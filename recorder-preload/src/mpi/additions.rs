//! Hooks of functions that not every library has: those that came with MPI 4, and those that count in 64 bits.
//!
//! They are not exported: programs that look whether a library has them would find ours. Instead, where the library has such a
//! function, the places are changed by which loaded objects call it.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use foretrace_trace::journal::mpi::FUNCTIONS;

use super::library;

/// Whether objects may have been loaded since the last look.
static OPENED: AtomicBool = AtomicBool::new(false);

/// Notes that an object is about to be loaded.
pub fn opening() {
    OPENED.store(true, Ordering::Relaxed);
}

/// Hooks what was loaded since the last look.
#[inline]
pub fn hook_in_opened() {
    if OPENED.load(Ordering::Relaxed) {
        hook();
    }
}

/// As [`hook`], where the program is linked to a library that has such functions.
pub fn hook_at_start() {
    let found = crate::next::find(libc::RTLD_DEFAULT, c"PMPI_Session_init".as_ptr());
    if !found.is_null() {
        hook();
    }
}

/// Changes the places by which loaded objects call the functions.
#[cold]
pub fn hook() {
    OPENED.store(false, Ordering::Relaxed);
    // SAFETY: the visitor fits.
    unsafe { crate::defined::visit_libraries(visit, core::ptr::null_mut()) };
}

unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    _data: *mut c_void,
) -> c_int {
    // SAFETY: the dynamic linker tells of an object that stays until we return.
    let object = unsafe { Object::of(&*info) };
    if let Some(object) = object {
        for table in object.tables {
            for relocation in table.relocations() {
                object.consider(relocation);
            }
        }
    }
    0
}

/// An entry of an object's dynamic section.
#[repr(C)]
struct Dynamic {
    tag: u64,
    value: usize,
}

/// A place that the dynamic linker fills in, and by what.
#[repr(C)]
#[derive(Clone, Copy)]
struct Relocation {
    offset: usize,
    info: u64,
    addend: i64,
}

/// A table of relocations.
#[derive(Clone, Copy, Default)]
struct Table {
    address: usize,
    bytes: usize,
}

impl Table {
    fn relocations(self) -> impl Iterator<Item = Relocation> {
        let count = if self.address == 0 {
            0
        } else {
            self.bytes / size_of::<Relocation>()
        };
        // SAFETY: the object's dynamic section says that so many are there.
        (0..count)
            .map(move |place| unsafe { (self.address as *const Relocation).add(place).read() })
    }
}

/// A loaded object.
struct Object {
    base: usize,
    /// From where to where it is mapped.
    begin: usize,
    end: usize,
    /// From where to where it may only be read once it is loaded.
    sealed: (usize, usize),
    symbols: usize,
    names: usize,
    tables: [Table; 2],
}

const DT_PLTRELSZ: u64 = 2;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_JMPREL: u64 = 23;

/// The least that the kernel protects.
const PAGE: usize = 4096;

/// Relocations whose place gets a symbol's address: `R_X86_64_64`, `R_X86_64_GLOB_DAT`, `R_X86_64_JUMP_SLOT`.
const ADDRESSES: [u32; 3] = [1, 6, 7];

impl Object {
    /// Reads what is said of an object; `None` where nothing is linked in it.
    ///
    /// # Safety
    ///
    /// It is loaded.
    unsafe fn of(info: &libc::dl_phdr_info) -> Option<Self> {
        let base = usize::try_from(info.dlpi_addr).ok()?;
        // SAFETY: by the caller's promise, as all reads below.
        let headers =
            unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let mut object = Self {
            base,
            begin: usize::MAX,
            end: 0,
            sealed: (0, 0),
            symbols: 0,
            names: 0,
            tables: [Table::default(); 2],
        };
        let mut dynamic = 0;
        for header in headers {
            let begin = base.wrapping_add(usize::try_from(header.p_vaddr).ok()?);
            let end = begin.wrapping_add(usize::try_from(header.p_memsz).ok()?);
            match header.p_type {
                libc::PT_LOAD => {
                    object.begin = object.begin.min(begin);
                    object.end = object.end.max(end);
                }
                libc::PT_DYNAMIC => dynamic = begin,
                libc::PT_GNU_RELRO => object.sealed = (begin, end),
                _ => {}
            }
        }
        if dynamic == 0 || object.contains(hook as *const () as usize) {
            return None;
        }
        // SAFETY: as above; the section ends with an entry of tag 0.
        unsafe { object.read_dynamic(dynamic) };
        (object.symbols != 0 && object.names != 0).then_some(object)
    }

    unsafe fn read_dynamic(&mut self, mut at: usize) {
        loop {
            // SAFETY: by the caller's promise.
            let entry = unsafe { &*(at as *const Dynamic) };
            // glibc has made most addresses absolute.
            let address = if entry.value < self.base {
                self.base.wrapping_add(entry.value)
            } else {
                entry.value
            };
            match entry.tag {
                0 => return,
                DT_PLTRELSZ => self.tables[0].bytes = entry.value,
                DT_JMPREL => self.tables[0].address = address,
                DT_RELASZ => self.tables[1].bytes = entry.value,
                DT_RELA => self.tables[1].address = address,
                DT_SYMTAB => self.symbols = address,
                DT_STRTAB => self.names = address,
                _ => {}
            }
            at += size_of::<Dynamic>();
        }
    }

    fn contains(&self, address: usize) -> bool {
        (self.begin..self.end).contains(&address)
    }

    /// Puts a hook into a place that is for one of the functions.
    fn consider(&self, relocation: Relocation) {
        let (kind, symbol) = (relocation.info as u32, (relocation.info >> 32) as usize);
        if symbol == 0 || !ADDRESSES.contains(&kind) || relocation.addend != 0 {
            return;
        }
        // SAFETY: the object's tables hold it, for as long as it is loaded.
        let name = unsafe {
            let symbol = (self.symbols as *const libc::Elf64_Sym).add(symbol);
            CStr::from_ptr((self.names as *const libc::c_char).add((*symbol).st_name as usize))
        };
        let name = name.to_bytes();
        let name = name.strip_prefix(b"P").unwrap_or(name);
        let Some(name) = name.strip_prefix(b"MPI_") else {
            return;
        };
        let of_name = |&&(position, _): &&(u16, unsafe extern "C-unwind" fn())| {
            FUNCTIONS[usize::from(position)].name.as_bytes() == name
        };
        let Some(&(position, hook)) = HOOKS.iter().find(of_name) else {
            return;
        };
        let Some(real) = library::function_of_library(position) else {
            return;
        };
        // What the library calls of its own stays as it is.
        if !self.contains(real) {
            self.put(self.base.wrapping_add(relocation.offset), hook as usize);
        }
    }

    fn put(&self, place: usize, hook: usize) {
        // SAFETY: an aligned word of the object's table of addresses, which other threads may read meanwhile.
        let slot = unsafe { &*(place as *const AtomicUsize) };
        if slot.load(Ordering::Relaxed) == hook {
            return;
        }
        let (begin, end) = self.sealed;
        let page = (place & !(PAGE - 1)) as *mut c_void;
        // The linker rounds down where the sealed part ends.
        let is_sealed = place >= begin && place < end & !(PAGE - 1);
        if is_sealed {
            // SAFETY: the page is the object's own data.
            let opened = unsafe { libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE) };
            if opened != 0 {
                return;
            }
        }
        slot.store(hook, Ordering::Relaxed);
        if is_sealed {
            // SAFETY: as above.
            unsafe { libc::mprotect(page, PAGE, libc::PROT_READ) };
        }
    }
}

super::unexported! {
    MPI_Isendrecv Isendrecv;
    MPI_Isendrecv_replace Isendrecv_replace;
    MPI_Barrier_init Barrier_init;
    MPI_Bcast_init Bcast_init;
    MPI_Gather_init Gather_init;
    MPI_Gatherv_init Gatherv_init;
    MPI_Scatter_init Scatter_init;
    MPI_Scatterv_init Scatterv_init;
    MPI_Allgather_init Allgather_init;
    MPI_Allgatherv_init Allgatherv_init;
    MPI_Alltoall_init Alltoall_init;
    MPI_Alltoallv_init Alltoallv_init;
    MPI_Alltoallw_init Alltoallw_init;
    MPI_Reduce_init Reduce_init;
    MPI_Allreduce_init Allreduce_init;
    MPI_Reduce_scatter_init Reduce_scatter_init;
    MPI_Reduce_scatter_block_init Reduce_scatter_block_init;
    MPI_Scan_init Scan_init;
    MPI_Exscan_init Exscan_init;
    MPI_Neighbor_allgather_init Neighbor_allgather_init;
    MPI_Neighbor_allgatherv_init Neighbor_allgatherv_init;
    MPI_Neighbor_alltoall_init Neighbor_alltoall_init;
    MPI_Neighbor_alltoallv_init Neighbor_alltoallv_init;
    MPI_Neighbor_alltoallw_init Neighbor_alltoallw_init;
    MPI_Comm_idup_with_info Comm_idup_with_info;
    MPI_Psend_init Psend_init;
    MPI_Precv_init Precv_init;
    MPI_Pready Pready;
    MPI_Pready_range Pready_range;
    MPI_Pready_list Pready_list;
    MPI_Parrived Parrived;
    MPI_Session_init Session_init;
    MPI_Session_finalize Session_finalize;
    MPI_Comm_create_from_group Comm_create_from_group;
    MPI_Intercomm_create_from_groups Intercomm_create_from_groups;
    MPI_Send_c Send_c;
    MPI_Bsend_c Bsend_c;
    MPI_Ssend_c Ssend_c;
    MPI_Rsend_c Rsend_c;
    MPI_Isend_c Isend_c;
    MPI_Ibsend_c Ibsend_c;
    MPI_Issend_c Issend_c;
    MPI_Irsend_c Irsend_c;
    MPI_Send_init_c Send_init_c;
    MPI_Bsend_init_c Bsend_init_c;
    MPI_Ssend_init_c Ssend_init_c;
    MPI_Rsend_init_c Rsend_init_c;
    MPI_Recv_c Recv_c;
    MPI_Irecv_c Irecv_c;
    MPI_Recv_init_c Recv_init_c;
    MPI_Sendrecv_c Sendrecv_c;
    MPI_Sendrecv_replace_c Sendrecv_replace_c;
    MPI_Mrecv_c Mrecv_c;
    MPI_Imrecv_c Imrecv_c;
    MPI_Bcast_c Bcast_c;
    MPI_Gather_c Gather_c;
    MPI_Gatherv_c Gatherv_c;
    MPI_Scatter_c Scatter_c;
    MPI_Scatterv_c Scatterv_c;
    MPI_Allgather_c Allgather_c;
    MPI_Allgatherv_c Allgatherv_c;
    MPI_Alltoall_c Alltoall_c;
    MPI_Alltoallv_c Alltoallv_c;
    MPI_Alltoallw_c Alltoallw_c;
    MPI_Reduce_c Reduce_c;
    MPI_Allreduce_c Allreduce_c;
    MPI_Reduce_scatter_c Reduce_scatter_c;
    MPI_Reduce_scatter_block_c Reduce_scatter_block_c;
    MPI_Scan_c Scan_c;
    MPI_Exscan_c Exscan_c;
    MPI_Ibcast_c Ibcast_c;
    MPI_Igather_c Igather_c;
    MPI_Igatherv_c Igatherv_c;
    MPI_Iscatter_c Iscatter_c;
    MPI_Iscatterv_c Iscatterv_c;
    MPI_Iallgather_c Iallgather_c;
    MPI_Iallgatherv_c Iallgatherv_c;
    MPI_Ialltoall_c Ialltoall_c;
    MPI_Ialltoallv_c Ialltoallv_c;
    MPI_Ialltoallw_c Ialltoallw_c;
    MPI_Ireduce_c Ireduce_c;
    MPI_Iallreduce_c Iallreduce_c;
    MPI_Ireduce_scatter_c Ireduce_scatter_c;
    MPI_Ireduce_scatter_block_c Ireduce_scatter_block_c;
    MPI_Iscan_c Iscan_c;
    MPI_Iexscan_c Iexscan_c;
    MPI_File_read_c File_read_c;
    MPI_File_read_all_c File_read_all_c;
    MPI_File_read_at_c File_read_at_c;
    MPI_File_read_at_all_c File_read_at_all_c;
    MPI_File_write_c File_write_c;
    MPI_File_write_all_c File_write_all_c;
    MPI_File_write_at_c File_write_at_c;
    MPI_File_write_at_all_c File_write_at_all_c;
    MPI_Win_create_c Win_create_c;
    MPI_Win_allocate_c Win_allocate_c;
    MPI_Win_allocate_shared_c Win_allocate_shared_c;
    MPI_Put_c Put_c;
    MPI_Get_c Get_c;
    MPI_Accumulate_c Accumulate_c;
    MPI_Get_accumulate_c Get_accumulate_c;
    MPI_Neighbor_allgather_c Neighbor_allgather_c;
    MPI_Ineighbor_allgather_c Ineighbor_allgather_c;
    MPI_Neighbor_allgatherv_c Neighbor_allgatherv_c;
    MPI_Ineighbor_allgatherv_c Ineighbor_allgatherv_c;
    MPI_Neighbor_alltoall_c Neighbor_alltoall_c;
    MPI_Ineighbor_alltoall_c Ineighbor_alltoall_c;
    MPI_Neighbor_alltoallv_c Neighbor_alltoallv_c;
    MPI_Ineighbor_alltoallv_c Ineighbor_alltoallv_c;
    MPI_Neighbor_alltoallw_c Neighbor_alltoallw_c;
    MPI_Ineighbor_alltoallw_c Ineighbor_alltoallw_c;
    MPI_File_iread_c File_iread_c;
    MPI_File_iwrite_c File_iwrite_c;
    MPI_File_read_shared_c File_read_shared_c;
    MPI_File_write_shared_c File_write_shared_c;
    MPI_File_iread_shared_c File_iread_shared_c;
    MPI_File_iwrite_shared_c File_iwrite_shared_c;
    MPI_File_read_ordered_c File_read_ordered_c;
    MPI_File_write_ordered_c File_write_ordered_c;
    MPI_File_iread_all_c File_iread_all_c;
    MPI_File_iwrite_all_c File_iwrite_all_c;
    MPI_File_iread_at_c File_iread_at_c;
    MPI_File_iwrite_at_c File_iwrite_at_c;
    MPI_File_iread_at_all_c File_iread_at_all_c;
    MPI_File_iwrite_at_all_c File_iwrite_at_all_c;
    MPI_File_read_all_begin_c File_read_all_begin_c;
    MPI_File_write_all_begin_c File_write_all_begin_c;
    MPI_File_read_ordered_begin_c File_read_ordered_begin_c;
    MPI_File_write_ordered_begin_c File_write_ordered_begin_c;
    MPI_File_read_at_all_begin_c File_read_at_all_begin_c;
    MPI_File_write_at_all_begin_c File_write_at_all_begin_c;
    MPI_Rput_c Rput_c;
    MPI_Rget_c Rget_c;
    MPI_Raccumulate_c Raccumulate_c;
    MPI_Rget_accumulate_c Rget_accumulate_c;
    MPI_Isendrecv_c Isendrecv_c;
    MPI_Isendrecv_replace_c Isendrecv_replace_c;
    MPI_Bcast_init_c Bcast_init_c;
    MPI_Gather_init_c Gather_init_c;
    MPI_Gatherv_init_c Gatherv_init_c;
    MPI_Scatter_init_c Scatter_init_c;
    MPI_Scatterv_init_c Scatterv_init_c;
    MPI_Allgather_init_c Allgather_init_c;
    MPI_Allgatherv_init_c Allgatherv_init_c;
    MPI_Alltoall_init_c Alltoall_init_c;
    MPI_Alltoallv_init_c Alltoallv_init_c;
    MPI_Alltoallw_init_c Alltoallw_init_c;
    MPI_Reduce_init_c Reduce_init_c;
    MPI_Allreduce_init_c Allreduce_init_c;
    MPI_Reduce_scatter_init_c Reduce_scatter_init_c;
    MPI_Reduce_scatter_block_init_c Reduce_scatter_block_init_c;
    MPI_Scan_init_c Scan_init_c;
    MPI_Exscan_init_c Exscan_init_c;
    MPI_Neighbor_allgather_init_c Neighbor_allgather_init_c;
    MPI_Neighbor_allgatherv_init_c Neighbor_allgatherv_init_c;
    MPI_Neighbor_alltoall_init_c Neighbor_alltoall_init_c;
    MPI_Neighbor_alltoallv_init_c Neighbor_alltoallv_init_c;
    MPI_Neighbor_alltoallw_init_c Neighbor_alltoallw_init_c;
}
