//! Measures bytes per event and reading speed: `cargo run --release -p foretrace-trace --example measure -- [EVENTS]`.

use std::{
    io::{self, Write},
    time::Instant,
};

use foretrace_trace::{CallId, Event, Nanos, Trace, read, sealed, text};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count = std::env::args()
        .nth(1)
        .map_or(Ok(10_000_000), |count| count.parse())?;
    let trace = busy(count)?;
    let directory = std::env::temp_dir().join(format!("foretrace-measure-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    let path = directory.join("busy.ftrace");
    let mut out = io::stdout();

    let started = Instant::now();
    sealed::write(&trace, &path)?;
    let seconds = started.elapsed().as_secs_f64();
    let bytes = std::fs::metadata(&path)?.len();
    writeln!(
        out,
        "{count} events: {:.4} bytes an event; written in {seconds:.2} s",
        bytes as f64 / count as f64
    )?;

    let started = Instant::now();
    let again = sealed::read(&path)?;
    writeln!(
        out,
        "sealed::read   {:.2} s ({} events)",
        started.elapsed().as_secs_f64(),
        again.events.len()
    )?;
    drop(again);
    let started = Instant::now();
    let again = read(&path)?;
    writeln!(
        out,
        "read           {:.2} s (looks for oddities too)",
        started.elapsed().as_secs_f64()
    )?;

    let started = Instant::now();
    let text = text::to_text(&again)?;
    let seconds = started.elapsed().as_secs_f64();
    writeln!(
        out,
        "text::to_text  {seconds:.2} s ({:.1} bytes an event)",
        text.len() as f64 / count as f64
    )?;
    let started = Instant::now();
    let parsed = text::parse(&text, &again.source)?;
    writeln!(
        out,
        "text::parse    {:.2} s",
        started.elapsed().as_secs_f64()
    )?;
    std::fs::remove_dir_all(&directory)?;
    if parsed == again {
        Ok(())
    } else {
        Err("the text is not read as it was written".into())
    }
}

/// Makes a trace of eight threads that lock and unlock eight mutexes.
fn busy(count: usize) -> Result<Trace, foretrace_trace::Error> {
    let threads = 8;
    let mut rows = String::new();
    for i in 0..threads {
        rows = format!("{rows}0 T{i} lock m{i}\n0 T{i} unlock m{i}\n");
    }
    let mut trace = text::parse(&format!("foretrace-text 1\n{rows}"), "busy")?;
    let calls = trace.calls.len();
    trace.warnings.clear();
    trace.events = (0..count)
        .map(|i| {
            // Both events of a critical section by one thread, then the next thread's.
            let call = CallId::from_index(i % calls);
            let time = Nanos(i as u64 * 417);
            let cpu = Some(Nanos((i / (2 * threads) * 800 + i % 2) as u64));
            Event::new(time, cpu, call)
        })
        .collect();
    Ok(trace)
}
