//! The pixels of lanes, made anew only when what is seen has changed.

use std::ops::Range;

use eframe::egui::{self, Rect};
use foretrace_gantt::{
    arrange::{Arranged, RowKind},
    pixels::Columns,
    raster::{Heap, Painter, Solid},
    track::{Detail, Track, bounds},
    view::TimeView,
};
use foretrace_schedule::SimTime;

use super::tiles::{Tiles, pixels};
use crate::{loaded::Loaded, theme::Colours};

/// What pixels were made for.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    loaded: u64,
    baseline: Option<u64>,
    view: TimeView,
    scroll: i64,
    size: [usize; 2],
    rows: u64,
    detail: Detail,
    dark: bool,
    marks: bool,
}

/// The segments that a row shows one by one.
#[derive(Clone, Debug)]
pub struct RowSolids {
    /// The row.
    pub row: usize,
    /// The segments.
    pub solids: Vec<Solid>,
}

/// The last frame's pixels, and what was found on the way.
#[derive(Default)]
pub struct FrameCache {
    key: Option<Key>,
    tiles: Tiles,
    /// The segments that are wide enough to be seen.
    pub solids: Vec<RowSolids>,
    /// How many threads did what, column by column.
    pub heap: Heap,
    /// The same of the prediction that it is compared with.
    pub baseline_heap: Option<Heap>,
    /// Whether shares are exact.
    pub exact: bool,
    /// Counts how often the pixels were made.
    pub version: u64,
    graph: Tiles,
    graph_version: u64,
    overview: Tiles,
    overview_key: Option<(u64, SimTime, usize, bool)>,
}

/// What is to be painted.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The prediction.
    pub loaded: &'a Loaded,
    /// The one that it is compared with, in the same rows.
    pub baseline: Option<&'a Loaded>,
    /// The rows, and a number that changes with them.
    pub rows: (&'a Arranged, u64),
    /// The part of time.
    pub view: TimeView,
    /// How far down the rows are scrolled.
    pub scroll: f32,
    /// Whether the view moves.
    pub moving: bool,
    /// Whether operations are marked.
    pub marks: bool,
    /// The place.
    pub rect: Rect,
    /// The colours.
    pub colours: &'a Colours,
}

/// From so many segments on a moving view is painted from sums at equal steps.
const FAST_FROM: usize = 20_000_000;

/// Segments from so many pixels on carry borders and text.
pub const WIDE: usize = 4;

impl FrameCache {
    /// Makes the pixels of lanes where they have changed.
    pub fn refresh(&mut self, ctx: &egui::Context, wanted: &Wanted<'_>) {
        let scale = ctx.pixels_per_point();
        let size = [wanted.rect.width(), wanted.rect.height()].map(|points| pixels(points, scale));
        let many = wanted.loaded.picture.segments() >= FAST_FROM;
        let key = Key {
            loaded: wanted.loaded.id,
            baseline: wanted.baseline.map(|baseline| baseline.id),
            view: wanted.view,
            scroll: (wanted.scroll * scale).round() as i64,
            size,
            rows: wanted.rows.1,
            detail: if many && wanted.moving {
                Detail::Fast
            } else {
                Detail::Exact
            },
            dark: wanted.colours.dark,
            marks: wanted.marks,
        };
        if self.key.as_ref() == Some(&key) {
            return;
        }
        self.exact = key.detail == Detail::Exact;
        self.paint(ctx, wanted, &key, scale);
        self.key = Some(key);
        self.version += 1;
    }

    fn paint(&mut self, ctx: &egui::Context, wanted: &Wanted<'_>, key: &Key, scale: f32) {
        let [width, height] = key.size;
        let columns = Columns::new(wanted.view.start, wanted.view.end, width as u32);
        let bounds = bounds(&columns);
        let mut frame = Frame {
            wanted,
            bounds: &bounds,
            detail: key.detail,
            size: key.size,
            image: vec![0; width * height],
            painter: Painter::new(width, &wanted.colours.fills),
            heap: Heap::new(width),
            seen: vec![false; wanted.loaded.picture.tracks.len()],
            partners: wanted
                .baseline
                .map(|baseline| partners(wanted.loaded, baseline)),
        };
        let rows = wanted.rows.0;
        let visible = rows.visible(wanted.scroll, wanted.scroll + wanted.rect.height());
        self.solids = visible
            .map(|row| {
                let slot = &rows.rows()[row];
                let place = Place::of(slot.top - wanted.scroll, slot.height, scale, height);
                let solids = frame.row(&slot.kind, &place);
                RowSolids { row, solids }
            })
            .collect();
        frame.rest();
        self.baseline_heap = wanted.baseline.map(|baseline| frame.heap_of(baseline));
        self.tiles.set(ctx, "lanes", key.size, &frame.image);
        self.heap = frame.heap;
    }

