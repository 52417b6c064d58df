//! Finds loops that wait for memory to change while a program runs: spinning that no call tells of.

use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    os::unix::fs::FileExt as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use foretrace_trace::{CallSite, Module, ModuleId, Nanos, SiteId, Trace};

use super::{
    loops::waiting_loop,
    samples::{PERIOD_NANOS, Sample, Samples},
};

/// How often samples are looked at. The program must still be there then.
const INTERVAL: Duration = Duration::from_millis(20);

/// As many bytes on both sides of a sample are looked at.
const AROUND: u64 = 128;

/// A loop that waits, and for how long it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingLoop {
    /// The file that it is in.
    pub module: String,
    /// Its first instruction's offset in that file.
    pub offset: u64,
    /// The CPU time spent in it.
    pub cpu: Nanos,
}

/// Watches a program; [`Watch::end`] tells what was found.
pub struct Watch {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Tally>,
}

impl Watch {
    /// Begins to watch the next program that this thread starts, which is to be pinned to a CPU.
    ///
    /// # Errors
    ///
    /// Where the kernel does not allow it.
    pub fn start(cpu: u32) -> io::Result<Self> {
        let mut samples = Samples::of_next_child(cpu)?;
        let over = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&over);
        let thread = thread::Builder::new().spawn(move || {
            let mut tally = Tally::default();
            while !asked.load(Ordering::Relaxed) {
                thread::sleep(INTERVAL);
                samples.take(|sample| tally.add(sample));
            }
            tally
        })?;
        Ok(Self { over, thread })
    }

    /// Ends, and returns the loops, those that took most time first.
    pub fn end(self) -> Vec<WaitingLoop> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().map_or_else(|_| Vec::new(), Tally::loops)
    }
}

/// Where samples were.
#[derive(Default)]
struct Tally {
    by_address: HashMap<(u32, u64), Option<usize>>,
    loops: Vec<WaitingLoop>,
}

impl Tally {
    fn add(&mut self, sample: Sample) {
        let key = (sample.pid, sample.address);
        let known = self.by_address.get(&key).copied();
        let place = known.unwrap_or_else(|| {
            let place = find(sample).map(|found| self.place(found));
            self.by_address.insert(key, place);
            place
        });
        if let Some(place) = place {
            self.loops[place].cpu = self.loops[place].cpu + Nanos(PERIOD_NANOS);
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
    fn an_address_is_found_in_the_file_that_was_mapped_there() {
        let line = "55d000-55d400 r-xp 00002000 fe:01 1234                       /usr/bin/my prog";
        let found = module_of(line, 0x55_d010);
        assert_eq!(found, Some(("/usr/bin/my prog".to_owned(), 0x2010)));
        assert_eq!(module_of(line, 0x55_d400), None);
        assert_eq!(module_of("7ff000-7ff400 rw-p 0 00:00 0 ", 0x7f_f010), None);
    }
}
