//! A line that is read from left to right, and errors that say where it went wrong.

use std::str::FromStr;

use foretrace_messages::ANY;
use foretrace_trace::Error;
use nom::{
    IResult, Parser as _,
    bytes::complete::{tag, take_while1},
    character::complete::{digit1, space0},
    combinator::{opt, recognize},
    number::complete::recognize_float,
};

/// What is left of a line.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub path: &'a str,
    /// The line's number, from 1.
    pub line: usize,
    whole: &'a str,
    pub rest: &'a str,
}

impl<'a> Cursor<'a> {
    pub fn new(path: &'a str, line: usize, whole: &'a str) -> Self {
        Self {
            path,
            line,
            whole,
            rest: whole,
        }
    }

    /// Returns an error at what is left.
    pub fn error(&self, expected: impl Into<String>, remedy: impl Into<String>) -> Error {
        let before = &self.whole[..self.whole.len() - self.rest.len()];
        let found = match self.rest.split_whitespace().next() {
            None => "the end of the line".to_owned(),
            Some(word) => format!("`{}`", word.chars().take(24).collect::<String>()),
        };
        Error::Text {
            path: self.path.to_owned(),
            line: self.line,
            column: 1 + before.chars().count(),
            expected: expected.into(),
            found,
            remedy: remedy.into(),
        }
    }

    fn run<O>(&mut self, mut parser: impl FnMut(&'a str) -> IResult<&'a str, O>) -> Option<O> {
        let (rest, value) = parser(self.rest).ok()?;
        self.rest = rest;
        Some(value)
    }

    /// Passes over spaces.
    pub fn spaces(&mut self) {
        self.run(space0);
    }

    /// Passes over a text, where it stands here.
    pub fn has(&mut self, text: &str) -> bool {
        self.run(|rest| tag(text).parse(rest)).is_some()
    }

    /// Passes over a text that must stand here.
    pub fn expect(&mut self, text: &str, remedy: &str) -> Result<(), Error> {
        if self.has(text) {
            Ok(())
        } else {
            Err(self.error(format!("`{text}`"), remedy))
        }
    }

    /// Reads a whole number, perhaps a negative one.
    pub fn integer<T: FromStr>(&mut self, what: &str) -> Result<T, Error> {
        let before = *self;
        let digits = self.run(|rest| recognize((opt(tag("-")), digit1)).parse(rest));
        let number = digits.and_then(|digits: &str| digits.parse().ok());
        let remedy = match digits {
            None => "write it as a whole number",
            Some(digits) if digits.starts_with('-') => "it cannot be below zero",
            Some(_) => "write a smaller number",
        };
        number.ok_or_else(|| before.error(what, remedy))
    }

    /// Reads a tag; -1 stands for any, where that is possible.
    pub fn tag(&mut self, may_be_any: bool) -> Result<u32, Error> {
        let before = *self;
        if may_be_any && self.has("-1") {
            return Ok(ANY);
        }
        let tag: u32 = self.integer("a tag from 0 to 2147483647")?;
        if tag <= i32::MAX.cast_unsigned() {
            Ok(tag)
        } else {
            Err(before.error(
                "a tag from 0 to 2147483647",
                "no implementation of MPI takes larger ones",
            ))
        }
    }

    /// Reads a number that is not negative.
    pub fn decimal(&mut self, what: &str) -> Result<f64, Error> {
        let before = *self;
        let text = self.run(recognize_float);
        let number = text.and_then(|text: &str| text.parse().ok());
        match number {
            Some(number) if f64::is_finite(number) && number >= 0.0 => Ok(number),
            _ => Err(before.error(what, "write a number that is not negative, as in 0.001")),
        }
    }

    /// Reads a number as a time in units of so many picoseconds.
    pub fn time(&mut self, what: &str, unit: f64) -> Result<u64, Error> {
        let before = *self;
        let number = self.decimal(what)?;
        picos(number, unit).ok_or_else(|| before.too_long())
    }

    /// Returns the error of a time that has no room.
    pub fn too_long(&self) -> Error {
        self.error(
            "a time of at most 213 days",
            "times are counted in picoseconds, up to 2^64 of them; write a shorter one",
        )
    }

    /// Reads a word of letters, digits and the like.
    pub fn word(&mut self) -> &'a str {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        self.run(|rest| take_while1(is_part).parse(rest))
            .unwrap_or("")
    }

    /// Checks that nothing but spaces is left.
    pub fn end(&mut self) -> Result<(), Error> {
        self.spaces();
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.error(
                "the end of the line",
                "put what follows on a line of its own, or remove it",
            ))
        }
    }
}

/// How long each rank works and sleeps, as far as it was read.
pub(super) struct Sums(Vec<u64>);

impl Sums {
    pub fn new(ranks: u32) -> Self {
        Self(vec![0; ranks as usize])
    }

    /// Adds a time, which it returns, of a rank.
    pub fn add(&mut self, rank: u32, time: u64, at: &Cursor<'_>) -> Result<u64, Error> {
        let sum = &mut self.0[rank as usize];
        *sum = sum.checked_add(time).ok_or_else(|| {
            at.error(
                format!("times of rank {rank} that come to 213 days at most"),
                "times are counted in picoseconds, up to 2^64 of them; write shorter ones",
            )
        })?;
        Ok(time)
    }
}

/// Picoseconds in a second.
pub(super) const PICOS_PER_SECOND: f64 = 1e12;

/// What no time in picoseconds comes to.
const LONGEST: f64 = 18_446_744_073_709_551_615.0;

/// Takes a time that is not negative, in units of so many picoseconds, to picoseconds; `None` where it has no room.
pub(super) fn picos(time: f64, unit: f64) -> Option<u64> {
    let time = (time * unit).round();
    #[expect(
        clippy::cast_sign_loss,
        reason = "times that were read are not negative"
    )]
    (time < LONGEST).then_some(time as u64)
}
