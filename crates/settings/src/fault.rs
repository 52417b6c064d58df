//! What is wrong in a file, and where.

/// A place in a file's text, in bytes, and what is wrong there.
#[derive(Debug)]
pub struct Fault {
    /// Where, in bytes from the beginning.
    pub at: usize,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Fault {
    /// Makes one.
    pub fn new(at: usize, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
        }
    }

    /// Returns the line of the place in the file's text, from 1.
    pub fn line_in(&self, text: &str) -> usize {
        let before = &text.as_bytes()[..self.at.min(text.len())];
        1 + before.split(|byte| *byte == b'\n').skip(1).count()
    }
}

impl From<toml::de::Error> for Fault {
    fn from(error: toml::de::Error) -> Self {
        let at = error.span().map_or(0, |span| span.start);
        Self::new(at, nearest_named(error.message()))
    }
}

/// Names the nearest key or value where an unknown one is complained of, as serde does: with the known ones in quotes
/// behind it.
fn nearest_named(message: &str) -> String {
    let what = if message.starts_with("unknown field") {
        "is not a key here"
    } else if message.starts_with("unknown variant") {
        "is not known here"
    } else {
        let message = message.replace('\n', " ");
        let remedy = if message.ends_with("expected a string") {
            "; write it in quotes, and times with their unit, as in \"15us\""
        } else {
            ""
        };
        return format!("{}{remedy}", message.trim_end());
    };
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted.next().unwrap_or_default();
    let known: Vec<&str> = quoted.collect();
    let near = nearest(unknown, known.iter().copied());
    let hint = match near {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("known are {}", known.join(", ")),
    };
    format!("`{unknown}` {what}; {hint}")
}

/// Returns the one of the known names that was probably meant, where one is near enough.
pub fn nearest<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|name| (distance(unknown, name), name))
        .min()
        .filter(|(distance, name)| *distance <= name.len().div_ceil(2))
        .map(|(_, name)| name)
}

/// Returns how many letters must be put in, left out or changed to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
