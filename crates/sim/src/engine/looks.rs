//! Threads that look at memory while they wait: they keep their CPUs as long as the scheduler lets them, and find out at once what they wait
//! for only while they have one.

use foretrace_program::Action;
use foretrace_schedule::{State, WaitKind};

use super::{Engine, Rung};
use crate::{
    core::{Cause, Status},
    models::Model,
    observer::Observer,
};

/// More work than anybody does, in picoseconds: two weeks of it.
const ENDLESS: u64 = 1 << 60;

/// What a thread sees that looks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// What it waits for is there.
    Done,
    /// It may be there for whoever comes first.
    TryAgain,
}

impl<M: Model, O: Observer> Engine<'_, M, O> {
    /// A thread looks until what it waits for is there.
    pub(super) fn look(&mut self, thread: u32, kind: WaitKind, cause: Cause) {
        let now = self.core.now;
        let event = self.core.event(thread);
        let state = &mut self.core.threads[thread as usize];
        state.looks = true;
        state.since = now;
        state.work_left = ENDLESS;
        let blocked = State::Blocked(kind);
        self.observer
            .state(thread, now, blocked, cause.object(), event);
        self.arm(thread);
    }

    /// What a thread looks for is there, or may be: it goes on, or tries again, once it has a CPU.
    pub(super) fn sees(&mut self, thread: u32, seen: Seen) {
        let now = self.core.now;
        let has_cpu = self.core.threads[thread as usize].status == Status::Running;
        if has_cpu {
            self.account(thread);
        }
        let state = &mut self.core.threads[thread as usize];
        state.looks = false;
        let cpu = state.cpu;
        match seen {
            Seen::Done => self.core.advance(thread),
            Seen::TryAgain => state.work_left = 0,
        }
        let event = self.core.event(thread);
        if has_cpu {
            let running = State::Running(cpu);
            self.observer.state(thread, now, running, None, event);
            self.alarms.cancel(cpu);
            self.arm(thread);
        } else {
            self.observer.state(thread, now, State::Ready, None, event);
        }
    }

    /// Nobody is left whom those that look could wait for. What each of them waits for is an assumption: where no further model is to be
    /// tried, they go on.
    pub(super) fn look_in_vain(&mut self) -> Rung {
        if !M::IS_LAST {
            self.is_stuck = true;
            return Rung::Nothing;
        }
        let mut any_goes_on = false;
        for thread in 0..self.core.threads.len() as u32 {
            if self.core.threads[thread as usize].looks
                && let Action::Await(gate) = self.core.action(thread)
            {
                self.core.open_gate(gate, thread);
                self.release_others(thread);
                any_goes_on = true;
            }
        }
        if any_goes_on {
            return Rung::Changed;
        }
        self.is_stuck = true;
        Rung::Nothing
    }

    /// Returns whether anything can still happen but threads looking at memory.
    pub(super) fn anyone_works(&self) -> bool {
        let works = |status| matches!(status, Status::Ready | Status::Waking | Status::Running);
        let mut threads = self.core.threads.iter();
        self.alarms.has_delays() || threads.any(|state| works(state.status) && !state.looks)
    }
}

#[cfg(test)]
mod tests {
    use foretrace_program::Program;
    use foretrace_schedule::{Outcome, SimTime};
    use foretrace_testkit as testkit;

    use crate::{Choice, Machine, ModelKind, predict};

    fn program(rows: &str) -> Program {
        let head = "foretrace-text 1\nunit 1ms\nreturns explicit\nprocess A\nprocess B\n0 A create B cpu=0\n";
        Program::from_trace(&testkit::trace(&format!("{head}{rows}")))
    }

    fn millis(program: &Program, cpus: u32) -> f64 {
        let prediction = predict(program, &Machine::new(cpus, program), Choice::Auto);
        let run = prediction.answer().expect("it ends");
        run.end.0 as f64 / SimTime::from_nanos(1_000_000).0 as f64
    }

    #[test]
    fn who_looks_keeps_the_cpu_until_its_slice_is_over() {
        // While A is off the CPU, B does all of its two milliseconds of work: A is let go on in the middle of it.
        let program = program(
            "1 A spin looked=3 cpu=1\n6 B terminate cpu=2\n6 A return cpu=1\n7 A terminate cpu=2\n",
        );
        assert_eq!(millis(&program, 2).to_bits(), 2.0_f64.to_bits());
        // On one it looks for its three milliseconds, as it did in the recording.
        assert_eq!(millis(&program, 1).to_bits(), 7.0_f64.to_bits());
    }

