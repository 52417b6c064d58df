//! Reads the golden files and writes their traces in the text form.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use foretrace_sim::ModelKind;
use serde_json::Value;

/// A trace and what is to come of it.
pub struct Case {
    pub name: String,
    pub text: String,
    pub abstract_processes: bool,
    pub runs: Vec<GoldenRun>,
}

/// One simulation.
pub struct GoldenRun {
    pub key: String,
    pub cpus: u32,
    pub block: bool,
    pub model: ModelKind,
    pub expected: Expected,
}

/// Its result.
pub struct Expected {
    pub completed: bool,
    pub last_event: u64,
    pub finish: BTreeMap<String, Option<u64>>,
    pub timelines: BTreeMap<String, Vec<(String, u64, Option<u64>)>>,
    pub blocked: Vec<(String, String, u64)>,
}

fn load(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(file);
    let text = std::fs::read_to_string(&path).expect("a golden file beside the test");
    serde_json::from_str(&text).expect("golden files are JSON")
}

/// P, Q and R of the paper.
pub fn vppb_paper() -> Vec<Case> {
    let golden = load("vppb_paper_programs.json");
    let programs = golden.as_object().expect("programs by name");
    programs
        .iter()
        .filter(|(_, program)| program.get("trace").is_some())
        .map(|(name, program)| abstract_case(name, program))
        .collect()
}

/// Random programs.
pub fn vppb_generated() -> Vec<Case> {
    let golden = load("vppb_generated_programs.json");
    let programs = golden.as_array().expect("a list of programs");
    programs
        .iter()
        .map(|program| abstract_case(program["name"].as_str().expect("a name"), program))
        .collect()
}

fn abstract_case(name: &str, program: &Value) -> Case {
    let reconstructed = program["reconstructed"]
        .as_object()
        .expect("lists by process");
    let mut text = String::from("foretrace-text 1\n");
    for (index, process) in reconstructed.keys().enumerate() {
        writeln!(
            text,
            "process {process} priority {}",
            reconstructed.len() - index
        )
        .expect("a string");
    }
    for row in program["trace"].as_array().expect("rows") {
        let word = |index: usize| row[index].as_str().unwrap_or_default();
        let event = if word(2) == "term" {
            "terminate"
        } else {
            word(2)
        };
        writeln!(
            text,
            "{} {} {event} {} {}",
            row[0],
            word(1),
            word(3),
            word(4)
        )
        .expect("a string");
    }
    let runs = program["runs"].as_object().expect("runs by key");
    Case {
        name: name.to_owned(),
        text,
        abstract_processes: true,
        runs: runs
            .iter()
            .filter_map(|(key, run)| abstract_run(key, run))
            .collect(),
    }
}

fn abstract_run(key: &str, run: &Value) -> Option<GoldenRun> {
    let mut parts = key.split('/');
    let block = parts.next()? == "block";
    let cpus = parts.next()?.parse().ok()?;
    let model = match parts.next()? {
        "direct" => ModelKind::Direct,
        "cs" => ModelKind::ClientServer,
        "strict" => ModelKind::Strict,
        // `real` is the program itself, which a trace does not hold; `cs_pick_oldest` is a rejected reading.
        _ => return None,
    };
    Some(GoldenRun {
        key: key.to_owned(),
        cpus,
        block,
        model,
        expected: expected(run),
    })
}

fn expected(run: &Value) -> Expected {
    let number = |value: &Value| value.as_u64();
    let finish = run["finish"].as_object().expect("ends by thread");
    let timelines = run["timeline"].as_object().expect("timelines by thread");
    let segment = |segment: &Value| {
        let state = segment[0].as_str().expect("a state").to_owned();
        (
            state,
            segment[1].as_u64().expect("a begin"),
            segment[2].as_u64(),
        )
    };
    let blocked = run.get("blocked").and_then(Value::as_object);
    let operation = |name: &str| {
        if name == "act" {
            "send".to_owned()
        } else {
            name.to_owned()
        }
    };
    Expected {
        completed: run["status"] == "ok",
        last_event: run["last_event"].as_u64().expect("an instant"),
        finish: finish
            .iter()
            .map(|(thread, end)| (thread.clone(), number(end)))
            .collect(),
        timelines: timelines
            .iter()
            .map(|(thread, line)| {
                (
                    thread.clone(),
                    line.as_array()
                        .expect("segments")
                        .iter()
                        .map(segment)
                        .collect(),
                )
            })
            .collect(),
        blocked: blocked
            .into_iter()
            .flatten()
            .map(|(thread, at)| {
                (
                    thread.clone(),
                    operation(at[0].as_str().unwrap_or_default()),
                    at[1].as_u64().unwrap_or(0),
                )
            })
            .collect(),
    }
}

