//! A recorded program runs as it does alone: its output, its exit code, its signals.

use std::{
    ffi::OsStr,
    fs,
    io::Write as _,
    ops::Range,
    os::unix::{
        ffi::OsStrExt as _,
        process::{CommandExt as _, ExitStatusExt as _},
    },
    process::{Command, Output, Stdio},
};

use crate::environment::TestEnvironment;

fn record(environment: &TestEnvironment, options: &[&str], program: &[&str]) -> Command {
    let mut arguments = vec!["record", "-o", "out.ftrace"];
    arguments.extend(options);
    arguments.push("--");
    arguments.extend(program);
    environment.command(&arguments)
}

fn output(command: &mut Command) -> Output {
    command.output().expect("foretrace was built")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn info(environment: &TestEnvironment, file: &str) -> serde_json::Value {
    let output = output(&mut environment.command(&["info", file, "--json"]));
    serde_json::from_slice(&output.stdout).expect("it is one JSON document")
}

/// Sends SIGTERM; by the shell's own `kill`, since not every system has the program.
fn terminate(pid: &str) {
    let kill = Command::new("sh")
        .args(["-c", &format!("kill {pid}")])
        .status();
    assert!(kill.expect("a shell is everywhere").success());
}

#[test]
fn output_and_exit_code_pass_through() {
    let environment = TestEnvironment::new();
    let script = "cat; echo error >&2; exit 7";
    let mut child = record(&environment, &["--quiet"], &["sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("foretrace was built");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(b"input\n").expect("cat reads it");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(text(&output.stdout), "input\n");
    assert_eq!(text(&output.stderr), "error\n");
    // The journal is gone once the trace is there.
    assert_eq!(environment.files(), [".cache", "out.ftrace"]);
    let trace = &info(&environment, "out.ftrace")["trace"];
    assert_eq!(trace["recording"]["exit_code"], 7);
    assert_eq!(trace["recording"]["command"][0], "sh");
}

#[test]
fn a_program_killed_by_a_signal_ends_foretrace_by_the_same() {
    let environment = TestEnvironment::new();
    for (name, signal) in [("TERM", 15), ("KILL", 9), ("SEGV", 11)] {
        let script = format!("kill -{name} $$");
        let output = output(&mut record(
            &environment,
            &["--force"],
            &["sh", "-c", &script],
        ));
        assert_eq!(output.status.signal(), Some(signal));
        assert!(text(&output.stderr).contains(&format!("killed by SIG{name}")));
        let trace = &info(&environment, "out.ftrace")["trace"];
        assert_eq!(trace["recording"]["signal"], signal);
    }
}

#[test]
fn signals_sent_to_foretrace_reach_the_program() {
    let environment = TestEnvironment::new();
    // Bounded, so that a test that fails leaves nothing running.
    let script = "trap 'echo caught; exit 5' TERM; echo ready > ready; for i in $(seq 2000); do sleep 0.01; done";
    let child = record(&environment, &[], &["sh", "-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("foretrace was built");
    while !environment.has("ready") {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    terminate(&pid);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(text(&output.stdout), "caught\n");
}

#[test]
fn cpus_are_listed_as_many_as_are_pretended_wherever_the_trace_goes() {
    let environment = TestEnvironment::new();
    std::fs::create_dir(environment.path("real")).expect("it is writable");
    let link = environment.path("link");
    std::os::unix::fs::symlink(environment.path("real"), &link).expect("it is writable");
    for file in ["link/a.ftrace", "real/../real/a.ftrace"] {
        let script = "lscpu -p=cpu | grep -vc '#'";
        let arguments = ["record", "--pretend-cpus", "3", "--force", "-o", file, "--"];
        let mut command = environment.command(&arguments);
        let output = output(command.args(["sh", "-c", script]));
        assert_eq!(text(&output.stdout), "3\n", "{file}");
    }
}

#[test]
fn every_signal_that_is_sent_to_foretrace_is_the_programs() {
    let environment = TestEnvironment::new();
    for signal in [3, 4, 5, 6, 7, 8, 11, 13, 18, 20, 23, 25, 31, 34, 40, 64] {
        let script = format!(
            "trap 'echo caught; exit 5' {signal}; echo ready > ready; for i in $(seq 2000); do sleep 0.01; done"
        );
        let child = record(&environment, &["--force"], &["bash", "-c", &script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("foretrace was built");
        while !environment.has("ready") {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        std::fs::remove_file(environment.path("ready")).expect("it is there");
        let kill = Command::new("sh")
            .args(["-c", &format!("kill -{signal} {}", child.id())])
            .status();
        assert!(kill.expect("a shell is everywhere").success());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(5), "{signal}");
        assert_eq!(text(&output.stdout), "caught\n", "{signal}");
    }
}

#[test]
fn a_signal_ends_foretrace_when_the_program_is_over() {
    let environment = TestEnvironment::new();
    // A journal that nobody ever writes: foretrace waits for it.
    let script = "mkfifo $FORETRACE_JOURNAL/1-1-0.ftj; echo over > over";
    let mut child = record(&environment, &[], &["sh", "-c", script])
        .stderr(Stdio::piped())
        .spawn()
        .expect("foretrace was built");
    while !environment.has("over") {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    while child.try_wait().expect("it is ours").is_none() {
        terminate(&pid);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let output = child.wait_with_output().expect("it has ended");
    assert_eq!(output.status.signal(), Some(15));
    assert!(text(&output.stderr).contains("foretrace recover "));
    assert!(environment.has("out.ftrace.journal"));
}

#[test]
fn a_signal_that_the_program_sends_to_its_process_group_comes_once() {
    let environment = TestEnvironment::new();
    let script = "trap 'echo caught' USR1; kill -USR1 0; sleep 0.2; exit 3";
    let mut command = record(&environment, &["--quiet"], &["sh", "-c", script]);
    let output = output(command.process_group(0));
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "caught\n");
}

#[test]
fn standard_descriptors_that_are_closed_stay_closed() {
    let environment = TestEnvironment::new();
    let list = "for fd in 0 1 2; do test -e /proc/$$/fd/$fd && echo $fd; done >list; exit 3";
    let command = record(&environment, &["--quiet"], &["sh", "-c", list]);
    let output = output(&mut through_shell(&command, r#"exec "$0" "$@" <&- 2>&-"#));
    assert_eq!(output.status.code(), Some(3));
    let list = fs::read_to_string(environment.path("list"));
    assert_eq!(list.expect("the script writes it"), "1\n");
}

#[test]
fn a_program_that_stops_itself_gives_the_terminal_back() {
    let environment = TestEnvironment::new();
    let program = "kill -STOP $$; echo on";
    let command = record(&environment, &["--quiet"], &["sh", "-c", program]);
    let words = words_of(&command).map(|word| format!("'{}'", word.display()));
    let words: Vec<String> = words.collect();
    let shell = format!("{}\necho stopped\nfg\n", words.join(" "));
    let shell = environment.file("shell", shell, 0o644);
    // Bounded, so that a test that fails leaves nothing running.
    let mut terminal = Command::new("timeout");
    terminal
        .args(["60", "script", "-qec"])
        .arg(format!("sh -m {}", shell.display()))
        .arg("/dev/null")
        .stdin(Stdio::null())
        .current_dir(environment.path(""))
        .env("HOME", environment.path(""));
    let output = text(&output(&mut terminal).stdout);
    let place = |what| output.find(what).expect(&output);
    assert!(place("stopped") < place("on\r"), "{output}");
}

#[test]
fn names_that_are_no_text_are_names() {
    let environment = TestEnvironment::new();
    let name = OsStr::from_bytes(b"out-\xff.ftrace");
    let mut command = environment.command(&["record", "-o"]);
    command.arg(name).args(["--", "sh", "-c", "exit 3"]);
    let recorded = output(&mut command);
    assert_eq!(
        recorded.status.code(),
        Some(3),
        "{}",
        text(&recorded.stderr)
    );
    let mut info = environment.command(&["info"]);
    assert!(output(info.arg(name)).status.success());
}

/// Returns the words of a command.
fn words_of(command: &Command) -> impl Iterator<Item = &OsStr> {
    [command.get_program()]
        .into_iter()
        .chain(command.get_args())
}

/// Has a command run by a shell's script, whose arguments its words are.
fn through_shell(command: &Command, script: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).args(words_of(command));
    if let Some(directory) = command.get_current_dir() {
        shell.current_dir(directory);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

#[test]
fn the_program_is_pinned_and_believes_in_the_cpus_asked_for() {
    let environment = TestEnvironment::new();
    // Where it last ran is told by nobody but the kernel.
    let script = "nproc; cut -d' ' -f39 /proc/self/stat";
    let mut command = record(
        &environment,
        &["--pretend-cpus", "5"],
        &["sh", "-c", script],
    );
    let output = text(&output(&mut command).stdout);
    let cpu = info(&environment, "out.ftrace")["trace"]["recording"]["cpu"].clone();
    assert_eq!(output, format!("5\n{cpu}\n"));
}

#[test]
fn who_lists_the_cpus_sees_those_asked_for() {
    let environment = TestEnvironment::new();
    // More than a machine has that runs tests, and fewer.
    for cpus in [300, 1] {
        let last = cpus - 1;
        let script = format!(
            "ls -l /sys/devices/system/cpu | grep -c ' cpu[0-9]'; ls /sys/devices/system/cpu | grep -c '^cpu[0-9]'; \
             lscpu -p=cpu | grep -cv '#'; test -d /sys/devices/system/cpu/cpu{last} && echo last; \
             test -e /sys/devices/system/cpu/cpu{cpus} || echo none; cat /sys/devices/system/cpu/cpu{last}/topology/core_id"
        );
        let cpus_asked = cpus.to_string();
        let options = ["--force", "--pretend-cpus", &cpus_asked];
        let mut command = record(&environment, &options, &["sh", "-c", &script]);
        let output = text(&output(&mut command).stdout);
        assert_eq!(
            output,
            format!("{cpus}\n{cpus}\n{cpus}\nlast\nnone\n{last}\n")
        );
        assert_eq!(environment.files(), [".cache", "out.ftrace"]);
    }
}

#[test]
fn libraries_that_the_user_preloads_stay_first() {
    let environment = TestEnvironment::new();
    let mut command = record(&environment, &[], &["sh", "-c", "echo $LD_PRELOAD"]);
    let output = text(&output(command.env("LD_PRELOAD", "libm.so.6")).stdout);
    assert!(output.starts_with("libm.so.6:/"), "{output}");
}

#[test]
fn without_children_the_environment_is_as_it_was() {
    let environment = TestEnvironment::new();
    // Its own shell shows what a child is given, as does the child.
    let script = "export | grep -E 'FORETRACE|PRELOAD'; env | grep -E 'FORETRACE|PRELOAD'; (env) | wc -l; true";
    for (own, shown) in [
        (None, ""),
        (
            Some("libm.so.6"),
            "export LD_PRELOAD='libm.so.6'\nLD_PRELOAD=libm.so.6\n",
        ),
        (Some(""), "export LD_PRELOAD=''\nLD_PRELOAD=\n"),
    ] {
        let options = ["--no-children", "--force"];
        let mut command = record(&environment, &options, &["sh", "-c", script]);
        let plain = environment.command(&[]);
        let mut alone = Command::new("sh");
        alone.args(["-c", script]).env_clear();
        alone.envs(
            plain
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        if let Some(own) = own {
            command.env("LD_PRELOAD", own);
            alone.env("LD_PRELOAD", own);
        }
        let recorded = text(&output(&mut command).stdout);
        assert!(recorded.starts_with(shown), "{recorded}");
        let variables = |text: &str| text.lines().last().map(str::to_owned);
        assert_eq!(
            variables(&recorded),
            variables(&text(&output(&mut alone).stdout))
        );
        let trace = info(&environment, "out.ftrace");
        assert_eq!(trace["threads"].as_array().map(Vec::len), Some(1));
    }
}

#[test]
fn a_home_directory_with_a_space_in_its_name_does_not_matter() {
    let environment = TestEnvironment::new();
    let home = environment.path("my home");
    fs::create_dir(&home).expect("it is new");
    let output = output(record(&environment, &["-q"], &["true"]).env("HOME", home));
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn what_was_recorded_before_foretrace_itself_was_killed_can_be_read() {
    let environment = TestEnvironment::new();
    let script = "echo $$ > pid.new; mv pid.new pid; exec sleep 60";
    let mut child = record(
        &environment,
        &["--pretend-cpus", "3"],
        &["sh", "-c", script],
    )
    .stderr(Stdio::piped())
    .spawn()
    .expect("foretrace was built");
    while !environment.has("pid") {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let pid = fs::read_to_string(environment.path("pid")).expect("the script wrote it");
    // What moved the file is still to end.
    let name = format!("/proc/{}/comm", pid.trim());
    while fs::read_to_string(&name).is_ok_and(|name| name.trim() != "sleep") {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    terminate(pid.trim());
    // Until it has ended it may still record something.
    let stat = format!("/proc/{}/stat", pid.trim());
    while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let trace = &info(&environment, "out.ftrace.journal")["trace"];
    assert_eq!(trace["recording"]["exit_code"], serde_json::Value::Null);
    assert_eq!(trace["recording"]["command"][0], "sh");
    assert_eq!(trace["recording"]["pretended_cpus"], 3);
    let recovered = environment.run(&["recover", "out.ftrace.journal"]);
    assert!(recovered.contains("exit code: 0"), "{recovered}");
    assert_eq!(
        info(&environment, "out.ftrace")["trace"]["events"],
        trace["events"]
    );
    fs::remove_file(environment.path("out.ftrace")).expect("it was recovered");
    let again = output(&mut record(&environment, &[], &["true"]));
    assert!(text(&again.stderr).contains("out.ftrace.journal is there already"));
}

#[test]
fn nothing_is_lost_of_a_program_that_records_much() {
    let environment = TestEnvironment::new();
    let source = include_str!("../../../../traces/programs/lock_cost.c");
    environment.compile("lock_cost", source, &["-O2", "-pthread"]);
    // 29 megabytes of records, of four threads with sixteen mutexes each.
    let program = ["./lock_cost", "300000", "16", "4"];
    assert!(
        output(&mut record(&environment, &["--quiet"], &program))
            .status
            .success()
    );
    let trace = &info(&environment, "out.ftrace")["trace"];
    let events = trace["events"].as_u64().expect("it is a number");
    assert!((2_400_000..2_400_100).contains(&events), "{events}");
    assert_eq!(trace["recording"]["lost_events"], 0);
}

#[test]
fn a_limit_for_files_ends_the_recording_and_neither_the_program_nor_foretrace() {
    let environment = TestEnvironment::new();
    let source = include_str!("../../../../traces/programs/lock_cost.c");
    environment.compile("lock_cost", source, &["-O2", "-pthread"]);
    let command = record(&environment, &[], &["./lock_cost", "300000", "16", "4"]);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -f 8000; exec \"$@\"", "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(command.get_current_dir().expect("it has one"));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let ended = output(&mut limited);
    assert!(ended.status.success(), "{ended:?}");
    let said = text(&ended.stderr);
    assert!(said.contains("stopped for want of space"), "{said}");
    let trace = &info(&environment, "out.ftrace")["trace"];
    assert!(trace["events"].as_u64() > Some(10_000));
}

#[test]
fn the_demo_shows_the_whole_way() {
    let environment = TestEnvironment::new();
    let output = output(&mut environment.command(&["demo"]));
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(stdout.starts_with("768 tiles, 683084184 iterations, checksum 66878308984b543b\n"));
    for cpus in 1..=16 {
        let row = format!("\n{cpus:>4}  ");
        assert!(stdout.contains(&row), "no row for {cpus} CPUs: {stdout}");
    }
    assert!(environment.has("foretrace-demo.ftrace"));
    let picture = fs::read_to_string(environment.path("foretrace-demo.svg"));
    assert!(picture.expect("it was written").contains("<svg"));
    let absolute = environment.path("foretrace-demo.svg");
    assert!(stdout.contains(&absolute.display().to_string()));
}

/// A thread that waits for a flag, without any call.
const SPINS: &str = "#include <pthread.h>
#include <stdatomic.h>
static atomic_int ready;
static volatile long sink;
static void *spins(void *unused) {
    while (!atomic_load(&ready)) {
    }
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, spins, 0);
    for (long i = 0; i < 300000000; i++)
        sink += i;
    atomic_store(&ready, 1);
    return pthread_join(thread, 0);
}
";

#[test]
fn a_loop_that_waits_for_memory_is_found_with_its_line() {
    let environment = TestEnvironment::new();
    let mut is_forbidden = false;
    for optimization in ["-O0", "-O2"] {
        let name = format!("spins{optimization}");
        environment.compile(&name, SPINS, &[optimization, "-g", "-pthread"]);
        // Looked for all the time, or now and then.
        let options: &[&str] = match optimization {
            "-O0" => &["--find-spins"],
            _ => &["--force"],
        };
        let output = output(&mut record(&environment, options, &[&format!("./{name}")]));
        let told = text(&output.stderr);
        let line =
            format!("in a loop of spins ([HOME]/{name}.c:6) that waits for memory to change");
        let folder = environment.path("");
        let folder = folder.file_name().expect("it has a name").to_string_lossy();
        let line = line.replace("[HOME]", &folder);
        is_forbidden |= told.contains("the kernel does not let this program be sampled");
        assert!(told.contains(&line) || is_forbidden, "{line}: {told}");
        // Adding to a number is work, although it takes as long.
        assert!(!told.contains("loop of main"), "{told}");
    }
}

/// Two threads that make lists, go through them and throw them away: where one was, memory that is free is told of in lists without an end.
const LISTS: &str = "#include <pthread.h>
#include <stdlib.h>
struct node { struct node *next; long value; };
static long found[2];
static void *makes(void *which) {
    long *own = which;
    for (int round = 0; round < 60; round++) {
        struct node head = {&head, -1};
        for (long i = 0; i < 4000; i++) {
            struct node *node = malloc(sizeof *node);
            node->value = i;
            node->next = head.next;
            head.next = node;
        }
        for (long value = 0; value < 30; value++)
            for (struct node *node = head.next; node != &head; node = node->next)
                *own += node->value == value;
        while (head.next != &head) {
            struct node *node = head.next;
            head.next = node->next;
            free(node);
        }
    }
    return 0;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, makes, &found[0]);
    makes(&found[1]);
    pthread_join(thread, 0);
    return found[0] + found[1] == 3600 ? 0 : 1;
}
";

#[test]
fn who_goes_through_lists_works() {
    let environment = TestEnvironment::new();
    for optimization in ["-O0", "-O2"] {
        let name = format!("lists{optimization}");
        environment.compile(&name, LISTS, &[optimization, "-g", "-pthread"]);
        let options = &["--find-spins", "-f"];
        let output = output(&mut record(&environment, options, &[&format!("./{name}")]));
        let told = text(&output.stderr);
        assert!(output.status.success(), "{told}");
        assert!(!told.contains("waits for memory to change"), "{told}");
    }
}

#[test]
fn who_looks_at_memory_waits_for_the_others_and_does_not_work() {
    let environment = TestEnvironment::new();
    let source = include_str!("../../../../traces/programs/meets.c");
    // By a loop of its own, and by a function that looks at several places.
    for (name, more) in [("meets", "-DLOOKS"), ("meets_in_calls", "-DPLACES=8")] {
        let options = ["-O2", "-g", "-pthread", "-DLOOKS", more];
        environment.compile(name, source, &options);
        // On two CPUs the longer parts of the work follow each other. On one, who looks does so until the clock ticks, which the recording did not wait for: the
        // quicker the machine works, the longer that is beside the work.
        looking_is_no_work(&environment, &format!("./{name}"), (1.0..12.0, 0.5..1.1));
    }
}

#[test]
fn who_looks_for_a_while_before_it_sleeps_does_so_on_one_cpu_only() {
    let environment = TestEnvironment::new();
    let source = include_str!("../../../../traces/programs/lingers.c");
    environment.compile("lingers", source, &["-O2", "-g", "-pthread"]);
    // On two CPUs both threads work at the same time.
    looking_is_no_work(&environment, "./lingers", (0.8..1.2, 0.45..0.75));
}

#[test]
fn who_looks_for_long_before_it_sleeps_lets_others_share_out_the_work() {
    let environment = TestEnvironment::new();
    let source = include_str!("../../../../traces/programs/looks_for_long.c");
    environment.compile("looks_for_long", source, &["-O2", "-g", "-pthread"]);
    // On two CPUs both threads have half of it.
    looking_is_no_work(&environment, "./looks_for_long", (0.7..12.0, 0.45..0.75));
}

/// Checks that much of what a program did in its recording was looking at memory, and that it takes such a share of its CPU time there on one CPU, and of its work
/// on two.
fn looking_is_no_work(
    environment: &TestEnvironment,
    program: &str,
    (on_one, on_two): (Range<f64>, Range<f64>),
) {
    let mut missed = Vec::new();
    for _ in 0..5 {
        let output = output(&mut record(
            environment,
            &["--find-spins", "-f"],
            &[program],
        ));
        let told = text(&output.stderr);
        if told.contains("the kernel does not let this program be sampled") {
            return;
        }
        assert!(told.contains("are no work in predictions"), "{told}");
        let predicted = environment.json(&["predict", "out.ftrace", "--cpus", "1,2", "--json"]);
        let nanos = |of: &serde_json::Value| of.as_f64().expect("a number");
        let worked = nanos(&predicted["trace"]["cpu_time_ns"]);
        let used = nanos(&predicted["trace"]["recording"]["process_cpu_time_ns"]);
        let makespan = |place: usize| nanos(&predicted["predictions"][place]["makespan_ns"]);
        let found = (worked / used, makespan(0) / used, makespan(1) / worked);
        if found.0 < 0.7 && on_one.contains(&found.1) && on_two.contains(&found.2) {
            return;
        }
        missed.push(found);
    }
    panic!("{missed:?}");
}

#[test]
fn tries_that_fail_again_and_again_are_told_with_their_line() {
    let environment = TestEnvironment::new();
    let source = SPINS
        .replace(
            "static atomic_int ready;",
            "static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;",
        )
        .replace("!atomic_load(&ready)", "pthread_mutex_trylock(&mutex)")
        .replace(
            "pthread_t thread;",
            "pthread_t thread; pthread_mutex_lock(&mutex);",
        )
        .replace("atomic_store(&ready, 1);", "pthread_mutex_unlock(&mutex);")
        .replace("300000000", "150000000");
    environment.compile("polls", &source, &["-O1", "-g", "-pthread"]);
    let output = output(&mut record(&environment, &[], &["./polls"]));
    let told = text(&output.stderr);
    assert!(told.contains("while spins ("), "{told}");
    assert!(told.contains("/polls.c:6) called trylock"), "{told}");
    let info = info(&environment, "out.ftrace");
    let spin = &info["spins"][0];
    assert_eq!(
        (&spin["function"], &spin["line"]),
        (&"spins".into(), &6.into())
    );
    let shown = environment.run(&["info", "out.ftrace"]);
    assert!(
        shown.contains("Places that asked again and again: 1"),
        "{shown}"
    );
}

#[test]
fn what_recording_costs_is_measured_before_the_program_runs() {
    let environment = TestEnvironment::new();
    // The user's own library, which is not there, is the program's business alone.
    let recorded = output(
        record(
            &environment,
            &["-q"],
            &["sh", "-c", "echo $FORETRACE_COSTS"],
        )
        .env("LD_PRELOAD", "/nowhere/of_the_user.so"),
    );
    let numbers = text(&recorded.stdout);
    let numbers: Vec<u64> = numbers.trim().split(',').flat_map(str::parse).collect();
    assert_eq!(numbers.len(), 7, "{recorded:?}");
    assert!(
        numbers[0] > 0,
        "loading the library takes time: {numbers:?}"
    );
    let complaints = text(&recorded.stderr);
    let told = complaints.matches("of_the_user.so").count();
    let alone = output(
        Command::new("sh")
            .args(["-c", "echo"])
            .env("LD_PRELOAD", "/nowhere/of_the_user.so"),
    );
    let usual = text(&alone.stderr).matches("of_the_user.so").count();
    // foretrace itself is told of it, too.
    assert_eq!(told, 2 * usual, "{complaints}");
    assert!(!environment.path("out.ftrace.journal").exists());
}

#[test]
fn what_recording_costs_is_measured_with_the_systems_own_programs() {
    let environment = TestEnvironment::new();
    let trap = format!(
        "#!/bin/sh\necho run >>{}\n",
        environment.path("trap").display()
    );
    for name in ["true", "sh"] {
        environment.file(name, &trap, 0o755);
    }
    let shell = ["/bin/sh", "-c", "echo ${FORETRACE_COSTS-none}"];
    let mut command = record(&environment, &["-q"], &shell);
    let recorded = output(command.env("PATH", environment.path("")));
    assert_eq!(recorded.status.code(), Some(0), "{recorded:?}");
    assert_ne!(text(&recorded.stdout), "none\n");
    assert!(!environment.has("trap"));
}
