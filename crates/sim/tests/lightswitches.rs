//! Lightswitches, replayed on more CPUs.

use foretrace_program::{Pattern, Program};
use foretrace_schedule::{Outcome, SimTime};
use foretrace_sim::{Costs, Machine, ModelKind, run};
use foretrace_testkit::trace;

/// How a token of the room is taken and given.
#[derive(Clone, Copy)]
struct Room {
    object: &'static str,
    takes: &'static str,
    gives: &'static str,
}

const SEMAPHORE: Room = Room {
    object: "semaphore room 1",
    takes: "sem_wait room",
    gives: "sem_post room",
};

const MUTEX: Room = Room {
    object: "mutex room",
    takes: "lock room",
    gives: "unlock room",
};

/// The rows of one CPU's recording.
#[derive(Default)]
struct Rows {
    text: Vec<String>,
    now: u64,
    cpu: [u64; 3],
}

impl Rows {
    fn add(&mut self, thread: usize, work: u64, what: &[&str]) {
        self.now += work;
        self.cpu[thread] += work;
        let name = ["A", "B", "W"][thread];
        let (now, cpu) = (self.now, self.cpu[thread]);
        let rows = what
            .iter()
            .map(|what| format!("{now} {name} {what} cpu={cpu}"));
        self.text.extend(rows);
    }
}

/// A recording of two readers, A first and B last to leave each time, and a writer.
fn readers_and_writer(room: Room, odd: bool) -> Program {
    const COMES: &str = "lock m site=prog+0x10";
    const GOES: &str = "lock m site=prog+0x20";
    let mut rows = Rows::default();
    for round in 0..4 {
        rows.add(0, 50, &[COMES, room.takes, "unlock m"]);
        rows.add(1, 300, &[COMES, "unlock m"]);
        rows.add(0, 100, &[GOES, "unlock m"]);
        rows.add(1, 100, &[GOES, room.gives, "unlock m"]);
        rows.add(2, 520, &[room.takes]);
        rows.add(2, 20, &[room.gives]);
        if odd && round == 2 {
            rows.add(2, 0, &[COMES, "unlock m"]);
        }
    }
    (0..3).for_each(|thread| rows.add(thread, 0, &["terminate"]));
    let text = format!(
        "foretrace-text 1\nreturns explicit\nrecording command prog\nrecording cpu 0\nmodule prog /prog\nsite prog+0x10\nsite prog+0x20\n\
         thread main\nthread A\nthread B\nthread W\nmutex m\n{}\n0 main create A cpu=0\n0 main create B cpu=0\n0 main create W cpu=0\n\
         0 main terminate cpu=0\n{}\n",
        room.object,
        rows.text.join("\n"),
    );
    Program::from_trace(&trace(&text))
}

/// When each thread ends where every thread has a CPU, and nothing but work takes time.
fn ends(program: &Program) -> Vec<u64> {
    let machine = Machine {
        costs: Costs::default(),
        ..Machine::new(4, program)
    };
    let run = run(program, &machine, ModelKind::Direct);
    assert_eq!(run.outcome, Outcome::Completed);
    let ends = run.finish.into_iter().flatten();
    ends.map(SimTime::as_nanos).collect()
}

#[test]
fn whoever_is_first_takes_the_room_for_all() {
    for room in [SEMAPHORE, MUTEX] {
        let program = readers_and_writer(room, false);
        assert_eq!(program.structures[0].pattern, Some(Pattern::Lightswitch));
        // A is first once, B often; the writer waits for A once, and for B once.
        assert_eq!(ends(&program), [0, 600, 1600, 2300], "{}", room.object);
    }
}

#[test]
fn a_lock_under_which_a_first_one_takes_nothing_is_no_lightswitch() {
    let program = readers_and_writer(SEMAPHORE, true);
    assert_eq!(program.structures, []);
}
