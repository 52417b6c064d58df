//! What must hold for every program: on one CPU the recording comes back, and on more no model breaks the rules.

mod one_cpu;

use foretrace_program::Program;
use foretrace_schedule::{Outcome, SimTime};
use foretrace_sim::{
    Bind, Choice, Costs, Machine, Memory, ModelKind, Processor, Rate, SchedulerKind, ThreadSetting,
    predict, schedule,
};
use one_cpu::{Recording, Step, record};
use proptest::prelude::*;

/// Servers that answer those who asked, in an order of their own: the programs that deadlock the models.
fn server() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let client = (1_u64..30, 1_u64..6, 1_u64..6);
    let rounds = proptest::collection::vec(any::<prop::sample::Index>(), 4);
    (proptest::collection::vec(client, 1..5), rounds, 1_u64..4).prop_map(
        |(clients, order, pause)| {
            let count = clients.len();
            let mut server = Vec::new();
            for child in 1..=count {
                server.extend([Step::Create(child), Step::Work(pause)]);
            }
            let mut asked = Vec::new();
            for (turn, index) in (0..count).zip(order.iter().cycle()) {
                server.extend([Step::WaitInto(turn), Step::Work(2)]);
                asked.push(turn);
                if index.index(2) == 0 || turn + 1 == count {
                    while !asked.is_empty() {
                        let variable = asked.remove(index.index(asked.len()));
                        server.extend([Step::SendTo(variable), Step::Work(1)]);
                    }
                }
            }
            let mut programs = vec![server];
            programs.extend(clients.into_iter().map(|(before, between, after)| {
                vec![
                    Step::Work(before),
                    Step::Send(0),
                    Step::Work(between),
                    Step::Wait,
                    Step::Work(after),
                ]
            }));
            programs
        },
    )
}

/// One piece of a worker.
#[derive(Clone, Debug)]
enum Piece {
    Work(u64),
    Locked(usize, u64),
    Post(usize),
    Read(u64),
    Write(u64),
    Put(usize),
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        (1_u64..20).prop_map(Piece::Work),
        (0_usize..2, 0_u64..9).prop_map(|(mutex, work)| Piece::Locked(mutex, work)),
        (0_usize..2).prop_map(Piece::Post),
        (0_u64..9).prop_map(Piece::Read),
        (0_u64..9).prop_map(Piece::Write),
        (0_usize..2).prop_map(Piece::Put),
    ]
}

/// Workers with locks, semaphores and queues that the parent drains, and barriers of both kinds between phases.
fn threads() -> impl Strategy<Value = (Vec<Vec<Step>>, usize)> {
    let worker = proptest::collection::vec(proptest::collection::vec(piece(), 0..5), 3);
    proptest::collection::vec(worker, 1..5).prop_map(|workers| {
        let count = workers.len();
        let mut parent: Vec<Step> = (1..=count).map(Step::Create).collect();
        let mut programs = Vec::new();
        for phases in workers {
            let mut program = Vec::new();
            for (index, phase) in phases.into_iter().enumerate() {
                if index > 0 {
                    program.push(if index == 1 {
                        Step::CondBarrier
                    } else {
                        Step::Barrier(0)
                    });
                }
                for piece in phase {
                    match piece {
                        Piece::Work(length) => program.push(Step::Work(length)),
                        Piece::Locked(mutex, length) => {
                            program.extend([
                                Step::Lock(mutex),
                                Step::Work(length),
                                Step::Unlock(mutex),
                            ]);
                        }
                        Piece::Read(length) => {
                            program.extend([Step::Read(0), Step::Work(length), Step::RwUnlock(0)]);
                        }
                        Piece::Write(length) => {
                            program.extend([Step::Write(0), Step::Work(length), Step::RwUnlock(0)]);
                        }
                        Piece::Put(queue) => {
                            program.push(Step::Put(queue));
                            parent.extend([Step::Take(queue), Step::Work(1)]);
                        }
                        Piece::Post(semaphore) => {
                            program.push(Step::SemPost(semaphore));
                            parent.extend([Step::SemWait(semaphore), Step::Work(1)]);
                        }
                    }
                }
            }
            programs.push(program);
        }
        parent.extend((1..=count).map(Step::Join));
        programs.insert(0, parent);
        (programs, count)
    })
}

fn program_of(recording: &Recording) -> Program {
    let trace = foretrace_trace::text::parse(&recording.text, "generated")
        .unwrap_or_else(|error| panic!("{error}\n{}", recording.text));
    Program::from_trace(&trace)
}

