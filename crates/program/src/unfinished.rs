//! Waits that were not over when the program or its recording ended, as in a program that came to a deadlock and was killed.

use std::collections::BTreeMap;

use foretrace_trace::{ThreadId, unfinished};

use crate::lower::Lowering;

/// Waits beyond this many are counted, not told.
const LISTED: usize = 8;

impl Lowering<'_> {
    /// Warns of them, and of threads that each wait for what the next one holds.
    pub fn tell_unfinished(&mut self) {
        let name = |thread: ThreadId| self.trace.threads[thread.index()].name.as_str();
        let mut held_by = BTreeMap::new();
        let mut warnings = Vec::new();
        for wait in unfinished(self.trace) {
            let holder = wait.holder(self.trace);
            held_by.extend(holder.map(|holder| (wait.thread, holder)));
            let object = wait
                .operation
                .object()
                .map(|object| format!(" for {}", self.trace.objects[object.index()].name));
            let holder = holder.map(|holder| format!(", which {} held,", name(holder)));
            warnings.push(format!(
                "{} still waited in {}{}{} when the program or the recording ended, since {}; taken to end there",
                name(wait.thread),
                wait.operation.name(),
                object.unwrap_or_default(),
                holder.unwrap_or_default(),
                wait.since,
            ));
        }
        let further = warnings.len().saturating_sub(LISTED);
        warnings.truncate(LISTED);
        if further > 0 {
            warnings.push(format!("{further} more threads still waited at the end"));
        }
        if let Some(cycle) = cycle(&held_by) {
            let names: Vec<&str> = cycle.into_iter().map(name).collect();
            let names = names.join(", ");
            warnings.push(format!(
                "a deadlock of the program itself: {names} each waited for what the next one held"
            ));
        }
        self.warnings.extend(warnings);
    }
}

/// Returns threads of which each waits for the next, and the last for the first.
fn cycle(held_by: &BTreeMap<ThreadId, ThreadId>) -> Option<Vec<ThreadId>> {
    held_by.keys().find_map(|&first| {
        let others = std::iter::successors(held_by.get(&first), |next| held_by.get(next));
        let others = others
            .take(held_by.len())
            .take_while(|&&next| next != first);
        let mut found = vec![first];
        found.extend(others);
        let last = found.last().and_then(|last| held_by.get(last));
        (last == Some(&first)).then_some(found)
    })
}
