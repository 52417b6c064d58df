//! What cannot be is refused with line, column and the remedy.

use foretrace_interchange::dimemas_machine;

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
