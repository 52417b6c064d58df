//! Text for pictures: how wide it is, how to shorten it, how to write it into XML.

use std::{
    borrow::Cow,
    fmt::{self, Write},
};

/// Returns about how wide a text is, in multiples of the size of the font.
///
/// A picture does not know the font it will be shown in. The widths are those of a wide sans-serif face (`DejaVu Sans`),
/// so that what fits here fits in any usual one.
pub fn width_in_em(text: &str) -> f64 {
    text.chars().map(char_width).sum()
}

/// Returns about how wide a text is in a font of a size, in the size's unit.
pub fn width(text: &str, size: f64) -> f64 {
    width_in_em(text) * size
}

/// The width of a character in a wide sans-serif face.
fn char_width(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '\'' => 0.3,
        '.' | ',' | ' ' | ':' | ';' | '|' => 0.34,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' | '!' => 0.41,
        'm' | 'M' | 'W' | '@' | '%' => 0.99,
        'w' | '+' | '<' | '>' | '=' | '~' | '#' | 'G' | 'O' | 'Q' | 'N' | 'D' | 'H' | 'U' => 0.84,
        'A'..='Z' => 0.7,
        '\u{0}'..='\u{24f}' => 0.64,
        // Emoji, Chinese, Japanese and Korean characters are square; of other scripts too much is better than too little.
        _ => 1.0,
    }
}

/// Returns the text where it fits, else its begin and end around an ellipsis, for names differ at either;
/// nothing where not even that says anything.
///
/// Looks at no more of the text than fits, however long a stranger made it.
pub fn fit(text: &str, size: f64, space: f64) -> Option<Cow<'_, str>> {
    const LEAST_KEPT: usize = 5;
    let mut left = space / size;
    if text.chars().all(|c| {
        left -= char_width(c);
        left >= 0.0
    }) {
        return Some(Cow::Borrowed(text));
    }
    let mut left = space / size - char_width('…');
    let (mut front, mut back) = (String::new(), Vec::new());
    let mut rest = text.chars();
    loop {
        let take_front = front.chars().count() <= back.len();
        let next = if take_front {
            rest.next()
        } else {
            rest.next_back()
        };
        let Some(next) = next else { break };
        left -= char_width(next);
        if left < 0.0 {
            break;
        }
        if take_front {
            front.push(next);
        } else {
            back.push(next);
        }
    }
    if front.chars().count() + back.len() < LEAST_KEPT {
        return None;
    }
    front.push('…');
    front.extend(back.iter().rev());
    Some(Cow::Owned(front))
}

/// Returns the text as it may stand in XML, between tags or in an attribute.
///
/// Thread names come from strangers: characters that XML 1.0 cannot hold at all become U+FFFD.
pub fn escape(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| !matches!(c, '&' | '<' | '>' | '"' | '\'') && is_allowed(c);
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if is_allowed(c) => escaped.push(c),
            _ => escaped.push('\u{fffd}'),
        }
    }
    Cow::Owned(escaped)
}

/// Tells whether a character may stand in XML 1.0; line breaks may, yet are of no use in a name.
fn is_allowed(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// Returns a number of pixels in hundredths of a pixel, which is as finely as pictures are written.
pub fn hundredths(pixels: f64) -> i64 {
    (pixels * 100.0).round() as i64
}

/// A number of pixels as SVG writes it: two decimals at most, and no more characters than it needs.
pub struct Px(pub f64);

impl fmt::Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hundredths(hundredths(self.0)).fmt(f)
    }
}

/// A number of hundredths of a pixel, written in pixels like [`Px`].
pub struct Hundredths(pub i64);

impl fmt::Display for Hundredths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            f.write_char('-')?;
        }
        let (whole, rest) = (self.0.unsigned_abs() / 100, self.0.unsigned_abs() % 100);
        if whole > 0 || rest == 0 {
            write!(f, "{whole}")?;
        }
        match rest {
            0 => Ok(()),
            rest if rest % 10 == 0 => write!(f, ".{}", rest / 10),
            rest => write!(f, ".{rest:02}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        assert_eq!(escape("a<b> & \"c'"), "a&lt;b&gt; &amp; &quot;c&#39;");
        assert_eq!(
            escape("bell\u{7}\n\u{ffff}"),
            "bell\u{fffd}\u{fffd}\u{fffd}"
        );
        assert!(matches!(escape("plain äöü 線"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_long_name_keeps_its_begin_and_its_end() {
        let short = fit("worker thread number 17", 10.0, 90.0).unwrap();
        assert!(
            short.starts_with("wor") && short.ends_with("r 17"),
            "{short}"
        );
        assert_eq!(fit("m", 10.0, 11.0).unwrap(), "m");
        assert_eq!(fit("mutex", 10.0, 20.0), None);
    }

    #[test]
    fn pixels_are_written_short() {
        let written = [0.0, 12.0, 3.241_59, 2.5, -0.25, -0.001, 7.05].map(|v| Px(v).to_string());
        assert_eq!(written, ["0", "12", "3.24", "2.5", "-.25", "0", "7.05"]);
    }

    proptest! {
        #[test]
        fn what_fits_is_no_wider_than_the_space(text in "\\PC{0,40}", space in 0.0..300.0_f64) {
            if let Some(fitted) = fit(&text, 11.0, space) {
                prop_assert!(width(&fitted, 11.0) <= space + 1e-9);
            }
        }
    }
}
