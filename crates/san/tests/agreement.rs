//! All ways of solving a model agree, on models made at random.

use std::fmt::Write as _;

use foretrace_san::{
    Options, Solution, Storage,
    language::{Parameters, Source},
    solve,
    stationary::Iteration,
};
use proptest::{prelude::*, test_runner::Config};

/// A ring of states that workers go through, and a counter that lets them pass.
#[derive(Clone, Debug)]
struct Random {
    workers: u32,
    phases: usize,
    counter: u32,
    rates: Vec<f64>,
    routing: f64,
    functional: bool,
}

fn random() -> impl Strategy<Value = Random> {
    (
        1..5_u32,
        2..4_usize,
        1..5_u32,
        prop::collection::vec(0.05..20.0_f64, 4),
        0.05..0.95_f64,
        any::<bool>(),
    )
        .prop_map(
            |(workers, phases, counter, rates, routing, functional)| Random {
                workers,
                phases,
                counter,
                rates,
                routing,
                functional,
            },
        )
}

/// Writes a model with a synchronizing event, a local one, functional rates and routing, and an event that all have.
fn text(model: &Random) -> String {
    let Random {
        workers,
        phases,
        counter,
        rates,
        routing,
        functional,
    } = model;
    let rate = if *functional {
        format!("{:?} * (1 + nb [W] 0)", rates[0])
    } else {
        format!("{:?}", rates[0])
    };
    let chance = if *functional {
        format!("{routing:?} / (1 + st C)")
    } else {
        format!("{routing:?}")
    };
    let last = phases - 1;
    let mut text = format!(
        "event put[1..{workers}] rate {rate};
event go[1..{workers}] rate {:?};
event take rate {:?};
event reset rate {:?};
automaton W[i in 1..{workers}] {{
  state 0 {{ put[i] -> 1; reset -> 0; }}
",
        rates[1], rates[2], rates[3]
    );
    for phase in 1..*phases {
        let next = if phase == last { 0 } else { phase + 1 };
        let _ = writeln!(
            text,
            "  state {phase} {{ go[i] -> {next} prob {chance}; go[i] -> 0 prob 1 - {chance}; reset -> 0; }}"
        );
    }
    let _ = write!(
        text,
        "}}
automaton C {{
  state c in 0..{counter} {{
    put[1..{workers}] -> c + 1 if c < {counter};
    take -> c - 1 if c > 0;
    reset -> 0 if c == {counter};
  }}
}}
result mean = st C;
result idle = nb [W] 0;
result one = (st W[1] == 1) * (st C > 0);
"
    );
    text
}

fn solved(text: &str, options: Options) -> Solution {
    let source = Source::read(text, "random").unwrap_or_else(|error| panic!("{error}\n{text}"));
    let model = source
        .model(&Parameters::new())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    solve(&model, &options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

proptest! {
    #![proptest_config(Config { cases: 60, failure_persistence: None, ..Config::default() })]

    #[test]
    fn all_ways_give_the_same_results(model in random()) {
        let text = text(&model);
        let usual = Options { tolerance: 1e-12, ..Options::default() };
        let all = [
            usual,
            Options { lump: false, ..usual },
            Options { lump: false, iteration: Iteration::Plain, ..usual },
            Options { lump: false, iteration: Iteration::Power, ..usual },
            Options { storage: Storage::MatrixFree, ..usual },
            Options { storage: Storage::MatrixFree, iteration: Iteration::Power, ..usual },
        ];
        let found: Vec<Solution> = all.into_iter().map(|options| solved(&text, options)).collect();
        for other in &found[1..] {
            prop_assert!((other.states - found[0].states).abs() < 0.5);
            for ((name, value), (_, expected)) in other.results.iter().zip(&found[0].results) {
                prop_assert!((value - expected).abs() < 1e-9, "{} by {}: {} and {}", name, other.method, value, expected);
            }
        }
        let at = |storage, lump| solved(&text, Options { at_time: Some(0.2), storage, lump, ..usual });
        let early = [at(Storage::Auto, true), at(Storage::Auto, false), at(Storage::MatrixFree, false)];
        for other in &early[1..] {
            for ((name, value), (_, expected)) in other.results.iter().zip(&early[0].results) {
                prop_assert!((value - expected).abs() < 1e-10, "{} at 0.2: {} and {}", name, value, expected);
            }
        }
    }
}
