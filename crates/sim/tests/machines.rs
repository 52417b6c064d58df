//! Programs on machines whose CPUs are not all alike, or not free for all: where one can tell by hand.

use foretrace_program::Program;
use foretrace_schedule::{Activity, Outcome, SimTime};
use foretrace_sim::{
    Costs, Handover, Machine, Memory, ModelKind, Processor, Rate, SchedulerKind, ThreadSetting,
    run, schedule,
};
use foretrace_testkit::trace;

#[path = "machines/fought_for.rs"]
mod fought_for;

const ONE: u64 = 1_000_000_000;

/// A CPU alone in its core.
fn alone(core: u32, speed: u64) -> Processor {
    Processor {
        speed: Rate(speed),
        core,
        ways: 1,
        throughput: Rate::ONE,
        socket: 0,
    }
}

/// A CPU of a core of two that together do 1.25 of one.
fn paired(core: u32) -> Processor {
    Processor {
        ways: 2,
        throughput: Rate(1_250_000_000),
        ..alone(core, ONE)
    }
}

/// Returns when each thread ends, in picoseconds, on the program's machine after a change.
fn ends_in_picos(text: &str, cpus: u32, change: impl Fn(&mut Machine)) -> Vec<u64> {
    let program = Program::from_trace(&trace(text));
    let mut machine = Machine::new(cpus, &program);
    change(&mut machine);
    let done = run(&program, &machine, ModelKind::Direct);
    assert_eq!(done.outcome, Outcome::Completed, "{text}");
    let course = schedule(&program, &machine, ModelKind::Direct);
    assert_eq!(course.check(), Ok(()), "{text}");
    assert_eq!(course.end, done.end, "{text}");
    // The makespan is when the last thread ends, also where another that shared its core would have held it up for longer.
    assert_eq!(
        Some(done.end),
        done.finish.iter().flatten().max().copied(),
        "{text}"
    );
    done.finish.into_iter().flatten().map(|end| end.0).collect()
}

/// The same in nanoseconds.
fn ends(text: &str, cpus: u32, change: impl Fn(&mut Machine)) -> Vec<u64> {
    let picos = ends_in_picos(text, cpus, change);
    picos
        .into_iter()
        .map(|end| SimTime(end).as_nanos())
        .collect()
}

/// A works for 10, B for 20 and C for 40, from the begin; A has the highest priority.
const THREE: &str = "process A priority 3\nprocess B priority 2\nprocess C priority 1\n0 A create B\n0 A create C\n\
                     10 A terminate\n30 B terminate\n70 C terminate\n";

/// The same without priorities.
const FAIR: &str = "process A\nprocess B\nprocess C\n0 A create B\n0 A create C\n10 A terminate\n30 B terminate\n\
                    70 C terminate\n";

fn nanos(nanos: u64) -> SimTime {
    SimTime::from_nanos(nanos)
}

#[test]
fn a_slow_cpu_takes_longer_and_the_fastest_idle_one_is_taken_first() {
    let speeds = |machine: &mut Machine| {
        machine.processors = vec![alone(0, ONE / 2), alone(1, 2 * ONE), alone(2, ONE)];
    };
    // A begins on CPU 1 at twice the speed, B goes to CPU 2, C to CPU 0, where it stays.
    assert_eq!(ends(THREE, 3, speeds), [5, 20, 80]);
}

#[test]
fn a_thread_moves_to_a_faster_cpu_at_the_end_of_its_slice() {
    let speeds = |machine: &mut Machine| {
        machine.processors = vec![alone(0, ONE), alone(1, ONE / 2)];
        machine.slice = nanos(10);
    };
    // At 10 B, which did 5 on CPU 1, makes way for C, and takes the place of A. When B ends at 25, C is in its second slice,
    // at whose end, at 30, it has done 10; it does the rest on CPU 0.
    assert_eq!(ends(FAIR, 2, speeds), [10, 25, 60]);
    let bound = |machine: &mut Machine| {
        speeds(machine);
        machine.threads = [0, 1, 1].map(on_cpu).to_vec();
    };
    // B and C take turns of 10 on the slow CPU: 5 of work each; B ends with its fourth, which is the seventh of all.
    assert_eq!(ends(FAIR, 2, bound), [10, 70, 120]);
}

