//! Clusters, the networks between them, and processors.

use std::{
    collections::{BTreeMap, VecDeque},
    fs,
    path::Path,
};

use toml::Spanned;

use crate::{
    error::{Fault, GridError},
    file::{self, ClusterTable, File, ProcessorTable},
    quantity::Quantity,
};

/// Processors on networks that are connected.
#[derive(Clone, Debug)]
pub struct Grid {
    /// The file that it came from, for messages.
    pub path: String,
    /// The data of a task, there and back together.
    pub size: Quantity,
    /// The networks: the clusters' own in the order of the file, then the non-local one, then others.
    pub networks: Vec<Network>,
    /// The number of clusters.
    pub clusters: usize,
    /// The processors.
    pub processors: Vec<Processor>,
}

/// A shared network.
#[derive(Clone, Debug)]
pub struct Network {
    /// Its name; a cluster's is that of the cluster.
    pub name: String,
    /// The data that it carries per second.
    pub bandwidth: Quantity,
    /// The networks that it touches.
    pub joins: Vec<usize>,
}

/// A processor.
#[derive(Clone, Debug)]
pub struct Processor {
    /// Its name.
    pub name: String,
    /// Its cluster, and that one's network.
    pub cluster: usize,
    /// The share of it that one gets.
    pub avail: Quantity,
    /// The time that a task takes on it alone, in seconds.
    pub t_slave: Quantity,
    /// The time that a master on it needs for each task, in seconds.
    pub t_master: Quantity,
}

/// The name of the network between clusters.
const NONLOCAL: &str = "nonlocal";

impl Grid {
    /// Reads a grid's file.
    ///
    /// # Errors
    ///
    /// Where it cannot be read or is not possible, with the line.
    pub fn load(path: &Path) -> Result<Self, GridError> {
        let text = fs::read_to_string(path).map_err(|source| GridError::Read {
            path: path.display().to_string(),
            source,
        })?;
        Self::parse(&text, path)
    }

    /// Reads a grid from its text; `path` names it, and files that it names are beside it.
    ///
    /// # Errors
    ///
    /// As [`Self::load`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, GridError> {
        let shown = path.display().to_string();
        toml::from_str(text)
            .map_err(Fault::from)
            .and_then(|file| build(&file, path))
            .map_err(|fault| fault.in_file(&shown, text))
    }

    /// Finds a processor by name.
    ///
    /// # Errors
    ///
    /// Where there is none, with those that there are.
    pub fn processor(&self, name: &str) -> Result<usize, GridError> {
        let found = self.processors.iter().position(|p| p.name == name);
        found.ok_or_else(|| {
            let known = self.processors.iter().map(|p| p.name.as_str());
            self.asked(format!(
                "there is no processor `{name}`; there are {}",
                list(known)
            ))
        })
    }

    /// Says that something cannot be done with this grid.
    pub(crate) fn asked(&self, message: String) -> GridError {
        GridError::Asked {
            path: self.path.clone(),
            message,
        }
    }

    /// Returns the tasks a second that a master on a processor can take back: `M = avail / t_master`.
    pub fn master_rate(&self, processor: usize) -> f64 {
        let processor = &self.processors[processor];
        processor.avail.mean() / processor.t_master.mean()
    }

    /// Returns the tasks a second that a processor can do: `S = avail / t_slave`.
    pub fn slave_rate(&self, processor: usize) -> f64 {
        let processor = &self.processors[processor];
        processor.avail.mean() / processor.t_slave.mean()
    }

    /// Returns the tasks a second whose data a network can carry: `W = bandwidth / size`.
    pub fn network_rate(&self, network: usize) -> f64 {
        self.networks[network].bandwidth.mean() / self.size.mean()
    }

    /// Returns the networks on the way from a cluster to each network, both included: over as few as possible, and of
    /// several such ways over those that come first in the file.
    pub fn routes_from(&self, cluster: usize) -> Vec<Vec<usize>> {
        let mut before = vec![usize::MAX; self.networks.len()];
        before[cluster] = cluster;
        let mut open = VecDeque::from([cluster]);
        while let Some(network) = open.pop_front() {
            for &next in &self.networks[network].joins {
                if before[next] == usize::MAX {
                    before[next] = network;
                    open.push_back(next);
                }
            }
        }
        (0..self.networks.len())
            .map(|end| {
                if before[end] == usize::MAX {
                    return Vec::new();
                }
                let mut route = vec![end];
                let mut at = end;
                while at != cluster {
                    at = before[at];
                    route.push(at);
                }
                route.reverse();
                route
            })
            .collect()
    }
}

/// Returns a list of names for messages.
fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const MOST: usize = 12;
    let mut names: Vec<&str> = names.take(MOST + 1).collect();
    if names.len() > MOST {
        names[MOST] = "...";
    }
    names.join(", ")
}

