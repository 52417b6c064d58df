//! What replays must do: when messages arrive, who gets them, and what is told of those that nobody gets.

use foretrace_messages::{
    ANY, BLOCKING, Builder, Collective, Failure, Mode, Model, Operation, Outcome, Pattern, Program,
    Run, dealt, generate, predict, replay, schedule,
};
use foretrace_network::{Algorithm, CollectiveKind, Description};
use foretrace_schedule::SimTime;

/// A message of k bytes: 1 us at either end, 10 us and 1 ns for each byte but the first between.
const NETWORK: &str = "model = \"loggps\"\nlatency = \"10us\"\ngap_per_byte = \"1ns\"\nsend = { overhead = \"1us\" }\n\
                       receive = { overhead = \"1us\" }\n";

fn run_on(program: &Program, network: &str, model: Model) -> Run {
    program.check().unwrap_or_else(|error| panic!("{error}"));
    let network = Description::parse(network, "n.toml").unwrap_or_else(|error| panic!("{error}"));
    replay(
        program,
        &network.resolve(program.ranks()).expect("it has room"),
        model,
    )
}

fn run(program: &Program) -> Run {
    run_on(program, NETWORK, Model::Direct)
}

/// Makes a program of what each rank does.
fn program(ranks: &[&[Operation]]) -> Program {
    let mut builder = Builder::new(ranks.len() as u32);
    for (rank, operations) in ranks.iter().enumerate() {
        for op in *operations {
            builder.push(rank as u32, *op);
        }
    }
    builder.finish("test")
}

fn micros(run: &Run) -> Vec<u64> {
    let ends = run.finish.iter().map(|end| end.expect("it ended"));
    ends.map(|end| end.0 / 1_000_000).collect()
}

const MICRO: u64 = 1_000_000;

fn work(micros: u64) -> Operation {
    Operation::work(micros * MICRO)
}

#[test]
fn a_message_takes_overheads_latency_and_gap() {
    let late = program(&[
        &[work(5), Operation::send(1, 0, 1_001)],
        &[Operation::receive(0, 0, 1_001)],
    ]);
    assert_eq!(micros(&run(&late)), [6, 18]);
    // A receiver that comes later takes its message at once.
    let waiting = program(&[
        &[Operation::send(1, 0, 1)],
        &[work(50), Operation::receive(0, 0, 1)],
    ]);
    assert_eq!(micros(&run(&waiting)), [1, 51]);
}

#[test]
fn messages_of_one_tag_do_not_overtake_and_those_of_others_may() {
    let both = program(&[
        &[Operation::send(1, 0, 1_000_001), Operation::send(1, 7, 1)],
        &[Operation::receive(0, 7, 1), Operation::receive(0, 0, 1)],
    ]);
    assert_eq!(micros(&run(&both)), [2, 1_012]);
    let same = program(&[
        &[Operation::send(1, 0, 1_000_001), Operation::send(1, 0, 1)],
        &[
            Operation::receive(0, 0, 1),
            work(1),
            Operation::receive(0, 0, 1),
        ],
    ]);
    // The large one comes first, although the small one was there.
    assert_eq!(micros(&run(&same)), [2, 1_014]);
}

#[test]
fn a_receive_from_anybody_takes_who_comes_first_and_in_a_strict_replay_who_came_first() {
    let from = |source: u64| Operation {
        value: source,
        ..Operation::receive(ANY, 0, 1)
    };
    let program = program(&[
        &[from(1), work(100), from(2)],
        &[work(80), Operation::send(0, 0, 1)],
        &[work(20), Operation::send(0, 0, 1)],
    ]);
    // Rank 2's message at 31, then rank 1's, which waits from 91 on.
    assert_eq!(micros(&run(&program)), [133, 81, 21]);
    let strict = run_on(&program, NETWORK, Model::Strict);
    // Rank 1's at 91, and rank 2's waits then.
    assert_eq!(micros(&strict), [193, 81, 21]);
}

#[test]
fn of_receives_that_fit_one_message_the_one_called_first_takes_it() {
    let program = program(&[
        &[
            Operation::receive(ANY, ANY, u64::from(ANY)).with_request(0),
            Operation::receive(1, 5, 1).with_request(1),
            Operation::wait(1),
            work(7),
            Operation::wait(0),
        ],
        &[Operation::send(0, 5, 1), work(30), Operation::send(0, 5, 1)],
    ]);
    // The open one has the first message (12), the other the second (42).
    assert_eq!(micros(&run(&program)), [51, 32]);
}

