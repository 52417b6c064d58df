//! Calls that a function of the program's makes last of all, where the recorder's library called it in the program's place: a compiler makes
//! such a call a jump, so that it seems to come from that library.

use std::collections::HashMap;

use crate::{Call, CallId, Operation as Op, SiteId, Trace};

/// Where a thread's functions that the library called were begun.
#[derive(Clone, Copy, Default)]
struct Begun {
    region: Option<SiteId>,
    task: Option<SiteId>,
}

/// Lets such calls come from where their function was begun: an OpenMP region, or a task; from nowhere, where that is not known.
pub(super) fn place(trace: &mut Trace) {
    let sites = (0..trace.sites.len()).map(SiteId::from_index);
    let inside: Vec<bool> = sites.map(|site| trace.is_in_recorder(site)).collect();
    if !inside.contains(&true) {
        return;
    }
    let mut begun = vec![Begun::default(); trace.threads.len()];
    let mut placed: HashMap<(CallId, Option<SiteId>), CallId> = HashMap::new();
    for index in 0..trace.events.len() {
        let event = trace.events[index];
        let call = *trace.call(&event);
        let begun = &mut begun[call.thread.index()];
        if !call.site.is_some_and(|site| inside[site.index()]) {
            begun.note(trace, &call);
            continue;
        }
        let site = begun.task.or(begun.region);
        let moved = placed
            .entry((event.call, site))
            .or_insert_with(|| trace.push_call(Call { site, ..call }));
        trace.events[index].call = *moved;
    }
}

impl Begun {
    fn note(&mut self, trace: &Trace, call: &Call) {
        let Some(object) = call.operation.object() else {
            return;
        };
        let object = &trace.objects[object.index()];
        if !object.is_of_team() {
            return;
        }
        match call.operation {
            Op::SemPost(_) | Op::SemWait(_) => self.region = call.site,
            Op::DoacrossWait { .. } if object.stands_for_tasks() => self.task = call.site,
            // The end of a task, whose making is told likewise.
            Op::DoacrossPost { iteration, .. }
                if object.stands_for_tasks() && !iteration.is_multiple_of(2) =>
            {
                self.task = None;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ObjectKind, text};

    #[test]
    fn what_a_function_calls_last_of_all_comes_from_where_it_was_begun() {
        let listing = "foretrace-text 1\nreturns explicit\nmodule prog /prog\n\
                       module own /cache/libforetrace_preload.so\nsite prog+0x10\nsite prog+0x20\nsite own+0x30\nthread A\n\
                       0 A lock m site=own+0x30\n1 A unlock m site=prog+0x20\n\
                       2 A sem_post team site=prog+0x10\n3 A lock m site=prog+0x20\n4 A unlock m site=own+0x30\n\
                       5 A terminate\n";
        let mut trace = text::parse(listing, "test").unwrap();
        let mut objects = trace.objects.iter_mut();
        let team = objects.find(|object| object.kind == ObjectKind::Semaphore);
        team.unwrap().address = Some(1 << 48 | 0x1000);
        place(&mut trace);
        let sites: Vec<Option<u64>> = trace
            .events
            .iter()
            .map(|event| Some(trace.sites[trace.call(event).site?.index()].offset))
            .collect();
        let expected = [None, Some(0x20), Some(0x10), Some(0x20), Some(0x10), None];
        assert_eq!(sites, expected);
    }
}
