//! Measures how many messages a second are replayed: `replay [PATTERN [RANKS [MESSAGES]]]`.
//!
//! Patterns are stencil, master-slave and reversed. The time is the process's CPU time of the replay alone; the memory is
//! the largest that the process had.

#![expect(clippy::print_stdout, reason = "that is what it is for")]

use std::{env, fs};

use foretrace_messages::{Model, Pattern, generate, replay};
use foretrace_network::Description;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number =
        |index: usize, usual: u64| arguments.get(index).map_or(Ok(usual), |text| text.parse());
    let pattern = arguments
        .first()
        .map_or(Ok(Pattern::Stencil), |text| text.parse());
    let (Ok(pattern), Ok(ranks), Ok(messages)) = (pattern, number(1, 64), number(2, 1_280_000))
    else {
        println!("usage: replay [stencil|master-slave|reversed [RANKS [MESSAGES]]]");
        return;
    };
    let program = generate(pattern, ranks as u32, messages);
    let network = Description::preset("loggps-fast-ethernet").and_then(Result::ok);
    let Some(network) = network.and_then(|network| network.resolve(program.ranks()).ok()) else {
        println!("the preset is missing");
        return;
    };
    let before = cpu_seconds();
    let run = replay(&program, &network, Model::Direct);
    let seconds = cpu_seconds() - before;
    let rate = run.messages as f64 / seconds / 1e6;
    let memory = peak_bytes();
    println!(
        "{pattern:?} of {ranks} ranks: {} messages, {} operations, {seconds:.2} s, {rate:.1} million messages a second; \
         at most {} MB, {:.0} bytes an operation; simulated {}",
        run.messages,
        program.steps.len(),
        memory / 1_000_000,
        memory as f64 / (program.steps.len() as f64).max(run.messages as f64 * 2.0),
        run.end
    );
    assert!(run.is_complete(), "{:?}", run.outcome);
}

/// Returns the CPU time of this process so far, by the kernel's clock for scheduling.
fn cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse::<f64>().ok());
    nanos.unwrap_or_default() / 1e9
}

fn peak_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}
