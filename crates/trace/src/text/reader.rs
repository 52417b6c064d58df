//! Reads text traces, line by line.

use super::{
    header::Header,
    lex::{self, Token, excerpt},
    problem::Problem,
    rows::row,
    tables::Tables,
    words::Words,
};
use crate::{Error, Trace, oddities, validate};

/// The first word of a text trace.
pub(super) const FORMAT: &str = "foretrace-text";

/// The version that is written, and the newest that is read.
pub(super) const VERSION: u32 = 1;

pub(super) fn parse(text: &str, source: &str) -> Result<Trace, Error> {
    // Some editors put a byte order mark before UTF-8.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .enumerate()
        .map(|(index, line)| (index + 1, line));
    let first = lines.next().map_or("", |(_, line)| line);
    first_line(first, text, source)?;
    let mut reader = Reader::default();
    let mut tokens = Vec::new();
    for (number, line) in lines {
        lex::split(line, &mut tokens)
            .and_then(|()| reader.line(&tokens, line, number))
            .map_err(|problem| problem.into_error(source, number, line))?;
    }
    reader.finish(source)
}

/// Checks that the text is a text trace of a known version.
fn first_line(line: &str, text: &str, source: &str) -> Result<(), Error> {
    let path = source.to_owned();
    if text.trim().is_empty() {
        return Err(Error::Empty { path });
    }
    let mut tokens = Vec::new();
    let split = lex::split(line, &mut tokens);
    let (name, version) = (tokens.first(), tokens.get(1));
    if split.is_err() || name.is_none_or(|name| name.text != FORMAT) {
        return Err(Error::Foreign {
            path,
            found: format!("text whose first line is `{}`", excerpt(line)),
            remedy: format!("the first line of a text trace must be `{FORMAT} {VERSION}`"),
        });
    }
    match version.map(|version| version.text.parse::<u32>()) {
        Some(Ok(VERSION)) if tokens.len() == 2 => Ok(()),
        Some(Ok(found)) if found > VERSION => Err(Error::NewerVersion {
            path,
            found,
            known: VERSION,
        }),
        _ => {
            let wrong = tokens.get(if tokens.len() > 2 { 2 } else { 1 });
            let offset = wrong.map_or(line.len(), |token| token.offset);
            let expected = format!("`{FORMAT} {VERSION}`, and no more, in the first line");
            let found = wrong.map_or("the end of the line".to_owned(), |token| {
                format!("`{}`", token.text)
            });
            let problem = Problem::new(offset, expected, found, "correct the first line");
            Err(problem.into_error(source, 1, line))
        }
    }
}

#[derive(Default)]
struct Reader {
    header: Header,
    tables: Tables,
    /// The line of each event.
    rows: Vec<u32>,
}

impl Reader {
    fn line(&mut self, tokens: &[Token<'_>], line: &str, number: usize) -> Result<(), Problem> {
        let mut words = Words::new(tokens, line);
        if tokens.is_empty() {
            return Ok(());
        }
        let first = words.required("a time, or the first word of a header line")?;
        if !first
            .text
            .starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        {
            if let Some(row) = self.rows.first() {
                let expected =
                    format!("a row that starts with a time, below the first row (line {row})");
                return Err(first.not(expected, "move header lines above the first row"));
            }
            return self
                .header
                .line(first, &mut words, &mut self.tables, number);
        }
        if self.rows.is_empty() {
            self.tables.end_header();
        }
        let event = row(
            first,
            &mut words,
            &mut self.tables,
            self.header.unit,
            number,
        )?;
        self.tables.trace.events.push(event);
        self.rows.push(number as u32);
        Ok(())
    }

    fn finish(mut self, source: &str) -> Result<Trace, Error> {
        let mut trace = self.tables.finish();
        source.clone_into(&mut trace.source);
        if trace.events.is_empty() {
            return Err(Error::NoEvents {
                path: source.to_owned(),
            });
        }
        let line =
            |event: usize| format!("line {}", self.rows.get(event).copied().unwrap_or_default());
        validate::tables(&trace)
            .and_then(|()| validate::events(&trace))
            .map_err(|violation| violation.into_error(source, line))?;
        // The file is named because the warning stays with the trace when it is written to another.
        let file = source.rsplit('/').next().unwrap_or(source).to_owned();
        oddities::warn(&mut trace, |event| format!("{} of {file}", line(event)));
        Ok(trace)
    }
}
