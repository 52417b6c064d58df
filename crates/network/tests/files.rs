//! Files of networks: those that come with the program, and what is wrong with others.

use foretrace_network::{Algorithm, CollectiveKind, Description, Link, PRESETS};
use foretrace_schedule::SimTime;

const BETWEEN: Link = Link { from: 0, to: 1 };
const WITHIN: Link = Link { from: 1, to: 1 };

fn described(text: &str) -> Description {
    match Description::parse(text, "n.toml") {
        Ok(description) => description,
        Err(error) => panic!("{error}\n{text}"),
    }
}

fn error(text: &str) -> String {
    match Description::parse(text, "n.toml") {
        Ok(description) => panic!("{description:?}"),
        Err(error) => error.to_string(),
    }
}

const SMALL: &str = "model = \"loggps\"\nlatency = \"5us\"\ngap_per_byte = \"1ns\"\nsend = { overhead = \"1us\" }\nreceive = { overhead = \"2us\" }\n";

#[test]
fn every_preset_is_read_and_names_its_source() {
    for (name, _) in PRESETS {
        let preset = Description::preset(name).expect("it is there");
        let preset = preset.unwrap_or_else(|error| panic!("{error}"));
        assert!(preset.source.is_some(), "{name}");
        assert!(preset.resolve(16).is_ok(), "{name}");
    }
    assert!(Description::preset("token-ring").is_none());
}

#[test]
fn round_trips_are_those_of_the_paper() {
    for (preset, ranks, picos) in [
        ("mse-fast-ethernet", 2, 150_142_000),
        ("mse-fast-ethernet", 8, 154_510_000),
        ("mse-fast-ethernet", 16, 160_334_000),
        ("mse-fast-ethernet", 64, 195_278_000),
        ("mse-fast-ethernet", 66, 196_734_000),
        ("loggps-fast-ethernet", 2, 152_285_800),
        ("loggps-fast-ethernet", 64, 152_285_800),
    ] {
        let network = Description::preset(preset)
            .unwrap()
            .unwrap()
            .resolve(ranks)
            .unwrap();
        let model = &network.model;
        let one_way = model.send_overhead(BETWEEN, 1)
            + model.transit(BETWEEN, 1)
            + model.receive_overhead(BETWEEN, 1);
        assert_eq!(2 * one_way.0, picos, "{preset} {ranks}");
    }
}

#[test]
fn transfers_and_processes_take_what_amakatas_table_says() {
    let network = Description::preset("amakata-pc-cluster")
        .unwrap()
        .unwrap()
        .resolve(12)
        .unwrap();
    assert_eq!(network.model.transit(BETWEEN, 1), SimTime(300_286_667));
    assert_eq!(
        network.model.transit(BETWEEN, 320_000),
        SimTime(85_633_353_333)
    );
    assert_eq!(network.model.process_creation(), SimTime(700_000_000_000));
}

#[test]
fn computers_may_differ() {
    let text = "model = \"amakata\"\nbandwidth = \"30Mbit/s\"\ntransfer_overhead = \"300us\"\nprocess_creation = \"0.7s\"\n\
                distance_m = 2\nsignal_speed_m_per_s = 3e8\nsignal_delay_coefficient = 3\n\
                [[computer]]\nnode = 1\nbandwidth = \"60Mbit/s\"\ntransfer_overhead = \"100us\"\n";
    let network = described(text).resolve(3).unwrap();
    let from = |node| network.model.transit(Link { from: node, to: 0 }, 30_000);
    assert_eq!(from(2), SimTime(8_300_020_000));
    assert_eq!(from(1), SimTime(4_100_020_000));
}

