//! Lists in files, which stand only where they are meant to: serde takes one for any table, its values for that one's keys in order.

use toml::de::{DeTable, DeValue};

use crate::Fault;

/// Checks that a file, which was read without a fault, has lists only under these keys: `cpus.speeds`, or `thread` for `[[thread]]`.
///
/// # Errors
///
/// Names the first list that stands elsewhere.
pub fn check_lists(text: &str, lists: &[&str]) -> Result<(), Fault> {
    let table = DeTable::parse(text).map_err(Fault::from)?;
    check_table(table.get_ref(), "", lists)
}

fn check_table(table: &DeTable<'_>, path: &str, lists: &[&str]) -> Result<(), Fault> {
    for (key, value) in table {
        let path = if path.is_empty() {
            key.get_ref().to_string()
        } else {
            format!("{path}.{}", key.get_ref())
        };
        match value.get_ref() {
            DeValue::Table(inner) => check_table(inner, &path, lists)?,
            DeValue::Array(elements) if lists.contains(&path.as_str()) => {
                for element in elements {
                    match element.get_ref() {
                        DeValue::Table(inner) => check_table(inner, &path, lists)?,
                        DeValue::Array(_) => {
                            let message = format!(
                                "a list within the list `{path}`; write [[{path}]], and its keys below"
                            );
                            return Err(Fault::new(element.span().start, message));
                        }
                        _ => {}
                    }
                }
            }
            DeValue::Array(_) => {
                let message = format!("`{path}` is no list; write [{path}], and its keys below");
                return Err(Fault::new(value.span().start, message));
            }
            _ => {}
        }
    }
    Ok(())
}
