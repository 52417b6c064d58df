//! Words and fields of a line.

use std::borrow::Cow;

use nom::{
    IResult, Parser,
    branch::alt,
    bytes::complete::{take_while, take_while_m_n, take_while1},
    character::complete::char,
    combinator::{map, map_opt, opt, value},
    multi::fold_many0,
    sequence::{delimited, preceded, terminated},
};

use super::problem::Problem;

/// A word of a line, or a field `key=word`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// Where it starts, in bytes from the beginning of the line.
    pub offset: usize,
    /// The field's key.
    pub key: Option<&'a str>,
    /// The word, without quotes and escapes.
    pub text: Cow<'a, str>,
}

impl Token<'_> {
    /// Says that something else should stand here.
    pub fn not(&self, expected: impl Into<String>, remedy: impl Into<String>) -> Problem {
        let found = match self.key {
            Some(key) => format!("the field `{key}={}`", excerpt(&self.text)),
            None => format!("`{}`", excerpt(&self.text)),
        };
        Problem::new(self.offset, expected, found, remedy)
    }
}

/// Splits a line into `tokens`, which is emptied first.
pub(super) fn split<'a>(line: &'a str, tokens: &mut Vec<Token<'a>>) -> Result<(), Problem> {
    tokens.clear();
    let mut rest = skip_blanks(line);
    while !rest.is_empty() && !rest.starts_with('#') {
        let offset = line.len() - rest.len();
        let Ok((after, (key, text))) = (opt(key), alt((quoted, bare))).parse(rest) else {
            return Err(no_word(line, rest));
        };
        tokens.push(Token { offset, key, text });
        rest = skip_blanks(after);
        if !rest.is_empty() && rest.len() == after.len() {
            return Err(no_word(line, rest));
        }
    }
    Ok(())
}

/// Says why no word could be read where `rest` begins.
fn no_word(line: &str, rest: &str) -> Problem {
    let at = line.len() - rest.len();
    let start = rest
        .find('"')
        .filter(|&quote| !rest[..quote].contains([' ', '\t']));
    if let Some(quote) = start {
        return Problem::new(
            at + quote,
            "a quoted word, closed by `\"` and followed by a blank",
            format!("`{}`", excerpt(&rest[quote..])),
            r#"write `\"` for a quote and `\\` for a backslash in it; known escapes are \" \\ \n \r \t \u{HEX}"#,
        );
    }
    Problem::new(
        at,
        "a word",
        format!("`{}`", excerpt(rest)),
        "put words that hold blanks or special characters in double quotes",
    )
}

/// Returns the beginning of a text, in printable form.
pub(super) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut start: String = text.chars().take(SHOWN).collect();
    if start.len() < text.len() {
        start.push_str("...");
    }
    printable(&start)
}

/// Returns a text with its control characters escaped, so that a message stays one line.
fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

fn skip_blanks(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

fn key(input: &str) -> IResult<&str, &str> {
    let letter = |c: char| c.is_ascii_lowercase() || c == '_' || c == '-';
    terminated(take_while1(letter), char('=')).parse(input)
}

fn bare(input: &str) -> IResult<&str, Cow<'_, str>> {
    map(take_while1(is_bare), Cow::Borrowed).parse(input)
}

fn is_bare(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && c != '"'
}

fn quoted(input: &str) -> IResult<&str, Cow<'_, str>> {
    // Most quoted words hold no escape and need no copy.
    let plain = take_while(|c| c != '"' && c != '\\');
    let plain = map(delimited(char('"'), plain, char('"')), Cow::Borrowed);
    let pieces = fold_many0(piece, String::new, |mut text: String, piece| {
        match piece {
            Piece::Text(more) => text.push_str(more),
            Piece::Escaped(c) => text.push(c),
        }
        text
    });
    let escaped = map(delimited(char('"'), pieces, char('"')), Cow::Owned);
    alt((plain, escaped)).parse(input)
}

enum Piece<'a> {
    Text(&'a str),
    Escaped(char),
}

fn piece(input: &str) -> IResult<&str, Piece<'_>> {
    let text = take_while1(|c| c != '"' && c != '\\');
    alt((
        map(text, Piece::Text),
        map(preceded(char('\\'), escaped), Piece::Escaped),
    ))
    .parse(input)
}

fn escaped(input: &str) -> IResult<&str, char> {
    let code = take_while_m_n(1, 6, |c: char| c.is_ascii_hexdigit());
    let code = map_opt(code, |hex| {
        u32::from_str_radix(hex, 16).ok().and_then(char::from_u32)
    });
    alt((
        char('"'),
        char('\\'),
        value('\n', char('n')),
        value('\r', char('r')),
        value('\t', char('t')),
        delimited((char('u'), char('{')), code, char('}')),
    ))
    .parse(input)
}

/// Returns a word as it stands in a line, quoted where it must be.
pub(super) fn word(text: &str) -> Cow<'_, str> {
    let plain =
        !text.is_empty() && !text.starts_with('#') && text.chars().all(|c| is_bare(c) && c != '=');
    if plain {
        return Cow::Borrowed(text);
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.extend(c.escape_unicode()),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    Cow::Owned(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<(Option<&str>, String)> {
        let mut tokens = Vec::new();
        split(line, &mut tokens).unwrap();
        tokens
            .into_iter()
            .map(|token| (token.key, token.text.into_owned()))
            .collect()
    }

    #[test]
    fn blanks_part_words_and_a_leading_hash_ends_the_line() {
        let found = words("\t3  P1 lock m#2 site=a+0x1 # not this");
        let expected = [
            (None, "3"),
            (None, "P1"),
            (None, "lock"),
            (None, "m#2"),
            (Some("site"), "a+0x1"),
        ];
        assert_eq!(found, expected.map(|(key, word)| (key, word.to_owned())));
    }

    #[test]
    fn a_name_of_any_characters_is_quoted_and_read_again() {
        for name in [
            "",
            "mutex 1",
            "a\"b\\c",
            "\u{1}\n\r\t",
            "a=b",
            "#1",
            "\u{a0}",
            "ä#",
            "\\",
        ] {
            assert_eq!(words(&word(name)), [(None, name.to_owned())], "{name:?}");
        }
    }

    #[test]
    fn an_open_quote_and_an_unknown_escape_are_errors_at_the_quote() {
        for line in ["0 \"open", r#"0 "a\q""#, r#"0 "\u{110000}""#, "0 \"a\"b"] {
            let problem = split(line, &mut Vec::new()).unwrap_err();
            assert!((2..=5).contains(&problem.offset), "{line}: {problem:?}");
        }
    }
}