fn on_cpu(cpu: u32) -> ThreadSetting {
    ThreadSetting {
        cpu: Some(cpu),
        ..ThreadSetting::default()
    }
}

#[test]
fn odd_speeds_do_not_drift() {
    // A thousand pieces of 1 ns at a third of the speed take 3000 ns, to the picosecond, however they are cut.
    let rows = (1..=1_000).map(|row| format!("{row} A lock m\n{row} A unlock m\n"));
    let rows: String = rows.collect();
    let pieces = format!("process A priority 1\n{rows}1000 A terminate\n");
    let third = |machine: &mut Machine| machine.processors = vec![alone(0, ONE / 3)];
    let whole = "process A priority 1\n1000 A terminate\n";
    let exact = 1_000_000 * u128::from(ONE);
    let exact = exact.div_ceil(u128::from(ONE / 3)) as u64;
    assert_eq!(ends_in_picos(whole, 1, third), [exact]);
    assert_eq!(ends_in_picos(&pieces, 1, third), [exact]);
}

#[test]
fn a_preempted_thread_keeps_what_it_did_to_the_last_bit() {
    // B and C share one CPU of seven tenths in slices of 1 ns, which is no whole number of work.
    let slices = |machine: &mut Machine| {
        machine.processors = vec![alone(0, 700_000_001)];
        machine.slice = SimTime(1_001);
    };
    let exact = (70_000 * u128::from(ONE)).div_ceil(700_000_001) as u64;
    let picos = ends_in_picos(FAIR, 1, slices);
    // Each thread's end may take up to a picosecond that it does not use.
    assert!((exact..=exact + 2).contains(&picos[2]), "{picos:?} {exact}");
}

#[test]
fn threads_on_one_core_share_what_it_does() {
    let pair = |machine: &mut Machine| machine.processors = vec![paired(0), paired(0)];
    let two = "process A priority 2\nprocess B priority 1\n0 A create B\n10 A terminate\n40 B terminate\n";
    // Both at 0.625 until A has done its 10 at 16; B has done 10 of 30 by then, and goes on alone.
    assert_eq!(ends(two, 2, pair), [16, 36]);
    // On one of them alone there is nothing to share.
    let single = |machine: &mut Machine| machine.processors = vec![paired(0)];
    assert_eq!(ends(two, 1, single), [10, 40]);
}

#[test]
fn a_thread_takes_a_core_of_its_own_while_there_is_one() {
    let two_cores = |machine: &mut Machine| {
        machine.processors = vec![paired(0), paired(0), paired(1), paired(1)];
    };
    // A and B have a core each; C shares that of A until 16; B ends at 20, C has 30 left at 16.
    assert_eq!(ends(THREE, 4, two_cores), [16, 20, 46]);
}

#[test]
fn a_wake_up_on_the_other_cpu_of_a_core_slows_the_waker_down_at_once() {
    // A posts at 4 and at 8, when B waits for it; each time B works for 5.
    let rows = "semaphore s 0\nprocess B priority 2\nprocess A priority 1\n0 B create A\n0 B sem_wait s\n4 A sem_post s\n\
                9 B sem_wait s\n13 A sem_post s\n18 B terminate\n20 A terminate\n";
    let pair = |machine: &mut Machine| machine.processors = vec![paired(0), paired(0)];
    // Alone until 4. Together: A's second 4 and B's first 5 at 0.625: A posts at 4 + 6.4 = 10.4, B has done 4 then and
    // asks at 12, when the token is there; it has done its last 5 at 20. A's last 2 are done at 10.4 + 3.2 = 13.6, when
    // B has 4 left, which it does alone: until 17.6.
    assert_eq!(ends_in_picos(rows, 2, pair), [17_600, 13_600]);
}

