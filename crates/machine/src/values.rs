//! Values as they stand in the file, each of which knows what is possible.

use std::{fmt, str::FromStr};

use foretrace_schedule::SimTime;
pub(crate) use foretrace_settings::{Time, time_text};
use foretrace_sim::Rate;
use serde::Deserialize;

/// As many CPUs, threads and sockets as can be described.
const MOST: i64 = 65_536;

/// A number of things, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "i64")]
pub(crate) struct Count(pub u32);

impl TryFrom<i64> for Count {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        match u32::try_from(number) {
            Ok(count) if (1..=MOST).contains(&number) => Ok(Self(count)),
            _ => Err(format!(
                "{number} is not possible here; write a number from 1 to {MOST}"
            )),
        }
    }
}

/// A thread's priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Priority(pub i32);

/// How many seconds of recorded work a CPU does a second.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(crate) struct Speed(pub Rate);

impl TryFrom<f64> for Speed {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        rate(number, 0.001, 1000.0).map(Self).ok_or_else(|| {
            format!(
                "{number} is not a speed; write how many seconds of recorded work the CPU does a second, from 0.001 to 1000"
            )
        })
    }
}

/// What a core does when all its CPUs are busy, where one alone does 1.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(crate) struct Throughput(pub Rate);

impl Throughput {
    pub const ONE: Self = Self(Rate::ONE);
    /// What two CPUs of a core usually do: a quarter more than one.
    pub const USUAL: Self = Self(Rate(1_250_000_000));
}

impl TryFrom<f64> for Throughput {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        rate(number, 0.1, 64.0).map(Self).ok_or_else(|| {
            format!("{number} is not a throughput; write what a core does whose CPUs are all busy, where one does 1")
        })
    }
}

/// How many CPUs can access the memory at once at full speed.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(crate) struct Bandwidth(pub Rate);

impl TryFrom<f64> for Bandwidth {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        rate(number, 1.0, 65_536.0).map(Self).ok_or_else(|| {
            format!(
                "{number} is not a bandwidth; write how many CPUs can access the memory at once at full speed, at least 1"
            )
        })
    }
}

/// A share of something, from nothing to all of it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Share(pub(crate) Rate);

impl Share {
    /// Returns the one nearest to a number, to a hundredth.
    pub fn nearest(number: f64) -> Self {
        let hundredths = (number.clamp(0.0, 1.0) * 100.0).round();
        Self(rate(hundredths / 100.0, 0.0, 1.0).unwrap_or(Rate(0)))
    }

    /// Returns it in billionths.
    pub fn rate(self) -> Rate {
        self.0
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&rate_text(self.0))
    }
}

impl TryFrom<f64> for Share {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        rate(number, 0.0, 1.0).map(Self).ok_or_else(|| {
            format!("{number} is not a share; write one from 0 (none) to 1 (all of it)")
        })
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.parse::<f64>();
        let number = number.map_err(|_| "write a number from 0 to 1, as in 0.4".to_owned())?;
        Self::try_from(number)
    }
}

/// Returns a rate, to a billionth, where it is between the bounds.
fn rate(number: f64, least: f64, most: f64) -> Option<Rate> {
    #[expect(clippy::cast_sign_loss, reason = "it is not below the least")]
    let billionths = || Rate((number * 1e9).round() as u64);
    (least..=most).contains(&number).then(billionths)
}

/// Writes a rate so that it is read as the same again.
pub(crate) fn rate_text(rate: Rate) -> String {
    let whole = format!("{}.{:09}", rate.0 / 1_000_000_000, rate.0 % 1_000_000_000);
    let short = whole.trim_end_matches('0');
    if short.ends_with('.') {
        format!("{short}0")
    } else {
        short.to_owned()
    }
}

/// The least time that a slice may last: the unit of listings by hand. Simulating ever shorter ones never ends.
const LEAST_SLICE: SimTime = SimTime::from_nanos(1);

/// How long a thread runs before others have their turn: a time, but not none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Slice(pub SimTime);

impl TryFrom<String> for Slice {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match Time::try_from(text)?.0 {
            SimTime::ZERO => Err("a slice must last; write one as in 3ms".to_owned()),
            time if time < LEAST_SLICE => Err(format!(
                "a slice lasts {} ns at least; write a longer one, as in 3ms",
                LEAST_SLICE.as_nanos()
            )),
            time => Ok(Self(time)),
        }
    }
}
