//! Tokens, each with its place.

use nom::{
    IResult, Parser,
    branch::alt,
    bytes::complete::{tag, take_while, take_while1},
    character::complete::{digit1, one_of, satisfy},
    combinator::{map, map_res, opt, recognize},
    sequence::pair,
};

use crate::error::{Place, Problem};

/// The smallest part of a text that means something.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind<'a> {
    /// A name or keyword.
    Word(&'a str),
    /// A number.
    Number(f64),
    /// An operator or bracket.
    Mark(&'static str),
    /// The end of the text.
    End,
}

impl Kind<'_> {
    /// Returns how errors speak of it.
    pub fn described(&self) -> String {
        match self {
            Self::Word(word) => format!("`{word}`"),
            Self::Number(number) => format!("`{number}`"),
            Self::Mark(mark) => format!("`{mark}`"),
            Self::End => "the end of the file".to_owned(),
        }
    }
}

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token<'a> {
    pub at: Place,
    pub kind: Kind<'a>,
}

/// Operators and brackets; longer ones before those that they begin with.
const MARKS: [&str; 27] = [
    "..", "->", "==", "!=", "<=", ">=", "&&", "||", "{", "}", "[", "]", "(", ")", ",", ";", ":",
    "=", "<", ">", "+", "-", "*", "/", "%", "^", "!",
];

/// Splits a text; the last token is [`Kind::End`].
pub(super) fn split(text: &str) -> Result<Vec<Token<'_>>, Problem> {
    let mut tokens = Vec::new();
    let mut at = Place { line: 1, column: 1 };
    let mut rest = text;
    loop {
        let blank = blanks(rest);
        advance(&mut at, &rest[..blank]);
        rest = &rest[blank..];
        if rest.is_empty() {
            break;
        }
        let Ok((after, kind)) = token(rest) else {
            let found: String = rest
                .chars()
                .take(1)
                .flat_map(char::escape_default)
                .collect();
            return Err(Problem::new(
                at,
                format!("expected a name, a number or an operator, found `{found}`"),
            ));
        };
        tokens.push(Token { at, kind });
        advance(&mut at, &rest[..rest.len() - after.len()]);
        rest = after;
    }
    tokens.push(Token {
        at,
        kind: Kind::End,
    });
    Ok(tokens)
}

/// Returns how many bytes of blanks and comments a text begins with.
fn blanks(text: &str) -> usize {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if rest.starts_with('#') || rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else {
            return text.len() - rest.len();
        }
    }
}

fn advance(at: &mut Place, text: &str) {
    for c in text.chars() {
        if c == '\n' {
            at.line += 1;
            at.column = 1;
        } else {
            at.column += 1;
        }
    }
}

fn token(input: &str) -> IResult<&str, Kind<'_>> {
    alt((map(word, Kind::Word), map(number, Kind::Number), mark)).parse(input)
}

fn word(input: &str) -> IResult<&str, &str> {
    let first = satisfy(|c: char| c.is_alphabetic() || c == '_');
    recognize(pair(
        first,
        take_while(|c: char| c.is_alphanumeric() || c == '_'),
    ))
    .parse(input)
}

/// A number; `1..5` is the number 1 and a range.
fn number(input: &str) -> IResult<&str, f64> {
    let fraction = recognize((tag("."), digit1));
    let exponent = recognize((
        one_of("eE"),
        opt(one_of("+-")),
        take_while1(|c: char| c.is_ascii_digit()),
    ));
    map_res(
        recognize((digit1, opt(fraction), opt(exponent))),
        str::parse,
    )
    .parse(input)
}

fn mark(input: &str) -> IResult<&str, Kind<'_>> {
    match MARKS.into_iter().find(|mark| input.starts_with(mark)) {
        Some(mark) => Ok((&input[mark.len()..], Kind::Mark(mark))),
        None => Err(nom::Err::Error(nom::error::Error::new(
            input,
            nom::error::ErrorKind::OneOf,
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_know_their_places() {
        let tokens = split("a[1..2] -> # comment\n  3.5e-2; // end").unwrap();
        let shown: Vec<String> = tokens
            .iter()
            .map(|t| format!("{}:{} {}", t.at.line, t.at.column, t.kind.described()))
            .collect();
        assert_eq!(
            shown,
            [
                "1:1 `a`",
                "1:2 `[`",
                "1:3 `1`",
                "1:4 `..`",
                "1:6 `2`",
                "1:7 `]`",
                "1:9 `->`",
                "2:3 `0.035`",
                "2:9 `;`",
                "2:17 the end of the file"
            ]
        );
    }

    #[test]
    fn what_is_no_token_is_told_with_its_place() {
        let problem = split("a\n b ?").unwrap_err();
        assert_eq!((problem.at.line, problem.at.column), (2, 4));
        assert!(problem.message.contains("found `?`"), "{}", problem.message);
    }
}
