//! Seals a trace of any form: `cargo run -p foretrace-trace --example seal -- FROM TO`.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = arguments.as_slice() else {
        return Err("usage: seal FROM TO".into());
    };
    let trace = foretrace_trace::read(Path::new(from))?;
    foretrace_trace::sealed::write(&trace, Path::new(to))?;
    Ok(())
}
