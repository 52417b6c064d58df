//! Values as they stand in the file, each of which knows what is possible.

use std::{fmt::Write as _, str::FromStr};

use foretrace_schedule::SimTime;
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

/// A share of the CPU time, from nothing to all of it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Share(pub(crate) Rate);

impl Share {
    /// Returns the one nearest to a number, to a hundredth.
    pub fn nearest(number: f64) -> Self {
        let hundredths = (number.clamp(0.0, 1.0) * 100.0).round();
        Self(rate(hundredths / 100.0, 0.0, 1.0).unwrap_or(Rate(0)))
    }
}

impl TryFrom<f64> for Share {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        rate(number, 0.0, 1.0).map(Self).ok_or_else(|| {
            format!(
                "{number} is not a share of the CPU time; write one from 0 (none) to 1 (all of it)"
            )
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

/// How long a thread runs before others have their turn: a time, but not none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Slice(pub SimTime);

impl TryFrom<String> for Slice {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match Time::try_from(text)?.0 {
            SimTime::ZERO => Err("a slice must last; write one as in 3ms".to_owned()),
            time => Ok(Self(time)),
        }
    }
}

/// The units of times, with their length in picoseconds; the longest first.
const UNITS: [(&str, u64); 5] = [
    ("s", 1_000_000_000_000),
    ("ms", 1_000_000_000),
    ("us", 1_000_000),
    ("µs", 1_000_000),
    ("ns", 1_000),
];

/// A time with its unit, as in `15us` or `1.5ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Time(pub SimTime);

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a time; write one with its unit, as in 15us");
        if text.starts_with('-') {
            return Err(format!(
                "`{text}` is negative; write 0us where something takes no time"
            ));
        }
        let digits = text
            .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
            .len();
        let (number, unit) = text.split_at(text.len() - digits);
        let (_, length) = UNITS
            .iter()
            .find(|(name, _)| *name == unit.trim())
            .ok_or_else(wrong)?;
        decimal(number, *length)
            .map(|picos| Self(SimTime(picos)))
            .ok_or_else(wrong)
    }
}

/// Returns a decimal number of units, in ones; what is smaller than one is dropped.
fn decimal(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let mut total = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    let mut place = unit;
    for digit in fraction.chars() {
        place /= 10;
        total = total.checked_add(u64::from(digit.to_digit(10)?) * place)?;
    }
    (!fraction.is_empty()).then_some(total)
}

/// Writes a time so that it is read as the same again.
pub(crate) fn time_text(time: SimTime) -> String {
    let (name, length) = UNITS
        .into_iter()
        .find(|(_, length)| time.0 >= *length)
        .unwrap_or(("us", 1_000_000));
    let mut text = (time.0 / length).to_string();
    let mut rest = time.0 % length;
    let mut place = length;
    if rest > 0 {
        text.push('.');
    }
    while rest > 0 {
        place /= 10;
        // Writing to a string cannot fail.
        let _ = write!(text, "{}", rest / place);
        rest %= place;
    }
    text + name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picos(text: &str) -> Option<u64> {
        Time::try_from(text.to_owned()).ok().map(|time| time.0.0)
    }

    #[test]
    fn times_carry_a_unit_and_may_have_a_fraction() {
        assert_eq!(picos("15us"), Some(15_000_000));
        assert_eq!(picos("1.25 ms"), Some(1_250_000_000));
        assert_eq!(picos("0.5µs"), Some(500_000));
        assert_eq!(picos("2s"), Some(2_000_000_000_000));
        for text in [
            "",
            "15",
            "us",
            "-3us",
            "1.us",
            "1.2.3us",
            ".5us",
            "1h",
            "99999999999s",
        ] {
            assert_eq!(picos(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_written_as_they_are_read() {
        for text in ["0us", "15us", "1.25ms", "417ns", "3ms", "1.000001s"] {
            let time = Time::try_from(text.to_owned()).expect("it is a time");
            assert_eq!(time_text(time.0), text);
        }
    }
}
