//! The file as it is written: its tables and keys. What they mean is in `docs/machine.md`.

use foretrace_sim::Handover;
use serde::Deserialize;

use crate::values::Time;

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct File {
    pub locks: Locks,
    pub costs: CostTable,
}

/// `[locks]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Locks {
    pub handover: Option<HandoverName>,
}

/// Who gets a lock that is given up.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HandoverName {
    Barging,
    FirstCome,
}

impl From<HandoverName> for Handover {
    fn from(name: HandoverName) -> Self {
        match name {
            HandoverName::Barging => Self::Barging,
            HandoverName::FirstCome => Self::FirstCome,
        }
    }
}

/// `[costs]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CostTable {
    pub wake_latency: Option<Time>,
    pub wake_cost: Option<Time>,
    pub block_cost: Option<Time>,
}
