//! Threads that tell each other different things on one condition variable, replayed on more CPUs.

use foretrace_program::Program;
use foretrace_schedule::{Outcome, SimTime};
use foretrace_sim::{Costs, Machine, ModelKind, run};
use foretrace_testkit::trace;

/// A recording of a thread that asks another for something, once, and waits until that is done: the other one takes 100 us, and the first works for 6 us before
/// it asks, as the other begins to wait.
const ASKS_ONCE: &str = "foretrace-text 1
returns explicit
recording command prog
recording cpu 0
thread main
thread T1
mutex m
cond c
0 main create T1 cpu=0
1000 T1 lock m site=prog+0x10 cpu=1000
1000 T1 cond_wait c m site=prog+0x18 cpu=1000
7000 main lock m site=prog+0x20 cpu=6000
7000 main unlock m site=prog+0x28 cpu=6000
7000 main cond_broadcast c site=prog+0x30 cpu=6000
7000 T1 return cpu=1000
7000 T1 unlock m site=prog+0x38 cpu=1000
8000 main lock m site=prog+0x40 cpu=7000
8000 main cond_wait c m site=prog+0x48 cpu=7000
108000 T1 lock m site=prog+0x50 cpu=101000
108000 T1 unlock m site=prog+0x58 cpu=101000
108000 T1 cond_broadcast c site=prog+0x60 cpu=101000
108000 main return cpu=7000
108000 main unlock m site=prog+0x68 cpu=7000
108000 T1 terminate cpu=101000
109000 main join T1 cpu=8000
109000 main terminate cpu=8000
";

#[test]
fn who_asks_waits_for_the_answer_and_takes_none_of_its_own_questions() {
    let program = Program::from_trace(&trace(ASKS_ONCE));
    // On several CPUs the other one may come to wait later than it is asked, and who asks come to wait before.
    for latency in [0, 500_000] {
        let machine = Machine {
            costs: Costs {
                wake_latency: SimTime::from_nanos(latency),
                ..Costs::default()
            },
            ..Machine::new(2, &program)
        };
        let run = run(&program, &machine, ModelKind::Direct);
        assert_eq!(run.outcome, Outcome::Completed, "{latency}");
        assert!(run.end >= SimTime::from_nanos(107_000), "{:?}", run.end);
    }
}
