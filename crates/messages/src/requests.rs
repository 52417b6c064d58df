//! The requests of recorded ranks.

use std::collections::{HashMap, HashSet};

use foretrace_trace::{Action, End, Operation as Event, Trace};

/// Returns the first number of a request that no call has.
pub(crate) fn first_unused(trace: &Trace) -> u32 {
    let requests = trace.messages.iter().flat_map(|message| {
        let collective = message.action.collectives().filter_map(|call| call.request);
        let points = message.action.points().filter_map(|point| point.request);
        points.chain(collective)
    });
    requests.max().map_or(0, |most| most + 1)
}

/// Returns the receives that were begun, and whose end no rank ever saw: by their events and requests. Whether a message came for
/// them is not known, and changed nothing.
///
/// In a trace that somebody wrote they are mistakes, and stay.
pub(crate) fn unended(trace: &Trace, owners: &[Option<u32>]) -> HashSet<(u32, u32)> {
    if trace.recording.is_none() {
        return HashSet::new();
    }
    let mut open = HashMap::new();
    for (number, event) in (0..).zip(&trace.events) {
        let call = trace.call(event);
        let (Event::Message(message), Some(rank)) = (call.operation, owners[call.thread.index()])
        else {
            continue;
        };
        let action = &trace.messages[message.index()].action;
        for point in action.points().filter(|point| point.end == End::Receive) {
            if let Some(request) = point.request {
                open.insert((rank, request), number);
            }
        }
        if let Action::Wait { requests } = action {
            for &request in requests {
                open.remove(&(rank, request));
            }
        }
    }
    open.into_iter()
        .map(|((_, request), event)| (event, request))
        .collect()
}