#[test]
fn going_on_elsewhere_costs_more_between_sockets() {
    // B waits on CPU 1 while A works on CPU 0; C, which ranks before B, takes B's place before it goes on.
    let rows = "semaphore s 0\nprocess A priority 3\nprocess C priority 2\nprocess B priority 1\n0 A create B\n0 A create C\n\
                0 C sem_wait s\n1 B sem_post s\n11 A terminate\n31 C terminate\n41 B terminate\n";
    let machine = |machine: &mut Machine, socket: u32| {
        machine.processors = vec![
            alone(0, ONE),
            Processor {
                socket,
                ..alone(1, ONE)
            },
        ];
        machine.costs.migration = nanos(3);
        machine.costs.socket_migration = nanos(30);
    };
    // C waits at once; B runs from 0 on CPU 1 until it posts at 1 and loses that to C, which works there from 1 to 21. A ends
    // at 10, B goes on on CPU 0 for 10.
    assert_eq!(ends(rows, 2, |_| {}), [10, 21, 20]);
    assert_eq!(ends(rows, 2, |change| machine(change, 0)), [10, 21, 23]);
    assert_eq!(ends(rows, 2, |change| machine(change, 1)), [10, 21, 50]);
}

#[test]
fn a_thread_goes_on_in_the_socket_where_it_was() {
    // Five CPUs in two sockets: CPU 3 is the first idle one of B's socket, CPU 0 the first of all.
    let rows = "process A\nprocess B\nprocess C\n0 A create B\n10 A terminate\n20 B create C\n30 B terminate\n40 C terminate\n";
    let program = Program::from_trace(&trace(rows));
    let mut machine = Machine::new(4, &program);
    machine.processors = (0..4)
        .map(|cpu| Processor {
            socket: cpu / 2,
            ..alone(cpu, ONE)
        })
        .collect();
    machine.threads = vec![on_cpu(0), on_cpu(2), ThreadSetting::default()];
    assert_eq!(ends(rows, 4, |own| *own = machine.clone()), [10, 20, 20]);
}

#[test]
fn switching_costs_the_one_that_comes() {
    let switching = |machine: &mut Machine| machine.costs.switch_cost = nanos(2);
    // A, then B and C, each of which pays; also on one CPU.
    assert_eq!(ends(THREE, 1, switching), [10, 32, 74]);
    // On three CPUs nobody follows another.
    assert_eq!(ends(THREE, 3, switching), [10, 20, 40]);
}

#[test]
fn caches_that_others_emptied_have_to_be_filled_again() {
    let rows = "process A priority 1\nprocess B priority 1\n0 A create B\n20 A terminate\n40 B terminate\n";
    let refilling = |slice: u64| {
        move |machine: &mut Machine| {
            machine.scheduler = SchedulerKind::RoundRobin;
            machine.slice = nanos(slice);
            machine.memory.refill = Rate(ONE / 2);
        }
    };
    // Each pays for its second turn half of what the other had the CPU before, and for the third that this makes necessary.
    assert_eq!(ends(rows, 1, refilling(10)), [50, 60]);
    assert_eq!(ends(rows, 1, refilling(20)), [20, 40]);
    assert_eq!(ends(rows, 2, refilling(10)), [20, 20]);
    // Who has little left to do finds only what it takes for that: A works for 2 more, and as long for what it needs.
    let rows = "process A priority 1\nprocess B priority 1\n0 A create B\n12 A terminate\n52 B terminate\n";
    assert_eq!(ends(rows, 1, refilling(10)), [24, 56]);
}

#[test]
fn each_cpu_has_its_own_queue_until_they_are_evened_out() {
    let queues = |slice: u64| {
        move |machine: &mut Machine| {
            machine.run_queues = true;
            machine.slice = nanos(slice);
        }
    };
    // A and C share a CPU, and B has the other one for itself.
    assert_eq!(ends(FAIR, 2, queues(1)), [19, 20, 50]);
    // From one queue each gets two thirds of a CPU until A ends.
    let one_queue = |machine: &mut Machine| machine.slice = nanos(1);
    assert_eq!(ends(FAIR, 2, one_queue), [15, 25, 45]);
    // Three that work for 300 ms: after 160 ms one joins B.
    let alike = "unit 1ms\nprocess A\nprocess B\nprocess C\n0 A create B\n0 A create C\n300 A terminate\n\
        600 B terminate\n900 C terminate\n";
    let done = ends(alike, 2, queues(3_000_000));
    let [a, b, c] = [0, 1, 2].map(|thread| done[thread] / 1_000_000);
    assert!(b > 350, "{done:?}");
    assert!(
        [a, b, c].iter().max().is_some_and(|&last| last < 470),
        "{done:?}"
    );
}

