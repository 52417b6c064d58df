//! Programs that use MPI, recorded with their launchers: Open MPI and MPICH, in C and Fortran.

use std::{path::Path, process::Command};

use serde_json::Value;

use crate::environment::{TestEnvironment, assert_speedup};

/// The implementations of MPI.
pub const FAMILIES: [&str; 2] = ["openmpi", "mpich"];

/// Compiles one of the programs with a family's compiler.
pub fn compile(environment: &TestEnvironment, family: &str, source: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../traces/programs")
        .join(source);
    compile_file(environment, family, &source);
}

fn compile_file(environment: &TestEnvironment, family: &str, source: &Path) {
    let is_fortran = source.extension().is_some_and(|suffix| suffix == "f90");
    let compiler = if is_fortran { "mpif90" } else { "mpicc" };
    let status = Command::new(format!("{compiler}.{family}"))
        .args(["-w", "-O1", "-g", "-fopenmp", "-o", "prog"])
        .arg(source)
        .arg("-lm")
        .current_dir(environment.path(""))
        .status();
    let status = status.expect("the test command installs both implementations");
    assert!(status.success(), "{family}");
}

/// Returns the command that records a program of so many ranks, but for the program's arguments.
fn recording(environment: &TestEnvironment, family: &str, ranks: u32) -> Command {
    let launcher = format!("mpirun.{family}");
    let ranks = ranks.to_string();
    let mut command = environment.launching(&["record", "-f", "-o", "a.ftrace", "--"]);
    command.args([&launcher, "-np", &ranks, "./prog"]);
    command
}

/// Records a program of so many ranks, and returns what it printed.
pub fn record(
    environment: &TestEnvironment,
    family: &str,
    ranks: u32,
    arguments: &[&str],
) -> String {
    let mut command = recording(environment, family, ranks);
    command.args(arguments);
    recorded(command)
}

/// Runs a command that records a program, and returns what that printed.
fn recorded(mut command: Command) -> String {
    let output = command.output().expect("foretrace was built");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn predict(environment: &TestEnvironment, model: &str) -> Value {
    environment.json(&[
        "predict",
        "a.ftrace",
        "--network",
        "gigabit-ethernet",
        "--model",
        model,
        "--json",
    ])
}

/// Returns the rows of a rank in the text form, without times.
pub fn rows(environment: &TestEnvironment, rank: u32) -> Vec<String> {
    let text = environment.run(&["export", "a.ftrace", "--format", "text"]);
    let name = format!("rank{rank}");
    let rows = text.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let time = words.next()?;
        let is_row = time.parse::<u64>().is_ok() && words.next() == Some(&name);
        let told = words.filter(|word| !word.starts_with("cpu=") && !word.starts_with("site="));
        is_row.then(|| told.collect::<Vec<_>>().join(" "))
    });
    rows.collect()
}

/// Takes the numbers off the names of communicators.
pub fn anonymous(rows: Vec<String>) -> Vec<String> {
    let without = |row: String, name: &str| {
        let mut parts = row.split(name);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| {
            text + name + part.trim_start_matches(|digit: char| digit.is_ascii_digit())
        })
    };
    rows.into_iter()
        .map(|row| without(without(row, "comm"), "window"))
        .collect()
}

#[test]
fn every_sort_of_call_is_recorded_and_replayed_to_its_end() {
    for family in FAMILIES {
        let environment = TestEnvironment::new();
        compile(&environment, family, "mpi_calls.c");
        let printed = record(&environment, family, 3, &[]);
        assert_eq!(printed.trim(), "fine", "{family}");
        for model in ["direct", "client-server", "strict"] {
            let document = predict(&environment, model);
            let attempt = &document["predictions"][0]["attempts"][0];
            assert_eq!(
                attempt["outcome"], "completed",
                "{family} {model}: {attempt}"
            );
        }
        let of_first = rows(&environment, 0);
        let begins = |words: &str| of_first.iter().any(|row| row.starts_with(words));
        assert!(begins("begin 0 3"), "{family}: {of_first:?}");
        // Who a receive from anybody got its message from is known, also where the program did not ask.
        let open = of_first.iter().filter(|row| row.starts_with("recv any"));
        for row in open {
            assert!(
                row.contains("any:1") || row.contains("any:2"),
                "{family}: {row}"
            );
        }
        assert!(begins("send nobody 4 22"), "{family}");
        assert!(begins("sendrecv 1 4 20 2 4 20"), "{family}");
        assert!(begins("start recv:4:60:world"), "{family}");
        // In the half of even ranks, whose order is reversed, rank 2 is the first.
        assert!(begins("sendrecv 2 4 70 2 4 70 comm="), "{family}");
    }
}

