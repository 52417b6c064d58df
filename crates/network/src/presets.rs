//! The networks that come with the program.

/// The presets: their names and their files.
pub const PRESETS: [(&str, &str); 7] = [
    (
        "amakata-pc-cluster",
        include_str!("../../../assets/networks/amakata-pc-cluster.toml"),
    ),
    (
        "dimemas",
        include_str!("../../../assets/networks/dimemas.toml"),
    ),
    (
        "gigabit-ethernet",
        include_str!("../../../assets/networks/gigabit-ethernet.toml"),
    ),
    (
        "infiniband",
        include_str!("../../../assets/networks/infiniband.toml"),
    ),
    (
        "loggopsim",
        include_str!("../../../assets/networks/loggopsim.toml"),
    ),
    (
        "loggps-fast-ethernet",
        include_str!("../../../assets/networks/loggps-fast-ethernet.toml"),
    ),
    (
        "mse-fast-ethernet",
        include_str!("../../../assets/networks/mse-fast-ethernet.toml"),
    ),
];

/// Returns the names, for messages.
pub(crate) fn names() -> String {
    PRESETS.map(|(name, _)| name).join(", ")
}
