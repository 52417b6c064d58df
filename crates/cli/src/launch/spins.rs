//! Finds loops that wait for memory to change while a program runs: spinning that no call tells of.

use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    os::unix::fs::FileExt as _,
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::Duration,
};

use foretrace_mpi::passes_messages;
use foretrace_trace::{CallSite, Module, ModuleId, Nanos, SiteId, Trace};

use super::{
    loops::waiting_loop,
    running::runnable_threads,
    samples::{PERIOD_NANOS, Sample, Samples},
};

/// How often samples are looked at. The program must still be there then.
const INTERVAL: Duration = Duration::from_millis(20);

/// How long a program that is not watched all the time is left alone at first, and at most: twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(800);

/// A loop that is seen less often than this may be one that waits for an instant before it sleeps.
const SEEN_OFTEN: u32 = 3;

/// As many bytes on both sides of a sample are looked at.
const AROUND: u64 = 128;

/// A loop that waits, and for how long it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingLoop {
    /// The file that it is in.
    pub module: String,
    /// Its first instruction's offset in that file.
    pub offset: u64,
    /// The CPU time spent in it, about.
    pub cpu: Nanos,
    /// How often it was seen.
    samples: u32,
}

impl WaitingLoop {
    /// Returns whether it is worth telling. What libraries of MPI do while they wait is no work of the program's.
    fn is_told(&self) -> bool {
        let file = self.module.rsplit('/').next().unwrap_or_default();
        self.samples >= SEEN_OFTEN && !passes_messages(file)
    }
}

/// Watches a program; [`Watch::end`] tells what was found.
pub struct Watch {
    /// Dropped, it ends the watch.
    on: Sender<()>,
    thread: JoinHandle<Tally>,
}

impl Watch {
    /// Begins to watch the next program that this thread starts, which is to be pinned to a CPU, all the time.
    ///
    /// # Errors
    ///
    /// Where the kernel does not allow it.
    pub fn always(cpu: u32) -> io::Result<Self> {
        let mut samples = Samples::of_next_child(cpu)?;
        Self::start(move |on| {
            let mut tally = Tally::default();
            while stays(on, INTERVAL) {
                samples.take(|sample| tally.add(sample, 1));
            }
            tally
        })
    }

    /// Begins to look now and then at a program that runs on a CPU, and at those that it starts: where several threads want the
    /// CPU, which one that spins takes from the others. Where that is not so, it costs nothing.
    ///
    /// # Errors
    ///
    /// Where there can be no further thread.
    pub fn now_and_then(cpu: u32, pid: u32) -> io::Result<Self> {
        Self::start(move |on| {
            let mut tally = Tally::default();
            let mut pause = FIRST_PAUSE;
            while stays(on, pause) {
                let threads = runnable_threads(pid);
                if threads.len() > 1
                    && let Ok(mut samples) = Samples::of_threads(cpu, &threads)
                {
                    stays(on, INTERVAL);
                    let share = (pause + INTERVAL).as_millis() / INTERVAL.as_millis();
                    samples.take(|sample| tally.add(sample, share as u64));
                }
                pause = (2 * pause).min(LONGEST_PAUSE);
            }
            tally
        })
    }

    fn start(watch: impl FnOnce(&Receiver<()>) -> Tally + Send + 'static) -> io::Result<Self> {
        let (on, asked) = mpsc::channel();
        let thread = thread::Builder::new().spawn(move || watch(&asked))?;
        Ok(Self { on, thread })
    }

    /// Ends, and returns the loops, those that took most time first.
    pub fn end(self) -> Vec<WaitingLoop> {
        drop(self.on);
        self.thread.join().map_or_else(|_| Vec::new(), Tally::loops)
    }
}

/// Waits for some time; returns whether the watch still goes on then.
fn stays(on: &Receiver<()>, time: Duration) -> bool {
    matches!(on.recv_timeout(time), Err(RecvTimeoutError::Timeout))
}

/// Where samples were.
#[derive(Default)]
struct Tally {
    by_address: HashMap<(u32, u64), Option<usize>>,
    loops: Vec<WaitingLoop>,
}

