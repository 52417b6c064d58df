//! The journal's file: its name, its header, and space in it.
//!
//! The program under recording may close every file it finds, lower its limits, fill the disk or change its root. So
//! the file's number is a high one, checked before each use, and failing to get space ends the recording, never the
//! program. Where the program may have few files, none of its numbers is kept: the file is opened for each use. And it never has, not
//! even for a moment, a number of the standard streams, which the program writes to whether or not they are open.

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::fmt::Write as _;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering};

use foretrace_trace::journal::layout::{
    self, CHUNK_MAGIC, ChunkHeader, Header, MAGIC, PAGE_BYTES, VERSION,
};

use crate::sys::{self, Errno, Fd};
use crate::{chunk, clock, process};

/// The longest path of a journal, its NUL included.
const PATH_BYTES: usize = 4096;

/// File numbers below this are left to the program where its limit allows.
const PREFERRED_FD: u64 = 1000;

/// Where the program's limit allows no more files than these, all are left to it.
const FEW_FILES: u64 = 64;

static HEADER: AtomicPtr<Header> = AtomicPtr::new(core::ptr::null_mut());
static FD: AtomicI32 = AtomicI32::new(-1);
static DEVICE: AtomicU64 = AtomicU64::new(0);
static INODE: AtomicU64 = AtomicU64::new(0);
static PATH: PathBuffer = PathBuffer(UnsafeCell::new([0; PATH_BYTES]));

/// The journal's path; written only while the process has one thread, or none that records.
struct PathBuffer(UnsafeCell<[u8; PATH_BYTES]>);

// SAFETY: written by `create` alone, which runs before any thread records; read afterwards.
unsafe impl Sync for PathBuffer {}

/// Formats into a fixed buffer; too much is an error.
struct Text<'a> {
    buffer: &'a mut [u8],
    length: usize,
}

impl Text<'_> {
    fn write_bytes(&mut self, bytes: &[u8]) -> core::fmt::Result {
        let end = self.length + bytes.len();
        let place = self
            .buffer
            .get_mut(self.length..end)
            .ok_or(core::fmt::Error)?;
        place.copy_from_slice(bytes);
        self.length = end;
        Ok(())
    }
}

impl core::fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.write_bytes(text.as_bytes())
    }
}

/// Returns the header of this process's journal, once there is one.
pub(crate) fn header() -> Option<&'static Header> {
    // SAFETY: null or a mapping that is never undone, made of atomics.
    unsafe { HEADER.load(Ordering::Acquire).as_ref() }
}

/// What a new journal says about its process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth {
    /// The clock chosen.
    pub clock: u32,
    /// The CPUs that the program is made to believe in, or 0.
    pub pretended_cpus: u32,
    /// The `FLAG_` constants that apply from the start.
    pub flags: u64,
    /// The journal's header of the process that this one is a copy of, and which runs the same program.
    pub parent: Option<&'static Header>,
}

/// Makes this process's journal in a directory. Nobody may be recording yet.
pub(crate) fn create(directory: &CStr, birth: Birth) -> Result<&'static Header, Errno> {
    if process::confined() {
        return Err(libc::EPERM);
    }
    let start_ticks = start_ticks().unwrap_or(0);
    let (fd, predecessors) = open_fresh(directory, start_ticks)?;
    let room = PAGE_BYTES + chunk::first_of_process();
    // What a program is begun with is never much; but it may begin others again and again.
    let is_first = predecessors == 0 && birth.parent.is_none();
    let is_room = if is_first {
        Ok(())
    } else {
        leave_room(fd, room)
    };
    let made = is_room.and_then(|()| begin(fd, room));
    let (fd, kept) = keep_apart(fd);
    let (header, stat) = made.inspect_err(|_| sys::close(fd))?;
    if !kept {
        sys::close(fd);
    }
    fill_program(header, birth.parent);
    // SAFETY: a page, zeroed and aligned, mapped just now and never unmapped; the path is filled in already.
    let header: &'static Header = unsafe { &*header };
    fill(header, birth, start_ticks, predecessors);
    // The first chunk's room was made with the header's.
    header
        .room_start
        .store(PAGE_BYTES as u64, Ordering::Relaxed);
    header.room_end.store(room as u64, Ordering::Relaxed);
    header.room_claimed.store(room as u64, Ordering::Relaxed);
    DEVICE.store(stat.st_dev, Ordering::Relaxed);
    INODE.store(stat.st_ino, Ordering::Relaxed);
    FD.store(if kept { fd.0 } else { -1 }, Ordering::Relaxed);
    HEADER.store(core::ptr::from_ref(header).cast_mut(), Ordering::Release);
    Ok(header)
}

