//! What is in the picture, in a few words.

use foretrace_schedule::State;

use crate::{
    loaded::Loaded,
    navigate::{Selected, Selection},
    panels::source_view,
    source::ScheduleSource,
};

/// Says what is selected.
pub fn describe(loaded: &Loaded, source: &dyn ScheduleSource, selection: &Selection) -> String {
    match selection.what {
        Selected::Lane => loaded.lane(selection.lane).to_owned(),
        Selected::Mark(_) => {
            let event = selection.event(loaded);
            match event.and_then(|event| source.event(event)) {
                Some(event) => of_object(loaded, &event.operation, event.object),
                None => "an event".to_owned(),
            }
        }
        Selected::Segment(segment) => {
            let Some(segment) = loaded.picture.segment(selection.lane, segment) else {
                return String::new();
            };
            match segment.state {
                State::Running(cpu) => format!("running on CPU {cpu}"),
                State::Ready => "ready: wants a CPU".to_owned(),
                State::Blocked(kind) => {
                    let what = of_object(loaded, kind.name(), segment.object);
                    format!("blocked: {what}")
                }
            }
        }
    }
}

/// Names a call, its object, and its line where that is known.
pub fn call(loaded: &Loaded, source: &dyn ScheduleSource, event: u32) -> Option<String> {
    let event = source.event(event)?;
    let call = of_object(loaded, &event.operation, event.object);
    let line = event.site.and_then(|site| source.site(site).line);
    Some(match line {
        Some((file, line)) => format!("{call}, {}", source_view::short_line(&file, line)),
        None => call,
    })
}

/// Names what is done, and its object; once where that has the name of what it is for, as barriers do.
fn of_object(loaded: &Loaded, what: &str, object: Option<u32>) -> String {
    let Some(object) = object.map(|object| loaded.object(object)) else {
        return what.to_owned();
    };
    let rest = object.strip_prefix(what);
    if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')) {
        object.to_owned()
    } else {
        format!("{what} {object}")
    }
}

/// Says what the critical path is spent on, as `foretrace explain` does.
pub fn path(loaded: &Loaded) -> String {
    let of_ranks = loaded.is_of_ranks();
    let whole = loaded.end().0.max(1) as f64;
    let parts = loaded.path_parts.iter().map(|(part, time)| {
        let share = 100.0 * time.0 as f64 / whole;
        format!("{} {share:.1} %", part.name(of_ranks))
    });
    let parts: Vec<String> = parts.collect();
    let steps = match loaded.path.len() {
        1 => "1 step".to_owned(),
        count => format!("{count} steps"),
    };
    format!("The critical path has {steps}: {}.", parts.join(", "))
}
