use foretrace_schedule::{
    BlockedThread, Lane, ObjectLabel, Outcome, Schedule, Segment, SimTime, State, WaitKind, Wake,
};
use foretrace_trace::ObjectKind;
use roxmltree::{Document as Xml, Node};

use super::*;

const RUNNING: State = State::Running(0);
const READY: State = State::Ready;
const LOCKED: State = State::Blocked(WaitKind::Lock);

fn lane(name: &str, lengths: &[(u64, State)]) -> Lane {
    let mut at = SimTime::ZERO;
    let segments = lengths.iter().map(|(length, state)| {
        let start = at;
        at = at + SimTime(*length);
        Segment {
            start,
            end: at,
            state: *state,
            object: (*state == LOCKED).then_some(0),
            event: None,
        }
    });
    let segments = segments.collect();
    Lane {
        name: name.to_owned(),
        process: 0,
        segments,
        end: Some(at),
    }
}

fn schedule(lanes: Vec<Lane>) -> Schedule {
    let end = lanes.iter().filter_map(|lane| lane.end).max();
    Schedule {
        source: "test.ftrace".to_owned(),
        model: "direct".to_owned(),
        cpus: 2,
        network: None,
        end: end.unwrap_or_default(),
        outcome: Outcome::Completed,
        processes: vec!["test".to_owned()],
        lanes,
        objects: vec![ObjectLabel {
            kind: ObjectKind::Mutex,
            name: "gate".to_owned(),
        }],
        wakes: Vec::new(),
    }
}

fn two_threads() -> Schedule {
    let main = lane("main", &[(60, RUNNING), (40, READY)]);
    let worker = lane(
        "worker",
        &[(30, State::Running(1)), (30, LOCKED), (40, RUNNING)],
    );
    let mut schedule = schedule(vec![main, worker]);
    schedule.wakes.push(Wake::at_once(0, 1, SimTime(60)));
    schedule
}

/// The texts of a picture, in order; a picture that is not XML fails the test.
fn texts(picture: &str) -> Vec<String> {
    let xml = Xml::parse(picture).unwrap();
    let content = |node: Node| {
        node.descendants()
            .filter(Node::is_text)
            .filter_map(|n| n.text())
            .collect()
    };
    let is_text = |n: &Node| n.has_tag_name(("http://www.w3.org/2000/svg", "text"));
    xml.descendants().filter(is_text).map(content).collect()
}

fn drawn(schedule: &Schedule) -> String {
    render(schedule, &SvgOptions::default())
}

#[test]
fn a_picture_says_what_it_shows() {
    let texts = texts(&drawn(&two_threads()));
    let has = |text: &str| texts.iter().any(|t| t.contains(text));
    for text in [
        "test.ftrace",
        "direct model",
        "2 CPUs",
        "makespan",
        "main",
        "worker",
        "CPU 1",
    ] {
        assert!(has(text), "{text} in {texts:?}");
    }
    assert!(
        has("gate"),
        "the object's name stands in the blocked segment"
    );
    assert!(has("100 ps"), "the axis ends at the makespan");
}

#[test]
fn the_legend_shows_what_occurs_and_nothing_else() {
    let texts = texts(&drawn(&two_threads()));
    let has = |text: &str| texts.iter().any(|t| t.starts_with(text));
    assert!(
        has("running65 %") && has("ready20 %") && has("blocked: lock15 %") && has("wakes"),
        "{texts:?}"
    );
    assert!(!has("blocked: join") && !has("blocked: barrier"));
}

#[test]
fn a_segment_tells_its_state_times_and_object() {
    let picture = drawn(&two_threads());
    let xml = Xml::parse(&picture).unwrap();
    let titles: Vec<_> = xml
        .descendants()
        .filter(|n| n.tag_name().name() == "title")
        .filter_map(|n| n.text())
        .collect();
    assert_eq!(titles.len(), 5);
    assert!(
        titles.contains(&"worker: blocked: lock gate, 0 ns to 0 ns, 0 ns"),
        "{titles:?}"
    );
}