fn build(file: &File, path: &Path) -> Result<Grid, Fault> {
    let directory = path.parent().unwrap_or(Path::new(""));
    let size = match &file.size {
        Some(size) => file::quantity(size, "size", directory)?,
        None => {
            return Err(Fault::new(
                0,
                "size is missing: the data of a task, as in `size = 1.0`",
            ));
        }
    };
    if file.cluster.is_empty() {
        return Err(Fault::new(
            0,
            "there is no cluster; add `[[cluster]]` with name and bandwidth",
        ));
    }
    let mut grid = Grid {
        path: path.display().to_string(),
        size,
        networks: Vec::new(),
        clusters: file.cluster.len(),
        processors: Vec::new(),
    };
    let names = networks(file, directory, &mut grid)?;
    joins(file, &names, &mut grid)?;
    let mut known = BTreeMap::new();
    for table in &file.processor {
        let processor = processor(table, directory, file, &names, grid.clusters)?;
        let at = table.as_ref().name.span().start;
        if known.insert(processor.name.clone(), at).is_some() {
            let message = format!("the processor {} is there a second time", processor.name);
            return Err(Fault::new(at, message));
        }
        grid.processors.push(processor);
    }
    if grid.processors.len() < 2 {
        return Err(Fault::new(
            0,
            "a master and a slave need two processors; add `[[processor]]` with name, cluster, avail, t_slave and t_master",
        ));
    }
    check_connected(file, &grid)?;
    Ok(grid)
}

type Names = BTreeMap<String, usize>;

fn networks(file: &File, directory: &Path, grid: &mut Grid) -> Result<Names, Fault> {
    let mut names = Names::new();
    let mut add = |table: &Spanned<ClusterTable>, kind: &str| -> Result<(), Fault> {
        let name = table.as_ref().name.as_ref().clone();
        let at = table.as_ref().name.span().start;
        if name == NONLOCAL {
            return Err(Fault::new(
                at,
                format!(
                    "`{NONLOCAL}` is the network of the table [nonlocal]; name this {kind} otherwise"
                ),
            ));
        }
        let key = format!("the bandwidth of the {kind} {name}");
        let bandwidth = file::quantity(&table.as_ref().bandwidth, &key, directory)?;
        if names.insert(name.clone(), grid.networks.len()).is_some() {
            return Err(Fault::new(
                at,
                format!("the {kind} {name} is there a second time"),
            ));
        }
        grid.networks.push(Network {
            name,
            bandwidth,
            joins: Vec::new(),
        });
        Ok(())
    };
    for table in &file.cluster {
        add(table, "cluster")?;
    }
    for table in &file.network {
        add(table, "network")?;
    }
    if let Some(table) = &file.nonlocal {
        let bandwidth = &table.as_ref().bandwidth;
        let bandwidth = file::quantity(bandwidth, "the bandwidth of [nonlocal]", directory)?;
        names.insert(NONLOCAL.to_owned(), grid.networks.len());
        grid.networks.push(Network {
            name: NONLOCAL.to_owned(),
            bandwidth,
            joins: Vec::new(),
        });
    }
    Ok(names)
}

/// Connects the networks.
fn joins(file: &File, names: &Names, grid: &mut Grid) -> Result<(), Fault> {
    let mut pairs = Vec::new();
    let mut connect = |of: usize, with: &[Spanned<String>]| -> Result<(), Fault> {
        for other in with {
            let Some(&position) = names.get(other.as_ref()) else {
                return Err(Fault::new(
                    other.span().start,
                    format!(
                        "there is no cluster or network `{}`; there are {}",
                        other.as_ref(),
                        list(names.keys().map(String::as_str))
                    ),
                ));
            };
            if position != of {
                pairs.push((of, position));
                pairs.push((position, of));
            }
        }
        Ok(())
    };
    for table in file.cluster.iter().chain(&file.network) {
        let of = names[table.as_ref().name.as_ref()];
        connect(of, &table.as_ref().joins)?;
    }
    if let Some(table) = &file.nonlocal {
        let of = names[NONLOCAL];
        if let Some(with) = &table.as_ref().joins {
            connect(of, with)?;
        } else {
            for cluster in 0..grid.clusters {
                pairs.push((of, cluster));
                pairs.push((cluster, of));
            }
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    for (of, with) in pairs {
        grid.networks[of].joins.push(with);
    }
    Ok(())
}

fn processor(
    table: &Spanned<ProcessorTable>,
    directory: &Path,
    file: &File,
    names: &Names,
    clusters: usize,
) -> Result<Processor, Fault> {
    let table = table.as_ref();
    let name = table.name.as_ref().clone();
    let cluster = names.get(table.cluster.as_ref()).copied();
    let cluster = cluster
        .filter(|cluster| *cluster < clusters)
        .ok_or_else(|| {
            let known = file
                .cluster
                .iter()
                .map(|c| c.as_ref().name.as_ref().as_str());
            Fault::new(
                table.cluster.span().start,
                format!(
                    "the processor {name} is in the cluster `{}`, which there is not; there are {}",
                    table.cluster.as_ref(),
                    list(known)
                ),
            )
        })?;
    let read = |written, key: &str| {
        file::quantity(
            written,
            &format!("{key} of the processor {name}"),
            directory,
        )
    };
    Ok(Processor {
        cluster,
        avail: match &table.avail {
            Some(avail) => read(avail, "avail")?,
            None => Quantity::Number(1.0),
        },
        t_slave: read(&table.t_slave, "t_slave")?,
        t_master: read(&table.t_master, "t_master")?,
        name,
    })
}

/// Checks that every cluster can be reached from the first one.
fn check_connected(file: &File, grid: &Grid) -> Result<(), Fault> {
    let routes = grid.routes_from(0);
    let outside = (0..grid.clusters).find(|cluster| routes[*cluster].is_empty());
    let Some(outside) = outside else {
        return Ok(());
    };
    let at = file.cluster[outside].as_ref().name.span().start;
    Err(Fault::new(
        at,
        format!(
            "the network is not connected: nothing leads from the cluster {} to the cluster {}; add [nonlocal], or a [[network]] \
             that `joins` them",
            grid.networks[0].name, grid.networks[outside].name
        ),
    ))
}
