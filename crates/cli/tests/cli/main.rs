//! Runs foretrace as its users do, and looks at what it prints and how it ends.

mod bad_input;
mod environment;
mod files;
mod help;
mod machines;
mod pools;
mod predictions;
mod real_programs;
mod recording;
mod refusals;
mod series;
mod server;
mod sites;
mod validation;
mod window;
