//! What the language means, and what is said of texts that mean nothing.

use std::fmt::Write as _;

use foretrace_san::{
    Options, Solution, Storage,
    language::{Parameters, Source},
    solve,
};

fn solved(text: &str, options: &Options) -> Result<Solution, String> {
    let source = Source::read(text, "m.san").map_err(|error| error.to_string())?;
    let model = source
        .model(&Parameters::new())
        .map_err(|error| error.to_string())?;
    solve(&model, options).map_err(|error| error.to_string())
}

fn wrong(text: &str) -> String {
    match solved(text, &Options::default()) {
        Ok(_) => "nothing is wrong".to_owned(),
        Err(error) => error,
    }
}

/// A machine that breaks and is repaired.
const GOOD: &str = "param fails = 0.5;
event break rate fails;
event repair rate 2;
automaton Machine {
  state up { break -> down; }
  state down { repair -> up; }
}
result working = st Machine == up;
";

fn changed(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    GOOD.replacen(from, to, 1)
}

#[test]
fn two_states_share_the_time_as_their_rates_say() {
    let found = solved(GOOD, &Options::default()).unwrap();
    assert!((found.results[0].1 - 0.8).abs() < 1e-15);
    assert_eq!((found.states, found.method), (2.0, "direct"));
}

/// What stands in the good text, what is put in its place, and what is said then.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "event repair rate 2;",
        "event repair rate 2",
        "m.san, line 4, column 1: expected `;` after the declaration, found `automaton`",
    ),
    (
        "rate 2",
        "rate -2",
        "line 3, column 19: the rate of the event repair is -2; rates are finite and not negative",
    ),
    (
        "rate 2",
        "rate 0 / 0",
        "line 3, column 19: the rate of the event repair is NaN",
    ),
    (
        "rate fails",
        "rate fail",
        "line 2, column 18: there is no parameter or `let` named `fail`",
    ),
    (
        "event repair rate 2;",
        "event repair rate 2;\nevent idle rate 1;",
        "line 4, column 7: no automaton has the event idle",
    ),
    (
        "break -> down;",
        "break -> down prob 0.5; break -> up prob 0.4;",
        "line 5, column 14: the routing probabilities of the event break in the automaton Machine sum to 0.9 over its 2 transitions",
    ),
    (
        "break -> down;",
        "break -> down prob 1.5; break -> up prob -0.5;",
        "line 5, column 14: the routing probability of the event break in the automaton Machine is 1.5",
    ),
    (
        "break -> down;",
        "break -> down; break -> up;",
        "sum to 2 over its 2 transitions, and not to 1; give each its `prob`",
    ),
    (
        "break -> down;",
        "break -> down prob (st Machine == up) * 0.3; break -> up prob 0.6;",
        "sum to 0.8999999999999999 over its 2 transitions, and not to 1; give each its `prob` (in the state (up))",
    ),
    (
        "break -> down;",
        "breaks -> down;",
        "line 5, column 14: there is no event breaks; there are break, repair",
    ),
    (
        "break -> down;",
        "break -> gone;",
        "line 5, column 23: the automaton Machine has no state gone; it has up, down",
    ),
    (
        "param fails = 0.5;",
        "param fails;",
        "line 1, column 7: the parameter fails has no value; give one with --param fails=VALUE",
    ),
    (
        "st Machine == up",
        "st Machines == up",
        "line 8, column 21: there is no automaton Machines; there are Machine",
    ),
    (
        "st Machine == up",
        "st Machine + 1",
        "the states of Machine are names",
    ),
    ("st Machine == up", "sin(1)", "there is no function `sin`"),
    (
        "st Machine == up",
        "(1 + 2",
        "expected `)` after the expression, found `;`",
    ),
    (
        "state down {",
        "state up {",
        "line 6, column 3: the automaton Machine has a second state up",
    ),
    (
        "automaton Machine {",
        "automaton Machine[1..0] {",
        "line 4, column 18: the range 1..0 is empty",
    ),
    (
        "param fails = 0.5;",
        "let fails = fails + 1;",
        "`fails` is defined by way of itself",
    ),
    (
        "rate fails",
        "rate fails - (st Machine == up)",
        "line 2, column 18: the rate of the event break is -0.5 in the state (up)",
    ),
    (
        "state down { repair -> up; }",
        "state down { repair -> up; ",
        "line 8, column 1: expected `state`, or `}` after the last one, found `result`",
    ),
    (
        "result working",
        "reachable st Machine == up; result working",
        "the state (up) is said to be reachable, and (down), which it leads to, is not",
    ),
    (
        "st Machine == up",
        "1 / (st Machine == up)",
        "line 8, column 8: the result working is inf in the state (down)",
    ),
    (
        "rate 2",
        "rate 2 ? 1",
        "line 3, column 21: expected a name, a number or an operator, found `?`",
    ),
];

