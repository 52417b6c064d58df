//! The times that Dimemas and LogGOPSim print for small inputs, reproduced by their presets.

use std::{collections::BTreeMap, fs, io, path::PathBuf};

use foretrace_interchange::{Messages, dimemas_machine, recognized};
use foretrace_messages::{Model, Run, replay, replay_graph};
use foretrace_network::{Description, Network};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/peers")
        .join(name)
}

fn read(name: &str) -> Messages {
    let bytes = fs::read(path(name)).expect("it lies there");
    let format = recognized(name, &bytes[..bytes.len().min(512)]).expect("it is known");
    let refuse = |_: &str| Err(io::Error::from(io::ErrorKind::NotFound));
    format
        .import(&bytes, name, &refuse)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn run(messages: &Messages, network: &Description) -> Run {
    let resolve = |ranks| -> Network { network.resolve(ranks).expect("it has room") };
    match messages {
        Messages::Program(program) => replay(program, &resolve(program.ranks()), Model::Direct),
        Messages::Graph(graph) => replay_graph(graph, &resolve(graph.ranks())),
    }
}

#[test]
fn hosts_end_when_loggopsim_says() {
    let expected = fs::read_to_string(path("goal/EXPECTED.txt")).expect("it lies there");
    let mut cases = 0;
    for line in expected.lines().filter(|line| line.contains("Host 0")) {
        let mut parts = line.split(" | ");
        let (file, limit, hosts) = (
            parts.next().unwrap(),
            parts.next().unwrap(),
            parts.next().unwrap(),
        );
        let limit = limit.strip_prefix("S=").expect("it is S");
        let (_, preset) = foretrace_network::PRESETS
            .iter()
            .find(|(name, _)| *name == "loggopsim")
            .unwrap();
        let text = preset.replace("65535", limit);
        let network =
            Description::parse(&text, "loggopsim").unwrap_or_else(|error| panic!("{error}"));
        let run = run(&read(&format!("goal/{file}")), &network);
        assert!(run.is_complete(), "{file}: {:?}", run.outcome);
        for host in hosts.split(';').filter(|host| !host.trim().is_empty()) {
            let (rank, nanos) = host
                .trim()
                .strip_prefix("Host ")
                .unwrap()
                .split_once(": ")
                .unwrap();
            let ours = run.finish[rank.parse::<usize>().unwrap()].expect("it ended");
            assert_eq!(
                ours.0,
                nanos.parse::<u64>().unwrap() * 1_000,
                "{file} {limit}: host {rank}"
            );
        }
        cases += 1;
    }
    assert_eq!(cases, 6);
}

/// A trace, a machine, a limit of rendezvous, and seconds.
type Case = (String, String, Option<u64>, f64);

/// Reads `case: trace=FILE cfg=FILE args=['-S', '1000'] -> Execution time:<tab>SECONDS []`.
fn dimemas_case(line: &str) -> Option<(String, Case)> {
    let (name, rest) = line.split_once(": trace=")?;
    let (trace, rest) = rest.split_once(" cfg=")?;
    let (machine, rest) = rest.split_once(" args=")?;
    let (arguments, rest) = rest.split_once(" -> Execution time:")?;
    let limit = arguments.split('\'').find_map(|word| word.parse().ok());
    let seconds = rest.split_whitespace().next()?.parse().ok()?;
    Some((
        name.to_owned(),
        (trace.to_owned(), machine.to_owned(), limit, seconds),
    ))
}

fn dimemas_cases() -> BTreeMap<String, Case> {
    let expected = fs::read_to_string(path("dimemas/EXPECTED.txt")).expect("it lies there");
    expected.lines().filter_map(dimemas_case).collect()
}

#[test]
fn runs_take_as_long_as_dimemas_says() {
    let cases = dimemas_cases();
    assert_eq!(cases.len(), 10);
    for (name, (trace, machine, limit, seconds)) in cases {
        let bytes = fs::read(path(&format!("dimemas/{machine}"))).expect("it lies there");
        let mut network =
            dimemas_machine(&bytes, &machine).unwrap_or_else(|error| panic!("{error}"));
        network.set_rendezvous_above(limit);
        let run = run(&read(&format!("dimemas/{trace}")), &network);
        assert!(run.is_complete(), "{name}: {:?}", run.outcome);
        // It prints nanoseconds.
        let difference = (run.end.0 as f64 / 1e12 - seconds).abs();
        assert!(
            difference <= 1e-9,
            "{name}: {} for {seconds}",
            run.end.0 as f64 / 1e12
        );
    }
}

#[test]
fn the_preset_dimemas_is_its_smallest_example() {
    let network = Description::preset("dimemas").unwrap().unwrap();
    assert_eq!(
        run(&read("dimemas/p2p.dim"), &network).end.as_nanos(),
        2_963_674
    );
    assert_eq!(
        run(&read("dimemas/bar8.dim"), &network).end.as_nanos(),
        2_760_000
    );
}

/// A trace of two tasks, which both belong to communicator 1.
fn pair(one: &[&str], other: &[&str]) -> Messages {
    let mut text = "#DIMEMAS:\"x\":1,0:2(1,1),1\nd:1:1:2:0:1\n".to_owned();
    for (task, records) in [one, other].into_iter().enumerate() {
        for record in records {
            let (kind, rest) = record.split_once(' ').expect("a kind and fields");
            text += &[kind, ":", &task.to_string(), ":0:", rest, "\n"].concat();
        }
    }
    let refuse = |_: &str| Err(io::Error::from(io::ErrorKind::NotFound));
    let format = recognized("x.dim", text.as_bytes()).expect("it is known");
    format
        .import(text.as_bytes(), "x.dim", &refuse)
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_sender_that_waited_for_its_receiver_goes_on_when_the_transfer_begins() {
    let network = Description::preset("dimemas").unwrap().unwrap();
    let blocking = pair(
        &["2 1:-1:100000:0:1:1", "1 0.001"],
        &["1 0.003", "3 0:-1:100000:0:1:0"],
    );
    let ends = run(&blocking, &network).finish;
    let nanos = |rank: usize| ends[rank].expect("it ended").as_nanos();
    assert_eq!((nanos(0), nanos(1)), (4_010_000, 3_963_674));
    // A send that does not block lets its task go on at once, and its transfer waits all the same.
    let background = pair(
        &["2 1:-1:100000:0:1:3", "1 0.001"],
        &["1 0.003", "3 0:-1:100000:0:1:0"],
    );
    let ends = run(&background, &network).finish;
    let nanos = |rank: usize| ends[rank].expect("it ended").as_nanos();
    assert_eq!((nanos(0), nanos(1)), (1_010_000, 3_963_674));
}

#[test]
fn a_receive_that_was_begun_costs_its_start_when_it_is_waited_for() {
    let network = Description::preset("dimemas").unwrap().unwrap();
    let begun = pair(
        &["2 1:-1:100000:0:1:0"],
        &["3 0:-1:100000:0:1:1", "1 0.003", "3 0:-1:100000:0:1:2"],
    );
    assert_eq!(run(&begun, &network).end.as_nanos(), 3_010_000);
}
