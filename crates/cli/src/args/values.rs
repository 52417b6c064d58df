//! Values of options that need parsing of their own.

use std::str::FromStr;

use foretrace_trace::Nanos;

/// As many CPUs as a prediction may be asked for.
pub const MOST_CPUS: u32 = 65_536;

/// As many workers as a prediction may be asked for.
const MOST_WORKERS: u32 = 4_096;

/// As many predictions as one command makes.
const MOST_COUNTS: usize = 1_024;

/// Numbers of CPUs, increasing, each once: `1,2,4`, `1..16` (every count), `1..64x2` (doubling).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(pub Vec<u32>);

/// A number of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// So many.
    Count(u32),
    /// As many as there are CPUs.
    Cpus,
}

impl Workers {
    /// Returns how many they are on so many CPUs.
    pub fn on(self, cpus: u32) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::Cpus => cpus,
        }
    }
}

impl FromStr for Workers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "cpus" => Ok(Self::Cpus),
            Ok(count) if (1..=MOST_WORKERS).contains(&count) => Ok(Self::Count(count)),
            _ => Err(format!(
                "expected a number from 1 to {MOST_WORKERS}, or cpus"
            )),
        }
    }
}

impl CpuList {
    /// Returns the counts from 1 to `last`.
    pub fn up_to(last: u32) -> Self {
        Self((1..=last).collect())
    }
}

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut counts = Vec::new();
        for part in text.split(',') {
            push_part(part.trim(), &mut counts)?;
            if counts.len() > MOST_COUNTS {
                return Err(format!(
                    "more than {MOST_COUNTS} counts; step faster, as in 1..{MOST_CPUS}x2"
                ));
            }
        }
        counts.sort_unstable();
        counts.dedup();
        Ok(Self(counts))
    }
}

fn push_part(part: &str, counts: &mut Vec<u32>) -> Result<(), String> {
    let Some((first, rest)) = part.split_once("..") else {
        counts.push(parse_count(part)?);
        return Ok(());
    };
    let (last, factor) = match rest.split_once('x') {
        Some((last, factor)) => (last, Some(parse_count(factor)?)),
        None => (rest, None),
    };
    let (first, last) = (parse_count(first)?, parse_count(last)?);
    if first > last {
        return Err(format!("the range {part} is empty; write {last}..{first}"));
    }
    match factor {
        Some(1) => {
            return Err(format!(
                "a range cannot step by a factor of 1, as in {part}"
            ));
        }
        Some(factor) => counts.extend(
            std::iter::successors(Some(first), |count| count.checked_mul(factor))
                .take_while(|count| *count <= last),
        ),
        // One more than allowed is enough to tell that it is too many.
        None => counts.extend((first..=last).take(MOST_COUNTS + 1)),
    }
    Ok(())
}

/// Reads one number of CPUs.
pub fn one_count(text: &str) -> Result<u32, String> {
    if text.contains([',', '.']) && text.parse::<CpuList>().is_ok() {
        return Err("one number of CPUs is asked for here; write for instance 8".to_owned());
    }
    read_count(text, "8")
}

fn parse_count(text: &str) -> Result<u32, String> {
    read_count(text, "1,2,4 or 1..16 or 1..64x2")
}

fn read_count(text: &str, example: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(count @ 1..=MOST_CPUS) => Ok(count),
        Ok(_) => Err(format!("{text} is not from 1 to {MOST_CPUS}")),
        Err(_) => Err(format!(
            "`{text}` is not a number of CPUs; write for instance {example}"
        )),
    }
}

/// Reads a share in percent, of any size.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    let possible = number.filter(|number| number.is_finite() && *number >= 0.0);
    possible
        .ok_or_else(|| format!("`{text}` is no share; write a number of percent, for instance 8"))
}

/// Seeds, each once: `7`, `1..20`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(pub Vec<u64>);

