//! What messages cost here: measured by ranks under the implementations of MPI that are installed.

use std::{fs, process::Command};

use serde_json::Value;

use crate::environment::TestEnvironment;

/// Two ranks that hand a message to and fro.
const PING_PONG: &str = "#DIMEMAS:\"ping.dim\":1,0:2(1,1),1\nd:1:1:2:0:1\n2:0:0:1:-1:100000:3:1:0\n3:0:0:1:-1:8:3:1:0\n\
                         3:1:0:0:-1:100000:3:1:0\n2:1:0:0:-1:8:3:1:0\n";

fn number(json: &Value, path: &str) -> f64 {
    let number = json.pointer(path).and_then(Value::as_f64);
    number.unwrap_or_else(|| panic!("{path} is no number in {json:#}"))
}

/// Calibrates, and predicts with what was written.
fn calibrate(mpi: &[&str], library: &str) {
    let environment = TestEnvironment::new();
    let quick = [
        "calibrate",
        "--network",
        "--quick",
        "--json",
        "-o",
        "net.toml",
    ];
    let json = environment.json(&[&quick, mpi].concat());
    let said = json["library"].as_str().unwrap_or_default();
    assert!(said.contains(library), "{said}");
    let above_zero = |path: &str| {
        let number = number(&json, path);
        assert!(number.is_finite() && number > 0.0, "{path}: {number}");
    };
    for measured in [
        "round_trip_ns",
        "send_ns",
        "gap_ns",
        "predicted_ns",
        "receive_ns",
    ] {
        let path = format!("/round_trips/0/{measured}");
        if measured == "gap_ns" {
            assert!(number(&json, &path) >= 0.0);
        } else {
            above_zero(&path);
        }
    }
    above_zero("/residual/fitted/rms");
    assert_eq!(json["growth"]["ranks"], serde_json::json!([2, 3]));
    for piece in json["sizes"].as_array().expect("there are some") {
        for key in [
            "/latency_ns",
            "/gap_per_byte_ns",
            "/send/overhead_ns",
            "/receive/per_byte_ns",
        ] {
            let number = number(piece, key);
            assert!(number.is_finite() && number >= 0.0, "{key}: {number}");
        }
    }
    let file = fs::read_to_string(environment.path("net.toml")).expect("it was written");
    assert_eq!(json["toml"], file);
    assert!(
        file.contains("not fitted") && file.contains("model = \"mse\""),
        "{file}"
    );

    environment.file("ping.dim", PING_PONG, 0o644);
    let predicted = environment.json(&["predict", "ping.dim", "--network", "net.toml", "--json"]);
    let makespan = number(&predicted, "/predictions/0/makespan_ns");
    assert!(makespan.is_finite() && makespan > 0.0, "{predicted:#}");
    let farm = environment.json(&[
        "farm",
        "--ranks",
        "2..16",
        "--tasks",
        "500",
        "--work",
        "1ms",
        "--network",
        "net.toml",
        "--json",
    ]);
    assert_eq!(farm["curve"].as_array().map(Vec::len), Some(15));
}

#[test]
fn messages_of_open_mpi_are_measured() {
    calibrate(&["--mpi", "openmpi", "--ranks", "2,3"], "Open MPI");
}

#[test]
fn messages_of_mpich_are_measured() {
    calibrate(&["--mpi", "mpich", "--ranks", "2,3"], "MPICH");
}

#[test]
fn messages_over_tcp_are_measured() {
    let tcp = ["--mpi", "openmpi", "--transport", "tcp", "--ranks", "2,3"];
    calibrate(&tcp, "Open MPI");
}

#[test]
fn a_person_gets_a_table_and_one_number_of_ranks_does_not_grow() {
    let environment = TestEnvironment::new();
    let command = [
        "calibrate",
        "--network",
        "--quick",
        "--ranks",
        "2",
        "-o",
        "net.toml",
    ];
    let text = environment.run(&command);
    for said in [
        "exit code: 0",
        "round trip",
        "not fitted",
        "o send",
        "--network net.toml",
    ] {
        assert!(text.contains(said), "{text}");
    }
    let file = fs::read_to_string(environment.path("net.toml")).expect("it was written");
    assert!(file.contains("model = \"loggps\""), "{file}");
    let again = environment.run(&command);
    assert!(
        again.contains("exit code: 1") && again.contains("--force"),
        "{again}"
    );
}

#[test]
fn what_is_missing_is_told_with_the_remedy() {
    let environment = TestEnvironment::new();
    environment.file(
        "fails",
        "#!/bin/sh\necho there are not enough slots >&2\nexit 9\n",
        0o755,
    );
    environment.file("silent", "#!/bin/sh\nexit 0\n", 0o755);
    environment.file(
        "alone",
        "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\nshift 2\nexec \"$@\"\n",
        0o755,
    );
    let run = |arguments: &[&str]| environment.run(&[&["calibrate"], arguments].concat());
    let all = [
        run(&[]),
        run(&["--network", "--machine"]),
        run(&["--network", "--launcher", "./missing"]),
        run(&["--network", "--launcher", " "]),
        run(&["--network", "--launcher", "./fails"]),
        run(&["--network", "--launcher", "./silent"]),
        run(&["--network", "--launcher", "./alone", "--quick"]),
        run(&["--network", "--library", "libnone.so"]),
        run(&["--network", "--ranks", "1,2"]),
        run(&["--network", "--ranks", "1000"]),
        run(&["--network", "--quick", "-o", "no/such/net.toml"]),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn without_a_launcher_packages_to_install_are_named() {
    let environment = TestEnvironment::new();
    for arguments in [&["--network"][..], &["--network", "--mpi", "mpich"]] {
        let mut command = environment.command(&[&["calibrate"], arguments].concat());
        let output = command
            .env("PATH", "")
            .output()
            .expect("foretrace was built");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("openmpi-bin") && said.contains("--launcher"),
            "{said}"
        );
    }
}

#[test]
fn on_one_cpu_it_cannot_be_measured() {
    let status = fs::read_to_string("/proc/self/status").expect("the kernel tells");
    let allowed = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let allowed = allowed
        .expect("the kernel tells which CPUs are allowed")
        .trim();
    let first = allowed.split([',', '-']).next().expect("one is allowed");
    let foretrace = env!("CARGO_BIN_EXE_foretrace");
    for launcher in [&[][..], &["--launcher", "mpirun.openmpi", "--quick"]] {
        let output = Command::new("taskset")
            .args(["-c", first, foretrace, "calibrate", "--network"])
            .args(launcher)
            .output()
            .expect("util-linux is installed");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("only one CPU may be used"), "{said}");
    }
}

#[test]
fn machines_are_measured_too() {
    let environment = TestEnvironment::new();
    let text = environment.run(&["calibrate", "--machine"]);
    assert!(
        text.contains("exit code: 0") && text.contains("\nwake_latency = \""),
        "{text}"
    );
}
