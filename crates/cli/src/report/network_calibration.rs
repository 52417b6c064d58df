//! What messages were measured to cost, as a network's file, as a table and as JSON.

use std::{fmt::Write as _, path::Path};

use foretrace_calibrate::network::{Fit, Growth, Measured, Piece, Quantity, Spread, Transport};
use foretrace_schedule::SimTime;
use foretrace_settings::time_text;
use serde_json::{Value, json};

use crate::table::{Align, render};

/// As much of all CPUs' time as others may have used before the measurements are doubtful.
const MUCH_LOAD: f64 = 0.05;

/// By how much a round trip may be predicted wrong before it is warned of.
const MUCH_ERROR: f64 = 0.25;

/// A round trip of a size, measured and simulated.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// The message's size, both ways.
    pub bytes: u64,
    /// Whether the parameters were fitted to it.
    pub is_fitted: bool,
    /// What was measured, in nanoseconds.
    pub round_trip: Spread,
    /// What is simulated with what was fitted, in nanoseconds.
    pub predicted: f64,
}

impl Comparison {
    /// Returns the relative error of the prediction.
    fn error(&self) -> f64 {
        self.predicted / self.round_trip.median.max(f64::MIN_POSITIVE) - 1.0
    }
}

/// All that is told of a calibration.
pub struct Report {
    /// The launcher's command.
    pub launcher: String,
    /// What messages went over.
    pub transport: Transport,
    /// What was measured.
    pub measured: Measured,
    /// What was fitted to it.
    pub fit: Fit,
    /// Both beside each other, by increasing size.
    pub comparisons: Vec<Comparison>,
}

/// How large the errors of some predictions are.
#[derive(Clone, Copy, Debug)]
struct Errors {
    /// The root of the mean of their squares.
    rms: f64,
    /// The largest, and its size.
    worst: (f64, u64),
}

fn transport_name(transport: Transport) -> &'static str {
    match transport {
        Transport::Auto => "what the implementation takes",
        Transport::Tcp => "TCP",
        Transport::SharedMemory => "shared memory",
    }
}

fn picos(nanos: f64) -> SimTime {
    #[expect(clippy::cast_sign_loss, reason = "parameters are not negative")]
    let picos = (nanos.max(0.0) * 1_000.0).round() as u64;
    SimTime(picos)
}

fn time(nanos: f64) -> String {
    time_text(picos(nanos))
}

/// Writes a time so that it is quickly read: to three digits.
fn short(nanos: f64) -> String {
    let (value, unit) = match nanos {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "us"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let places = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.places$} {unit}")
}

