//! What is wrong with a grid is told with its line.

use std::path::Path;

use foretrace_masterslave::Grid;

const GOOD: &str = "size = 1.0
[nonlocal]
bandwidth = 4.0
[[cluster]]
name = \"c0\"
bandwidth = 10.0
[[cluster]]
name = \"c1\"
bandwidth = 6
[[processor]]
name = \"p0\"
cluster = \"c0\"
avail = 1.0
t_slave = 0.5
t_master = 0.1
[[processor]]
name = \"p1\"
cluster = \"c1\"
t_slave = 0.25
t_master = 0.2
";

/// Replaces a part of the good grid, and returns what is said of it.
fn wrong(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    let text = GOOD.replacen(from, to, 1);
    let grid = Grid::parse(&text, Path::new("g.toml"));
    grid.map_or_else(|error| error.to_string(), |_| "nothing is wrong".to_owned())
}

#[test]
fn the_good_grid_is_good() {
    assert_eq!(
        Grid::parse(GOOD, Path::new("g.toml"))
            .unwrap()
            .processors
            .len(),
        2
    );
}

#[test]
fn faults_are_told_with_their_lines() {
    for (from, to, expected) in [
        (
            "cluster = \"c1\"",
            "cluster = \"c9\"",
            "g.toml, line 18: the processor p1 is in the cluster `c9`, which there is not; there are c0, c1",
        ),
        (
            "bandwidth = 10.0",
            "bandwidth = 0",
            "line 6: the bandwidth of the cluster c0: expected a positive number, found 0",
        ),
        (
            "bandwidth = 4.0",
            "bandwidth = -4.0",
            "line 3: the bandwidth of [nonlocal]: expected a positive number, found -4",
        ),
        (
            "t_slave = 0.5",
            "t_slave = nan",
            "line 14: t_slave of the processor p0: expected a positive number, found NaN",
        ),
        (
            "t_slave = 0.5",
            "t_slave = inf",
            "line 14: t_slave of the processor p0: expected a positive number, found inf",
        ),
        (
            "avail = 1.0",
            "avail = 0.0",
            "line 13: avail of the processor p0: expected a positive number, found 0",
        ),
        (
            "size = 1.0",
            "size = 0",
            "line 1: size: expected a positive number, found 0",
        ),
        (
            "[nonlocal]\nbandwidth = 4.0\n",
            "",
            "line 6: the network is not connected: nothing leads from the cluster c0 to the cluster c1",
        ),
        (
            "[nonlocal]",
            "[nonlocal]\njoins = [\"c0\", \"c7\"]",
            "line 3: there is no cluster or network `c7`; there are c0, c1, nonlocal",
        ),
        (
            "name = \"p1\"",
            "name = \"p0\"",
            "line 17: the processor p0 is there a second time",
        ),
        (
            "name = \"c1\"",
            "name = \"c0\"",
            "line 8: the cluster c0 is there a second time",
        ),
        (
            "avail = 1.0",
            "availability = 1.0",
            "line 13: unknown field `availability`",
        ),
        ("t_master = 0.2", "", "missing field `t_master`"),
        (
            "avail = 1.0",
            "avail = \"all\"",
            "expected a number, or a table with `distribution` or `trace`",
        ),
        (
            "t_slave = 0.5",
            "t_slave = { distribution = \"normal\", mean = 0.5 }",
            "line 14: t_slave of the processor p0: the distribution normal needs the key `sd`",
        ),
        (
            "t_slave = 0.5",
            "t_slave = { distribution = \"gamma\", mean = 0.5 }",
            "there is no distribution `gamma`",
        ),
        (
            "t_slave = 0.5",
            "t_slave = { distribution = \"empirical\", values = [1.0, -1.0] }",
            "expected positive values only, found -1",
        ),
        (
            "avail = 1.0",
            "avail = { trace = \"missing.csv\" }",
            "line 13: avail of the processor p0: cannot read missing.csv",
        ),
        (
            "avail = 1.0",
            "avail = { mean = 1.0 }",
            "expected either `distribution` or `trace` in the table",
        ),
        ("size = 1.0", "size = ", "g.toml, line 1:"),
    ] {
        let said = wrong(from, to);
        assert!(
            said.contains(expected),
            "{to}\nsaid:     {said}\nexpected: {expected}"
        );
    }
}

#[test]
fn one_processor_is_no_grid() {
    let at = GOOD.rfind("[[processor]]").expect("it is there");
    let said = Grid::parse(&GOOD[..at], Path::new("g.toml"))
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("a master and a slave need two processors"),
        "{said}"
    );
}

#[test]
fn an_unknown_master_is_told_with_those_that_there_are() {
    let grid = Grid::parse(GOOD, Path::new("g.toml")).unwrap();
    let said = grid.processor("p7").unwrap_err().to_string();
    assert_eq!(said, "g.toml: there is no processor `p7`; there are p0, p1");
}
