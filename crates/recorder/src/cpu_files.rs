//! Files that tell how many CPUs there are, written anew for as many as the program is made to believe in.
//!
//! What programs ask by calls and what they read must agree: some give up where it does not.

use core::ffi::CStr;

use crate::cpu_topology::Topology;
use crate::memory_file::{MemoryFile, Source, is_read_only};
use crate::sys::{self, Fd};

/// A file that tells of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuFile {
    /// `/proc/cpuinfo`: a paragraph for each.
    Info,
    /// `/proc/stat`: among others, a line for each.
    Stat,
    /// `/proc/self/status`: among others, those that the thread may run on.
    Status,
    /// `/sys/devices/system/cpu/online` and the like: their numbers.
    Range,
    /// A limit of a control group, and what it says where there is none.
    Limit(&'static [u8]),
    /// Files of `/sys/devices/system/cpu/cpuK` that tell which other CPUs share something with CPU K.
    Topology(Topology, u32),
    /// Others of these.
    OfCpu(u32),
    /// `/sys/devices/system/cpu/kernel_max`: the highest number that the kernel may give a CPU.
    Highest,
    /// `/sys/devices/system/cpu` itself.
    Directory,
    /// `/sys/devices/system/node/nodeK/cpulist`, and whether it is the first.
    NodeList(bool),
    /// `/sys/devices/system/node/nodeK/cpumap`, and whether it is the first.
    NodeMask(bool),
}

/// Where the CPUs' files are.
const DIRECTORY: &[u8] = b"/sys/devices/system/cpu";

/// What is opened in place of what is not to be there.
const ABSENT: &CStr = c"/sys/devices/system/cpu/absent";

/// Room for a path.
pub type PathBuffer = [u8; 1024];

impl CpuFile {
    /// Returns the path to open in place of the program's: every CPU has the real first one's files, and those of CPUs that are not
    /// there are not there either. `listing` is a directory that shows so many. `None` for the program's own.
    pub fn open_instead<'b>(
        self,
        path: &[u8],
        cpus: u32,
        listing: Option<&[u8]>,
        buffer: &'b mut PathBuffer,
    ) -> Option<&'b CStr> {
        match self {
            Self::Topology(_, cpu) | Self::OfCpu(cpu) if cpu >= cpus => Some(ABSENT),
            Self::Topology(..) | Self::OfCpu(_) => {
                let below = path.strip_prefix(DIRECTORY)?.strip_prefix(b"/cpu")?;
                let digits = below.iter().take_while(|byte| byte.is_ascii_digit());
                let rest = &below[digits.count()..];
                joined(&[DIRECTORY, b"/cpu0", rest], buffer)
            }
            Self::Directory => joined(&[listing?], buffer),
            _ => None,
        }
    }
}

/// Puts a path together; `None` where it is too long.
fn joined<'b>(parts: &[&[u8]], buffer: &'b mut PathBuffer) -> Option<&'b CStr> {
    let mut length = 0;
    for part in parts {
        let end = length + part.len();
        buffer.get_mut(length..end)?.copy_from_slice(part);
        length = end;
    }
    *buffer.get_mut(length)? = 0;
    CStr::from_bytes_with_nul(buffer.get(..=length)?).ok()
}

/// Returns the whole path of a file below an open directory, if such a path may tell of CPUs. Below `listing`, which shows
/// other CPUs than there are, it is as if it were the real one. The buffers need not hold anything.
pub fn below<'b>(
    directory: Fd,
    path: &[u8],
    listing: Option<&[u8]>,
    (link, buffer): (&mut PathBuffer, &'b mut PathBuffer),
) -> Option<&'b [u8]> {
    let length = sys::path_of(directory, link)?;
    let mut place = link.get(..length)?;
    if listing == Some(place) {
        place = DIRECTORY;
    }
    let may_tell = place.starts_with(b"/sys/") || place.starts_with(b"/proc");
    let whole = joined(&[place, b"/", path], buffer);
    whole.filter(|_| may_tell).map(CStr::to_bytes)
}

