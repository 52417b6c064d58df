//! The paper's models give results that were computed independently.

use foretrace_san::{
    Options, Solution, Storage,
    language::{Parameters, Source},
    solve,
};
use serde_json::Value;

const ASYNC: &str = include_str!("../../../assets/models/san/propagation-async.san");
const SYNC: &str = include_str!("../../../assets/models/san/propagation-sync.san");
const FIGURE_1: &str = include_str!("../../../assets/models/san/figure-1.san");

fn golden() -> Value {
    serde_json::from_str(include_str!("golden/san.json")).expect("it is JSON")
}

/// Makes parameters of `N=2 NS=4 K=20`.
fn parameters(text: &str) -> Parameters {
    let pairs = text
        .split_whitespace()
        .filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.parse().expect("it is a number")))
        .collect()
}

fn solved(text: &str, values: &Parameters, options: &Options) -> Solution {
    let model = Source::read(text, "model").and_then(|source| source.model(values));
    model
        .and_then(|model| solve(&model, options))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn ways() -> [Options; 3] {
    [
        Options::default(),
        Options {
            lump: false,
            ..Options::default()
        },
        Options {
            storage: Storage::MatrixFree,
            ..Options::default()
        },
    ]
}

fn compare(text: &str, cases: &Value, least: usize) {
    let cases = cases.as_object().expect("it is an object");
    let mut compared = 0;
    for (name, expected) in cases {
        for options in ways() {
            // Without a matrix the smaller ones tell as much.
            if options.storage == Storage::MatrixFree && expected["states"].as_f64() > Some(2000.0)
            {
                continue;
            }
            let found = solved(text, &parameters(name), &options);
            assert_eq!(Some(found.states), expected["states"].as_f64(), "{name}");
            if options.lump && options.storage == Storage::Auto {
                assert_eq!(
                    Some(found.solved_states as u64),
                    expected["lumped_states"].as_u64(),
                    "{name}"
                );
            }
            assert!(found.residual <= 1e-12, "{name}: {}", found.residual);
            for (result, value) in &found.results {
                let golden = expected[result].as_f64().expect("the result is there");
                let off = (value - golden).abs();
                assert!(
                    off <= 1e-9,
                    "{name} {result} by {}: {value}, not {golden}",
                    found.method
                );
                compared += 1;
            }
        }
    }
    assert!(compared >= least, "{compared}");
}

#[test]
fn the_asynchronous_model_gives_the_golden_results_in_every_way() {
    compare(ASYNC, &golden()["async"], 60 * 8 * 2);
}

#[test]
fn the_synchronous_model_gives_the_golden_results_in_every_way() {
    compare(SYNC, &golden()["sync"], 6 * 6 * 2);
}

#[test]
fn the_synchronous_model_keeps_its_exact_ratio() {
    for n in [1.0, 3.0, 7.0, 40.0] {
        let values = Parameters::from([("N".to_owned(), n)]);
        let found = solved(SYNC, &values, &Options::default());
        let result = |name: &str| {
            found
                .results
                .iter()
                .find(|(n, _)| n == name)
                .map_or(f64::NAN, |(_, v)| *v)
        };
        let (sending, working) = (result("S_Tx"), result("S_Pr"));
        let expected = 0.0035 * n / (0.041 + 0.0035 * n);
        assert!(
            (sending / (sending + working) - expected).abs() < 1e-9,
            "{n}"
        );
    }
}

#[test]
#[expect(clippy::float_cmp, reason = "whole numbers")]
fn figure_1_has_five_states_with_the_golden_probabilities() {
    for options in ways() {
        let found = solved(FIGURE_1, &Parameters::new(), &options);
        assert_eq!(found.states, 5.0);
        let golden = &golden()["fig1"]["A"]["stationary"];
        for (name, value) in &found.results {
            let digits: Vec<&str> = name[1..].split("").filter(|d| !d.is_empty()).collect();
            let expected = golden[digits.join(",")]
                .as_f64()
                .expect("the state is there");
            assert!((value - expected).abs() < 1e-9, "{name}: {value}");
        }
    }
}

#[test]
#[expect(clippy::float_cmp, reason = "whole numbers")]
fn figure_1_needs_no_reachability_function() {
    let text = FIGURE_1.replace("reachable !(st A1 == 1 && st A2 == 1);", "");
    assert_ne!(text, FIGURE_1);
    assert_eq!(
        solved(&text, &Parameters::new(), &Options::default()).states,
        5.0
    );
}

#[test]
fn rates_that_differ_by_too_much_are_refused_by_their_events() {
    for (text, values) in [
        (ASYNC, "TP=1e308"),
        (ASYNC, "CM=1e308"),
        (ASYNC, "ER=1e308"),
        (ASYNC, "N=3 K=5 TT=1e-200"),
        (ASYNC, "N=3 K=5 TP=1e305"),
        (SYNC, "CM=1e308"),
    ] {
        let source = Source::read(text, "m.san").unwrap();
        let model = source.model(&parameters(values)).unwrap();
        match solve(&model, &Options::default()) {
            Ok(found) => {
                let sane = |value: f64| (-1e-9..=1e9).contains(&value);
                assert!(
                    found.results.iter().all(|(_, value)| sane(*value)),
                    "{values}: {found:?}"
                );
            }
            Err(error) => {
                let error = error.to_string();
                assert!(
                    error.contains("the rates differ by too much"),
                    "{values}: {error}"
                );
            }
        }
    }
}
