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

/// Lays out rows under a header: aligned columns, two spaces apart, without lines.
pub fn render<const N: usize>(
    columns: [(&str, Align); N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let cells = |texts: [String; N]| {
        texts
            .into_iter()
            .zip(columns)
            .map(|(text, (_, align))| {
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
}
