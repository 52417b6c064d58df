//! What a text trace says, and what is wrong with one, by line and column.
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets the unexpected may end so"
)]

use foretrace_trace::{
    Nanos, ObjectKind, Operation, Outcome, Returns, ThreadId, Trace, read, text,
};

fn parse(rows: &str) -> Trace {
    foretrace_testkit::trace(rows)
}

/// Returns the error of a text trace whose first line is added: `rows` begin in line 2.
fn message(rows: &str) -> String {
    text::parse(&format!("foretrace-text 1\n{rows}"), "x")
        .unwrap_err()
        .to_string()
}

fn names(trace: &Trace) -> Vec<&str> {
    trace
        .threads
        .iter()
        .map(|thread| thread.name.as_str())
        .collect()
}

#[test]
fn threads_without_declarations_stand_in_the_order_of_their_first_appearance() {
    let trace =
        parse("0 M create T1\n0 M create T2\n1 T2 terminate\n2 T1 terminate\n3 M terminate\n");
    assert_eq!(names(&trace), ["M", "T1", "T2"]);
    assert_eq!(trace.processes.len(), 1);
}

#[test]
fn priorities_order_the_threads_where_all_carry_one() {
    let rows = "0 a terminate\n0 b terminate\n0 c terminate\n";
    let all = parse(&format!(
        "process a priority 1\nprocess b priority 2\nprocess c priority 1\n{rows}"
    ));
    assert_eq!(names(&all), ["b", "a", "c"]);
    assert_eq!(all.call(&all.events[0]).thread, ThreadId(1));
    let some = parse(&format!(
        "process a priority 1\nthread b cpu 3\nprocess c priority 2\n{rows}"
    ));
    assert_eq!(names(&some), ["a", "b", "c"]);
    assert_eq!(some.threads[1].cpu, Some(3));
}

#[test]
fn a_unit_scales_times_and_cpu_times() {
    let trace = parse("unit 1us\n0.5 A lock m cpu=0.25\n1 A terminate cpu=1\n");
    let times: Vec<_> = trace
        .events
        .iter()
        .map(|event| (event.time.0, event.cpu()))
        .collect();
    assert_eq!(times, [(500, Some(Nanos(250))), (1000, Some(Nanos(1000)))]);
}

#[test]
fn line_ends_blanks_comments_and_a_byte_order_mark_do_not_matter() {
    let text = "\u{feff}foretrace-text 1 # a comment\r\n\r\n\t# another\r\n  0\tA  lock m#1 # third\r\n1 A terminate";
    let trace = text::parse(text, "x").unwrap();
    assert_eq!(trace.objects[0].name, "m#1");
    assert_eq!(trace.events.len(), 2);
}

#[test]
fn outcomes_stand_behind_the_objects_or_in_a_field() {
    let trace = parse(
        "0 A trylock m busy\n0 A trylock m outcome=ok\n0 A timedlock n timedout\n0 A lock n failed:35\n",
    );
    let outcomes: Vec<_> = trace
        .events
        .iter()
        .map(|event| trace.call(event).outcome)
        .collect();
    assert_eq!(
        outcomes,
        [
            Outcome::Busy,
            Outcome::Success,
            Outcome::TimedOut,
            Outcome::Failed(35)
        ]
    );
}

#[test]
fn a_barriers_size_stands_in_its_rows_and_a_semaphores_tokens_in_the_header() {
    let trace =
        parse("semaphore s 2\n0 A sem_wait s\n1 A barrier_wait b 3\n2 A barrier_wait b chosen\n");
    let objects: Vec<_> = trace
        .objects
        .iter()
        .map(|object| (object.kind, object.initial))
        .collect();
    assert_eq!(
        objects,
        [
            (ObjectKind::Semaphore, Some(2)),
            (ObjectKind::Barrier, Some(3))
        ]
    );
}

#[test]
fn a_return_says_who_let_the_call_go_on() {
    let trace = parse(
        "returns explicit\n0 A create B\n1 A join B\n2 B terminate\n2 A return from=B site=p+0x10\n",
    );
    assert_eq!(trace.returns, Returns::Explicit);
    let call = trace.call(&trace.events[3]);
    assert_eq!(
        (call.operation, call.from),
        (Operation::Return, Some(ThreadId(1)))
    );
    assert_eq!(trace.site_text(call.site.unwrap()), "p+0x10");
}

