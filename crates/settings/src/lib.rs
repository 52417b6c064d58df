//! What files of settings have in common, be they of machines or of networks: times with their units, and errors that name
//! the line and the key that was probably meant.
//!
//! ```
//! use foretrace_settings::Time;
//!
//! assert_eq!("1.5us".parse::<Time>().map(|time| time.0.0), Ok(1_500_000));
//! assert!("15".parse::<Time>().is_err());
//! ```
//!
//! Deliberately absent: which keys there are, and what they mean.

mod fault;
mod lists;
mod time;

pub use {
    fault::{Fault, nearest},
    lists::check_lists,
    time::{Time, decimal, time_text},
};
