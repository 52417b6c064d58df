//! Room in the journals of programs that record much, made ahead by foretrace.
//!
//! Space in a journal has to hold zeros that are really there before anything is recorded into it, and to write them takes a
//! program longer than to record: 3 us a page of 170 records. So it is done here, on whichever CPU is free, while the program runs. How
//! the two keep out of each other's way is written at [`Header::take_place`].

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io,
    mem::offset_of,
    os::unix::fs::FileExt as _,
    path::Path,
    sync::{
        atomic::{Ordering, fence},
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use foretrace_trace::journal::layout::{self, FLAG_CLEAN_EXIT, Header};

use super::{growing::Growing, system};

/// How often journals are looked at.
const PERIOD: Duration = Duration::from_millis(10);

/// Journals of less are left alone: their programs may be many and short.
const LARGE: u64 = 256 << 10;

/// So much room is made at once: what a program records in 0.2 s that locks a million times a second. One that does nothing but lock fills it
/// in 5 ms, and makes more itself until this is looked at again.
const STEP: u64 = 4 << 20;

/// New room begins so far behind what is taken already, as more is taken while it is made.
const GAP: u64 = 1 << 20;

/// What is written at once.
static ZEROS: [u8; 256 << 10] = [0; 256 << 10];

/// Makes room until it is dropped.
pub struct Room {
    /// Nothing is ever sent: its end ends the thread.
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Room {
    /// Begins, in a directory of journals. Where no thread can be had, programs make their room themselves.
    pub fn make_in(directory: &Path) -> Self {
        let (stop, stopped) = mpsc::channel();
        let directory = directory.to_owned();
        let keep = move || {
            let mut journals = Journals::new(&directory);
            while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                journals.look();
            }
        };
        let thread = thread::Builder::new().name("room".to_owned()).spawn(keep);
        Self {
            stop: Some(stop),
            thread: thread.ok(),
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was told of already, and only costs the program time.
            let _ = thread.join();
        }
    }
}

/// The journals of a directory.
struct Journals {
    all: Growing,
    /// Those that room is made in; nothing for those that it cannot be, as on a full disk.
    known: BTreeMap<OsString, Option<File>>,
    looks: u32,
}

/// In every so many looks, new journals are looked for.
const LOOKS: u32 = 8;

impl Journals {
    fn new(directory: &Path) -> Self {
        Self {
            all: Growing::in_directory(directory),
            known: BTreeMap::new(),
            looks: 0,
        }
    }

    fn look(&mut self) {
        if self.looks.is_multiple_of(LOOKS) {
            self.find();
        }
        self.looks = self.looks.wrapping_add(1);
        for journal in self.known.values_mut() {
            // Where there is no room any more, its program finds that out itself, and ends the recording in good order.
            if journal.as_ref().is_some_and(|file| make(file).is_err()) {
                *journal = None;
            }
        }
    }

    fn find(&mut self) {
        let known = &mut self.known;
        self.all.look(|name, path| {
            if let Some(file) = known.get(name) {
                let is_over = |file: &File| {
                    let flags = long(file, offset_of!(Header, flags));
                    flags.is_ok_and(|flags| flags & FLAG_CLEAN_EXIT != 0)
                };
                let is_over = file.as_ref().is_none_or(is_over);
                if is_over {
                    known.remove(name);
                }
                return is_over;
            }
            if fs::metadata(path).is_ok_and(|data| data.len() >= LARGE) {
                let file = OpenOptions::new().read(true).write(true).open(path);
                known.insert(name.to_owned(), file.ok());
            }
            false
        });
    }
}

/// Makes more room in a journal, where half of it is used.
///
/// # Errors
///
/// Where there is none, on the disk, of which some is left to the program, or by the limit for files.
fn make(file: &File) -> io::Result<()> {
    let next = long(file, offset_of!(Header, next_offset))?;
    let end = long(file, offset_of!(Header, room_end))?;
    if end >= next + STEP / 2 {
        return Ok(());
    }
    let mut from = end;
    if next > end {
        from = next + GAP;
        store(file, offset_of!(Header, room_start), from)?;
    }
    if from + STEP > system::longest_file() {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let (total, free) = system::space(file)?;
    if total > 0 && free < STEP + layout::room_to_leave(total) {
        return Err(io::ErrorKind::StorageFull.into());
    }
    let claimed = offset_of!(Header, room_claimed);
    store(file, claimed, from + STEP)?;
    // What is claimed must be seen before it is asked what is taken.
    fence(Ordering::SeqCst);
    if long(file, offset_of!(Header, next_offset))? > from {
        return store(file, claimed, end);
    }
    let mut at = from;
    while at < from + STEP {
        file.write_all_at(&ZEROS, at)?;
        at += ZEROS.len() as u64;
    }
    store(file, offset_of!(Header, room_end), from + STEP)
}

fn long(file: &File, at: usize) -> io::Result<u64> {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, at as u64)?;
    Ok(u64::from_le_bytes(bytes))
}

fn store(file: &File, at: usize, value: u64) -> io::Result<()> {
    file.write_all_at(&value.to_le_bytes(), at as u64)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    const CHUNK: u64 = 64 << 10;

    /// A program that records: takes places, writes all over them, and returns where they are and how many held zeros.
    fn record(header: &Header, file: &File, count: u64) -> (Vec<u64>, usize) {
        let mut ready = 0;
        let places = (1..=count).map(|number| {
            let (place, is_ready) = header.take_place(CHUNK);
            if is_ready {
                ready += 1;
                let mut bytes = vec![1; CHUNK as usize];
                file.read_exact_at(&mut bytes, place).expect("it is there");
                assert!(bytes.iter().all(|&byte| byte == 0), "{place} holds zeros");
            }
            let bytes = number.to_le_bytes().repeat(CHUNK as usize / 8);
            file.write_all_at(&bytes, place).expect("there is room");
            place
        });
        (places.collect(), ready)
    }

    /// Returns a journal that has nothing but its header yet, and the header.
    fn journal() -> (File, memmap2::MmapRaw) {
        let file = tempfile::tempfile().expect("there is room");
        file.set_len(layout::PAGE_BYTES as u64)
            .expect("there is room");
        let mapping = memmap2::MmapRaw::map_raw(&file).expect("files can be mapped");
        (file, mapping)
    }

    fn header_in(mapping: &memmap2::MmapRaw) -> &Header {
        #[expect(
            unsafe_code,
            clippy::cast_ptr_alignment,
            reason = "the program sees the header through a mapping, which begins at a page"
        )]
        // SAFETY: a page of zeros and numbers is a header; all that changes in it are atomics.
        unsafe {
            &*mapping.as_ptr().cast::<Header>()
        }
    }

    #[test]
    fn chunks_lie_where_no_room_is_being_made() {
        let (_, mapping) = journal();
        let header = header_in(&mapping);
        let set = |next, start, end, claimed| {
            header.next_offset.store(next, Ordering::Relaxed);
            header.room_start.store(start, Ordering::Relaxed);
            header.room_end.store(end, Ordering::Relaxed);
            header.room_claimed.store(claimed, Ordering::Relaxed);
            header.take_place(10)
        };
        assert_eq!(set(50, 0, 0, 0), (50, false), "no room was made");
        assert_eq!(set(50, 60, 0, 90), (50, false), "before the room");
        assert_eq!(set(55, 60, 0, 90), (90, false), "in what is being made");
        assert_eq!(set(65, 60, 75, 90), (65, true), "in the room");
        assert_eq!(set(70, 60, 75, 90), (90, false), "at its end, being made");
        assert_eq!(set(70, 60, 75, 75), (70, false), "at its end");
        assert_eq!(set(55, 60, 75, 75), (55, false), "at its beginning");
        assert_eq!(set(95, 60, 75, 90), (95, false), "behind it");
    }

    #[test]
    fn what_is_recorded_while_room_is_made_stays() {
        let (file, mapping) = journal();
        let header = header_in(&mapping);
        header
            .next_offset
            .store(layout::PAGE_BYTES as u64, Ordering::Relaxed);
        let is_over = AtomicBool::new(false);
        let (places, ready) = thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    make(&file).expect("there is room");
                }
            });
            let recorded = record(header, &file, 3000);
            is_over.store(true, Ordering::Relaxed);
            recorded
        });
        assert!(ready > 0);
        for (number, place) in (1_u64..).zip(places) {
            let mut bytes = vec![0; CHUNK as usize];
            file.read_exact_at(&mut bytes, place)
                .expect("it was written");
            assert_eq!(bytes, number.to_le_bytes().repeat(CHUNK as usize / 8));
        }
    }

    #[test]
    fn room_is_made_in_journals_that_grow() {
        let directory = tempfile::tempdir().expect("there is room");
        for (name, bytes) in [("1-2-0.ftj", LARGE), ("2-2-0.ftj", 4096), ("note", LARGE)] {
            let file = File::create(directory.path().join(name)).expect("there is room");
            file.set_len(bytes).expect("there is room");
            store(&file, offset_of!(Header, next_offset), bytes).expect("it is a file");
        }
        let mut journals = Journals::new(directory.path());
        journals.look();
        let end_of_room = |name| {
            let file = File::open(directory.path().join(name)).expect("it was made");
            long(&file, offset_of!(Header, room_end)).expect("it is a header")
        };
        assert_eq!(end_of_room("1-2-0.ftj"), LARGE + GAP + STEP);
        assert_eq!(end_of_room("2-2-0.ftj"), 0);
        assert_eq!(end_of_room("note"), 0);
    }
}