/// The CPUs to tell of.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// How many there are.
    pub cpus: u32,
    /// Of the first 64, those that the calling thread bound itself to; 0 where it did not.
    pub bound: u64,
}

/// Tells such a file by its path.
pub fn recognize(path: &[u8]) -> Option<CpuFile> {
    if let Some(name) = path.strip_prefix(b"/proc/") {
        return match name {
            b"cpuinfo" => Some(CpuFile::Info),
            b"stat" => Some(CpuFile::Stat),
            b"self/status" | b"thread-self/status" => Some(CpuFile::Status),
            _ => None,
        };
    }
    let name = path.strip_prefix(b"/sys/")?;
    if let b"devices/system/cpu" | b"devices/system/cpu/" = name {
        return Some(CpuFile::Directory);
    }
    if let Some(name) = name.strip_prefix(b"devices/system/node/node") {
        let mut parts = name.splitn(2, |&byte| byte == b'/');
        let is_first = parts.next() == Some(b"0");
        return match parts.next()? {
            b"cpulist" => Some(CpuFile::NodeList(is_first)),
            b"cpumap" => Some(CpuFile::NodeMask(is_first)),
            _ => None,
        };
    }
    if let Some(name) = name.strip_prefix(b"devices/system/cpu/") {
        let lists: [&[u8]; 3] = [b"online", b"possible", b"present"];
        return if lists.contains(&name) {
            Some(CpuFile::Range)
        } else if name == b"kernel_max" {
            Some(CpuFile::Highest)
        } else {
            Topology::recognize(name)
        };
    }
    let name = name.strip_prefix(b"fs/cgroup/")?;
    let name = name.rsplit(|&byte| byte == b'/').next()?;
    match name {
        b"cpu.max" => Some(CpuFile::Limit(b"max 100000\n")),
        b"cpu.cfs_quota_us" => Some(CpuFile::Limit(b"-1\n")),
        b"cpu.cfs_period_us" => Some(CpuFile::Limit(b"100000\n")),
        b"cpuset.cpus" | b"cpuset.cpus.effective" | b"cpuset.effective_cpus" => {
            Some(CpuFile::Range)
        }
        _ => None,
    }
}

/// Puts what a file is to say in the place of the real one, which was just opened. Where it was not opened for
/// reading, or that cannot be done, the real one stays.
pub fn replace(real: Fd, file: CpuFile, told: Told) {
    let as_it_is = matches!(file, CpuFile::OfCpu(_) | CpuFile::Directory);
    if told.cpus == 0 || as_it_is || !is_read_only(real) {
        return;
    }
    let Some(mut out) = MemoryFile::create() else {
        return;
    };
    match file {
        CpuFile::Info => (0..told.cpus).for_each(|cpu| paragraph(real, cpu, told.cpus, &mut out)),
        CpuFile::Stat => stat(real, told.cpus, &mut out),
        CpuFile::Status => {
            let mut source = Source::from_start(real);
            let allowed = |name: &[u8], out: &mut MemoryFile| status_field(name, told, out);
            while copy_field(&mut source, &mut out, allowed) != Line::End {}
        }
        CpuFile::Range => {
            range(0, told.cpus - 1, &mut out);
            out.put(b'\n');
        }
        CpuFile::Limit(text) => out.text(text),
        CpuFile::Topology(topology, cpu) => topology.write(cpu, told.cpus, &mut out),
        CpuFile::Highest => {
            let mut source = Source::from_start(real);
            let digits = core::iter::from_fn(|| source.next()).take_while(u8::is_ascii_digit);
            let highest = digits.fold(0_u32, |number, digit| {
                number
                    .saturating_mul(10)
                    .saturating_add(u32::from(digit - b'0'))
            });
            out.number(highest.max(told.cpus - 1));
            out.put(b'\n');
        }
        // All CPUs are the first node's.
        CpuFile::NodeList(is_first) => {
            if is_first {
                range(0, told.cpus - 1, &mut out);
            }
            out.put(b'\n');
        }
        CpuFile::NodeMask(is_first) => {
            mask(told.cpus, |_| is_first, &mut out);
            out.put(b'\n');
        }
        CpuFile::OfCpu(_) | CpuFile::Directory => {}
    }
    out.take_over(real);
}

