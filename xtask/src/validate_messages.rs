//! Compares predictions of programs that use MPI with real runs of two ranks on two CPUs.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    run::{cargo, in_directory, is_installed, root, step},
    validate::{Which, number, tell_errors},
};

/// How often each program is recorded, and run.
const ROUNDS: usize = 11;

/// By how many times as much work has to take beside a copy for that to be told from noise.
const NOTICEABLE: f64 = 1.03;

/// A melt of 16,384 atoms, as LAMMPS' own benchmark has it.
const MELT: &str = "units lj\natom_style atomic\nlattice fcc 0.8442\nregion box block 0 16 0 16 0 16\ncreate_box 1 box\n\
                    create_atoms 1 box\nmass 1 1.0\nvelocity all create 1.44 87287 loop geom\npair_style lj/cut 2.5\n\
                    pair_coeff 1 1 1.0 1.0 2.5\nneighbor 0.3 bin\nneigh_modify delay 0 every 20 check no\nfix 1 all nve\n\
                    thermo 20\nrun 60\n";

/// What the library's own test of its LU factorization is to do: 30 matrices, in blocks of several sizes.
const FACTORIZATION: &str = "'ScaLAPACK, LU factorization'\n'MPI'\n'LU.out' file\n6 device\n5 problem sizes\n\
                             600 580 560 540 520 values of M\n600 580 560 540 520 values of N\n6 block sizes\n\
                             16 24 32 40 48 64 values of NB\n1 number of NRHS\n1 NRHS\n1 number of NBRHS\n1 NBRHS\n\
                             1 number of process grids\n1 values of P\n2 values of Q\n1.0 threshold\nF condition numbers\n";

/// A directory with the programs of one implementation of MPI.
struct Bench<'a> {
    family: &'a str,
    directory: &'a Path,
    network: PathBuf,
    timer: PathBuf,
}

/// Prints the table that `docs/mpi.md` shows.
pub fn all() -> Result<(), String> {
    step("Build", &mut cargo(&["build", "--release"]))?;
    in_directory("validate-mpi", all_in)
}

fn all_in(directory: &Path) -> Result<(), String> {
    let write = |name: &str, text: &str| {
        fs::write(directory.join(name), text).map_err(|error| error.to_string())
    };
    let input = include_str!("../../crates/cli/tests/cli/hpccinf.txt");
    let input = input.replace("{rows}", "1").replace("{columns}", "2");
    write(
        "hpccinf.txt",
        &input
            .replace("200          Ns", "1200         Ns")
            .replace("20           NBs", "80           NBs"),
    )?;
    write("melt.in", MELT)?;
    write("LU.dat", FACTORIZATION)?;
    let mut errors = Vec::new();
    for family in ["openmpi", "mpich"] {
        let bench = Bench::new(family, directory)?;
        eprintln!(
            "\n==> {family}, 2 ranks, medians of {ROUNDS} recordings, of {ROUNDS} real runs in turn, and of their ratios"
        );
        eprintln!(
            "| program | slower beside a copy | predicted | real | error |\n|---|---|---|---|---|"
        );
        let farm = bench.compile("mpi_farm")?;
        let stencil = bench.compile("mpi_stencil")?;
        errors.push(bench.compare("mpi_farm", &[&farm, "1500", "1200"])?);
        errors.push(bench.compare("mpi_stencil, 2,000,000 cells", &[&stencil, "2000000", "60"])?);
        errors.push(bench.compare("mpi_stencil, 40,000 cells", &[&stencil, "40000", "3000"])?);
        let factorize = format!("/usr/lib/x86_64-linux-gnu/scalapack/{family}-tests/xdlu");
        if Path::new(&factorize).exists() {
            errors.push(bench.compare("ScaLAPACK, LU factorizations", &[&factorize])?);
        } else {
            eprintln!("scalapack-mpi-test is not installed and left out");
        }
        // Debian's packages of these are linked to its default implementation.
        if family == "openmpi" {
            let melt = ["lmp", "-in", "melt.in", "-log", "none", "-screen", "none"];
            for (name, command) in [("hpcc", &["hpcc"][..]), ("lmp", &melt)] {
                if is_installed(name) {
                    errors.push(bench.compare(name, command)?);
                } else {
                    eprintln!("{name} is not installed and left out");
                }
            }
        }
    }
    tell_errors("mean absolute error", &errors);
    Ok(())
}

impl<'a> Bench<'a> {
    /// Compiles the timer.
    fn new(family: &'a str, directory: &'a Path) -> Result<Self, String> {
        let bench = Self {
            family,
            directory,
            network: directory.join(format!("{family}.toml")),
            timer: directory.join(format!("timer.{family}.so")),
        };
        let mut compile = Command::new(format!("mpicc.{family}"));
        compile
            .args(["-O2", "-shared", "-fPIC", "-o"])
            .arg(&bench.timer)
            .arg(root().join("xtask/timer/mpi_timer.c"));
        step("Compile the timer", &mut compile)?;
        Ok(bench)
    }

    /// Measures the network: just before it is needed, since a virtual machine's CPUs are now nearer to each other, now farther.
    fn calibrate(&self) -> Result<(), String> {
        let mut calibrate =
            self.foretrace(&["calibrate", "--network", "--force", "--mpi", self.family]);
        calibrate.arg("-o").arg(&self.network);
        output(&mut calibrate)?;
        let network = fs::OpenOptions::new().append(true).open(&self.network);
        let nodes = "\n[nodes]\nranks_per_node = 2\nmemory_bandwidth = 1.0\n";
        network
            .and_then(|mut file| file.write_all(nodes.as_bytes()))
            .map_err(|error| error.to_string())
    }