#[test]
fn neighbours_windows_and_what_came_with_mpi_4_are_recorded() {
    for family in FAMILIES {
        let environment = TestEnvironment::new();
        compile(&environment, family, "mpi_more.c");
        let ranks = 3;
        let printed = record(&environment, family, ranks, &[]);
        assert_eq!(printed.trim(), "fine", "{family}");
        let document = predict(&environment, "strict");
        let attempt = &document["predictions"][0]["attempts"][0];
        assert_eq!(attempt["outcome"], "completed", "{family}: {attempt}");
        // What is moved in ways that are not replayed is told.
        let warnings = document["trace"]["warnings"].to_string();
        let lost = format!("{ranks} calls of MPI move data in ways that are not replayed");
        assert!(warnings.contains(&lost), "{family}: {warnings}");
        let of_first = anonymous(rows(&environment, 0));
        let has = |row: &str| {
            let found = of_first.iter().any(|known| known == row);
            assert!(found, "{family}: {row}: {of_first:#?}");
        };
        let begin = "begin 0 3 serialized serialized ";
        assert!(
            of_first.iter().any(|row| row.starts_with(begin)),
            "{family}: {of_first:#?}"
        );
        // On a ring of three: from the left and the right, and to them.
        has(
            "exchange recv:4:0:comm.neighbours:-:-:2 recv:4:0:comm.neighbours:-:-:1 \
             send:4:0:comm.neighbours:-:standard:2 send:4:0:comm.neighbours:-:standard:1 \
             call=neighbor_allgather",
        );
        has("barrier - 0 0 call=win_allocate");
        has("send 1 4 0 comm=window mode=buffered call=put");
        has("barrier - 0 0 comm=window call=win_fence");
        has("span 0 call=file_set_view");
        has("span 4 call=file_write_at");
        has("span 4 call=file_write_at_all");
        if family == "openmpi" {
            // Its headers are of MPI 3.1.
            continue;
        }
        has("send 1 4 100 request=0 call=isend_c");
        has("recv any:2 4 100 call=recv_c");
        has("sendrecv 1 4 101 2 4 101 call=sendrecv_c");
        has(
            "start recv:4:102:world:0:-:any:2 send:4:102:world:1:standard:1 \
             call=isendrecv",
        );
        has("allgather - 4 4 call=allgatherv_c");
        has("allreduce - 4 4 request=0 call=start");
        // Partitions become a message when the last is ready.
        has("span 8 call=pready");
        has("send 1 24 110 comm=world.partitions request=0 call=pready_range");
    }
}

#[test]
fn calls_that_block_may_be_made_by_looking_again_and_again() {
    for family in FAMILIES {
        for (source, ranks) in [("mpi_calls.c", 3), ("mpi_more.c", 2)] {
            let environment = TestEnvironment::new();
            compile(&environment, family, source);
            let usual = record(&environment, family, ranks, &[]);
            let rows_of = |rank| anonymous(rows(&environment, rank));
            // How often it is looked for something that is not there is another each time.
            let moves_data = |row: &String| {
                let words = [
                    "send", "recv", "exchange", "start", "all", "bcast", "reduce",
                ];
                words.iter().any(|word| row.starts_with(word))
            };
            let calls = |rows: Vec<String>| rows.into_iter().filter(moves_data).count();
            let before = calls(rows_of(1));
            let mut command = recording(&environment, family, ranks);
            let output = command.env("FORETRACE_MPI_YIELD", "1").output();
            let output = output.expect("foretrace was built");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{family} {source}: {errors}");
            assert_eq!(String::from_utf8_lossy(&output.stdout), usual);
            // The trace is of the same calls.
            let after = calls(rows_of(1));
            assert_eq!(before, after, "{family} {source}");
            let document = predict(&environment, "direct");
            let attempt = &document["predictions"][0]["attempts"][0];
            assert_eq!(attempt["outcome"], "completed", "{family}: {attempt}");
        }
    }
}