#[test]
fn a_thread_that_never_ends_is_a_warning_with_its_last_line() {
    let trace = text::parse("foretrace-text 1\n0 A lock m\n3 A unlock m\n", "dir/t.txt").unwrap();
    let warning =
        "thread \"A\" never ends: it is taken to end after its last event, line 3 of t.txt";
    assert_eq!(trace.warnings, [warning]);
    let again = text::parse(&text::to_text(&trace).unwrap(), "other.txt").unwrap();
    assert_eq!(again.warnings, [warning]);
}

#[test]
fn an_unlock_by_a_thread_that_holds_nothing_is_a_warning() {
    let rows = "0 A lock m\n1 B unlock m\n1 B timedlock m\n2 B return timedout\n3 B unlock m\n4 A unlock m\n\
                5 A terminate\n6 B terminate\n";
    let warnings = parse(rows).warnings;
    assert_eq!(
        warnings,
        ["thread \"B\" unlocks \"m\" without holding it: line 3 of test"]
    );
}

#[test]
fn what_cannot_be_understood_is_named_with_line_column_expectation_and_remedy() {
    let cases = [
        (
            "0 A lokc m\n",
            "x:2:5: expected an event such as create, lock, cond_wait or terminate, found `lokc`; correct the event's \
             name (did you mean `lock`?)",
        ),
        (
            "0 A yield m\n",
            "x:2:5: expected an event such as create, lock, cond_wait or terminate, found `yield`; events are listed in \
             the documentation of text traces; this version knows no others",
        ),
        (
            "0 A lock\n",
            "x:2:9: expected the name of a mutex, found the end of the line; complete the line",
        ),
        (
            "0 A\n",
            "x:2:4: expected an event, such as `lock` or `terminate`, found the end of the line; complete the line",
        ),
        (
            "0 A trylock m\n",
            "x:2:5: expected `ok` or `busy` for trylock, found neither; say what came of the try behind the object's name",
        ),
        (
            "5 A lock m\n4 A unlock m\n",
            "x:3:1: expected a time not before that of the row above, 5 ns, found `4`; put the rows in the order of \
             their times",
        ),
        (
            "-1 A lock m\n",
            "x:2:1: expected a time, such as `12` or `12.5`, found `-1`; write times as digits, in the unit of the file \
             (`unit 1us` changes it)",
        ),
        (
            "process P1\n0 P2 lock m\n",
            "x:3:3: expected a declared process, found `P2`; declare it with a line `process NAME` in the header, or \
             correct the name (did you mean `P1`?)",
        ),
        (
            "0 A lock m\n0 A cond_wait m n\n",
            "x:3:15: expected a cond; the name is a mutex since line 2, found `m`; use another name, or declare both in \
             the header (`cond NAME`, `mutex NAME`)",
        ),
        (
            "proces A\n",
            "x:2:1: expected a row that starts with a time, or a header line that starts with one of communicator, process, thread, \
             unit, returns, program, module, site, recording, warning, event, mutex, cond, semaphore, rwlock, barrier, \
             spin, once, futex, queue, doacross, pipe, found `proces`; correct the first word (did you mean `process`?), or start a comment with `#`",
        ),
        (
            "0 A lock m\nprocess A\n",
            "x:3:1: expected a row that starts with a time, below the first row (line 2), found `process`; move header \
             lines above the first row",
        ),
        (
            "process A\nprocess A\n",
            "x:3:9: expected a name that is not taken (by line 2), found `A`; give each process its own name, and declare \
             it once",
        ),
        (
            "0 A lock m cpo=3\n",
            "x:2:12: expected one of the fields cpu, from, site, outcome, asked, late, looked, held, unlock, comm, request, mode, call, found the field `cpo=3`; correct the field's \
             name (did you mean `cpu`?)",
        ),
        (
            "0 A lock m cpu=3 cpu=4\n",
            "x:2:18: expected each field once, found the field `cpu=4`; remove one of the two",
        ),
        (
            "0 A lock \"m\n",
            "x:2:10: expected a quoted word, closed by `\"` and followed by a blank, found `\"m`; write `\\\"` for a \
             quote and `\\\\` for a backslash in it; known escapes are \\\" \\\\ \\n \\r \\t \\u{HEX}",
        ),
        (
            "0 A barrier_wait b 2\n0 B barrier_wait b 3\n",
            "x:3:20: expected 2, the number of threads of \"b\" since line 2, found `3`; give every barrier one number",
        ),
        (
            "0 ä lock m m\n",
            "x:2:12: expected an outcome (ok, busy, timedout, chosen, ownerdied, failed:ERRNO), a field or the end of the \
             line, found `m`; correct or remove the word",
        ),
        (
            "unit 3\n",
            "x:2:6: expected a unit of ns, us, ms or s, such as `1us`, found `3`; correct the unit",
        ),
        (
            "0 A lock m site=here\n",
            "x:2:12: expected a place `FILE+0xOFFSET`, found the field `site=here`; write the offset in hexadecimal",
        ),
        (
            "process A\n",
            "x: holds no events; add rows such as `0 main terminate` below the header",
        ),
    ];
    for (rows, expected) in cases {
        assert_eq!(message(rows), expected, "{rows}");
    }
}

