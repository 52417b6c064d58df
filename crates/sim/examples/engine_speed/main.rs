//! Measures the way from a trace to predictions, stage by stage: events a second of CPU time on one core, and memory.
//!
//! `cargo run --release -p foretrace-sim --example engine_speed -- EVENTS [VARIANT [MODEL [CPUS,...]]]`
//!
//! The memory is the most that a stage needs beside what was there before, and what its result keeps; for traces that are
//! too short to be measured alone it means nothing.
//!
//! VARIANT is one of locks, conditions, barriers, semaphores, mixed, all; MODEL one of direct, client-server, strict, all.
#![expect(clippy::print_stdout, reason = "a benchmark says what it measured")]

mod measure;
mod traces;

use std::{error::Error, fs};

use foretrace_program::Program;
use foretrace_sim::{Machine, ModelKind, run};

use self::{
    measure::{Measured, measure},
    traces::Variant,
};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |index: usize| words.get(index).map_or("all", String::as_str);
    let events: usize = words.first().map_or(Ok(10_000_000), |word| word.parse())?;
    let cpus: Vec<u32> = match word(3) {
        "all" => vec![1, 4, 16, 64],
        list => list.split(',').map(str::parse).collect::<Result<_, _>>()?,
    };
    println!("| variant | events | stage | million events/s | bytes an event | kept |");
    println!("|---|---|---|---|---|---|");
    for variant in Variant::ALL {
        if [variant.name(), "all"].contains(&word(1)) {
            let models = ModelKind::ALL.into_iter();
            let models: Vec<ModelKind> = models
                .filter(|model| [model.name(), "all"].contains(&word(2)))
                .collect();
            stages(variant, events, &models, &cpus)?;
        }
    }
    Ok(())
}

/// Measures all stages of one trace.
fn stages(
    variant: Variant,
    events: usize,
    models: &[ModelKind],
    cpus: &[u32],
) -> Result<(), Box<dyn Error>> {
    let file = std::env::temp_dir().join(format!("engine-speed-{}.ftrace", std::process::id()));
    let written = traces::generate(variant, events);
    let count = written.events.len();
    foretrace_trace::sealed::write(&written, &file)?;
    drop(written);
    let show = |stage: &str, measured: Measured| {
        println!(
            "| {} | {count} | {stage} | {:.1} | {:.1} | {:.1} |",
            variant.name(),
            count as f64 / measured.seconds / 1e6,
            measured.peak_bytes as f64 / count as f64,
            measured.kept_bytes as f64 / count as f64
        );
    };
    let (trace, measured) = measure(count, || foretrace_trace::read(&file));
    // What is left behind in the temporary directory does no harm.
    let _ = fs::remove_file(&file);
    let trace = trace?;
    show("load", measured);
    let (program, measured) = measure(count, || Program::from_trace(&trace));
    show("lower", measured);
    drop(trace);
    for &model in models {
        for &cpus in cpus {
            let machine = Machine::new(cpus, &program);
            let (run, measured) = measure(count, || run(&program, &machine, model));
            let end = run.end;
            let stage = format!("{} on {cpus} CPUs, to {end}", model.name());
            show(&stage, measured);
        }
    }
    Ok(())
}
