//! The standard library's.

use std::{
    sync::{
        Barrier, Condvar, Mutex, OnceLock, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use crate::work;

/// Three threads share a sum, and work while they hold it.
pub fn mutex() -> u64 {
    let sum = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..5 {
                    work(1);
                    *sum.lock().unwrap_or_else(PoisonError::into_inner) += work(10);
                }
            });
        }
    });
    sum.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Two threads read what a third writes.
pub fn rwlock() -> u64 {
    let value = RwLock::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let value = value.read().unwrap_or_else(PoisonError::into_inner);
                    work(10 + *value % 2);
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..5 {
                *value.write().unwrap_or_else(PoisonError::into_inner) += work(10);
            }
        });
    });
    value.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// A queue of two places, made of a mutex and two condition variables.
pub fn condvar() -> u64 {
    let queue = Mutex::new(Vec::new());
    let (filled, emptied) = (Condvar::new(), Condvar::new());
    let mut sum = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            for item in 1..=10 {
                let mut full = queue.lock().unwrap_or_else(PoisonError::into_inner);
                full = emptied
                    .wait_while(full, |queue| queue.len() == 2)
                    .unwrap_or_else(PoisonError::into_inner);
                full.push(item);
                drop(full);
                filled.notify_one();
                work(5);
            }
        });
        for _ in 0..10 {
            let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            let mut queue = filled
                .wait_while(queue, |queue| queue.is_empty())
                .unwrap_or_else(PoisonError::into_inner);
            sum += queue.remove(0);
            drop(queue);
            emptied.notify_one();
            work(5);
        }
    });
    sum
}

/// Three threads in four phases.
pub fn barrier() -> u64 {
    let barrier = Barrier::new(3);
    let leaders = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for phase in 0..4 {
                    work(10 + phase);
                    let is_leader = barrier.wait().is_leader();
                    leaders.fetch_add(u64::from(is_leader), Ordering::Relaxed);
                }
            });
        }
    });
    leaders.into_inner()
}

/// A producer, a stage between over a channel of one place, and a consumer, which at last waits in vain.
pub fn channel() -> u64 {
    let (first, items) = mpsc::channel();
    let (second, results) = mpsc::sync_channel(1);
    let _keeps_open = second.clone();
    let producer = thread::spawn(move || {
        for item in 1..=8 {
            let _ = first.send(work(item));
        }
    });
    let stage = thread::spawn(move || {
        for item in items {
            let _ = second.send(work(item) * 2);
        }
    });
    let mut sum = 0;
    for _ in 0..8 {
        sum += results.recv().unwrap_or_default();
    }
    let nothing = results.recv_timeout(Duration::from_millis(50)).is_err();
    let ended = producer.join().is_ok() && stage.join().is_ok();
    sum + u64::from(nothing && ended)
}

/// A thread that parks until there is more to do.
pub fn park() -> u64 {
    let tasks = AtomicU64::new(0);
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let mut done = 0;
            while done < 8 {
                while tasks.load(Ordering::SeqCst) <= done {
                    thread::park();
                }
                done += 1;
                work(5);
            }
            done
        });
        // It parks meanwhile.
        thread::sleep(Duration::from_millis(5));
        for _ in 0..8 {
            work(5);
            tasks.fetch_add(1, Ordering::SeqCst);
            worker.thread().unpark();
        }
        worker.join().unwrap_or_default()
    })
}

/// Three threads want what one of them makes.
pub fn once() -> u64 {
    let made = OnceLock::new();
    thread::scope(|scope| {
        let threads = [(); 3].map(|()| scope.spawn(|| *made.get_or_init(|| work(60))));
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_default())
            .sum()
    })
}