#[test]
fn ranks_that_are_not_there_are_named() {
    assert_eq!(
        message("0 A recv B 7\n"),
        "x:2:10: expected a rank: its number, or the name of its thread, found `B`; number ranks from 0, in the order of the \
         `process` lines"
    );
}

#[test]
fn what_contradicts_itself_is_named_with_its_line() {
    let cases = [
        (
            "0 A terminate\n\n1 A lock m\n",
            "x: line 4: thread \"A\" acts after it terminated; move `terminate` behind the thread's last event",
        ),
        (
            "0 A create B\n1 A create B\n",
            "x: line 3: thread \"B\" is created a second time; give the second thread a name of its own",
        ),
        (
            "0 B lock m\n1 A create B\n",
            "x: line 3: thread \"B\" acted before this event creates it; move `create` before the thread's first event",
        ),
        (
            "0 A create A\n",
            "x: line 2: thread \"A\" creates itself; name the thread that is created",
        ),
        (
            "0 A lock m cpu=5\n1 A unlock m cpu=4\n",
            "x: line 3: the CPU time of thread \"A\" falls from 5 to 4 ns; a CPU time counts from the thread's beginning \
             and never falls",
        ),
    ];
    for (rows, expected) in cases {
        assert_eq!(message(rows), expected, "{rows}");
    }
}

#[test]
fn the_first_line_decides_whether_it_is_a_text_trace() {
    let message = |text: &str| text::parse(text, "x").unwrap_err().to_string();
    let foreign = "x: is not a foretrace file (found: text whose first line is `0 A lock m`); the first line of a text \
                   trace must be `foretrace-text 1`";
    assert_eq!(message("0 A lock m\n"), foreign);
    assert!(
        message("foretrace-text 2\n").contains("version 2, and this reader knows versions up to 1")
    );
    assert!(
        message("foretrace-text\n").starts_with("x:1:15: expected `foretrace-text 1`, and no more")
    );
    assert!(message("foretrace-text 1 1\n").starts_with("x:1:18: "));
    assert!(message(" \n").contains("is empty"));
    assert!(message("foretrace-text 1").contains("holds no events"));
}

#[test]
fn bytes_that_are_not_utf_8_are_named_with_their_offset() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.txt");
    std::fs::write(&path, b"foretrace-text 1\n0 A lock \xff\n").unwrap();
    let message = read(&path).unwrap_err().to_string();
    assert!(
        message.ends_with("byte 26: expected UTF-8 text, found byte 0xff; save the file as UTF-8"),
        "{message}"
    );
}

#[test]
fn a_trace_that_is_not_valid_is_not_written() {
    let mut trace = parse("0 A lock m\n1 A terminate\n");
    trace.objects.clear();
    assert!(text::to_text(&trace).is_err());
    assert!(text::write(&trace, Vec::new()).is_err());
    assert!(foretrace_trace::sealed::to_bytes(&trace).is_err());
}
