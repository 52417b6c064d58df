//! What was measured, and the lines in which the first rank tells it.

use std::{collections::BTreeMap, fmt::Write as _};

/// What is measured of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// From sending a message until one of the same size is back.
    RoundTrip,
    /// The time in a send while the receiver waits for the message.
    Send,
    /// The time in a receive of a message that has been there for long.
    Receive,
    /// Between messages of a burst that nothing but the network holds up.
    Gap,
    /// A round trip of a size that the parameters are not fitted to.
    Check,
    /// Copying numbers of eight bytes, and adding others to them, as a reduction does with what a rank has and what it receives.
    Combine,
}

/// All of them, with their names in lines.
const QUANTITIES: [(Quantity, &str); 6] = [
    (Quantity::RoundTrip, "round-trip"),
    (Quantity::Send, "send"),
    (Quantity::Receive, "receive"),
    (Quantity::Gap, "gap"),
    (Quantity::Check, "check"),
    (Quantity::Combine, "combine"),
];

/// With what a line of ours begins, so that what else a launcher prints is told from it.
const MARK: &str = "foretrace-mpi ";

/// A time in nanoseconds: the median of many measurements, between the quartiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// What a quarter of the measurements are below.
    pub low: f64,
    /// What a quarter are above.
    pub high: f64,
    /// How many there were.
    pub samples: usize,
}

impl Spread {
    /// Takes it from measurements, in any order; none where there are none.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let quartile = |quarter: usize| sorted[last * quarter / 4];
        Some(Self {
            median: quartile(2),
            low: quartile(1),
            high: quartile(3),
            samples: sorted.len(),
        })
    }

    /// Returns by how much of the median the middle half of the measurements spreads.
    pub fn relative(&self) -> f64 {
        (self.high - self.low) / self.median.max(f64::MIN_POSITIVE)
    }
}

/// What the first rank tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// What the library calls itself.
    Library(String),
    /// The CPUs that the first two ranks ran on, and whether they share a core.
    Cpus([u32; 2], bool),
    /// The first two ranks are on these computers.
    Hosts([String; 2]),
    /// The largest message whose send does not wait for a receive; none where all were that were tried.
    EagerUpTo(Option<u64>),
    /// The largest message whose send does not even wait until the receiver is in some call of MPI; as much.
    UnaidedUpTo(Option<u64>),
    /// So much of all is done.
    Progress(u32, u32),
    /// Measurements, in nanoseconds.
    Samples(Quantity, u64, Vec<f64>),
    /// It cannot be measured.
    Fault(String),
    /// All is measured.
    Done,
}

impl Told {
    /// Writes it as a line, without its end.
    pub fn line(&self) -> String {
        match self {
            Self::Library(name) => format!("{MARK}library {name}"),
            Self::Cpus([first, second], share) => format!("{MARK}cpus {first} {second} {share}"),
            Self::Hosts([first, second]) => format!("{MARK}hosts {first} {second}"),
            Self::EagerUpTo(bytes) => format!("{MARK}eager {}", size_text(*bytes)),
            Self::UnaidedUpTo(bytes) => format!("{MARK}unaided {}", size_text(*bytes)),
            Self::Progress(done, all) => format!("{MARK}progress {done} {all}"),
            Self::Samples(quantity, bytes, values) => {
                let name = QUANTITIES.iter().find(|(known, _)| known == quantity);
                let name = name.map_or("", |(_, name)| name);
                let mut line = format!("{MARK}{name} {bytes}");
                for value in values {
                    // Writing to a string cannot fail.
                    let _ = write!(line, " {value:.1}");
                }
                line
            }
            Self::Fault(message) => format!("{MARK}fault {message}"),
            Self::Done => format!("{MARK}done"),
        }
    }