#[test]
fn who_wakes_looks_for_an_idle_cpu_or_stays_where_it_was() {
    // C sleeps when B begins on the CPU that it had; main is done when B lets C go on, and works on.
    let rows = "semaphore S 0\nreturns explicit\n0 main create C cpu=0\n1 C sem_wait S cpu=1\n\
        4 main create B cpu=3\n6 main terminate cpu=5\n26 B sem_post S cpu=20\n26 C return cpu=1\n\
        126 B terminate cpu=120\n147 C terminate cpu=22\n";
    let queues = |idle_search: bool, idle_balance: u64| {
        move |machine: &mut Machine| {
            machine.run_queues = true;
            machine.idle_search = idle_search;
            machine.idle_balance = nanos(idle_balance);
            machine.slice = nanos(200);
            machine.costs = Costs::NONE;
        }
    };
    let searched = [5, 44, 123];
    assert_eq!(ends(rows, 2, queues(true, 4_000_000)), searched);
    // It stays, and the CPU that is idle takes it at once all the same; or it waits until B is done.
    assert_eq!(ends(rows, 2, queues(false, 0)), searched);
    assert_eq!(ends(rows, 2, queues(false, 4_000_000)), [5, 144, 123]);
}

#[test]
fn an_idle_cpu_takes_who_waits_for_another_when_the_clock_ticks() {
    // A and C share a CPU, and B, which has the other one, is done after a millisecond.
    let rows = "unit 1ms\nprocess A\nprocess B\nprocess C\n0 A create B\n0 A create C\n20 A terminate\n\
        21 B terminate\n41 C terminate\n";
    let ticking = |idle_balance: u64| {
        move |machine: &mut Machine| {
            machine.run_queues = true;
            machine.slice = nanos(100_000_000);
            machine.idle_balance = nanos(idle_balance);
        }
    };
    let millis = |idle_balance| {
        let done = ends(rows, 2, ticking(idle_balance));
        [0, 1, 2].map(|thread| done[thread] / 1_000_000)
    };
    assert_eq!(millis(0), [20, 1, 21]);
    assert_eq!(millis(4_000_000), [20, 1, 24]);
    // Or as it becomes idle, as often as it is told.
    let takes = |share: u64| {
        let machine = |machine: &mut Machine| {
            ticking(4_000_000)(machine);
            machine.idle_takes = Rate(share);
        };
        ends(rows, 2, machine)
            .iter()
            .max()
            .map(|last| last / 1_000_000)
    };
    assert_eq!([Rate::ONE.0, 0].map(takes), [Some(21), Some(24)]);
    assert_eq!(takes(Rate::ONE.0 / 2), Some(24), "of two times the second");
    // All that it could take ran just now, at every tick: at the third it takes it.
    let turns = |machine: &mut Machine| {
        ticking(4_000_000)(machine);
        machine.slice = nanos(250_000);
    };
    let done = ends(rows, 2, turns);
    assert_eq!(
        done.iter().max().map(|last| last / 1_000_000),
        Some(26),
        "{done:?}"
    );
}

/// Threads that leave a CPU only when it was busy for two thirds of the time.
fn leaves_busy_cpus(machine: &mut Machine) {
    machine.run_queues = true;
    machine.slice = nanos(3_000_000);
    machine.idle_search_from = Rate(670_000_000);
    machine.idle_balance = nanos(4_000_000);
    machine.idle_takes = Rate(0);
    machine.costs = Costs::NONE;
}