#[test]
fn a_receive_that_was_cancelled_too_late_has_its_message() {
    let environment = TestEnvironment::new();
    for family in FAMILIES {
        compile(&environment, family, "mpi_cancel.c");
        let said = record(&environment, family, 2, &[]);
        assert_eq!(said, "the first came from 0, the second was cancelled\n");
        let receives: Vec<String> = rows(&environment, 1)
            .into_iter()
            .filter(|row| row.starts_with("recv"))
            .collect();
        assert_eq!(
            receives,
            [
                "recv any:0 8 any request=0 call=irecv",
                "recv nobody 8 any request=1 call=irecv"
            ],
            "{family}"
        );
        for model in ["direct", "client-server", "strict"] {
            let predicted = predict(&environment, model);
            let makespan = &predicted["predictions"][0]["makespan_ns"];
            assert!(makespan.is_number(), "{family}, {model}: {predicted}");
        }
    }
}

#[test]
fn functions_that_the_library_lacks_are_not_found_by_programs_that_look() {
    const SOURCE: &str = "#define _GNU_SOURCE\n#include <mpi.h>\n#include <dlfcn.h>\n#include <stdio.h>\n\
        #pragma weak MPI_Session_finalize\n\
        int MPI_Session_finalize(void *);\n\
        int main(int count, char **arguments) {\n\
            MPI_Init(&count, &arguments);\n\
            const char *names[] = {\"MPI_Send_c\", \"MPI_Abi_get_version\", \"MPI_Isendrecv\"};\n\
            for (int i = 0; i < 3; i++) printf(\"%d\", dlsym(RTLD_DEFAULT, names[i]) != 0);\n\
            printf(\"%d\\n\", MPI_Session_finalize != 0);\n\
            MPI_Finalize();\n}\n";
    let environment = TestEnvironment::new();
    let source = environment.file("looks.c", SOURCE, 0o644);
    compile_file(&environment, "openmpi", &source);
    assert_eq!(record(&environment, "openmpi", 1, &[]).trim(), "0000");
}

#[test]
fn ranks_of_sessions_are_recorded() {
    let environment = TestEnvironment::new();
    compile(&environment, "mpich", "mpi_more.c");
    let printed = record(&environment, "mpich", 2, &["sessions"]);
    assert_eq!(printed.trim(), "fine");
    let of_first = anonymous(rows(&environment, 0));
    let has = |row: &str| of_first.iter().any(|known| known == row);
    assert!(has("begin 0 2 call=session_init"), "{of_first:#?}");
    assert!(has("allreduce - 4 4 comm=comm"), "{of_first:#?}");
    let document = predict(&environment, "direct");
    let attempt = &document["predictions"][0]["attempts"][0];
    assert_eq!(attempt["outcome"], "completed", "{attempt}");
}

#[test]
fn which_threads_may_call_mpi_is_told() {
    for family in FAMILIES {
        let environment = TestEnvironment::new();
        compile(&environment, family, "mpi_calls.c");
        record(&environment, family, 2, &[]);
        let info = environment.run(&["info", "a.ftrace"]);
        let told = "threads in MPI    MPI_THREAD_FUNNELED asked for, MPI_THREAD_";
        assert!(info.contains(told), "{family}: {info}");
        let document = environment.json(&["info", "a.ftrace", "--json"]);
        assert_eq!(document["messages"]["threads"]["asked"], "funneled");
    }
}

#[test]
fn a_stranger_on_the_recorded_cpu_is_told() {
    let environment = TestEnvironment::new();
    compile(&environment, "openmpi", "mpi_stencil.c");
    // The last CPU that this process may use is the one that is recorded on.
    let spin = "exec taskset -c $(taskset -pc $$ | sed 's/.*[ ,-]//') sh -c 'while :; do :; done'";
    let mut stranger = Command::new("sh")
        .args(["-c", spin])
        .spawn()
        .expect("there is a shell");
    record(&environment, "openmpi", 2, &["200000", "200"]);
    let ended = stranger.kill().and_then(|()| stranger.wait());
    ended.expect("it was running");
    let info = environment.json(&["info", "a.ftrace", "--json"]);
    let warnings = info["trace"]["warnings"].to_string();
    assert!(warnings.contains("while ranks took turns on it"), "{info}");
}

