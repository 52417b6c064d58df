use foretrace_san::*;
use std::time::Instant;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&a[1]).unwrap();
    let source = language::Source::read(&text, &a[1]).unwrap_or_else(|e| panic!("{e}"));
    let mut p = language::Parameters::new();
    let lump = a[2] == "lump";
    for x in &a[3..] { let (n, v) = x.split_once('=').unwrap(); p.insert(n.into(), v.parse().unwrap()); }
    let m = source.model(&p).unwrap_or_else(|e| panic!("{e}"));
    let t = Instant::now();
    let fams = if lump { lump::symmetric_families(&m) } else { vec![] };
    println!("sym {:?} {:?}", fams, t.elapsed());
    let sp = space::Space::new(&m, &fams).unwrap();
    let c = chain::Chain::explore(&m, &sp, 1e10).unwrap_or_else(|e| panic!("{e}"));
    println!("{} states {} arcs {:?}", c.len(), c.from.len(), t.elapsed());
    let mut x = vec![1.0 / c.len() as f64; c.len()];
    let mut st = vec![];
    let which: Vec<usize> = std::env::var("W").unwrap_or("1".into()).split(',').filter_map(|w| w.parse().ok()).collect();
    let gs: usize = std::env::var("GS").unwrap_or("5".into()).parse().unwrap();
    let mut blocks = 1;
    for w in &which { blocks *= m.automata[*w].states.len(); }
    let block: Vec<u32> = c.keys.iter().map(|k| { sp.state(*k, &mut st); which.iter().fold(0, |b, w| b * m.automata[*w].states.len() as u32 + st[*w] as u32) }).collect();
    for _ in 0..25 {
        if !which.is_empty() { stationary::iad(&c, &mut x, &block, blocks); }
        stationary::gauss_seidel(&c, &mut x, gs);
        println!("{:e} {:?}", c.residual(&x), t.elapsed());
    }
    for (n, e) in &m.results {
        let v: f64 = c.keys.iter().zip(&x).map(|(k, p)| { sp.state(*k, &mut st); p * e.value(&st) }).sum();
        println!("{n} {v:.12}");
    }
}
