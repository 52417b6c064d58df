//! Files that are cut short or changed anywhere are read or refused, and what is read can be replayed.

use std::io;

use foretrace_interchange::{MESSAGE_FORMATS, Messages, dimemas_machine};
use foretrace_messages::{Model, replay, replay_graph};
use foretrace_network::Description;

const SAMPLES: [&str; 4] = [
    "num_ranks 2 // two\nrank 0 {\nl1: calc 100 cpu 1\nl2: send 8b to 1 tag 3 nic 1\nl2 requires l1\n}\nrank 1 {\n\
     l1: recv 8b from -1 tag -1 /* any */\n}\n",
    "#DIMEMAS:\"x\":1,0:2(1,1),1\nd:1:1:2:0:1\n1:0:0:0.001\n2:0:0:1:-1:100:3:1:2\n3:1:0:-1:-1:100:3:1:1\n\
     3:1:0:-1:-1:100:3:1:2\n10:0:0:11:1:0:0:8:8:1\n10:1:0:27:1:0:0:8:8:1\ns:0:1\n",
    "0 init 1\n1 init\n0 compute 1e6\n0 isend 1 7 1e3\n0 wait 0 1 7\n1 irecv 0 7 1e3\n1 waitall\n0 allreduce 8 100\n\
     1 allreduce 8 100\n0 gatherv 1 2 3 0\n1 sendRecv 5 0 5 0\n0 finalize\n",
    "#Paraver (01/01/2024 at 12:00):2_ns:2(1,1):1:2(1:1,1:2),1\nc:1:1:2:1:2\n1:1:1:1:1:0:10:1\n\
     3:1:1:1:1:10:10:2:1:2:1:5:12:64:9\n2:1:1:1:1:13:50000002:8:50100004:1\n",
];

fn try_all(bytes: &[u8], networks: &[Description]) {
    let refuse = |_: &str| Err(io::Error::from(io::ErrorKind::NotFound));
    for format in MESSAGE_FORMATS {
        let Ok(messages) = format.import(bytes, "x", &refuse) else {
            continue;
        };
        for network in networks {
            match &messages {
                Messages::Program(program) => {
                    if let Ok(network) = network.resolve(program.ranks()) {
                        replay(program, &network, Model::Direct);
                    }
                }
                Messages::Graph(graph) => {
                    if let Ok(network) = network.resolve(graph.ranks()) {
                        replay_graph(graph, &network);
                    }
                }
            }
        }
    }
}

#[test]
fn nothing_that_is_cut_or_changed_is_too_much() {
    let networks = ["dimemas", "loggopsim", "mse-fast-ethernet"];
    let networks = networks.map(|name| {
        Description::preset(name)
            .expect("it is there")
            .expect("it is right")
    });
    for sample in SAMPLES {
        let bytes = sample.as_bytes();
        for cut in 0..bytes.len() {
            try_all(&bytes[..cut], &networks);
            for other in [b'9', b'-', b':', b' ', b'\n', 0xff] {
                let mut changed = bytes.to_vec();
                changed[cut] = other;
                try_all(&changed, &networks);
            }
        }
    }
}

#[test]
fn a_configuration_that_is_cut_or_changed_is_read_or_refused() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/dimemas/bus1.cfg");
    let whole = std::fs::read(path).expect("it lies there");
    for cut in 0..whole.len() {
        if let Err(error) = dimemas_machine(&whole[..cut], "x.cfg") {
            assert!(error.to_string().starts_with("x.cfg:"), "{error}");
        }
        let mut changed = whole.clone();
        changed[cut] = b'9';
        if let Ok(network) = dimemas_machine(&changed, "x.cfg") {
            assert!(network.resolve(4).is_ok(), "{cut}");
        }
    }
    assert!(dimemas_machine(&whole, "x.cfg").is_ok());
}
