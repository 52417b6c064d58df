//! Gantt pictures of schedules, as pure geometry and as SVG.
//!
//! [`scale`] lays time out over pixels, [`lanes`] threads over rows, [`pixels`] divides what is too narrow to be seen
//! into exact shares, [`palette`] colours it; [`svg`] puts it all into one self-contained picture.
//!
//! For a window, which draws many frames of large schedules: [`picture`] packs a schedule into [`track`]s with sums, from
//! which [`raster`] paints rows of exact shares in time that hardly grows with the segments; [`arrange`] groups, sorts and
//! filters rows, [`arrows`] chooses arrows, [`view`] zooms and pans.
//!
//! ```
//! use foretrace_gantt::{SvgOptions, render};
//! use foretrace_schedule::{Lane, Outcome, Schedule, Segment, SimTime, State};
//!
//! let second = SimTime(1_000_000_000_000);
//! let run = Segment { start: SimTime::ZERO, end: second, state: State::Running(0), object: None, event: None };
//! let main = Lane { name: "main".into(), segments: vec![run], end: Some(second), ..Lane::default() };
//! let schedule = Schedule {
//!     source: "example.ftrace".into(),
//!     model: "direct".into(),
//!     cpus: 1,
//!     network: None,
//!     end: second,
//!     outcome: Outcome::Completed,
//!     processes: vec!["example".into()],
//!     lanes: vec![main],
//!     objects: vec![],
//!     wakes: vec![],
//! };
//! let picture = render(&schedule, &SvgOptions::default());
//! assert!(picture.starts_with("<svg"));
//! ```
//!
//! Deliberately absent: windows and toolkits. The viewer paints what is computed here.

pub mod arrange;
pub mod arrows;
pub mod lanes;
pub mod palette;
pub mod picture;
pub mod pixels;
pub mod raster;
pub mod scale;
pub mod svg;
pub mod text;
pub mod track;
pub mod view;

pub use {
    palette::Theme,
    svg::{SvgOptions, render},
};
