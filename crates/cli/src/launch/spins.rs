//! Finds loops that wait for memory to change while a program runs: spinning that no call tells of; and which turns of threads ended there.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io,
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use foretrace_mpi::passes_messages;
use foretrace_trace::{
    CallSite, Module, ModuleId, Nanos, SiteId, Trace,
    spins::{Seen as SeenThreads, Turn, take_out},
};

use super::{
    metronome::{Metronome, cost_of_beat},
    naps::{Napping, Naps, samples_of_all},
    running::{LongTurns, all_threads},
    samples::{Pace, Samples, Seen, Sight, cost_of_turn, share_of_samples},
    waiting::{Loops, Place},
    watched::{self, Turns},
};

/// How often samples are looked at. The program must still be there then.
pub const INTERVAL: Duration = Duration::from_millis(20);

/// How long a program that is not watched all the time is left alone at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(15);
const LONGEST_PAUSE: Duration = Duration::from_millis(800);

/// Between these, it is left alone for this share of the time that it has run: what spins is noticed before it has spun for much of the run,
/// and a program of some seconds is looked at for a twentieth of the time. While it is looked at, a program with several threads that compute takes 2 % longer.
const PAUSE_SHARE: u32 = 2;

/// A loop that is seen less often than this may be one that waits for an instant before it sleeps.
const SEEN_OFTEN: u32 = 3;

/// A program in which no thread was seen in such a loop for so many intervals is not looked at closely any longer.
const QUIET: u32 = 50;

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
    /// Whether it goes on by itself when it has waited long enough.
    is_bounded: bool,
    /// Whether it was told by running its code on, which may be wrong.
    is_likely: bool,
    /// How often a thread was seen in it, and in or out of it at its next sample, with nobody else on the CPU in between.
    stayed: u32,
    left: u32,
}

/// A loop that threads leave by themselves in more than one in so many samples does not wait.
const LEAVES: u32 = 8;

/// Less often than this may be chance: somebody else may have had the CPU for a moment in between.
const LEFT: u32 = 2;

impl WaitingLoop {
    /// Returns whether it is worth telling.
    fn is_told(&self) -> bool {
        self.samples >= SEEN_OFTEN && self.is_of_program() && self.waits()
    }

    /// Returns whether it waits: on one CPU, nobody changes what a thread looks at while that has the CPU.
    fn waits(&self) -> bool {
        !self.is_likely || self.left < LEFT || self.is_mostly_stayed_in()
    }

    /// Returns whether a thread stays in it until it loses the CPU, unless others have changed what it looks at: it does not go on by itself, or not before
    /// that, as a few milliseconds of samples tell.
    fn keeps_threads(&self) -> bool {
        !self.is_bounded || self.stayed >= LEAVES && self.is_mostly_stayed_in()
    }

    /// Returns whether threads leave it by themselves in no more than one in so many samples.
    fn is_mostly_stayed_in(&self) -> bool {
        self.left.saturating_mul(LEAVES) <= self.stayed
    }

    /// Returns whether it is the program's. What libraries of MPI do while they wait is no work of it.
    fn is_of_program(&self) -> bool {
        let file = self.module.rsplit('/').next().unwrap_or_default();
        !passes_messages(file)
    }
}

/// What was found while a program ran.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The loops.
    places: Vec<WaitingLoop>,
    turns: Turns,
    costs: Costs,
}

/// What it takes to see threads' turns, and to end them, of their CPU time.
#[derive(Clone, Copy, Debug, Default)]
struct Costs {
    /// The share that samples take.
    share: f64,
    /// What each beat of a metronome takes, in nanoseconds.
    beat: f64,
    /// What each turn takes, in nanoseconds.
    turn: f64,
}

impl Found {
    /// Returns the loops that are worth telling, those that took most time first.
    pub fn loops(&self) -> Vec<WaitingLoop> {
        let key = |found: &WaitingLoop| {
            (
                std::cmp::Reverse(found.cpu),
                found.module.clone(),
                found.offset,
            )
        };
        let told = self.places.iter().filter(|found| found.is_told());
        let mut loops: Vec<WaitingLoop> = told.cloned().collect();
        loops.sort_by_key(key);
        loops
    }

