//! System packages that the tests need.

use std::process::Command;

use crate::run::{is_installed, step, succeeds};

/// A program that the tests call, and Debian's package of it.
struct Tool {
    program: &'static str,
    package: &'static str,
}

/// Links with LLVM's OpenMP library, which comes apart from Clang.
const LINK_WITH_OPENMP: &str =
    "echo 'int main(void) { return 0; }' | clang -fopenmp -x c - -o /dev/null";

/// A test that a library of linear algebra comes with, linked to MPICH; the same is there with Open MPI.
const SCALAPACK_TEST: &str = "/usr/lib/x86_64-linux-gnu/scalapack/mpich-tests/xdlu";

/// The compilers for the programs that tests record, the real programs that they record, launchers and compilers of MPI programs.
const TOOLS: [Tool; 21] = [
    Tool {
        program: "gcc",
        package: "gcc",
    },
    Tool {
        program: "g++",
        package: "g++",
    },
    Tool {
        program: "gfortran",
        package: "gfortran",
    },
    Tool {
        program: "clang",
        package: "clang",
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
    Tool {
        program: "x264",
        package: "x264",
    },
    Tool {
        program: "memcached",
        package: "memcached",
    },
    Tool {
        program: "redis-server",
        package: "redis-server",
    },
    Tool {
        program: "mpirun.openmpi",
        package: "openmpi-bin",
    },
    Tool {
        program: "mpirun.mpich",
        package: "mpich",
    },
    Tool {
        program: "hpcc",
        package: "hpcc",
    },
    Tool {
        program: "lmp",
        package: "lammps",
    },
    Tool {
        program: SCALAPACK_TEST,
        package: "scalapack-mpi-test",
    },
    Tool {
        program: "mpicc.openmpi",
        package: "libopenmpi-dev",
    },
    Tool {
        program: "mpicc.mpich",
        package: "libmpich-dev",
    },
    Tool {
        program: "Xvfb",
        package: "xvfb",
    },
    Tool {
        program: "xdotool",
        package: "xdotool",
    },
    Tool {
        program: "import",
        package: "imagemagick",
    },
];

/// What windows load when they open, in a virtual screen too: no program tells that they are missing.
const LIBRARIES: [(&str, &str); 7] = [
    ("libX11.so.6", "libx11-6"),
    ("libX11-xcb.so.1", "libx11-xcb1"),
    ("libXcursor.so.1", "libxcursor1"),
    ("libXi.so.6", "libxi6"),
    ("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"),
    ("libGL.so.1", "libgl1"),
    ("libvulkan.so.1", "libvulkan1"),
];

/// A software renderer for the pictures of tests.
const SOFTWARE_RENDERER: (&str, &str) = (
    "ls /usr/share/vulkan/icd.d/lvp_icd*.json",
    "mesa-vulkan-drivers",
);

/// Installs what is missing where that is allowed, and otherwise names the command that does.
pub fn set_up() -> Result<(), String> {
    let mut missing: Vec<&str> = TOOLS
        .iter()
        .filter(|tool| !is_installed(tool.program))
        .map(|tool| tool.package)
        .collect();
    if !succeeds(Command::new("sh").args(["-c", LINK_WITH_OPENMP])) {
        missing.push("libomp-dev");
    }
    let known = loadable();
    let libraries = LIBRARIES.iter();
    let absent = libraries.filter(|(library, _)| !known.contains(library));
    missing.extend(absent.map(|(_, package)| package));
    let (is_there, package) = SOFTWARE_RENDERER;
    if !succeeds(Command::new("sh").args(["-c", is_there])) {
        missing.push(package);
    }
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
    // Clang recommends all of LLVM, which is not needed.
    let install =
        format!("apt-get update && apt-get install -y --no-install-recommends {packages}");
    let Some(mut shell) = shell_as_root() else {
        return Err(format!(
            "the tests need packages that are not installed. Install them, then run this again:\n  sudo sh -c '{install}'"
        ));
    };
    shell.args(["DEBIAN_FRONTEND=noninteractive", "sh", "-c", &install]);
    step(&format!("Install {packages}"), &mut shell)
}

/// Returns what the loader knows.
fn loadable() -> String {
    // Not every user's path has the directory of system administration.
    let listed = Command::new("sh")
        .args(["-c", "PATH=$PATH:/sbin:/usr/sbin ldconfig -p"])
        .output();
    listed.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).into_owned(),
    )
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
