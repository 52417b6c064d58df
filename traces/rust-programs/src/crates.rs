//! Crates that many programs use.

use std::thread;

use parking_lot::{Condvar, Mutex, RwLock};
use rayon::prelude::*;

use crate::work;

/// Three threads share a counter under `parking_lot`'s mutex, and a fourth waits until it is complete.
pub fn parking_lot() -> u64 {
    let count = Mutex::new(0);
    let complete = Condvar::new();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..5 {
                    *count.lock() += work(10);
                    complete.notify_one();
                    work(1);
                }
            });
        }
        let mut count = count.lock();
        complete.wait_while(&mut count, |count| *count < 150);
        *count
    })
}

/// Two threads read what a third writes.
pub fn parking_lot_rwlock() -> u64 {
    let value = RwLock::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..5 {
                    work(10 + *value.read() % 2);
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..5 {
                *value.write() += work(10);
            }
        });
    });
    value.into_inner()
}

/// A producer and two consumers over crossbeam's channel of two places.
pub fn crossbeam_channel() -> u64 {
    let (sender, receiver) = crossbeam_channel::bounded(2);
    let consumers = [(); 2].map(|()| {
        let receiver = receiver.clone();
        thread::spawn(move || receiver.iter().map(|item| work(5) + item).sum())
    });
    drop(receiver);
    for item in 0..10 {
        work(1);
        let _ = sender.send(item);
    }
    drop(sender);
    consumers
        .into_iter()
        .map(|consumer| consumer.join().unwrap_or(0_u64))
        .sum()
}

/// Two threads of crossbeam's scope, and a group that is waited for.
pub fn crossbeam_scope() -> u64 {
    let group = crossbeam_utils::sync::WaitGroup::new();
    for _ in 0..2 {
        let member = group.clone();
        thread::spawn(move || {
            work(50);
            drop(member);
        });
    }
    group.wait();
    let sum = crossbeam_utils::thread::scope(|scope| {
        let threads = [1, 2].map(|part| scope.spawn(move |_| work(10 * part)));
        let results = threads.map(|thread| thread.join().unwrap_or_default());
        results.iter().sum()
    });
    sum.unwrap_or_default()
}

/// Two sums by rayon's pool, with a pause between them in which its threads go to sleep.
pub fn rayon_sum() -> u64 {
    let sum = || (1..=60_u64).into_par_iter().map(|_| work(2)).sum::<u64>();
    let first = sum();
    work(100);
    first + sum()
}

/// A tree of calls by rayon's `join`.
pub fn rayon_join() -> u64 {
    fn tree(depth: u32) -> u64 {
        if depth == 0 {
            return work(5);
        }
        let (left, right) = rayon::join(|| tree(depth - 1), || tree(depth - 1));
        left + right
    }
    tree(5)
}
