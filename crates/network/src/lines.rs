//! From files of LogGPS and MSE to what messages of each size cost.

use foretrace_schedule::SimTime;
use foretrace_settings::Fault;
use toml::Spanned;

use crate::{
    Line, LogGps, Mse, Overhead, Pair, PerByte, Protocol, Speed,
    description::ModelOf,
    file::{
        CollectiveTable, GrowingTable, LogGpsFile, MseFile, NodeTable, OverheadTable, SizesTable,
        WithinLogGps,
    },
};

/// Takes what a byte takes from one of the two keys that can say it.
fn per_byte(
    gap: Option<PerByte>,
    bandwidth: Option<&Spanned<Speed>>,
    otherwise: Option<PerByte>,
) -> Result<PerByte, Fault> {
    match (gap, bandwidth) {
        (Some(_), Some(speed)) => {
            let message = "`gap_per_byte` and `bandwidth` say the same; leave one out";
            Err(Fault::new(speed.span().start, message))
        }
        (Some(gap), None) => Ok(gap),
        (None, Some(speed)) => Ok(speed.get_ref().0),
        (None, None) => otherwise.ok_or_else(|| {
            let message = "the parameter `gap_per_byte` is missing; write what a byte takes, as in \"0.0268us\", or `bandwidth`";
            Fault::new(0, message)
        }),
    }
}

fn overhead(table: OverheadTable) -> Overhead {
    Overhead {
        constant: table.overhead.0,
        per_byte: table.per_byte.unwrap_or(PerByte::ZERO),
    }
}

/// Splits off what grows with the number of processes.
fn growing(table: GrowingTable) -> (OverheadTable, SimTime) {
    let constant = OverheadTable {
        overhead: table.overhead,
        per_byte: table.per_byte,
    };
    (constant, table.per_process.0)
}

/// Takes the lines of larger messages.
fn larger(tables: &[SizesTable]) -> Result<Vec<Line>, Fault> {
    let mut lines: Vec<Line> = Vec::new();
    for table in tables {
        let above = table.above.get_ref().0;
        let least = lines.last().map_or(1, |line| line.above + 1);
        if above < least {
            let message = format!(
                "`above` is {above}, and must be {least} at least: each of [[sizes]] is for larger messages than those before"
            );
            return Err(Fault::new(table.above.span().start, message));
        }
        lines.push(Line {
            above,
            latency: table.latency.0,
            gap_per_byte: per_byte(table.gap_per_byte, table.bandwidth.as_ref(), None)?,
            send: overhead(table.send),
            receive: overhead(table.receive),
        });
    }
    Ok(lines)
}

/// Takes the parameters between nodes and those within one, from files of LogGPS.
fn base(file: &LogGpsFile) -> Result<LogGps, Fault> {
    let base = Line {
        above: 0,
        latency: file.latency.0,
        gap_per_byte: per_byte(file.gap_per_byte, file.bandwidth.as_ref(), None)?,
        send: overhead(file.send),
        receive: overhead(file.receive),
    };
    let between = Protocol {
        base,
        larger: larger(&file.sizes)?,
        rendezvous_above: file.rendezvous_above.map(|bytes| bytes.0),
    };
    let within = match &file.within_node {
        None => between.clone(),
        Some(own) => Protocol {
            base: Line {
                above: 0,
                latency: own.latency.map_or(base.latency, |time| time.0),
                gap_per_byte: per_byte(
                    own.gap_per_byte,
                    own.bandwidth.as_ref(),
                    Some(base.gap_per_byte),
                )?,
                send: own.send.map_or(base.send, overhead),
                receive: own.receive.map_or(base.receive, overhead),
            },
            larger: larger(&own.sizes)?,
            rendezvous_above: own
                .rendezvous_above
                .map(|bytes| bytes.0)
                .or(between.rendezvous_above),
        },
    };
    Ok(LogGps {
        protocols: Pair { between, within },
        asynchronous_progress: file.asynchronous_progress,
    })
}

/// Takes a network of LogGPS from its file.
pub(crate) fn loggps(file: &LogGpsFile) -> Result<ModelOf, Fault> {
    Ok(ModelOf::LogGps(base(file)?))
}

/// Takes a network of MSE from its file: one of LogGPS, but for what grows.
pub(crate) fn mse(file: &MseFile) -> Result<ModelOf, Fault> {
    let [(send, send_growth), (receive, receive_growth)] =
        [growing(file.send), growing(file.receive)];
    let between = [send_growth, receive_growth];
    let mut within = between;
    let within_node = file.within_node.clone().map(|own| {
        let mut split = |table: Option<GrowingTable>, direction: usize| {
            let (constant, growth) = growing(table?);
            within[direction] = growth;
            Some(constant)
        };
        WithinLogGps {
            latency: own.latency,
            gap_per_byte: own.gap_per_byte,
            bandwidth: own.bandwidth,
            rendezvous_above: own.rendezvous_above,
            send: split(own.send, 0),
            receive: split(own.receive, 1),
            sizes: own.sizes,
        }
    });
    let constant = LogGpsFile {
        _model: file._model,
        name: None,
        source: None,
        nodes: NodeTable::default(),
        collectives: CollectiveTable::default(),
        contention: None,
        latency: file.latency,
        gap_per_byte: file.gap_per_byte,
        bandwidth: file.bandwidth.clone(),
        rendezvous_above: file.rendezvous_above,
        asynchronous_progress: file.asynchronous_progress,
        send,
        receive,
        sizes: file.sizes.clone(),
        within_node,
    };
    Ok(ModelOf::Mse(Mse {
        base: base(&constant)?,
        per_process: Pair { between, within },
    }))
}
