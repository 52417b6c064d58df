//! Rust programs that tests record: each uses one sort of synchronization, of the standard library or of a crate that
//! many programs use. `rust-programs NAME` runs one; what it prints does not depend on how its threads are interleaved.
#![expect(clippy::print_stdout, reason = "programs print their results")]

mod crates;
mod standard;

use std::hint::black_box;

/// Runs its threads and returns what they made.
type Program = fn() -> u64;

/// The programs.
const PROGRAMS: [(&str, Program); 13] = [
    ("mutex", standard::mutex),
    ("rwlock", standard::rwlock),
    ("condvar", standard::condvar),
    ("barrier", standard::barrier),
    ("channel", standard::channel),
    ("park", standard::park),
    ("once", standard::once),
    ("parking_lot", crates::parking_lot),
    ("parking_lot_rwlock", crates::parking_lot_rwlock),
    ("crossbeam_channel", crates::crossbeam_channel),
    ("crossbeam_scope", crates::crossbeam_scope),
    ("rayon_sum", crates::rayon_sum),
    ("rayon_join", crates::rayon_join),
];

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    match PROGRAMS.iter().find(|(known, _)| *known == name) {
        Some((_, program)) => println!("{name}: {}", program()),
        None => std::process::exit(2),
    }
}

/// Works for some hundred microseconds, `amount` times, and returns `amount`.
fn work(amount: u64) -> u64 {
    let mut state = amount;
    for _ in 0..amount * 200_000 {
        state = black_box(
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1),
        );
    }
    black_box(state);
    amount
}
