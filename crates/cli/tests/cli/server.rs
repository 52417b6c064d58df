//! Servers with threads under load: recorded, they answer as they do alone, and their traces are whole.
//!
//! `cargo xtask soak` runs this for two minutes and tells how many requests a second were answered.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::environment::TestEnvironment;

/// Clients that ask at the same time, each on its own connection.
const CLIENTS: usize = 8;

/// As many times a second of the time it has, redis's own load asks before it is asked whether that is enough.
///
/// Its threads for input and output, on one CPU, each look at memory for all of their slice whenever enough clients wait: some
/// 1,600 answers a second, 80,000 while too few do. Which of both it is changes with what came at the same moment, so that many
/// short loads are no measure: one long one mostly stays with the slower.
const AT_ONCE: u64 = 1500;

/// A connection to memcached.
struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("memcached listens");
        stream.set_nodelay(true).expect("it is a TCP connection");
        let stream = BufReader::new(stream);
        Self { stream }
    }

    fn ask(&mut self, question: &str) {
        self.stream
            .get_mut()
            .write_all(question.as_bytes())
            .expect("memcached reads");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream
            .read_line(&mut line)
            .expect("memcached answers in text");
        line.trim_end().to_owned()
    }

    /// Sets, gets and counts, checks every answer, and returns how many there were.
    fn load(&mut self, client: usize, stop: &AtomicBool) -> u64 {
        let mut answers = 0;
        self.ask(&format!("set counter{client} 0 0 1\r\n0\r\n"));
        assert_eq!(self.line(), "STORED");
        for round in 0_u64.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let key = format!("key{client}-{}", round % 1000);
            let value = format!("{round:0width$}", width = 20 + (round % 200) as usize);
            self.ask(&format!("set {key} 7 0 {}\r\n{value}\r\n", value.len()));
            assert_eq!(self.line(), "STORED");
            self.ask(&format!("get {key}\r\n"));
            assert_eq!(self.line(), format!("VALUE {key} 7 {}", value.len()));
            assert_eq!(self.line(), value);
            assert_eq!(self.line(), "END");
            self.ask(&format!("incr counter{client} 1\r\n"));
            assert_eq!(self.line(), (round + 1).to_string());
            answers += 3;
        }
        answers
    }
}

/// Runs memcached's command under load for some time; returns the answers a second, and the server's standard error.
fn memcached(mut command: Command, directory: &Path, time: Duration) -> (f64, String) {
    let port_file = directory.join("port");
    // A port that is free, which memcached writes to a file.
    let server = command
        .args(["-u", "root", "-t", "4", "-l", "127.0.0.1", "-p", "-1"])
        .env("MEMCACHED_PORT_FILENAME", &port_file)
        .stderr(Stdio::piped())
        .spawn()
        .expect("xtask setup installed memcached");
    let address = address(&port_file);
    fs::remove_file(&port_file).expect("it is there");
    let stop = AtomicBool::new(false);
    let (answers, seconds) = thread::scope(|scope| {
        let clients: Vec<Client> = (0..CLIENTS).map(|_| Client::connect(&address)).collect();
        let begun = Instant::now();
        let stop = &stop;
        let loads: Vec<_> = clients
            .into_iter()
            .enumerate()
            .map(|(number, mut client)| scope.spawn(move || client.load(number, stop)))
            .collect();
        thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        let answers: u64 = loads
            .into_iter()
            .map(|load| load.join().expect("every answer is right"))
            .sum();
        (answers, begun.elapsed().as_secs_f64())
    });
    (answers as f64 / seconds, end(server))
}

/// Returns where the server listens, as soon as it does.
fn address(port_file: &Path) -> String {
    let begun = Instant::now();
    loop {
        // The file gets its name once it is whole.
        if let Ok(text) = fs::read_to_string(port_file) {
            let port = text.trim().strip_prefix("TCP INET: ");
            return format!("127.0.0.1:{}", port.expect("memcached tells its port"));
        }
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "memcached does not listen"
        );
        thread::sleep(Duration::from_millis(20));
    }
}

