//! Which threads are found to be a work pool, and which are replayed as recorded.

use std::fmt::Write as _;

use foretrace_program::{Action, Origin, Program, Queue, Task, WorkPool};

/// What a worker does for each task, and besides: rows of a text trace without time, thread and CPU time. `work N` uses CPU
/// time.
struct Worker {
    first: &'static [&'static str],
    task: &'static [&'static str],
    last: &'static [&'static str],
}

const INDEX: Worker = Worker {
    first: &[],
    task: &["lock m|site=a+0x20", "unlock m|site=a+0x28", "work 1000"],
    last: &["lock m|site=a+0x20", "unlock m|site=a+0x28"],
};

/// Records three workers of which the first takes three tasks, the second two and the third one.
fn trace(worker: &Worker) -> String {
    let mut text = String::from("foretrace-text 1\nreturns explicit\nmodule a /a\nthread main\n");
    let mut rows = Vec::new();
    for name in ["A", "B", "C"] {
        writeln!(text, "thread {name} start=a+0x10").expect("a string");
        rows.push(("main", format!("create {name}")));
    }
    for (name, tasks) in [("A", 3), ("B", 2), ("C", 1)] {
        let mut add = |part: &'static [&'static str]| {
            rows.extend(part.iter().map(|row| (name, (*row).to_owned())));
        };
        add(worker.first);
        (0..tasks).for_each(|_| add(worker.task));
        add(worker.last);
        add(&["terminate"]);
    }
    for name in ["A", "B", "C"] {
        rows.push(("main", format!("join {name}")));
    }
    rows.push(("main", "terminate".to_owned()));
    write_rows(&mut text, &rows);
    text
}

/// Writes what threads do one after the other, each by its own CPU time.
fn write_rows(text: &mut String, rows: &[(&str, String)]) {
    let mut now = 0;
    let mut used = std::collections::BTreeMap::new();
    for (thread, row) in rows {
        let cpu: &mut u64 = used.entry(*thread).or_default();
        if let Some(work) = row.strip_prefix("work ") {
            let work: u64 = work.parse().expect("a number");
            now += work;
            *cpu += work;
            continue;
        }
        let (call, site) = row.split_once('|').unwrap_or((row, ""));
        writeln!(text, "{now} {thread} {call} cpu={cpu} {site}").expect("a string");
    }
}

fn program(worker: &Worker) -> Program {
    Program::from_trace(&foretrace_testkit::trace(&trace(worker)))
}

/// Returns why the workers are not replayed as a pool, and whether they are one.
fn refusal(worker: &Worker) -> (bool, String) {
    let program = program(worker);
    assert_eq!(program.pools, [], "{}", trace(worker));
    let [group] = &program.no_pools[..] else {
        panic!("one group, not {:?}", program.no_pools)
    };
    (group.is_pool, group.reason.clone())
}

/// Returns the work of a pool's tasks, in the order in which they were taken.
fn work(program: &Program, pool: &WorkPool) -> Vec<u64> {
    let work: Vec<u64> = pool.task_work(program).collect();
    assert_eq!(work.len(), pool.task_count());
    work
}

#[test]
fn workers_that_take_tasks_by_a_shared_index_are_a_pool() {
    let program = program(&INDEX);
    let [pool] = &program.pools[..] else {
        panic!("{:?}", program.no_pools)
    };
    assert_eq!(pool.workers.len(), 3);
    assert!(matches!(&pool.queue, Queue::Mutexes(mutexes) if mutexes.len() == 1));
    let work = work(&program, pool);
    assert_eq!(work, [1000; 6]);
    assert!(pool.ordered);
}