#[test]
fn large_messages_wait_for_their_receivers() {
    let network = format!("{NETWORK}rendezvous_above = 100\n");
    let program = program(&[
        &[Operation::send(1, 0, 1_001)],
        &[work(50), Operation::receive(0, 0, 1_001)],
    ]);
    // The request is there at 11; the answer goes at 50 + 2, is known at 63; the data goes at 64 and is there at 75.
    let run = run_on(&program, &network, Model::Direct);
    assert_eq!(micros(&run), [64, 76]);
    let buffered = self::program(&[
        &[Operation::send(1, 0, 1_001).in_mode(Mode::Buffered)],
        &[work(50), Operation::receive(0, 0, 1_001)],
    ]);
    assert_eq!(micros(&run_on(&buffered, &network, Model::Direct)), [1, 51]);
    let synchronous = self::program(&[
        &[Operation::send(1, 0, 1).in_mode(Mode::Synchronous)],
        &[work(50), Operation::receive(0, 0, 1)],
    ]);
    assert_eq!(micros(&self::run(&synchronous)), [64, 75]);
}

#[test]
fn large_messages_that_do_not_block_are_seen_to_in_calls() {
    let network = format!("{NETWORK}rendezvous_above = 100\nasynchronous_progress = false\n");
    let background = network.replace("= false", "= true");
    let both = |program: &Program| {
        [&network, &background].map(|network| micros(&run_on(program, network, Model::Direct)))
    };
    let send = |request| Operation::send(1, request, 1_001).with_request(request);
    let receive = |request| Operation::receive(0, request, 1_001).with_request(request);
    let wait = Operation::wait;
    // As above the request is there at 11, and the answer known at 24. The sender works until 51.
    let sends = program(&[
        &[send(0), work(50), wait(0)],
        &[Operation::receive(0, 0, 1_001)],
    ]);
    assert_eq!(both(&sends), [[52, 64], [51, 37]]);
    // It sees to the message in any call, and comes to the next one later by that.
    let calls = program(&[
        &[
            send(0),
            work(30),
            Operation::send(1, 9, 1),
            work(20),
            wait(0),
        ],
        &[Operation::receive(0, 0, 1_001), Operation::receive(0, 9, 1)],
    ]);
    assert_eq!(both(&calls), [[53, 45], [52, 43]]);
    // So does work between looks.
    let looking = program(&[
        &[send(0), work(50).in_mode(Mode::Looking), wait(0)],
        &[Operation::receive(0, 0, 1_001)],
    ]);
    assert_eq!(both(&looking), [[52, 37], [51, 37]]);
    // The receiver answers when it is done with its work at 50, as one does that is late.
    let receives = program(&[
        &[Operation::send(1, 0, 1_001)],
        &[receive(0), work(50), wait(0)],
    ]);
    assert_eq!(both(&receives), [[64, 76], [25, 51]]);
    // Two at once are handed over one after the other, a microsecond each.
    let mut two = Builder::new(2);
    two.push(1, work(50));
    for request in [0, 1] {
        two.push(0, send(request));
        two.push(1, receive(request));
    }
    two.wait_all(0, &[0, 1]);
    two.wait_all(1, &[0, 1]);
    assert_eq!(both(&two.finish("test")), [[65, 77], [64, 77]]);
}

#[test]
fn two_large_messages_to_each_other_are_a_deadlock_that_names_ranks_calls_and_tags() {
    let network = format!("{NETWORK}rendezvous_above = 100\n");
    let exchange = |peer: u32| {
        [
            Operation::send(peer, 3, 1_000),
            Operation::receive(peer, 3, 1_000),
        ]
    };
    let program = program(&[&exchange(1), &exchange(0)]);
    let run = run_on(&program, &network, Model::Direct);
    let Outcome::Deadlock(stuck) = &run.outcome else {
        panic!("{:?}", run.outcome)
    };
    assert_eq!(
        stuck.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "rank 0 waits in send to rank 1, tag 3, communicator world, since 0 ns",
            "rank 1 waits in send to rank 0, tag 3, communicator world, since 0 ns",
        ]
    );
    // Small ones are sent at once.
    assert!(self::run(&program).is_complete());
}