#[test]
fn faults_are_told_with_line_and_column_and_what_was_expected() {
    for (from, to, expected) in FAULTS {
        let found = wrong(&changed(from, to));
        assert!(
            found.contains(expected),
            "{to}\nsaid:     {found}\nexpected: {expected}"
        );
    }
}

#[test]
fn states_that_are_left_for_ever_are_named() {
    let text = changed("state up {", "state new { repair -> up; } state up {");
    let said = wrong(&text);
    assert!(
        said.contains(
            "m.san, line 4, column 11: the chain is reducible: 1 of 3 states are transient"
        ),
        "{said}"
    );
    assert!(said.contains("(new)"), "{said}");
    let allowed = Options {
        allow_transient: true,
        ..Options::default()
    };
    let found = solved(&text, &allowed).unwrap();
    assert!((found.results[0].1 - 0.8).abs() < 1e-15);
}

#[test]
fn where_the_answer_depends_on_the_start_it_says_so() {
    let text = "event left rate 1;
event right rate 2;
automaton Ball {
  state edge { left -> a; right -> b; }
  state a;
  state b;
}
";
    let said = wrong(text);
    assert!(
        said.contains("line 3, column 11: the chain is reducible: there are 2 sets of states"),
        "{said}"
    );
    assert!(said.contains("the answer depends on the start"), "{said}");
}

#[test]
fn without_a_matrix_a_reducible_chain_is_refused_too() {
    let text = changed("state up {", "state new { repair -> up; } state up {");
    let options = Options {
        storage: Storage::MatrixFree,
        ..Options::default()
    };
    let said = solved(&text, &options).unwrap_err();
    assert!(said.contains("reducible"), "{said}");
}

/// Machines that cannot be told apart by anything but their numbers, or can where `different` is 1.
fn many(count: u32, different: u32) -> String {
    format!(
        "param N = {count};
event break[i in 1..N] rate 0.5 + {different} * i;
event repair[1..N] rate 2;
automaton Machine[i in 1..N] {{
  state up {{ break[i] -> down; }}
  state down {{ repair[i] -> up; }}
}}
result first = st Machine[1] == down;
result all = nb [Machine] down / N;
result both = (st Machine[1] == down) * (nb [Machine[1]..Machine[N]] down == N);
"
    )
}

#[test]
fn too_large_a_model_is_refused_with_an_estimate_before_it_is_solved() {
    let said = solved(
        &many(60, 1),
        &Options {
            memory: 1e8,
            ..Options::default()
        },
    )
    .unwrap_err();
    assert!(said.starts_with("m.san: too large:"), "{said}");
    assert!(
        said.contains("of memory, and 95.367 MiB are allowed"),
        "{said}"
    );
    // Where there is more, the search is short, and the way on is named.
    let said = solved(
        &many(60, 1),
        &Options {
            memory: 1e9,
            ..Options::default()
        },
    )
    .unwrap_err();
    assert!(said.contains("and 953.674 MiB are allowed"), "{said}");
    assert!(
        said.contains("let `--method sparse` search on until memory is full"),
        "{said}"
    );
    let said = solved(
        &many(60, 1),
        &Options {
            memory: 1e9,
            storage: Storage::MatrixFree,
            ..Options::default()
        },
    )
    .unwrap_err();
    assert!(
        said.contains("the matrix-free solution needs 2.5e7 TiB"),
        "{said}"
    );
}

#[test]
fn replicas_are_lumped_also_where_a_result_looks_at_one_of_them() {
    let found = solved(&many(40, 0), &Options::default()).unwrap();
    assert_eq!((found.states, found.solved_states), (2_f64.powi(40), 41));
    let value = |name: &str| {
        found
            .results
            .iter()
            .find(|(n, _)| n == name)
            .map_or(f64::NAN, |(_, v)| *v)
    };
    assert!((value("first") - 0.2).abs() < 1e-12);
    assert!((value("all") - 0.2).abs() < 1e-12);
    assert!((value("both") / 0.2_f64.powi(40) - 1.0).abs() < 1e-6);
}

