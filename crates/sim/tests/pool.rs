//! The Pool model against greedy schedules of the same tasks, from recordings with short and long time slices.

#[path = "pool/recording.rs"]
mod recording;

use foretrace_program::Program;
use foretrace_schedule::State;
use foretrace_sim::{Choice, Costs, Machine, ModelKind, predict, run, schedule};
use recording::{Pool, Queue, greedy, record};

const SHORT: u64 = 100_000;
const LONG: u64 = 4_000_000;

fn program(pool: &Pool) -> Program {
    let text = record(pool);
    Program::from_trace(&foretrace_testkit::trace(&text))
}

/// A machine with a CPU for each thread, on which letting others go on costs nothing, as in the greedy schedule.
fn machine(workers: u32, program: &Program) -> Machine {
    Machine {
        costs: Costs::default(),
        ..Machine::new(workers + 1, program)
    }
}

/// Returns tasks of which a few are much longer than the others.
fn skewed(count: usize, seed: u64) -> Vec<u64> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % 1_000
    };
    (0..count)
        .map(|_| match next() {
            0..50 => 400_000 + 400 * next(),
            _ => 20_000 + 60 * next(),
        })
        .collect()
}

/// Returns pools of 8 to 64 workers, with constant and skewed tasks in short phases.
fn pools(slice: u64) -> Vec<Pool> {
    let mut pools = Vec::new();
    for workers in [8, 16, 64] {
        for each in [4, 12] {
            let count = workers * each;
            let constant: Vec<Vec<u64>> = vec![vec![50_000; count]; 5];
            let skewed: Vec<Vec<u64>> = (0..5).map(|phase| skewed(count, phase)).collect();
            for phases in [constant, skewed] {
                let pool = |queue, phases| Pool {
                    workers,
                    phases,
                    queue,
                    slice,
                };
                pools.push(pool(Queue::Semaphore, vec![phases.concat()]));
                pools.push(pool(Queue::Index, phases));
            }
        }
    }
    pools
}

/// Names a pool in a failure.
fn of(pool: &Pool) -> String {
    let tasks: Vec<usize> = pool.phases.iter().map(Vec::len).collect();
    format!(
        "{} workers, {:?}, slices of {} ns, tasks {tasks:?}, first {:?}",
        pool.workers,
        pool.queue,
        pool.slice,
        &pool.phases[0][..4]
    )
}

fn error(predicted: u64, truth: u64) -> f64 {
    100.0 * (predicted as f64 / truth as f64 - 1.0)
}

#[test]
fn predictions_are_those_of_greedy_schedules() {
    let (mut worst, mut worst_direct) = (0.0_f64, 0.0_f64);
    for slice in [SHORT, LONG] {
        for pool in pools(slice) {
            let program = program(&pool);
            assert_eq!(
                program.pools.len(),
                1,
                "{}: {:?}",
                of(&pool),
                program.no_pools
            );
            let machine = machine(pool.workers as u32, &program);
            let truth = greedy(&pool, pool.workers);
            let predicted = run(&program, &machine, ModelKind::Pool);
            assert!(
                predicted.is_complete(),
                "{}: {:?}",
                of(&pool),
                predicted.blocked()
            );
            let direct = run(&program, &machine, ModelKind::Direct);
            let off = error(predicted.end.as_nanos(), truth);
            assert!(off.abs() < 5.0, "{off:.1} % of {truth}: {}", of(&pool));
            worst = worst.max(off.abs());
            worst_direct = worst_direct.max(error(direct.end.as_nanos(), truth).abs());
        }
    }
    // The model is there because the recorded assignment misleads.
    assert!(
        worst_direct > 20.0,
        "direct is off by {worst_direct:.1} %, pool by {worst:.1} %"
    );
}

#[test]
fn the_number_of_workers_is_a_parameter() {
    for slice in [SHORT, LONG] {
        for pool in pools(slice) {
            let program = program(&pool);
            for workers in [2, 4, 8, 13, 32, 64] {
                let resized = program.with_workers(workers);
                let machine = machine(workers, &resized);
                let predicted = run(&resized, &machine, ModelKind::Pool);
                assert!(
                    predicted.is_complete(),
                    "{workers}: {:?}",
                    predicted.blocked()
                );
                let truth = greedy(&pool, workers as usize);
                let off = error(predicted.end.as_nanos(), truth);
                assert!(
                    off.abs() < 5.0,
                    "{workers} workers: {off:.1} % of {truth}: {}",
                    of(&pool)
                );
            }
        }
    }
}

#[test]
fn all_work_is_done_once_whoever_does_it() {
    for pool in pools(LONG).iter().take(8) {
        let program = program(pool);
        for workers in [3, 8, 20] {
            // Workers that are left out or added do nothing of their own but to look for tasks.
            let resized = program.with_workers(workers);
            let schedule = schedule(&resized, &machine(workers, &resized), ModelKind::Pool);
            assert_eq!(schedule.check(), Ok(()), "{}", of(pool));
            let ran = schedule.lanes.iter().flat_map(|lane| &lane.segments);
            let ran: u64 = ran
                .filter(|segment| matches!(segment.state, State::Running(_)))
                .map(|segment| segment.duration().as_nanos())
                .sum();
            let tasks: u64 = pool.phases.iter().flatten().sum();
            let looks = ran.checked_sub(tasks).expect("all tasks are done");
            assert!(looks < tasks / 50, "{looks} of {tasks}: {}", of(pool));
        }
    }
}