#[test]
fn loops_that_workers_share_out_one_after_the_other_are_of_one_pool() {
    const LOOPS: [&str; 11] = [
        "lock m|site=a+0x20",
        "unlock m|site=a+0x28",
        "barrier_wait b 3",
        "lock m|site=a+0x40",
        "unlock m|site=a+0x48",
        "work 1000",
        "lock m|site=a+0x40",
        "unlock m|site=a+0x48",
        "work 1000",
        "lock m|site=a+0x40",
        "unlock m|site=a+0x48",
    ];
    let with = |last| program(&Worker { last, ..INDEX });
    let found = with(&LOOPS);
    let [pool] = &found.pools[..] else {
        panic!("{:?}", found.no_pools)
    };
    assert_eq!(work(&found, pool), [1000; 12]);
    let epochs: Vec<u32> = pool.tasks(&found).map(|task| task.epoch).collect();
    assert_eq!(epochs.iter().filter(|&&epoch| epoch == 0).count(), 6);
    // Without a barrier in between nobody knows which of them somebody takes.
    let mixed = with(&LOOPS[3..]);
    assert!(mixed.pools.iter().all(|pool| pool.task_count() < 12));
}

#[test]
fn threads_of_one_routine_may_be_several_pools() {
    let mut text = TOKENS
        .replace(
            "thread B start=a+0x10\n",
            "thread B start=a+0x10\nthread C start=a+0x10\nthread D start=a+0x10\n",
        )
        .replace("semaphore s 0\n", "semaphore s 0\nsemaphore t 0\n");
    // The same again, by two others.
    let (head, rows) = text.split_at(text.find("0 main create A").expect("a row"));
    let (rows, end) = rows.split_at(rows.find("300 main").expect("a row"));
    let mut also = String::new();
    for row in rows.lines() {
        let row = row.replace(" A", " C").replace(" B", " D");
        let row = row
            .replace("sem_post s", "sem_post t")
            .replace("sem_wait s", "sem_wait t");
        let (time, rest) = row.split_once(' ').expect("a time");
        let time: u32 = time.parse().expect("a number");
        writeln!(also, "{} {rest}", time + 1000).expect("a string");
    }
    // All are created before any does anything.
    let created = "0 main create C cpu=0\n0 main create D cpu=0\n";
    let also = also.replace("1000 main create C cpu=0\n1000 main create D cpu=0\n", "");
    text = format!("{head}{created}{rows}{also}{}", end.replace("300", "1300"));
    let program = Program::from_trace(&foretrace_testkit::trace(&text));
    let workers = program.pools.iter().map(|pool| pool.workers.len());
    assert_eq!(
        workers.collect::<Vec<_>>(),
        [2, 2],
        "{text}{:?}",
        program.no_pools
    );
}

/// Records two workers with a queue each, of `m` and `n`: A takes two tasks of its own, and B, whose queue is empty, what `elsewhere` says for a
/// third one, and then both find nothing. The last part comes at the end of B's task.
fn with_own_queues(elsewhere: &[&str], after: &[&str]) -> Program {
    let mut text = String::from("foretrace-text 1\nreturns explicit\nmodule a /a\nthread main\n");
    text += "thread A start=a+0x10\nthread B start=a+0x10\n";
    let mut rows = vec![
        ("main", "create A".to_owned()),
        ("main", "create B".to_owned()),
    ];
    let own_m = ["lock m|site=a+0x20", "unlock m|site=a+0x28"];
    let own_n = ["lock n|site=a+0x20", "unlock n|site=a+0x28"];
    let task = ["work 100000"];
    let nothing: [&str; 0] = [];
    for (thread, part) in [
        ("A", [&own_m[..], &task, &own_m, &task].concat()),
        ("B", [&own_n[..], elsewhere, &task, after].concat()),
        ("A", [&own_m[..], &nothing].concat()),
        ("B", [&own_n[..], &nothing].concat()),
    ] {
        rows.extend(part.iter().map(|row| (thread, (*row).to_owned())));
    }
    for thread in ["A", "B"] {
        rows.push((thread, "terminate".to_owned()));
        rows.push(("main", format!("join {thread}")));
    }
    rows.push(("main", "terminate".to_owned()));
    write_rows(&mut text, &rows);
    Program::from_trace(&foretrace_testkit::trace(&text))
}