#[test]
fn replicas_that_differ_are_not_lumped() {
    let found = solved(&many(5, 1), &Options::default()).unwrap();
    assert_eq!((found.states, found.solved_states), (32.0, 32));
    assert!(found.lumped.is_empty());
    let first = found.results[0].1;
    assert!((first - 1.5 / 3.5).abs() < 1e-12, "{first}");
}

#[test]
fn a_distribution_at_a_time_is_that_of_the_formula() {
    for (time, storage) in [
        (0.0, Storage::Auto),
        (0.3, Storage::Auto),
        (0.3, Storage::MatrixFree),
        (200.0, Storage::Auto),
    ] {
        let options = Options {
            at_time: Some(time),
            storage,
            ..Options::default()
        };
        let found = solved(GOOD, &options).unwrap().results[0].1;
        let expected = 0.8 + 0.2 * (-2.5 * time).exp();
        assert!(
            (found - expected).abs() < 1e-13,
            "{time}: {found}, not {expected}"
        );
    }
}

#[test]
fn expressions_bind_as_in_arithmetic() {
    for (expression, expected) in [
        ("1 + 2 * 3 ^ 2", 19.0),
        ("-2 ^ 2", -4.0),
        ("2 ^ -1", 0.5),
        ("10 - 4 - 3", 3.0),
        ("7 % 4 + !0", 4.0),
        ("1 < 2 && 2 < 1 || 1", 1.0),
        ("if(3 > 2, ceil(1.2), floor(9.9))", 2.0),
        ("min(4, 2, 3) + max(1, 5)", 7.0),
        ("sum(i in 1..4: i * i)", 30.0),
        ("prod(i in 1..4: i)", 24.0),
        ("sum(i in 3..2: i)", 0.0),
        ("round(sqrt(16) + abs(-1) + exp(0) + log(1))", 6.0),
    ] {
        let text = changed("st Machine == up", expression);
        let found = solved(&text, &Options::default()).unwrap().results[0].1;
        assert!((found - expected).abs() < 1e-12, "{expression}: {found}");
    }
}

#[test]
fn long_queues_converge() {
    let text = "param K = 3000;
event arrive rate 0.95;
event serve rate 1;
automaton Queue {
  state n in 0..K { arrive -> n + 1 if n < K; serve -> n - 1 if n > 0; }
}
result empty = st Queue == 0;
result mean = st Queue;
";
    let found = solved(text, &Options::default()).unwrap();
    assert!((found.results[0].1 - 0.05).abs() < 1e-9, "{found:?}");
    assert!((found.results[1].1 - 19.0).abs() < 1e-6, "{found:?}");
}

#[test]
fn sums_of_any_length_are_computed_and_nesting_without_end_is_refused() {
    for (operator, factor) in [("+", 10_000.0), ("*", 1.0), ("&&", 1.0)] {
        let ones = vec!["1"; 10_000].join(operator);
        let states = vec!["(st Machine == up)"; 10_000].join(operator);
        let text = changed(
            "fails;\nevent repair",
            &format!("fails * ({ones});\nevent repair"),
        );
        let text = format!("{text}result all = {states};\n");
        let found = solved(&text, &Options::default()).unwrap();
        let working = 2.0 / (2.0 + 0.5 * factor);
        assert!((found.results[0].1 - working).abs() < 1e-12, "{operator}");
        let all = working * factor;
        assert!((found.results[1].1 - all).abs() < 1e-9, "{operator}");
    }
    for descending in [true, false] {
        let mut text = GOOD.to_owned();
        for number in 0..5000 {
            let (from, to) = if descending {
                (number, number + 1)
            } else {
                (number + 1, number)
            };
            let _ = writeln!(text, "let x{from} = 1 - x{to} * st B;");
        }
        text += if descending {
            "let x5000 = 1;\n"
        } else {
            "let x0 = 1;\n"
        };
        text += "event e rate x1;\nautomaton B { state 0 { e -> 1; } state 1 { e -> 0; } }\nresult deep = x4999 + x1;\n";
        let error = wrong(&text);
        assert!(
            error.contains("expressions nest no deeper than 200"),
            "{error}"
        );
        assert!(error.starts_with("m.san, line "), "{error}");
    }
}

#[test]
fn a_time_that_takes_too_many_steps_is_refused_at_once() {
    for storage in [Storage::Auto, Storage::MatrixFree] {
        let options = Options {
            at_time: Some(1e9),
            storage,
            ..Options::default()
        };
        let error = solved(GOOD, &options).unwrap_err();
        assert!(error.contains("takes 2.0e9 steps"), "{error}");
        assert!(error.contains("1e9 are made at most"), "{error}");
    }
}
