//! Numbers, times and units.

use std::str::FromStr;

use nom::{
    IResult, Parser,
    branch::alt,
    bytes::complete::tag,
    character::complete::{char, digit0, digit1},
    combinator::{all_consuming, opt, value},
    sequence::preceded,
};

use super::{lex::Token, problem::Problem};
use crate::{Nanos, validate::LARGEST_TIME};

/// The unit of times, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit(u64);

impl Default for Unit {
    fn default() -> Self {
        Self(1)
    }
}

impl Unit {
    /// Parses the words behind `unit`, joined: `1us`, `us`, `100ns`.
    pub fn parse(text: &str) -> Option<Self> {
        let (_, (amount, nanos)) = all_consuming((opt(digit1), suffix)).parse(text).ok()?;
        let amount: u64 = amount.map_or(Some(1), |amount: &str| amount.parse().ok())?;
        amount
            .checked_mul(nanos)
            .filter(|unit| (1..=LARGEST_TIME.0).contains(unit))
            .map(Self)
    }

    /// Parses a time and rounds it to whole nanoseconds.
    pub fn time(self, token: &Token<'_>) -> Result<Nanos, Problem> {
        let Ok((_, (whole, fraction))) = all_consuming(decimal).parse(&token.text) else {
            return Err(token.not(
                "a time, such as `12` or `12.5`",
                "write times as digits, in the unit of the file (`unit 1us` changes it)",
            ));
        };
        let whole = whole
            .parse::<u64>()
            .ok()
            .and_then(|whole| whole.checked_mul(self.0));
        let nanos = whole.and_then(|whole| whole.checked_add(self.part(fraction.unwrap_or(""))));
        nanos
            .filter(|&nanos| nanos <= LARGEST_TIME.0)
            .map(Nanos)
            .ok_or_else(|| {
                token.not(
                    format!("a time of at most 2^53 ns, in units of {} ns", self.0),
                    "let times start near zero, and check `unit`",
                )
            })
    }

    /// Returns the nanoseconds of the digits behind a decimal point, rounded.
    fn part(self, digits: &str) -> u64 {
        // Digits beyond these are less than a nanosecond in every unit.
        const CONSIDERED: usize = 20;
        let digits = &digits[..digits.len().min(CONSIDERED)];
        let scale = 10u128.pow(digits.len() as u32);
        let fraction = digits.parse::<u128>().unwrap_or(0);
        let nanos = (2 * fraction * u128::from(self.0) + scale) / (2 * scale);
        u64::try_from(nanos).unwrap_or(self.0)
    }
}

fn suffix(input: &str) -> IResult<&str, u64> {
    alt((
        value(1, tag("ns")),
        value(1_000, tag("us")),
        value(1_000, tag("\u{b5}s")),
        value(1_000_000, tag("ms")),
        value(1_000_000_000, tag("s")),
    ))
    .parse(input)
}

fn decimal(input: &str) -> IResult<&str, (&str, Option<&str>)> {
    (digit1, opt(preceded(char('.'), digit0))).parse(input)
}

/// Parses a whole number; `expected` says what it stands for.
pub(super) fn number<T: FromStr>(token: &Token<'_>, expected: &str) -> Result<T, Problem> {
    token.text.parse().map_err(|_| {
        token.not(
            expected,
            "write a whole number within the range of the field",
        )
    })
}

/// Parses a number in hexadecimal with the prefix `0x`.
pub(super) fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(unit: &str, text: &str) -> Result<u64, String> {
        let token = Token {
            offset: 0,
            key: None,
            text: text.into(),
        };
        let time = Unit::parse(unit).unwrap().time(&token);
        time.map(|time| time.0).map_err(|problem| problem.expected)
    }

    #[test]
    fn decimals_are_rounded_to_nanoseconds() {
        assert_eq!(time("1us", "1.5"), Ok(1_500));
        assert_eq!(time("us", "0.0004"), Ok(0));
        assert_eq!(time("us", "0.0005"), Ok(1));
        assert_eq!(time("1s", "0.30000000000000000000004"), Ok(300_000_000));
        assert_eq!(time("100ns", "7."), Ok(700));
    }

    #[test]
    fn what_is_no_time_or_too_late_is_refused() {
        for text in [
            "-1",
            "1e3",
            ".5",
            "1 2",
            "",
            "9007199254740993",
            "99999999999999999999",
        ] {
            assert!(time("ns", text).is_err(), "{text}");
        }
        assert!(time("ms", "9007199255").is_err());
    }

    #[test]
    fn a_unit_of_nothing_is_none() {
        for text in ["0us", "1", "us1", "1 us", "99999999999s"] {
            assert_eq!(Unit::parse(text), None, "{text}");
        }
    }
}