#[test]
fn several_requests_are_waited_for_at_once_and_seen_to_as_they_come() {
    let mut builder = Builder::new(3);
    builder.push(0, Operation::receive(1, 0, 1).with_request(0));
    builder.push(0, Operation::receive(2, 0, 1).with_request(1));
    builder.wait_all(0, &[0, 1]);
    builder.push(1, work(30));
    builder.push(1, Operation::send(0, 0, 1));
    builder.push(2, Operation::send(0, 0, 1));
    // Rank 2's at 11 takes until 12, rank 1's at 41 until 42.
    assert_eq!(micros(&run(&builder.finish("test"))), [42, 31, 1]);
}

#[test]
fn a_probe_waits_for_a_message_and_leaves_it() {
    let probe = Operation {
        kind: foretrace_messages::Kind::Probe,
        ..Operation::receive(ANY, 4, 1)
    };
    let program = program(&[
        &[probe, work(5), Operation::receive(1, 4, 1)],
        &[work(20), Operation::send(0, 4, 1)],
    ]);
    assert_eq!(micros(&run(&program)), [37, 21]);
}

#[test]
fn what_nobody_receives_is_left_over() {
    let program = program(&[&[Operation::send(1, 9, 1)], &[work(1)]]);
    let run = run(&program);
    assert_eq!(run.outcome, Outcome::LeftOver);
    assert_eq!(
        run.left_over[0].to_string(),
        "a message of rank 0 to rank 1, tag 9, that nobody receives"
    );
    let receive = self::program(&[&[work(1)], &[Operation::receive(0, 9, 1).with_request(0)]]);
    let run = self::run(&receive);
    assert_eq!(
        run.left_over[0].to_string(),
        "a receive of rank 1 from rank 0, tag 9, that nothing is sent for"
    );
    assert!(!run.is_complete());
}

fn call(kind: CollectiveKind, root: u32, bytes: u64) -> Collective {
    Collective {
        kind,
        root,
        sent: bytes,
        received: bytes,
        work: 0,
    }
}

fn all_call(ranks: u32, request: u32, call: Collective, network: &str) -> Run {
    let mut builder = Builder::new(ranks);
    for rank in 0..ranks {
        builder.push(rank, work(u64::from(rank)));
        builder.collective(rank, 0, request, call);
        if request != BLOCKING {
            builder.push(rank, work(1_000));
            builder.push(rank, Operation::wait(request));
        }
    }
    run_on(&builder.finish("test"), network, Model::Direct)
}

#[test]
fn every_collective_comes_to_an_end_with_every_algorithm() {
    for kind in CollectiveKind::ALL {
        for algorithm in Algorithm::of(kind) {
            for ranks in [2, 3, 5, 8, 12] {
                let network = format!(
                    "{NETWORK}[collectives]\n{} = \"{}\"\n",
                    kind.name(),
                    algorithm.name()
                );
                for request in [BLOCKING, 0] {
                    let run = all_call(ranks, request, call(kind, ranks - 1, 64), &network);
                    assert!(
                        run.is_complete(),
                        "{kind:?} {algorithm:?} {ranks}: {:?}",
                        run.outcome
                    );
                }
                let large = format!("rendezvous_above = 8\n{network}");
                let run = all_call(ranks, BLOCKING, call(kind, 0, 64), &large);
                assert!(
                    run.is_complete(),
                    "{kind:?} {algorithm:?} {ranks}, synchronously: {:?}",
                    run.outcome
                );
            }
        }
    }
}

#[test]
fn nobody_leaves_a_barrier_before_all_have_come() {
    for algorithm in Algorithm::of(CollectiveKind::Barrier) {
        let network = format!(
            "{NETWORK}[collectives]\nbarrier = \"{}\"\n",
            algorithm.name()
        );
        let mut builder = Builder::new(6);
        for rank in 0..6 {
            builder.push(rank, work(if rank == 4 { 500 } else { 1 }));
            builder.collective(rank, 0, BLOCKING, call(CollectiveKind::Barrier, 0, 0));
        }
        let run = run_on(&builder.finish("test"), &network, Model::Direct);
        assert!(
            micros(&run).iter().all(|end| *end > 500),
            "{algorithm:?}: {run:?}"
        );
    }
}

