//! From a file to a network.

use std::{fs, path::Path};

use foretrace_schedule::SimTime;
use foretrace_settings::{Fault, Time, check_lists};

use crate::{
    Algorithm, Amakata, CollectiveKind, Collectives, Computer, Dimemas, Growth, Limits, LogGopSim,
    LogGps, Mse, NetworkError, NetworkModel, Nodes, Pair, PerByte, Style, Topology, Wire,
    file::{
        AmakataFile, CollectiveTable, ContentionTable, DimemasFile, GrowthName, LogGopSimFile,
        LogGpsFile, ModelName, MseFile, NodeTable, TopologyName, WhichModel,
    },
    lines, presets,
    values::{Positive, Some1, Whole},
};

/// What is known of a network, for any number of ranks.
#[derive(Clone, Debug)]
pub struct Description {
    /// Where it came from.
    pub path: String,
    /// What it calls itself, else the file's name.
    pub name: String,
    /// Where its parameters come from.
    pub source: Option<String>,
    /// How collectives are carried out.
    pub collectives: Collectives,
    /// Which rank lives where.
    pub nodes: Nodes,
    /// The topology on whose links messages share the bandwidth, where that is asked for.
    pub topology: Option<Topology>,
    model: ModelOf,
}

/// The model, before the number of processes is known.
#[derive(Clone, Debug)]
pub(crate) enum ModelOf {
    LogGps(LogGps),
    Mse(Mse),
    Amakata(Amakata),
    Dimemas(Dimemas),
    LogGopSim(LogGopSim),
}

/// A network for a number of ranks.
#[derive(Debug)]
pub struct Network {
    /// Its file, or the preset that it is.
    pub path: String,
    /// Its name.
    pub name: String,
    /// What messages take.
    pub model: Box<dyn NetworkModel>,
    /// How collectives are carried out.
    pub collectives: Collectives,
    /// The node of each rank.
    pub node_of_rank: Vec<u32>,
    /// How many seconds of recorded work each rank does a second.
    pub speed_of_rank: Vec<f64>,
    /// The topology on whose links messages share the bandwidth, where that is asked for.
    pub topology: Option<Topology>,
}

impl Description {
    /// Reads a file, or takes the preset of that name where there is no such file.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, or says what is not possible: with the line, the key and what to do.
    pub fn load(path: &Path) -> Result<Self, NetworkError> {
        let name = path.to_str().unwrap_or_default();
        if !path.exists()
            && let Some(preset) = Self::preset(name)
        {
            return preset;
        }
        let text = fs::read_to_string(path).map_err(|source| NetworkError::Read {
            path: format!("{} (presets are {})", path.display(), presets::names()),
            source,
        })?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Returns a preset.
    pub fn preset(name: &str) -> Option<Result<Self, NetworkError>> {
        let (_, text) = presets::PRESETS
            .iter()
            .find(|(preset, _)| *preset == name)?;
        Some(Self::parse(text, name))
    }

    /// Reads a file's text; `path` is for messages.
    ///
    /// # Errors
    ///
    /// Where it says what is not possible: with the line, the key and what to do.
    pub fn parse(text: &str, path: &str) -> Result<Self, NetworkError> {
        parse(text, path).map_err(|fault| NetworkError::Invalid {
            path: path.to_owned(),
            line: fault.line_in(text),
            message: fault.message,
        })
    }

    /// Makes a network of Dimemas' kind, as its own configuration files describe it.
    pub fn of_dimemas(path: &str, dimemas: Dimemas, nodes: Nodes, growth: Growth) -> Self {
        Self {
            path: path.to_owned(),
            name: path.to_owned(),
            source: None,
            collectives: Collectives {
                style: Style::Analytic(growth),
                ..Collectives::default()
            },
            nodes,
            topology: None,
            model: ModelOf::Dimemas(dimemas),
        }
    }

    /// Sets from how many bytes on messages wait for their receivers; nothing for a model in which none do.
    pub fn set_rendezvous_above(&mut self, bytes: Option<u64>) {
        match &mut self.model {
            ModelOf::LogGps(model) => model.protocols.between.rendezvous_above = bytes,
            ModelOf::Mse(model) => model.base.protocols.between.rendezvous_above = bytes,
            ModelOf::Amakata(_) => {}
            ModelOf::Dimemas(model) => model.rendezvous_above = bytes,
            ModelOf::LogGopSim(model) => model.rendezvous_above = bytes,
        }
    }

    /// Makes the network for so many ranks.
    ///
    /// # Errors
    ///
    /// Where the topology or the mapping has no place for them.
    pub fn resolve(&self, ranks: u32) -> Result<Network, NetworkError> {
        let model: Box<dyn NetworkModel> = match &self.model {
            ModelOf::LogGps(model) => Box::new(model.clone()),
            ModelOf::Mse(model) => Box::new(model.at(ranks)),
            ModelOf::Amakata(model) => Box::new(model.clone()),
            ModelOf::Dimemas(model) => Box::new(*model),
            ModelOf::LogGopSim(model) => Box::new(*model),
        };
        let node_of_rank = self.nodes.of_ranks(ranks);
        let last = node_of_rank.iter().max().copied().unwrap_or_default();
        if let Some(room) = self.topology.as_ref().and_then(Topology::room)
            && last >= room
        {
            return Err(NetworkError::Unfit {
                path: self.path.clone(),
                message: format!(
                    "the topology has {room} nodes, and {ranks} ranks need {}; make it larger, or set ranks_per_node in [nodes]",
                    last + 1
                ),
            });
        }
        Ok(Network {
            path: self.path.clone(),
            name: self.name.clone(),
            model,
            collectives: self.collectives.clone(),
            speed_of_rank: self.nodes.speeds_of_ranks(&node_of_rank),
            node_of_rank,
            topology: self.topology.clone(),
        })
    }

    /// Returns whether only so many messages may be under way at once.
    pub fn limits_messages(&self) -> bool {
        matches!(&self.model, ModelOf::Dimemas(model) if model.limits().is_some())
    }

    /// Returns its model's name, as files have it.
    pub fn model_name(&self) -> &'static str {
        match self.model {
            ModelOf::LogGps(_) => "loggps",
            ModelOf::Mse(_) => "mse",
            ModelOf::Amakata(_) => "amakata",
            ModelOf::Dimemas(_) => "dimemas",
            ModelOf::LogGopSim(_) => "loggopsim",
        }
    }
}

