//! The file as it is written: its tables and keys. What they mean is in `docs/network.md`.

use foretrace_settings::Time;
use serde::Deserialize;
use toml::Spanned;

use crate::{
    Algorithm, PerByte, Speed,
    values::{Fraction, Positive, Some1, Whole},
};

/// The key that says which of the other structures the file is.
#[derive(Deserialize)]
pub(crate) struct WhichModel {
    pub model: Option<Spanned<ModelName>>,
}

/// The models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ModelName {
    LogGps,
    Mse,
    Amakata,
    Dimemas,
    LogGopSim,
}

/// Defines a whole file: the keys of one model, and those that all have.
macro_rules! whole_file {
    ($(#[$doc:meta])* $name:ident { $($(#[$attribute:meta])* $key:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            #[serde(rename = "model")]
            pub _model: ModelName,
            #[serde(default)]
            pub name: Option<String>,
            #[serde(default)]
            pub source: Option<String>,
            #[serde(default)]
            pub nodes: NodeTable,
            #[serde(default)]
            pub collectives: CollectiveTable,
            #[serde(default)]
            pub contention: Option<ContentionTable>,
            $($(#[$attribute])* pub $key: $kind,)*
        }
    };
}

whole_file! {
    /// `model = "loggps"`.
    LogGpsFile {
        latency: Time,
        #[serde(default)]
        gap_per_byte: Option<PerByte>,
        #[serde(default)]
        bandwidth: Option<Spanned<Speed>>,
        #[serde(default)]
        rendezvous_above: Option<Whole>,
        #[serde(default)]
        asynchronous_progress: bool,
        send: OverheadTable,
        receive: OverheadTable,
        #[serde(default)]
        sizes: Vec<SizesTable>,
        #[serde(default)]
        within_node: Option<WithinLogGps>,
    }
}

whole_file! {
    /// `model = "mse"`.
    MseFile {
        latency: Time,
        #[serde(default)]
        gap_per_byte: Option<PerByte>,
        #[serde(default)]
        bandwidth: Option<Spanned<Speed>>,
        #[serde(default)]
        rendezvous_above: Option<Whole>,
        #[serde(default)]
        asynchronous_progress: bool,
        send: GrowingTable,
        receive: GrowingTable,
        #[serde(default)]
        sizes: Vec<SizesTable>,
        #[serde(default)]
        within_node: Option<WithinMse>,
    }
}

whole_file! {
    /// `model = "amakata"`.
    AmakataFile {
        bandwidth: Speed,
        transfer_overhead: Time,
        process_creation: Time,
        distance_m: Positive,
        signal_speed_m_per_s: Positive,
        signal_delay_coefficient: Positive,
        #[serde(default)]
        computer: Vec<ComputerTable>,
    }
}

whole_file! {
    /// `model = "dimemas"`.
    DimemasFile {
        startup: Time,
        #[serde(default)]
        bandwidth: Option<Speed>,
        #[serde(default)]
        buses: Option<Whole>,
        #[serde(default)]
        input_links: Option<Whole>,
        #[serde(default)]
        output_links: Option<Whole>,
        #[serde(default)]
        rendezvous_above: Option<Whole>,
        #[serde(default)]
        within_node: Option<WithinDimemas>,
    }
}

whole_file! {
    /// `model = "loggopsim"`.
    LogGopSimFile {
        latency: Time,
        overhead: Time,
        gap: Time,
        gap_per_byte: PerByte,
        #[serde(default)]
        overhead_per_byte: Option<PerByte>,
        #[serde(default)]
        rendezvous_above: Option<Whole>,
    }
}

/// `[send]` and `[receive]` of LogGPS.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OverheadTable {
    pub overhead: Time,
    #[serde(default)]
    pub per_byte: Option<PerByte>,
}

/// The same of MSE.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrowingTable {
    pub overhead: Time,
    pub per_process: Time,
    #[serde(default)]
    pub per_byte: Option<PerByte>,
}

/// `[[sizes]]` of LogGPS and MSE: what larger messages cost.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SizesTable {
    pub above: Spanned<Whole>,
    pub latency: Time,
    pub gap_per_byte: Option<PerByte>,
    pub bandwidth: Option<Spanned<Speed>>,
    pub send: OverheadTable,
    pub receive: OverheadTable,
}

/// `[within_node]` of LogGPS: what is not said is as between nodes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WithinLogGps {
    pub latency: Option<Time>,
    pub gap_per_byte: Option<PerByte>,
    pub bandwidth: Option<Spanned<Speed>>,
    pub rendezvous_above: Option<Whole>,
    pub send: Option<OverheadTable>,
    pub receive: Option<OverheadTable>,
    #[serde(default)]
    pub sizes: Vec<SizesTable>,
}

/// `[within_node]` of MSE.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WithinMse {
    pub latency: Option<Time>,
    pub gap_per_byte: Option<PerByte>,
    pub bandwidth: Option<Spanned<Speed>>,
    pub rendezvous_above: Option<Whole>,
    pub send: Option<GrowingTable>,
    pub receive: Option<GrowingTable>,
    #[serde(default)]
    pub sizes: Vec<SizesTable>,
}

/// `[within_node]` of Dimemas.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WithinDimemas {
    pub startup: Time,
    pub bandwidth: Option<Speed>,
}

/// `[[computer]]` of Amakata: what is not said is as with the others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ComputerTable {
    pub node: Whole,
    pub bandwidth: Option<Speed>,
    pub transfer_overhead: Option<Time>,
    pub process_creation: Option<Time>,
    pub distance_m: Option<Positive>,
}

/// `[nodes]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NodeTable {
    pub ranks_per_node: Option<Some1>,
    pub mapping: Vec<Whole>,
    pub speed: Option<Positive>,
    pub speeds: Vec<Positive>,
    pub memory_bandwidth: Option<Positive>,
    pub memory_bound: Option<Fraction>,
}

/// `[collectives]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct CollectiveTable {
    pub analytic: Option<GrowthName>,
    #[serde(rename = "combine_per_byte")]
    pub combine_per_byte: Option<PerByte>,
    pub barrier: Option<Spanned<Algorithm>>,
    pub bcast: Option<Spanned<Algorithm>>,
    pub gather: Option<Spanned<Algorithm>>,
    pub scatter: Option<Spanned<Algorithm>>,
    pub allgather: Option<Spanned<Algorithm>>,
    pub alltoall: Option<Spanned<Algorithm>>,
    pub reduce: Option<Spanned<Algorithm>>,
    pub allreduce: Option<Spanned<Algorithm>>,
    pub reduce_scatter: Option<Spanned<Algorithm>>,
    pub scan: Option<Spanned<Algorithm>>,
}

/// How the analytic time of collectives grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum GrowthName {
    Constant,
    Linear,
    Logarithmic,
}

/// `[contention]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContentionTable {
    pub topology: TopologyName,
    pub bandwidth: Speed,
    pub nodes_per_switch: Option<Spanned<Some1>>,
    pub uplinks: Option<Some1>,
    pub dimensions: Option<Spanned<Vec<Some1>>>,
}

/// The topologies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TopologyName {
    Star,
    FatTree,
    Torus,
}
