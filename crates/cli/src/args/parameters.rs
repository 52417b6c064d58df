//! Values of models' parameters, and amounts of memory.

use std::str::FromStr;

/// A parameter of a model and the values that it is to have: `N=4`, `N=1..8`, `K=1..60+5`, `K=1..64x2`, `TP=1e-3,2e-3`.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterList {
    /// Its name.
    pub name: String,
    /// The values; at least one.
    pub values: Vec<f64>,
}

/// As many values as one parameter takes.
const MOST_VALUES: usize = 10_000;

impl FromStr for ParameterList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, list)) = text.split_once('=') else {
            return Err("expected NAME=VALUE, NAME=A..B or NAME=A,B,C".to_owned());
        };
        let mut values = Vec::new();
        for part in list.split(',') {
            push_values(part.trim(), &mut values)?;
        }
        if values.is_empty() || values.len() > MOST_VALUES {
            return Err(format!(
                "expected between 1 and {MOST_VALUES} values, found {}",
                values.len()
            ));
        }
        Ok(Self {
            name: name.trim().to_owned(),
            values,
        })
    }
}

fn push_values(part: &str, values: &mut Vec<f64>) -> Result<(), String> {
    let number = |text: &str| -> Result<f64, String> {
        let number: f64 = text
            .trim()
            .parse()
            .map_err(|_| format!("`{text}` is not a number"))?;
        if number.is_finite() {
            Ok(number)
        } else {
            Err(format!("`{text}` is not a finite number"))
        }
    };
    let Some((first, rest)) = part.split_once("..") else {
        values.push(number(part)?);
        return Ok(());
    };
    let first = number(first)?;
    // An exponent's sign, as in 1..1e+3, is no step.
    let step = rest
        .rfind('+')
        .filter(|at| !rest[..*at].ends_with(['e', 'E']));
    let (last, times, plus) = match (rest.split_once('x'), step) {
        (Some((last, factor)), _) => (number(last)?, number(factor)?, 0.0),
        (None, Some(at)) => (number(&rest[..at])?, 1.0, number(&rest[at + 1..])?),
        (None, None) => (number(rest)?, 1.0, 1.0),
    };
    if first > last {
        return Err(format!("the range {part} is empty"));
    }
    if plus <= 0.0 && (times <= 1.0 || first <= 0.0) {
        return Err(format!("the range {part} does not get to its end"));
    }
    // A step may miss the end by rounding.
    let end = last + 1e-9 * last.abs().max(plus);
    let mut count = 0;
    let mut value = first;
    while value <= end {
        values.push(value);
        if values.len() > MOST_VALUES {
            return Err(format!("more than {MOST_VALUES} values in {part}"));
        }
        count += 1;
        value = first * times.powi(count) + plus * f64::from(count);
    }
    Ok(())
}

/// A number of bytes: `500M`, `2GiB`, `1.5e9`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size(pub f64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected a number of bytes, as in 500M, 2GiB or 1.5e9";
        let units = [("K", 1), ("M", 2), ("G", 3), ("T", 4)];
        let upper = text.trim().to_ascii_uppercase();
        let number = upper.trim_end_matches('B');
        let (digits, base) = match number.strip_suffix('I') {
            Some(digits) => (digits, 1024.0),
            None => (number, 1000.0),
        };
        let unit = units.iter().find(|(unit, _)| digits.ends_with(unit));
        let (digits, factor) = match unit {
            Some((_, power)) => (&digits[..digits.len() - 1], f64::powi(base, *power)),
            None => (digits, 1.0),
        };
        match digits.trim().parse::<f64>() {
            Ok(number) if number > 0.0 && number.is_finite() => Ok(Self(number * factor)),
            _ => Err(EXPECTED.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_take_numbers_ranges_and_lists() {
        let values = |text: &str| text.parse().map(|list: ParameterList| list.values);
        assert_eq!(values("N=4"), Ok(vec![4.0]));
        assert_eq!(values("N=1..3,9"), Ok(vec![1.0, 2.0, 3.0, 9.0]));
        assert_eq!(values("N=1..9x2"), Ok(vec![1.0, 2.0, 4.0, 8.0]));
        assert_eq!(values("N=0..20+10"), Ok(vec![0.0, 10.0, 20.0]));
        assert_eq!(values("TT=1e-4"), Ok(vec![1e-4]));
        assert_eq!(values("K=1..1e+1+3").map(|v| v.len()), Ok(4));
        for text in [
            "N", "N=", "N=a", "N=3..1", "N=1..9x1", "N=nan", "N=0..9x2", "N=1..1e9",
        ] {
            assert!(values(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_have_units() {
        let bytes = |text: &str| text.parse().map(|size: Size| size.0);
        assert_eq!(bytes("2GiB"), Ok(2_147_483_648.0));
        assert_eq!(bytes("500M"), Ok(5e8));
        assert_eq!(bytes("1.5e9"), Ok(1.5e9));
        assert!(bytes("-1G").is_err() && bytes("much").is_err());
    }
}