#[test]
fn workers_that_look_into_each_other_s_queues_are_a_pool() {
    let steals = [
        "work 100",
        "trylock m ok|site=a+0x30",
        "unlock m|site=a+0x38",
    ];
    let program = with_own_queues(&steals, &[]);
    let [pool] = &program.pools[..] else {
        panic!("{:?}", program.no_pools)
    };
    assert!(matches!(&pool.queue, Queue::Mutexes(mutexes) if mutexes.len() == 2));
    assert_eq!(pool.task_count(), 3);
    let work: Vec<u64> = pool.task_work(&program).collect();
    assert_eq!(work, [100_000, 100_000, 100_100]);
}

#[test]
fn workers_that_send_each_other_what_they_did_are_no_pool() {
    // It is locked after the work, to put something there.
    let puts = ["lock m|site=a+0x40", "unlock m|site=a+0x48"];
    let program = with_own_queues(&[], &puts);
    assert_eq!(program.pools, []);
    assert!(!program.no_pools[0].is_pool, "{:?}", program.no_pools);
    // Nor are they where some look for more before.
    let program = with_own_queues(&["trylock m ok|site=a+0x30", "unlock m|site=a+0x38"], &puts);
    assert_eq!(program.pools, []);
}

/// Two workers take tasks that are tokens of a semaphore.
const TOKENS: &str = "foretrace-text 1\nreturns explicit\nmodule a /a\nthread main\nthread A start=a+0x10\n\
    thread B start=a+0x10\nsemaphore s 0\n\
    0 main create A cpu=0\n0 main create B cpu=0\n0 main sem_post s cpu=0\n0 main sem_post s cpu=0\n\
    0 A sem_wait s cpu=0\n50 B sem_wait s cpu=0\n90 main sem_post s cpu=0\n90 main sem_post s cpu=0\n\
    150 A sem_wait s cpu=50\n250 A sem_wait s cpu=150\n250 B terminate cpu=80\n260 A terminate cpu=150\n300 main terminate cpu=0\n";

#[test]
fn a_semaphore_s_tokens_are_tasks_in_the_order_in_which_they_come() {
    let program = Program::from_trace(&foretrace_testkit::trace(TOKENS));
    let [pool] = &program.pools[..] else {
        panic!("{:?}", program.no_pools)
    };
    assert!(matches!(pool.queue, Queue::Tokens(_)));
    let work = work(&program, pool);
    assert_eq!(work, [50, 100]);
    assert!(pool.ordered);
}

/// A recording of two threads that take four tokens each, and of what one of them does after the last, as work, time and call.
fn partners(last: &[(u64, &str)]) -> Program {
    let mut text = String::from(
        "foretrace-text 1\nreturns explicit\nrecording command prog\nrecording cpu 0\nmodule a /a\nthread main\n\
         thread A start=a+0x10\nthread B start=a+0x10\nsemaphore s 0\nsemaphore done 0\n\
         0 main create A cpu=0\n0 main create B cpu=0\n",
    );
    (0..9).for_each(|_| text.push_str("0 main sem_post s cpu=0\n"));
    let (mut now, mut cpu) = (0, [0, 0]);
    for _ in 0..4 {
        for (thread, cpu) in ["A", "B"].iter().zip(&mut cpu) {
            let _ = writeln!(text, "{now} {thread} sem_wait s cpu={cpu}");
            (now, *cpu) = (now + 50_000, *cpu + 50_000);
            let _ = writeln!(text, "{now} {thread} sem_post done cpu={cpu}");
        }
    }
    for &(work, call) in last {
        (now, cpu[0]) = (now + work, cpu[0] + work);
        let _ = writeln!(text, "{now} A {call} cpu={}", cpu[0]);
    }
    let _ = writeln!(text, "{now} A terminate cpu={}", cpu[0]);
    let _ = writeln!(text, "{now} B terminate cpu={}", cpu[1]);
    text.push_str(
        "900000 main join A cpu=0\n900000 main join B cpu=0\n900000 main terminate cpu=0\n",
    );
    Program::from_trace(&foretrace_testkit::trace(&text))
}

