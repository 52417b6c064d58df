//! The words of a line, taken one after the other; and words with a fixed meaning.

use std::borrow::Cow;

use super::{lex::Token, nearest::hint, problem::Problem};
use crate::{Outcome, ThreadClock};

/// The words of a line that were not taken yet.
pub(super) struct Words<'l, 'a> {
    tokens: &'l [Token<'a>],
    /// Where the line ends, in bytes.
    end: usize,
}

impl<'l, 'a> Words<'l, 'a> {
    pub fn new(tokens: &'l [Token<'a>], line: &str) -> Self {
        Self {
            tokens,
            end: line.len(),
        }
    }

    /// Returns the next word without taking it; `None` at the line's end and before a field.
    pub fn peek(&self) -> Option<&'l Token<'a>> {
        self.tokens.first().filter(|token| token.key.is_none())
    }

    /// Returns the words that were not taken yet.
    pub fn left(&self) -> impl Iterator<Item = &'l str> {
        let words = self.tokens.iter().take_while(|token| token.key.is_none());
        words.map(|token| token.text.as_ref())
    }

    /// Takes the next word, where there is one.
    pub fn optional(&mut self) -> Option<&'l Token<'a>> {
        let token = self.peek()?;
        self.tokens = &self.tokens[1..];
        Some(token)
    }

    /// Takes the next word.
    pub fn required(&mut self, expected: &str) -> Result<&'l Token<'a>, Problem> {
        if let Some(token) = self.optional() {
            return Ok(token);
        }
        Err(match self.tokens.first() {
            Some(field) => field.not(
                expected,
                "fields stand behind all words; put a name that holds `=` in double quotes",
            ),
            None => Problem::new(
                self.end,
                expected,
                "the end of the line",
                "complete the line",
            ),
        })
    }

    /// Takes the next field.
    pub fn field(&mut self) -> Result<Option<(&'a str, &'l Token<'a>)>, Problem> {
        let Some((token, rest)) = self.tokens.split_first() else {
            return Ok(None);
        };
        let Some(key) = token.key else {
            let remedy = "remove it, put names that hold blanks in double quotes, or start a comment with `#`";
            return Err(token.not("the end of the line or a field `key=value`", remedy));
        };
        self.tokens = rest;
        Ok(Some((key, token)))
    }

    /// Checks that nothing is left.
    pub fn finish(&self) -> Result<(), Problem> {
        self.tokens.first().map_or(Ok(()), |token| {
            Err(token.not(
                "the end of the line",
                "remove it, or start a comment with `#`",
            ))
        })
    }
}

/// Says that a field's key is not among the known ones.
pub(super) fn unknown_field(token: &Token<'_>, key: &str, known: &[&str]) -> Problem {
    token.not(
        format!("one of the fields {}", known.join(", ")),
        format!(
            "correct the field's name{}",
            hint(key, known.iter().copied())
        ),
    )
}

/// Sets what a field says, and refuses to set it twice.
pub(super) fn set<T>(slot: &mut Option<T>, value: T, token: &Token<'_>) -> Result<(), Problem> {
    if slot.replace(value).is_some() {
        return Err(token.not("each field once", "remove one of the two"));
    }
    Ok(())
}

const OUTCOMES: [(&str, Outcome); 5] = [
    ("ok", Outcome::Success),
    ("busy", Outcome::Busy),
    ("timedout", Outcome::TimedOut),
    ("chosen", Outcome::Chosen),
    ("ownerdied", Outcome::OwnerDied),
];

/// Returns the word for an outcome.
pub(super) fn outcome_word(outcome: Outcome) -> Cow<'static, str> {
    let named = OUTCOMES.iter().find(|(_, known)| *known == outcome);
    match (outcome, named) {
        (_, Some((name, _))) => Cow::Borrowed(name),
        (Outcome::Failed(errno), _) => Cow::Owned(format!("failed:{errno}")),
        (_, None) => Cow::Borrowed("ok"),
    }
}

/// Parses the word for an outcome.
pub(super) fn outcome(token: &Token<'_>) -> Result<Outcome, Problem> {
    let word = token.text.as_ref();
    let named = OUTCOMES.iter().find(|(name, _)| *name == word);
    let failed = || word.strip_prefix("failed:")?.parse().ok();
    named
        .map(|&(_, outcome)| outcome)
        .or_else(|| failed().map(Outcome::Failed))
        .ok_or_else(|| {
            let known = OUTCOMES.iter().map(|(name, _)| *name);
            token.not(
                "an outcome (ok, busy, timedout, chosen, ownerdied, failed:ERRNO), a field or the end of the line",
                format!("correct or remove the word{}", hint(word, known)),
            )
        })
}

/// The word for no CPU at all.
const NO_CPUS: &str = "none";

/// Returns the word for a set of the first 64 CPUs: `0-3,6`.
pub(super) fn cpus_word(cpus: u64) -> String {
    let mut word = String::new();
    let mut rest = cpus;
    while rest != 0 {
        let first = rest.trailing_zeros();
        let last = first + (rest >> first).trailing_ones() - 1;
        rest &= u64::MAX.checked_shl(last + 1).unwrap_or(0);
        if !word.is_empty() {
            word.push(',');
        }
        word += &first.to_string();
        if last > first {
            word.push('-');
            word += &last.to_string();
        }
    }
    if word.is_empty() {
        NO_CPUS.to_owned()
    } else {
        word
    }
}

/// Parses that word.
pub(super) fn cpus(token: &Token<'_>) -> Result<u64, Problem> {
    let word = token.text.as_ref();
    if word == NO_CPUS {
        return Ok(0);
    }
    let number = |text: &str| text.parse().ok().filter(|&cpu: &u32| cpu < 64);
    let part = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        (first <= last).then(|| (u64::MAX >> (63 - last)) & (u64::MAX << first))
    };
    word.split(',')
        .try_fold(0, |cpus, text| Some(cpus | part(text)?))
        .ok_or_else(|| {
            token.not(
                "CPUs from 0 to 63 as numbers and ranges, or `none`",
                "write for instance `0-3,6`",
            )
        })
}

/// The words for the clocks.
pub(super) const CLOCKS: [(&str, ThreadClock); 3] = [
    ("rseq", ThreadClock::Rseq),
    ("counter", ThreadClock::Counter),
    ("system-call", ThreadClock::SystemCall),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::lex::split;

    fn parsed(word: &str) -> Option<u64> {
        let mut tokens = Vec::new();
        split(word, &mut tokens).ok()?;
        cpus(tokens.first()?).ok()
    }

    #[test]
    fn sets_of_cpus_are_read_as_they_are_written() {
        for (set, word) in [
            (0, "none"),
            (1, "0"),
            (0b1001_1110, "1-4,7"),
            (1 << 63, "63"),
            (u64::MAX, "0-63"),
            (3 << 62 | 1, "0,62-63"),
        ] {
            assert_eq!(cpus_word(set), word);
            assert_eq!(parsed(word), Some(set));
        }
        for word in ["64", "3-1", "1,,2", "-", "x", "1-2-3"] {
            assert_eq!(parsed(word), None, "{word}");
        }
    }
}