#[test]
fn text_traces_hold_all_that_is_known_of_messages() {
    let environment = TestEnvironment::new();
    compile(&environment, "mpich", "mpi_more.c");
    record(&environment, "mpich", 2, &[]);
    environment.run(&["export", "a.ftrace", "--format", "text", "-o", "a.txt"]);
    let imported = environment.run(&["import", "a.txt", "--format", "text", "-o", "b.ftrace"]);
    assert!(imported.contains("exit code: 0"), "{imported}");
    let bytes = |name: &str| std::fs::read(environment.path(name)).expect("it was written");
    assert!(bytes("a.ftrace") == bytes("b.ftrace"));
}

#[test]
fn a_master_deals_tasks_to_whoever_is_free_in_the_predicted_run() {
    for family in FAMILIES {
        let environment = TestEnvironment::new();
        compile(&environment, family, "mpi_farm.c");
        let printed = record(&environment, family, 3, &["100", "60"]);
        assert!(printed.starts_with("sum "), "{family}: {printed}");
        let info = environment.json(&["info", "a.ftrace", "--json"]);
        assert_eq!(info["messages"]["ranks"], 3);
        // Each row is a task and its result; each slave is told to stop.
        assert_eq!(info["messages"]["messages"], 2 * 60 + 2);
        let document = predict(&environment, "auto");
        assert_eq!(document["predictions"][0]["model"], "direct");
        let farm = environment.json(&[
            "farm",
            "--trace",
            "a.ftrace",
            "--ranks",
            "2..8",
            "--network",
            "gigabit-ethernet",
            "--json",
        ]);
        assert_eq!(farm["curve"].as_array().map(Vec::len), Some(7), "{farm}");
        for command in ["grid", "san"] {
            let fit = environment.json(&[command, "fit", "a.ftrace", "--json"]);
            // A row's number and its points: four bytes each.
            assert_eq!(fit["message_bytes"], 4.0 + 101.0 * 4.0, "{fit}");
            assert_eq!(fit["tasks"], 60);
        }
    }
}

#[test]
fn ranks_written_in_fortran_are_recorded() {
    for family in FAMILIES {
        let environment = TestEnvironment::new();
        compile(&environment, family, "mpi_fortran.f90");
        let printed = record(&environment, family, 2, &[]);
        assert_eq!(printed.trim(), "1", "{family}");
        let of_first = rows(&environment, 0);
        let open = of_first.iter().find(|row| row.starts_with("recv"));
        assert_eq!(
            open.map(String::as_str),
            Some("recv any:1 4 any"),
            "{family}"
        );
    }
}

#[test]
fn ranks_of_a_recording_are_drawn() {
    let environment = TestEnvironment::new();
    compile(&environment, "openmpi", "mpi_stencil.c");
    record(&environment, "openmpi", 2, &["20000", "5"]);
    let network = ["--network", "gigabit-ethernet"];
    let mut arguments = vec!["export", "a.ftrace", "--format", "svg"];
    arguments.extend(network);
    let drawn = environment.run(&arguments);
    assert!(
        drawn.contains("exit code: 0") && drawn.contains("<svg"),
        "{drawn}"
    );
    let refused = environment.run(&["predict", "a.ftrace"]);
    assert!(refused.contains("--network"), "{refused}");
}

#[test]
fn a_rank_that_died_is_waited_for_by_name() {
    const SOURCE: &str = "#include <mpi.h>\n#include <signal.h>\n#include <unistd.h>\n\
        int main(int count, char **arguments) {\n\
            int rank, value = 1;\n\
            MPI_Init(&count, &arguments);\n\
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
            MPI_Barrier(MPI_COMM_WORLD);\n\
            if (rank == 1) kill(getpid(), SIGKILL);\n\
            MPI_Recv(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n\
            MPI_Finalize();\n}\n";
    let environment = TestEnvironment::new();
    let source = environment.file("dies.c", SOURCE, 0o644);
    compile_file(&environment, "openmpi", &source);
    let mut command = recording(&environment, "openmpi", 2);
    let ended = command.output().expect("foretrace was built");
    assert!(!ended.status.success());
    let predicted = environment.run(&["predict", "a.ftrace", "--network", "gigabit-ethernet"]);
    assert!(predicted.contains("exit code: 1"), "{predicted}");
    let waits = "rank 0 waits in recv from rank 1, tag 3, communicator world";
    assert!(predicted.contains(waits), "{predicted}");
    assert!(predicted.contains("the ends of rank"), "{predicted}");
}

