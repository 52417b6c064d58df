//! Stationary distributions.
use crate::chain::Chain;

/// Experiment.
pub fn gauss_seidel(chain: &Chain, x: &mut [f64], sweeps: usize) {
    for _ in 0..sweeps {
        for s in 0..chain.len() {
            let into: f64 = chain.incoming(s).map(|(f, r)| x[f] * r).sum();
            x[s] = into / chain.exit[s];
        }
        let sum: f64 = x.iter().sum();
        for v in x.iter_mut() { *v /= sum; }
    }
}

/// Experiment.
pub fn iad(chain: &Chain, x: &mut [f64], block: &[u32], blocks: usize) {
    let mut q = vec![0.0; blocks * blocks];
    let mut mass = vec![0.0; blocks];
    for s in 0..chain.len() { mass[block[s] as usize] += x[s]; }
    for s in 0..chain.len() {
        for (f, r) in chain.incoming(s) {
            let (a, b) = (block[f] as usize, block[s] as usize);
            if a != b { q[a * blocks + b] += x[f] * r; }
        }
    }
    for a in 0..blocks { if mass[a] > 0.0 { for b in 0..blocks { q[a*blocks+b] /= mass[a]; } } }
    let pi = gth(&mut q, blocks);
    for s in 0..chain.len() { let b = block[s] as usize; if mass[b] > 0.0 { x[s] *= pi[b] / mass[b]; } }
}
fn gth(q: &mut [f64], n: usize) -> Vec<f64> {
    for k in (1..n).rev() {
        let sum: f64 = q[k*n..k*n+k].iter().sum();
        if sum == 0.0 { continue; }
        let (top, row) = q.split_at_mut(k*n);
        let row = &row[..k];
        for i in 0..k {
            let f = top[i*n+k] / sum;
            top[i*n+k] = f;
            if f != 0.0 { for j in 0..k { top[i*n+j] += f * row[j]; } }
        }
    }
    let mut pi = vec![0.0; n];
    pi[0] = 1.0;
    for k in 1..n { pi[k] = (0..k).map(|i| pi[i]*q[i*n+k]).sum(); }
    let s: f64 = pi.iter().sum();
    pi.iter_mut().for_each(|p| *p /= s);
    pi
}
