//! What the kernel tells of locks on files.

use super::{Errno, close, open, read};

/// The words of a line of `/proc/locks` that tells of a lock of a whole file: its number, what it is, how it is meant, what it lets
/// others do, who has it, and on which file. One more stands before the second of those that are waited for.
const WORDS: usize = 6;

/// What a process has to do with locks of a whole file (`flock`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WholeLock {
    /// It holds one.
    pub is_held: bool,
    /// It waits for one.
    pub is_awaited: bool,
}

/// Returns what a process has to do with locks of a whole file, by its device and inode.
///
/// # Errors
///
/// The `errno`: where `/proc` is not mounted, nobody knows.
pub fn whole_lock(process: u32, device: u64, inode: u64) -> Result<WholeLock, Errno> {
    let list = open(c"/proc/locks", libc::O_RDONLY | libc::O_CLOEXEC, 0)?;
    // Small, since it may have to lie on a small stack.
    let mut buffer = [0; 1024];
    let mut kept = 0;
    let mut found = WholeLock::default();
    while let Ok(length @ 1..) = read(list, &mut buffer[kept..]) {
        let text = &buffer[..kept + length];
        let whole = text.iter().rposition(|&byte| byte == b'\n');
        let end = whole.map_or(0, |end| end + 1);
        for line in text[..end].split(|&byte| byte == b'\n') {
            match tells_of(line, process, device, inode) {
                Some(false) => found.is_held = true,
                Some(true) => found.is_awaited = true,
                None => {}
            }
        }
        let end = if end == 0 { text.len() } else { end };
        let read = text.len();
        buffer.copy_within(end..read, 0);
        kept = read - end;
    }
    close(list);
    Ok(found)
}

/// Returns whether the process waits for the lock that a line tells of, where that is one of the file's.
fn tells_of(line: &[u8], process: u32, device: u64, inode: u64) -> Option<bool> {
    let mut all = [""; WORDS];
    let line = core::str::from_utf8(line).ok()?;
    let is_awaited = line.contains("->");
    let words = line.split_ascii_whitespace().filter(|&word| word != "->");
    for (place, word) in all.iter_mut().zip(words) {
        *place = word;
    }
    let [_, kind, _, _, holder, file] = all;
    let mut file = file.split(':');
    let mut number = |radix| u64::from_str_radix(file.next()?, radix).ok();
    let file = [number(16), number(16), number(10)];
    let expected = [
        libc::major(device).into(),
        libc::minor(device).into(),
        inode,
    ];
    let is_its = kind == "FLOCK" && holder.parse() == Ok(process) && file == expected.map(Some);
    is_its.then_some(is_awaited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_of_whole_files_are_told_by_their_lines() {
        let device = libc::makedev(0xfe, 1);
        let tells = |line: &str| tells_of(line.as_bytes(), 70, device, 123);
        for (line, told) in [
            ("2: FLOCK  ADVISORY  WRITE 70 fe:01:123 0 EOF", Some(false)),
            (
                "2: -> FLOCK  ADVISORY  WRITE 70 fe:01:123 0 EOF",
                Some(true),
            ),
            ("2: POSIX  ADVISORY  WRITE 70 fe:01:123 0 EOF", None),
            ("2: FLOCK  ADVISORY  WRITE 71 fe:01:123 0 EOF", None),
            ("2: FLOCK  ADVISORY  WRITE 70 fe:01:1234 0 EOF", None),
            ("", None),
        ] {
            assert_eq!(tells(line), told, "{line}");
        }
    }

    #[test]
    fn a_lock_that_was_taken_is_found() {
        let file = tempfile();
        let (device, inode) = crate::sys::identity(file).expect("it is open");
        let own = crate::sys::getpid();
        let is_held = || whole_lock(own, device, inode).map(|lock| lock.is_held);
        assert_eq!(is_held(), Ok(false));
        // SAFETY: the file is this test's own.
        assert_eq!(unsafe { libc::flock(file.0, libc::LOCK_EX) }, 0);
        assert_eq!(is_held(), Ok(true));
        close(file);
        assert_eq!(is_held(), Ok(false));
    }

    fn tempfile() -> crate::sys::Fd {
        open(c"/tmp", libc::O_TMPFILE | libc::O_RDWR, 0o600).expect("there is room for a file")
    }
}