/// The keys under which lists stand.
const LISTS: [&str; 6] = [
    "nodes.mapping",
    "nodes.speeds",
    "contention.dimensions",
    "sizes",
    "within_node.sizes",
    "computer",
];

fn parse(text: &str, path: &str) -> Result<Description, Fault> {
    let which: WhichModel = toml::from_str(text).map_err(fault)?;
    let Some(model) = which.model else {
        let message = "the key `model` is missing; write model = \"loggps\", \"mse\", \"amakata\", \"dimemas\" or \"loggopsim\"";
        return Err(Fault::new(0, message));
    };
    macro_rules! read {
        ($file:ty, $convert:expr) => {{
            let file: $file = toml::from_str(text).map_err(fault)?;
            let model = $convert(&file)?;
            let common = Common {
                name: file.name,
                source: file.source,
                nodes: file.nodes,
                collectives: file.collectives,
                contention: file.contention,
            };
            (model, common)
        }};
    }
    let (model, common) = match *model.get_ref() {
        ModelName::LogGps => read!(LogGpsFile, lines::loggps),
        ModelName::Mse => read!(MseFile, lines::mse),
        ModelName::Amakata => read!(AmakataFile, amakata),
        ModelName::Dimemas => read!(DimemasFile, dimemas),
        ModelName::LogGopSim => read!(LogGopSimFile, loggopsim),
    };
    check_lists(text, &LISTS)?;
    Ok(Description {
        path: path.to_owned(),
        name: common.name.unwrap_or_else(|| path.to_owned()),
        source: common.source,
        collectives: collectives(&common.collectives)?,
        nodes: nodes(&common.nodes),
        topology: common.contention.as_ref().map(topology).transpose()?,
        model,
    })
}

/// What every file may say.
struct Common {
    name: Option<String>,
    source: Option<String>,
    nodes: NodeTable,
    collectives: CollectiveTable,
    contention: Option<ContentionTable>,
}