    /// Takes what threads were seen to spend in the loops out of a trace whose time began at this one. Returns how much that was.
    pub fn take_out(&self, trace: &mut Trace, start: Nanos) -> Nanos {
        let mut sites = HashMap::new();
        let mut turns = BTreeMap::new();
        for (tid, own) in self.turns.of_threads() {
            let mut site_of = |place: usize| {
                let add = || {
                    add_sites(trace, &self.places[place..=place])
                        .first()
                        .copied()
                };
                *sites.entry(place).or_insert_with(add)
            };
            let turn = |turn: &watched::Turn| {
                let place = turn.place.filter(|&place| self.places[place].waits());
                Turn {
                    on: Nanos(turn.on).since(start),
                    off: Nanos(turn.off).since(start),
                    looked: place.map_or(Nanos(0), |_| Nanos(turn.looked)),
                    site: place.and_then(&mut site_of),
                    seeing: self.costs.of(turn),
                }
            };
            turns.insert(tid, own.iter().map(turn).collect());
        }
        let since_start = |&at: &u64| Nanos(at).since(start);
        let waited = self.turns.waited();
        let waited = waited.map(|(tid, times)| (tid, times.iter().map(since_start).collect()));
        let seen = SeenThreads {
            turns,
            waited: waited.collect(),
            period: Nanos(Pace::Closely.period()),
        };
        take_out(trace, &seen)
    }
}

impl Costs {
    /// Returns what a turn had of its CPU time for that.
    fn of(self, turn: &watched::Turn) -> Nanos {
        let length = turn.off.saturating_sub(turn.on) * u64::from(turn.is_sampled);
        let samples = length as f64 * self.share;
        let beat = if turn.is_beaten { self.beat } else { 0.0 };
        #[expect(clippy::cast_sign_loss, reason = "no cost is negative")]
        let nanos = (samples + beat + self.turn) as u64;
        Nanos(nanos)
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
        Self::start(cpu, move |on, tally| {
            tally.found.turns.set_samples(true);
            while stays(on, INTERVAL) {
                tally.take_closely(&mut samples);
            }
            tally.take_closely(&mut samples);
        })
    }

    /// Begins to look now and then at a program that runs on a CPU, and at those that it starts: where several threads want the
    /// CPU, which one that spins takes from the others, those that keep it for long. Where that is not so, it costs nothing; of others a look
    /// would make each switch between threads some microseconds longer, in a virtual machine. When threads get the CPU and lose it is seen from when
    /// they take many naps on, as long as they do not switch too often, since it makes each switch some 3 us longer, too.
    ///
    /// # Errors
    ///
    /// Where there can be no further thread.
    pub fn now_and_then(cpu: u32, pid: u32, naps: Naps) -> io::Result<Self> {
        Self::start(cpu, move |on, tally| {
            let mut since = Instant::now();
            let mut pause = FIRST_PAUSE;
            let mut turns = LongTurns::default();
            let mut napping = Napping::of(naps, (cpu, pid));
            while napping.watch_for(pause, on, &mut tally.found.turns) {
                let threads = turns.threads(pid);
                if !threads.is_empty()
                    && let Ok(mut samples) = Samples::of_threads(cpu, &threads, Pace::Loosely)
                {
                    let goes_on = napping.watch_for(INTERVAL, on, &mut tally.found.turns);
                    let share = (pause + INTERVAL).as_millis() / INTERVAL.as_millis();
                    let found = tally.take(&mut samples, Pace::Loosely.period() * share as u64);
                    if found > 1 && goes_on {
                        drop(samples);
                        napping.leave_off(&mut tally.found.turns);
                        tally.watch_closely(on, pid);
                        // Who spun may spin again.
                        since = Instant::now();
                    }
                }
                pause = (since.elapsed() / PAUSE_SHARE).clamp(FIRST_PAUSE, LONGEST_PAUSE);
            }
        })
    }

    fn start(
        cpu: u32,
        watch: impl FnOnce(&Receiver<()>, &mut Tally) + Send + 'static,
    ) -> io::Result<Self> {
        let (on, asked) = mpsc::channel();
        let thread = thread::Builder::new().spawn(move || {
            let mut tally = Tally::on(cpu);
            watch(&asked, &mut tally);
            tally.found.turns.find_short_works();
            tally.measure_costs();
            tally
        })?;
        Ok(Self { on, thread })
    }

