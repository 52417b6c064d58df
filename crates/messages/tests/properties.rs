//! Replays of random programs, beside a simulation that is too simple to be wrong.

use foretrace_messages::{ANY, Builder, Model, Operation, Program, replay};
use foretrace_network::{Description, Link, Network};
use foretrace_schedule::SimTime;
use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, proptest};

const RANKS: u32 = 5;

const NETWORK: &str = "model = \"loggps\"\nlatency = \"10us\"\ngap_per_byte = \"1ns\"\nrendezvous_above = 500\n\
                       send = { overhead = \"1us\", per_byte = \"0.5ns\" }\nreceive = { overhead = \"2us\" }\n";

/// Work of a rank, then a message of it to another.
#[derive(Clone, Copy, Debug)]
struct Step {
    from: u32,
    to: u32,
    tag: u32,
    bytes: u64,
    work: u64,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..RANKS, 1..RANKS, 0..3_u32, 1..1_000_u64, 0..50_u64);
    let step = step.prop_map(|(from, distance, tag, bytes, work)| Step {
        from,
        to: (from + distance) % RANKS,
        tag,
        bytes,
        work: work * 1_000_000,
    });
    prop::collection::vec(step, 0..60)
}

/// Makes a program in which every message is received before the next is sent, so that it cannot block for ever.
fn program(steps: &[Step], open: bool) -> Program {
    let mut builder = Builder::new(RANKS);
    for step in steps {
        builder.push(step.from, Operation::work(step.work));
        builder.push(step.from, Operation::send(step.to, step.tag, step.bytes));
        let receive = if open {
            Operation {
                value: u64::from(step.from),
                ..Operation::receive(ANY, step.tag, step.bytes)
            }
        } else {
            Operation::receive(step.from, step.tag, step.bytes)
        };
        builder.push(step.to, receive);
    }
    builder.finish("random")
}

/// Makes a program in which nothing blocks but waits for all that was begun before, so that it cannot block for ever.
fn overlapping(steps: &[Step]) -> Program {
    let mut builder = Builder::new(RANKS);
    let mut open = vec![Vec::new(); RANKS as usize];
    for (number, step) in (0..).zip(steps) {
        builder.push(step.from, Operation::work(step.work));
        let send = Operation::send(step.to, step.tag, step.bytes);
        let receive = Operation::receive(step.from, step.tag, step.bytes);
        for (rank, begun) in [(step.from, send), (step.to, receive)] {
            builder.push(rank, begun.with_request(number));
            open[rank as usize].push(number);
        }
        if step.bytes % 4 == 0 {
            builder.wait_all(step.to, &std::mem::take(&mut open[step.to as usize]));
        }
    }
    for (rank, requests) in (0..).zip(&open) {
        builder.wait_all(rank, requests);
    }
    builder.finish("random")
}

fn network() -> Network {
    let description = Description::parse(NETWORK, "n.toml").expect("it is right");
    description.resolve(RANKS).expect("it has room")
}

/// Goes through the messages one by one.
fn by_hand(steps: &[Step], network: &Network) -> Vec<SimTime> {
    let mut clocks = vec![SimTime::ZERO; RANKS as usize];
    let link = Link { from: 0, to: 1 };
    let model = &network.model;
    for step in steps {
        let (from, to) = (step.from as usize, step.to as usize);
        let start = clocks[from] + SimTime(step.work);
        let own = model.send_overhead(link, step.bytes);
        let leaves = match model.handshake(link, step.bytes) {
            None => start + own,
            Some(handshake) => (start + handshake.request).max(clocks[to]) + handshake.answer + own,
        };
        clocks[from] = leaves;
        let arrival = leaves + model.transit(link, step.bytes);
        clocks[to] = clocks[to].max(arrival) + model.receive_overhead(link, step.bytes);
    }
    clocks
}

proptest! {
    #[test]
    fn ranks_that_run_ahead_end_when_they_would_in_step(steps in steps()) {
        let network = network();
        let run = replay(&program(&steps, false), &network, Model::Direct);
        prop_assert!(run.is_complete(), "{:?}", run.outcome);
        let ends: Vec<SimTime> = run.finish.iter().flatten().copied().collect();
        prop_assert_eq!(ends, by_hand(&steps, &network));
        prop_assert_eq!(run.messages, steps.len() as u64);
    }

    #[test]
    fn messages_that_need_calls_come_and_not_before_those_that_do_not(steps in steps()) {
        let program = overlapping(&steps);
        let background = format!("asynchronous_progress = true\n{NETWORK}");
        let background = Description::parse(&background, "n.toml").expect("it is right");
        let background = background.resolve(RANKS).expect("it has room");
        let [calls, background] = [network(), background]
            .map(|network| replay(&program, &network, Model::Direct));
        prop_assert!(background.is_complete(), "{:?}", background.outcome);
        prop_assert!(calls.is_complete(), "{:?}", calls.outcome);
        for (calls, background) in calls.finish.iter().zip(&background.finish) {
            prop_assert!(calls >= background, "{calls:?} {background:?}");
        }
    }

    #[test]
    fn a_strict_replay_of_open_receives_is_that_of_the_recorded_ones(steps in steps()) {
        let network = network();
        let strict = replay(&program(&steps, true), &network, Model::Strict);
        let known = replay(&program(&steps, false), &network, Model::Direct);
        prop_assert_eq!(strict, known);
    }

    #[test]
    fn open_receives_take_each_message_once_or_say_who_waits(steps in steps(), rendezvous in any::<bool>()) {
        let mut description = Description::parse(NETWORK, "n.toml").expect("it is right");
        description.set_rendezvous_above(rendezvous.then_some(500));
        let network = description.resolve(RANKS).expect("it has room");
        let program = program(&steps, true);
        let run = replay(&program, &network, Model::Direct);
        // Small messages never block, and of each tag as many are received as are sent.
        prop_assert!(run.is_complete() || rendezvous, "{:?}", run.outcome);
        let work: u64 = (0..RANKS).map(|rank| program.of_rank(rank).filter(|op| op.request == u32::MAX).count() as u64).sum();
        prop_assert!(work >= 2 * steps.len() as u64);
        prop_assert_eq!(&run, &replay(&program, &network, Model::Direct));
    }
}