/// Thread programs.
pub fn pthread_cases() -> Vec<Case> {
    let golden = load("pthread_cases.json");
    let cases = golden.as_object().expect("cases by name");
    cases
        .iter()
        .filter(|(_, case)| case.get("program").is_some())
        .map(|(name, case)| thread_case(name, case))
        .collect()
}

fn thread_case(name: &str, case: &Value) -> Case {
    let program = case["program"].as_object().expect("operations by thread");
    let mut text = String::from("foretrace-text 1\n");
    for (index, thread) in program.keys().enumerate() {
        writeln!(text, "process {thread} priority {}", program.len() - index).expect("a string");
    }
    for (semaphore, tokens) in case["meta"]
        .get("sem")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        writeln!(text, "semaphore {semaphore} {tokens}").expect("a string");
    }
    // The rows give where an operation begins; a thread's end follows its last row by the work there.
    let mut ends = case["recorded_1cpu"]["finish"]
        .as_object()
        .expect("ends")
        .clone();
    for row in case["trace"].as_array().expect("rows") {
        let time = row[0].as_u64().expect("a time");
        let mut over: Vec<(String, u64)> = ends
            .iter()
            .map(|(thread, end)| (thread.clone(), end.as_u64().expect("an end")))
            .filter(|(_, end)| *end <= time)
            .collect();
        over.sort_by_key(|(_, end)| *end);
        let thread = row[1].as_str().expect("a thread");
        for (ended, end) in over.into_iter().filter(|(ended, _)| ended != thread) {
            writeln!(text, "{end} {ended} terminate").expect("a string");
            ends.shift_remove(&ended);
        }
        let operations = program[thread].as_array().expect("operations");
        let index = row[2].as_u64().expect("an index") as usize;
        if let Some(line) = operations
            .get(index)
            .and_then(|operation| thread_row(operation, case))
        {
            writeln!(text, "{time} {thread} {line}").expect("a string");
        }
    }
    let mut rest: Vec<(String, Value)> = ends.into_iter().collect();
    rest.sort_by_key(|(_, end)| end.as_u64());
    for (thread, end) in rest {
        writeln!(text, "{end} {thread} terminate").expect("a string");
    }
    let runs = case["runs"].as_object().expect("runs by key");
    Case {
        name: name.to_owned(),
        text,
        abstract_processes: false,
        runs: runs
            .iter()
            .filter_map(|(key, run)| thread_run(key, run))
            .collect(),
    }
}

fn thread_row(operation: &Value, case: &Value) -> Option<String> {
    let word = |index: usize| operation[index].as_str().unwrap_or_default();
    Some(match word(0) {
        "work" => return None,
        "cwait" => format!("cond_wait {} {}", word(1), word(2)),
        "signal" => format!("cond_signal {}", word(1)),
        "bcast" => format!("cond_broadcast {}", word(1)),
        "swait" => format!("sem_wait {}", word(1)),
        "post" => format!("sem_post {}", word(1)),
        "barrier" => format!(
            "barrier_wait {} {}",
            word(1),
            case["meta"]["barrier"][word(1)]
        ),
        same @ ("create" | "join" | "lock" | "unlock") => format!("{same} {}", word(1)),
        other => panic!("the golden files have no {other}"),
    })
}

fn thread_run(key: &str, run: &Value) -> Option<GoldenRun> {
    let (cpus, rest) = key.split_once('/')?;
    let model = match rest {
        "direct/bcast=rendezvous" => ModelKind::Direct,
        "cs/relock=signaler" => ModelKind::ClientServer,
        "strict/relock=signaler" => ModelKind::Strict,
        // The others are rejected readings.
        _ => return None,
    };
    Some(GoldenRun {
        key: key.to_owned(),
        cpus: cpus.parse().ok()?,
        block: false,
        model,
        expected: expected(run),
    })
}