#[test]
fn ranks_under_the_launcher_of_another_implementation_are_said_so() {
    let environment = TestEnvironment::new();
    compile(&environment, "mpich", "mpi_fortran.f90");
    let mut command = recording(&environment, "openmpi", 2);
    // Alone, each finds no partner and fails, or prints what one rank makes of it.
    let _ = command.output().expect("foretrace was built");
    let info = environment.run(&["info", "a.ftrace"]);
    assert!(
        info.contains("were each the only rank of their program"),
        "{info}"
    );
}

#[test]
fn a_listing_written_by_hand_is_of_one_rank_a_thread() {
    let environment = TestEnvironment::new();
    let listing = "foretrace-text 1\nunit 1us\nprocess A\nprocess B\n\
                   0 A send B 100 7 cpu=0\n1 A return cpu=0\n1 B recv any 100 any cpu=0\n\
                   5 B return cpu=0\n9 B barrier cpu=4\n9 A barrier cpu=3\n10 A return cpu=3\n\
                   10 B return cpu=4\n10 A terminate cpu=3\n10 B terminate cpu=4\n";
    environment.file("a.ftrace", listing, 0o644);
    let document = predict(&environment, "auto");
    assert_eq!(document["trace"]["ranks"], 2);
    assert_eq!(document["trace"]["work_ns"], 7_000);
    assert_eq!(
        document["predictions"][0]["attempts"][0]["outcome"],
        "completed"
    );
}

/// Returns the time of a row of a listing.
fn time(row: &&str) -> Option<u32> {
    let first = row.split(' ').next();
    first.and_then(|time| time.parse().ok())
}

#[test]
fn what_ucx_does_while_it_is_loaded_is_not_the_program_s_work() {
    let environment = TestEnvironment::new();
    // Before MPI begins, 30 us up to a call from UCX's library; afterwards the program maps memory, by which UCX is called.
    let rank = |name: &str, rank: u32| {
        format!(
            "0 {name} lock m{rank} cpu=0\n30 {name} lock u{rank} site=libucm.so.0+0x10 cpu=30\n\
             31 {name} begin {rank} 2 cpu=31\n32 {name} return cpu=32\n\
             52 {name} unlock u{rank} site=libucm.so.0+0x20 cpu=52\n\
             60 {name} terminate cpu=60\n"
        )
    };
    let header = "foretrace-text 1\nunit 1us\nprogram p pid=1\nprogram p pid=2 parent=1\n\
                  module libucm.so.0 /lib/libucm.so.0\nsite libucm.so.0+0x10\nsite libucm.so.0+0x20\n\
                  process A tid=1 program=0\nprocess B tid=2 program=1\n";
    let rows = rank("A", 0) + &rank("B", 1);
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.sort_by_key(time);
    let listing = format!("{header}{}\n", rows.join("\n"));
    environment.file("a.ftrace", &listing, 0o644);
    let document = predict(&environment, "auto");
    // Of each rank: one up to the beginning, 20 up to the unlock, 8 up to the end.
    assert_eq!(document["trace"]["rank_work_ns"][0], 29_000, "{document}");
}