fn one_cpu_reproduces(recording: &Recording) -> Result<(), TestCaseError> {
    let program = program_of(recording);
    for model in [ModelKind::Direct, ModelKind::Strict] {
        let run = foretrace_sim::run(&program, &Machine::new(1, &program), model);
        let finish: Vec<u64> = run
            .finish
            .iter()
            .flatten()
            .map(|end| end.as_nanos())
            .collect();
        prop_assert_eq!(
            &finish,
            &recording.finish,
            "{} of\n{}",
            model.name(),
            &recording.text
        );
    }
    Ok(())
}

/// On any machine: a valid schedule, all work done and no more, no shorter than the work and the span allow, and
/// Strict without deadlock.
fn rules_hold(recording: &Recording, steps: &[Vec<Step>]) -> Result<(), TestCaseError> {
    let program = program_of(recording);
    for cpus in 1..=5 {
        for (scheduler, bind) in [
            (SchedulerKind::Priority, Bind::None),
            (SchedulerKind::Priority, Bind::Block),
            (SchedulerKind::Fair, Bind::None),
        ] {
            let slice = foretrace_schedule::SimTime::from_nanos(4);
            let machine = Machine {
                scheduler,
                bind,
                slice,
                ..Machine::new(cpus, &program)
            };
            for model in ModelKind::ALL {
                let got = schedule(&program, &machine, model);
                prop_assert_eq!(
                    got.check(),
                    Ok(()),
                    "{} of\n{}",
                    model.name(),
                    &recording.text
                );
                prop_assert_eq!(&got, &schedule(&program, &machine, model), "the same again");
                if got.outcome != Outcome::Completed {
                    prop_assert_ne!(model, ModelKind::Strict, "deadlock of\n{}", &recording.text);
                    continue;
                }
                let end = got.end.as_nanos();
                prop_assert!(end >= program.work_nanos().div_ceil(u64::from(cpus)));
                let mut locked = [0_u64; 2];
                for (thread, list) in steps.iter().enumerate() {
                    let work: u64 = list.iter().map(work_of).sum();
                    let ran = got.lanes[thread].totals()[foretrace_schedule::Activity::Running];
                    prop_assert_eq!(ran.as_nanos(), work, "work of T{}", thread);
                    prop_assert!(end >= work);
                    for window in list.windows(2) {
                        if let [Step::Lock(mutex), Step::Work(length)] = window {
                            locked[*mutex] += length;
                        }
                    }
                }
                prop_assert!(locked.iter().all(|&held| end >= held), "mutual exclusion");
            }
            let answered = predict(&program, &machine, Choice::Auto)
                .answered()
                .is_some();
            prop_assert!(answered, "the scheme always answers");
        }
    }
    Ok(())
}

/// A CPU of a table that says nothing that is not so without it, but for its speed.
fn alone(core: u32, speed: Rate) -> Processor {
    Processor {
        speed,
        core,
        ways: 1,
        throughput: Rate::ONE,
        socket: 0,
    }
}

/// What is said of a machine that changes nothing changes nothing, and twice the speed halves all times.
fn descriptions_mean_what_they_say(recording: &Recording) -> Result<(), TestCaseError> {
    let program = program_of(recording);
    for cpus in 1..=4 {
        for scheduler in [SchedulerKind::Priority, SchedulerKind::Fair] {
            let plain = Machine {
                scheduler,
                slice: SimTime::from_nanos(4),
                ..Machine::new(cpus, &program)
            };
            let described = Machine {
                processors: (0..cpus).map(|cpu| alone(cpu, Rate::ONE)).collect(),
                runnable_limit: Some(100),
                threads: vec![ThreadSetting::default(); 2],
                ..plain.clone()
            };
            let fast = Machine {
                processors: (0..cpus)
                    .map(|cpu| alone(cpu, Rate(2 * Rate::ONE.0)))
                    .collect(),
                slice: SimTime::from_nanos(2),
                ..plain.clone()
            };
            for model in ModelKind::ALL {
                let got = schedule(&program, &plain, model);
                prop_assert_eq!(&got, &schedule(&program, &described, model), "as plain");
                let halved = schedule(&program, &fast, model);
                prop_assert_eq!(got.end.0, 2 * halved.end.0, "half the time");
            }
        }
    }
    Ok(())
}