impl Tally {
    /// Adds a sample that stands for so many.
    fn add(&mut self, sample: Sample, share: u64) {
        let key = (sample.pid, sample.address);
        let known = self.by_address.get(&key).copied();
        let place = known.unwrap_or_else(|| {
            let place = find(sample).map(|found| self.place(found));
            self.by_address.insert(key, place);
            place
        });
        if let Some(place) = place {
            let found = &mut self.loops[place];
            found.cpu = found.cpu + Nanos(PERIOD_NANOS * share);
            found.samples += 1;
        }
    }

    fn place(&mut self, (module, offset): (String, u64)) -> usize {
        let known = |found: &WaitingLoop| found.offset == offset && found.module == module;
        if let Some(place) = self.loops.iter().position(known) {
            return place;
        }
        self.loops.push(WaitingLoop {
            module,
            offset,
            cpu: Nanos(0),
            samples: 0,
        });
        self.loops.len() - 1
    }

    fn loops(mut self) -> Vec<WaitingLoop> {
        let key = |found: &WaitingLoop| {
            (
                std::cmp::Reverse(found.cpu),
                found.module.clone(),
                found.offset,
            )
        };
        self.loops.retain(WaitingLoop::is_told);
        self.loops.sort_by_key(key);
        self.loops
    }
}

/// Returns the file and offset of the waiting loop that a sample is in.
fn find(sample: Sample) -> Option<(String, u64)> {
    let memory = File::open(format!("/proc/{}/mem", sample.pid)).ok()?;
    let first = sample.address.checked_sub(AROUND)?;
    let mut code = [0; 2 * AROUND as usize];
    let length = memory.read_at(&mut code, first).ok()?;
    let begin = waiting_loop(&code[..length], AROUND as usize)?;
    let maps = fs::read_to_string(format!("/proc/{}/maps", sample.pid)).ok()?;
    maps.lines()
        .find_map(|line| module_of(line, first + begin as u64))
}

/// Takes a line such as `55d0-55d4 r-xp 00002000 fe:01 1234  /usr/bin/prog`.
fn module_of(line: &str, address: u64) -> Option<(String, u64)> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = (number(start)?, number(end)?);
    let offset = number(fields.nth(1)?)?;
    let path = fields.last()?.trim_start();
    (path.starts_with('/') && (start..end).contains(&address))
        .then(|| (path.to_owned(), address - start + offset))
}

/// Adds the loops to a trace's call sites, so that it is known where they are in the source.
pub fn add_sites(trace: &mut Trace, loops: &[WaitingLoop]) -> Vec<SiteId> {
    loops
        .iter()
        .map(|found| {
            let known = |module: &Module| module.path == found.module;
            let module = trace.modules.iter().position(known).unwrap_or_else(|| {
                trace.modules.push(Module {
                    path: found.module.clone(),
                    build_id: None,
                });
                trace.modules.len() - 1
            });
            trace.sites.push(CallSite {
                module: ModuleId::from_index(module),
                offset: found.offset,
                caller: None,
            });
            SiteId::from_index(trace.sites.len() - 1)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_in_which_messages_are_waited_for_are_not_told() {
        let found = |module: &str, samples| WaitingLoop {
            module: module.to_owned(),
            offset: 0,
            cpu: Nanos(1),
            samples,
        };
        let told = |module, samples| found(module, samples).is_told();
        assert!(told("/usr/bin/prog", SEEN_OFTEN) && told("/usr/lib/libmpv.so.2", SEEN_OFTEN));
        assert!(!told("/usr/bin/prog", SEEN_OFTEN - 1));
        assert!(!told("/usr/lib/libmpich.so.12.2.2", SEEN_OFTEN));
        assert!(!told("/usr/lib/openmpi/lib/libmpi.so.40", SEEN_OFTEN));
    }

    #[test]
    fn an_address_is_found_in_the_file_that_was_mapped_there() {
        let line = "55d000-55d400 r-xp 00002000 fe:01 1234                       /usr/bin/my prog";
        let found = module_of(line, 0x55_d010);
        assert_eq!(found, Some(("/usr/bin/my prog".to_owned(), 0x2010)));
        assert_eq!(module_of(line, 0x55_d400), None);
        assert_eq!(module_of("7ff000-7ff400 rw-p 0 00:00 0 ", 0x7f_f010), None);
    }
}