#[test]
fn an_unknown_order_of_tasks_gives_a_range() {
    let phases = vec![skewed(400, 1)];
    let pool = |queue| Pool {
        workers: 8,
        phases: phases.clone(),
        queue,
        slice: SHORT,
    };
    for (queue, known) in [(Queue::Index, true), (Queue::Semaphore, false)] {
        let program = program(&pool(queue));
        assert_eq!(program.pools[0].ordered, known);
        let prediction = predict(&program, &machine(8, &program), Choice::Auto);
        let answer = prediction.answered().expect("it ends");
        match answer.spread {
            None => assert!(known),
            Some((least, most)) => assert!((least..=most).contains(&answer.run.end) && !known),
        }
    }
}

#[test]
fn a_pool_answers_before_the_other_models() {
    let pool = &pools(LONG)[1];
    let program = program(pool);
    let prediction = predict(&program, &Machine::new(8, &program), Choice::Auto);
    let models: Vec<ModelKind> = prediction
        .attempts
        .iter()
        .map(|attempt| attempt.model)
        .collect();
    assert_eq!(models, [ModelKind::Pool]);
}

#[test]
fn under_direct_each_worker_has_its_recorded_tasks_as_soon_as_they_are_there() {
    // A did two tasks and B one, each in a millisecond. Who has none left may not take one of another's before its end is told, which is when A is done.
    let text = "foretrace-text 1\nreturns explicit\nrecording command a\nmodule a /a\nsemaphore q 0\nsemaphore done 0\nthread main\n\
                thread A start=a+0x10\nthread B start=a+0x10\n\
                0 main create A cpu=0\n0 main create B cpu=0\n0 main sem_post q cpu=0\n0 main sem_post q cpu=0\n0 main sem_post q cpu=0\n\
                0 main sem_wait done cpu=0\n\
                0 B sem_wait q cpu=0\n1000 A sem_wait q cpu=0\n2000 A sem_wait q cpu=1000\n3000 A sem_post done cpu=2000\n\
                3000 main return cpu=0\n3000 main sem_post q cpu=0\n3000 main sem_post q cpu=0\n\
                3000 B sem_wait q cpu=1000\n3000 A sem_wait q cpu=2000\n\
                3000 A terminate cpu=2000\n3000 B terminate cpu=1000\n\
                3000 main join A cpu=0\n3000 main join B cpu=0\n3000 main terminate cpu=0\n";
    let program = Program::from_trace(&foretrace_testkit::trace(text));
    assert_eq!(program.pools.len(), 1, "{:?}", program.no_pools);
    let machine = machine(2, &program);
    let direct = run(&program, &machine, ModelKind::Direct);
    assert_eq!((direct.end.0, direct.is_complete()), (2_000_000, true));
    let pool = run(&program, &machine, ModelKind::Pool);
    assert!(pool.is_complete());
}

#[test]
fn a_task_is_there_when_what_put_it_there_is_done() {
    // A and B each put another task at their end: C, of a millisecond, and D, of three. On one CPU the long one of the first two was done first.
    let text = "foretrace-text 1\nreturns explicit\nrecording command a\nmodule a /a\nsemaphore q 0\nthread main\n\
                thread V start=a+0x10\nthread W start=a+0x10\n\
                0 main create V cpu=0\n0 main create W cpu=0\n0 main sem_post q cpu=0\n0 main sem_post q cpu=0\n0 main join V cpu=0\n\
                0 V sem_wait q cpu=0\n0 W sem_wait q cpu=0\n\
                3000 V sem_post q cpu=3000\n3000 V sem_wait q cpu=3000\n4000 V sem_wait q cpu=4000\n\
                5000 W sem_post q cpu=1000\n5000 W sem_wait q cpu=1000\n8000 W sem_post q cpu=4000\n8000 W sem_post q cpu=4000\n\
                8000 V return cpu=4000\n8000 V terminate cpu=4000\n8000 W sem_wait q cpu=4000\n8000 W terminate cpu=4000\n\
                8000 main return cpu=0\n8000 main join W cpu=0\n8000 main terminate cpu=0\n";
    let program = Program::from_trace(&foretrace_testkit::trace(text));
    assert_eq!(program.pools.len(), 1, "{:?}", program.no_pools);
    assert_eq!(program.pools[0].puts.len(), 6);
    let pool = run(&program, &machine(2, &program), ModelKind::Pool);
    // B is done after one, and then D, as long as A and C; C alone would be taken for what B put there by who counts.
    assert_eq!((pool.end.0, pool.is_complete()), (4_000_000, true));
}