/// Says of a missing key what to do.
fn fault(error: toml::de::Error) -> Fault {
    let missing = error
        .message()
        .strip_prefix("missing field `")
        .and_then(|rest| rest.split('`').next())
        .map(str::to_owned);
    let mut fault = Fault::from(error);
    if let Some(key) = missing {
        fault.message = format!(
            "the parameter `{key}` is missing; docs/network.md tells what it is, and what it was measured to be"
        );
    }
    fault
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "each model's function is called in the same way"
)]
fn amakata(file: &AmakataFile) -> Result<ModelOf, Fault> {
    let delay = |distance: Positive| {
        let seconds = file.signal_delay_coefficient.0 * distance.0 / file.signal_speed_m_per_s.0;
        #[expect(clippy::cast_sign_loss, reason = "all of its factors are above zero")]
        let picos = (seconds * 1e12).round() as u64;
        SimTime(picos)
    };
    let usual = Computer {
        signal_delay: delay(file.distance_m),
        per_byte: file.bandwidth.0,
        preparation: file.transfer_overhead.0,
        process_creation: file.process_creation.0,
    };
    let time = |own: Option<Time>, usual: SimTime| own.map_or(usual, |time| time.0);
    let computers = file.computer.iter().map(|own| {
        let computer = Computer {
            signal_delay: own.distance_m.map_or(usual.signal_delay, delay),
            per_byte: own.bandwidth.map_or(usual.per_byte, |speed| speed.0),
            preparation: time(own.transfer_overhead, usual.preparation),
            process_creation: time(own.process_creation, usual.process_creation),
        };
        (own.node.0 as u32, computer)
    });
    Ok(ModelOf::Amakata(Amakata {
        usual,
        computers: computers.collect(),
    }))
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "each model's function is called in the same way"
)]
fn dimemas(file: &DimemasFile) -> Result<ModelOf, Fault> {
    let number = |said: Option<Whole>, usual: u32| said.map_or(usual, |number| number.0 as u32);
    let between = Wire {
        startup: file.startup.0,
        per_byte: file.bandwidth.map_or(PerByte::ZERO, |speed| speed.0),
        limits: Limits {
            buses: number(file.buses, 0),
            input_links: number(file.input_links, 1),
            output_links: number(file.output_links, 1),
        },
    };
    let within = match &file.within_node {
        Some(own) => Wire {
            startup: own.startup.0,
            per_byte: own.bandwidth.map_or(PerByte::ZERO, |speed| speed.0),
            limits: Limits::default(),
        },
        None => between,
    };
    Ok(ModelOf::Dimemas(Dimemas {
        wires: Pair { between, within },
        rendezvous_above: file.rendezvous_above.map(|bytes| bytes.0),
    }))
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "each model's function is called in the same way"
)]
fn loggopsim(file: &LogGopSimFile) -> Result<ModelOf, Fault> {
    Ok(ModelOf::LogGopSim(LogGopSim {
        latency: file.latency.0,
        overhead: file.overhead.0,
        gap: file.gap.0,
        gap_per_byte: file.gap_per_byte,
        overhead_per_byte: file.overhead_per_byte.unwrap_or(PerByte::ZERO),
        rendezvous_above: file.rendezvous_above.map(|bytes| bytes.0),
    }))
}

fn nodes(table: &NodeTable) -> Nodes {
    Nodes {
        ranks_per_node: table.ranks_per_node.map_or(1, |count| count.0),
        mapping: table.mapping.iter().map(|node| node.0 as u32).collect(),
        speed: table.speed.map_or(1.0, |speed| speed.0),
        speeds: table.speeds.iter().map(|speed| speed.0).collect(),
        memory_bandwidth: table.memory_bandwidth.map_or(2.0, |cpus| cpus.0),
        memory_bound: table.memory_bound.map_or(0.0, |share| share.0),
    }
}

fn collectives(table: &CollectiveTable) -> Result<Collectives, Fault> {
    use CollectiveKind as Kind;
    let said = [
        (Kind::Barrier, &table.barrier),
        (Kind::Bcast, &table.bcast),
        (Kind::Gather, &table.gather),
        (Kind::Scatter, &table.scatter),
        (Kind::Allgather, &table.allgather),
        (Kind::Alltoall, &table.alltoall),
        (Kind::Reduce, &table.reduce),
        (Kind::Allreduce, &table.allreduce),
        (Kind::ReduceScatter, &table.reduce_scatter),
        (Kind::Scan, &table.scan),
    ];
    let mut chosen = Vec::new();
    for (kind, algorithm) in said {
        let Some(algorithm) = algorithm else { continue };
        if !Algorithm::of(kind).contains(algorithm.get_ref()) {
            let known: Vec<&str> = Algorithm::of(kind)
                .iter()
                .map(|known| known.name())
                .collect();
            let message = format!(
                "{} is no algorithm of {}; it has {}",
                algorithm.get_ref().name(),
                kind.name(),
                known.join(", ")
            );
            return Err(Fault::new(algorithm.span().start, message));
        }
        chosen.push((kind, *algorithm.get_ref()));
    }
    let style = match table.analytic {
        None => Style::Messages,
        Some(GrowthName::Constant) => Style::Analytic(Growth::Constant),
        Some(GrowthName::Linear) => Style::Analytic(Growth::Linear),
        Some(GrowthName::Logarithmic) => Style::Analytic(Growth::Logarithmic),
    };
    Ok(Collectives {
        style,
        chosen,
        combine_per_byte: table.combine_per_byte.unwrap_or_default(),
    })
}

fn topology(table: &ContentionTable) -> Result<Topology, Fault> {
    let per_byte = table.bandwidth.0;
    match table.topology {
        TopologyName::Star => Ok(Topology::Star { per_byte }),
        TopologyName::FatTree => Ok(Topology::FatTree {
            per_byte,
            nodes_per_switch: table
                .nodes_per_switch
                .as_ref()
                .map_or(16, |said| said.get_ref().0),
            uplinks: table.uplinks.map_or(16, |Some1(links)| links),
        }),
        TopologyName::Torus => {
            let Some(dimensions) = &table.dimensions else {
                let message = "a torus needs `dimensions`, as in dimensions = [4, 4, 2]";
                return Err(Fault::new(0, message));
            };
            Ok(Topology::Torus {
                per_byte,
                dimensions: dimensions.get_ref().iter().map(|size| size.0).collect(),
            })
        }
    }
}