#[test]
fn threads_that_know_how_many_they_take_are_no_pool() {
    let program = partners(&[]);
    assert_eq!(program.pools, []);
    let reason = &program.no_pools[0].reason;
    assert!(reason.contains("as often as the others"), "{reason}");
    // One takes more, another finds a token that says that nothing is left.
    let more = partners(&[(0, "sem_wait s"), (100_000, "sem_post done")]);
    assert_eq!(more.pools.len(), 1);
    let left = partners(&[(0, "sem_wait s")]);
    assert_eq!(left.pools.len(), 1);
}

#[test]
fn a_worker_that_creates_the_others_is_one_of_them() {
    let text = TOKENS.replace("main create B", "A create B");
    let program = Program::from_trace(&foretrace_testkit::trace(&text));
    let [pool] = &program.pools[..] else {
        panic!("{:?}", program.no_pools)
    };
    assert_eq!(pool.task_count(), 2);
    assert_eq!(pool.workers.len(), 2);
}

#[test]
fn workers_that_end_with_their_process_may_leave_every_task_to_others() {
    const DETACHED: &str = "foretrace-text 1\nreturns explicit\nmodule a /a\nthread main\nthread A start=a+0x10\n\
        thread B start=a+0x10\nsemaphore s 0\nsemaphore done 0\n\
        0 main create A cpu=0\n0 main create B cpu=0\n0 main sem_post s cpu=0\n0 main sem_post s cpu=0\n\
        0 main sem_wait done cpu=0\n0 A sem_wait s cpu=0\n0 B sem_wait s cpu=0\n50 A sem_post done cpu=50\n\
        50 A sem_wait s cpu=50\n50 A return failed:4 cpu=50\n50 main return cpu=0\n50 main sem_wait done cpu=0\n90 B sem_post done cpu=40\n\
        90 main return cpu=0\n90 A terminate cpu=50\n90 B terminate cpu=40\n90 main terminate cpu=0\n";
    let program = Program::from_trace(&foretrace_testkit::trace(DETACHED));
    let [pool] = &program.pools[..] else {
        panic!("{:?}", program.no_pools)
    };
    let work = work(&program, pool);
    assert_eq!(work, [50, 40]);
}

#[test]
fn the_creator_of_a_single_thread_is_a_worker_where_it_takes_tasks_as_well() {
    // A takes two tasks of its own stack and one of the creator's, which takes two.
    const STACKS: &str = "foretrace-text 1\nreturns explicit\nmodule a /a\nthread main\nthread A start=a+0x10\n\
        0 main create A cpu=0\n\
        0 main lock m cpu=0 site=a+0x20\n0 main unlock m cpu=0 site=a+0x28\n\
        100 main lock m cpu=100 site=a+0x20\n100 main unlock m cpu=100 site=a+0x28\n\
        100 A lock n cpu=0 site=a+0x20\n100 A unlock n cpu=0 site=a+0x28\n\
        200 A lock n cpu=100 site=a+0x20\n200 A unlock n cpu=100 site=a+0x28\n\
        300 A lock n cpu=200 site=a+0x20\n300 A unlock n cpu=200 site=a+0x28\n\
        300 A lock m cpu=200 site=a+0x20\n300 A unlock m cpu=200 site=a+0x28\n\
        400 A lock m cpu=300 site=a+0x20\n400 A unlock m cpu=300 site=a+0x28\n400 A terminate cpu=300\n\
        500 main lock m cpu=200 site=a+0x20\n500 main unlock m cpu=200 site=a+0x28\n\
        500 main lock n cpu=200 site=a+0x20\n500 main unlock n cpu=200 site=a+0x28\n\
        500 main join A cpu=200\n500 main terminate cpu=200\n";
    let program = Program::from_trace(&foretrace_testkit::trace(STACKS));
    let [pool] = &program.pools[..] else {
        panic!("{:?}", program.no_pools)
    };
    assert_eq!(pool.workers.len(), 2, "{pool:?}");
    assert!(matches!(&pool.queue, Queue::Mutexes(mutexes) if mutexes.len() == 2));
    let work: u64 = work(&program, pool).iter().sum();
    assert_eq!(work, 500);
}

#[test]
fn those_who_add_up_results_are_no_pool() {
    let (is_pool, reason) = refusal(&Worker {
        first: &[],
        task: &["work 1000", "lock m|site=a+0x20", "unlock m|site=a+0x28"],
        last: &[],
    });
    assert!(!is_pool);
    assert!(reason.contains("after their work"), "{reason}");
}