/// What a byte takes, to a thousandth of a picosecond.
fn per_byte(nanos: f64) -> String {
    let text = format!("{:.3}", nanos.max(0.0) * 1_000.0);
    format!("{}ps", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Returns a network's file with the parameters.
pub fn parameters(fit: &Fit, measured: &Measured) -> String {
    let mut text = String::new();
    let [first, second] = measured.cpus;
    let [here, there] = &measured.hosts;
    let between = if here == there {
        format!("between CPUs {first} and {second} of {here}")
    } else {
        format!("between {here} and {there}")
    };
    let implementation = measured.implementation.replace(['"', '\\'], "");
    let model = if fit.growth.is_some() {
        "mse"
    } else {
        "loggps"
    };
    let _ = writeln!(text, "name = \"{implementation} {between}\"");
    let _ = writeln!(text, "source = \"foretrace calibrate --network\"");
    let _ = writeln!(text, "model = \"{model}\"");
    let Some((base, larger)) = fit.pieces.split_first() else {
        return text;
    };
    let _ = writeln!(text, "latency = \"{}\"   # L", time(base.latency));
    let _ = writeln!(
        text,
        "gap_per_byte = \"{}\"   # G",
        per_byte(base.gap_per_byte)
    );
    match fit.rendezvous_above {
        Some(bytes) => {
            let _ = writeln!(text, "rendezvous_above = {bytes}   # S");
        }
        None => {
            text.push_str("# No message that was tried waited for its receiver: there is no S.\n");
        }
    }
    for (name, [constant, each], growth) in [
        ("send", base.send, fit.growth.map(|growth| growth.send)),
        (
            "receive",
            base.receive,
            fit.growth.map(|growth| growth.receive),
        ),
    ] {
        let _ = writeln!(text, "\n[{name}]");
        let _ = writeln!(text, "overhead = \"{}\"", time(constant));
        if let Some(growth) = growth {
            let _ = writeln!(text, "per_process = \"{}\"", time(growth));
        }
        let _ = writeln!(text, "per_byte = \"{}\"", per_byte(each));
    }
    for piece in larger {
        text.push_str(&sizes(piece));
    }
    if let Some(combining) = fit.combine_per_byte {
        let combining = per_byte(combining);
        let _ = writeln!(text, "\n[collectives]\ncombine_per_byte = \"{combining}\"");
    }
    text
}

/// Returns the table of larger messages.
fn sizes(piece: &Piece) -> String {
    let overhead = |[constant, each]: [f64; 2]| {
        format!(
            "{{ overhead = \"{}\", per_byte = \"{}\" }}",
            time(constant),
            per_byte(each)
        )
    };
    format!(
        "\n[[sizes]]   # {} sizes were measured; residual {}\nabove = {}\nlatency = \"{}\"\ngap_per_byte = \"{}\"\nsend = {}\nreceive = {}\n",
        piece.points,
        percent(piece.residual),
        piece.above,
        time(piece.latency),
        per_byte(piece.gap_per_byte),
        overhead(piece.send),
        overhead(piece.receive),
    )
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn signed_percent(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share)
}

impl Report {
    fn errors(&self, is_fitted: bool) -> Option<Errors> {
        let of = || {
            let all = self.comparisons.iter();
            all.filter(|comparison| comparison.is_fitted == is_fitted)
        };
        let count = of().count();
        let squares: f64 = of().map(|comparison| comparison.error().powi(2)).sum();
        let worst = of().max_by(|a, b| a.error().abs().total_cmp(&b.error().abs()))?;
        Some(Errors {
            rms: (squares / count as f64).sqrt(),
            worst: (worst.error(), worst.bytes),
        })
    }

    /// Returns what was measured and how well it is met, as comments at the head of a file.
    pub fn head(&self) -> String {
        let mut text = String::from("# Measured by `foretrace calibrate --network`.\n#\n");
        for line in self.about().lines() {
            let _ = writeln!(text, "# {line}");
        }
        text.push_str("#\n");
        for line in Self::table(&self.comparisons.iter().collect::<Vec<_>>()).lines() {
            let _ = writeln!(text, "#   {line}");
        }
        text.push_str("#\n");
        for line in self.summary().lines() {
            let _ = writeln!(text, "# {line}");
        }
        text
    }

    /// Returns what was measured where, a line each.
    fn about(&self) -> String {
        let [first, second] = self.measured.cpus;
        let [here, there] = &self.measured.hosts;
        format!(
            "MPI        {}, started by {}\nmessages   over {}, between CPU {first} of {here} and CPU {second} of {there}\n",
            self.measured.implementation,
            self.launcher,
            transport_name(self.transport),
        )
    }

    fn table(rows: &[&Comparison]) -> String {
        let columns = [
            ("bytes", Align::Right),
            ("round trip", Align::Right),
            ("middle half", Align::Right),
            ("predicted", Align::Right),
            ("error", Align::Right),
            ("", Align::Left),
        ];
        render(
            columns,
            rows.iter().map(|comparison| {
                let Spread {
                    median, low, high, ..
                } = comparison.round_trip;
                [
                    comparison.bytes.to_string(),
                    short(median),
                    format!("{} to {}", short(low), short(high)),
                    short(comparison.predicted),
                    signed_percent(comparison.error()),
                    if comparison.is_fitted {
                        ""
                    } else {
                        "not fitted"
                    }
                    .to_owned(),
                ]
            }),
        )
    }

    /// Returns how good the fit is, and what else is known.
    fn summary(&self) -> String {
        let mut text = String::new();
        for (is_fitted, name) in [(true, "fitted"), (false, "not fitted")] {
            if let Some(Errors { rms, worst }) = self.errors(is_fitted) {
                let (error, bytes) = worst;
                let _ = writeln!(
                    text,
                    "Errors of sizes that were {name}: {} (root mean square), {} at most (of {bytes} bytes).",
                    percent(rms),
                    signed_percent(error)
                );
            }
        }
        if let Some(growth) = &self.fit.growth {
            text.push_str(&growth_text(growth, &self.measured));
        }
        if let Some((gap, each)) = self.fit.stream {
            let _ = writeln!(
                text,
                "In a burst, small messages follow each other every {}, and each byte adds {}.",
                short(gap),
                per_byte_short(each)
            );
        }
        if let Some(combining) = self.fit.combine_per_byte {
            let each = per_byte_short(combining);
            let _ = writeln!(
                text,
                "Reductions take {each} for each byte that they combine."
            );
        }
        if let Some(bytes) = self.measured.unaided_up_to
            && self.measured.unaided_up_to != self.measured.eager_up_to
        {
            let _ = writeln!(
                text,
                "Sends of more than {bytes} bytes are over only when the receiver is in a call of MPI, though it need not be that receive.",
            );
        }
        text
    }

    /// Returns what people want to know, with what the file is good for.
    pub fn text(&self, path: &Path) -> String {
        let mut text = self.about();
        text.push('\n');
        text.push_str(&self.parameter_table());
        text.push('\n');
        text.push_str(&Self::table(&self.shown()));
        text.push('\n');
        text.push_str(&self.summary());
        let path = path.display();
        let _ = write!(
            text,
            "\n{path} holds all of it. To go on:\n  foretrace predict PROGRAM --network {path}\n  \
             foretrace farm --ranks 2..64 --tasks 100000 --work 1ms --network {path}\n"
        );
        text
    }

    /// Returns those that are enough to see how good the fit is: of what was fitted, every fourth power.
    fn shown(&self) -> Vec<&Comparison> {
        let is_shown = |comparison: &&Comparison| {
            let bytes = comparison.bytes;
            !comparison.is_fitted || bytes.is_power_of_two() && bytes.ilog2().is_multiple_of(4)
        };
        self.comparisons.iter().filter(is_shown).collect()
    }

    fn parameter_table(&self) -> String {
        let columns = [
            ("bytes above", Align::Right),
            ("L", Align::Right),
            ("G a byte", Align::Right),
            ("o send", Align::Right),
            ("a byte", Align::Right),
            ("o receive", Align::Right),
            ("a byte", Align::Right),
            ("sizes", Align::Right),
            ("residual", Align::Right),
        ];
        let rows = self.fit.pieces.iter().map(|piece| {
            [
                piece.above.to_string(),
                short(piece.latency),
                per_byte_short(piece.gap_per_byte),
                short(piece.send[0]),
                per_byte_short(piece.send[1]),
                short(piece.receive[0]),
                per_byte_short(piece.receive[1]),
                piece.points.to_string(),
                percent(piece.residual),
            ]
        });
        let limit = match self.fit.rendezvous_above {
            Some(bytes) => format!("S: messages of more than {bytes} bytes wait for a receive."),
            None => "No message that was tried waits for its receiver.".to_owned(),
        };
        format!(
            "{}\no keeps sender and receiver busy, L and G are under way; L and o are those of the smallest message of a row.\n{limit}\n",
            render(columns, rows)
        )
    }

    /// Returns what makes the measurements doubtful, given the share of the CPUs that others used meanwhile.
    pub fn warnings(&self, foreign_load: Option<f64>) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(load) = foreign_load.filter(|load| *load > MUCH_LOAD) {
            warnings.push(format!(
                "others used {:.0} % of the CPUs meanwhile, which makes messages look slower than they are: measure again when \
                 the machine is idle",
                100.0 * load
            ));
        }
        let unsure = self.comparisons.iter();
        let unsure = unsure.filter(|comparison| comparison.round_trip.relative() > 0.5);
        let (count, all) = (unsure.count(), self.comparisons.len());
        if count * 4 > all {
            warnings.push(format!(
                "round trips of {count} of {all} sizes spread over more than half their time: the machine was busy, or its CPUs \
                 change their speed"
            ));
        }
        if self.measured.share_core {
            warnings.push("the CPUs share a core: between cores messages take longer".to_owned());
        }
        let worst = [true, false].map(|fitted| self.errors(fitted));
        for Errors { worst, .. } in worst.into_iter().flatten() {
            let (error, bytes) = worst;
            if error.abs() > MUCH_ERROR {
                warnings.push(format!(
                    "a round trip of {bytes} bytes is predicted {} wrong; the table tells which sizes to trust",
                    percent(error.abs())
                ));
            }
        }
        warnings
    }

    /// Returns it for machines.
    pub fn json(&self, file: Option<&Path>, text: &str) -> Value {
        let pieces = self.fit.pieces.iter().map(piece_json);
        let comparisons = self.comparisons.iter().map(|comparison| {
            let of = |quantity| {
                let spread = self.measured.sizes.spread(quantity, comparison.bytes);
                spread.map(|spread| spread.median)
            };
            json!({
                "bytes": comparison.bytes,
                "fitted": comparison.is_fitted,
                "round_trip_ns": comparison.round_trip.median,
                "low_ns": comparison.round_trip.low,
                "high_ns": comparison.round_trip.high,
                "samples": comparison.round_trip.samples,
                "predicted_ns": comparison.predicted,
                "error": comparison.error(),
                "send_ns": of(Quantity::Send),
                "receive_ns": of(Quantity::Receive),
                "gap_ns": of(Quantity::Gap),
            })
        });
        let errors = |is_fitted| {
            self.errors(is_fitted).map(|Errors { rms, worst }| {
                json!({"rms": rms, "worst": worst.0, "worst_bytes": worst.1})
            })
        };
        let transport = match self.transport {
            Transport::Auto => "auto",
            Transport::Tcp => "tcp",
            Transport::SharedMemory => "shm",
        };
        json!({
            "library": self.measured.implementation,
            "launcher": self.launcher,
            "transport": transport,
            "cpus": self.measured.cpus,
            "hosts": self.measured.hosts,
            "rendezvous_above": self.fit.rendezvous_above,
            "unaided_up_to": self.measured.unaided_up_to,
            "sizes": pieces.collect::<Vec<_>>(),
            "growth": self.fit.growth.as_ref().map(|growth| growth_json(growth, &self.measured)),
            "combine_per_byte_ns": self.fit.combine_per_byte,
            "burst": self.fit.stream.map(|(gap, each)| json!({"gap_ns": gap, "gap_per_byte_ns": each})),
            "residual": {"fitted": errors(true), "not_fitted": errors(false)},
            "round_trips": comparisons.collect::<Vec<_>>(),
            "file": file.map(|path| path.display().to_string()),
            "toml": text,
        })
    }
}

fn per_byte_short(nanos: f64) -> String {
    format!("{:.3} ns", nanos.max(0.0))
}

fn piece_json(piece: &Piece) -> Value {
    json!({
        "above": piece.above,
        "latency_ns": piece.latency,
        "gap_per_byte_ns": piece.gap_per_byte,
        "send": {"overhead_ns": piece.send[0], "per_byte_ns": piece.send[1]},
        "receive": {"overhead_ns": piece.receive[0], "per_byte_ns": piece.receive[1]},
        "points": piece.points,
        "residual": piece.residual,
    })
}

fn growth_text(growth: &Growth, measured: &Measured) -> String {
    let ranks: Vec<String> = ranks(measured).iter().map(u32::to_string).collect();
    let ranks = ranks.join(", ");
    let both = format!(
        "{:.1} ns, give or take {:.1} ns",
        growth.half_round_trip, growth.uncertainty
    );
    if growth.is_distinct() {
        format!(
            "With each rank (of {ranks}) half a round trip takes longer by {both}: o_b is {} sending and {} receiving.\n",
            short(growth.send),
            short(growth.receive)
        )
    } else {
        format!(
            "With each rank (of {ranks}) half a round trip takes longer by {both}: no growth that can be told from nothing, so that o_b is 0.\n"
        )
    }
}

fn growth_json(growth: &Growth, measured: &Measured) -> Value {
    json!({
        "ranks": ranks(measured),
        "send_per_process_ns": growth.send,
        "receive_per_process_ns": growth.receive,
        "half_round_trip_ns": growth.half_round_trip,
        "uncertainty_ns": growth.uncertainty,
        "distinct": growth.is_distinct(),
    })
}

fn ranks(measured: &Measured) -> Vec<u32> {
    let mut ranks: Vec<u32> = measured.crowds.iter().map(|(ranks, _)| *ranks).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

#[cfg(test)]
mod tests {
    use foretrace_network::{Description, Link};

    use super::*;

    fn piece(above: u64) -> Piece {
        Piece {
            above,
            latency: 107.25,
            gap_per_byte: 0.0125,
            send: [30.0, 0.25],
            receive: [170.5, 0.0],
            points: 7,
            residual: 0.012,
        }
    }

    fn report(growth: Option<Growth>) -> Report {
        Report {
            launcher: "mpirun".to_owned(),
            transport: Transport::Tcp,
            measured: Measured {
                implementation: "Some \"MPI\"".to_owned(),
                hosts: ["here".to_owned(), "there".to_owned()],
                eager_up_to: Some(4_040),
                unaided_up_to: Some(256),
                ..Measured::default()
            },
            fit: Fit {
                pieces: vec![piece(0), piece(4_040)],
                rendezvous_above: Some(4_040),
                growth,
                stream: Some((120.0, 0.3)),
                combine_per_byte: Some(0.0415),
            },
            comparisons: [(16, true, 660.0), (100, false, 900.0)]
                .map(|(bytes, is_fitted, predicted)| Comparison {
                    bytes,
                    is_fitted,
                    round_trip: Spread {
                        median: 600.0,
                        low: 590.0,
                        high: 610.0,
                        samples: 50,
                    },
                    predicted,
                })
                .to_vec(),
        }
    }

    #[test]
    fn what_is_written_is_read_as_it_was_fitted() {
        let growth = Growth {
            send: 1.5,
            receive: 2.0,
            half_round_trip: 3.5,
            uncertainty: 0.5,
        };
        for growth in [None, Some(growth)] {
            let report = report(growth);
            let text = report.head() + "\n" + &parameters(&report.fit, &report.measured);
            let description = Description::parse(&text, "n.toml");
            let description = description.unwrap_or_else(|error| panic!("{error}\n{text}"));
            let network = description.resolve(10).expect("there is room");
            let link = Link { from: 0, to: 1 };
            let grown = if growth.is_some() { 15_000 } else { 0 };
            let send = |bytes| network.model.send_overhead(link, bytes).0;
            assert_eq!(send(4), 31_000 + grown);
            assert_eq!(send(4_044), 31_000 + grown);
            assert_eq!(network.model.transit(link, 4_041).0, 107_250);
            assert_eq!(network.model.transit(link, 81).0, 108_250);
            assert!(network.model.handshake(link, 4_041).is_some());
        }
    }

    #[test]
    fn errors_are_told_and_large_ones_warned_of() {
        let report = report(None);
        let text = report.text(Path::new("here.toml"));
        assert!(
            text.contains("+10.0 %") && text.contains("+50.0 %"),
            "{text}"
        );
        assert!(text.contains("--network here.toml"), "{text}");
        let warnings = report.warnings(Some(0.5));
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[1].contains("100 bytes"), "{warnings:?}");
        let json = report.json(None, "text");
        assert_eq!(json["rendezvous_above"], 4_040);
        assert_eq!(json["round_trips"][1]["fitted"], false);
    }

    #[test]
    fn times_are_short_where_they_are_read_and_whole_where_they_are_used() {
        assert_eq!(
            [0.5, 99.96, 1_234.0, 56_789.0, 1.5e9].map(short),
            ["0.50 ns", "100 ns", "1.23 us", "56.8 us", "1.50 s"]
        );
        assert_eq!(per_byte(0.012_5), "12.5ps");
        assert_eq!(per_byte(1.0), "1000ps");
        assert_eq!(per_byte(-1.0), "0ps");
    }
}
