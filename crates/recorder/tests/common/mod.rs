//! What the in-process tests share: recording that was begun once, and a thread's recorded times.

use std::ffi::{CString, c_void};
use std::sync::OnceLock;

use foretrace_recorder::{
    Compared, Kind, KnownCosts, OUTCOME_SUCCESS, clock, process, record, sys,
};
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
        let costs = (&KnownCosts::default(), &Compared::default());
        assert!(
            process::start(&path, 0, area, false, began, costs),
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

/// Checks something of the clock, with objects from a number on. What a busy machine does to one of several attempts is forgiven: a
/// clock that is wrong is so in all of them.
pub fn in_some_attempt(object: u64, differs: impl Fn(u64) -> Option<String>) {
    let attempts: Vec<String> = (0..5)
        .map_while(|attempt| differs(object + (attempt << 24)))
        .collect();
    assert!(attempts.len() < 5, "{attempts:#?}");
}

/// Marks now and then while working, sleeping and waiting, and checks each interval.
pub fn check_intervals(object: u64) {
    in_some_attempt(object, intervals_differ);
}

/// Returns which interval was not recorded as the kernel tells it, if any.
fn intervals_differ(object: u64) -> Option<String> {
    const MARKS: usize = 60;
    // Asked before the mark and after it: a busy machine may hold the thread up in between.
    let told: Vec<(u64, u64)> = (0..MARKS)
        .map(|index| {
            let before = sys::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID);
            let told = (before, mark(object));
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
    let check = |from: usize, to: usize, slack: u64| {
        let least = told[to].0.saturating_sub(told[from].1);
        let most = told[to].1 - told[from].0;
        let recorded = recorded[to] - recorded[from];
        let differs = least > recorded + slack || recorded > most + slack;
        differs.then(|| {
            format!("from mark {from} to {to}: {recorded} ns recorded, {least} to {most} ns told")
        })
    };
    // The recorder's own work is taken out, and a reading of the clock is itself not exact.
    let each = (1..MARKS).find_map(|index| check(index - 1, index, 60_000));
    each.or_else(|| check(0, MARKS - 1, (told[MARKS - 1].1 - told[0].0) / 20))
}

/// Returns the CPUs that this process may use.
fn allowed() -> Vec<usize> {
    // SAFETY: a set of bits, for which zeros are valid.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: asks the kernel, which writes to the set.
    let result = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
    assert_eq!(result, 0, "the kernel tells");
    let bits = 8 * size_of_val(&set);
    // SAFETY: looks into the set, and not past its end.
    (0..bits)
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) })
        .collect()
}

/// Sends a thread of this process, by its number, to a CPU; 0 is the calling thread.
fn send(thread: libc::pid_t, cpu: usize) {
    // SAFETY: a set of bits, for which zeros are valid.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: changes the set.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the kernel reads the set.
    let result = unsafe { libc::sched_setaffinity(thread, size_of_val(&set), &raw const set) };
    // The thread may have ended.
    assert!(result == 0 || thread != 0, "the CPU may be used");
}

/// Checks that a thread's recorded CPU time is the kernel's where the thread goes from CPU to CPU, by itself and sent by
/// another in the midst of its work. On a machine with one CPU it stays there, and all the same must hold.
pub fn check_migration(object: u64) {
    in_some_attempt(object, migration_differs);
}

fn migration_differs(object: u64) -> Option<String> {
    const MARKS: usize = 300;
    let cpus = allowed();
    let (number, sent) = std::sync::mpsc::channel();
    let (starter, start) = std::sync::mpsc::channel();
    let worker_cpus = cpus.clone();
    let worker = std::thread::spawn(move || {
        let own = libc::pid_t::try_from(sys::gettid()).expect("threads have small numbers");
        number.send(own).expect("the other side listens");
        start.recv().expect("the other side begins");
        let told: Vec<u64> = (0..MARKS)
            .map(|index| {
                if index % 2 == 0 {
                    send(0, worker_cpus[index / 2 % worker_cpus.len()]);
                }
                let told = mark(object);
                work(100_000);
                told
            })
            .collect();
        told
    });
    let thread = sent.recv().expect("the thread tells it");
    starter.send(()).expect("the thread waits for it");
    let mut turn = 0;
    while !worker.is_finished() {
        turn += 1;
        send(thread, cpus[turn % cpus.len()]);
        std::thread::sleep(std::time::Duration::from_micros(300));
    }
    let told = worker.join().expect("it only works");
    let recorded = recorded(&trace(), object);
    assert_eq!(recorded.len(), MARKS);
    sum_differs(&recorded, &told, object)
}

/// Returns what is wrong with the CPU time between the first and the last mark, if anything.
fn sum_differs(recorded: &[u64], told: &[u64], object: u64) -> Option<String> {
    let span = |times: &[u64]| times[times.len() - 1] - times[0];
    let (recorded, told) = (span(recorded), span(told));
    // The recorder's own work is taken out, and a mark's reading may be held up by an interrupt.
    (told.abs_diff(recorded) >= told / 50)
        .then(|| format!("object {object:#x}: {recorded} ns recorded, {told} ns told in all"))
}

/// Checks that both sides of a fork have their own CPU times: the parent's goes on, the child's begins with what the kernel
/// counts for the child. The child is recorded from its fork on if `restart` is called there, as the preloaded library does.
pub fn check_fork(object: u64) {
    in_some_attempt(object, fork_differs);
}

fn fork_differs(object: u64) -> Option<String> {
    const MARKS: usize = 50;
    let marks = |object: u64| -> Vec<u64> {
        (0..MARKS)
            .map(|_| {
                let told = mark(object);
                work(200_000);
                told
            })
            .collect()
    };
    let before = marks(object);
    let (mut reader, mut writer) = std::io::pipe().expect("two files may be opened");
    // SAFETY: the child uses what needs no lock that another thread may hold: the recorder, the clock, a pipe.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let began = process::claim() && process::restart();
        let told = [mark(object + 1), {
            work(20_000_000);
            mark(object + 1)
        }];
        let bytes: Vec<u8> = told.iter().flat_map(|told| told.to_le_bytes()).collect();
        let written = std::io::Write::write_all(&mut writer, &bytes).is_ok();
        process::finish();
        // SAFETY: ends the child, with nothing of the parent's being undone.
        unsafe { libc::_exit(i32::from(!began || !written)) };
    }
    assert!(child > 0, "a process may be started");
    drop(writer);
    let after = marks(object);
    let mut bytes = [0; 16];
    std::io::Read::read_exact(&mut reader, &mut bytes).expect("the child tells its times");
    let mut status = 0;
    // SAFETY: waits for the child, and writes to the status.
    let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((ended, status), (child, 0), "the child recorded");
    let trace = trace();
    let told: Vec<u64> = before.into_iter().chain(after).collect();
    let own = recorded(&trace, object);
    assert_eq!(own.len(), told.len());
    let of_parent = sum_differs(&own, &told, object);
    let (first, second) = bytes.split_at(8);
    let told = [first, second]
        .map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes were split off")));
    let childs = recorded(&trace, object + 1);
    assert_eq!(childs.len(), 2);
    let of_child = sum_differs(&childs, &told, object + 1);
    // What the parent did before is none of the child's, whose time begins at 0.
    assert!(
        childs[0] <= told[0],
        "{} ns after {} ns",
        childs[0],
        told[0]
    );
    of_parent.or(of_child)
}
