//! Measures what a frame's lanes cost to paint, and what their index costs to build: `cargo xtask bench-gantt`.
//!
//! Bursty segments in 64 lanes, painted into 1,850 columns of 14 lines each, at several zooms. CPU times are those of the
//! painting thread alone, as the kernel counts them, so that other load on the machine counts little.

#![expect(clippy::print_stdout, reason = "it prints what it measured")]

use std::{fs, time::Instant};

use foretrace_gantt::{
    arrange::{Arrangement, Heights, LaneFacts, arrange},
    pixels::Columns,
    raster::Painter,
    track::{Detail, FILLS, Fill, Track, bounds},
};
use foretrace_schedule::SimTime;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

const LANES: usize = 64;
const COLUMNS: u32 = 1_850;
const LINES: usize = 14;
const FRAMES: u32 = 60;

/// Lanes to be scrolled, and how many a large window shows of them.
const THREADS: usize = 1_000;
const SHOWN: usize = 64;

fn main() {
    println!(
        "{LANES} lanes of {LINES} lines, {COLUMNS} columns; CPU ms a frame, means of {FRAMES}"
    );
    println!(
        "| segments | index built, on all CPUs | index | exact, all | fast, all | exact, a 10th | exact, a 1,000th |"
    );
    println!("|---|---|---|---|---|---|---|");
    for segments in [1_000_000, 10_000_000, 100_000_000] {
        measure(segments);
    }
    println!(
        "{THREADS} lanes, of which {SHOWN} are seen, scrolled from top to bottom; CPU ms a frame"
    );
    println!("| segments | arranged anew | exact, all | fast, all | exact, a 1,000th |");
    println!("|---|---|---|---|---|");
    for segments in [1_000_000, 10_000_000] {
        scroll(segments);
    }
}

/// Measures what frames cost while rows are scrolled.
fn scroll(segments: usize) {
    let (tracks, end) = tracks(THREADS, segments);
    let facts: Vec<LaneFacts> = (0..THREADS)
        .map(|lane| LaneFacts {
            name: format!("worker {lane}"),
            routine: Some(format!("routine {}", lane % 7)),
            operations: lane,
            ..LaneFacts::default()
        })
        .collect();
    let heights = Heights {
        lane: 22.0,
        group: 20.0,
    };
    let began = cpu_nanos();
    for _ in 0..FRAMES {
        std::hint::black_box(arrange(&facts, 1, &Arrangement::default(), heights));
    }
    let arranged = (cpu_nanos() - began) / 1e6 / f64::from(FRAMES);
    let frame = |share: u64, detail: Detail| {
        let columns = Columns::new(SimTime(0), SimTime(end.0 / share), COLUMNS);
        let mut buffer = vec![0; COLUMNS as usize * LINES * SHOWN];
        let began = cpu_nanos();
        for frame in 0..FRAMES as usize {
            let first = (THREADS - SHOWN) * frame / FRAMES as usize;
            let seen = &tracks[first..first + SHOWN];
            paint_all(seen, &bounds(&columns), detail, &mut buffer);
        }
        (cpu_nanos() - began) / 1e6 / f64::from(FRAMES)
    };
    println!(
        "| {segments} | {arranged:.2} | {:.1} | {:.1} | {:.1} |",
        frame(1, Detail::Exact),
        frame(1, Detail::Fast),
        frame(1_000, Detail::Exact),
    );
}

/// Makes lanes with an index, and tells where they end.
fn tracks(lanes: usize, segments: usize) -> (Vec<Track>, SimTime) {
    let raw = raw(lanes, segments);
    let end = end(&raw);
    let index = |(starts, fills)| Track::new(starts, fills, end);
    (raw.into_par_iter().map(index).collect(), end)
}

/// What lanes did, before there is an index.
type Raw = Vec<(Vec<u64>, Vec<Fill>)>;

