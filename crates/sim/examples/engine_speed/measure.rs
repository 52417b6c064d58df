//! CPU time and memory of a piece of work, as Linux accounts them.

use std::fs;

/// What a piece of work took.
#[derive(Clone, Copy)]
pub struct Measured {
    /// The CPU time of one run of it, in seconds, of the user and the system.
    pub seconds: f64,
    /// The most memory that it had beside what was there before, in bytes.
    pub peak_bytes: u64,
    /// The memory that its result has, in bytes.
    pub kept_bytes: u64,
}

/// Work on fewer events is done again and again until it was done on so many.
const EVENTS: usize = 3_000_000;

/// Measures some work on so many events.
pub fn measure<T>(events: usize, work: impl Fn() -> T) -> (T, Measured) {
    let repetitions = EVENTS.div_ceil(events);
    reset_peak();
    let before = status("VmRSS:");
    let begin = cpu_nanos();
    let mut result = work();
    let peak_bytes = status("VmHWM:").saturating_sub(before);
    let kept_bytes = status("VmRSS:").saturating_sub(before);
    for _ in 1..repetitions {
        result = work();
    }
    let nanos = cpu_nanos() - begin;
    let seconds = nanos as f64 / 1e9 / repetitions as f64;
    (
        result,
        Measured {
            seconds,
            peak_bytes,
            kept_bytes,
        },
    )
}

/// Returns the CPU time of this thread.
fn cpu_nanos() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Returns a value of this process's status, in bytes.
fn status(key: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    kilobytes
        .and_then(|word| word.parse().ok())
        .unwrap_or(0_u64)
        * 1024
}

/// Lets the peak of the memory begin anew, where the kernel can do that.
fn reset_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}
