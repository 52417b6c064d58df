//! Times with their units.

use std::{fmt::Write as _, str::FromStr};

use foretrace_schedule::SimTime;
use serde::Deserialize;

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
pub struct Time(pub SimTime);

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
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
pub fn decimal(number: &str, unit: u64) -> Option<u64> {
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
pub fn time_text(time: SimTime) -> String {
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