/// Ends the server as an administrator would, and checks that it ended well.
fn end(server: Child) -> String {
    let pid = i32::try_from(server.id()).expect("process numbers are small");
    let killed = Command::new("sh")
        .args(["-c", &format!("kill -TERM {pid}")])
        .status()
        .expect("every system has a shell");
    assert!(killed.success());
    let output = server.wait_with_output().expect("it is our child");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {errors}", output.status);
    errors
}

/// Runs the command of redis, with threads for input and output, under its own load for some time; returns the answers a second, and
/// the server's standard error.
fn redis(mut command: Command, directory: &Path, time: Duration) -> (f64, String) {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = free.expect("some port is free").port().to_string();
    let server = command
        .args([
            "--port",
            &port,
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
        ])
        .arg(directory)
        .args(["--io-threads", "4", "--io-threads-do-reads", "yes"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("xtask setup installed redis");
    let ask = |program: &str, arguments: &[&str]| {
        let output = Command::new(program)
            .args(["-h", "127.0.0.1", "-p", &port])
            .args(arguments)
            .output()
            .expect("xtask setup installed redis");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let begun = Instant::now();
    while ask("redis-cli", &["ping"]).trim() != "PONG" {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "redis does not listen"
        );
        thread::sleep(Duration::from_millis(20));
    }
    let at_once = AT_ONCE * time.as_secs().max(1);
    let load = ["-t", "incr", "-n", &at_once.to_string(), "-q"];
    let begun = Instant::now();
    let mut answers = 0;
    while begun.elapsed() < time {
        ask("redis-benchmark", &load);
        answers += at_once;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let counted = ask("redis-cli", &["get", "counter:__rand_int__"]);
    assert_eq!(counted.trim(), answers.to_string());
    (answers as f64 / seconds, end(server))
}

#[test]
fn a_server_under_load_answers_as_ever_and_is_recorded() {
    println!("{}", answers_as_ever("memcached", memcached));
}

#[test]
fn a_server_whose_threads_share_its_input_answers_as_ever_and_is_recorded() {
    println!("{}", answers_as_ever("redis-server", redis));
}

/// Runs a server alone, recorded, and alone again; its command, a directory and the time are handed on. Returns how much it answered.
fn answers_as_ever(
    program: &str,
    serve: impl Fn(Command, &Path, Duration) -> (f64, String),
) -> String {
    let seconds = env::var("FORETRACE_SOAK_SECONDS").map_or(2.0, |text| {
        text.parse().expect("FORETRACE_SOAK_SECONDS is a number")
    });
    let environment = TestEnvironment::new();
    let directory = environment.path("");
    let time = Duration::from_secs_f64(seconds);
    let alone = || {
        // On one CPU, as the recorded one is.
        let mut command = Command::new("taskset");
        command.args(["-c", &last_cpu(), program]);
        serve(command, &directory, time / 2).0
    };
    let before = alone();
    let record = ["record", "-o", "server.ftrace", "--", program];
    let (recorded, said) = serve(environment.command(&record), &directory, time);
    let after = alone();
    // Not asserted: how fast a machine is today is no property of foretrace. See `cargo xtask soak`.
    let throughput = format!(
        "{program}: answers a second: {recorded:.0} recorded for {seconds} s, {before:.0} and {after:.0} alone; recorded / alone: {:.3}",
        2.0 * recorded / (before + after)
    );
    assert!(said.starts_with("foretrace: "), "{said}");

    let output = environment
        .command(&["info", "server.ftrace", "--json"])
        .output()
        .expect("foretrace was built");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    let info: Value = serde_json::from_slice(&output.stdout).expect("it is one JSON document");
    assert_eq!(info["trace"]["recording"]["lost_events"], 0, "{info}");
    let threads = info["threads"].as_array().expect("a list");
    let busy = threads
        .iter()
        .filter(|thread| thread["events"].as_u64() > Some(100));
    assert!(busy.count() >= 4, "four threads serve: {threads:?}");
    throughput
}

/// Returns the CPU that foretrace records on where nothing is said.
fn last_cpu() -> String {
    let status = fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let allowed = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .expect("every status has it");
    let last = allowed.trim().rsplit(['-', ',']).next();
    last.expect("one CPU at least is allowed").to_owned()
}