    /// Draws the lanes.
    pub fn draw(&self, painter: &egui::Painter, rect: Rect) {
        self.tiles.draw(painter, rect);
    }

    /// Draws the parallelism graph; its height stands for so many threads.
    pub fn draw_graph(
        &mut self,
        painter: &egui::Painter,
        rect: Rect,
        most: f32,
        colours: &Colours,
    ) {
        let width = self.heap.columns();
        let height = pixels(rect.height(), painter.pixels_per_point());
        if self.graph_version != self.version {
            let mut image = vec![0; width * height];
            Painter::new(width, &colours.classes).paint_heap(&self.heap, most, &mut image);
            self.graph
                .set(painter.ctx(), "graph", [width, height], &image);
            self.graph_version = self.version;
        }
        self.graph.draw(painter, rect);
    }

    /// Draws the whole run, small.
    pub fn draw_overview(
        &mut self,
        painter: &egui::Painter,
        rect: Rect,
        whole: TimeView,
        (loaded, colours): (&Loaded, &Colours),
    ) {
        let scale = painter.pixels_per_point();
        let [width, height] = [rect.width(), rect.height()].map(|points| pixels(points, scale));
        let key = (loaded.id, whole.end, width, colours.dark);
        if self.overview_key != Some(key) {
            let columns = Columns::new(whole.start, whole.end, width as u32);
            let bounds = bounds(&columns);
            let mut heap = Heap::new(width);
            let mut painter_ = Painter::new(width, &colours.classes);
            for track in &loaded.picture.tracks {
                let solids = (usize::MAX, &mut Vec::new());
                painter_.paint(
                    track,
                    &bounds,
                    Detail::Fast,
                    &mut [],
                    Some(&mut heap),
                    solids,
                );
            }
            let mut image = vec![0; width * height];
            painter_.paint_heap(&heap, heap.most_threads().max(1.0), &mut image);
            self.overview
                .set(painter.ctx(), "overview", [width, height], &image);
            self.overview_key = Some(key);
        }
        self.overview.draw(painter, rect);
    }
}

/// A frame under way.
struct Frame<'a> {
    wanted: &'a Wanted<'a>,
    bounds: &'a [u64],
    detail: Detail,
    size: [usize; 2],
    image: Vec<u32>,
    painter: Painter<'a>,
    heap: Heap,
    /// The lanes that are in the heap already.
    seen: Vec<bool>,
    partners: Option<Vec<Option<usize>>>,
}

impl Frame<'_> {
    /// Paints a row; returns the segments that it shows one by one.
    fn row(&mut self, kind: &RowKind, place: &Place) -> Vec<Solid> {
        let wanted = self.wanted;
        let picture = &wanted.loaded.picture;
        let mut solids = Vec::new();
        match kind {
            RowKind::Lane(lane) => {
                let bar = place.bar(self.partners.is_some());
                self.lane(*lane, bar.clone(), &mut solids);
                let partners = self.partners.as_ref();
                let other = partners.and_then(|partners| partners[*lane]);
                if let (Some(baseline), Some(other)) = (wanted.baseline, other) {
                    let below = place.below(&bar);
                    self.track(&baseline.picture.tracks[other], below, &mut Vec::new());
                }
                if wanted.marks {
                    let (width, lines) = (self.size[0], place.ticks(&bar));
                    mark(&mut self.image, width, lines, wanted, *lane, self.bounds);
                }
            }
            RowKind::Cpu(cpu) => {
                self.track(&picture.cpus[*cpu].track, place.bar(false), &mut solids);
            }
            RowKind::Group {
                lanes,
                collapsed: true,
                ..
            } => {
                let mut group = Heap::new(self.size[0]);
                for lane in lanes {
                    self.seen[*lane] = true;
                    self.sum(&picture.tracks[*lane], &mut group);
                }
                self.heap.add_all(&group);
                let bar = place.bar(false);
                let lines = bar.start * self.size[0]..bar.end * self.size[0];
                self.painter
                    .paint_heap(&group, lanes.len() as f32, &mut self.image[lines]);
            }
            RowKind::Group { .. } => {}
        }
        solids
    }

    /// Paints a lane and adds it to the heap.
    fn lane(&mut self, lane: usize, lines: Range<usize>, solids: &mut Vec<Solid>) {
        self.seen[lane] = true;
        let lines = lines.start * self.size[0]..lines.end * self.size[0];
        self.painter.paint(
            &self.wanted.loaded.picture.tracks[lane],
            self.bounds,
            self.detail,
            &mut self.image[lines],
            Some(&mut self.heap),
            (WIDE, solids),
        );
    }

    /// Paints a track alone.
    fn track(&mut self, track: &Track, lines: Range<usize>, solids: &mut Vec<Solid>) {
        let lines = &mut self.image[lines.start * self.size[0]..lines.end * self.size[0]];
        let solids = (WIDE, solids);
        self.painter
            .paint(track, self.bounds, self.detail, lines, None, solids);
    }

    /// Adds a track to a heap alone.
    fn sum(&mut self, track: &Track, heap: &mut Heap) {
        let solids = (WIDE, &mut Vec::new());
        self.painter
            .paint(track, self.bounds, self.detail, &mut [], Some(heap), solids);
    }

    /// Adds the lanes that are not in view.
    fn rest(&mut self) {
        let mut heap = std::mem::take(&mut self.heap);
        for (lane, track) in self.wanted.loaded.picture.tracks.iter().enumerate() {
            if !self.seen[lane] {
                self.sum(track, &mut heap);
            }
        }
        self.heap = heap;
    }

    /// Adds up all lanes of another prediction.
    fn heap_of(&mut self, other: &Loaded) -> Heap {
        let mut heap = Heap::new(self.size[0]);
        for track in &other.picture.tracks {
            self.sum(track, &mut heap);
        }
        heap
    }
}