#[test]
fn a_thread_begins_beside_its_creator_until_that_was_busy_for_long() {
    // A works for a while, creates B, and both work for 30 ms.
    let last = |before: u64, how: fn(&mut Machine)| {
        let rows = format!(
            "unit 1ms\nprocess A\nprocess B\n{before} A create B\n{} A terminate\n{} B terminate\n",
            before + 30,
            before + 60
        );
        let done = ends(&rows, 2, how);
        done.iter().max().map(|last| last / 1_000_000)
    };
    // Their CPU has too much to do after 19 ms, and the other one takes B when the clock ticks, which had 9 ms of 30 by then.
    assert_eq!(last(0, leaves_busy_cpus), Some(41));
    assert_eq!(last(60, leaves_busy_cpus), Some(90));
    let at_once = |machine: &mut Machine| {
        leaves_busy_cpus(machine);
        machine.idle_search_from = Rate(0);
    };
    assert_eq!(last(0, at_once), Some(30));
}

#[test]
fn who_wakes_leaves_its_cpu_only_when_that_was_busy_for_long() {
    // C sleeps on A's CPU, where A works for so long before it lets C go on, and for 30 ms after; C works for 10 ms then.
    let end_of_a = |before: u64| {
        let rows = format!(
            "unit 1ms\nsemaphore S 0\nreturns explicit\n0 A create C cpu=0\n0 C sem_wait S cpu=0\n{before} A sem_post S cpu={before}\n\
             {before} C return cpu=0\n{} A terminate cpu={}\n{} C terminate cpu=10\n",
            before + 30,
            before + 30,
            before + 40
        );
        // When C was new it made their CPU busier by a quarter.
        let very_busy = |machine: &mut Machine| {
            leaves_busy_cpus(machine);
            machine.idle_search_from = Rate(900_000_000);
        };
        ends(&rows, 2, very_busy)[0] / 1_000_000 - before
    };
    // C takes A's CPU from it, or finds the other one.
    assert!(end_of_a(10) > 33);
    assert_eq!(end_of_a(60), 30);
}

#[test]
fn who_ran_more_than_others_before_it_slept_does_not_take_their_cpu() {
    // G has the other CPU. B runs from 40 on, for a slice, and main wakes at 41; or it had nothing to wait for, and B comes at 40.
    let rows = |before: u64| {
        format!(
            "returns explicit\n0 main create G cpu=0\n0 main create B cpu=0\n{before} main sleep cpu={before}\n\
             {after} main return cpu={before}\n{end} main terminate cpu={more}\n{b} B terminate cpu=150\n{g} G terminate cpu=300\n",
            after = before + 1,
            end = before + 6,
            more = before + 5,
            b = before + 156,
            g = before + 456,
        )
    };
    let queues = |machine: &mut Machine| {
        machine.run_queues = true;
        machine.scheduler = SchedulerKind::Fair;
        machine.wakeup_preemption = true;
        machine.slice = nanos(100);
    };
    assert_eq!(ends(&rows(40), 2, queues), [145, 300, 195]);
    // As far as B it may run: it was not ahead.
    assert_eq!(ends(&rows(0), 2, queues), [6, 300, 155]);
}

#[test]
fn who_mostly_sleeps_does_not_wait_for_the_end_of_a_slice() {
    let rows = "returns explicit\n0 main create B cpu=0\n0 main sleep cpu=0\n25 main return cpu=0\n\
        26 main terminate cpu=1\n101 B terminate cpu=100\n";
    let fair = |wakeup_preemption: bool| {
        move |machine: &mut Machine| {
            machine.scheduler = SchedulerKind::Fair;
            machine.slice = nanos(40);
            machine.wakeup_preemption = wakeup_preemption;
        }
    };
    assert_eq!(ends(rows, 1, fair(true)), [26, 101]);
    assert_eq!(ends(rows, 1, fair(false)), [41, 101]);
    assert_eq!(ends(rows, 2, fair(true)), [26, 100]);
}