#[test]
fn a_binomial_broadcast_takes_a_message_for_every_doubling() {
    let network = format!(
        "{NETWORK}[collectives]\nbcast = \"{}\"\n",
        Algorithm::Binomial.name()
    );
    let mut builder = Builder::new(8);
    for rank in 0..8 {
        builder.collective(rank, 0, BLOCKING, call(CollectiveKind::Bcast, 0, 1));
    }
    let run = run_on(&builder.finish("test"), &network, Model::Direct);
    // Three messages of 12 us one after the other to the farthest.
    assert_eq!(run.end, SimTime(36 * MICRO));
    assert_eq!(run.messages, 7);
}

#[test]
fn collectives_by_formula_keep_all_together() {
    for (growth, end) in [("constant", 24), ("logarithmic", 72), ("linear", 168)] {
        let network = format!("{NETWORK}[collectives]\nanalytic = \"{growth}\"\n");
        let run = all_call(8, BLOCKING, call(CollectiveKind::Allreduce, 0, 1), &network);
        // The last comes at 7 us.
        assert_eq!(micros(&run), [7 + end; 8], "{growth}");
        let later = all_call(8, 0, call(CollectiveKind::Allreduce, 0, 1), &network);
        assert_eq!(later.end, SimTime(1_007 * MICRO), "{growth}");
    }
}

#[test]
fn members_combine_what_they_receive() {
    let end = |kind, bytes, keys: &str| {
        let network = format!("{NETWORK}[collectives]\n{keys}");
        all_call(2, BLOCKING, call(kind, 0, bytes), &network).end.0
    };
    let gamma = "combine_per_byte = \"1ns\"\n";
    for (kind, bytes, combined) in [
        (CollectiveKind::Allreduce, 100, 100),
        // Half of it by each of the two.
        (CollectiveKind::Allreduce, 20_000, 10_000),
        (CollectiveKind::Reduce, 20_000, 20_000),
        (CollectiveKind::Allgather, 20_000, 0),
    ] {
        let nothing = end(kind, bytes, "");
        let something = end(kind, bytes, gamma);
        assert_eq!(something - nothing, combined * 1_000, "{kind:?} {bytes}");
    }
}

#[test]
fn collectives_that_do_not_fit_together_are_told_with_ranks_and_calls() {
    let mut builder = Builder::new(2);
    builder.collective(0, 0, BLOCKING, call(CollectiveKind::Bcast, 0, 8));
    builder.collective(1, 0, BLOCKING, call(CollectiveKind::Bcast, 1, 8));
    let run = run(&builder.finish("test"));
    let Outcome::Failed(failure @ Failure::Mismatch { .. }) = &run.outcome else {
        panic!("{:?}", run.outcome)
    };
    assert_eq!(
        failure.to_string(),
        "collective 1 on communicator world does not fit together: rank 0 calls bcast with root 0, rank 1 calls bcast with \
         root 1; all members must call the same collectives in the same order"
    );
}

#[test]
fn a_collective_that_a_member_does_not_call_is_a_deadlock() {
    let mut builder = Builder::new(3);
    for rank in 0..2 {
        builder.collective(rank, 0, BLOCKING, call(CollectiveKind::Barrier, 0, 0));
    }
    let run = run(&builder.finish("test"));
    let Outcome::Deadlock(stuck) = &run.outcome else {
        panic!("{:?}", run.outcome)
    };
    assert_eq!(stuck.len(), 2);
    assert!(
        stuck[0].to_string().starts_with("rank 0 waits in barrier"),
        "{}",
        stuck[0]
    );
}

#[test]
fn communicators_have_collectives_and_messages_of_their_own() {
    let mut builder = Builder::new(4);
    let odd = builder
        .communicator("odd", vec![3, 1])
        .expect("there is room");
    for rank in [1, 3] {
        builder.collective(rank, odd, BLOCKING, call(CollectiveKind::Barrier, 0, 0));
    }
    builder.push(0, Operation::send(2, 0, 1));
    builder.push(0, Operation::send(2, 0, 1).on(odd));
    builder.push(2, Operation::receive(0, 0, 1).on(odd));
    builder.push(2, Operation::receive(0, 0, 1));
    let run = run(&builder.finish("test"));
    assert!(run.is_complete(), "{:?}", run.outcome);
}