fn raw(lanes: usize, segments: usize) -> Raw {
    (0..lanes)
        .into_par_iter()
        .map(|lane| bursts(lane as u64 + 1, segments / lanes))
        .collect()
}

fn end(raw: &Raw) -> SimTime {
    let ends = raw
        .iter()
        .map(|(starts, _)| starts.last().copied().unwrap_or(0));
    SimTime(ends.max().unwrap_or(0) + 1_000)
}

fn measure(segments: usize) {
    let raw = raw(LANES, segments);
    let end = end(&raw);
    let (began, worked) = (Instant::now(), process_cpu());
    let tracks: Vec<Track> = raw
        .into_par_iter()
        .map(|(starts, fills)| Track::new(starts, fills, end))
        .collect();
    let (built, worked) = (began.elapsed().as_secs_f64(), process_cpu() - worked);
    let index: usize = tracks.iter().map(Track::index_bytes).sum();
    let frame = |share: u64, detail: Detail| {
        let span = end.0 / share;
        let mut buffer = vec![0; COLUMNS as usize * LINES * LANES];
        let began = cpu_nanos();
        for frame in 0..FRAMES {
            // Each frame shows another part.
            let start = (end.0 - span) / u64::from(FRAMES) * u64::from(frame);
            let columns = Columns::new(SimTime(start), SimTime(start + span), COLUMNS);
            paint_all(&tracks, &bounds(&columns), detail, &mut buffer);
        }
        (cpu_nanos() - began) / 1e6 / f64::from(FRAMES)
    };
    println!(
        "| {segments} | {built:.2} s, {worked:.2} s CPU | {:.2} bytes a segment | {:.1} | {:.1} | {:.1} | {:.1} |",
        index as f64 / segments as f64,
        frame(1, Detail::Exact),
        frame(1, Detail::Fast),
        frame(10, Detail::Exact),
        frame(1_000, Detail::Exact),
    );
}

fn paint_all(tracks: &[Track], bounds: &[u64], detail: Detail, pixels: &mut [u32]) {
    let width = bounds.len() - 1;
    let colours: [u32; FILLS] = std::array::from_fn(|fill| fill as u32 * 0x0012_3456);
    pixels.fill(0);
    let mut solids = Vec::new();
    let mut painter = Painter::new(width, &colours);
    for (track, row) in tracks.iter().zip(pixels.chunks_mut(width * LINES)) {
        painter.paint(track, bounds, detail, row, None, (4, &mut solids));
    }
    assert!(
        std::hint::black_box(&*pixels)
            .iter()
            .any(|pixel| *pixel != 0)
    );
}

/// Returns segments in bursts: stretches of very short ones between long ones.
fn bursts(seed: u64, count: usize) -> (Vec<u64>, Vec<Fill>) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let fills: Vec<Fill> = Fill::all().collect();
    let (mut starts, mut of) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let (mut at, mut scale) = (0, 1_000);
    for segment in 0..count {
        if segment % 512 == 0 {
            scale = [200, 1_000, 20_000, 300_000][random() as usize % 4];
        }
        starts.push(at);
        // Running every other one; ready, lock or barrier in between.
        let between = [1, 2, 6][random() as usize % 3];
        of.push(fills[if segment % 2 == 0 { 0 } else { between }]);
        at += 1 + random() % scale;
    }
    (starts, of)
}

/// Returns the CPU time of all threads so far, in seconds, as of the kernel's last tick.
fn process_cpu() -> f64 {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    let of_tasks = tasks.flatten().map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        first_nanos(&text)
    });
    of_tasks.sum::<f64>() / 1e9
}

/// Returns the CPU time of this thread, as of the kernel's last tick.
fn cpu_nanos() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    first_nanos(&text)
}

fn first_nanos(schedstat: &str) -> f64 {
    let first = schedstat.split(' ').next();
    first.and_then(|nanos| nanos.parse().ok()).unwrap_or(0.0)
}
