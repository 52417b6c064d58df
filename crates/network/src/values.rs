//! Values as they stand in the file, each of which knows what is possible.

use foretrace_schedule::SimTime;
use serde::Deserialize;

/// What a byte takes: a fraction of picoseconds, so that 8 bits at 30 Mbit/s are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct PerByte {
    picos: u64,
    bytes: u64,
}

impl Default for PerByte {
    /// Nothing.
    fn default() -> Self {
        Self::ZERO
    }
}

impl PerByte {
    /// Nothing.
    pub const ZERO: Self = Self { picos: 0, bytes: 1 };

    /// Makes it of so many picoseconds for so many bytes; `None` where there are no bytes.
    pub fn new(picos: u64, bytes: u64) -> Option<Self> {
        let divisor = greatest_divisor(picos, bytes);
        (bytes > 0).then(|| Self {
            picos: picos / divisor.max(1),
            bytes: bytes / divisor.max(1),
        })
    }

    /// Returns what so many bytes take, to the nearest picosecond; ends at the largest time there is.
    #[inline]
    pub fn times(self, bytes: u64) -> SimTime {
        if self.bytes == 1 {
            return SimTime(self.picos.saturating_mul(bytes));
        }
        let all = u128::from(self.picos) * u128::from(bytes) + u128::from(self.bytes / 2);
        // What fits in 64 bits is divided several times as fast.
        match u64::try_from(all) {
            Ok(all) => SimTime(all / self.bytes),
            Err(_) => SimTime(u64::try_from(all / u128::from(self.bytes)).unwrap_or(u64::MAX)),
        }
    }

    /// Returns the bytes a second that it stands for; infinite where a byte takes no time.
    pub fn bytes_per_second(self) -> f64 {
        1e12 * self.bytes as f64 / self.picos as f64
    }
}

fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_divisor(b, a % b)
    }
}

/// The units of what a byte takes, in picoseconds.
const TIMES: [(&str, u64); 6] = [
    ("s", 1_000_000_000_000),
    ("ms", 1_000_000_000),
    ("us", 1_000_000),
    ("µs", 1_000_000),
    ("ns", 1_000),
    ("ps", 1),
];

impl TryFrom<String> for PerByte {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is not a time; write what a byte takes with its unit, as in 0.0268us")
        };
        if text.starts_with('-') {
            return Err(format!(
                "`{text}` is negative; write 0us where a byte takes no time"
            ));
        }
        let (number, places, unit) = number_and_unit(&text).ok_or_else(wrong)?;
        let (_, length) = TIMES
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(wrong)?;
        number
            .checked_mul(*length)
            .and_then(|picos| Self::new(picos, places))
            .ok_or_else(wrong)
    }
}

/// Splits a decimal number from its unit: the digits, the power of ten that they are to be divided by, and the unit.
fn number_and_unit(text: &str) -> Option<(u64, u64, &str)> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &text[..text.len() - rest.len()];
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || number.ends_with('.') || fraction.contains('.') {
        return None;
    }
    let digits = format!("{whole}{fraction}").parse().ok()?;
    let places = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    Some((digits, places, rest.trim()))
}

/// The units of speeds, in bits a second.
const RATES: [(&str, u64); 12] = [
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
    ("B/s", 8),
    ("kB/s", 8_000),
    ("MB/s", 8_000_000),
    ("GB/s", 8_000_000_000),
    ("KiB/s", 8 << 10),
    ("MiB/s", 8 << 20),
    ("GiB/s", 8 << 30),
    ("Tbit/s", 1_000_000_000_000),
];

/// A speed of transfer, as in `30Mbit/s` or `12.5GB/s`: more than nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Speed(pub PerByte);

impl TryFrom<String> for Speed {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a speed; write one with its unit, as in 30Mbit/s, 125MB/s or 100MiB/s"
            )
        };
        if text.starts_with('-') {
            return Err(format!(
                "`{text}` is negative; leave the speed out where a byte takes no time"
            ));
        }
        let (number, places, unit) = number_and_unit(&text).ok_or_else(wrong)?;
        let (_, bits) = RATES
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(wrong)?;
        if number == 0 {
            return Err(format!(
                "`{text}`: nothing would ever arrive; leave the speed out where a byte takes no time"
            ));
        }
        let picos = 8_000_000_000_000_u64.checked_mul(places);
        number
            .checked_mul(*bits)
            .zip(picos)
            .and_then(|(bits, picos)| PerByte::new(picos, bits))
            .map(Self)
            .ok_or_else(wrong)
    }
}

/// A whole number that may be zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "i64")]
pub(crate) struct Whole(pub u64);

impl TryFrom<i64> for Whole {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        u64::try_from(number)
            .map(Self)
            .map_err(|_| format!("{number} is negative; write 0 or more"))
    }
}

/// A number of things, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "i64")]
pub(crate) struct Some1(pub u32);

impl TryFrom<i64> for Some1 {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        match u32::try_from(number) {
            Ok(count) if (1..=1_048_576).contains(&count) => Ok(Self(count)),
            _ => Err(format!(
                "{number} is not possible here; write a number from 1 to 1048576"
            )),
        }
    }
}

/// A share, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(crate) struct Fraction(pub f64);

impl TryFrom<f64> for Fraction {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        if (0.0..=1.0).contains(&number) {
            Ok(Self(number))
        } else {
            Err(format!(
                "{number} is not a share; write a number from 0 to 1"
            ))
        }
    }
}

/// A number above zero.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(crate) struct Positive(pub f64);

impl TryFrom<f64> for Positive {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        if number.is_finite() && number > 0.0 {
            Ok(Self(number))
        } else {
            Err(format!(
                "{number} is not possible here; write a number above 0"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_byte_takes_is_exact() {
        let per_byte = PerByte::try_from("0.0268us".to_owned()).unwrap();
        assert_eq!(per_byte.times(1_000), SimTime(26_800_000));
        let small = PerByte::try_from("0.5ps".to_owned()).unwrap();
        assert_eq!(small.times(3), SimTime(2));
        assert_eq!(PerByte::ZERO.times(u64::MAX), SimTime::ZERO);
    }

    #[test]
    fn speeds_are_exact_whatever_their_unit() {
        let speed = |text: &str| Speed::try_from(text.to_owned()).map(|speed| speed.0);
        // 40.96 million bits at 30 Mbit/s, as in the golden file.
        assert_eq!(
            speed("30Mbit/s").unwrap().times(5_120_000),
            SimTime(1_365_333_333_333)
        );
        assert_eq!(
            speed("100MiB/s").unwrap().times(100_000),
            SimTime(953_674_316)
        );
        assert_eq!(speed("1GB/s"), speed("8Gbit/s"));
        for text in ["", "1", "GB/s", "0MB/s", "-1MB/s", "1.MB/s", "1MB"] {
            assert!(speed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn large_messages_do_not_overflow() {
        let slow = Speed::try_from("1bit/s".to_owned()).unwrap().0;
        assert_eq!(slow.times(u64::MAX), SimTime(u64::MAX));
        let odd = PerByte::new(7, 3).unwrap();
        assert_eq!(odd.times(u64::MAX), SimTime(u64::MAX));
    }
}
