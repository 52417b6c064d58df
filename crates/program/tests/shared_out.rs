//! What an OpenMP team deals out piece by piece goes to whoever is free, whoever had it in the recording.

use std::fmt::Write as _;

use foretrace_program::{Action, Program};
use foretrace_testkit::trace;
use proptest::prelude::*;

/// The work of each thread until each barrier and until its end, in a team of two threads: `main`, the master, and T1.
fn worked(rows: &str) -> Vec<Vec<u64>> {
    let text = format!(
        "foretrace-text 1\nreturns explicit\nrecording command prog\nrecording cpu 0\nmodule prog /prog\nthread main\nthread T1\n\
         semaphore s 0 address=0x1000000001000\nbarrier b 2 address=0x2000000001000\nmutex m\n{rows}"
    );
    let program = Program::from_trace(&trace(&text));
    let parts = |thread: &foretrace_program::Thread| {
        let mut parts = vec![0];
        for operation in program.operations.range(thread.operations.clone()) {
            if let Some(part) = parts.last_mut() {
                *part += operation.work_nanos;
            }
            if matches!(operation.action, Action::Barrier(_)) {
                parts.push(0);
            }
        }
        parts
    };
    program.threads.iter().map(parts).collect()
}

/// A loop of eight pieces of 100 ns, and one of 10 ns, all of which `main` did; it worked for 50 ns before.
const ONE_DID_ALL: &str = "\
0 main create T1 cpu=0
0 main sem_post s cpu=0
50 main sem_trywait s failed:115 cpu=50
150 main sem_trywait s busy cpu=150
250 main sem_trywait s busy cpu=250
350 main sem_trywait s busy cpu=350
450 main sem_trywait s busy cpu=450
550 main sem_trywait s busy cpu=550
650 main sem_trywait s busy cpu=650
750 main sem_trywait s busy cpu=750
850 main sem_trywait s busy cpu=850
860 main sem_trywait s busy cpu=860
860 main barrier_wait b 2 cpu=860
860 T1 sem_wait s cpu=1
861 T1 barrier_wait b 2 cpu=2
862 T1 return cpu=2
863 main return cpu=860
870 main terminate cpu=867
880 T1 terminate cpu=3
";

#[test]
fn pieces_of_a_loop_go_to_whoever_is_free() {
    // T1 begins when main has 49 ns of its own left to do; it also takes the last, the short one. What it did before it was called
    // is none of its work.
    let [main, other] = &worked(ONE_DID_ALL)[..] else {
        panic!("two threads");
    };
    assert_eq!(main[..], [50 + 400, 7]);
    assert_eq!(other[..], [1 + 400 + 10, 1]);
}

#[test]
fn nothing_is_lost_when_work_is_shared_out() {
    let sums = |rows: &str| -> u64 { worked(rows).iter().flatten().sum() };
    assert_eq!(sums(ONE_DID_ALL), 867 + 2);
    let as_recorded = ONE_DID_ALL.replace(" busy", " failed:115");
    assert_eq!(sums(&as_recorded), 867 + 2);
    let kept = worked(&as_recorded);
    assert_eq!(kept, [[860, 7], [1, 1]], "all of it is main's own");
}

#[test]
fn pieces_with_anything_else_in_them_stay() {
    let lock = "100 main lock m cpu=100\n110 main unlock m cpu=110\n150 main";
    let rows = ONE_DID_ALL.replacen("150 main", lock, 1);
    assert_eq!(worked(&rows)[0][0], 860);
}

#[test]
fn a_large_piece_that_was_begun_first_is_dealt_out_first() {
    // T1 did three pieces of 100 ns while main was at one of 300.
    let rows = "\
0 main create T1 cpu=0
0 main sem_post s cpu=0
0 main sem_trywait s failed:115 cpu=0
0 T1 sem_wait s cpu=0
0 T1 sem_trywait s failed:115 cpu=0
200 T1 sem_trywait s busy cpu=100
400 T1 sem_trywait s busy cpu=200
500 T1 sem_trywait s busy cpu=300
600 main sem_trywait s busy cpu=300
600 main barrier_wait b 2 cpu=300
600 T1 barrier_wait b 2 cpu=300
601 T1 return cpu=300
602 main return cpu=300
603 main terminate cpu=300
604 T1 terminate cpu=300
";
    assert_eq!(worked(rows), [[300, 0], [300, 0]]);
}