#[test]
fn hostile_names_leave_the_picture_well_formed() {
    let evil = "</text><script>\"&'\u{0}\u{1b}[31m\u{fffe}".to_owned();
    let mut schedule = two_threads();
    schedule.source.clone_from(&evil);
    schedule.model.clone_from(&evil);
    schedule.lanes[0].name.clone_from(&evil);
    schedule.objects[0].name.clone_from(&evil);
    schedule.outcome = Outcome::Deadlock(vec![BlockedThread {
        thread: evil.clone(),
        operation: evil.clone(),
        object: Some(evil.clone()),
        waits_for: Some(evil),
        since: SimTime(1),
    }]);
    let picture = drawn(&schedule);
    let xml = Xml::parse(&picture).unwrap();
    assert!(!xml.descendants().any(|n| n.tag_name().name() == "script"));
}

#[test]
fn a_picture_refers_to_nothing_outside() {
    let picture = drawn(&two_threads()).replace("http://www.w3.org/2000/svg", "");
    for reference in ["http", "href", "url(", "@import", "id="] {
        assert!(!picture.contains(reference), "{reference}");
    }
}

#[test]
fn the_same_schedule_gives_the_same_bytes() {
    assert_eq!(drawn(&two_threads()), drawn(&two_threads()));
    let dark = SvgOptions {
        theme: Theme::Dark,
        ..SvgOptions::default()
    };
    assert_ne!(drawn(&two_threads()), render(&two_threads(), &dark));
}

#[test]
fn a_deadlock_is_marked_and_explained() {
    let mut schedule = two_threads();
    assert!(!drawn(&schedule).contains("deadlock"));
    schedule.lanes[1].end = None;
    schedule.outcome = Outcome::Deadlock(vec![BlockedThread {
        thread: "worker".to_owned(),
        operation: "lock".to_owned(),
        object: Some("gate".to_owned()),
        waits_for: Some("main".to_owned()),
        since: SimTime(30_000),
    }]);
    let picture = drawn(&schedule);
    let texts = texts(&picture);
    assert!(texts.contains(&"deadlock".to_owned()), "{texts:?}");
    assert!(
        texts.contains(&"worker: lock gate, waiting for main since 30 ns".to_owned()),
        "{texts:?}"
    );
    assert_eq!(
        picture.matches("fill-opacity").count(),
        1,
        "one thread waits on"
    );
    let alarm = crate::palette::Palette::of(Theme::Light).alarm.to_string();
    let arrows = |picture: &str| {
        let lines = picture.lines();
        lines
            .filter(|line| line.contains("stroke-width=\"1.5\"") && line.contains(&alarm))
            .count()
    };
    assert_eq!(arrows(&picture), 0, "a chain is no circle");
    if let Outcome::Deadlock(blocked) = &mut schedule.outcome {
        let mut other = blocked[0].clone();
        other.thread = "main".to_owned();
        other.waits_for = Some("worker".to_owned());
        blocked.push(other);
    }
    assert_eq!(arrows(&drawn(&schedule)), 2, "each waits for the other");
}

#[test]
fn arrows_are_drawn_up_to_their_limit_and_the_legend_says_what_is_left_out() {
    let mut schedule = two_threads();
    let count = |schedule: &Schedule, arrows| {
        let options = SvgOptions {
            arrows,
            ..SvgOptions::default()
        };
        let texts = texts(&render(schedule, &options));
        texts.iter().filter(|t| t.starts_with("wakes")).count()
    };
    assert_eq!(count(&schedule, 1), 1);
    assert_eq!(count(&schedule, 0), 0);
    schedule.wakes.push(schedule.wakes[0]);
    // Two at the same place are one arrow.
    assert_eq!(count(&schedule, 1), 1);
    let said = texts(&drawn(&schedule));
    assert!(
        !said.iter().any(|text| text.contains(" arrows")),
        "{said:?}"
    );
    let mut many = schedule.clone();
    many.wakes = (0..400)
        .map(|i| Wake::at_once(i % 2, (i + 1) % 2, SimTime(u64::from(i) / 4)))
        .collect();
    let said = texts(&drawn(&many)).join(" ");
    assert!(said.contains("400 in 200 arrows"), "{said}");
    many.wakes = (0..400)
        .map(|i| {
            Wake::message(
                i % 2,
                SimTime(u64::from(i) / 8),
                1 - i % 2,
                SimTime(u64::from(i) / 4),
            )
        })
        .collect();
    let said = texts(&drawn(&many)).join(" ");
    assert!(
        said.contains("in 200 arrows") || said.contains("left out"),
        "{said}"
    );
    // A thread that wakes itself, or one that is not there, has no arrow.
    schedule.wakes[0].to = 0;
    schedule.wakes[1].to = 99;
    assert_eq!(count(&schedule, 200), 0);
}

