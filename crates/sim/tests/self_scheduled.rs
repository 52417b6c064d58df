//! Loops whose iterations threads take by an atomic counter, which no call tells, replayed on more CPUs.

use std::fmt::Write as _;

use foretrace_program::Program;
use foretrace_schedule::{Outcome, SimTime};
use foretrace_sim::{Costs, Machine, ModelKind, run};
use foretrace_testkit::trace;

const THREADS: usize = 4;
const ROUNDS: usize = 30;

/// The time that a thread has the CPU for at a time, in nanoseconds.
const SLICE: u64 = 1_000_000;

/// Numbers that look as if they came by chance, the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// What threads do between barriers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Each takes the next iteration, of 0.2 to 0.4 ms, of five for each thread.
    Taken,
    /// Each has five of these for itself.
    Dealt,
    /// As taken, but of each fifth round the thread that begins takes all.
    TakenByOne,
    /// As taken, but of most rounds the first takes all, as it has the CPU until none is left.
    TakenMostlyByOne,
    /// The same, and each iteration ends with a section of a lock.
    TakenInPieces,
    /// Each has five of these for itself.
    DealtInPieces,
    /// One of them, another each time, works; the others come to wait.
    Alone,
    /// In every second round the first does alone what all take in the others.
    TakenAndAlone,
}

impl Work {
    /// Returns what each thread has for itself in a round of such iterations.
    fn own(self, round: usize, list: &[u64]) -> Vec<u64> {
        let own = |thread: usize| match self {
            Self::Dealt | Self::DealtInPieces => list.iter().skip(thread).step_by(THREADS).sum(),
            Self::Alone if thread == round % THREADS => 3_000_000,
            Self::TakenAndAlone if thread == 0 && round % 2 == 1 => list.iter().sum(),
            _ => 0,
        };
        (0..THREADS).map(own).collect()
    }

    /// Returns whether a round's iterations are taken by whoever comes.
    fn is_taken(self, round: usize) -> bool {
        match self {
            Self::Taken | Self::TakenByOne | Self::TakenMostlyByOne | Self::TakenInPieces => true,
            Self::TakenAndAlone => round.is_multiple_of(2),
            Self::Dealt | Self::DealtInPieces | Self::Alone => false,
        }
    }

    fn is_in_pieces(self) -> bool {
        matches!(self, Self::TakenInPieces | Self::DealtInPieces)
    }

    fn is_mostly_by_one(self) -> bool {
        matches!(self, Self::TakenMostlyByOne | Self::TakenInPieces)
    }
}

/// Where they meet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meeting {
    Barrier,
    /// At a barrier that a library makes of a futex: the last one wakes the others.
    Futex,
    /// Their creator wakes each of them by a semaphore, and waits until the last has told it that all is done.
    Last,
    /// The same, where each tells it.
    Each,
}

impl Meeting {
    /// Returns whether their creator wakes them.
    fn has_master(self) -> bool {
        matches!(self, Self::Last | Self::Each)
    }
}

/// Declares threads and where they meet; the threads are created.
fn beginning(meeting: Meeting) -> String {
    let mut rows = String::from(
        "foretrace-text 1\nreturns explicit\nrecording command prog\nrecording cpu 0\nthread main\n",
    );
    (0..THREADS).for_each(|thread| writeln!(rows, "thread T{thread}").expect("it is memory"));
    let _ = match meeting {
        Meeting::Barrier => writeln!(rows, "barrier b {THREADS}"),
        Meeting::Futex => writeln!(rows, "futex b"),
        Meeting::Last | Meeting::Each => {
            (0..THREADS).for_each(|thread| {
                writeln!(rows, "semaphore g{thread} 0").expect("it is memory");
            });
            writeln!(rows, "semaphore b 0")
        }
    };
    for thread in 0..THREADS {
        let _ = writeln!(rows, "0 main create T{thread} cpu=0");
    }
    if meeting.has_master() {
        (0..THREADS).for_each(|thread| {
            writeln!(rows, "0 T{thread} sem_wait g{thread} cpu=0").expect("it is memory");
        });
    }
    rows
}

