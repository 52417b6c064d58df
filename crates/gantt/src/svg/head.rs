//! The title and the legend.

use foretrace_schedule::{Activity, BlockedThread, Outcome, Schedule, SimTime, Totals};

use super::{
    MARGIN, SvgOptions,
    arrows::{Drawn, arrow_head},
    document::{Document, Style},
};
use crate::{
    palette::{Palette, Rgb},
    scale::TimeScale,
    text::{self, Px},
};

/// Draws title and subtitle, and what is in deadlock; returns where they end.
pub fn draw(
    document: &mut Document,
    schedule: &Schedule,
    options: &SvgOptions,
    palette: &Palette,
    width: f64,
) -> f64 {
    let space = width - 2.0 * MARGIN;
    let mut y = MARGIN + 16.0;
    let title = title(schedule, options);
    // Bold type is wider than the widths assume.
    if let Some(title) = text::fit(title, 17.0 * 1.1, space) {
        document.text(MARGIN, y, Style::new(17.0, palette.text).bold(), &title);
    }
    y += 21.0;
    let style = Style::new(12.0, palette.muted);
    for (index, line) in wrap(&facts(schedule, options.range), 12.0, space)
        .iter()
        .enumerate()
    {
        y += if index > 0 { 18.0 } else { 0.0 };
        document.text(MARGIN, y, style, line);
    }
    if let Outcome::Deadlock(blocked) = &schedule.outcome {
        for line in deadlock_lines(schedule.end, blocked) {
            y += 18.0;
            if let Some(line) = text::fit(&line, 12.0, space) {
                document.text(MARGIN, y, Style::new(12.0, palette.alarm), &line);
            }
        }
    }
    y
}

/// Returns the picture's title.
pub fn title<'a>(schedule: &'a Schedule, options: &'a SvgOptions) -> &'a str {
    options.title.as_deref().unwrap_or(&schedule.source)
}

/// Joins parts to lines that fit a width.
fn wrap(parts: &[String], size: f64, space: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        let part = text::fit(part, size, space).unwrap_or_default();
        if let Some(line) = lines.last_mut() {
            let longer = format!("{line}  ·  {part}");
            if text::width(&longer, size) <= space {
                *line = longer;
                continue;
            }
        }
        lines.push(part.into_owned());
    }
    lines
}

/// Says what the picture is of.
fn facts(schedule: &Schedule, range: Option<(SimTime, SimTime)>) -> Vec<String> {
    let lanes = match &schedule.network {
        Some(network) => format!("{} ranks on {}", schedule.processes.len(), network.name),
        None if schedule.lanes.len() == 1 => "1 thread".to_owned(),
        None => format!("{} threads", schedule.lanes.len()),
    };
    let end = match schedule.outcome {
        Outcome::Completed => format!("makespan {}", schedule.end),
        Outcome::Deadlock(_) => format!("deadlock after {}", schedule.end),
    };
    let mut parts = vec![format!("{} model", schedule.model)];
    parts.extend(schedule.cpus_label());
    parts.extend([
        lanes,
        end,
        format!("average parallelism {:.2}", schedule.average_parallelism()),
    ]);
    if let Some((start, end)) = range {
        let scale = TimeScale::new(start, end, 0.0, 1_000.0);
        let (start, end) = (scale.label(start), scale.label(end));
        parts.push(format!("shown: {start} to {end}"));
    }
    parts
}

/// Says who waits for what in a deadlock: a few lines.
fn deadlock_lines(at: SimTime, blocked: &[BlockedThread]) -> Vec<String> {
    const SHOWN: usize = 4;
    let mut lines = vec![format!(
        "Deadlock at {at}: nothing can run, and these wait for ever."
    )];
    for thread in blocked.iter().take(SHOWN) {
        let mut line = format!("{}: {}", thread.thread, thread.operation);
        if let Some(object) = &thread.object {
            line = format!("{line} {object}");
        }
        line += ", waiting";
        if let Some(other) = &thread.waits_for {
            line = format!("{line} for {other}");
        }
        lines.push(format!("{line} since {}", thread.since));
    }
    if blocked.len() > SHOWN {
        lines.push(format!("and {} more", blocked.len() - SHOWN));
    }
    lines
}

