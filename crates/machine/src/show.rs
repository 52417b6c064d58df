//! A description as a file with every key.

use std::fmt::Write as _;

use foretrace_program::Program;
use foretrace_sim::{Machine, Memory, Rate, SchedulerKind};

use crate::{
    Description, MachineError,
    file::Smt,
    values::{rate_text, time_text},
};

impl Description {
    /// Returns a file that says all there is to say about the machine, with what each key means. It is that of a recorded
    /// program; `cpus` are those asked for, where some are.
    ///
    /// # Errors
    ///
    /// Where the machine cannot have so many CPUs.
    pub fn show(&self, cpus: Option<u32>) -> Result<String, MachineError> {
        let mut recorded = Program::default();
        recorded.recorded = true;
        let kind = self.file.scheduler.kind.map(SchedulerKind::from);
        let count = cpus.or(self.cpus());
        // Without a program there is no thread whose priority could matter.
        let any = kind.unwrap_or(SchedulerKind::Priority);
        let machine = self.machine(count.unwrap_or(1), &recorded, Some(any))?;
        self.check_bindings(count.unwrap_or(u32::MAX))?;
        let mut text = String::new();
        if let (Some(asked), Some(all)) = (cpus, self.cpus())
            && asked < all
        {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "# Of its CPUs, a prediction for {asked} uses the first.\n"
            );
        }
        self.show_cpus(&machine, self.cpus().or(cpus), &mut text);
        show_scheduler(&machine, kind, &mut text);
        show_costs(&machine, &mut text);
        show_memory(machine.memory, self.refill(), &mut text);
        self.show_threads(&mut text);
        Ok(text)
    }

    fn show_cpus(&self, machine: &Machine, count: Option<u32>, text: &mut String) {
        let cpus = &self.file.cpus;
        text.push_str("[cpus]\n");
        match count {
            Some(count) => line(text, &format!("count = {count}"), ""),
            None => line(text, "# count = 8", "as many as --cpus asks for"),
        }
        let about = "for each CPU, seconds of recorded work a second";
        if let Some(speeds) = &cpus.speeds {
            let speeds = speeds.get_ref().iter();
            let speeds: Vec<String> = speeds.map(|speed| rate_text(speed.0)).collect();
            line(text, &format!("speeds = [{}]", speeds.join(", ")), about);
        } else if cpus.group.is_empty() {
            line(text, "# speeds = [1.0, 0.5]", about);
        }
        let migration = format!("migration = \"{}\"", time_text(machine.costs.migration));
        line(
            text,
            &migration,
            "CPU time to go on on another core of a socket",
        );
        let smt = cpus.smt.as_ref().map(toml::Spanned::get_ref);
        show_smt("[cpus.smt]", smt, text);
        let sockets = cpus.sockets.as_ref().map_or(1, |s| s.get_ref().count.0);
        text.push_str("\n[cpus.sockets]\n");
        line(text, &format!("count = {sockets}"), "");
        let migration = time_text(machine.costs.socket_migration);
        let migration = format!("migration = \"{migration}\"");
        line(text, &migration, "CPU time to go on on another socket");
        for group in &cpus.group {
            let group = group.get_ref();
            text.push_str("\n[[cpus.group]]\n");
            line(text, &format!("count = {}", group.count.0), "");
            let speed = group
                .speed
                .map_or("1.0".to_owned(), |speed| rate_text(speed.0));
            line(
                text,
                &format!("speed = {speed}"),
                "seconds of recorded work a second",
            );
            let own = group.smt.as_ref().map(toml::Spanned::get_ref);
            if own.is_some() {
                show_smt("[cpus.group.smt]", own, text);
            }
        }
    }

    fn show_threads(&self, text: &mut String) {
        text.push_str("\n[threads]\n");
        let about = "the most threads of a process that run or want to at once";
        match self.file.threads.limit {
            Some(limit) => line(text, &format!("limit = {}", limit.0), about),
            None => line(text, "# limit = 8", about),
        }
        if self.file.thread.is_empty() {
            text.push_str("\n# [[thread]]\n");
            line(text, "# name = \"T*\"", "or number = 1");
            line(text, "# priority = 5", "larger runs first");
            line(text, "# cpu = 0", "the only one that it may run on");
        }
        for rule in &self.file.thread {
            let rule = rule.get_ref();
            text.push_str("\n[[thread]]\n");
            if let Some(name) = &rule.name {
                let name = toml::Value::from(name.as_str());
                line(text, &format!("name = {name}"), "");
            }
            if let Some(number) = rule.number {
                line(text, &format!("number = {number}"), "");
            }
            if let Some(priority) = &rule.priority {
                let priority = priority.get_ref().0;
                line(text, &format!("priority = {priority}"), "larger runs first");
            }
            if let Some(cpu) = &rule.cpu {
                let cpu = cpu.get_ref();
                line(
                    text,
                    &format!("cpu = {cpu}"),
                    "the only one that it may run on",
                );
            }
        }
    }
}

