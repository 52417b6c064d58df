//! What cannot be is refused with line, column and the remedy.

use std::io;

use foretrace_interchange::{Messages, dimemas_machine, message_format, read_messages};

fn read(format: &str, text: &str) -> Result<Messages, String> {
    let refuse = |_: &str| Err(io::Error::from(io::ErrorKind::NotFound));
    let format = message_format(format).expect("it is one of the formats");
    format
        .import(text.as_bytes(), "m", &refuse)
        .map_err(|error| error.to_string())
}

/// Returns what is said of a text that is refused.
fn wrong(format: &str, text: &str) -> String {
    match read(format, text) {
        Ok(_) => format!("nothing is wrong with {text}"),
        Err(error) => error,
    }
}

#[test]
fn times_beyond_what_can_be_counted_are_refused_where_they_stand() {
    let dim = "#DIMEMAS:\"x\":1,00:1(1),1\nd:1:1:1:0\n1:0:0:";
    for (format, text, expected) in [
        (
            "dimemas",
            format!("{dim}1e9\n"),
            "m:3:7: expected a time of at most 213 days",
        ),
        (
            "dimemas",
            format!("{dim}1e7\n1:0:0:1e7\n"),
            "m:4:7: expected times of rank 0 that come to 213 days at most",
        ),
        (
            "goal",
            "num_ranks 1\nrank 0 {\nl1: calc 20000000000000000\n}\n".to_owned(),
            "m:3:10: expected a time of at most 213 days",
        ),
        (
            "goal",
            "num_ranks 1\nrank 0 {\ncalc 15000000000000000\ncalc 15000000000000000\n}\n".to_owned(),
            "m:4:6: expected times of rank 0 that come to 213 days at most",
        ),
        (
            "simgrid",
            "0 init\n0 compute 1e18\n0 finalize\n".to_owned(),
            "m:2:11: expected a time of at most 213 days",
        ),
        (
            "simgrid",
            "0 init\n0 sleep 1e7\n0 sleep 1e7\n0 finalize\n".to_owned(),
            "m:3:9: expected times of rank 0 that come to 213 days at most",
        ),
        (
            "paraver",
            "#Paraver (01/01/20 at 12:00):100_ns:1(1):1:1(1:1)\n1:1:1:1:1:0:20000000000000000:1\n"
                .to_owned(),
            "m:2:12: expected a time of at most 213 days",
        ),
    ] {
        let error = wrong(format, &text);
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn states_of_paraver_follow_each_other() {
    let header = "#Paraver (01/01/20 at 12:00):100_ns:1(1):1:2(1:1,1:1)\n";
    let backwards = wrong("paraver", &format!("{header}1:1:1:1:1:60:20:1\n"));
    assert!(
        backwards.starts_with("m:2:13: expected an end at 60 or later"),
        "{backwards}"
    );
    let overlapping = format!("{header}1:1:1:1:1:0:60:1\n1:1:1:2:1:0:60:1\n1:1:1:1:1:20:100:1\n");
    let error = wrong("paraver", &overlapping);
    assert!(
        error.starts_with("m:4:10: expected work from 60 on"),
        "{error}"
    );
    // One after the other, in any order of lines, and beside what is no work.
    let fine = "1:1:1:1:1:60:100:1\n1:1:1:1:1:0:60:1\n1:1:1:1:1:0:100:3\n";
    read("paraver", &format!("{header}{fine}")).unwrap();
}

#[test]
fn a_task_of_dimemas_has_the_threads_that_the_header_says() {
    let text = "#DIMEMAS:\"x\":1,00:1(1),1\nd:1:1:1:0\n1:0:7:0.5\n";
    let error = wrong("dimemas", text);
    assert!(error.starts_with("m:3:5: expected thread 0"), "{error}");
}

#[test]
fn work_of_goal_may_name_an_interface() {
    let text = "num_ranks 1\nrank 0 {\nl1: calc 100 nic 1\nl2: calc 5 cpu 1 nic 0\n}\n";
    read("goal", text).unwrap();
}

#[test]
fn operations_of_goal_that_need_each_other_are_named() {
    let text = "num_ranks 2\nrank 0 {\na: calc 1\nb: calc 2\nc: calc 3\nd: calc 4\nd requires a\nb requires a\na requires c\n\
                c irequires b\n}\nrank 1 {\n}\n";
    let error = wrong("goal", text);
    assert!(
        error.starts_with("m:10:1: expected operations that do not need each other"),
        "{error}"
    );
    assert!(error.contains(": a, c, b"), "{error}");
    let own = "num_ranks 1\nrank 0 {\na: calc 1\na requires a\n}\n";
    assert!(wrong("goal", own).starts_with("m:4:1: "));
    let fine = text.replace("c irequires b\n", "b requires c\n");
    read("goal", &fine).unwrap();
}

#[test]
fn nodes_of_dimemas_that_no_trace_can_use_are_refused() {
    let cfg = |nodes: &str, mapping: &str| {
        format!(
            "#DIMEMAS_CONFIGURATION\n\"environment information\" {{\"\", 0, \"\", 4, 100.0, 0, 3}};;\n\
             \"multi node information\" {{0, {nodes}, \"\", 1, 1.0, 1e-06, 1000.0, 0, 1, 1, 1e-05, 1, 1, 0.0}};;\n\
             \"mapping information\" {{\"\", 2, [2] {{0,{mapping}}}}};;\n"
        )
    };
    dimemas_machine(cfg("4", "1").as_bytes(), "m").unwrap();
    for (text, line) in [
        (cfg("1000000000", "1"), 3),
        (cfg("9223372036854775807", "1"), 3),
        (cfg("4", "4000000000"), 4),
    ] {
        let error = dimemas_machine(text.as_bytes(), "m").unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with(&format!("m:{line}:")), "{error}");
        assert!(error.contains("1048576 nodes at most"), "{error}");
    }
}

#[test]
fn a_file_that_is_named_as_a_format_is_refused_as_one() {
    let refuse = |_: &str| Err(io::Error::from(io::ErrorKind::NotFound));
    for (name, contents) in [("t.dim", "garbage\n"), ("t.dim", ""), ("t.prv", "")] {
        let read =
            read_messages(contents.as_bytes(), name, &refuse).expect("its name says what it is");
        let error = read.unwrap_err().to_string();
        assert!(error.starts_with(&format!("{name}:1:1: ")), "{error}");
    }
}