#[test]
fn within_a_node_other_parameters_may_hold() {
    let text = format!(
        "{SMALL}[within_node]\nlatency = \"1us\"\nbandwidth = \"10GB/s\"\n[nodes]\nranks_per_node = 2\nspeeds = [1, 0.5]\n"
    );
    let description = described(&text);
    let network = description.resolve(4).unwrap();
    assert_eq!(network.node_of_rank, [0, 0, 1, 1]);
    assert_eq!(network.model.transit(BETWEEN, 1_001), SimTime(6_000_000));
    assert_eq!(network.model.transit(WITHIN, 1_001), SimTime(1_100_000));
    assert_eq!(network.model.send_overhead(WITHIN, 1), SimTime(1_000_000));
    let node_1 = network.node_of_rank.iter().position(|&node| node == 1);
    let speed = network.speed_of_rank[node_1.expect("ranks run there")];
    assert!((speed - 0.5).abs() < 1e-12);
    let mapped = format!("{SMALL}[nodes]\nmapping = [0, 3]\n");
    assert_eq!(
        described(&mapped).resolve(4).unwrap().node_of_rank,
        [0, 3, 4, 5]
    );
}

const LARGER: &str = "[[sizes]]\nabove = 1000\nlatency = \"9us\"\ngap_per_byte = \"2ns\"\nsend = { overhead = \"3us\", per_byte = \"1ns\" }\nreceive = { overhead = \"4us\" }\n";

#[test]
fn larger_messages_may_cost_otherwise() {
    let network = described(&format!("{SMALL}{LARGER}")).resolve(2).unwrap();
    for link in [BETWEEN, WITHIN] {
        assert_eq!(network.model.transit(link, 1_000), SimTime(5_999_000));
        assert_eq!(network.model.transit(link, 1_001), SimTime(9_000_000));
        assert_eq!(network.model.transit(link, 1_002), SimTime(9_002_000));
        assert_eq!(network.model.send_overhead(link, 1_000), SimTime(1_000_000));
        assert_eq!(network.model.send_overhead(link, 1_002), SimTime(3_002_000));
        assert_eq!(
            network.model.receive_overhead(link, 5_000),
            SimTime(4_000_000)
        );
    }
    // A node of its own kind has sizes of its own, or none.
    let text = format!("{SMALL}{LARGER}[within_node]\nlatency = \"1us\"\n");
    let network = described(&text).resolve(2).unwrap();
    assert_eq!(network.model.transit(WITHIN, 1_001), SimTime(2_000_000));
    assert_eq!(network.model.transit(BETWEEN, 1_001), SimTime(9_000_000));
}

#[test]
fn overheads_of_all_sizes_grow_with_the_processes() {
    let small = SMALL
        .replace("loggps", "mse")
        .replace(" }", ", per_process = \"10ns\" }");
    let within = "[within_node]\nlatency = \"1us\"\nsend = { overhead = \"1us\", per_process = \"5ns\" }\n[[within_node.sizes]]\n\
                  above = 1000\nlatency = \"9us\"\nbandwidth = \"1GB/s\"\nsend = { overhead = \"2us\" }\nreceive = { overhead = \"4us\" }\n";
    let network = described(&format!("{small}{LARGER}{within}"))
        .resolve(100)
        .unwrap();
    let send = |link, bytes| network.model.send_overhead(link, bytes).0;
    assert_eq!(send(BETWEEN, 1), 2_000_000);
    assert_eq!(send(BETWEEN, 1_001), 4_001_000);
    assert_eq!(send(WITHIN, 1), 1_500_000);
    assert_eq!(send(WITHIN, 1_001), 2_500_000);
    let receive = network.model.receive_overhead(WITHIN, 1_001);
    assert_eq!(receive, SimTime(5_000_000));
}

#[test]
fn algorithms_of_collectives_may_be_chosen() {
    let chosen = format!("{SMALL}[collectives]\nallreduce = \"ring\"\n");
    let collectives = described(&chosen).collectives;
    assert_eq!(
        collectives.algorithm(CollectiveKind::Allreduce, 8, 4),
        Algorithm::Ring
    );
    assert_eq!(
        collectives.algorithm(CollectiveKind::Bcast, 8, 4),
        Algorithm::Binomial
    );
}

