//! Real programs that use MPI: a benchmark that does everything, a library of linear algebra, and a simulation.

use std::fs;

use serde_json::Value;

use crate::environment::TestEnvironment;

/// Records a program of so many ranks, and returns what it printed.
fn record(environment: &TestEnvironment, family: &str, ranks: u32, program: &[&str]) -> String {
    let (launcher, ranks) = (format!("mpirun.{family}"), ranks.to_string());
    let mut arguments = vec!["record", "-f", "-o", "a.ftrace", "--"];
    arguments.extend([launcher.as_str(), "-np", &ranks]);
    arguments.extend(program);
    let output = environment
        .launching(&arguments)
        .env("OMP_NUM_THREADS", "1")
        .output()
        .expect("foretrace was built");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const MODELS: [&str; 3] = ["direct", "client-server", "strict"];

/// Predicts what was recorded by these models, each of which has to come to the end; returns the default one's answer.
fn predict(environment: &TestEnvironment, ranks: u32, models: &[&str]) -> Value {
    let by = |model: &str| {
        let network = ["--network", "infiniband", "--model", model, "--json"];
        let answer = environment.json(&[&["predict", "a.ftrace"][..], &network].concat());
        let prediction = answer["predictions"][0].clone();
        let makespan = prediction["makespan_ns"].as_f64();
        assert!(makespan.is_some(), "{ranks} ranks, {model}: {answer}");
        prediction
    };
    for model in models {
        by(model);
    }
    by("auto")
}

#[test]
fn the_hpc_challenge_is_recorded_and_replayed_to_its_end() {
    let environment = TestEnvironment::new();
    for (ranks, rows, columns) in [(2, 1, 2), (4, 2, 2), (8, 2, 4)] {
        // How large the matrices are, in which blocks, and on which grid of processes they lie; the rest is as it comes.
        let input = include_str!("hpccinf.txt")
            .replace("{rows}", &rows.to_string())
            .replace("{columns}", &columns.to_string());
        environment.file("hpccinf.txt", input, 0o644);
        // It appends to what is there.
        let _ = fs::remove_file(environment.path("hpccoutf.txt"));
        record(&environment, "openmpi", ranks, &["hpcc"]);
        let told = fs::read_to_string(environment.path("hpccoutf.txt")).expect("it writes there");
        assert!(told.contains("\nSuccess=1\n"), "{told}");
        // Where ranks receive from anybody until all are done, another order than the recorded one may have no end.
        let prediction = predict(&environment, ranks, &MODELS[1..]);
        assert!(
            prediction["messages"].as_u64() > Some(1_000),
            "{prediction}"
        );
    }
}

/// Records the test of its LU factorization that a library of linear algebra comes with, which checks what it calculates.
fn a_factorization_is_right_while_it_is_recorded(family: &str) {
    let environment = TestEnvironment::new();
    let program = format!("/usr/lib/x86_64-linux-gnu/scalapack/{family}-tests/xdlu");
    for (ranks, rows, columns) in [(2, 1, 2), (4, 2, 2), (8, 2, 4)] {
        let input = format!(
            "'LU'\n'MPI'\n'LU.out' file\n6 device\n1 size\n200 rows\n200 columns\n2 block sizes\n8 20\n1 number of NRHS\n\
             1 NRHS\n1 number of NBRHS\n1 NBRHS\n1 grid\n{rows} rows\n{columns} columns\n1.0 threshold\nF conditions\n"
        );
        environment.file("LU.dat", input, 0o644);
        let printed = record(&environment, family, ranks, &[&program]);
        let passed = "2 tests completed and passed residual checks";
        assert!(printed.contains(passed), "{printed}");
        let prediction = predict(&environment, ranks, &MODELS);
        assert!(prediction["messages"].as_u64() > Some(100), "{prediction}");
    }
}

#[test]
fn a_factorization_is_right_while_it_is_recorded_with_open_mpi() {
    a_factorization_is_right_while_it_is_recorded("openmpi");
}

#[test]
fn a_factorization_is_right_while_it_is_recorded_with_mpich() {
    a_factorization_is_right_while_it_is_recorded("mpich");
}

/// A melt of atoms that attract and repel each other, after the program's own benchmark.
const MELT: &str = "units lj\natom_style atomic\nlattice fcc 0.8442\nregion box block 0 8 0 8 0 8\ncreate_box 1 box\n\
                    create_atoms 1 box\nmass 1 1.0\nvelocity all create 1.44 87287 loop geom\npair_style lj/cut 2.5\n\
                    pair_coeff 1 1 1.0 1.0 2.5\nneighbor 0.3 bin\nneigh_modify delay 0 every 20 check no\nfix 1 all nve\n\
                    thermo 10\nrun 40\n";

#[test]
fn molecules_move_alike_while_they_are_recorded() {
    let environment = TestEnvironment::new();
    environment.file("melt.in", MELT, 0o644);
    let mut messages = Vec::new();
    let mut energies = Vec::new();
    for ranks in [2, 4, 8] {
        let printed = record(
            &environment,
            "openmpi",
            ranks,
            &["lmp", "-in", "melt.in", "-log", "none"],
        );
        // Step, temperature, energies and pressure: numbers only.
        let is_row = |line: &&str| {
            let mut words = line.split_whitespace();
            words.clone().count() == 6 && words.all(|word| word.parse::<f64>().is_ok())
        };
        let rows: Vec<&str> = printed.lines().filter(is_row).collect();
        assert_eq!(rows.len(), 5, "{printed}");
        energies.push(rows[0].to_owned());
        let prediction = predict(&environment, ranks, &MODELS);
        messages.push(prediction["messages"].as_u64());
    }
    // At the begin all is the same in whatever parts the atoms lie.
    assert!(
        energies.windows(2).all(|pair| pair[0] == pair[1]),
        "{energies:?}"
    );
    // The more parts, the more of them exchange atoms in each step.
    assert!(
        messages.is_sorted_by(|less, more| less < more),
        "{messages:?}"
    );
}
