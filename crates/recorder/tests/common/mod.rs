//! What the in-process tests share: recording that was begun once, and a thread's recorded times.

use std::ffi::{CString, c_void};
use std::sync::OnceLock;

use foretrace_recorder::{Kind, OUTCOME_SUCCESS, clock, process, record, sys};
use foretrace_trace::Trace;
use foretrace_trace::journal::read_dir;

static JOURNALS: OnceLock<tempfile::TempDir> = OnceLock::new();

/// Begins recording this process, with glibc's rseq or as if there were none.
pub fn start(with_rseq: bool) {
    JOURNALS.get_or_init(|| {
        let directory = tempfile::tempdir().expect("the temporary directory is writable");
        let path = CString::new(directory.path().to_str().expect("its name is text"))
            .expect("a path has no NUL");
        let symbol = |name: &std::ffi::CStr| -> *mut c_void {
            // SAFETY: looks a symbol up by a NUL-terminated name.
            unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
        };
        let area = clock::rseq_area(symbol).filter(|_| with_rseq);
        let began = process::own_cpu_nanos();
        assert!(
            process::start(&path, 0, area, false, began),
            "recording does not begin"
        );
        directory
    });
}

/// Reads what was recorded so far.
pub fn trace() -> Trace {
    read_dir(JOURNALS.get().expect("recording was begun").path()).expect("the journal is whole")
}

/// Records a post of a made-up semaphore and returns the thread's CPU time as the kernel tells it.
pub fn mark(object: u64) -> u64 {
    record(Kind::SemPost, object, OUTCOME_SUCCESS, 0);
    sys::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Returns the recorded CPU times of the posts of a made-up semaphore.
pub fn recorded(trace: &Trace, object: u64) -> Vec<u64> {
    trace
        .events
        .iter()
        .filter(|event| {
            let operation = trace.call(event).operation;
            let object_id = operation.object();
            object_id.is_some_and(|id| trace.objects[id.index()].address == Some(object))
        })
        .filter_map(foretrace_trace::Event::cpu)
        .map(|cpu| cpu.0)
        .collect()
}

/// Uses CPU time.
pub fn work(nanos: u64) {
    let end = sys::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID) + nanos;
    while sys::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID) < end {
        for _ in 0..1000 {
            std::hint::black_box(clock::tsc());
        }
    }
}

/// Marks now and then while working, sleeping and waiting, and checks each interval.
pub fn check_intervals(object: u64) {
    const MARKS: usize = 60;
    let told: Vec<u64> = (0..MARKS)
        .map(|index| {
            let told = mark(object);
            match index % 4 {
                0 => work(300_000),
                1 => std::thread::sleep(std::time::Duration::from_millis(2)),
                2 => std::thread::yield_now(),
                _ => {}
            }
            told
        })
        .collect();
    let recorded = recorded(&trace(), object);
    assert_eq!(recorded.len(), MARKS);
    for index in 1..MARKS {
        let told = told[index] - told[index - 1];
        let recorded = recorded[index] - recorded[index - 1];
        // A reading by the system call may itself be held up, and the recorder's own work is taken out.
        assert!(
            told.abs_diff(recorded) < 60_000,
            "interval {index}: {recorded} ns recorded, {told} ns told"
        );
    }
    let told = told[MARKS - 1] - told[0];
    let recorded = recorded[MARKS - 1] - recorded[0];
    assert!(
        told.abs_diff(recorded) < told / 20,
        "{recorded} ns recorded, {told} ns told in all"
    );
}