/// What a line was.
#[derive(PartialEq, Eq)]
enum Line {
    Field,
    Blank,
    End,
}

/// The longest name of a field that is looked at.
const LONGEST_NAME: usize = 24;

/// Copies a line `name: value`; `value` may write another value behind the colon and says whether it did.
fn copy_field(
    source: &mut Source,
    out: &mut MemoryFile,
    value: impl Fn(&[u8], &mut MemoryFile) -> bool,
) -> Line {
    let mut name = [0; LONGEST_NAME];
    let mut length = 0;
    loop {
        let Some(byte) = source.next() else {
            return Line::End;
        };
        out.put(byte);
        match byte {
            b'\n' if length == 0 => return Line::Blank,
            b'\n' => return Line::Field,
            b':' => {
                let replaced = value(name[..length].trim_ascii_end(), out);
                source.copy_line(if replaced { None } else { Some(out) });
                if replaced {
                    out.put(b'\n');
                }
                return Line::Field;
            }
            _ if length == LONGEST_NAME => {
                source.copy_line(Some(out));
                return Line::Field;
            }
            _ => {
                name[length] = byte;
                length += 1;
            }
        }
    }
}

/// Writes a CPU's paragraph of `/proc/cpuinfo`: that of the real first one, as one core of one socket.
fn paragraph(real: Fd, cpu: u32, cpus: u32, out: &mut MemoryFile) {
    let mut source = Source::from_start(real);
    let value = |name: &[u8], out: &mut MemoryFile| {
        let number = match name {
            b"processor" | b"core id" | b"apicid" | b"initial apicid" => cpu,
            b"siblings" | b"cpu cores" => cpus,
            b"physical id" => 0,
            _ => return false,
        };
        out.put(b' ');
        out.number(number);
        true
    };
    while copy_field(&mut source, out, value) == Line::Field {}
}

fn status_field(name: &[u8], told: Told, out: &mut MemoryFile) -> bool {
    let is_allowed = |cpu: u32| match told.bound {
        0 => true,
        bound => cpu < 64 && bound >> cpu & 1 == 1,
    };
    match name {
        b"Cpus_allowed" => {
            out.put(b'\t');
            mask(told.cpus, is_allowed, out);
        }
        b"Cpus_allowed_list" => {
            out.put(b'\t');
            let mut first = None;
            let mut separate = false;
            for cpu in 0..=told.cpus {
                let allowed = cpu < told.cpus && is_allowed(cpu);
                match first {
                    None if allowed => first = Some(cpu),
                    Some(from) if !allowed => {
                        if core::mem::replace(&mut separate, true) {
                            out.put(b',');
                        }
                        range(from, cpu - 1, out);
                        first = None;
                    }
                    _ => {}
                }
            }
        }
        _ => return false,
    }
    true
}

/// Writes a mask of CPUs, 32 a word.
pub(crate) fn mask(cpus: u32, is_in: impl Fn(u32) -> bool, out: &mut MemoryFile) {
    for word in (0..cpus.div_ceil(32)).rev() {
        let from = word * 32;
        let bits = (from..cpus.min(from + 32))
            .filter(|&cpu| is_in(cpu))
            .fold(0, |bits, cpu| bits | 1 << (cpu - from));
        out.hexadecimal(bits);
        if word > 0 {
            out.put(b',');
        }
    }
}

pub(crate) fn range(first: u32, last: u32, out: &mut MemoryFile) {
    out.number(first);
    if last > first {
        out.put(b'-');
        out.number(last);
    }
}