/// A recording on one CPU of threads that meet again and again; and all that they do, in nanoseconds.
fn recording(work: Work, meeting: Meeting) -> (Program, u64) {
    let mut chance = Chance(7);
    let mut rows = beginning(meeting);
    let (mut now, mut cpu, mut all) = (0, [0; THREADS], 0);
    for round in 0..ROUNDS {
        let mut list: Vec<u64> = (0..THREADS * 5)
            .map(|_| 200_000 + chance.below(200_000))
            .collect();
        let mut own = work.own(round, &list);
        let is_taken = work.is_taken(round);
        if !is_taken {
            list.clear();
        }
        let mut pieces = [0; THREADS];
        let is_by_one = work.is_mostly_by_one() && chance.below(10) < 7;
        if meeting.has_master() {
            (0..THREADS).for_each(|thread| {
                writeln!(rows, "{now} main sem_post g{thread} cpu=0").expect("it is memory");
            });
            let _ = writeln!(rows, "{now} main sem_wait b cpu=0");
            for (thread, cpu) in cpu.iter().enumerate() {
                let _ = writeln!(rows, "{now} T{thread} return cpu={cpu}");
            }
        }
        // They take turns, by chance who begins, until each has come.
        let mut ready: Vec<usize> = (0..THREADS).collect();
        let first = if work.is_mostly_by_one() {
            0
        } else {
            chance.below(THREADS as u64) as usize
        };
        ready.rotate_left(first);
        let mut waker = first;
        while !ready.is_empty() {
            let thread = ready.remove(0);
            let mut slice = SLICE / 2 + chance.below(SLICE);
            if work == Work::TakenByOne && round % 5 == 0 || is_by_one {
                slice = u64::MAX;
            }
            while slice > 0 {
                if own[thread] == 0 {
                    let Some(iteration) = list.pop() else {
                        break;
                    };
                    own[thread] = iteration;
                }
                let step = own[thread].min(slice);
                own[thread] -= step;
                slice -= step;
                now += step;
                cpu[thread] += step;
                all += step;
                pieces[thread] += step;
                let is_done = is_taken && own[thread] == 0 || pieces[thread] >= 300_000;
                if work.is_in_pieces() && is_done {
                    pieces[thread] = 0;
                    for call in ["lock", "unlock"] {
                        let _ = writeln!(rows, "{now} T{thread} {call} m cpu={}", cpu[thread]);
                    }
                }
            }
            if own[thread] == 0 && list.is_empty() {
                waker = thread;
                let call = match meeting {
                    Meeting::Barrier => "barrier_wait b".to_owned(),
                    Meeting::Futex if ready.is_empty() => format!("futex_wake b {}", THREADS - 1),
                    Meeting::Futex => "futex_wait b".to_owned(),
                    Meeting::Last | Meeting::Each => format!("sem_wait g{thread}"),
                };
                if meeting == Meeting::Each || meeting == Meeting::Last && ready.is_empty() {
                    let _ = writeln!(rows, "{now} T{thread} sem_post b cpu={}", cpu[thread]);
                }
                let _ = writeln!(rows, "{now} T{thread} {call} cpu={}", cpu[thread]);
            } else {
                ready.push(thread);
            }
        }
        if meeting.has_master() {
            let _ = writeln!(rows, "{now} main return cpu=0");
            for _ in 1..THREADS {
                if meeting == Meeting::Each {
                    let _ = writeln!(rows, "{now} main sem_wait b cpu=0");
                }
            }
            continue;
        }
        for (thread, cpu) in cpu.iter().enumerate() {
            if meeting == Meeting::Barrier || thread != waker {
                let _ = writeln!(rows, "{now} T{thread} return cpu={cpu}");
            }
        }
    }
    for (thread, cpu) in cpu.iter().enumerate() {
        if meeting.has_master() {
            let _ = writeln!(rows, "{now} main sem_post g{thread} cpu=0");
            let _ = writeln!(rows, "{now} T{thread} return cpu={cpu}");
        }
        let _ = writeln!(rows, "{now} T{thread} terminate cpu={cpu}");
    }
    let _ = writeln!(rows, "{now} main terminate cpu=0");
    (Program::from_trace(&trace(&rows)), all)
}

