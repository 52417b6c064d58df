//! `foretrace san`: stochastic automata networks.

use std::{fs, path::Path};

use anyhow::Context as _;
use foretrace_san::{Options, Storage, language::Source, stationary::Iteration, template};

use super::{san_fit, san_paper, san_sweep};
use crate::{
    args::{FitNumbers, IterationArg, MethodArg, SanArgs, SanCommand, SolverArgs, TemplateArgs},
    failure::Finish,
    output,
};

/// The share of the free memory that is used where nothing else is said.
const SHARE_OF_MEMORY: f64 = 0.75;

/// Where the system does not tell how much memory is free.
const USUAL_MEMORY: f64 = 4e9;

/// Runs the command.
pub fn run(args: &SanArgs) -> anyhow::Result<Finish> {
    match &args.command {
        SanCommand::Solve(args) => san_sweep::run(args),
        SanCommand::Paper(args) => san_paper::run(args),
        SanCommand::Template(args) => write_template(args),
        SanCommand::Fit(args) => san_fit::run(args),
    }
}

/// Reads a model's text.
pub fn read(path: &Path) -> anyhow::Result<Source> {
    let shown = path.display().to_string();
    let text = fs::read(path).with_context(|| format!("cannot read the model {shown}"))?;
    let text = String::from_utf8(text).map_err(|error| {
        anyhow::anyhow!(
            "{shown}: not a text: byte {} is not UTF-8",
            error.utf8_error().valid_up_to()
        )
    })?;
    Ok(Source::read(&text, &shown)?)
}

/// Returns how to solve.
pub fn options(args: &SolverArgs) -> Options {
    let storage = match args.method {
        MethodArg::Auto => Storage::Auto,
        MethodArg::Sparse => Storage::Sparse,
        MethodArg::MatrixFree => Storage::MatrixFree,
    };
    let usual = Options::default();
    Options {
        storage,
        iteration: match args.iteration {
            IterationArg::Aggregation => Iteration::Aggregation,
            IterationArg::Plain => Iteration::Plain,
            IterationArg::Power => Iteration::Power,
        },
        lump: !args.no_lump,
        tolerance: args.tolerance.unwrap_or(usual.tolerance),
        // Who asks for a residual gets that one.
        tolerance_sum: args
            .tolerance
            .map_or(usual.tolerance_sum, |_| f64::INFINITY),
        most_iterations: args.max_iterations,
        memory: args.memory.map_or_else(free_memory, |size| size.0),
        allow_transient: args.allow_transient,
        at_time: None,
    }
}

/// Returns how much memory may be used.
pub fn free_memory() -> f64 {
    let told = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes = line.and_then(|line| {
        line.trim()
            .trim_end_matches("kB")
            .trim()
            .parse::<f64>()
            .ok()
    });
    kibibytes.map_or(USUAL_MEMORY, |kibibytes| {
        SHARE_OF_MEMORY * 1024.0 * kibibytes
    })
}

/// Returns the numbers of a template.
pub fn numbers(args: &FitNumbers) -> template::Numbers {
    template::Numbers {
        slaves: args.slaves,
        buffer: args.buffer,
        send: args.send,
        compute: args.compute,
        transmit: args.transmit,
        evaluate: args.evaluate,
        packs: args.packs,
        restart: args.restart,
    }
}

fn write_template(args: &TemplateArgs) -> anyhow::Result<Finish> {
    let file = args.output.as_deref();
    if let Some(path) = file.filter(|path| path.as_os_str() != "-") {
        output::check_new_file(path, args.force)?;
    }
    let text = template::text(
        &numbers(&args.numbers),
        "Eight numbers of a master/slave program, and the model that they make.",
    );
    output::write_to(file, text.as_bytes())?;
    Ok(Finish::Fine)
}