/// Makes room in a new journal, and maps its header.
fn begin(fd: Fd, room: usize) -> Result<(*mut Header, libc::stat), Errno> {
    let stat = sys::stat(fd)?;
    sys::let_owner_in(fd, &stat)?;
    sys::allocate(fd, 0, room)?;
    let header = sys::map_shared(fd, 0, PAGE_BYTES, false)?;
    Ok((header.cast(), stat))
}

/// Moves the open file out of the program's way. Returns its number, and whether it is to stay open.
fn keep_apart(fd: Fd) -> (Fd, bool) {
    let limit = sys::soft_limit(libc::RLIMIT_NOFILE);
    if limit <= FEW_FILES {
        return (fd, false);
    }
    (sys::move_up(fd, PREFERRED_FD.min(limit - 8) as i32), true)
}

/// Maps another file of the journals' directory, of so many bytes, shared by all processes that do so; `None` where it cannot be had.
pub(crate) fn map_beside(name: &CStr, flags: i32, bytes: usize) -> Option<*mut u8> {
    // Whoever calls this may have a small stack, on which a path has no room.
    let _streams = sys::occupy_streams().ok()?;
    let look = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    let directory = sys::open(process::directory(), look, 0).ok()?;
    let fd = sys::open_below(directory, name, flags, 0o600);
    sys::close(directory);
    let fd = fd.ok()?;
    let stat = sys::stat(fd);
    if let Ok(stat) = &stat {
        // Of one that others made they did so.
        let _ = sys::let_owner_in(fd, stat);
    }
    // What has its room already is in use: making room is writing zeros.
    let has_room = stat.is_ok_and(|stat| stat.st_size >= bytes as i64);
    let room = if has_room {
        Ok(())
    } else {
        sys::allocate(fd, 0, bytes)
    };
    let mapped = room.and_then(|()| sys::map_shared(fd, 0, bytes, false));
    sys::close(fd);
    mapped.ok()
}

/// Lets go of the journal that a forked child inherited; it goes on being the parent's.
pub(crate) fn abandon() {
    HEADER.store(core::ptr::null_mut(), Ordering::Release);
    let fd = Fd(FD.swap(-1, Ordering::Relaxed));
    if is_ours(fd) {
        sys::close(fd);
    }
}

/// Lets go of it without a system call: the file stays open.
pub(crate) fn forget() {
    HEADER.store(core::ptr::null_mut(), Ordering::Release);
    FD.store(-1, Ordering::Relaxed);
}