/// How many threads' worth of work goes on at a time, where each has a CPU and nothing else takes time.
fn speedup(program: &Program, all: u64) -> f64 {
    let machine = Machine {
        costs: Costs::default(),
        ..Machine::new(THREADS as u32, program)
    };
    let run = run(program, &machine, ModelKind::Direct);
    assert_eq!(run.outcome, Outcome::Completed);
    all as f64 / SimTime::as_nanos(run.end) as f64
}

#[test]
fn iterations_that_threads_take_are_dealt_out_evenly() {
    let meetings = [
        (Meeting::Barrier, "before they meet at barrier b:"),
        (Meeting::Futex, "before they meet at barrier barrier of b:"),
        (
            Meeting::Last,
            "each time that main wakes them and waits for them:",
        ),
        (
            Meeting::Each,
            "each time that main wakes them and waits for them:",
        ),
    ];
    for (meeting, place) in meetings {
        let (program, all) = recording(Work::Taken, meeting);
        let what = format!("what they do {place}");
        let told = |warning: &&String| {
            warning.starts_with("4 threads share out") && warning.contains(&what)
        };
        let count = program.warnings.iter().filter(told).count();
        assert_eq!(count, 1, "{:?}", program.warnings);
        let worked: u64 = program
            .operations
            .iter()
            .map(|operation| operation.work_nanos)
            .sum();
        assert_eq!(worked, all, "nothing is lost");
        // Five iterations of 0.3 ms each, and half of one that the last of all is at.
        let speedup = speedup(&program, all);
        assert!((3.5..3.85).contains(&speedup), "{speedup}");
    }
}

#[test]
fn who_takes_all_iterations_of_a_round_does_so_by_chance() {
    for meeting in [Meeting::Barrier, Meeting::Last, Meeting::Each] {
        let (program, all) = recording(Work::TakenByOne, meeting);
        let speedup = speedup(&program, all);
        assert!((3.5..3.85).contains(&speedup), "{speedup}");
    }
}

#[test]
fn few_rounds_in_which_several_take_some_tell_of_those_of_which_one_takes_all() {
    for work in [Work::TakenMostlyByOne, Work::TakenInPieces] {
        for meeting in [Meeting::Barrier, Meeting::Last, Meeting::Each] {
            let (program, all) = recording(work, meeting);
            let speedup = speedup(&program, all);
            assert!((3.3..3.85).contains(&speedup), "{speedup}");
            let told = program.warnings.concat();
            assert!(told.contains("dealt out evenly in 30 rounds"), "{told}");
        }
    }
}

#[test]
fn who_alone_does_as_much_again_and_again_has_it_for_itself() {
    let (program, all) = recording(Work::TakenAndAlone, Meeting::Barrier);
    assert!(!program.warnings.is_empty(), "every second round is taken");
    let speedup = speedup(&program, all);
    assert!((1.5..1.62).contains(&speedup), "{speedup}");
}

#[test]
fn what_each_has_for_itself_stays_with_it() {
    for meeting in [Meeting::Barrier, Meeting::Last, Meeting::Each] {
        // That the last one tells who waits for all, whoever that is, is not known: it may be another.
        let dealt = if meeting == Meeting::Last { 3.9 } else { 3.7 };
        let works = [
            (Work::Dealt, 3.2, dealt),
            (Work::DealtInPieces, 3.2, dealt),
            (Work::Alone, 0.99, 1.01),
        ];
        for (work, least, most) in works {
            let (program, all) = recording(work, meeting);
            assert_eq!(program.warnings, [""; 0]);
            let speedup = speedup(&program, all);
            assert!((least..most).contains(&speedup), "{speedup}");
        }
    }
}