#[test]
fn who_sleeps_until_others_are_done_sees_it_when_the_sleep_is_over() {
    // Main looks every 990, A and B work for 2,400 each.
    let rows = "returns explicit\nrecording command prog\nrecording cpu 0\nmodule prog /prog\n\
        thread main\nthread A\nthread B\n0 main create A cpu=0\n0 main create B cpu=0\n\
        10 main sleep site=prog+0x10 cpu=0\n1000 main return cpu=0\n1010 main sleep site=prog+0x10 cpu=0\n\
        2000 main return cpu=0\n2010 main sleep site=prog+0x10 cpu=0\n2400 A lock m cpu=1200\n2400 A unlock m cpu=1200\n\
        3000 main return cpu=0\n3010 main sleep site=prog+0x10 cpu=0\n4000 main return cpu=0\n\
        4010 main sleep site=prog+0x10 cpu=0\n4790 A terminate cpu=2400\n4800 B terminate cpu=2400\n\
        5000 main return cpu=0\n5007 main terminate cpu=7\n";
    let done = ends(rows, 2, |machine| machine.costs = Costs::NONE);
    assert_eq!(done, [3 * 990 + 7, 2400, 2400]);
}

#[test]
fn who_has_something_to_do_once_in_a_period_is_done_when_the_last_is_over() {
    // Once in 10: on one CPU main had it, too, so that little was left to sleep, and once nothing.
    let rows = "returns explicit\nrecording command prog\nrecording cpu 0\nthread main\nthread A\n0 main create A cpu=0\n\
        5 A sleep asked=5 cpu=2\n10 A return cpu=2\n18 A sleep asked=2 cpu=4\n20 A return cpu=4\n33 A sleep late=3 cpu=8\n\
        39 A sleep asked=1 cpu=9\n40 A return cpu=9\n40 A terminate cpu=9\n41 main terminate cpu=30\n";
    let done = ends(rows, 2, |machine| machine.costs = Costs::NONE);
    assert_eq!(done, [30, 40]);
}

#[test]
fn who_is_let_go_on_takes_a_cpu_from_who_ran_for_longer() {
    // B posts at 10 for main, whose CPU C has by then.
    let rows = "semaphore S 0\nreturns explicit\n0 main create B cpu=0\n0 main create C cpu=0\n0 main sem_wait S cpu=0\n\
        10 B sem_post S cpu=10\n10 main return cpu=0\n11 main terminate cpu=1\n100 B terminate cpu=90\n\
        200 C terminate cpu=100\n";
    let fair = |preempt_cost: u64, wakeup_preemption: bool| {
        move |machine: &mut Machine| {
            machine.scheduler = SchedulerKind::Fair;
            machine.slice = nanos(50);
            machine.wakeup_preemption = wakeup_preemption;
            machine.costs = Costs {
                wake_cost: nanos(2),
                preempt_cost: nanos(preempt_cost),
                ..Costs::NONE
            };
        }
    };
    // To create B, on an idle CPU, takes main 2.
    assert_eq!(ends(rows, 2, fair(0, false)), [51, 91, 102]);
    // It takes the one that posts 2 to call it to the other CPU, and that CPU 3 to be interrupted.
    assert_eq!(ends(rows, 2, fair(0, true)), [11, 92, 103]);
    assert_eq!(ends(rows, 2, fair(3, true)), [14, 92, 106]);
}

#[test]
fn creating_threads_costs_their_creator_between_cpus() {
    let creating = |machine: &mut Machine| {
        machine.costs = Costs {
            create_cost: nanos(4),
            ..Costs::NONE
        };
    };
    // C is created once A has paid for B.
    assert_eq!(ends(THREE, 3, creating), [18, 20, 44]);
    assert_eq!(ends(THREE, 1, creating), [10, 30, 70]);
}

#[test]
fn threads_of_equal_priority_take_turns_of_a_slice() {
    let round = |machine: &mut Machine| {
        machine.scheduler = SchedulerKind::RoundRobin;
        machine.slice = nanos(10);
    };
    // A, B, C for 10 each, then B ends with its second turn, and C goes on.
    assert_eq!(ends(FAIR, 1, round), [10, 40, 70]);
    // With a priority of its own, C comes first from when it is created, and A and B take turns after it.
    let urgent = |machine: &mut Machine| {
        round(machine);
        machine.threads = vec![ThreadSetting::default(); 2];
        machine.threads.push(ThreadSetting {
            priority: Some(1),
            cpu: None,
        });
    };
    assert_eq!(ends(FAIR, 1, urgent), [50, 70, 40]);
}