fn open_fresh(directory: &CStr, start_ticks: u64) -> Result<(Fd, u32), Errno> {
    // SAFETY: nobody else reads or writes the path while the journal is being made.
    let buffer = unsafe { &mut *PATH.0.get() };
    let pid = sys::getpid();
    let _streams = sys::occupy_streams()?;
    for attempt in 0..u32::MAX {
        let mut text = Text { buffer, length: 0 };
        let extension = layout::FILE_EXTENSION;
        text.write_bytes(directory.to_bytes())
            .and_then(|()| write!(text, "/{pid}-{start_ticks}-{attempt}.{extension}\0"))
            .map_err(|_| libc::ENAMETOOLONG)?;
        let path = CStr::from_bytes_until_nul(buffer).map_err(|_| libc::ENAMETOOLONG)?;
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
        match sys::open(path, flags, 0o600) {
            Ok(fd) => return Ok((fd, attempt)),
            Err(libc::EEXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(libc::EEXIST)
}

/// Reads field 22 of `/proc/self/stat`, which with the pid names a process for good.
fn start_ticks() -> Option<u64> {
    let fd = sys::open(c"/proc/self/stat", libc::O_RDONLY | libc::O_CLOEXEC, 0).ok()?;
    let mut buffer = [0; 1024];
    let read = sys::read(fd, &mut buffer);
    sys::close(fd);
    let line = buffer.get(..read.ok()?)?;
    // The program's name, field 2, is in brackets and may hold anything, brackets and spaces too.
    let name_end = line.iter().rposition(|&byte| byte == b')')?;
    let field = line
        .get(name_end + 2..)?
        .split(|&byte| byte == b' ')
        .nth(19)?;
    core::str::from_utf8(field).ok()?.parse().ok()
}

fn fill_program(header: *mut Header, parent: Option<&Header>) {
    let mut path = [0; layout::PROGRAM_BYTES];
    let length = match parent {
        Some(parent) => {
            path = parent.program;
            parent.program_bytes.load(Ordering::Relaxed) as usize
        }
        None => sys::readlink(c"/proc/self/exe", &mut path).unwrap_or(0),
    };
    // SAFETY: the mapping is a whole header and nobody else knows it yet.
    unsafe { (&raw mut (*header).program).write(path) };
    // SAFETY: as above; the page is zeroed, so the atomic is valid.
    let bytes = unsafe { &(*header).program_bytes };
    bytes.store(length as u32, Ordering::Relaxed);
}

fn fill(header: &Header, birth: Birth, start_ticks: u64, predecessors: u32) {
    let relaxed = Ordering::Relaxed;
    header.version.store(VERSION, relaxed);
    header.clock.store(birth.clock, relaxed);
    header.pid.store(sys::getpid(), relaxed);
    header.ppid.store(sys::getppid(), relaxed);
    let (tsc, monotonic) = clock::stamp();
    header.start_tsc.store(tsc, relaxed);
    header.start_monotonic_nanos.store(monotonic, relaxed);
    header
        .start_unix_nanos
        .store(sys::clock_nanos(libc::CLOCK_REALTIME), relaxed);
    header.start_ticks.store(start_ticks, relaxed);
    header.flags.store(birth.flags, relaxed);
    header.next_offset.store(PAGE_BYTES as u64, relaxed);
    header.pretended_cpus.store(birth.pretended_cpus, relaxed);
    header.predecessors.store(predecessors, relaxed);
    header
        .magic
        .store(u64::from_le_bytes(MAGIC), Ordering::Release);
}

/// Takes a new chunk of the file and maps it. Its magic is not set yet: see [`ChunkHeader::magic`].
pub(crate) fn new_chunk(bytes: usize, present: bool) -> Result<*mut u8, Errno> {
    let header = header().ok_or(libc::EBADF)?;
    if process::confined() {
        return Err(libc::EPERM);
    }
    let (offset, chunk) = with_file(|fd| {
        if sys::stat(fd)?.st_nlink == 0 {
            // The recording is over, and nobody will read what a process does that was left behind.
            return Err(libc::ENOENT);
        }
        let (offset, is_ready) = header.take_place(bytes as u64);
        if !is_ready {
            leave_room(fd, bytes)?;
            sys::allocate(fd, offset, bytes)?;
        }
        let chunk = sys::map_shared(fd, offset, bytes, present)?;
        Ok((offset, chunk))
    })?;
    // SAFETY: mapped just now, page-aligned, zeroed; nobody else knows it.
    let header = unsafe { &*chunk.cast::<ChunkHeader>() };
    header.place.store(offset, Ordering::Relaxed);
    Ok(chunk)
}

/// Changes a few bytes that the file holds already, where they are not mapped any more; returns whether it did.
pub(crate) fn change(place: u64, bytes: &[u8]) -> bool {
    let end = place + bytes.len() as u64;
    // Beyond this limit the kernel would not only refuse but also kill by SIGXFSZ.
    if process::confined() || end > sys::soft_limit(libc::RLIMIT_FSIZE) {
        return false;
    }
    with_file(|fd| sys::write_at(fd, bytes, place)) == Ok(bytes.len())
}

/// Refuses to take so many bytes from the file system of the journal where the program would have too few left to write there itself.
fn leave_room(fd: Fd, bytes: usize) -> Result<(), Errno> {
    match sys::space(fd) {
        Ok(space) if is_too_much(bytes as u64, space) => Err(libc::ENOSPC),
        _ => Ok(()),
    }
}

/// Returns whether so many bytes are too much for a file system of which this is known: its bytes, 0 where it does not tell, and how many
/// of them are free.
fn is_too_much(bytes: u64, (total, free): (u64, u64)) -> bool {
    total > 0 && free < bytes + layout::room_to_leave(total)
}

/// Fills what every chunk's header says and makes it valid.
pub(crate) fn publish_chunk(chunk: &ChunkHeader, kind: u32, bytes: usize) {
    let (tsc, monotonic) = clock::stamp();
    chunk.tsc.store(tsc, Ordering::Relaxed);
    chunk.monotonic_nanos.store(monotonic, Ordering::Relaxed);
    chunk.kind.store(kind, Ordering::Relaxed);
    chunk.length.store(bytes as u64, Ordering::Relaxed);
    chunk.magic.store(CHUNK_MAGIC, Ordering::Release);
}

fn is_ours(fd: Fd) -> bool {
    let ours = (
        DEVICE.load(Ordering::Relaxed),
        INODE.load(Ordering::Relaxed),
    );
    fd.0 >= 0 && sys::identity(fd) == Ok(ours)
}

/// Does something with the open file, having opened it anew where the program closed it or may have few.
fn with_file<T>(action: impl FnOnce(Fd) -> Result<T, Errno>) -> Result<T, Errno> {
    let fd = Fd(FD.load(Ordering::Relaxed));
    if is_ours(fd) {
        return action(fd);
    }
    let (fd, kept) = keep_apart(open_again()?);
    if !is_ours(fd) {
        sys::close(fd);
        return Err(libc::ESTALE);
    }
    if kept {
        FD.store(fd.0, Ordering::Relaxed);
        return action(fd);
    }
    let result = action(fd);
    sys::close(fd);
    result
}

fn open_again() -> Result<Fd, Errno> {
    // SAFETY: the path is only written while nobody records.
    let buffer = unsafe { &*PATH.0.get() };
    let path = CStr::from_bytes_until_nul(buffer).map_err(|_| libc::ENAMETOOLONG)?;
    let _streams = sys::occupy_streams()?;
    sys::open(path, libc::O_RDWR | libc::O_CLOEXEC, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_of_a_disk_is_left_to_the_program() {
        const MIB: u64 = 1 << 20;
        let most = |total: u64, free: u64| {
            let mut bytes = 0;
            while !is_too_much(bytes + MIB / 4, (total, free)) {
                bytes += MIB / 4;
            }
            bytes
        };
        // Of little a quarter, then 8 MiB, a hundredth of what is usual, and no more than 512 MiB.
        assert_eq!(most(3 * MIB, 2 * MIB), MIB + MIB / 4);
        assert_eq!(most(100 * MIB, 20 * MIB), 12 * MIB);
        assert_eq!(most(2000 * MIB, 120 * MIB), 100 * MIB);
        assert_eq!(most(1 << 41, 600 * MIB), 88 * MIB);
        assert_eq!(most(1 << 41, 500 * MIB), 0);
        assert!(!is_too_much(MIB, (0, 0)), "some do not tell");
        let (total, free) = sys::space(Fd(0)).expect("it is open");
        assert!(free <= total);
    }
}
