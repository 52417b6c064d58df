//! Interrupts whoever runs on a CPU, again and again, so that others that want it get it soon.
//!
//! Linux ends turns on a CPU when its clock ticks, every 4 ms in many kernels, however short a slice was asked for. A thread that spins would have the
//! CPU until then, and those that it waits for come no further. Whenever another thread wakes, the kernel looks whose turn it is: so one that
//! does nothing but wake lets turns end with their slices.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use foretrace_calibrate::thread_cpu_nanos;
use foretrace_trace::Nanos;

use super::system;

/// The time between two interruptions. As short turns as that cost a tenth of the time in a virtual machine.
const BEAT: Duration = Duration::from_micros(100);

/// The shortest slice that the kernel gives: whoever asks for short ones gets the CPU soon.
const SLICE: Nanos = Nanos(100_000);

/// Beats until it is dropped.
pub struct Metronome {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    ends: AtomicBool,
    beats: AtomicU64,
}

impl Metronome {
    /// Begins to beat on a CPU.
    ///
    /// # Errors
    ///
    /// Where there can be no further thread.
    pub fn start(cpu: u32) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let its = Arc::clone(&shared);
        let beat = move || {
            if system::pin_thread(cpu).is_err() {
                return;
            }
            // Where the kernel refuses, it beats less regularly where many spin.
            let _ = system::set_slice(SLICE);
            system::hurry_thread();
            while !its.ends.load(Ordering::Relaxed) {
                thread::sleep(BEAT);
                its.beats.fetch_add(1, Ordering::Relaxed);
            }
        };
        Ok(Self {
            thread: Some(thread::Builder::new().spawn(beat)?),
            shared,
        })
    }

    /// Returns how often it interrupted so far.
    pub fn beats(&self) -> u64 {
        self.shared.beats.load(Ordering::Relaxed)
    }
}

/// For so many beats the time that one takes is measured.
const MEASURED: u64 = 100;

/// A reading that takes so many times as long as others was interrupted.
const JUMP: u64 = 3;

/// No more readings than this are made: some tenths of a second.
const MOST_STEPS: usize = 1_000_000;

/// Returns how much of its CPU time a thread on this CPU has for each beat, in nanoseconds, on this machine; nothing where that cannot be
/// measured. The calling thread stays on this CPU.
///
/// A thread that does nothing but read its CPU time sees it jump where it is interrupted.
pub fn cost_of_beat(cpu: u32) -> f64 {
    let Ok(metronome) = system::pin_thread(cpu).and_then(|()| Metronome::start(cpu)) else {
        return 0.0;
    };
    let mut steps = Vec::new();
    let mut last = thread_cpu_nanos();
    let first = metronome.beats();
    while metronome.beats() < first + MEASURED && steps.len() < MOST_STEPS {
        let now = thread_cpu_nanos();
        steps.push(now - last);
        last = now;
    }
    let beats = metronome.beats() - first;
    let middle = steps.len() / 2;
    let usual = *steps.select_nth_unstable(middle).1;
    let jumps = steps.iter().filter(|&&step| step > JUMP * usual);
    let jumped: u64 = jumps.map(|step| step - usual).sum();
    jumped as f64 / beats.max(1) as f64
}

impl Drop for Metronome {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It ends with its next beat; that it failed would show in nothing but its turns.
            let _ = thread.join();
        }
    }
}