#[test]
fn two_members_have_half_of_a_large_reduction_each_to_combine() {
    let combining = format!("{SMALL}[collectives]\ncombine_per_byte = \"0.5ns\"\n");
    let collectives = described(&combining).collectives;
    let algorithm = |bytes| collectives.algorithm(CollectiveKind::Allreduce, bytes, 2);
    assert_eq!(algorithm(8_192), Algorithm::Rabenseifner);
    assert_eq!(algorithm(8_191), Algorithm::RecursiveDoubling);
    let took = |kind| collectives.combining(kind, 1_000);
    assert_eq!(took(CollectiveKind::Scan), SimTime(500_000));
    assert_eq!(took(CollectiveKind::Bcast), SimTime::ZERO);
}

#[test]
fn what_cannot_be_is_told_with_its_line_and_the_remedy() {
    for (text, said) in [
        (
            "latency = \"5us\"\n".to_owned(),
            "n.toml, line 1: the key `model` is missing; write model = \"loggps\"",
        ),
        (
            "model = \"logps\"\n".to_owned(),
            "n.toml, line 1: `logps` is not known here; did you mean `loggps`?",
        ),
        (
            SMALL.replace("latency", "latancy"),
            "n.toml, line 2: `latancy` is not a key here; did you mean `latency`?",
        ),
        (
            format!("{SMALL}{LARGER}{LARGER}"),
            "n.toml, line 13: `above` is 1000, and must be 1001 at least",
        ),
        (
            format!("{SMALL}{}", LARGER.replace("above = 1000", "above = 0")),
            "n.toml, line 7: `above` is 0, and must be 1 at least",
        ),
        (
            SMALL.replace("5us", "-5us"),
            "n.toml, line 2: `-5us` is negative; write 0us where something takes no time",
        ),
        (
            SMALL.replace("1ns", "-1ns"),
            "n.toml, line 3: `-1ns` is negative; write 0us where a byte takes no time",
        ),
        (
            SMALL.replace("latency = \"5us\"\n", ""),
            "the parameter `latency` is missing; docs/network.md tells",
        ),
        (
            SMALL.replace("gap_per_byte = \"1ns\"\n", ""),
            "the parameter `gap_per_byte` is missing; write what a byte takes",
        ),
        (
            SMALL.replace("send = { overhead = \"1us\" }\n", ""),
            "the parameter `send` is missing",
        ),
        (
            SMALL.replace("loggps", "mse"),
            "the parameter `per_process` is missing",
        ),
        (
            format!("{SMALL}rendezvous_above = -1\n"),
            "n.toml, line 6: -1 is negative; write 0 or more",
        ),
        (
            format!("{SMALL}[collectives]\nbcast = \"rabenseifner\"\n"),
            "n.toml, line 7: rabenseifner is no algorithm of bcast; it has binomial, linear, ring",
        ),
        (
            format!("{SMALL}[contention]\ntopology = \"torus\"\nbandwidth = \"1GB/s\"\n"),
            "a torus needs `dimensions`, as in dimensions = [4, 4, 2]",
        ),
        (
            format!("{SMALL}[contention]\ntopology = \"star\"\nbandwidth = \"0GB/s\"\n"),
            "n.toml, line 8: `0GB/s`: nothing would ever arrive",
        ),
        (
            SMALL.replace("\"5us\"", "5"),
            "expected a string; write it in quotes, and times with their unit",
        ),
    ] {
        let message = error(&text);
        assert!(message.contains(said), "{message}\n{said}");
    }
}

#[test]
fn a_topology_must_have_room() {
    let text = format!(
        "{SMALL}[contention]\ntopology = \"torus\"\nbandwidth = \"1GB/s\"\ndimensions = [2, 2]\n"
    );
    let error = described(&text).resolve(5).unwrap_err().to_string();
    assert!(
        error.contains("the topology has 4 nodes, and 5 ranks need 5"),
        "{error}"
    );
}
