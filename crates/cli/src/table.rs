//! Tables for terminals.

use comfy_table::{Cell, CellAlignment, Table};

use crate::output;

/// How a column's cells are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Stands where nothing is known.
const UNKNOWN: &str = "-";

/// Returns what stands where nothing is known.
pub fn unknown() -> String {
    UNKNOWN.to_owned()
}

/// Lays out rows under a header: aligned columns, two spaces apart, without lines. A column of text in which nothing is known is left
/// out.
pub fn render<const N: usize>(
    columns: [(&str, Align); N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let rows: Vec<[String; N]> = rows.into_iter().collect();
    let is_known = |column: usize| {
        let is_text = columns[column].1 == Align::Left;
        !is_text || rows.is_empty() || rows.iter().any(|row| row[column] != UNKNOWN)
    };
    let known: [bool; N] = std::array::from_fn(is_known);
    let cells = |texts: [String; N]| {
        texts
            .into_iter()
            .zip(columns)
            .zip(known)
            .filter(|(_, is_known)| *is_known)
            .map(|((text, (_, align)), _)| {
                // A row is a line, whatever names hold.
                let text = output::harmless(&text).replace('\n', "\\n");
                Cell::new(text).set_alignment(match align {
                    Align::Left => CellAlignment::Left,
                    Align::Right => CellAlignment::Right,
                })
            })
            .collect::<Vec<_>>()
    };
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(cells(columns.map(|(name, _)| name.to_owned())));
    for row in rows {
        table.add_row(cells(row));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let mut text = table.trim_fmt();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_end_without_spaces() {
        let text = render(
            [("name", Align::Left), ("count", Align::Right)],
            [
                ["a".to_owned(), "1".to_owned()],
                ["longer".to_owned(), "1000".to_owned()],
            ],
        );
        assert_eq!(text, "name    count\na           1\nlonger   1000\n");
    }

    #[test]
    fn columns_of_text_in_which_nothing_is_known_are_left_out() {
        let columns = [
            ("name", Align::Left),
            ("source", Align::Left),
            ("line", Align::Left),
            ("time", Align::Right),
        ];
        let row = |name: &str, line: &str| [name, UNKNOWN, line, UNKNOWN].map(str::to_owned);
        let text = render(columns, [row("a", UNKNOWN), row("b", "7")]);
        assert_eq!(
            text,
            "name  line  time\na     -        -\nb     7        -\n"
        );
        assert_eq!(render(columns, []), "name  source  line  time\n");
    }
}
