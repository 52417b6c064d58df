//! A directory that shows as many CPUs as a program is made to believe in, for those that list `/sys/devices/system/cpu`.

use std::{ffi::OsStr, fs, io, os::unix::fs::symlink, path::Path};

use foretrace_trace::journal::layout::CPU_DIRECTORY;

/// Where the kernel shows the real ones.
const REAL: &str = "/sys/devices/system/cpu";

/// Makes it beside the journals, unless there are really so many: a link to the real first CPU for each, and links to all else
/// that the real one holds.
///
/// # Errors
///
/// When it cannot be made, or the real one not be read.
pub fn make(journals: &Path, cpus: u32) -> io::Result<()> {
    let entries: Vec<fs::DirEntry> = fs::read_dir(REAL)?.collect::<io::Result<_>>()?;
    let (real, others): (Vec<_>, Vec<_>) = entries
        .into_iter()
        .partition(|entry| is_cpu(&entry.file_name()));
    if real.len() == cpus as usize {
        return Ok(());
    }
    let directory = journals.join(CPU_DIRECTORY);
    fs::create_dir(&directory)?;
    for entry in others {
        symlink(entry.path(), directory.join(entry.file_name()))?;
    }
    let first = Path::new(REAL).join("cpu0");
    for cpu in 0..cpus {
        symlink(&first, directory.join(format!("cpu{cpu}")))?;
    }
    Ok(())
}

fn is_cpu(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix("cpu"));
    digits.is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_is_known_by_its_number() {
        let names = ["cpu0", "cpu12", "cpu", "cpufreq", "cpu1x", "online"];
        let cpus = names.map(|name| is_cpu(OsStr::new(name)));
        assert_eq!(cpus, [true, true, false, false, false, false]);
    }
}
