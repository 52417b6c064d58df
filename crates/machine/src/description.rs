//! From a file to a machine.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use foretrace_program::Program;
use foretrace_settings::{Fault, check_lists};
use foretrace_sim::{Costs, LINUX_TICK, Machine, Rate, SchedulerKind, ThreadSetting};
use toml::Spanned;

use crate::{
    error::{self, MachineError},
    file::{File, ThreadRule},
    layout,
    values::{Bandwidth, Share, Time},
};

/// The keys under which lists stand.
const LISTS: [&str; 3] = ["cpus.speeds", "cpus.group", "thread"];

/// What is known of a machine; what is not said is as it is natural for the program.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// Where it came from, and its text, for messages.
    source: Option<(PathBuf, String)>,
    pub(crate) file: File,
}

impl Description {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, or says what is not possible: with the line and what to do.
    pub fn load(path: &Path) -> Result<Self, MachineError> {
        let text = fs::read_to_string(path).map_err(|source| MachineError::Read {
            path: path.display().to_string(),
            source,
        })?;
        Self::parse(&text, path)
    }

    /// Reads a file's text; `path` is for messages.
    ///
    /// # Errors
    ///
    /// Where it says what is not possible: with the line and what to do.
    pub fn parse(text: &str, path: &Path) -> Result<Self, MachineError> {
        let parsed = toml::from_str(text).map_err(Fault::from);
        let checked = parsed.and_then(|file: File| {
            check_lists(text, &LISTS)?;
            check(&file)?;
            Ok(file)
        });
        Ok(Self {
            file: checked.map_err(|fault| error::in_file(fault, path, text))?,
            source: Some((path.to_owned(), text.to_owned())),
        })
    }

    /// Returns it with these costs of letting threads go on and of creating them.
    #[must_use]
    pub fn with_costs(mut self, costs: &Costs) -> Self {
        let table = &mut self.file.costs;
        table.wake_latency = Some(Time(costs.wake_latency));
        table.shallow_latency = Some(Time(costs.shallow_latency));
        table.shallow_idle = Some(Time(costs.shallow_idle));
        table.wake_cost = Some(Time(costs.wake_cost));
        table.preempt_cost = Some(Time(costs.preempt_cost));
        table.block_cost = Some(Time(costs.block_cost));
        table.lock_transfer = Some(Time(costs.lock_transfer));
        table.call_cost = Some(Time(costs.call_cost));
        table.offer_cost = Some(Time(costs.offer_cost));
        table.remap_cost = Some(Time(costs.remap_cost));
        table.create_cost = Some(Time(costs.create_cost));
        self
    }

    /// Returns it with threads that look for an idle CPU when they wake, or go on where they were.
    #[must_use]
    pub fn with_idle_search(mut self, idle_search: bool) -> Self {
        self.file.scheduler.idle_search = Some(idle_search);
        self
    }

    /// Returns it with threads that do so only from a CPU that was busy for such a share of the time lately.
    #[must_use]
    pub fn with_idle_search_from(mut self, busy: Share) -> Self {
        self.file.scheduler.idle_search_from = Some(busy);
        self
    }

    /// Returns it with a memory that so many CPUs can access at once at full speed; at least one.
    #[must_use]
    pub fn with_bandwidth(mut self, bandwidth: Rate) -> Self {
        self.file.memory.bandwidth = Some(Bandwidth(bandwidth.max(Rate::ONE)));
        self
    }

    /// Returns it with a program that spends this share of its CPU time on accesses to the memory.
    #[must_use]
    pub fn with_memory_bound(mut self, bound: Share) -> Self {
        self.file.memory.bound = Some(bound);
        self
    }

    /// Returns it with a program that spends this share of its CPU time on one CPU on filling caches that other threads emptied.
    #[must_use]
    pub fn with_refill(mut self, refill: Share) -> Self {
        self.file.memory.refill = Some(refill);
        self
    }

    /// Returns the share of a recording's CPU time that went on filling caches that other threads had emptied.
    pub fn refill(&self) -> Rate {
        self.file
            .memory
            .refill
            .map_or(Rate(0), |Share(share)| share)
    }

    /// Returns the file that it was read from.
    pub fn path(&self) -> Option<&Path> {
        self.source.as_ref().map(|(path, _)| path.as_path())
    }

    /// Returns the number of CPUs that the machine has, where that is said.
    pub fn cpus(&self) -> Option<u32> {
        layout::count(&self.file.cpus).map(|(count, _)| count)
    }