fn show_smt(header: &str, smt: Option<&Smt>, text: &mut String) {
    let alone = Smt::alone();
    let smt = smt.unwrap_or(&alone);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n{header}");
    line(
        text,
        &format!("ways = {}", smt.ways.0),
        "CPUs that share a core",
    );
    let throughput = format!("throughput = {}", rate_text(smt.throughput.0));
    line(
        text,
        &throughput,
        "what a core does when all its CPUs are busy, where one does 1",
    );
}

fn show_scheduler(machine: &Machine, kind: Option<SchedulerKind>, text: &mut String) {
    text.push_str("\n[scheduler]\n");
    if let Some(kind) = kind {
        let known = "priority, fair or round-robin";
        line(text, &format!("kind = \"{}\"", kind.name()), known);
    } else {
        let natural = "priority where every thread carries one, else fair";
        line(text, "# kind = \"fair\"", natural);
    }
    let slice = format!("slice = \"{}\"", time_text(machine.slice));
    line(text, &slice, "of fair and round-robin");
    let preempts = format!("wakeup_preemption = {}", machine.wakeup_preemption);
    line(text, &preempts, "of fair: who wakes need not wait");
    let queues = format!("run_queues = {}", machine.run_queues);
    line(text, &queues, "of fair: each CPU has its own queue");
    let search = format!("idle_search = {}", machine.idle_search);
    line(text, &search, "whether who wakes looks for an idle CPU");
    let from = format!("idle_search_from = {}", rate_text(machine.idle_search_from));
    line(text, &from, "share of the time its own was busy, for that");
    let balance = format!("idle_balance = \"{}\"", time_text(machine.idle_balance));
    line(
        text,
        &balance,
        "how often idle CPUs take from others' queues",
    );
    let takes = format!("idle_takes = {}", rate_text(machine.idle_takes));
    line(text, &takes, "share of them that do as they become idle");
}

fn show_costs(machine: &Machine, text: &mut String) {
    text.push_str("\n[locks]\n");
    let handover = format!("handover = \"{}\"", machine.handover.name());
    line(text, &handover, "barging or first-come");
    text.push_str("\n[costs]\n");
    let costs = &machine.costs;
    for (key, time, about) in [
        (
            "wake_latency",
            costs.wake_latency,
            "until a thread runs on a CPU that was idle",
        ),
        (
            "shallow_latency",
            costs.shallow_latency,
            "the same where it was not idle for long",
        ),
        (
            "shallow_idle",
            costs.shallow_idle,
            "for how long that is so",
        ),
        (
            "wake_cost",
            costs.wake_cost,
            "CPU time of the one that calls it there",
        ),
        (
            "preempt_cost",
            costs.preempt_cost,
            "CPU time of its interrupting another there",
        ),
        (
            "block_cost",
            costs.block_cost,
            "CPU time of a wait that the recording did not have",
        ),
        (
            "lock_transfer",
            costs.lock_transfer,
            "CPU time of getting a mutex from another CPU",
        ),
        (
            "call_cost",
            costs.call_cost,
            "CPU time of asking to wait for a lock, in vain",
        ),
        (
            "offer_cost",
            costs.offer_cost,
            "CPU time of having one woken that waits for a lock",
        ),
        (
            "remap_cost",
            costs.remap_cost,
            "time of giving memory back beside another thread",
        ),
        (
            "switch_cost",
            costs.switch_cost,
            "CPU time of each switch between threads",
        ),
        (
            "create_cost",
            costs.create_cost,
            "CPU time of creating a thread, beyond the recorded",
        ),
        (
            "team_spin",
            costs.team_spin,
            "for how long OpenMP's threads wait awake",
        ),
        (
            "team_latency",
            costs.team_latency,
            "CPU time in which such a thread goes on",
        ),
    ] {
        line(text, &format!("{key} = \"{}\"", time_text(time)), about);
    }
}

fn show_memory(memory: Memory, refill: Rate, text: &mut String) {
    text.push_str("\n[memory]\n");
    let bandwidth = format!("bandwidth = {}", rate_text(memory.bandwidth));
    line(
        text,
        &bandwidth,
        "CPUs that can access it at once at full speed",
    );
    let bound = format!("bound = {}", rate_text(memory.bound));
    line(text, &bound, "share of the CPU time that goes on accesses");
    let refill = format!("refill = {}", rate_text(refill));
    line(
        text,
        &refill,
        "share of the recorded CPU time that refilled caches",
    );
}

/// Adds a line, with what it means beside it.
fn line(text: &mut String, said: &str, about: &str) {
    // Writing to a string cannot fail.
    let _ = if about.is_empty() {
        writeln!(text, "{said}")
    } else {
        writeln!(text, "{said:<26} # {about}")
    };
}
