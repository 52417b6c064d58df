//! The machine in force, in a few words and as JSON.

use foretrace_sim::{Costs, Machine, Processor, Rate, SchedulerKind};
use foretrace_trace::Nanos;
use serde::Serialize;

/// Returns a line that names it.
pub fn text(machine: &Machine) -> String {
    format!("Machine: {} (--machine changes it)", brief_text(machine))
}

/// Names it in a few words.
pub fn brief_text(machine: &Machine) -> String {
    let mut parts = vec![scheduler(machine)];
    parts.extend(processors(&machine.processors));
    if machine.memory.bound > Rate(0) {
        parts.push(format!(
            "{:.0} % of the CPU time on memory of {:.2} times one CPU's bandwidth",
            100.0 * factor(machine.memory.bound),
            factor(machine.memory.bandwidth)
        ));
    }
    if machine.memory.refill > Rate(0) {
        let refill = 100.0 * factor(machine.memory.refill);
        parts.push(format!(
            "work after another's turn takes {refill:.0} % longer, for cold caches"
        ));
    }
    if let Some(limit) = machine.runnable_limit {
        parts.push(format!("at most {limit} threads of a process runnable"));
    }
    parts.push(costs(&machine.costs));
    parts.join("; ")
}

fn scheduler(machine: &Machine) -> String {
    let name = machine.scheduler.name();
    match machine.scheduler {
        SchedulerKind::Priority => format!("{name} scheduler"),
        SchedulerKind::Fair | SchedulerKind::RoundRobin => {
            format!(
                "{name} scheduler, slices of {}",
                brief(machine.slice.as_nanos())
            )
        }
    }
}

fn processors(processors: &[Processor]) -> Vec<String> {
    let mut parts = Vec::new();
    let speeds = processors.iter().map(|cpu| cpu.speed);
    if let (Some(slowest), Some(fastest)) = (speeds.clone().min(), speeds.max())
        && (slowest, fastest) != (Rate::ONE, Rate::ONE)
    {
        parts.push(if slowest == fastest {
            format!("CPUs of speed {}", factor(slowest))
        } else {
            format!("CPUs of speeds {} to {}", factor(slowest), factor(fastest))
        });
    }
    let shared = processors
        .iter()
        .zip(0..)
        .find(|(cpu, index)| cpu.core != *index);
    if let Some((cpu, _)) = shared {
        parts.push(format!(
            "{} CPUs a core that do {} of one",
            cpu.ways,
            factor(cpu.throughput)
        ));
    }
    let sockets = processors.iter().map(|cpu| cpu.socket + 1).max();
    parts.extend(
        sockets
            .filter(|&count| count > 1)
            .map(|count| format!("{count} sockets")),
    );
    parts
}

fn costs(costs: &Costs) -> String {
    if *costs == Costs::NONE {
        return "nothing but work takes time".to_owned();
    }
    if costs.wake_latency.0 == 0 {
        return "idle CPUs wake at once".to_owned();
    }
    let long = brief(costs.wake_latency.as_nanos());
    if costs.shallow_idle.0 > 0 && costs.shallow_latency < costs.wake_latency {
        let short = brief(costs.shallow_latency.as_nanos());
        return format!("waking an idle CPU takes {short} to {long}");
    }
    format!("waking an idle CPU takes {long}")
}

/// Returns a time without the zeros behind its point.
fn brief(nanos: u64) -> String {
    let text = Nanos(nanos).to_string();
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            let number = number.trim_end_matches('0').trim_end_matches('.');
            format!("{number} {unit}")
        }
        _ => text,
    }
}

fn factor(rate: Rate) -> f64 {
    rate.0 as f64 / Rate::ONE.0 as f64
}

/// The machine of a prediction.
#[derive(Debug, Serialize)]
pub struct MachineJson {
    slice_ns: u64,
    wakeup_preemption: bool,
    run_queues: bool,
    idle_search: bool,
    idle_search_from: f64,
    idle_balance_ns: u64,
    idle_takes: f64,
    handover: &'static str,
    costs: CostsJson,
    memory: MemoryJson,
    runnable_limit: Option<u32>,
    /// Nothing where all CPUs are of speed one and alone in their cores.
    processors: Vec<ProcessorJson>,
}

#[derive(Debug, Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "the names in the document say their units"
)]
struct CostsJson {
    wake_latency_ns: u64,
    shallow_latency_ns: u64,
    shallow_idle_ns: u64,
    wake_cost_ns: u64,
    preempt_cost_ns: u64,
    block_cost_ns: u64,
    lock_transfer_ns: u64,
    call_cost_ns: u64,
    offer_cost_ns: u64,
    remap_cost_ns: u64,
    switch_cost_ns: u64,
    create_cost_ns: u64,
    team_spin_ns: u64,
    team_latency_ns: u64,
    migration_ns: u64,
    socket_migration_ns: u64,
}

#[derive(Debug, Serialize)]
struct MemoryJson {
    bandwidth: f64,
    bound: f64,
    refill: f64,
}

#[derive(Debug, Serialize)]
struct ProcessorJson {
    speed: f64,
    core: u32,
    core_throughput: f64,
    socket: u32,
}

impl MachineJson {
    /// Takes it from the machine.
    pub fn new(machine: &Machine) -> Self {
        let costs = &machine.costs;
        let processor = |cpu: &Processor| ProcessorJson {
            speed: factor(cpu.speed),
            core: cpu.core,
            core_throughput: factor(cpu.throughput),
            socket: cpu.socket,
        };
        Self {
            slice_ns: machine.slice.as_nanos(),
            wakeup_preemption: machine.wakeup_preemption,
            run_queues: machine.run_queues,
            idle_search: machine.idle_search,
            idle_search_from: factor(machine.idle_search_from),
            idle_balance_ns: machine.idle_balance.as_nanos(),
            idle_takes: factor(machine.idle_takes),
            handover: machine.handover.name(),
            costs: CostsJson {
                wake_latency_ns: costs.wake_latency.as_nanos(),
                shallow_latency_ns: costs.shallow_latency.as_nanos(),
                shallow_idle_ns: costs.shallow_idle.as_nanos(),
                wake_cost_ns: costs.wake_cost.as_nanos(),
                preempt_cost_ns: costs.preempt_cost.as_nanos(),
                block_cost_ns: costs.block_cost.as_nanos(),
                lock_transfer_ns: costs.lock_transfer.as_nanos(),
                call_cost_ns: costs.call_cost.as_nanos(),
                offer_cost_ns: costs.offer_cost.as_nanos(),
                remap_cost_ns: costs.remap_cost.as_nanos(),
                switch_cost_ns: costs.switch_cost.as_nanos(),
                create_cost_ns: costs.create_cost.as_nanos(),
                team_spin_ns: costs.team_spin.as_nanos(),
                team_latency_ns: costs.team_latency.as_nanos(),
                migration_ns: costs.migration.as_nanos(),
                socket_migration_ns: costs.socket_migration.as_nanos(),
            },
            memory: MemoryJson {
                bandwidth: factor(machine.memory.bandwidth),
                bound: factor(machine.memory.bound),
                refill: factor(machine.memory.refill),
            },
            runnable_limit: machine.runnable_limit,
            processors: machine.processors.iter().map(processor).collect(),
        }
    }
}