    /// Returns what may be a mistake: rules about threads that the program has not got.
    pub fn warnings(&self, program: &Program) -> Vec<String> {
        let path = self.path().unwrap_or(Path::new("")).display();
        let mut warnings = Vec::new();
        for rule in &self.file.thread {
            let rule = rule.get_ref();
            let mut threads = program.threads.iter().enumerate();
            if !threads.any(|(index, thread)| rule.is_about(index, &thread.name)) {
                let whom = match (&rule.name, rule.number) {
                    (Some(name), None) => format!("`{name}`"),
                    (Some(name), Some(number)) => format!("`{name}` of number {number}"),
                    (None, number) => format!("number {}", number.unwrap_or_default()),
                };
                warnings.push(format!(
                    "{path}: there is no thread {whom}; `foretrace info` lists them"
                ));
            }
        }
        warnings.extend(self.contradictions(program));
        warnings
    }

    /// Returns what is said twice, and differently, of one thread: by its name and by its number. A pattern for several threads may be
    /// meant to be overruled for one of them.
    fn contradictions(&self, program: &Program) -> Vec<String> {
        let Some((path, text)) = &self.source else {
            return Vec::new();
        };
        let line = |rule: &Spanned<ThreadRule>| Fault::new(rule.span().start, "").line_in(text);
        let mut said: BTreeMap<usize, Vec<&Spanned<ThreadRule>>> = BTreeMap::new();
        for rule in &self.file.thread {
            let threads = program.threads.iter().enumerate();
            let mut about =
                threads.filter(|(index, thread)| rule.get_ref().is_about(*index, &thread.name));
            if let (Some((index, _)), None) = (about.next(), about.next()) {
                said.entry(index).or_default().push(rule);
            }
        }
        let mut warnings = Vec::new();
        for (index, rules) in said {
            for pair in rules.windows(2) {
                let [one, other] = [pair[0].get_ref(), pair[1].get_ref()];
                let keys = [
                    ("priority", one.priority_overruled_by(other)),
                    ("cpu", one.cpu_overruled_by(other)),
                ];
                for (key, _) in keys.into_iter().filter(|(_, is_overruled)| *is_overruled) {
                    warnings.push(format!(
                        "{}: the {key} of thread {index}, `{}`, is said in lines {} and {}; the last holds",
                        path.display(),
                        program.threads[index].name,
                        line(pair[0]),
                        line(pair[1])
                    ));
                }
            }
        }
        warnings
    }

    /// Makes the machine with so many CPUs that a program is to be replayed on. `scheduler` is the one asked for, where one
    /// is.
    ///
    /// # Errors
    ///
    /// Where that is not possible: with the line and what to do.
    pub fn machine(
        &self,
        cpus: u32,
        program: &Program,
        scheduler: Option<SchedulerKind>,
    ) -> Result<Machine, MachineError> {
        self.resolve(cpus, program, scheduler)
            .map_err(|fault| self.located(fault))
    }

    /// Checks that threads are bound to CPUs that are there, where so many are asked for at most.
    ///
    /// # Errors
    ///
    /// Names the line of the binding.
    pub fn check_bindings(&self, cpus: u32) -> Result<(), MachineError> {
        check_bindings(&self.file, self.cpus().unwrap_or(cpus)).map_err(|fault| self.located(fault))
    }

    fn located(&self, fault: Fault) -> MachineError {
        let (path, text) = match &self.source {
            Some((path, text)) => (path.as_path(), text.as_str()),
            None => (Path::new("the machine"), ""),
        };
        error::in_file(fault, path, text)
    }