#[test]
fn a_thread_that_lost_its_cpu_goes_on_before_others_of_its_priority() {
    // B is called at 4 and takes the CPU from A for 10; A goes on before C, which waits for its turn.
    let rows = "process A priority 1\nprocess C priority 1\nprocess B priority 2\n0 A create C\n4 A create B\n14 B terminate\n\
                20 A terminate\n30 C terminate\n";
    let round = |machine: &mut Machine| {
        machine.scheduler = SchedulerKind::RoundRobin;
        machine.slice = nanos(100);
    };
    // B stands first, by its priority.
    assert_eq!(ends(rows, 1, round), [14, 20, 30]);
}

#[test]
fn a_priority_that_is_said_takes_the_place_of_the_threads_own() {
    let last_first = |machine: &mut Machine| {
        machine.threads = (0..3)
            .map(|priority| ThreadSetting {
                priority: Some(priority),
                cpu: None,
            })
            .collect();
    };
    // B takes the CPU when it is created, and C when A comes to create it.
    assert_eq!(ends(THREE, 1, last_first), [70, 20, 60]);
}

#[test]
fn a_binding_that_is_said_takes_the_place_of_all_others() {
    let bound = |machine: &mut Machine| {
        machine.bind = foretrace_sim::Bind::Block;
        machine.threads = vec![on_cpu(1), on_cpu(1), on_cpu(5)];
    };
    // On two CPUs CPU 5 is CPU 1.
    assert_eq!(ends(THREE, 2, bound), [10, 30, 70]);
    assert_eq!(ends(THREE, 6, bound), [10, 30, 40]);
}

#[test]
fn a_thread_that_is_sent_to_another_cpu_by_one_that_is_bound_works_once() {
    // B is bound to the CPU of A, which creates it at 5 and has to go to the other CPU; it does its locks there, in turn.
    let rows = "process A priority 1\nprocess B priority 2\n5 A create B\n7 A lock m\n10 A unlock m\n14 A terminate\n\
                34 B terminate\n";
    let bound = |machine: &mut Machine| {
        machine.threads = vec![on_cpu(0)];
    };
    // B stands first, by its priority.
    assert_eq!(ends(rows, 2, bound), [25, 14]);
}

#[test]
fn only_so_many_threads_of_a_process_run_at_once() {
    let rows = "program one\nprogram two\nthread A\nthread A1\nthread A2\nthread B program=1\n0 A create A1\n0 A create A2\n0 A create B\n10 A terminate\n\
                30 A1 terminate\n70 A2 terminate\n75 B terminate\n";
    let limit = |limit: u32| move |machine: &mut Machine| machine.runnable_limit = Some(limit);
    assert_eq!(ends(rows, 4, limit(4)), [10, 20, 40, 5]);
    assert_eq!(ends(rows, 4, limit(2)), [10, 20, 50, 5]);
    assert_eq!(ends(rows, 4, limit(1)), [10, 30, 70, 5]);
}

#[test]
fn one_that_waits_leaves_its_place_to_another() {
    // A waits for B with its only place, which B gets.
    let rows = "thread A\nthread B\n0 A create B\n5 A join B\n15 B terminate\n25 A terminate\n";
    let one = |machine: &mut Machine| machine.runnable_limit = Some(1);
    assert_eq!(ends(rows, 2, one), [25, 15]);
    assert_eq!(ends(rows, 2, |_| {}), [20, 10]);
}

#[test]
fn the_work_of_a_thread_on_a_slow_cpu_shows_as_longer_running() {
    let program = Program::from_trace(&trace(THREE));
    let machine = Machine {
        processors: vec![alone(0, ONE / 4)],
        ..Machine::new(1, &program)
    };
    let course = schedule(&program, &machine, ModelKind::Strict);
    let ran = course
        .lanes
        .iter()
        .map(|lane| lane.totals()[Activity::Running].as_nanos());
    assert_eq!(ran.collect::<Vec<_>>(), [40, 80, 160]);
}

