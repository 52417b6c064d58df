//! What the command line says about itself, and to command lines that make no sense.

use crate::environment::TestEnvironment;

#[test]
fn the_help_shows_commands_examples_and_exit_codes() {
    insta::assert_snapshot!(TestEnvironment::new().run(&["--help"]));
}

#[test]
fn every_command_has_help_with_examples() {
    let environment = TestEnvironment::new();
    for command in [
        "record",
        "recover",
        "info",
        "predict",
        "explain",
        "validate",
        "export",
        "import",
        "machine",
        "calibrate",
        "farm",
        "demo",
        "view",
    ] {
        insta::assert_snapshot!(
            format!("help_{command}"),
            environment.run(&[command, "--help"])
        );
    }
}

#[test]
fn every_command_about_models_has_help_with_examples() {
    let environment = TestEnvironment::new();
    for command in [
        "grid",
        "grid plan",
        "grid simulate",
        "grid select",
        "grid fit",
        "san",
        "san solve",
        "san paper",
        "san template",
        "san fit",
    ] {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        insta::assert_snapshot!(
            format!("help_{}", command.replace(' ', "_")),
            environment.run(&words)
        );
    }
}

#[test]
fn command_lines_that_make_no_sense_end_with_2() {
    let environment = TestEnvironment::new();
    let mut all = String::new();
    for arguments in [
        &[][..],
        &["frobnicate"],
        &["record"],
        &["record", "--"],
        &["record", "--pretend-cpus", "0", "--", "true"],
        &["record", "--slice", "1s", "--", "true"],
        &["record", "--cpu", "99999", "--", "true"],
        &["predict"],
        &["predict", "a.ftrace", "--cpus", "0"],
        &["predict", "a.ftrace", "--cpus", "8..4"],
        &["predict", "a.ftrace", "--model", "oracle"],
        &["predict", "a.ftrace", "--all-models", "--model", "direct"],
        &["export", "a.ftrace"],
        &["export", "a.ftrace", "--format", "pdf"],
    ] {
        let text = environment.run(arguments);
        assert!(text.contains("\nexit code: 2\n"), "{text}");
        // Which CPUs there are differs from machine to machine; the first line of usage says enough of the rest.
        let text = text.split(" on CPUs ").next().unwrap_or(&text);
        all += text.split("\nUsage:").next().unwrap_or(text).trim_end();
        all += "\n\n";
    }
    insta::assert_snapshot!(all);
}

#[test]
fn the_version_is_that_of_the_package() {
    let text = TestEnvironment::new().run(&["--version"]);
    assert!(text.ends_with(&format!("foretrace {}\n", env!("CARGO_PKG_VERSION"))));
}
