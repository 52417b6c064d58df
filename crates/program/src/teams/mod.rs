//! OpenMP teams, and the work that they deal out to whoever of them is free.
//!
//! Between two meetings of all its members, at barriers, a team deals out pieces of loops and sections (`pieces`), and tasks
//! (`tasks`). Who had which in the recording is chance. How both are marked is told where they are recorded, in the
//! preloaded library's `openmp`.

mod meetings;
mod pieces;
mod tasks;

pub(crate) use {pieces::SharedOut, tasks::deal_out};
