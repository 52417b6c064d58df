//! Dimemas' configuration of the machine.
//!
//! # Source
//!
//! `Simulator/input/new_configuration.c` of Dimemas 5.5.0. Its bandwidths are in units of 2^20 bytes a second, its start-up
//! times in seconds.

use foretrace_network::{Description, Dimemas, Growth, Limits, Nodes, Pair, PerByte, Wire};
use foretrace_schedule::SimTime;
use foretrace_trace::Error;

use super::{
    cursor::{Cursor, PICOS_PER_SECOND, picos},
    utf8,
};

/// A field of a record.
enum Field {
    Text(String),
    Number(f64),
}

/// A record's fields, with the place for errors.
struct Record<'a> {
    fields: Vec<Field>,
    at: Cursor<'a>,
}

impl Record<'_> {
    fn number(&self, index: usize) -> Result<f64, Error> {
        match self.fields.get(index) {
            Some(Field::Number(number)) => Ok(*number),
            _ => Err(self.at.error(
                format!("a number in field {}", index + 1),
                "write the record with all of its fields",
            )),
        }
    }

    fn count(&self, index: usize) -> Result<u32, Error> {
        #[expect(
            clippy::cast_sign_loss,
            reason = "numbers that were read are not negative"
        )]
        self.number(index).map(|number| number as u32)
    }

    /// Checks a number of nodes, or that of one.
    fn node(&self, number: u32) -> Result<u32, Error> {
        if number <= MOST_NODES {
            return Ok(number);
        }
        Err(self.at.error(
            format!("{MOST_NODES} nodes at most"),
            "leave out those that no task is mapped to",
        ))
    }
}

/// As many nodes as are told apart: as many as there may be tasks.
const MOST_NODES: u32 = 1 << 20;

/// Reads a configuration.
pub(super) fn import(bytes: &[u8], source: &str) -> Result<Description, Error> {
    let text = utf8(bytes, source)?;
    let mut network: Option<(PerByte, u32, Growth, u32)> = None;
    let mut node: Option<(Wire, Wire, f64)> = None;
    let mut speeds = Vec::new();
    let mut nodes = Nodes::default();
    let mut in_comment = false;
    for (number, line) in text.lines().enumerate() {
        in_comment |= line.contains("/*");
        let skipped = in_comment
            || line.trim_start().starts_with("//")
            || !line.trim_start().starts_with('"');
        in_comment &= !line.contains("*/");
        if skipped {
            continue;
        }
        let mut cursor = Cursor::new(source, number + 1, line);
        cursor.spaces();
        let (name, record) = record(&mut cursor)?;
        match name.as_str() {
            "environment information" => {
                let growth = match record.count(6)? {
                    2 => Growth::Linear,
                    3 => Growth::Logarithmic,
                    _ => Growth::Constant,
                };
                network = Some((
                    per_byte(record.number(4)?),
                    record.count(5)?,
                    growth,
                    record.count(3)?,
                ));
            }
            "multi node information" => {
                let found = node_of(&record, 4)?;
                let count = record.node(record.count(1)?)? as usize;
                record.node((speeds.len() + count).try_into().unwrap_or(u32::MAX))?;
                speeds.resize(speeds.len() + count, found.2);
                node.get_or_insert(found);
            }
            "node information" => {
                let found = node_of(&record, 4)?;
                speeds.push(found.2);
                node.get_or_insert(found);
            }
            "predefined mapping information" => {
                if let Some(Field::Text(text)) = record.fields.first() {
                    let per_node = text
                        .split_whitespace()
                        .next()
                        .and_then(|word| word.parse().ok());
                    nodes.ranks_per_node = per_node.unwrap_or(1);
                }
            }
            "mapping information" => mapping(&record, &mut nodes)?,
            _ => {}
        }
    }
    let missing = |what: &str| {
        Cursor::new(source, 1, "").error(format!("a record \"{what}\""), "write the whole file")
    };
    let (per_byte, buses, growth, _) = network.ok_or_else(|| missing("environment information"))?;
    let (mut between, within, _) = node.ok_or_else(|| missing("node information"))?;
    between.per_byte = per_byte;
    between.limits.buses = buses;
    nodes.speeds = speeds;
    let model = Dimemas {
        wires: Pair { between, within },
        rendezvous_above: None,
    };
    Ok(Description::of_dimemas(source, model, nodes, growth))
}

/// What a byte takes at so many units of 2^20 bytes a second; nothing where the speed is 0, which stands for no limit.
fn per_byte(speed: f64) -> PerByte {
    #[expect(
        clippy::cast_sign_loss,
        reason = "numbers that were read are not negative"
    )]
    let bytes = (speed * f64::from(1 << 20)).round() as u64;
    PerByte::new(1_000_000_000_000, bytes).unwrap_or(PerByte::ZERO)
}

/// Reads a node's fields, of which the speed stands first, at a place.
fn node_of(record: &Record<'_>, speed: usize) -> Result<(Wire, Wire, f64), Error> {
    let time = |index: usize| {
        let time = picos(record.number(index)?, PICOS_PER_SECOND);
        time.map(SimTime).ok_or_else(|| record.at.too_long())
    };
    let within = Wire {
        startup: time(speed + 1)?,
        per_byte: per_byte(record.number(speed + 2)?),
        limits: Limits::default(),
    };
    let between = Wire {
        startup: time(speed + 6)?,
        per_byte: PerByte::ZERO,
        limits: Limits {
            buses: 0,
            input_links: record.count(speed + 7)?,
            output_links: record.count(speed + 8)?,
        },
    };
    let ratio = record.number(speed)?;
    let ratio = if ratio > 0.0 { ratio } else { 1.0 };
    Ok((between, within, ratio))
}

/// Reads `"trace", number of tasks, [number] {node, ...}`.
fn mapping(record: &Record<'_>, nodes: &mut Nodes) -> Result<(), Error> {
    let numbers = record.fields.len();
    nodes.mapping = (3..numbers)
        .map(|index| record.node(record.count(index)?))
        .collect::<Result<_, _>>()?;
    Ok(())
}

/// Reads `"name" {fields};;`.
fn record<'a>(cursor: &mut Cursor<'a>) -> Result<(String, Record<'a>), Error> {
    let at = *cursor;
    let name = quoted(cursor)?;
    cursor.spaces();
    cursor.expect("{", "write the fields of the record in braces")?;
    let mut fields = Vec::new();
    loop {
        cursor.spaces();
        if cursor.has("}") {
            // A list within a record ends; the record itself ends with two semicolons.
            if cursor.has(";;") {
                break;
            }
        } else if cursor.has(",") || cursor.has("{") || cursor.has("[") || cursor.has("]") {
        } else if cursor.rest.starts_with('"') {
            fields.push(Field::Text(quoted(cursor)?));
        } else {
            fields.push(Field::Number(cursor.decimal("a field")?));
        }
    }
    Ok((name, Record { fields, at }))
}

fn quoted(cursor: &mut Cursor<'_>) -> Result<String, Error> {
    cursor.expect("\"", "write names in quotes")?;
    let Some(end) = cursor.rest.find('"') else {
        return Err(cursor.error("a closing quote", "write names in quotes"));
    };
    let text = cursor.rest[..end].to_owned();
    cursor.rest = &cursor.rest[end + 1..];
    Ok(text)
}