/// As many seeds as can be asked for at once.
const MOST_SEEDS: usize = 10_000;

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let number = text.trim().parse::<u64>();
            number.map_err(|_| format!("`{text}` is not a seed; write for instance 7 or 1..20"))
        };
        let mut seeds = Vec::new();
        for part in text.split(',') {
            match part.split_once("..") {
                Some((first, last)) => {
                    let (first, last) = (number(first)?, number(last)?);
                    if first > last {
                        return Err(format!("{part} is empty; write for instance 7 or 1..20"));
                    }
                    // One more than allowed is enough to tell that it is too many.
                    seeds.extend((first..=last).take(MOST_SEEDS + 1));
                }
                None => seeds.push(number(part)?),
            }
            if seeds.len() > MOST_SEEDS {
                return Err(format!("more than {MOST_SEEDS} seeds"));
            }
        }
        seeds.sort_unstable();
        seeds.dedup();
        Ok(Self(seeds))
    }
}

/// What differs between the recordings of a series: `cpus=1,2,4,8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Each(pub CpuList);

/// As many CPUs as a program can be made to believe in.
pub const MOST_PRETENDED: u32 = 8192;

impl FromStr for Each {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let values = match text.split_once('=') {
            Some(("cpus", values)) => values,
            Some((name, _)) => {
                return Err(format!(
                    "`{name}` is nothing that can differ between recordings; write cpus=1,2,4,8"
                ));
            }
            None => return Err("write what differs, as in cpus=1,2,4,8".to_owned()),
        };
        let list: CpuList = values.parse()?;
        if list.0.iter().any(|&cpus| cpus > MOST_PRETENDED) {
            return Err(format!(
                "a program cannot be made to believe in more than {MOST_PRETENDED} CPUs"
            ));
        }
        Ok(Self(list))
    }
}

/// A scheduler slice, or none to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice(pub Option<Nanos>);

impl FromStr for Slice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self(None));
        }
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let factor: u64 = match unit {
            "ns" => 1,
            "us" | "µs" => 1_000,
            "ms" => 1_000_000,
            _ => return Err("write a time with its unit, as in 100us or 3ms, or off".to_owned()),
        };
        let nanos = number
            .parse()
            .ok()
            .and_then(|number: u64| number.checked_mul(factor))
            .ok_or("write a time with its unit, as in 100us or 3ms, or off")?;
        // The kernel would silently take the nearest of these bounds.
        if (100_000..=100_000_000).contains(&nanos) {
            Ok(Self(Some(Nanos(nanos))))
        } else {
            Err("the kernel takes slices from 100us to 100ms".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Result<Vec<u32>, String> {
        text.parse().map(|list: CpuList| list.0)
    }

    #[test]
    fn a_series_differs_in_its_numbers_of_cpus() {
        assert_eq!("cpus=1,4".parse(), Ok(Each(CpuList(vec![1, 4]))));
        for text in [
            "1,2",
            "threads=1,2",
            "cpus=",
            "cpus=0",
            "cpus=1..9000x3,9000",
        ] {
            assert!(text.parse::<Each>().is_err(), "{text}");
        }
    }

    #[test]
    fn lists_and_ranges_give_increasing_counts() {
        assert_eq!(counts("4"), Ok(vec![4]));
        assert_eq!(counts("4, 1,2,4"), Ok(vec![1, 2, 4]));
        assert_eq!(counts("1..3,8"), Ok(vec![1, 2, 3, 8]));
        assert_eq!(counts("1,2,4..6"), Ok(vec![1, 2, 4, 5, 6]));
        assert_eq!(counts("1,4..64x2"), Ok(vec![1, 4, 8, 16, 32, 64]));
        assert_eq!(counts("3..50x4"), Ok(vec![3, 12, 48]));
    }

    #[test]
    fn senseless_lists_are_refused() {
        for text in [
            "", "0", "a", "1,,2", "4..2", "1..", "1..8x1", "1..8x", "70000", "1..9999",
        ] {
            assert!(counts(text).is_err(), "{text}");
        }
    }

    #[test]
    fn slices_carry_a_unit_and_lie_within_the_kernels_bounds() {
        assert_eq!("100us".parse(), Ok(Slice(Some(Nanos(100_000)))));
        assert_eq!("3ms".parse(), Ok(Slice(Some(Nanos(3_000_000)))));
        assert_eq!("off".parse(), Ok(Slice(None)));
        for text in [
            "",
            "100",
            "us",
            "99us",
            "1s",
            "101ms",
            "99999999999999999999ms",
        ] {
            assert!(text.parse::<Slice>().is_err(), "{text}");
        }
    }
}