/// Returns which lane of another prediction is the same thread: by its place and name, else by its name.
pub fn partners(loaded: &Loaded, other: &Loaded) -> Vec<Option<usize>> {
    let theirs = &other.picture.schedule.lanes;
    let names: std::collections::BTreeMap<&str, usize> = theirs
        .iter()
        .enumerate()
        .rev()
        .map(|(lane, of)| (of.name.as_str(), lane))
        .collect();
    let lanes = loaded.picture.schedule.lanes.iter().enumerate();
    lanes
        .map(|(lane, of)| {
            let same_place = theirs.get(lane).is_some_and(|other| other.name == of.name);
            if same_place {
                Some(lane)
            } else {
                names.get(of.name.as_str()).copied()
            }
        })
        .collect()
}

/// Ticks of operations above a lane's bar.
fn mark(
    image: &mut [u32],
    width: usize,
    lines: Range<usize>,
    wanted: &Wanted<'_>,
    lane: usize,
    bounds: &[u64],
) {
    let marks = &wanted.loaded.picture.marks.lane(lane).times;
    let palette = wanted.colours.palette;
    let ink = u32::from_le_bytes([palette.muted.0, palette.muted.1, palette.muted.2, 255]);
    let mut next = marks.partition_point(|time| time.0 < bounds[0]);
    while let Some(time) = marks.get(next).filter(|time| time.0 < bounds[width]) {
        let column = bounds.partition_point(|bound| *bound <= time.0) - 1;
        for line in lines.clone() {
            image[line * width + column.min(width - 1)] = ink;
        }
        let end = bounds[column + 1];
        let rest = &marks[next..];
        // Most columns hold few: look near first.
        let near = rest.len().min(16);
        next += match rest[..near].iter().position(|time| time.0 >= end) {
            Some(found) => found,
            None => near + rest[near..].partition_point(|time| time.0 < end),
        };
    }
}

/// A row in pixels.
struct Place {
    top: i64,
    height: i64,
    scale: f32,
    limit: usize,
}

impl Place {
    fn of(top: f32, height: f32, scale: f32, limit: usize) -> Self {
        Self {
            top: (top * scale).round() as i64,
            height: (height * scale).round() as i64,
            scale,
            limit,
        }
    }

    fn lines(&self, from: f32, until: f32) -> Range<usize> {
        let line = |share: f32| {
            let line = self.top + (share * self.height as f32).round() as i64;
            usize::try_from(line).unwrap_or(0).min(self.limit)
        };
        line(from)..line(until)
    }

    /// The lines of the bar.
    fn bar(&self, compared: bool) -> Range<usize> {
        let air = (3.0 * self.scale / self.height.max(1) as f32).min(0.3);
        if compared {
            self.lines(air, 0.62)
        } else {
            self.lines(air, 1.0 - air / 1.5)
        }
    }

    /// The lines of the bar of the other prediction.
    fn below(&self, bar: &Range<usize>) -> Range<usize> {
        let lines = self.lines(0.7, 0.93);
        lines.start.max(bar.end)..lines.end.max(bar.end)
    }

    /// The lines of the ticks.
    fn ticks(&self, bar: &Range<usize>) -> Range<usize> {
        let lines = pixels(2.0, self.scale);
        bar.start.saturating_sub(lines)..bar.start
    }
}
