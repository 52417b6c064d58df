//! The golden results of MSE and of Amakata's simulator, to a billionth.

use foretrace_farm::{Farm, Outcome, Scheme, Work, matmul, run};
use foretrace_network::{Description, Network};
use foretrace_schedule::SimTime;
use serde_json::Value;

const MODELS: [(&str, &str); 2] = [
    ("mse", "mse-fast-ethernet"),
    ("loggps", "loggps-fast-ethernet"),
];

fn golden(name: &str) -> Value {
    let path = format!("{}/tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("it lies there");
    serde_json::from_str(&text).expect("it is JSON")
}

fn network(preset: &str, ranks: u32) -> Network {
    let description = Description::preset(preset)
        .expect("it is there")
        .expect("it is right");
    description.resolve(ranks).expect("it has room")
}

fn farm(tasks: u64, work: f64, scheme: Scheme) -> Farm {
    #[expect(clippy::cast_sign_loss, reason = "the golden times are not negative")]
    let work = Work::Constant(SimTime((work * 1e6).round() as u64));
    Farm {
        tasks,
        work,
        task_bytes: 1,
        result_bytes: 1,
        master_work: SimTime::ZERO,
        scheme,
    }
}

/// Compares with microseconds.
fn assert_near(time: SimTime, micros: f64, what: &str) {
    let ours = time.0 as f64 / 1e6;
    assert!(
        (ours - micros).abs() <= 1e-9 * micros.abs(),
        "{what}: {ours} for {micros}"
    );
}

fn object(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value
        .as_object()
        .expect("it is a table")
        .iter()
        .map(|(key, value)| (key.as_str(), value))
}

#[test]
fn the_curves_of_mse_are_reproduced_with_what_the_master_did() {
    let golden = golden("mse");
    for (work, curve) in object(&golden["curve"]) {
        for (ranks, point) in object(curve) {
            for (model, preset) in MODELS {
                let farm = farm(1_048_576, work.parse().unwrap(), Scheme::Single);
                let outcome = run(&farm, &network(preset, ranks.parse().unwrap()));
                let what = format!("{model} with {ranks}");
                assert_near(outcome.makespan, point[model].as_f64().unwrap(), &what);
                let master = &point[format!("{model}_master")];
                // A million additions of floating-point numbers stand behind these.
                for (ours, theirs) in [
                    (outcome.master.send, &master["send"]),
                    (outcome.master.receive, &master["recv"]),
                    (outcome.master.wait, &master["wait"]),
                ] {
                    let theirs = theirs.as_f64().unwrap();
                    let difference = (ours.0 as f64 / 1e6 - theirs).abs();
                    assert!(
                        difference <= 1e-8 * theirs + 1.0,
                        "{what}: {ours} for {theirs}"
                    );
                }
            }
        }
    }
}

#[test]
fn small_farms_of_mse_are_reproduced() {
    let golden = golden("mse");
    for (work, curve) in object(&golden["small"]) {
        for (ranks, point) in object(curve) {
            for (model, preset) in MODELS {
                let farm = farm(2_000, work.parse().unwrap(), Scheme::Single);
                let outcome = run(&farm, &network(preset, ranks.parse().unwrap()));
                assert_near(
                    outcome.makespan,
                    point[model].as_f64().unwrap(),
                    &format!("{model} {work} {ranks}"),
                );
            }
        }
    }
}

#[test]
fn the_optimum_of_mse_is_at_sixteen() {
    let time = |ranks| {
        run(
            &farm(1_048_576, 292.0, Scheme::Single),
            &network("mse-fast-ethernet", ranks),
        )
        .makespan
    };
    assert_eq!(
        [2, 4, 8, 16, 32, 64]
            .into_iter()
            .min_by_key(|ranks| time(*ranks)),
        Some(16)
    );
}

#[test]
fn amakatas_matrices_take_as_long_as_computed_by_hand() {
    let golden = golden("amakata");
    let mut compared = 0;
    for (name, case) in object(&golden["runs"]) {
        let number = |key: &str| {
            let found = name.split(' ').find_map(|part| part.strip_prefix(key));
            found.and_then(|text| text.parse::<u32>().ok())
        };
        let (Some(size), Some(slaves), true) =
            (number("n="), number("p="), name.ends_with("model=A"))
        else {
            continue;
        };
        let outcome = matmul(u64::from(size), &network("amakata-pc-cluster", slaves + 1));
        assert_near(outcome.makespan, case["T"].as_f64().unwrap() * 1e6, name);
        compared += 1;
    }
    assert!(compared >= 6, "{compared}");
}

fn on_mse(scheme: Scheme, ranks: u32) -> Outcome {
    run(
        &farm(65_536, 292.0, scheme),
        &network("mse-fast-ethernet", ranks),
    )
}

#[test]
fn several_masters_divide_what_one_cannot_serve() {
    let single = on_mse(Scheme::Single, 64);
    let several = on_mse(Scheme::Multi(4), 64);
    assert!(several.makespan.0 * 2 < single.makespan.0);
    assert_eq!(several.masters, 4);
    assert_eq!(on_mse(Scheme::Multi(1), 64), single);
}

#[test]
fn a_dynamic_farm_splits_where_slaves_wait_and_only_there() {
    let calm = on_mse(Scheme::Dynamic, 4);
    assert_eq!(calm, on_mse(Scheme::Single, 4));
    let split = on_mse(Scheme::Dynamic, 64);
    assert!(split.masters > 2, "{split:?}");
    assert!(split.makespan < on_mse(Scheme::Single, 64).makespan);
    // No faster than all slaves working without a pause.
    assert!(split.makespan.0 > 65_536 * 292_000_000 / 63);
}

#[test]
fn every_task_is_done_once_also_where_they_do_not_divide_evenly() {
    for scheme in [Scheme::Single, Scheme::Multi(3), Scheme::Dynamic] {
        for tasks in [0, 1, 5, 1_001] {
            let outcome = run(
                &farm(tasks, 292.0, scheme),
                &network("mse-fast-ethernet", 7),
            );
            assert_eq!(
                outcome.makespan == SimTime::ZERO,
                tasks == 0,
                "{scheme:?} {tasks}"
            );
        }
    }
}