#[test]
fn ranks_that_sleep_or_wait_for_disks_let_time_pass() {
    let environment = TestEnvironment::new();
    // Waits for a disk, sleeps longer than it asked for, as the other has the CPU, and looks for a message, which it also does asleep.
    let listing = "foretrace-text 1\nreturns explicit\nunit 1us\nprogram p pid=1\nprogram p pid=2 parent=1\n\
                   process A tid=1 program=0\nprocess B tid=2 program=1\nprocess C tid=3 program=0\n\
                   0 A begin 0 2 cpu=0\n0 A return cpu=0\n0 B begin 1 2 cpu=0\n0 B return cpu=0\n\
                   10 A io read file cpu=10\n110 A return cpu=10\n\
                   110 A sleep asked=1000 cpu=10\n4110 A return cpu=10\n\
                   4110 A tries 3 call=iprobe cpu=10\n4110 A return cpu=10\n\
                   4110 A sleep asked=1000 cpu=10\n5110 A return cpu=10\n\
                   5110 B send 0 8 1 cpu=4000\n5110 B return cpu=4000\n\
                   5110 A probe any:1 0 1 call=iprobe cpu=10\n5110 A return cpu=10\n\
                   5110 A recv any:1 8 1 cpu=10\n5110 A return cpu=10\n\
                   5110 A span 40 call=file_write_at cpu=10\n5510 A return cpu=410\n\
                   5510 A sleep asked=500 cpu=410\n5810 C terminate cpu=300\n6010 A return cpu=410\n\
                   6010 A span 0 call=finalize cpu=410\n6010 B span 0 call=finalize cpu=4000\n\
                   6010 A terminate cpu=410\n6010 B terminate cpu=4000\n";
    environment.file("a.ftrace", listing, 0o644);
    let document = predict(&environment, "auto");
    let trace = &document["trace"];
    // What the other of its threads worked while it slept is not in the pause.
    let times = ["rank_work_ns", "pause_ns"].map(|name| trace[name].to_string());
    let slack = 50_000;
    let paused = 100_000 + 1_000_000 + slack + 500_000 - 300_000;
    assert_eq!(times, ["[710000,4000000]".to_owned(), paused.to_string()]);
    assert_eq!(
        trace["warnings"].as_array().map(Vec::len),
        Some(0),
        "{trace}"
    );
    let makespan = document["predictions"][0]["makespan_ns"].as_f64();
    // The other's message is there after 4 ms.
    let expected = f64::from(4_000_000 + 700_000 + 200_000);
    let late = makespan.map(|makespan| makespan - expected);
    let is_late = late.is_some_and(|late| (0.0..100_000.0).contains(&late));
    assert!(is_late, "{document}");
}

#[test]
fn threads_of_ranks_share_the_cpus_of_their_rank() {
    let environment = TestEnvironment::new();
    // Each rank's two threads work 100 us, then both ranks meet: at 102, or, where a rank has one CPU, at 202.
    let rank = |name: &str, rank: u32| {
        format!(
            "0 {name} begin {rank} 2 cpu=0\n1 {name} return cpu=1\n1 {name} create {name}1 cpu=1\n\
             101 {name} join {name}1 cpu=101\n201 {name}1 terminate cpu=100\n201 {name} return cpu=101\n202 {name} allreduce - 8 8 cpu=102\n\
             210 {name} return cpu=110\n212 {name} terminate cpu=112\n"
        )
    };
    let header = "foretrace-text 1\nunit 1us\nreturns explicit\nprogram p pid=1\nprogram p pid=2 parent=1\n\
                  process A tid=1 program=0\nprocess A1 tid=3 program=0\nprocess B tid=2 program=1\nprocess B1 tid=4 program=1\n";
    let rows = rank("A", 0) + &rank("B", 1);
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.sort_by_key(time);
    let listing = format!("{header}{}\n", rows.join("\n"));
    environment.file("a.ftrace", &listing, 0o644);
    let predict = ["predict", "a.ftrace", "--network", "infiniband", "--json"];
    let on = |cpus: &str| environment.json(&[&predict[..], &["--cpus-per-rank", cpus]].concat());
    let (usual, on_one, on_two) = (environment.json(&predict), on("1"), on("2"));
    let number = |document: &Value, pointer: &str| {
        let value = document.pointer(pointer).and_then(Value::as_u64);
        value.unwrap_or_else(|| panic!("no {pointer} in {document}"))
    };
    for document in [&usual, &on_one, &on_two] {
        assert_eq!(number(document, "/trace/work_ns"), 406_000, "{document}");
    }
    let makespan = |document: &Value| {
        let value = document["predictions"][0]["makespan_ns"].as_f64();
        value.unwrap_or_else(|| panic!("no makespan in {document}"))
    };
    // Threads that take turns on one CPU empty its caches.
    assert!(
        (makespan(&on_one) - makespan(&usual)).abs() < 10_000.0,
        "{on_one}"
    );
    assert_eq!(number(&on_two, "/predictions/0/cpus_per_rank"), 2);
    let of_rank = number(&on_two, "/trace/rank_work_ns/0");
    assert!((103_000..150_000).contains(&of_rank), "{on_two}");
    assert!(makespan(&on_two) + 50_000.0 < makespan(&on_one), "{on_two}");
}