#[test]
fn a_message_is_a_slanted_arrow_from_its_send_to_its_receive() {
    let mut schedule = two_threads();
    schedule.wakes = vec![Wake::message(0, SimTime(20), 1, SimTime(60))];
    let picture = render(&schedule, &SvgOptions::default());
    let said = texts(&picture);
    assert!(said.contains(&"messages".to_owned()) && !said.contains(&"wakes".to_owned()));
    let xml = Xml::parse(&picture).unwrap();
    let shafts = xml
        .descendants()
        .filter_map(|node| node.attribute("d").filter(|_| node.has_attribute("stroke")));
    let ends: Vec<Vec<f64>> = shafts
        .map(|data| {
            data.split(['M', 'L', ' '])
                .filter_map(|number| number.parse().ok())
                .collect()
        })
        .collect();
    // Forty of a hundred picoseconds to the right, and down.
    let is_slanted =
        |line: &&Vec<f64>| matches!(line[..], [x0, y0, x1, y1] if x1 - x0 > 200.0 && y1 > y0);
    assert!(ends.iter().any(|line| is_slanted(&line)), "{ends:?}");
}

#[test]
fn a_range_shows_what_lies_in_it() {
    let options = SvgOptions {
        range: Some((SimTime(70), SimTime(90))),
        ..SvgOptions::default()
    };
    let picture = render(&two_threads(), &options);
    let texts = texts(&picture);
    assert!(texts.iter().any(|t| t.contains("shown:")));
    assert!(!texts.iter().any(|t| t.starts_with("blocked")), "{texts:?}");
}

#[test]
fn the_strangest_schedules_and_options_are_drawn() {
    let empty = schedule(Vec::new());
    let unborn = schedule(vec![Lane::default()]);
    let long = schedule(vec![lane(&"name".repeat(100_000), &[(u64::MAX, RUNNING)])]);
    for schedule in [empty, unborn, long, two_threads()] {
        for width in [f64::NAN, f64::INFINITY, -3.0, 0.0, 400.0, 1e9] {
            for range in [
                None,
                Some((SimTime(5), SimTime(5))),
                Some((SimTime(u64::MAX), SimTime(0))),
            ] {
                let options = SvgOptions {
                    width,
                    range,
                    ..SvgOptions::default()
                };
                let picture = render(&schedule, &options);
                texts(&picture);
                assert!(!picture.contains("NaN") && !picture.contains("inf"));
                assert!(picture.len() < 200_000);
            }
        }
    }
}

#[test]
fn everything_lies_within_the_picture() {
    for count in [0, 1, 7, 64, 500] {
        let lanes = (0..count).map(|i| lane(&format!("t{i}"), &[(100, RUNNING), (3, LOCKED)]));
        let picture = drawn(&schedule(lanes.collect()));
        let xml = Xml::parse(&picture).unwrap();
        let number = |node: Node, name: &str| -> f64 {
            node.attribute(name).map_or(0.0, |v| v.parse().unwrap())
        };
        let (width, height) = (
            number(xml.root_element(), "width"),
            number(xml.root_element(), "height"),
        );
        for node in xml.descendants().filter(Node::is_element) {
            let (x, y) = (number(node, "x"), number(node, "y"));
            assert!(x >= 0.0 && y >= 0.0);
            assert!(x + number(node, "width") <= width && y + number(node, "height") <= height);
        }
    }
}

#[test]
fn a_million_segments_give_a_picture_of_bounded_size() {
    let states = [RUNNING, LOCKED, READY, State::Running(1)];
    let picture_of = |segments: usize| {
        let lengths: Vec<_> = (0..segments)
            .map(|i| (1 + (i * i % 97) as u64, states[i % 4]))
            .collect();
        drawn(&schedule((0..4).map(|_| lane("t", &lengths)).collect()))
    };
    let (few, many) = (picture_of(25_000), picture_of(250_000));
    assert!(many.len() < 200_000, "{}", many.len());
    assert!(
        many.len() < few.len() * 3 / 2,
        "{} and {}",
        few.len(),
        many.len()
    );
    assert!(many.matches('<').count() < 200);
}
