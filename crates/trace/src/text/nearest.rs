//! Finds the known name that was probably meant.

/// Returns the known name that differs from `word` in the fewest letters, where it is near enough to be meant.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody mistypes a name this long, and the comparison takes time by length squared.
    const LONGEST: usize = 64;
    let length = word.chars().take(LONGEST + 1).count();
    if length > LONGEST {
        return None;
    }
    known
        .into_iter()
        .filter(|name| name.len() <= 4 * LONGEST)
        .map(|name| (distance(word, name), name))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, _)| distance <= 1 + length / 3)
        .map(|(_, name)| name)
}

/// Returns ` (did you mean NAME?)`, or nothing.
pub(super) fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

/// Counts the letters to insert, delete or replace (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_is_recognized_and_another_word_is_not() {
        let known = ["lock", "unlock", "cond_wait"];
        assert_eq!(nearest("lokc", known), Some("lock"));
        assert_eq!(nearest("condwait", known), Some("cond_wait"));
        assert_eq!(nearest("recv", known), None);
    }
}
