//! `info` names the functions and lines that calls came from.

use serde_json::{Value, json};

use crate::environment::TestEnvironment;

/// One thread waits for a mutex until the other has seen that it does, so that it waits in every recording.
const SOURCE: &str = "\
#include <pthread.h>
#include <sched.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *waiter(void *unused) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}
static void holder(void) {
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, NULL, waiter, NULL);
    /* A locked mutex with waiters, as glibc has it. */
    while (*(volatile int *)&mutex != 2) sched_yield();
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
}
int main(void) {
    holder();
    return 0;
}
";

/// Compiles the program and records it; returns what `info` shows of it, as text and as JSON.
fn recorded(flags: &[&str]) -> (TestEnvironment, String, Value) {
    recorded_with(flags, &[])
}

/// The same with further options of `record`.
fn recorded_with(flags: &[&str], options: &[&str]) -> (TestEnvironment, String, Value) {
    let environment = TestEnvironment::new();
    let program = environment.compile("waits", SOURCE, &[flags, &["-pthread"]].concat());
    let program = program.display().to_string();
    let recording = [
        &["record", "--quiet", "--force", "-o", "waits.ftrace"],
        options,
        &["--", &program],
    ]
    .concat();
    assert!(environment.run(&recording).contains("exit code: 0"));
    let text = environment.run(&["info", "waits.ftrace"]);
    let json = environment
        .command(&["info", "waits.ftrace", "--json"])
        .output()
        .expect("foretrace was built");
    let json = serde_json::from_slice(&json.stdout).expect("it is one JSON document");
    (environment, text, json)
}

/// Returns the lock of the thread that waited, and those of the others.
fn locks(info: &Value) -> (Value, Vec<Value>) {
    let sites = info["sites"].as_array().expect("it is a list");
    let (waited, others) = sites
        .iter()
        .filter(|site| site["operation"] == "lock")
        .cloned()
        .partition::<Vec<_>, _>(|site| site["blocked"] == 1);
    (waited[0].clone(), others)
}

#[test]
fn functions_and_lines_are_shown_where_threads_waited() {
    let (environment, text, info) = recorded(&["-g"]);
    let row = text
        .lines()
        .find(|line| line.starts_with("waiter "))
        .unwrap_or_else(|| panic!("no row for waiter:\n{text}"));
    assert!(row.contains("/waits.c:5 "), "{row}");
    assert!(row.contains("  lock  "), "{row}");
    assert!(text.contains("waits.c:4)\n"), "no start routine:\n{text}");

    let (waited, others) = locks(&info);
    assert_eq!(waited["function"], "waiter");
    assert_eq!(waited["line"], 5);
    let file = environment.path("waits.c").display().to_string();
    assert_eq!(waited["file"], file);
    assert_eq!(waited["object_kind"], "mutex");
    assert_eq!(waited["objects"], json!([info["objects"][0]["name"]]));
    assert_eq!(others.len(), 1);
    assert_eq!(
        (&others[0]["function"], &others[0]["line"]),
        (&json!("holder"), &json!(11))
    );
    assert_eq!(others[0]["blocked"], 0);

    let thread = &info["threads"][1];
    assert_eq!(thread["start_function"], "waiter");
    assert_eq!(thread["start_line"], 4);
    let start = thread["start_routine"].as_str().expect("it is text");
    assert!(start.starts_with("waits+0x"), "{start}");
    assert_eq!(info["notes"], json!([]));
}

#[test]
fn without_debug_information_functions_are_named_and_the_remedy_is_told() {
    let (environment, text, info) = recorded(&[]);
    assert!(text.contains("\nwaiter+0x"), "{text}");
    let note = format!(
        "no debug information in {}: compile with -g, or install its -dbgsym package",
        environment.path("waits").display()
    );
    assert_eq!(info["notes"], json!([note]));
    assert!(text.contains("\nNotes: what limits the functions and lines above\n- no debug"));
    let (waited, _) = locks(&info);
    assert_eq!(waited["function"], "waiter");
    assert_eq!(waited["line"], Value::Null);
}

#[test]
fn stripped_programs_are_shown_by_offset() {
    let (_environment, text, info) = recorded(&["-s"]);
    assert!(text.contains("\nwaits+0x"), "{text}");
    assert_eq!(locks(&info).0["function"], Value::Null);
    assert_eq!(info["notes"].as_array().map(Vec::len), Some(1));
}

#[test]
fn callers_are_shown_where_call_stacks_were_recorded() {
    let flags = ["-g", "-fno-omit-frame-pointer"];
    let (environment, text, info) = recorded_with(&flags, &["--stacks", "3"]);
    let (_, others) = locks(&info);
    let callers = others[0]["callers"].as_array().expect("it is a list");
    let (function, line) = (&callers[0]["function"], &callers[0]["line"]);
    assert_eq!((function, line), (&json!("main"), &json!(19)), "{info}");
    assert!(callers.len() <= 3);
    // The one that waited has no caller in the program; the thread that joined has.
    let rows: Vec<&str> = text.lines().collect();
    let join = rows.iter().position(|row| row.contains("  join  "));
    let below = rows[join.expect("a thread was joined") + 1];
    assert!(below.starts_with("  < main "), "{text}");
    assert!(below.contains("/waits.c:19"), "{text}");

    // As text and back nothing of it is lost.
    let export = [
        "export",
        "waits.ftrace",
        "--format",
        "text",
        "-o",
        "waits.txt",
    ];
    assert!(environment.run(&export).contains("exit code: 0"));
    let again = environment
        .command(&["info", "waits.txt", "--json"])
        .output()
        .expect("foretrace was built");
    let again: Value = serde_json::from_slice(&again.stdout).expect("it is one JSON document");
    assert_eq!(again["sites"], info["sites"]);
}