#[test]
fn cpus_share_the_memory_evenly_once_they_ask_for_more_than_it_gives() {
    let memory = |bound: u64, bandwidth: u64| {
        move |machine: &mut Machine| {
            machine.memory = Memory {
                bandwidth: Rate(bandwidth),
                bound: Rate(bound),
                refill: Rate(0),
            };
        }
    };
    // All do nothing but access the memory, and it serves one: a third of the speed each, then a half, then all of it.
    assert_eq!(ends(FAIR, 3, memory(ONE, ONE)), [30, 50, 70]);
    // On one CPU at a time nobody has to wait.
    assert_eq!(ends(FAIR, 1, memory(ONE, ONE)), ends(FAIR, 1, |_| {}));
    // Half of it, where two CPUs' worth of accesses are possible at once: four CPUs could do that.
    assert_eq!(ends(FAIR, 3, memory(ONE / 2, 2 * ONE)), [10, 20, 40]);
    // Three ask for 1.5 of one, until A ends at 15.
    assert_eq!(ends(FAIR, 3, memory(ONE / 2, ONE)), [15, 25, 45]);
    // The second CPU of a core adds a quarter: both of them would take 1.25 times what there is.
    let cores = |machine: &mut Machine| {
        memory(ONE, ONE)(machine);
        machine.processors = vec![paired(0), paired(0)];
        machine.threads = [0, 1, 1].map(on_cpu).to_vec();
    };
    assert_eq!(ends(THREE, 2, cores)[0], 20);
}

#[test]
fn threads_that_give_memory_back_hold_each_other_up() {
    let costs = |nanos: u64| {
        move |machine: &mut Machine| machine.costs.remap_cost = SimTime::from_nanos(nanos)
    };
    // They work for 70 in all, in which they give memory back seven times.
    let program = format!("program prog remaps=7\n{FAIR}");
    assert_eq!(ends(&program, 3, costs(0)), ends(FAIR, 3, |_| {}));
    // Alone that takes nothing.
    assert_eq!(ends(&program, 1, costs(10)), ends(FAIR, 1, |_| {}));
    // As long as they work, and one after the other: a third of the speed each, then a half, then all of it.
    assert_eq!(ends(&program, 3, costs(10)), [30, 50, 70]);
    // Half as long: together they do what 1.5 of them would do that wait for nobody, two each two thirds of their work, and who is alone all of it.
    assert_eq!(ends(&program, 3, costs(5)), [15, 30, 50]);
    // What threads of another process do is not held up.
    let two = "program prog remaps=7\nprogram other\nprocess A\nprocess B\nprocess C program=1\n\
               0 A create B\n0 A create C\n10 A terminate\n30 B terminate\n70 C terminate\n";
    assert_eq!(ends(two, 3, costs(1)), [12, 22, 40]);
    // Less than a hundredth of the time is left out.
    let rarely = format!("program prog remaps=1\n{FAIR}").replace("0 C", "0000 C");
    assert_eq!(ends(&rarely, 3, costs(10))[..2], [10, 20]);
}

#[test]
fn ties_are_broken_by_chance_where_there_is_a_seed_and_always_alike() {
    // B and C are there at the same instant, and want the same.
    let text = "thread A\nthread B\nthread C\n0 A create B\n0 A create C\n0 A terminate\n10 B terminate\n20 C terminate\n";
    let with = |seed: Option<u64>| ends(text, 1, move |machine: &mut Machine| machine.seed = seed);
    assert_eq!(with(None), [0, 10, 20]);
    let all: Vec<Vec<u64>> = (0..20).map(|seed| with(Some(seed))).collect();
    assert!(all.contains(&vec![0, 10, 20]) && all.contains(&vec![0, 20, 10]));
    assert!((0..20).all(|seed| with(Some(seed)) == all[seed as usize]));
    // Whom something else puts first goes first.
    let ordered = |seed| ends(THREE, 1, move |machine: &mut Machine| machine.seed = seed);
    assert!((0..20).all(|seed| ordered(Some(seed)) == ordered(None)));
}