#[test]
fn loops_of_ranks_take_as_many_cpus_as_they_are_given() {
    for family in FAMILIES {
        // Two ranks with two threads each.
        assert_speedup(2.8..=4.05, || {
            let environment = TestEnvironment::new();
            compile(&environment, family, "mpi_openmp.c");
            let mut command = recording(&environment, family, 2);
            command.args(["20", "500000"]).env("OMP_NUM_THREADS", "2");
            recorded(command);
            let predict = ["predict", "a.ftrace", "--network", "infiniband", "--json"];
            environment.json(&[&predict[..], &["--cpus-per-rank", "2"]].concat())
        });
    }
}

#[test]
fn what_mpi_calls_of_the_program_s_may_lock_for_as_long_as_it_likes() {
    for family in FAMILIES {
        let environment = TestEnvironment::new();
        compile(&environment, family, "mpi_callback.c");
        // Alone, nobody takes its turn, often enough for more than one chunk of the journal.
        let told = record(&environment, family, 1, &["100"]);
        assert_eq!(told, "called back\n", "{family}");
        let told = environment.run(&["info", "a.ftrace"]);
        assert!(told.contains("exit code 0"), "{family}: {told}");
    }
}

fn assert_predicted(document: &Value, family: &str) {
    let makespan = document["predictions"][0]["makespan_ns"].as_f64();
    assert!(makespan.is_some(), "{family}: {document}");
}

#[test]
fn ranks_that_look_mpi_up_in_its_library_are_recorded() {
    for family in FAMILIES {
        let environment = TestEnvironment::new();
        compile(&environment, family, "mpi_looks_up.c");
        assert_eq!(record(&environment, family, 2, &[]), "met\n", "{family}");
        let told = environment.json(&["info", "a.ftrace", "--json"]);
        assert!(told.to_string().contains("barrier"), "{family}: {told}");
        let document = predict(&environment, "auto");
        assert_predicted(&document, family);
    }
}

#[test]
fn what_a_recording_left_over_is_left_over_in_its_replay() {
    for family in FAMILIES {
        let environment = TestEnvironment::new();
        compile(&environment, family, "mpi_left_over.c");
        // MPICH says more.
        let told = record(&environment, family, 2, &[]);
        assert!(told.starts_with("got 7\n"), "{family}: {told}");
        let document = predict(&environment, "auto");
        assert_predicted(&document, family);
        let warnings = document["trace"]["warnings"].to_string();
        assert!(warnings.contains("2 receives were begun"), "{warnings}");
        assert!(warnings.contains("1 message was sent"), "{warnings}");
    }
}

#[test]
fn threads_of_a_rank_wait_in_mpi_at_the_same_time() {
    for family in FAMILIES {
        let environment = TestEnvironment::new();
        compile(&environment, family, "mpi_threads.c");
        let told = record(&environment, family, 2, &["10"]);
        // Of each round 0 to 9 twice its number from both sums, and once from each message.
        assert_eq!(told, "180 180\n", "{family}");
        let predict = ["predict", "a.ftrace", "--network", "infiniband", "--json"];
        for model in ["direct", "client-server", "strict"] {
            let document = environment.json(&[&predict[..], &["--model", model]].concat());
            assert_predicted(&document, family);
        }
        let exported = environment.run(&["export", "a.ftrace", "--format", "svg", "-o", "a.svg"]);
        assert!(exported.contains("a.svg"), "{family}: {exported}");
    }
}

#[test]
fn cpus_are_given_to_ranks_that_were_recorded() {
    let environment = TestEnvironment::new();
    environment.file(
        "a.ftrace",
        "foretrace-text 1\nprocess A\n1 A terminate\n",
        0o644,
    );
    let told = environment.run(&[
        "predict",
        "a.ftrace",
        "--network",
        "infiniband",
        "--cpus-per-rank",
        "2",
    ]);
    assert!(
        told.contains("--cpus-per-rank: a.ftrace holds no recorded ranks"),
        "{told}"
    );
}
