//! Which CPUs there are: their numbers, cores and sockets.
//!
//! CPUs are numbered as Linux does on most machines: first one of each core, then the second of those that have one, and
//! so on. A prediction for fewer CPUs than the machine has uses the first ones.

use foretrace_settings::Fault;
use foretrace_sim::{Processor, Rate};

use crate::{
    file::{Cpus, Smt},
    values::Throughput,
};

/// Cores that are alike.
struct Kind {
    cpus: u32,
    speed: Rate,
    ways: u32,
    throughput: Rate,
}

/// Returns the number of CPUs, where the file says it, and where it does.
pub(crate) fn count(cpus: &Cpus) -> Option<(u32, usize)> {
    if let Some(count) = &cpus.count {
        return Some((count.get_ref().0, count.span().start));
    }
    if let Some(speeds) = &cpus.speeds {
        return Some((speeds.get_ref().len() as u32, speeds.span().start));
    }
    let first = cpus.group.first()?.span().start;
    let groups = cpus.group.iter().map(|group| group.get_ref().count.0);
    Some((groups.sum(), first))
}

/// Checks what can be checked before it is known how many CPUs are asked for.
pub(crate) fn check(cpus: &Cpus) -> Result<(), Fault> {
    if let (Some(speeds), Some(_)) = (&cpus.speeds, cpus.group.first()) {
        let message = "speeds are said here and by the groups; leave one of them out";
        return Err(Fault::new(speeds.span().start, message));
    }
    if let Some(speeds) = &cpus.speeds
        && speeds.get_ref().is_empty()
    {
        let message = "there must be a CPU; write a speed for each, as in [1.0, 0.5]";
        return Err(Fault::new(speeds.span().start, message));
    }
    if let Some(count) = &cpus.count {
        let said = count.get_ref().0;
        let groups: u32 = cpus.group.iter().map(|group| group.get_ref().count.0).sum();
        let speeds = cpus
            .speeds
            .as_ref()
            .map(|speeds| speeds.get_ref().len() as u32);
        let others = speeds.or((groups > 0).then_some(groups));
        if let Some(others) = others.filter(|others| *others != said) {
            let message = format!(
                "the count is {said}, but {others} CPUs are described; leave the count out"
            );
            return Err(Fault::new(count.span().start, message));
        }
    }
    if let Some((all, at)) = count(cpus) {
        let cores = kinds(cpus, all)?;
        let cores: u32 = cores.iter().map(|kind| kind.cpus / kind.ways).sum();
        if let Some(sockets) = &cpus.sockets {
            let sockets = sockets.get_ref().count.0;
            if !cores.is_multiple_of(sockets) {
                let message = format!(
                    "{cores} cores cannot be shared out among {sockets} sockets; write another number of CPUs or sockets"
                );
                return Err(Fault::new(at, message));
            }
        }
    }
    Ok(())
}

/// Returns the machine's CPUs, `asked` of them.
pub(crate) fn processors(cpus: &Cpus, asked: u32) -> Result<Vec<Processor>, Fault> {
    let all = match count(cpus) {
        Some((all, at)) if asked > all => {
            let message = format!(
                "the machine has {all} CPUs, and {asked} are asked for; ask for fewer with --cpus, or describe more"
            );
            return Err(Fault::new(at, message));
        }
        Some((all, _)) => all,
        None => asked,
    };
    let kinds = kinds(cpus, all)?;
    let mut cores: Vec<Processor> = Vec::new();
    for kind in &kinds {
        for _ in 0..kind.cpus.div_ceil(kind.ways) {
            cores.push(Processor {
                speed: kind.speed,
                core: cores.len() as u32,
                ways: kind.ways,
                throughput: kind.throughput,
                socket: 0,
            });
        }
    }
    let sockets = cpus.sockets.as_ref().map_or(1, |s| s.get_ref().count.0);
    let count = cores.len() as u64;
    for core in &mut cores {
        core.socket = (u64::from(core.core) * u64::from(sockets) / count) as u32;
    }
    let most_ways = kinds.iter().map(|kind| kind.ways).max().unwrap_or(1);
    let mut processors: Vec<Processor> = (0..most_ways)
        .flat_map(|way| cores.iter().filter(move |core| way < core.ways).copied())
        .take(asked as usize)
        .collect();
    if let Some(speeds) = &cpus.speeds {
        for (processor, speed) in processors.iter_mut().zip(speeds.get_ref()) {
            processor.speed = speed.0;
        }
    }
    Ok(processors)
}

/// Returns whether CPUs are all of speed one, alone in their cores, and of one socket: then nothing need be said of them.
pub(crate) fn is_plain(processors: &[Processor]) -> bool {
    let alone = |(index, cpu): (usize, &Processor)| cpu.core as usize == index;
    processors.iter().enumerate().all(alone)
        && processors
            .iter()
            .all(|cpu| cpu.speed == Rate::ONE && cpu.socket == 0)
}

fn kinds(cpus: &Cpus, all: u32) -> Result<Vec<Kind>, Fault> {
    let common = smt(cpus.smt.as_ref())?;
    if cpus.group.is_empty() {
        if let (Some((_, at)), true) = (count(cpus), !all.is_multiple_of(common.ways.0)) {
            return Err(indivisible(all, &common, at));
        }
        return Ok(vec![kind(all, Rate::ONE, &common)]);
    }
    let kind_of = |group: &toml::Spanned<crate::file::Group>| {
        let (at, group) = (group.span().start, group.get_ref());
        let smt = match &group.smt {
            Some(own) => smt(Some(own))?,
            None => common.clone(),
        };
        if !group.count.0.is_multiple_of(smt.ways.0) {
            return Err(indivisible(group.count.0, &smt, at));
        }
        let speed = group.speed.map_or(Rate::ONE, |speed| speed.0);
        Ok(kind(group.count.0, speed, &smt))
    };
    cpus.group.iter().map(kind_of).collect()
}

fn kind(cpus: u32, speed: Rate, smt: &Smt) -> Kind {
    Kind {
        cpus,
        speed,
        ways: smt.ways.0,
        throughput: smt.throughput.0,
    }
}

fn indivisible(cpus: u32, smt: &Smt, at: usize) -> Fault {
    let ways = smt.ways.0;
    let message = format!(
        "{cpus} CPUs cannot make cores of {ways}; write a multiple of {ways}, or other ways of smt"
    );
    Fault::new(at, message)
}

fn smt(said: Option<&toml::Spanned<Smt>>) -> Result<Smt, Fault> {
    let Some(said) = said else {
        return Ok(Smt::alone());
    };
    let smt = said.get_ref();
    if smt.ways.0 == 1 {
        return Ok(Smt {
            throughput: Throughput::ONE,
            ..smt.clone()
        });
    }
    if smt.throughput.0.0 > u64::from(smt.ways.0) * Rate::ONE.0 {
        let message = format!(
            "{} CPUs of a core cannot do more than {} times the work of one; write a smaller throughput",
            smt.ways.0, smt.ways.0
        );
        return Err(Fault::new(said.span().start, message));
    }
    Ok(smt.clone())
}