    /// Ends, and returns what was found.
    pub fn end(self) -> Found {
        drop(self.on);
        let tally = self.thread.join();
        tally.map(|tally| tally.found).unwrap_or_default()
    }
}

/// Waits for some time; returns whether the watch still goes on then.
pub fn stays(on: &Receiver<()>, time: Duration) -> bool {
    matches!(on.recv_timeout(time), Err(RecvTimeoutError::Timeout))
}

/// Where samples were.
struct Tally {
    /// The CPU that is looked at.
    cpu: u32,
    loops: Loops,
    /// When each thread was seen last, by its number, and in which loop.
    last: HashMap<u32, (u64, Option<usize>)>,
    found: Found,
    /// Ends turns while threads spin.
    metronome: Option<Metronome>,
    /// For how many intervals none was seen to.
    quiet: u32,
}

impl Tally {
    fn on(cpu: u32) -> Self {
        Self {
            cpu,
            loops: Loops::default(),
            last: HashMap::new(),
            found: Found::default(),
            metronome: None,
            quiet: 0,
        }
    }

    /// Looks at a program closely until no thread of it spins any longer.
    fn watch_closely(&mut self, on: &Receiver<()>, pid: u32) {
        let Some(mut samples) = samples_of_all(self.cpu, pid, Pace::Closely) else {
            return;
        };
        self.found.turns.set_samples(true);
        self.quiet = 0;
        while self.quiet < QUIET && stays(on, INTERVAL) {
            self.take_closely(&mut samples);
        }
        self.take_closely(&mut samples);
        self.found.turns.look_away();
        self.found.turns.set_samples(false);
    }

    /// Takes samples and turns. While some of the former are in loops of the program's out of which nothing but others leads for long, a metronome
    /// beats.
    fn take_closely(&mut self, samples: &mut Samples) {
        let (mut seen, mut stuck) = (0, 0);
        let mut processes = BTreeSet::new();
        for sight in self.sights(samples) {
            processes.insert(sight.pid);
            let place = self.add(sight, [Pace::Closely.period(); 2]);
            if let Seen::Off(false) = sight.seen {
                self.leave(sight, Pace::Closely.period());
            }
            let keeps = place.map(|place| self.found.places[place].keeps_threads());
            seen += u32::from(keeps.is_some());
            stuck += u32::from(keeps == Some(true));
            self.found.turns.add(sight, place, keeps == Some(false));
        }
        self.quiet = if seen == 0 { self.quiet + 1 } else { 0 };
        if stuck > 0 && self.metronome.is_none() {
            let threads: BTreeSet<u32> = processes.into_iter().flat_map(all_threads).collect();
            let threads: Vec<u32> = threads.into_iter().collect();
            samples.see_leaving(self.cpu, &threads);
            self.metronome = Metronome::start(self.cpu).ok();
        } else if self.quiet >= QUIET {
            samples.forget_leaving();
            self.metronome = None;
        }
        self.found.turns.set_beats(self.metronome.is_some());
    }

    /// Measures what it took to see what was seen.
    fn measure_costs(&mut self) {
        self.metronome = None;
        let turns = &self.found.turns;
        if turns.of_threads().any(|(_, turns)| !turns.is_empty()) {
            self.found.costs.turn = cost_of_turn(self.cpu);
        }
        if turns.any_spins() {
            self.found.costs.share = share_of_samples();
        }
        if turns.any_beaten() {
            self.found.costs.beat = cost_of_beat(self.cpu);
        }
    }

    /// Takes samples, each of which stands for so much time; returns how many were in a loop of the program's.
    fn take(&mut self, samples: &mut Samples, nanos: u64) -> u32 {
        let sights = self.sights(samples).into_iter();
        let found = sights.filter_map(|sight| self.add(sight, [Pace::Loosely.period(), nanos]));
        found.count() as u32
    }

    /// Takes what was seen, and finds the loops in that which wait.
    fn sights(&mut self, samples: &mut Samples) -> Vec<Sight> {
        let mut sights = Vec::new();
        samples.take(|sight| sights.push(sight));
        let places = &mut self.found.places;
        self.loops.find(&sights, |place| number_of(places, place));
        sights
    }