    fn foretrace(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(root().join("target/release/foretrace"));
        command.args(arguments);
        self.prepare(&mut command);
        command
    }

    /// Says where a program runs, and with what.
    fn prepare(&self, command: &mut Command) {
        command
            .current_dir(self.directory)
            .env("OMP_NUM_THREADS", "1")
            .env("OPENBLAS_NUM_THREADS", "1")
            // Open MPI does not like to be run by root, as in containers.
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .stdin(Stdio::null());
    }

    /// Compiles a program of ours.
    fn compile(&self, name: &str) -> Result<String, String> {
        let program = self.directory.join(format!("{name}.{}", self.family));
        let mut compile = Command::new(format!("mpicc.{}", self.family));
        compile
            .args(["-O2", "-w", "-o"])
            .arg(&program)
            .arg(root().join(format!("traces/programs/{name}.c")))
            .arg("-lm");
        step(&format!("Compile {name}.c"), &mut compile)?;
        Ok(program.display().to_string())
    }

    /// Compares a program's prediction with real runs, and returns how much it is off.
    fn compare(&self, name: &str, program: &[&str]) -> Result<f64, String> {
        self.calibrate()?;
        let (mut slowed, mut real) = (Vec::new(), Vec::new());
        let recordings: Vec<String> = (0..ROUNDS).map(|round| format!("{round}.ftrace")).collect();
        for recording in &recordings {
            output(&mut self.record(program, 1, recording))?;
            slowed.push(self.beside_a_copy(program)? / self.work(recording)?);
            real.push(self.run(program)?);
        }
        let slowed = median(slowed).max(1.0);
        // Of a memory that serves one CPU at full speed, as much as makes two as slow as they were.
        let bound = if slowed > NOTICEABLE {
            slowed / 2.0
        } else {
            0.0
        };
        let bound = format!("{bound:.3}");
        let options = ["--memory-bound", &bound];
        let predict = |recording: &String| {
            let document = self.prediction(recording, &options)?;
            Ok(number(&document, Which::Last, "makespan_ns")? / 1e9)
        };
        let predicted: Result<Vec<f64>, String> = recordings.iter().map(predict).collect();
        let predicted = predicted?;
        // How fast a virtual machine is changes within seconds: what was made one after the other is compared.
        let pairs = predicted.iter().zip(&real);
        let error = median(pairs.map(|(predicted, real)| predicted / real).collect()) - 1.0;
        let (predicted, real) = (median(predicted), median(real));
        eprintln!(
            "| {name} | {:+.0} % | {:.0} ms | {:.0} ms | {:+.1} % |",
            100.0 * (slowed - 1.0),
            1e3 * predicted,
            1e3 * real,
            100.0 * error
        );
        Ok(error.abs())
    }

    /// Returns the command that records a program on a CPU.
    fn record(&self, program: &[&str], cpu: u32, recording: &str) -> Command {
        let launcher = format!("mpirun.{}", self.family);
        let mut record = self.foretrace(&["record", "--quiet", "--force"]);
        record.args(["--cpu", &cpu.to_string(), "-o", recording, "--", &launcher]);
        record.args(["-np", "2"]).args(program);
        record
    }

    /// Records a program while another recording of it is made on the other CPU; returns the CPU time of its ranks' work.
    fn beside_a_copy(&self, program: &[&str]) -> Result<f64, String> {
        let mut copy = self.record(program, 0, "copy.ftrace");
        let copy = copy.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut copy = copy.map_err(|error| format!("cannot record a copy: {error}"))?;
        let recorded = output(&mut self.record(program, 1, "beside.ftrace"));
        copy.wait()
            .map_err(|error| format!("the copy's recording: {error}"))?;
        recorded?;
        self.work("beside.ftrace")
    }

    fn work(&self, recording: &str) -> Result<f64, String> {
        number(&self.prediction(recording, &[])?, Which::Last, "work_ns")
    }

    /// Returns the JSON document of a prediction.
    fn prediction(&self, recording: &str, options: &[&str]) -> Result<String, String> {
        let mut predict = self.foretrace(&["predict", recording, "--json", "--network"]);
        output(predict.arg(&self.network).args(options))
    }

    /// Runs a program as it is, each rank on a CPU of its own; returns the seconds from `MPI_Init` to `MPI_Finalize`, and the CPU
    /// time before that.
    fn run(&self, program: &[&str]) -> Result<f64, String> {
        let times = self.directory.join("times");
        let _ = fs::remove_file(&times);
        let mut command = Command::new(format!("mpirun.{}", self.family));
        let preloaded = self.timer.display();
        match self.family {
            "openmpi" => command.args([
                "--bind-to",
                "core",
                "-x",
                &format!("LD_PRELOAD={preloaded}"),
            ]),
            _ => command.args([
                "-bind-to",
                "core",
                "-genv",
                "LD_PRELOAD",
                &preloaded.to_string(),
            ]),
        };
        command
            .args(["-np", "2"])
            .args(program)
            .env("TIMER_OUT", &times);
        self.prepare(&mut command);
        output(&mut command)?;
        let told = fs::read_to_string(&times).map_err(|error| format!("{program:?}: {error}"))?;
        let seconds = told.trim().parse();
        seconds.map_err(|_| format!("{program:?} took {told:?}"))
    }
}

/// Runs a command and returns what it printed.
fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{command:?} failed: {said}"))
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
