//! A real window: under a virtual screen, drawn in software, moved by a mouse and keys that are not there. Screenshots are
//! judged by what is in them, not byte by byte.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

use crate::{drag::drop_file, environment::TestEnvironment};

const WIDTH: usize = 1600;
const HEIGHT: usize = 1000;

/// Colours of the light palette.
const RUNNING: [u8; 3] = [0x19, 0x9c, 0x84];
const READY: [u8; 3] = [0xed, 0xd9, 0x68];
const ACCENT: [u8; 3] = [0x0b, 0x62, 0xc4];

/// Where the picture lies between the panels, in pixels; and where in it the lanes begin.
const LISTS: usize = 270;
const INSPECTOR: usize = WIDTH - 350;
const LANES: usize = 236;

/// A screen and a window on it; both end with this.
struct Screen {
    server: Child,
    window: Child,
    display: String,
}

impl Drop for Screen {
    fn drop(&mut self) {
        for child in [&mut self.window, &mut self.server] {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What is on the screen.
struct Shot(Vec<u8>);

impl Shot {
    fn at(&self, x: usize, y: usize) -> [u8; 3] {
        let first = 3 * (y * WIDTH + x);
        [self.0[first], self.0[first + 1], self.0[first + 2]]
    }

    /// Returns where pixels of a colour are in a part of the screen.
    fn find(
        &self,
        colour: [u8; 3],
        (left, right): (usize, usize),
        (top, bottom): (usize, usize),
    ) -> Vec<(usize, usize)> {
        let lines = (top..bottom).flat_map(|y| (left..right).map(move |x| (x, y)));
        lines.filter(|(x, y)| self.at(*x, *y) == colour).collect()
    }

    /// Returns how many pixels of the lanes have a colour.
    fn in_lanes(&self, colour: [u8; 3]) -> usize {
        self.find(colour, (LISTS, INSPECTOR), (LANES, HEIGHT - 100))
            .len()
    }

    /// Returns whether something is written in red in a part of the screen.
    fn has_red(&self, (left, right): (usize, usize), (top, bottom): (usize, usize)) -> bool {
        let is_red = |[r, g, b]: [u8; 3]| r > g.saturating_add(90) && r > b.saturating_add(90);
        let mut lines = (top..bottom).flat_map(|y| (left..right).map(move |x| (x, y)));
        lines.any(|(x, y)| is_red(self.at(x, y)))
    }

    /// Returns whether the inspector marks a line of the source: by a bar at its left end.
    fn has_edge(&self) -> bool {
        let corners = self.find(ACCENT, (INSPECTOR, WIDTH - 3), (250, HEIGHT - 120));
        let is_bar = |(x, y): &(usize, usize)| {
            (0..3).all(|right| (0..12).all(|down| self.at(x + right, y + down) == ACCENT))
        };
        corners.iter().any(is_bar)
    }

    /// Returns how wide the frame in the overview is that shows what is seen.
    fn seen(&self) -> usize {
        // Lines between two pixels are shared by both: bluish is enough.
        let is_blue = |[r, g, b]: [u8; 3]| b > r.saturating_add(60) && b > g.saturating_add(30);
        let xs = (LISTS..INSPECTOR).filter(|&x| (80..125).any(|y| is_blue(self.at(x, y))));
        xs.clone().max().unwrap_or(0) - xs.min().unwrap_or(0)
    }
}

/// Returns the name of a display that no other test uses: servers that choose for themselves at the same time now and then
/// take the same one.
fn unused_display() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = std::process::id() % 4_000 * 8 + COUNT.fetch_add(1, Ordering::Relaxed) % 8;
    format!(":{}", 200 + number)
}

impl Screen {
    /// Opens a file in a window.
    fn open(environment: &TestEnvironment, arguments: &[&str]) -> Self {
        // Somebody else may have the number.
        let mut log = String::new();
        for _ in 0..5 {
            let mut screen = Self::start(environment, arguments);
            if screen.has_window() {
                return screen;
            }
            log = fs::read_to_string(environment.path("window.log")).unwrap_or_default();
        }
        let server = fs::read_to_string(environment.path("server.log")).unwrap_or_default();
        panic!("no window came: {log}\nand the server said: {server}");
    }

    fn start(environment: &TestEnvironment, arguments: &[&str]) -> Self {
        let size = format!("{WIDTH}x{HEIGHT}x24");
        let display = unused_display();
        let said = fs::File::create(environment.path("server.log"));
        let mut server = Command::new("Xvfb")
            .args([&display, "-displayfd", "1", "-nolisten", "tcp"])
            .args(["-screen", "0", &size])
            .stdout(Stdio::piped())
            .stderr(said.expect("the directory is ours"))
            .spawn()
            .expect("Xvfb is installed");
        let mut number = String::new();
        let out = server.stdout.take().expect("it is piped");
        BufReader::new(out)
            .read_line(&mut number)
            .expect("it tells its number when it is ready");
        let log = fs::File::create(environment.path("window.log"));
        let window = environment
            .command(arguments)
            .env("DISPLAY", &display)
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", environment.path("").display()),
            )
            .env("LIBGL_ALWAYS_SOFTWARE", "1")
            .stderr(log.expect("the directory is ours"))
            .spawn()
            .expect("foretrace was built");
        Self {
            server,
            window,
            display,
        }
    }

    /// Waits for the window and makes it as large as the screen; returns whether it came.
    fn has_window(&mut self) -> bool {
        for _ in 0..600 {
            if self.window.try_wait().expect("it is ours").is_some() {
                return false;
            }
            let found = self.tool(&["search", "--onlyvisible", "--name", "foretrace$"]);
            if let Some(id) = found.lines().last() {
                // There is no window manager that would do this.
                let (width, height) = (WIDTH.to_string(), HEIGHT.to_string());
                self.tool(&["windowsize", "--sync", id, &width, &height]);
                self.tool(&["windowmove", id, "0", "0"]);
                self.tool(&["windowfocus", id]);
                return true;
            }
            pause();
        }
        false
    }

    /// Waits until the window is called something.
    fn until_named(&self, name: &str) -> u32 {
        for _ in 0..150 {
            let found = self.tool(&["search", "--onlyvisible", "--name", name]);
            if let Some(id) = found.lines().last().and_then(|id| id.parse().ok()) {
                return id;
            }
            pause();
        }
        self.keep(name);
        panic!("no window was ever called {name}");
    }

    /// Runs xdotool.
    fn tool(&self, arguments: &[&str]) -> String {
        let output = Command::new("xdotool")
            .args(arguments)
            .env("DISPLAY", &self.display)
            .output()
            .expect("xdotool is installed");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn key(&self, key: &str) {
        self.tool(&["key", key]);
        pause();
    }

    /// Moves the pointer there and does something; as slowly as a hand, or frames miss it.
    fn at(&self, (x, y): (usize, usize), actions: &[&[&str]]) {
        self.tool(&["mousemove", &x.to_string(), &y.to_string()]);
        pause();
        for action in actions {
            self.tool(action);
            pause();
        }
    }

    fn shot(&self) -> Shot {
        let output = Command::new("import")
            .args(["-window", "root", "-depth", "8", "rgb:-"])
            .env("DISPLAY", &self.display)
            .output()
            .expect("ImageMagick is installed");
        assert_eq!(output.stdout.len(), 3 * WIDTH * HEIGHT);
        Shot(output.stdout)
    }

    /// Waits until the screen shows something.
    fn until(&self, what: &str, is_there: impl Fn(&Shot) -> bool) -> Shot {
        for _ in 0..150 {
            let shot = self.shot();
            if is_there(&shot) {
                return shot;
            }
            pause();
        }
        self.keep(what);
        panic!("the screen never showed {what}");
    }

    /// Keeps a screenshot for whoever looks after a failure.
    fn keep(&self, what: &str) {
        let file =
            std::env::temp_dir().join(format!("foretrace-window-{}.png", what.replace(' ', "-")));
        let _ = Command::new("import")
            .args(["-window", "root"])
            .arg(&file)
            .env("DISPLAY", &self.display)
            .status();
        let _ = writeln!(std::io::stderr(), "see {}", file.display());
    }
}

fn pause() {
    thread::sleep(Duration::from_millis(200));
}

fn record(environment: &TestEnvironment, command: &[&str]) {
    let mut arguments = vec![
        "record",
        "--quiet",
        "--pretend-cpus",
        "8",
        "-o",
        "run.ftrace",
        "--",
    ];
    arguments.extend(command);
    let output = environment
        .command(&arguments)
        .output()
        .expect("foretrace was built");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_recorded_pigz_is_opened_zoomed_and_predicted_on_fewer_cpus() {
    let environment = TestEnvironment::new();
    let words: Vec<String> = (0..600_000_u64)
        .map(|i| format!("{:x}", i * i % 7_919 * (i % 131)))
        .collect();
    environment.file("text", words.join(" "), 0o644);
    record(&environment, &["pigz", "-k", "-p", "8", "text"]);
    let screen = Screen::open(&environment, &["view", "run.ftrace", "--cpus", "8"]);
    let whole = screen.until("the lanes of pigz", |shot| {
        shot.in_lanes(RUNNING) > 20_000 && shot.seen() > 700
    });
    // Zoom at the pointer.
    let lane = whole.find(RUNNING, (LISTS + 300, INSPECTOR), (LANES, HEIGHT - 100));
    let middle = lane[lane.len() / 2];
    screen.tool(&["keydown", "ctrl"]);
    screen.at(
        middle,
        &[
            &["click", "4"],
            &["click", "4"],
            &["click", "4"],
            &["click", "4"],
        ],
    );
    screen.tool(&["keyup", "ctrl"]);
    let near = screen.until("a closer look", |shot| shot.seen() < whole.seen() / 2);
    assert!(near.seen() > 0);
    screen.key("ctrl+z");
    screen.key("Home");
    screen.until("all of the run again", |shot| shot.seen() > 700);
    // Two CPUs for eight threads: many want one.
    for _ in 0..6 {
        screen.key("ctrl+Down");
    }
    let before = whole.in_lanes(READY);
    screen.until("threads that want a CPU", |shot| {
        shot.in_lanes(READY) > before + 5_000
    });
}

#[test]
fn a_click_shows_the_line_of_the_source() {
    let environment = TestEnvironment::new();
    let source = include_str!("../../../../traces/programs/mandelbrot_farm.c");
    environment.compile("farm", source, &["-g", "-O2", "-pthread", "-lm"]);
    record(&environment, &["./farm", "8"]);
    let screen = Screen::open(&environment, &["view", "run.ftrace", "--cpus", "4"]);
    let lanes = screen.until("lanes", |shot| shot.in_lanes(RUNNING) > 20_000);
    assert!(!lanes.has_edge(), "nothing is selected");
    // Not at the end, where events have no line.
    let lane = lanes.find(
        RUNNING,
        (LISTS + 300, usize::midpoint(LISTS, INSPECTOR)),
        (LANES + 60, HEIGHT - 100),
    );
    screen.at(lane[lane.len() / 2], &[&["click", "1"]]);
    screen.until("a line of the source", Shot::has_edge);
    // So is that of the event after it.
    screen.key("period");
    screen.until("the next event's line", Shot::has_edge);
}

#[test]
fn ranks_are_predicted_on_the_network_that_is_chosen_in_the_window() {
    let environment = TestEnvironment::new();
    let rank = |other: u32| {
        format!(
            "l1: calc 1000000\nl2: send 8000b to {other}\nl2 requires l1\nl3: recv 8000b from {other}\n"
        )
    };
    let program = format!(
        "num_ranks 2\nrank 0 {{\n{}}}\nrank 1 {{\n{}}}\n",
        rank(1),
        rank(0)
    );
    environment.file("pair.goal", program, 0o644);
    let screen = Screen::open(&environment, &["view", "pair.goal"]);
    let asks = screen.until("a message that asks for a network", |shot| {
        !shot
            .find([0xa8, 0x1e, 0x1e], (0, 500), (75, 100))
            .is_empty()
            || shot.has_red((0, 500), (75, 100))
    });
    assert_eq!(asks.in_lanes(RUNNING), 0);
    screen.at((115, 40), &[&["click", "1"]]);
    screen.at((115, 115), &[&["click", "1"]]);
    screen.until("both ranks", |shot| shot.in_lanes(RUNNING) > 20_000);
}

/// A thread that works for as long as is said.
fn work(micros: u32) -> String {
    format!("foretrace-text 1\n0 A lock m\n{micros} A unlock m\n{micros} A terminate\n")
}

#[test]
fn files_are_opened_by_a_drop_and_by_the_desktops_dialog() {
    let environment = TestEnvironment::new();
    for (file, micros) in [("first.txt", 3), ("dropped.txt", 4), ("chosen.txt", 5)] {
        environment.file(file, work(micros), 0o644);
    }
    // What a desktop without portals asks with; this user is quick.
    let dialog = format!(
        "#!/bin/sh\necho \"$@\" > '{}'\nsleep 1\necho '{}'\n",
        environment.path("asked").display(),
        environment.path("chosen.txt").display()
    );
    environment.file("zenity", dialog, 0o755);
    let screen = Screen::open(&environment, &["view", "first.txt"]);
    let window = screen.until_named("^first.txt - foretrace$");
    screen.until("a lane", |shot| shot.in_lanes(RUNNING) > 5_000);
    drop_file(&screen.display, window, &environment.path("dropped.txt"))
        .expect("the window takes files");
    screen.until_named("^dropped.txt - foretrace$");
    screen.key("ctrl+o");
    screen.until_named("^chosen.txt - foretrace$");
    screen.until("its lane", |shot| shot.in_lanes(RUNNING) > 5_000);
    let asked = fs::read_to_string(environment.path("asked")).expect("it was asked");
    assert!(
        asked.contains("*.ftrace") && asked.contains("*.goal"),
        "{asked}"
    );
}

#[test]
fn without_a_display_the_message_names_what_does_without_one() {
    let environment = TestEnvironment::new();
    environment.file(
        "a.txt",
        "foretrace-text 1\n0 A lock m\n3 A unlock m\n3 A terminate\n",
        0o644,
    );
    for (name, value) in [("DISPLAY", ""), ("DISPLAY", ":63999")] {
        let output = environment
            .command(&["view", "a.txt"])
            .env(name, value)
            .output()
            .expect("foretrace was built");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("foretrace export a.txt --format svg"),
            "{said}"
        );
        assert!(said.contains("--format png"), "{said}");
    }
    for format in ["svg", "png"] {
        let file = format!("picture.{format}");
        let run = environment.run(&["export", "a.txt", "--format", format, "-o", &file]);
        assert!(run.contains("exit code: 0"), "{run}");
        assert!(fs::metadata(environment.path(&file)).is_ok_and(|metadata| metadata.len() > 500));
    }
}