    fn resolve(
        &self,
        cpus: u32,
        program: &Program,
        scheduler: Option<SchedulerKind>,
    ) -> Result<Machine, Fault> {
        let mut machine = Machine::new(cpus, program);
        let processors = layout::processors(&self.file.cpus, machine.cpus)?;
        if !layout::is_plain(&processors) {
            machine.processors = processors;
        }
        self.set_costs(&mut machine);
        let memory = &self.file.memory;
        if let Some(Bandwidth(bandwidth)) = memory.bandwidth {
            machine.memory.bandwidth = bandwidth;
        }
        if let Some(Share(bound)) = memory.bound {
            machine.memory.bound = bound;
        }
        if let Some(handover) = self.file.locks.handover {
            machine.handover = handover.into();
        }
        machine.runnable_limit = self.file.threads.limit.map(|limit| limit.0);
        if let Some(slice) = self.file.scheduler.slice {
            machine.slice = slice.0;
        }
        if let Some(preempts) = self.file.scheduler.wakeup_preemption {
            machine.wakeup_preemption = preempts;
        }
        if let Some(run_queues) = self.file.scheduler.run_queues {
            machine.run_queues = run_queues;
        }
        if let Some(idle_search) = self.file.scheduler.idle_search {
            machine.idle_search = idle_search;
        }
        if let Some(Share(busy)) = self.file.scheduler.idle_search_from {
            machine.idle_search_from = busy;
        }
        if !machine.idle_search || machine.idle_search_from > Rate(0) {
            machine.idle_balance = LINUX_TICK;
        }
        if let Some(idle_balance) = self.file.scheduler.idle_balance {
            machine.idle_balance = idle_balance.0;
        }
        if let Some(Share(idle_takes)) = self.file.scheduler.idle_takes {
            machine.idle_takes = idle_takes;
        }
        self.set_threads(&mut machine, program);
        let said = self.file.scheduler.kind.map(SchedulerKind::from);
        machine.scheduler = match scheduler.or(said) {
            Some(kind) => kind,
            None if machine.has_priorities(program) => SchedulerKind::Priority,
            None => SchedulerKind::Fair,
        };
        let priorities = self.file.thread.iter();
        let mut priorities = priorities.filter_map(|rule| rule.get_ref().priority.as_ref());
        if let (SchedulerKind::Fair, Some(priority)) = (machine.scheduler, priorities.next()) {
            let message = "the fair scheduler knows no priorities; choose `kind = \"priority\"` or \"round-robin\" in \
                           [scheduler], or leave this out";
            return Err(Fault::new(priority.span().start, message));
        }
        Ok(machine)
    }

    fn set_costs(&self, machine: &mut Machine) {
        let table = &self.file.costs;
        let sockets = self.file.cpus.sockets.as_ref();
        let costs = &mut machine.costs;
        for (value, said) in [
            (&mut costs.wake_latency, table.wake_latency),
            (&mut costs.shallow_latency, table.shallow_latency),
            (&mut costs.shallow_idle, table.shallow_idle),
            (&mut costs.wake_cost, table.wake_cost),
            (&mut costs.preempt_cost, table.preempt_cost),
            (&mut costs.block_cost, table.block_cost),
            (&mut costs.lock_transfer, table.lock_transfer),
            (&mut costs.call_cost, table.call_cost),
            (&mut costs.offer_cost, table.offer_cost),
            (&mut costs.remap_cost, table.remap_cost),
            (&mut costs.switch_cost, table.switch_cost),
            (&mut costs.create_cost, table.create_cost),
            (&mut costs.team_spin, table.team_spin),
            (&mut costs.team_latency, table.team_latency),
            (&mut costs.migration, self.file.cpus.migration),
            (
                &mut costs.socket_migration,
                sockets.and_then(|sockets| sockets.get_ref().migration),
            ),
        ] {
            if let Some(time) = said {
                *value = time.0;
            }
        }
    }

    fn set_threads(&self, machine: &mut Machine, program: &Program) {
        if self.file.thread.is_empty() {
            return;
        }
        let setting = |(index, thread): (usize, &foretrace_program::Thread)| {
            let mut setting = ThreadSetting::default();
            let rules = self.file.thread.iter().map(toml::Spanned::get_ref);
            // What is said last holds.
            for rule in rules.filter(|rule| rule.is_about(index, &thread.name)) {
                let priority = rule.priority.as_ref().map(|said| said.get_ref().0);
                setting.priority = priority.or(setting.priority);
                let cpu = rule.cpu.as_ref().map(|said| *said.get_ref());
                setting.cpu = cpu.or(setting.cpu);
            }
            setting
        };
        machine.threads = program.threads.iter().enumerate().map(setting).collect();
    }
}

fn check(file: &File) -> Result<(), Fault> {
    layout::check(&file.cpus)?;
    for rule in &file.thread {
        let ThreadRule { name, number, .. } = rule.get_ref();
        if name.is_none() && number.is_none() {
            let message = "which thread is not said; write name = \"T1\", a pattern as in \"T*\", or number = 1";
            return Err(Fault::new(rule.span().start, message));
        }
    }
    match layout::count(&file.cpus) {
        Some((count, _)) => check_bindings(file, count),
        None => Ok(()),
    }
}

fn check_bindings(file: &File, count: u32) -> Result<(), Fault> {
    let bindings = file
        .thread
        .iter()
        .filter_map(|rule| rule.get_ref().cpu.as_ref());
    for cpu in bindings {
        let (number, last) = (*cpu.get_ref(), count.saturating_sub(1));
        if number > last {
            let message = if last == 0 {
                format!("CPU {number} is not there: the machine has one, CPU 0")
            } else {
                format!(
                    "CPU {number} is not there: the machine has {count}; name one from 0 to {last}"
                )
            };
            return Err(Fault::new(cpu.span().start, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