#[test]
fn ranks_of_slow_nodes_work_longer() {
    let network = format!("{NETWORK}[nodes]\nspeeds = [1.0, 0.5]\n");
    let program = program(&[&[work(10)], &[work(10)]]);
    assert_eq!(micros(&run_on(&program, &network, Model::Direct)), [10, 20]);
}

#[test]
fn messages_share_links_where_contention_is_asked_for() {
    let shared = format!("{NETWORK}[contention]\ntopology = \"star\"\nbandwidth = \"1GB/s\"\n");
    let program = program(&[
        &[Operation::receive(1, 0, 1), Operation::receive(2, 0, 1)],
        &[Operation::send(0, 0, 100_000)],
        &[Operation::send(0, 0, 100_000)],
    ]);
    // Alone each takes 100 us on the link; together they have half of the receiver's.
    let alone = run(&program);
    assert_eq!(alone.end.0 / MICRO, 112);
    let together = run_on(&program, &shared, Model::Direct);
    assert_eq!(together.end.0 / MICRO, 213);
    let open = self::program(&[
        &[
            Operation::receive(ANY, 0, u64::from(ANY)),
            Operation::receive(ANY, 0, u64::from(ANY)),
        ],
        &[Operation::send(0, 0, 100_000)],
        &[work(1), Operation::send(0, 0, 1_000)],
    ]);
    assert!(run_on(&open, &shared, Model::Direct).is_complete());
}

#[test]
fn generated_patterns_come_to_an_end_and_are_drawn_without_contradictions() {
    for (pattern, ranks) in [
        (Pattern::Stencil, 12),
        (Pattern::MasterSlave, 9),
        (Pattern::Reversed, 5),
    ] {
        let program = generate(pattern, ranks, 2_000);
        let run = run(&program);
        assert!(
            run.is_complete() && run.messages >= 2_000,
            "{pattern:?}: {run:?}"
        );
        let network = Description::parse(NETWORK, "n.toml")
            .unwrap()
            .resolve(ranks)
            .unwrap();
        let schedule = schedule(&program, &network, Model::Direct);
        assert_eq!(schedule.end, run.end);
        for lane in &schedule.lanes {
            assert!(
                lane.segments
                    .windows(2)
                    .all(|pair| pair[0].end == pair[1].start),
                "{pattern:?}"
            );
            assert_eq!(lane.segments.last().map(|last| last.end), lane.end);
        }
    }
}

#[test]
fn the_same_program_gives_the_same_run() {
    for pattern in [Pattern::Stencil, Pattern::MasterSlave, Pattern::Reversed] {
        let program = generate(pattern, 7, 500);
        let network = Description::parse(NETWORK, "n.toml")
            .unwrap()
            .resolve(7)
            .unwrap();
        assert_eq!(predict(&program, &network), predict(&program, &network));
    }
}

#[test]
fn a_master_and_its_tasks_are_found() {
    let dealt = dealt(&generate(Pattern::MasterSlave, 5, 80)).unwrap();
    assert_eq!((dealt.master, dealt.slaves, dealt.tasks.len()), (0, 4, 40));
    assert_eq!((dealt.task_bytes, dealt.result_bytes), (1, 1));
    assert!(dealt.tasks.iter().all(|task| task.0 >= 100 * MICRO));
    let stencil = foretrace_messages::dealt(&generate(Pattern::Stencil, 4, 80)).unwrap_err();
    assert!(
        stencil
            .to_string()
            .contains("no rank receives from any source"),
        "{stencil}"
    );
}

#[test]
fn peers_that_are_not_there_are_told_with_rank_and_operation() {
    let program = program(&[&[work(1), Operation::send(7, 0, 1)], &[]]);
    assert_eq!(
        program.check().unwrap_err().to_string(),
        "test: rank 0, operation 2 (send): there is no rank 7; ranks are 0 to 1"
    );
}

#[test]
fn requests_whose_numbers_are_too_large_are_told() {
    let program = program(&[&[work(1), Operation::wait(u32::MAX)], &[]]);
    assert_eq!(
        program.check().unwrap_err().to_string(),
        "test: rank 0 uses request number 4294967295; number them from 0, and use numbers again"
    );
}
