//! Traces that break an invariant are refused, each for its reason.
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets the unexpected may end so"
)]

use foretrace_trace::{
    CallId, CallSite, ModuleId, Nanos, ObjectId, ObjectKind, Operation, ProcessId, Recording,
    SiteId, ThreadId, Trace, validate, warnings,
};

fn valid() -> Trace {
    foretrace_testkit::trace(
        "module p /bin/p\nprocess A priority 2\nprocess B priority 1\n\
         0 A create B cpu=0 site=p+0x1\n5 A lock m cpu=5\n6 A unlock m cpu=6\n\
         7 B cond_signal c cpu=1\n8 A terminate cpu=7\n9 B terminate cpu=2\n",
    )
}

fn problem(change: impl FnOnce(&mut Trace)) -> String {
    let mut trace = valid();
    validate(&trace).unwrap();
    change(&mut trace);
    validate(&trace).unwrap_err().to_string()
}

#[test]
fn an_id_outside_its_table_is_refused() {
    let thread = ThreadId(9);
    let cases: [(&str, String); 10] = [
        ("process table", problem(|t| t.processes.clear())),
        (
            "names a process",
            problem(|t| t.threads[0].process = ProcessId(9)),
        ),
        (
            "names a call site",
            problem(|t| t.threads[0].start_routine = Some(SiteId(9))),
        ),
        (
            "names a process",
            problem(|t| t.objects[0].process = ProcessId(9)),
        ),
        (
            "names a module",
            problem(|t| {
                t.sites.push(CallSite {
                    module: ModuleId(9),
                    offset: 0,
                    caller: None,
                });
            }),
        ),
        ("names a thread", problem(|t| t.calls[0].thread = thread)),
        (
            "names a thread",
            problem(|t| t.calls[0].from = Some(thread)),
        ),
        (
            "names a thread",
            problem(|t| t.calls[0].operation = Operation::Join(thread)),
        ),
        (
            "names an object",
            problem(|t| t.calls[1].operation = Operation::Lock(ObjectId(9))),
        ),
        (
            "event 3: names a call",
            problem(|t| t.events[2].call = CallId(99)),
        ),
    ];
    for (expected, problem) in cases {
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn an_object_of_the_wrong_kind_is_refused() {
    let message = problem(|trace| {
        let cond = trace
            .objects
            .iter()
            .position(|object| object.kind == ObjectKind::Cond)
            .unwrap();
        trace.calls[1].operation = Operation::Lock(ObjectId::from_index(cond));
    });
    assert!(
        message.contains("call 1: lock needs a mutex, and \"c\" is a cond"),
        "{message}"
    );
}

#[test]
fn equal_names_are_refused_within_a_kind_only() {
    let threads = problem(|trace| trace.threads[1].name = "A".to_owned());
    assert!(
        threads.contains("thread \"A\": is there twice"),
        "{threads}"
    );
    let objects = problem(|trace| trace.objects.push(trace.objects[0].clone()));
    assert!(objects.contains("mutex \"m\": is there twice"), "{objects}");
    let mut trace = valid();
    trace.objects[1].name = "m".to_owned();
    validate(&trace).unwrap();
}

#[test]
fn threads_by_increasing_priority_are_refused() {
    let message = problem(|trace| trace.threads[0].priority = Some(0));
    assert!(
        message.contains("do not stand by decreasing priority"),
        "{message}"
    );
    let mut trace = valid();
    trace.threads[1].priority = None;
    validate(&trace).unwrap();
}

#[test]
fn times_that_fall_or_are_out_of_range_are_refused() {
    let falls = problem(|trace| trace.events[1].time = Nanos(7));
    assert!(
        falls.contains("event 3: time 6 ns is before the 7 ns"),
        "{falls}"
    );
    let cpu = problem(|trace| trace.events[1].set_cpu(Some(Nanos(7))));
    assert!(
        cpu.contains("event 3: the CPU time of thread \"A\" falls from 7 to 6 ns"),
        "{cpu}"
    );
    let late = problem(|trace| trace.events[5].time = Nanos((1 << 53) + 1));
    assert!(
        late.contains("event 6: time 9007199254740993 ns is above"),
        "{late}"
    );
    let together = problem(|trace| {
        trace.events[4].set_cpu(Some(Nanos(u64::MAX)));
        trace.events[5].set_cpu(Some(Nanos(u64::MAX)));
    });
    assert!(together.contains("CPU times: together"), "{together}");
    let wall = problem(|trace| {
        let wall = Nanos(u64::MAX);
        trace.recording = Some(Recording {
            wall,
            ..Recording::default()
        });
    });
    assert!(wall.contains("recording: holds a time above"), "{wall}");
}

#[test]
fn a_creation_that_failed_creates_nothing() {
    foretrace_testkit::trace(
        "0 A create B failed:11\n1 A create B\n2 A terminate\n2 B terminate\n",
    );
}

#[test]
fn what_is_odd_is_told_once() {
    let mut trace = foretrace_testkit::trace(
        "0 A join BB\n1 A unlock m\n2 A unlock m\n3 A cond_wait c m\n4 A lock m\n5 A cond_wait c m\n6 A unlock m\n",
    );
    assert_eq!(
        trace.warnings,
        [
            "thread \"A\" never ends: it is taken to end after its last event, line 8 of test",
            "thread \"BB\" has no events",
            "thread \"A\" unlocks \"m\" without holding it: line 3 of test",
            "thread \"A\" waits with \"m\" without holding it: line 5 of test",
        ]
    );
    assert_eq!(warnings(&trace), [""; 0]);
    trace.warnings.clear();
    assert_eq!(warnings(&trace).len(), 4);
}

#[test]
fn many_alike_are_counted() {
    let rows = (0..20).fold(String::new(), |rows, i| format!("{rows}0 T{i} unlock m\n"));
    let warnings = foretrace_testkit::trace(&rows).warnings;
    assert_eq!(warnings.len(), 18);
    assert_eq!(warnings[8], "12 further threads never end");
    assert_eq!(
        warnings[17],
        "12 further events use locks that their threads do not hold"
    );
}