    #[test]
    fn who_looks_for_a_while_and_goes_on_does_so_on_one_cpu() {
        let program =
            program("4 A linger looked=3 cpu=1\n5 A terminate cpu=2\n7 B terminate cpu=2\n");
        assert_eq!(millis(&program, 1).to_bits(), 7.0_f64.to_bits());
        assert_eq!(millis(&program, 2).to_bits(), 2.0_f64.to_bits());
    }

    /// Lists a recording of two threads that work for so many microseconds each and meet, again and again, in turns of 100 us on one CPU.
    fn meeting(phases: &[[u64; 2]]) -> Program {
        const TURN: u64 = 100;
        let head = "foretrace-text 1\nrecording command prog\nunit 1us\nreturns explicit\nprocess A\nprocess B\n0 A create B cpu=0";
        let mut rows = vec![head.to_owned()];
        let mut row = |row: String| rows.push(row);
        let (mut now, mut round, mut left, mut cpu) = (0, [0, 0], phases[0], [0, 0]);
        // Until which of the rounds each has come, and whether it spins.
        let mut spins = [false, false];
        while round != [phases.len(); 2] {
            for (own, name) in ["A", "B"].into_iter().enumerate() {
                let mut turn = TURN;
                while turn > 0 && round[own] < phases.len() {
                    let is_first = left[own] == 0
                        && (round[1 - own] < round[own]
                            || round[1 - own] == round[own] && left[1 - own] > 0);
                    if std::mem::take(&mut spins[own]) {
                        row(format!("{now} {name} return cpu={}", cpu[own]));
                    }
                    if is_first {
                        row(format!("{now} {name} spin looked={turn} cpu={}", cpu[own]));
                        spins[own] = true;
                        (now, turn) = (now + turn, 0);
                    } else if left[own] == 0 {
                        round[own] += 1;
                        left[own] = phases.get(round[own]).map_or(0, |phase| phase[own]);
                    } else {
                        let worked = turn.min(left[own]);
                        (now, turn) = (now + worked, turn - worked);
                        (left[own], cpu[own]) = (left[own] - worked, cpu[own] + worked);
                        if turn == 0 {
                            row(format!("{now} {name} linger looked=0 cpu={}", cpu[own]));
                        }
                    }
                }
            }
        }
        for (name, cpu) in ["A", "B"].into_iter().zip(cpu) {
            now += 1;
            row(format!("{now} {name} terminate cpu={cpu}"));
        }
        Program::from_trace(&testkit::trace(&rows.join("\n")))
    }

    #[test]
    fn threads_that_meet_by_looking_wait_for_each_other() {
        // By turns one works for 3 ms and the other for 0.8.
        let phases: Vec<[u64; 2]> = (0..20)
            .map(|round| {
                if round % 2 == 0 {
                    [3_000, 800]
                } else {
                    [800, 3_000]
                }
            })
            .collect();
        let program = meeting(&phases);
        let two = millis(&program, 2);
        assert!((58.0..63.0).contains(&two), "{two}");
        // On one each looks until the clock ticks, every 4 ms, and works for 3.8 in each turn.
        let one = millis(&program, 1);
        assert!((76.0..84.0).contains(&one), "{one}");
        // One that is always slow never looks in the recording; on one CPU it comes to some meetings first.
        let program = meeting(&[[2_500, 500]; 20]);
        let (one, two) = (millis(&program, 1), millis(&program, 2));
        assert!((49.0..53.0).contains(&two), "{two}");
        assert!(one > 55.0, "{one}");
    }

    #[test]
    fn threads_that_look_for_what_cannot_come_are_a_deadlock() {
        // On two CPUs A has the mutex first, and B, which it waits for, never gets it.
        let program = program(
            "2 B lock m cpu=2\n3 B unlock m cpu=3\n3.5 A lock m cpu=0.5\n4 A spin looked=1 cpu=1\n\
             7 B terminate cpu=5\n7 A return cpu=1\n7.5 A unlock m cpu=1.5\n8 A terminate cpu=2\n",
        );
        let prediction = predict(&program, &Machine::new(2, &program), Choice::Auto);
        let first = &prediction.attempts[0];
        assert_eq!(first.model, ModelKind::Direct);
        assert!(matches!(first.run.outcome, Outcome::Deadlock(_)));
        // The order of the recording does not help: there A looks for B, which waits for A. It goes on all the same.
        assert!(prediction.answer().is_some());
    }
}