/// What the legend shows.
pub struct Legend {
    /// The time spent in each activity, within the picture.
    pub totals: Totals,
    /// What arrows there are.
    pub arrows: Drawn,
}

/// The size of the legend's font.
const SIZE: f64 = 11.5;

impl Legend {
    /// Draws an entry for each activity that occurs, with its share of the time; returns where the legend ends.
    pub fn draw(
        &self,
        document: &mut Document,
        palette: &Palette,
        left: f64,
        top: f64,
        right: f64,
    ) -> f64 {
        let whole = self.totals.whole().0.max(1) as f64;
        let activities = self.totals.present().map(|(activity, time)| Entry {
            sign: Sign::Fill(palette.fill(activity)),
            name: entry_name(activity),
            share: share(time.0 as f64 / whole),
        });
        let entry = |sign, name: &str| Entry {
            sign,
            name: name.to_owned(),
            share: String::new(),
        };
        let has_blocked = self.totals.blocked() > SimTime::ZERO;
        let blocked = has_blocked.then(|| entry(Sign::Fill(palette.blocked), "blocked on any"));
        let wakes = self
            .arrows
            .wakes
            .then(|| entry(Sign::Arrow(UPRIGHT), "wakes"));
        let messages = self.arrows.messages;
        let mut messages = messages.then(|| entry(Sign::Arrow(SLANTED), "messages"));
        let mut wakes = wakes;
        if let (Some(last), Some(note)) = (messages.as_mut().or(wakes.as_mut()), &self.arrows.note)
        {
            last.share.clone_from(note);
        }
        let (mut x, mut y) = (left, top);
        for entry in activities.chain(blocked).chain(wakes).chain(messages) {
            let width = entry.width();
            if x > left && x + width > right {
                (x, y) = (left, y + 20.0);
            }
            entry.draw(document, palette, x, y);
            x += width + 14.0;
        }
        y + 14.0
    }
}

/// One entry of the legend.
struct Entry {
    sign: Sign,
    name: String,
    share: String,
}

/// What an entry explains.
enum Sign {
    Fill(Rgb),
    /// Between two points within its square.
    Arrow([(f64, f64); 2]),
}

/// A wake, as the legend shows it.
const UPRIGHT: [(f64, f64); 2] = [(6.0, 0.0), (6.0, 14.0)];

/// A message, likewise.
const SLANTED: [(f64, f64); 2] = [(0.0, 1.0), (12.0, 14.0)];

impl Entry {
    fn width(&self) -> f64 {
        18.0 + text::width(&self.name, SIZE) + 5.0 + text::width(&self.share, SIZE)
    }

    fn draw(&self, document: &mut Document, palette: &Palette, x: f64, y: f64) {
        match self.sign {
            Sign::Fill(fill) => document.rect((x, y + 1.0, 12.0, 12.0), fill, None),
            Sign::Arrow([from, to]) => {
                let colour = palette.arrow;
                let (across, down) = (to.0 - from.0, to.1 - from.1);
                let length = across.hypot(down);
                let along = (across / length, down / length);
                let tip = (x + to.0, y + to.1);
                let (end_x, end_y) = (tip.0 - 4.0 * along.0, tip.1 - 4.0 * along.1);
                let line = format!(
                    "M{} {}L{} {}",
                    Px(x + from.0),
                    Px(y + from.1),
                    Px(end_x),
                    Px(end_y)
                );
                document.path(line, format_args!("stroke=\"{colour}\" fill=\"none\""));
                let head = arrow_head(tip, along);
                document.path(head, format_args!("fill=\"{colour}\""));
            }
        }
        // The share follows the name wherever that ends, which only the font knows.
        let note = (!self.share.is_empty()).then_some((self.share.as_str(), palette.muted));
        let style = Style::new(SIZE, palette.text);
        document.text_and_note((x + 18.0, y + 11.0), style, &self.name, note);
    }
}

/// Names an activity as the legend does.
fn entry_name(activity: Activity) -> String {
    match activity {
        Activity::Running | Activity::Ready => activity.name().to_owned(),
        Activity::Blocked(kind) => format!("blocked: {}", kind.name()),
    }
}

/// Writes a share as a percentage; what is there at all is never shown as nothing.
fn share(share: f64) -> String {
    match share * 100.0 {
        p if p < 0.1 => "<0.1 %".to_owned(),
        p if p < 9.95 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}
