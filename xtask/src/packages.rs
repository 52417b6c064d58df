//! System packages that the tests need.

use std::process::Command;

use crate::run::{is_installed, step, succeeds};

/// A program that the tests call, and Debian's package of it.
struct Tool {
    program: &'static str,
    package: &'static str,
}

/// The compilers for the programs that tests record, and the real programs that they record.
const TOOLS: [Tool; 7] = [
    Tool {
        program: "gcc",
        package: "gcc",
    },
    Tool {
        program: "g++",
        package: "g++",
    },
    Tool {
        program: "clang",
        package: "clang libomp-dev",
    },
    Tool {
        program: "pigz",
        package: "pigz",
    },
    Tool {
        program: "xz",
        package: "xz-utils",
    },
    Tool {
        program: "zstd",
        package: "zstd",
    },
    Tool {
        program: "pbzip2",
        package: "pbzip2",
    },
];

/// Installs what is missing where that is allowed, and otherwise names the command that does.
pub fn set_up() -> Result<(), String> {
    let missing: Vec<&str> = TOOLS
        .iter()
        .filter(|tool| !is_installed(tool.program))
        .map(|tool| tool.package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages = missing.join(" ");
    if !is_installed("apt-get") {
        return Err(format!(
            "the tests need these programs, named here by Debian's packages: {packages}. Install them with your \
             system's package manager"
        ));
    }
    let install = format!("apt-get update && apt-get install -y {packages}");
    let Some(mut shell) = shell_as_root() else {
        return Err(format!(
            "the tests need packages that are not installed. Install them, then run this again:\n  sudo sh -c '{install}'"
        ));
    };
    shell.args(["DEBIAN_FRONTEND=noninteractive", "sh", "-c", &install]);
    step(&format!("Install {packages}"), &mut shell)
}

/// Returns an `env` command with the rights to install packages, where we have them.
fn shell_as_root() -> Option<Command> {
    let is_root = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout == b"0\n");
    if is_root {
        Some(Command::new("env"))
    } else if succeeds(Command::new("sudo").args(["-n", "true"])) {
        let mut sudo = Command::new("sudo");
        sudo.args(["-n", "env"]);
        Some(sudo)
    } else {
        None
    }
}