/// On machines with all there is to say of them: a valid schedule, the same each time, that gets through.
fn odd_machines_get_through(recording: &Recording) -> Result<(), TestCaseError> {
    let mut program = program_of(recording);
    let work = program.work_nanos();
    program.processes[0].remaps = work / 3;
    for (scheduler, limit) in [
        (SchedulerKind::Priority, None),
        (SchedulerKind::Priority, Some(1)),
        (SchedulerKind::Fair, Some(2)),
        (SchedulerKind::RoundRobin, None),
        (SchedulerKind::RoundRobin, Some(2)),
    ] {
        let paired = |cpu: u32, speed: u64| Processor {
            ways: 2,
            throughput: Rate(1_300_000_000),
            socket: cpu % 2,
            ..alone(cpu % 2, Rate(speed))
        };
        let mut machine = Machine {
            scheduler,
            slice: SimTime::from_nanos(3),
            processors: vec![
                paired(0, 1_000_000_000),
                paired(1, 700_000_001),
                paired(2, 1_000_000_000),
                alone(2, Rate(333_333_333)),
            ],
            runnable_limit: limit,
            threads: vec![ThreadSetting {
                priority: Some(1),
                cpu: Some(3),
            }],
            ..Machine::new(4, &program)
        };
        for (costly, queues, far, stay) in [
            (false, false, false, false),
            (true, false, false, false),
            (true, true, false, false),
            (true, true, true, false),
            (true, true, false, true),
        ] {
            machine.idle_search = !far;
            machine.idle_search_from = Rate(if stay { 600_000_000 } else { 0 });
            machine.idle_balance = SimTime::from_nanos(if far || stay { 5 } else { 0 });
            if queues {
                // Each CPU has its own queue only where they are all alike, and no thread is bound to one.
                machine.processors.clear();
                machine.threads.clear();
                machine.bind = Bind::None;
                machine.run_queues = true;
            }
            if costly {
                machine.costs = Costs {
                    wake_latency: SimTime(7_001),
                    shallow_latency: SimTime(1_001),
                    shallow_idle: SimTime(5_000),
                    wake_cost: SimTime(300),
                    preempt_cost: SimTime(450),
                    block_cost: SimTime(500),
                    lock_transfer: SimTime(30),
                    call_cost: SimTime(300),
                    offer_cost: SimTime(200),
                    remap_cost: SimTime(1_000),
                    switch_cost: SimTime(101),
                    create_cost: SimTime(1_003),
                    team_spin: SimTime(2_000),
                    team_latency: SimTime(300),
                    migration: SimTime(777),
                    socket_migration: SimTime(3_333),
                };
                machine.memory = Memory {
                    bandwidth: Rate(1_300_000_000),
                    bound: Rate(700_000_001),
                    refill: Rate(300_000_001),
                };
                machine.seed = Some(7);
                machine.wakeup_preemption = true;
            }
            for model in ModelKind::ALL {
                let got = schedule(&program, &machine, model);
                prop_assert_eq!(got.check(), Ok(()), "{}", &recording.text);
                prop_assert_eq!(&got, &schedule(&program, &machine, model), "the same again");
                let complete = got.outcome == Outcome::Completed;
                prop_assert!(complete || model != ModelKind::Strict, "{:?}", got.outcome);
                // All cores together do less than 2.6 times what one CPU does; where somebody works, it is at a third or more.
                let cores = if queues {
                    10 * u64::from(machine.cpus)
                } else {
                    26
                };
                prop_assert!(!complete || got.end.as_nanos() * cores >= work * 10);
                prop_assert!(costly || got.end.as_nanos() <= 3 * work + 1 || !complete);
            }
        }
    }
    Ok(())
}

fn work_of(step: &Step) -> u64 {
    match step {
        Step::Work(length) => *length,
        _ => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn servers_obey_the_rules_under_every_model(steps in server()) {
        let recording = record(&steps, 0).expect("a server answers all who ask");
        one_cpu_reproduces(&recording)?;
        rules_hold(&recording, &steps)?;
        descriptions_mean_what_they_say(&recording)?;
        odd_machines_get_through(&recording)?;
    }

    #[test]
    fn threads_obey_the_rules_under_every_model((steps, size) in threads()) {
        let recording = record(&steps, size);
        // A full queue may hold a worker up for ever, before what its parent waits for.
        prop_assume!(recording.is_some());
        let recording = recording.expect("just seen");
        one_cpu_reproduces(&recording)?;
        rules_hold(&recording, &steps)?;
        descriptions_mean_what_they_say(&recording)?;
        odd_machines_get_through(&recording)?;
    }
}

#[test]
fn among_servers_direct_and_client_server_deadlock_and_strict_does_not() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut deadlocks = [0; 3];
    for _ in 0..1_000 {
        let steps = server()
            .new_tree(&mut runner)
            .expect("a generated program")
            .current();
        let program = program_of(&record(&steps, 0).expect("a server answers all who ask"));
        for (count, model) in deadlocks.iter_mut().zip(ModelKind::ALL) {
            let machine = Machine::new(4, &program);
            *count += u32::from(!foretrace_sim::run(&program, &machine, model).is_complete());
        }
    }
    let [direct, client_server, strict] = deadlocks;
    assert!(direct > 100 && client_server > 100, "{deadlocks:?}");
    assert_eq!(strict, 0);
}
