//! `GRID.toml` as it is written: its tables and keys, which `docs/masterslave.md` explains.

use std::{fmt, path::Path};

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};
use toml::Spanned;

use crate::{
    error::Fault,
    quantity::{Course, Distribution, Quantity},
};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub size: Option<Spanned<Written>>,
    pub nonlocal: Option<Spanned<NetworkTable>>,
    #[serde(default)]
    pub cluster: Vec<Spanned<ClusterTable>>,
    #[serde(default)]
    pub network: Vec<Spanned<ClusterTable>>,
    #[serde(default)]
    pub processor: Vec<Spanned<ProcessorTable>>,
}

/// `[nonlocal]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NetworkTable {
    pub bandwidth: Spanned<Written>,
    pub joins: Option<Vec<Spanned<String>>>,
}

/// `[[cluster]]` and `[[network]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClusterTable {
    pub name: Spanned<String>,
    pub bandwidth: Spanned<Written>,
    #[serde(default)]
    pub joins: Vec<Spanned<String>>,
}

/// `[[processor]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProcessorTable {
    pub name: Spanned<String>,
    pub cluster: Spanned<String>,
    pub avail: Option<Spanned<Written>>,
    pub t_slave: Spanned<Written>,
    pub t_master: Spanned<Written>,
}

/// A quantity as it is written: a number or a table.
#[derive(Debug)]
pub(crate) enum Written {
    Number(f64),
    Table(Box<QuantityTable>),
}

/// `{ distribution = "normal", mean = 1.0, sd = 0.1 }`, `{ trace = "load.csv", column = "p0" }`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuantityTable {
    distribution: Option<String>,
    mean: Option<f64>,
    sd: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    values: Option<Vec<f64>>,
    file: Option<String>,
    trace: Option<String>,
    column: Option<String>,
    repeat: Option<f64>,
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WrittenVisitor)
    }
}

struct WrittenVisitor;

