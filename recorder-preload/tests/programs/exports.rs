//! What the library exports. Every name stands in for a function that programs call, so that one too many changes
//! programs; the list is looked at when it changes.

use std::process::Command;

use crate::harness::library;

#[test]
fn the_library_exports_its_hooks_and_nothing_else() {
    let output = Command::new("nm")
        .args(["-D", "--defined-only", "--format=just-symbols"])
        .arg(library())
        .output()
        .expect("nm comes with every compiler");
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut names: Vec<&str> = text.lines().collect();
    names.sort_unstable();
    insta::assert_snapshot!(names.join("\n"));
}
