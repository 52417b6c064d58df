//! Runs foretrace as its users do, and looks at what it prints and how it ends.

mod automata;
mod bad_input;
mod calibration;
mod drag;
mod environment;
mod files;
mod grids;
mod help;
mod machines;
mod messages;
mod mpi_programs;
mod polling;
mod pools;
mod predictions;
mod progress;
mod ranks;
mod real_programs;
mod recording;
mod refusals;
mod series;
mod server;
mod several;
mod sites;
mod sleeps;
mod validation;
mod window;