/// Writes `/proc/stat`, each CPU with the times of the real first one.
fn stat(real: Fd, cpus: u32, out: &mut MemoryFile) {
    let mut source = Source::from_start(real);
    let mut times = [0; 256];
    let mut written = false;
    while let Some(mut byte) = source.next() {
        let mut name = [0; LONGEST_NAME];
        let mut length = 0;
        while length < LONGEST_NAME && byte != b' ' && byte != b'\n' {
            name[length] = byte;
            length += 1;
            let Some(next) = source.next() else { break };
            byte = next;
        }
        let is_cpu = length > 3 && name.starts_with(b"cpu");
        if !is_cpu {
            out.text(&name[..length]);
            out.put(byte);
            if byte != b'\n' {
                source.copy_line(Some(out));
            }
        } else if core::mem::replace(&mut written, true) {
            source.copy_line(None);
        } else {
            let length = source.line_into(&mut times);
            for cpu in 0..cpus {
                out.text(b"cpu");
                out.number(cpu);
                out.put(b' ');
                out.text(&times[..length]);
                out.put(b'\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::ToOwned as _;
    use std::ffi::CString;
    use std::string::String;
    use std::vec::Vec;

    use super::*;

    /// Reads a file as a program would that believes in so many CPUs.
    fn told(path: &str, cpus: u32, bound: u64) -> String {
        let file = recognize(path.as_bytes()).expect("it tells of CPUs");
        let own = CString::new(path).expect("it holds no NUL");
        let mut buffer = [0; 1024];
        let path = file.open_instead(path.as_bytes(), cpus, None, &mut buffer);
        let path = path.unwrap_or(&own);
        let fd = sys::open(path, libc::O_RDONLY, 0).expect("every Linux has it");
        replace(fd, file, Told { cpus, bound });
        let mut text = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = sys::read(fd, &mut buffer) {
            text.extend_from_slice(&buffer[..length]);
        }
        sys::close(fd);
        String::from_utf8(text).expect("it is text")
    }

    fn value<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .filter(|(key, _)| key.trim() == name)
            .map(|(_, value)| value.trim())
            .collect()
    }

    #[test]
    fn the_processors_are_listed_as_cores_of_one_socket() {
        let text = told("/proc/cpuinfo", 12, 0);
        let numbers: Vec<String> = (0..12).map(|cpu| std::format!("{cpu}")).collect();
        assert_eq!(value(&text, "processor"), numbers);
        let models = value(&text, "flags");
        assert!(models.len() == 12 && models.iter().all(|model| *model == models[0]));
        assert!(value(&text, "siblings").iter().all(|cpus| *cpus == "12"));
        assert!(text.ends_with("\n\n"));
    }

    #[test]
    fn the_statistics_hold_a_line_for_each() {
        let text = told("/proc/stat", 5, 0);
        let lines = text.lines().filter(|line| line.starts_with("cpu"));
        assert_eq!(lines.count(), 6);
        assert!(text.starts_with("cpu  "), "{text}");
        assert!(text.contains("\nprocs_running "), "{text}");
        let fields = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name));
            line.expect("it is there").split_whitespace().count()
        };
        assert_eq!(fields("cpu0 "), fields("cpu4 "));
    }

    #[test]
    fn lists_and_masks_tell_the_same() {
        assert_eq!(told("/sys/devices/system/cpu/online", 6, 0), "0-5\n");
        assert_eq!(told("/sys/devices/system/cpu/possible", 1, 0), "0\n");
        let highest = "/sys/devices/system/cpu/kernel_max";
        assert_eq!(told(highest, 1_000_000, 0), "999999\n");
        assert!(told(highest, 2, 0).trim().parse::<u32>().expect("a number") >= 1);
        let text = told("/proc/self/status", 40, 0);
        assert_eq!(value(&text, "Cpus_allowed"), ["000000ff,ffffffff"]);
        assert_eq!(value(&text, "Cpus_allowed_list"), ["0-39"]);
        assert_eq!(value(&text, "Name").len(), 1);
        let text = told("/proc/self/status", 8, 0b1011_0001);
        assert_eq!(value(&text, "Cpus_allowed"), ["000000b1"]);
        assert_eq!(value(&text, "Cpus_allowed_list"), ["0,4-5,7"]);
    }

    #[test]
    fn each_cpu_is_a_core_of_one_socket() {
        let topology = |cpu: u32, name: &str| {
            let path = std::format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}");
            told(&path, 300, 0)
        };
        assert_eq!(topology(7, "thread_siblings_list"), "7\n");
        assert_eq!(topology(299, "core_siblings_list"), "0-299\n");
        assert_eq!(topology(299, "core_id"), "299\n");
        assert_eq!(topology(299, "physical_package_id"), "0\n");
        assert_eq!(topology(1, "thread_siblings").matches(',').count(), 9);
        assert!(topology(33, "thread_siblings").ends_with("00000002,00000000\n"));
        assert!(topology(0, "core_siblings").starts_with("00000fff,ffffffff,"));
    }

    #[test]
    fn what_is_not_told_of_a_cpu_is_as_with_the_first_and_others_are_not_there() {
        let instead = |path: &str, cpus: u32| {
            let file = recognize(path.as_bytes())?;
            let mut buffer = [0; 1024];
            let found = file.open_instead(path.as_bytes(), cpus, Some(b"/j/cpus"), &mut buffer);
            found.map(|path| path.to_str().expect("it is text").to_owned())
        };
        let size = "/sys/devices/system/cpu/cpu7/cache/index0/size";
        let real = "/sys/devices/system/cpu/cpu0/cache/index0/size";
        assert_eq!(instead(size, 8).as_deref(), Some(real));
        let absent = Some("/sys/devices/system/cpu/absent");
        assert_eq!(instead(size, 7).as_deref(), absent);
        let id = "/sys/devices/system/cpu/cpu3/topology/core_id";
        assert_eq!(instead(id, 3).as_deref(), absent);
        assert_eq!(
            instead("/sys/devices/system/cpu", 3).as_deref(),
            Some("/j/cpus")
        );
        assert_eq!(instead("/sys/devices/system/cpu/online", 3), None);
    }

    #[test]
    fn nodes_hold_the_cpus_that_are_told_of() {
        let mut out = MemoryFile::create().expect("every Linux has it");
        mask(40, |cpu| cpu == 39, &mut out);
        let first = Some(CpuFile::NodeList(true));
        assert_eq!(recognize(b"/sys/devices/system/node/node0/cpulist"), first);
        let later = Some(CpuFile::NodeMask(false));
        assert_eq!(recognize(b"/sys/devices/system/node/node10/cpumap"), later);
        assert_eq!(recognize(b"/sys/devices/system/node/node0/meminfo"), None);
    }

    #[test]
    fn other_files_are_left_alone() {
        for path in [
            "/proc/meminfo",
            "/proc/cpuinfo2",
            "/sys/devices/system/cpu/cpufreq/boost",
            "/sys/devices/system/cpu/cpu0x",
            "/sys/fs/cgroup/memory.max",
            "/etc/passwd",
            "",
        ] {
            assert_eq!(recognize(path.as_bytes()), None, "{path}");
        }
        let limit = Some(CpuFile::Limit(b"max 100000\n"));
        assert_eq!(recognize(b"/sys/fs/cgroup/cpu.max"), limit);
        assert_eq!(recognize(b"/sys/fs/cgroup/a/b.slice/cpu.max"), limit);
    }

    #[test]
    fn a_file_stays_closed_on_exec_where_it_was() {
        for flag in [0, libc::O_CLOEXEC] {
            let fd = sys::open(c"/proc/cpuinfo", libc::O_RDONLY | flag, 0).expect("it is there");
            let told = Told { cpus: 2, bound: 0 };
            replace(fd, CpuFile::Info, told);
            // SAFETY: asks for the flags of a file of ours.
            let flags = unsafe { libc::fcntl(fd.0, libc::F_GETFD) };
            assert_eq!(flags == libc::FD_CLOEXEC, flag != 0);
            sys::close(fd);
        }
    }
}