impl<'de> Visitor<'de> for WrittenVisitor {
    type Value = Written;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or a table with `distribution` or `trace`")
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Written, E> {
        Ok(Written::Number(number))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Written, E> {
        Ok(Written::Number(number as f64))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Written, E> {
        Ok(Written::Number(number as f64))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Written, A::Error> {
        let table = QuantityTable::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Written::Table(Box::new(table)))
    }
}

/// Makes a quantity of what is written; `key` names it, and files are looked for in `directory`.
pub(crate) fn quantity(
    written: &Spanned<Written>,
    key: &str,
    directory: &Path,
) -> Result<Quantity, Fault> {
    let fault = |message: String| Fault::new(written.span().start, format!("{key}: {message}"));
    match written.as_ref() {
        Written::Number(number) => positive("a positive number", *number)
            .map(Quantity::Number)
            .map_err(fault),
        Written::Table(table) => table.quantity(directory).map_err(fault),
    }
}

fn positive(expected: &str, number: f64) -> Result<f64, String> {
    if number > 0.0 && number.is_finite() {
        Ok(number)
    } else {
        Err(format!("expected {expected}, found {number}"))
    }
}

impl QuantityTable {
    fn quantity(&self, directory: &Path) -> Result<Quantity, String> {
        match (&self.distribution, &self.trace) {
            (Some(name), None) => self.distribution(name, directory).map(Quantity::Drawn),
            (None, Some(file)) => self.course(&directory.join(file)).map(Quantity::Course),
            _ => Err("expected either `distribution` or `trace` in the table".to_owned()),
        }
    }

    fn distribution(&self, name: &str, directory: &Path) -> Result<Distribution, String> {
        let need = |key: &str, value: Option<f64>| {
            let value =
                value.ok_or_else(|| format!("the distribution {name} needs the key `{key}`"))?;
            positive(&format!("a positive number for `{key}`"), value)
        };
        match name {
            "normal" => Ok(Distribution::Normal {
                mean: need("mean", self.mean)?,
                sd: need("sd", self.sd)?,
            }),
            "exponential" => Ok(Distribution::Exponential {
                mean: need("mean", self.mean)?,
            }),
            "uniform" => {
                let (low, high) = (need("low", self.low)?, need("high", self.high)?);
                if low > high {
                    return Err(format!("expected low <= high, found {low} and {high}"));
                }
                Ok(Distribution::Uniform { low, high })
            }
            "lognormal" => Ok(Distribution::Lognormal {
                mean: need("mean", self.mean)?,
                sd: need("sd", self.sd)?,
            }),
            "empirical" => {
                let values = match (&self.values, &self.file) {
                    (Some(values), None) => values.clone(),
                    (None, Some(file)) => {
                        let (names, columns) = read_columns(&directory.join(file))?;
                        pick(&names, columns, self.column.as_deref(), 0)?
                    }
                    _ => {
                        return Err(
                            "the distribution empirical needs either `values` or `file`".to_owned()
                        );
                    }
                };
                if values.is_empty() {
                    return Err("the distribution empirical needs at least one value".to_owned());
                }
                for value in &values {
                    positive("positive values only", *value)?;
                }
                Ok(Distribution::Empirical(values))
            }
            other => Err(format!(
                "there is no distribution `{other}`; there are normal, exponential, uniform, lognormal and empirical"
            )),
        }
    }

    fn course(&self, path: &Path) -> Result<Course, String> {
        let shown = path.display();
        let (names, columns) = read_columns(path)?;
        let times = columns.first().cloned().unwrap_or_default();
        let values = pick(&names, columns, self.column.as_deref(), 1)?;
        if times.first() != Some(&0.0) {
            return Err(format!("{shown}: expected the first time to be 0"));
        }
        if let Some(two) = times
            .windows(2)
            .position(|two| two[0] >= two[1] || two[1].is_nan())
        {
            // The head is line 1.
            return Err(format!(
                "{shown}, line {}: expected a later time than in the line before",
                two + 3
            ));
        }
        if let Some(row) = values
            .iter()
            .position(|value| !(*value >= 0.0 && value.is_finite()))
        {
            return Err(format!(
                "{shown}, line {}: expected a number from 0 on",
                row + 2
            ));
        }
        let last = times.last().copied().unwrap_or(0.0);
        if self
            .repeat
            .is_some_and(|period| period <= last || !period.is_finite())
        {
            return Err(format!(
                "{shown}: expected `repeat` to be later than the last time, {last}"
            ));
        }
        let ends_at_zero = self.repeat.is_none() && values.last() == Some(&0.0);
        if ends_at_zero || values.iter().all(|value| *value == 0.0) {
            return Err(format!(
                "{shown}: what comes last is 0 for ever, so that nothing would end; add `repeat = SECONDS`"
            ));
        }
        Ok(Course {
            times,
            values,
            period: self.repeat,
        })
    }
}

/// Reads a file of comma-separated numbers with a head.
fn read_columns(path: &Path) -> Result<(Vec<String>, Vec<Vec<f64>>), String> {
    let shown = path.display();
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_path(path)
        .map_err(|error| format!("cannot read {shown}: {error}"))?;
    let names: Vec<String> = reader
        .headers()
        .map_err(|error| format!("cannot read {shown}: {error}"))?
        .iter()
        .map(str::to_owned)
        .collect();
    let mut columns = vec![Vec::new(); names.len()];
    for record in reader.records() {
        let record = record.map_err(|error| format!("{shown}: {error}"))?;
        let line = record.position().map_or(0, csv::Position::line);
        for (column, field) in columns.iter_mut().zip(&record) {
            let number = field
                .parse()
                .map_err(|_| format!("{shown}, line {line}: expected a number, found `{field}`"))?;
            column.push(number);
        }
    }
    if columns.first().is_none_or(Vec::is_empty) {
        return Err(format!(
            "{shown}: expected a line of names and lines of numbers, found none"
        ));
    }
    Ok((names, columns))
}

/// Picks a column by name, or by position where there is no name.
fn pick(
    names: &[String],
    mut columns: Vec<Vec<f64>>,
    name: Option<&str>,
    otherwise: usize,
) -> Result<Vec<f64>, String> {
    let position = match name {
        Some(name) => names.iter().position(|known| known == name),
        None => (otherwise < names.len()).then_some(otherwise),
    };
    position
        .map(|position| columns.swap_remove(position))
        .ok_or_else(|| {
            format!(
                "there is no column `{}`; there are {}",
                name.unwrap_or("value"),
                names.join(", ")
            )
        })
}
