use foretrace_san::*;
use std::time::Instant;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&a[1]).unwrap();
    let source = language::Source::read(&text, &a[1]).unwrap_or_else(|e| panic!("{e}"));
    let mut p = language::Parameters::new();
    for x in &a[3..] { let (n, v) = x.split_once('=').unwrap(); p.insert(n.into(), v.parse().unwrap()); }
    let m = source.model(&p).unwrap_or_else(|e| panic!("{e}"));
    let t = Instant::now();
    let mut o = Options { lump: a[2] == "lump", memory: 2e9, ..Default::default() };
    if a[2] == "free" { o.storage = Storage::MatrixFree; o.tolerance = 1e-10; }
    let s = solve(&m, &o).unwrap_or_else(|e| panic!("{e}"));
    println!("{s:?} {:?}", t.elapsed());
}