#[test]
fn what_each_does_behind_a_loop_comes_when_its_pieces_are_dealt_out() {
    // Main did 600 ns of pieces and nothing behind them, T1 200, and 400 of its own.
    let rows = "\
0 main create T1 cpu=0
0 main sem_post s cpu=0
0 main sem_trywait s failed:115 cpu=0
0 T1 sem_wait s cpu=0
0 T1 sem_trywait s failed:115 cpu=0
100 main sem_trywait s busy cpu=100
200 T1 sem_trywait s busy cpu=100
300 main sem_trywait s busy cpu=200
400 T1 sem_trywait s busy cpu=200
500 main sem_trywait s busy cpu=300
600 main sem_trywait s busy cpu=400
700 main sem_trywait s busy cpu=500
800 main sem_trywait s busy cpu=600
800 main barrier_wait b 2 cpu=600
1200 T1 barrier_wait b 2 cpu=600
1201 T1 return cpu=600
1202 main return cpu=600
1203 main terminate cpu=600
1204 T1 terminate cpu=600
";
    assert_eq!(worked(rows), [[400, 0], [800, 0]]);
}

#[test]
fn regions_within_a_region_leave_its_pieces_where_they_were() {
    let inner = "\
300 main sem_post inner cpu=300
310 main sem_trywait inner ok cpu=310
320 main barrier_wait c 1 cpu=320
350 main";
    let rows = ONE_DID_ALL.replacen("350 main", inner, 1);
    let rows = format!(
        "semaphore inner 0 address=0x1000000001001\nbarrier c 1 address=0x1000000001001\n{rows}"
    );
    let main = &worked(&rows)[0];
    assert_eq!(main.iter().sum::<u64>(), 867);
}

#[test]
fn who_did_not_arrive_keeps_its_pieces() {
    // Main arrives twice, and T1 never does.
    let rows = "\
0 main create T1 cpu=0
0 main sem_post s cpu=0
0 T1 sem_wait s cpu=0
15 T1 sem_trywait s busy cpu=15
15 main barrier_wait b 2 cpu=0
20 T1 lock m cpu=20
20 T1 unlock m cpu=20
20 main sem_wait s cpu=0
20 main barrier_wait b 2 cpu=0
20 T1 terminate cpu=20
20 main terminate cpu=0
";
    let work: u64 = worked(rows).iter().flatten().sum();
    assert_eq!(work, 20);
}

/// A call of a thread's that says something about its team and its tasks, sensible or not.
fn call() -> impl Strategy<Value = String> {
    let number = prop_oneof![2_u64..8, Just(1 << 63 | 64), Just(3 << 62 | 64)];
    let of_tasks = (prop_oneof!["doacross_post", "doacross_wait"], number)
        .prop_map(|(call, number)| format!("{call} t {number}"));
    let plain = prop_oneof![
        Just("sem_timedwait s|return busy"),
        Just("sem_timedwait s|return failed:115"),
        Just("barrier_wait b 2"),
        Just("barrier_wait b 2|return"),
        Just("sem_post s"),
        Just("sem_wait s"),
        Just("sem_trywait s busy"),
        Just("sem_trywait s failed:115"),
        Just("lock m"),
        Just("unlock m"),
        Just("io read file"),
    ];
    prop_oneof![3 => of_tasks, 2 => plain.prop_map(str::to_owned)]
}

proptest! {
    #[test]
    fn whatever_is_said_of_tasks_no_operation_is_lost(
        calls in proptest::collection::vec((any::<bool>(), call(), 0_u64..50), 1..80),
    ) {
        let mut rows = String::from(
            "foretrace-text 1\nreturns explicit\nrecording command prog\nrecording cpu 0\nmodule prog /prog\nthread main\n\
             thread T1\nsemaphore s 0 address=0x1000000001000\ndoacross t address=0x1000000001000\n\
             barrier b 2 address=0x2000000001000\nmutex m\n0 main create T1 cpu=0\n0 main sem_post s cpu=0\n0 T1 sem_wait s cpu=0\n",
        );
        let mut cpu = [0, 0];
        let mut now = 0;
        for (is_main, call, work) in calls {
            let thread = if is_main { "main" } else { "T1" };
            cpu[usize::from(is_main)] += work;
            now += work;
            for call in call.split('|') {
                // Writing to a string cannot fail.
                let _ = writeln!(rows, "{now} {thread} {call} cpu={}", cpu[usize::from(is_main)]);
            }
        }
        let _ = writeln!(rows, "{now} T1 terminate cpu={}\n{now} main terminate cpu={}", cpu[0], cpu[1]);
        let trace = trace(&rows);
        let program = Program::from_trace(&trace);
        prop_assert!(program.work_nanos() <= cpu[0] + cpu[1]);
        prop_assert!(program.operations.iter().all(|operation| (operation.event as usize) < trace.events.len()));
    }
}
