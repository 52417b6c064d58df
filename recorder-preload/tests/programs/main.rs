//! Records small programs, each named after the trap it sets, and looks at what was recorded, times ignored.

mod blocking;
mod children;
mod cpus;
mod deaths;
mod exports;
mod file_locks;
mod futexes;
mod harness;
mod locks;
mod openmp;
mod openmp_llvm;
mod processes;
mod queues;
mod real;
mod threads;
mod waits;
