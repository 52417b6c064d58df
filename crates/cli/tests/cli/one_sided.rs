//! Programs that use MPI's windows: what is put there and got from there, and how it is ended.

use serde_json::Value;

use crate::environment::{TestEnvironment, assert_speedup};
use crate::ranks::{FAMILIES, anonymous, compile, predict, record, rows};

#[test]
fn what_is_put_into_windows_and_got_is_there_when_that_is_ended() {
    for family in FAMILIES {
        let environment = TestEnvironment::new();
        compile(&environment, family, "mpi_windows.c");
        for how in ["fences", "epochs", "locks"] {
            // In each step one rank works three times as long as the other.
            assert_speedup(1.1..=1.4, || {
                let printed = record(&environment, family, 2, &["20", "1500", "100", how]);
                assert_eq!(printed.trim(), "fine", "{family}, {how}");
                for model in ["client-server", "strict"] {
                    let document = predict(&environment, model);
                    let attempt = &document["predictions"][0]["attempts"][0];
                    assert_eq!(
                        attempt["outcome"], "completed",
                        "{family}, {how}: {attempt}"
                    );
                }
                let document = predict(&environment, "direct");
                let warnings = document["trace"]["warnings"].to_string();
                assert!(!warnings.contains("windows"), "{family}, {how}: {warnings}");
                document
            });
        }
        record(&environment, family, 3, &["1", "1", "7", "epochs"]);
        for rank in 0..3 {
            let (right, left) = ((rank + 1) % 3, (rank + 2) % 3);
            let rows = anonymous(rows(&environment, rank));
            let of_windows: Vec<&str> = rows
                .iter()
                .filter(|row| row.contains("epochs") || row.contains("comm=window"))
                .map(String::as_str)
                .take(6)
                .collect();
            let expected = [
                format!("exchange send:0:0:window.epochs:-:buffered:{left} call=win_post"),
                format!("exchange recv:0:0:window.epochs:-:-:{right} call=win_start"),
                format!("send {right} 28 0 comm=window mode=buffered call=put"),
                format!("exchange send:0:1:window.epochs:-:buffered:{right} call=win_complete"),
                format!("exchange recv:0:1:window.epochs:-:-:{left} call=win_wait"),
                format!("exchange send:0:0:window.epochs:-:buffered:{left} call=win_post"),
            ];
            assert_eq!(of_windows, expected, "{family}");
        }
    }
}

/// Returns what is predicted of two ranks on a network on which a message takes 100 us and a byte more 1 us, with a window called `w`.
fn predict_window(rows: &str) -> Value {
    let environment = TestEnvironment::new();
    let head = "foretrace-text 1\nreturns explicit\nunit 1us\ncommunicator world 0 1\ncommunicator w 0 1\ncommunicator w.epochs 0 1\n";
    environment.file("a.txt", [head, rows].concat(), 0o644);
    let network = "model = \"loggps\"\nlatency = \"100us\"\ngap_per_byte = \"1us\"\n[send]\noverhead = \"0us\"\n[receive]\noverhead = \"0us\"\n";
    environment.file("net.toml", network, 0o644);
    let document = environment.json(&["predict", "a.txt", "--network", "net.toml", "--json"]);
    assert_eq!(
        document["trace"]["warnings"].as_array().map(Vec::len),
        Some(0),
        "{document}"
    );
    document
}