    /// Reads a line; none where it is not one of ours.
    pub fn parse(line: &str) -> Option<Self> {
        // Launchers may put a rank's number or the like before each line.
        let (_, line) = line.split_once(MARK)?;
        let line = line.trim_end();
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut words = rest.split(' ');
        Some(match word {
            "library" => Self::Library(rest.to_owned()),
            "fault" => Self::Fault(rest.to_owned()),
            "done" => Self::Done,
            "cpus" => {
                let cpus = [words.next()?.parse().ok()?, words.next()?.parse().ok()?];
                Self::Cpus(cpus, words.next()?.parse().ok()?)
            }
            "hosts" => Self::Hosts([words.next()?.to_owned(), words.next()?.to_owned()]),
            "eager" => Self::EagerUpTo(rest.parse().ok()),
            "unaided" => Self::UnaidedUpTo(rest.parse().ok()),
            "progress" => Self::Progress(words.next()?.parse().ok()?, words.next()?.parse().ok()?),
            _ => {
                let (quantity, _) = QUANTITIES.iter().find(|(_, name)| *name == word)?;
                let bytes = words.next()?.parse().ok()?;
                let values = words.map(|word| word.parse().ok());
                Self::Samples(*quantity, bytes, values.collect::<Option<_>>()?)
            }
        })
    }
}

fn size_text(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "all".to_owned(), |bytes| bytes.to_string())
}

/// All that was measured in one run.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    of: BTreeMap<(Quantity, u64), Vec<f64>>,
}

impl Samples {
    /// Adds measurements of a quantity with messages of so many bytes.
    pub fn add(&mut self, quantity: Quantity, bytes: u64, values: &[f64]) {
        self.of
            .entry((quantity, bytes))
            .or_default()
            .extend_from_slice(values);
    }

    /// Returns what they say of messages of so many bytes.
    pub fn spread(&self, quantity: Quantity, bytes: u64) -> Option<Spread> {
        Spread::of(self.of.get(&(quantity, bytes))?)
    }

    /// Returns the sizes for which there are measurements, increasing.
    pub fn sizes(&self, quantity: Quantity) -> Vec<u64> {
        let of = self.of.keys().filter(|(of, _)| *of == quantity);
        of.map(|(_, bytes)| *bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_read_as_it_was() {
        for told in [
            Told::Library("Open MPI v4.1.4".to_owned()),
            Told::Cpus([0, 2], false),
            Told::Hosts(["a".to_owned(), "b.c".to_owned()]),
            Told::EagerUpTo(Some(4_040)),
            Told::EagerUpTo(None),
            Told::UnaidedUpTo(Some(256)),
            Told::Progress(3, 17),
            Told::Samples(Quantity::Gap, 1_024, vec![0.5, 12.0]),
            Told::Fault("it is so".to_owned()),
            Told::Done,
        ] {
            assert_eq!(Told::parse(&told.line()), Some(told));
        }
        assert_eq!(
            Told::parse("[1,0]<stdout>: foretrace-mpi eager 7"),
            Some(Told::EagerUpTo(Some(7)))
        );
        for line in [
            "",
            "eager 7",
            "foretrace-mpi cpus 1",
            "foretrace-mpi gap 1 x",
        ] {
            assert_eq!(Told::parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_few_outliers_do_not_move_a_median() {
        let spread = Spread::of(&[9_000.0, 5.0, 3.0, 4.0, 1e9]).expect("there are five");
        assert!((spread.median - 5.0).abs() < 1e-12);
        assert!((spread.low - 4.0).abs() < 1e-12 && (spread.high - 9_000.0).abs() < 1e-12);
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn measurements_of_several_runs_are_put_together() {
        let mut samples = Samples::default();
        samples.add(Quantity::Send, 8, &[1.0]);
        samples.add(Quantity::Send, 1, &[1.0, 3.0]);
        samples.add(Quantity::Send, 8, &[2.0, 3.0]);
        assert_eq!(samples.sizes(Quantity::Send), [1, 8]);
        assert_eq!(samples.sizes(Quantity::Gap), [0; 0]);
        assert_eq!(
            samples.spread(Quantity::Send, 8).map(|s| s.samples),
            Some(3)
        );
    }
}