    /// Adds a sample, of those that are so far apart and stand for so much time; returns the loop of the program's that it is in.
    fn add(&mut self, sight: Sight, [period, nanos]: [u64; 2]) -> Option<usize> {
        let (Seen::At(address) | Seen::Leaves(address)) = sight.seen else {
            return None;
        };
        let places = &mut self.found.places;
        let place = self
            .loops
            .at((sight.pid, address), |place| number_of(places, place));
        if matches!(sight.seen, Seen::At(_)) {
            self.follow(sight, place, period);
        }
        let place = place.filter(|&place| self.found.places[place].waits())?;
        let found = &mut self.found.places[place];
        if matches!(sight.seen, Seen::At(_)) {
            found.cpu = found.cpu + Nanos(nanos);
            found.samples += 1;
        }
        found.is_of_program().then_some(place)
    }
}

/// The last sample of a thread with nobody else on the CPU in between is no more than this percentage of the time between samples ago.
const SAME_TURN: u64 = 110;

impl Tally {
    /// Notes whether a thread that was in a loop is there still, if it alone had the CPU in between.
    fn follow(&mut self, sight: Sight, place: Option<usize>, period: u64) {
        let last = self.last.insert(sight.tid, (sight.at, place));
        if let Some((then, Some(before))) = last
            && sight.at.saturating_sub(then) * 100 <= period * SAME_TURN
        {
            let found = &mut self.found.places[before];
            if place == Some(before) {
                found.stayed += 1;
            } else {
                found.left += 1;
            }
        }
    }

    /// Notes that a thread begins to wait for something. If it was in a loop right before that goes on by itself, it did so; unless a metronome may have let others
    /// end its wait meanwhile.
    fn leave(&mut self, sight: Sight, period: u64) {
        if self.metronome.is_none()
            && let Some((then, Some(before))) = self.last.remove(&sight.tid)
            && sight.at.saturating_sub(then) * 100 <= period * SAME_TURN
        {
            let found = &mut self.found.places[before];
            found.left += u32::from(found.is_bounded);
        }
    }
}

/// Returns the number of the loop at a place.
fn number_of(loops: &mut Vec<WaitingLoop>, place: Place) -> usize {
    let known = |found: &WaitingLoop| found.offset == place.offset && found.module == place.module;
    loops.iter().position(known).unwrap_or_else(|| {
        loops.push(WaitingLoop {
            module: place.module,
            offset: place.offset,
            cpu: Nanos(0),
            samples: 0,
            is_bounded: place.is_bounded,
            is_likely: place.is_likely,
            stayed: 0,
            left: 0,
        });
        loops.len() - 1
    })
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
            let site = CallSite {
                module: ModuleId::from_index(module),
                offset: found.offset,
                caller: None,
            };
            let known = trace.sites.iter().position(|known| *known == site);
            SiteId::from_index(known.unwrap_or_else(|| {
                trace.sites.push(site);
                trace.sites.len() - 1
            }))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_threads_leave_by_themselves_does_not_wait() {
        let told = |is_likely, (stayed, left)| {
            let found = WaitingLoop {
                module: "/usr/bin/prog".to_owned(),
                offset: 0,
                cpu: Nanos(1),
                samples: SEEN_OFTEN,
                is_bounded: false,
                is_likely,
                stayed,
                left,
            };
            found.is_told()
        };
        assert!(told(true, (80, 0)) && told(true, (80, 10)) && told(true, (0, 1)));
        assert!(!told(true, (80, 11)));
        // Their code tells that they wait, whatever was seen.
        assert!(told(false, (80, 11)));
    }

    #[test]
    fn loops_in_which_messages_are_waited_for_are_not_told() {
        let found = |module: &str, samples| WaitingLoop {
            module: module.to_owned(),
            offset: 0,
            cpu: Nanos(1),
            samples,
            is_bounded: false,
            is_likely: false,
            stayed: 0,
            left: 0,
        };
        let told = |module, samples| found(module, samples).is_told();
        assert!(told("/usr/bin/prog", SEEN_OFTEN) && told("/usr/lib/libmpv.so.2", SEEN_OFTEN));
        assert!(!told("/usr/bin/prog", SEEN_OFTEN - 1));
        assert!(!told("/usr/lib/libmpich.so.12.2.2", SEEN_OFTEN));
        assert!(!told("/usr/lib/openmpi/lib/libmpi.so.40", SEEN_OFTEN));
    }
}