#[test]
fn who_uses_a_window_waits_until_it_may_and_who_lets_it_until_that_is_over() {
    // Rank 1 works 500 us before it lets 0 use its part, which puts 30 bytes and gets 60, and works 200 us before it ends that.
    let document = predict_window(
        "0 P0 exchange recv:0:0:w.epochs:-:-:1 call=win_start cpu=0\n500 P1 exchange send:0:0:w.epochs:-:buffered:0 call=win_post cpu=500\n\
         500 P1 return cpu=500\n500 P1 exchange recv:0:1:w.epochs:-:-:0 call=win_wait cpu=500\n\
         600 P0 return cpu=0\n600 P0 send 1 30 0 comm=w mode=buffered call=put cpu=0\n600 P0 return cpu=0\n\
         600 P0 recv 1 60 0 comm=w call=get cpu=0\n600 P0 return cpu=0\n\
         800 P0 exchange send:0:1:w.epochs:-:buffered:1 call=win_complete cpu=200\n800 P0 return cpu=200\n\
         900 P1 return cpu=500\n900 P0 terminate cpu=200\n900 P1 terminate cpu=500\n",
    );
    let ends = &document["predictions"][0]["finish_ns"];
    let near = |rank: &str, micros: u64| {
        let end = ends[rank].as_u64().map(|end| end / 1_000);
        assert!(
            end.is_some_and(|end| end.abs_diff(micros) < 5),
            "{rank}: {document}"
        );
    };
    near("0", 800);
    near("1", 900);
}

#[test]
fn who_uses_a_locked_window_waits_for_the_way_there_and_back() {
    // Rank 0 puts 30 bytes, fetches 8 and adds to them; 1 works.
    let document = predict_window(
        "0 P0 span 0 call=win_lock cpu=0\n0 P0 return cpu=0\n0 P0 send 1 31 0 comm=w mode=buffered call=put cpu=0\n0 P0 return cpu=0\n\
         100 P0 span 0 call=win_flush cpu=50\n100 P0 return cpu=50\n\
         150 P0 exchange send:11:0:w:-:buffered:1 recv:11:0:w:-:-:1 call=fetch_and_op cpu=50\n150 P0 return cpu=50\n\
         300 P0 span 0 call=win_unlock cpu=50\n300 P0 return cpu=50\n\
         700 P0 terminate cpu=50\n700 P1 terminate cpu=700\n",
    );
    assert_eq!(document["predictions"][0]["messages"], 2, "{document}");
    let end = document["predictions"][0]["finish_ns"]["0"].as_u64();
    // 30 more bytes there, and back; ten more there, ten more back.
    let expected = 230_000 + 220_000;
    assert!(
        end.is_some_and(|end| end.abs_diff(expected) < 5_000),
        "{document}"
    );
}

#[test]
fn what_is_put_where_nothing_ends_that_is_told() {
    let environment = TestEnvironment::new();
    let row = |time: u32, rank: u32, what: &str, cpu: u32| {
        format!("{time} P{rank} {what} cpu={cpu}\n{time} P{rank} return cpu={cpu}\n")
    };
    let fence = "barrier - 0 0 comm=w call=win_fence";
    let put = |to: u32| format!("send {to} 40 0 comm=w mode=buffered call=put");
    let both = [
        row(0, 0, fence, 0),
        row(1, 1, fence, 0),
        row(10, 0, &put(1), 9),
        row(11, 1, &put(0), 9),
        row(12, 0, "recv 1 4000 0 comm=w call=get", 10),
        row(20, 0, fence, 18),
        row(21, 1, fence, 18),
    ];
    let head = "foretrace-text 1\nreturns explicit\ncommunicator world 0 1\ncommunicator w 0 1\n";
    let last = row(30, 0, &put(1), 27);
    let ends = "40 P0 terminate cpu=30\n40 P1 terminate cpu=30\n";
    for (last, lost) in [("", false), (last.as_str(), true)] {
        let text = [head, &both.concat(), last, ends].concat();
        environment.file("a.txt", &text, 0o644);
        let options = ["--network", "infiniband", "--json"];
        let document = environment.json(&[&["predict", "a.txt"][..], &options].concat());
        let attempt = &document["predictions"][0]["attempts"][0];
        assert_eq!(attempt["outcome"], "completed", "{document}");
        let warnings = document["trace"]["warnings"].to_string();
        assert_eq!(warnings.contains("windows"), lost, "{warnings}");
        // Two fences by two ranks of one message each way, two that are put, one that is got.
        assert_eq!(document["predictions"][0]["messages"], 7, "{document}");
    }
}