#[test]
fn those_who_do_the_same_again_and_again_and_lock_in_between_are_no_pool() {
    // Either part is short, as it may be by chance, but not both together.
    let (is_pool, reason) = refusal(&Worker {
        first: &["work 400"],
        last: &["lock m|site=a+0x20", "unlock m|site=a+0x28", "work 450"],
        ..INDEX
    });
    assert!(!is_pool);
    assert!(reason.contains("after their work"), "{reason}");
}

/// As [`INDEX`], where a semaphore is the lock.
const ROLE: Worker = Worker {
    first: &[],
    task: &["sem_wait s|site=a+0x20", "sem_post s", "work 1000"],
    last: &["sem_wait s|site=a+0x20", "sem_post s"],
};

fn with_semaphore(worker: &Worker, tokens: u32) -> Program {
    let text = trace(worker);
    let text = text.replace(
        "module a /a\n",
        &format!("module a /a\nsemaphore s {tokens}\n"),
    );
    Program::from_trace(&foretrace_testkit::trace(&text))
}

#[test]
fn workers_that_hand_each_other_the_right_to_take_are_a_pool() {
    let program = with_semaphore(&ROLE, 1);
    let [pool] = &program.pools[..] else {
        panic!("{:?}", program.no_pools)
    };
    assert!(matches!(&pool.queue, Queue::Mutexes(locks) if locks.len() == 1));
    assert_eq!(work(&program, pool), [1000; 6]);
    assert!(pool.ordered);
    // Several may have it, or it guards something else as well.
    assert_eq!(with_semaphore(&ROLE, 2).pools, []);
    let task = &[
        "sem_wait s|site=a+0x20",
        "sem_post s",
        "work 1000",
        "sem_wait s|site=a+0x24",
        "sem_post s",
    ];
    assert_eq!(with_semaphore(&Worker { task, ..ROLE }, 1).pools, []);
}

#[test]
fn those_who_never_find_nothing_are_no_pool() {
    let (is_pool, reason) = refusal(&Worker { last: &[], ..INDEX });
    assert!(!is_pool);
    assert!(reason.contains("never find nothing"), "{reason}");
}

#[test]
fn little_work_between_takes_is_no_pool() {
    let (is_pool, reason) = refusal(&Worker {
        first: &["work 9000"],
        ..INDEX
    });
    assert!(!is_pool);
    assert!(reason.contains("less than half"), "{reason}");
}

#[test]
fn tasks_that_hang_on_their_worker_are_not_for_any_worker() {
    let with = |task| Worker { task, ..INDEX };
    let cases: [(Worker, &str); 3] = [
        (
            with(&[
                "lock m|site=a+0x20",
                "unlock m|site=a+0x28",
                "join main",
                "return",
                "work 1000",
            ]),
            "the end of main",
        ),
        (
            Worker {
                first: &["barrier_wait b 3"],
                ..with(&[
                    "lock m|site=a+0x20",
                    "unlock m|site=a+0x28",
                    "work 1000",
                    "lock m|site=a+0x20",
                    "unlock m|site=a+0x28",
                    "barrier_wait b 3",
                ])
            },
            "barrier b",
        ),
        (
            Worker {
                last: &["lock m|site=a+0x20", "unlock m|site=a+0x28", "unlock n"],
                ..with(&[
                    "lock m|site=a+0x20",
                    "unlock m|site=a+0x28",
                    "work 1000",
                    "lock n|site=a+0x40",
                ])
            },
            "less than half",
        ),
    ];
    for (worker, expected) in cases {
        if let Some(group) = program(&worker).no_pools.first() {
            assert!(group.reason.contains(expected), "{}", group.reason);
        } else {
            panic!("a pool: {}", trace(&worker));
        }
    }
}

