//! Records small programs, each named after the trap it sets, and looks at what was recorded, times ignored.

mod blocking;
mod children;
mod harness;
mod locks;
mod openmp;
mod processes;
mod queues;
mod real;
mod threads;
mod waits;