#[test]
fn a_creator_that_locks_the_queue_meanwhile_may_put_tasks_there() {
    let rows = trace(&INDEX).replace(
        "main join A",
        "main lock m cpu=0 site=a+0x60\n6000 main unlock m cpu=0\n6000 main join A",
    );
    // Before B's last take, so that more tasks may have come.
    let mut lines: Vec<&str> = rows.lines().collect();
    let put = lines
        .iter()
        .position(|line| line.contains("+0x60"))
        .expect("it was put there");
    let pair: Vec<&str> = lines.drain(put..put + 2).collect();
    let take = lines
        .iter()
        .position(|line| line.contains("C lock"))
        .expect("C takes a task");
    let put: Vec<String> = pair
        .iter()
        .map(|line| format!("5000 {}", line.split_once(' ').expect("a time").1))
        .collect();
    lines.splice(take..take, put.iter().map(String::as_str));
    let program = Program::from_trace(&foretrace_testkit::trace(&lines.join("\n")));
    assert_eq!(program.pools, []);
    assert!(
        program.no_pools[0].reason.contains("main locks"),
        "{:?}",
        program.no_pools
    );
}

#[test]
fn another_number_of_workers_keeps_the_tasks() {
    let program = program(&INDEX);
    for workers in [1, 2, 5] {
        let resized = program.with_workers(workers);
        let pool = &resized.pools[0];
        let tasks: Vec<Task> = pool.tasks(&resized).collect();
        assert!(program.pools[0].tasks(&program).eq(tasks));
        let there = pool
            .workers
            .iter()
            .filter(|worker| worker.origin != Origin::LeftOut);
        assert_eq!(there.count(), workers as usize);
        for worker in &pool.workers {
            let operations = &resized.threads[worker.thread.index()].operations;
            let last = resized.operations.get(operations.end - 1);
            assert_eq!(last.action, Action::Terminate);
        }
    }
}

/// Main puts two tasks four times, waits for the first, and finds that the other is done, too; but one, in the last round but one, where `leaves_one`.
fn with_results(leaves_one: bool) -> Program {
    let mut text = String::from(
        "foretrace-text 1\nreturns explicit\nrecording command a\nmodule a /a\nsemaphore q 0\nsemaphore done 0\nthread main\n\
         thread A start=a+0x10\nthread B start=a+0x10\n",
    );
    let mut rows = vec![
        ("main", "create A".to_owned()),
        ("main", "create B".to_owned()),
    ];
    let mut does = |thread, row: &str| rows.push((thread, row.to_owned()));
    for round in 0..4 {
        does("main", "sem_post q");
        does("main", "sem_post q");
        does("main", "sem_wait done");
        does("A", "sem_wait q");
        does("A", "work 1000000");
        does("A", "sem_post done");
        does("B", "sem_wait q");
        if !leaves_one || round != 2 {
            does("B", "work 1000000");
            does("B", "lock m");
            does("B", "unlock m");
        }
        does("main", "return");
        does("main", "work 100000");
        if leaves_one && round == 2 {
            does("main", "sem_post q");
            does("B", "work 1000000");
            does("A", "sem_wait q");
        }
    }
    for thread in ["A", "B"] {
        does("main", "sem_post q");
        does(thread, "sem_wait q");
        does(thread, "terminate");
    }
    does("main", "join A");
    does("main", "join B");
    does("main", "terminate");
    write_rows(&mut text, &rows);
    Program::from_trace(&foretrace_testkit::trace(&text))
}

#[test]
fn who_never_leaves_a_task_undone_waits_for_all_of_them() {
    let program = with_results(false);
    let [pool] = &program.pools[..] else {
        panic!("{:?}", program.no_pools)
    };
    let tasks: Vec<u32> = pool.joins.iter().map(|join| join.tasks).collect();
    assert_eq!(tasks, [2, 4, 6, 8]);
    assert_eq!(pool.putter(&program), Some(foretrace_trace::ThreadId(0)));
    for join in &pool.joins {
        // Before it works on, not behind that.
        let waits = program.operations.action(join.after);
        assert!(matches!(waits, Action::TakeToken(_)), "{waits:?}");
    }
    let program = with_results(true);
    assert_eq!(program.pools.len(), 1, "{:?}", program.no_pools);
    assert_eq!(program.pools[0].joins, []);
}
