//! Calls of MPI in rows.
//!
//! ```text
//! TIME THREAD send PEER BYTES TAG       recv PEER BYTES TAG       probe PEER BYTES TAG
//!             sendrecv PEER BYTES TAG PEER BYTES TAG              start POINT...
//!             exchange POINT...         await REQUEST...          tries COUNT         span BYTES
//!             begin RANK RANKS [ASKED GRANTED THREADS]
//!             barrier|bcast|gather|... ROOT GIVEN GOT
//! ```
//!
//! A peer is a rank or the name of its thread, `nobody`, `any`, or `any:RANK` where it is known who it was; a tag is a number or
//! `any`; a root a rank or `-`. A point is `send:BYTES:TAG:COMMUNICATOR:REQUEST:MODE:PEER`, an operation that `start` begins
//! `bcast:GIVEN:GOT:COMMUNICATOR:REQUEST:ROOT`. `ASKED` and `GRANTED` are levels of threads, `THREADS` those of the library.
//! Fields: `comm=NAME`, `request=N`, `mode=` of a send, and `call=` where the function's name is another than the first word.

use std::fmt::Write as _;

use super::{
    lex::{Token, word},
    problem::Problem,
    quantity::number,
    tables::Tables,
    words::Words,
};
use crate::{
    Action, Collective, CollectiveKind, End, Message, Peer, Point, SendMode, ThreadLevel, Trace,
};

const MODES: [SendMode; 4] = [
    SendMode::Standard,
    SendMode::Synchronous,
    SendMode::Buffered,
    SendMode::Ready,
];

/// The first words of rows that are calls of MPI, besides the collectives' names.
pub(super) const NAMES: [&str; 10] = [
    "send", "recv", "probe", "sendrecv", "exchange", "start", "await", "tries", "span", "begin",
];

/// What the fields of a row say of a call of MPI.
#[derive(Default)]
pub(super) struct Fields {
    pub communicator: Option<u32>,
    pub request: Option<u32>,
    pub mode: Option<SendMode>,
    pub name: Option<String>,
}

impl Fields {
    /// Returns whether any was said.
    pub fn is_any(&self) -> bool {
        self.communicator.is_some()
            || self.request.is_some()
            || self.mode.is_some()
            || self.name.is_some()
    }

    /// Completes a call.
    pub fn complete(self, mut action: Action) -> Message {
        let name = self.name;
        let communicator = self.communicator.unwrap_or(0);
        let (request, mode) = (self.request, self.mode.unwrap_or_default());
        let set = |point: &mut Point, request| {
            point.communicator = communicator;
            point.request = request;
            if let End::Send(own) = &mut point.end {
                *own = mode;
            }
        };
        match &mut action {
            Action::Point(point) => set(point, request),
            Action::Exchange { sent, received } => {
                set(sent, None);
                set(received, None);
            }
            Action::Collective(call) => {
                call.communicator = communicator;
                call.request = request;
            }
            _ => {}
        }
        Message {
            name: name.unwrap_or_else(|| usual_name(&action).to_owned()),
            action,
        }
    }
}

/// Returns a row's first word for what a call did.
fn keyword(action: &Action) -> &'static str {
    match action {
        Action::Begin { .. } | Action::BeginThreaded { .. } => "begin",
        Action::Span { .. } => "span",
        Action::Tries { .. } => "tries",
        Action::Point(point) => end_word(point.end),
        Action::Exchange { .. } => "sendrecv",
        Action::Exchanges(_) => "exchange",
        Action::Several(_) | Action::Together { .. } => "start",
        Action::Wait { .. } => "await",
        Action::Collective(call) => call.kind.name(),
    }
}

fn end_word(end: End) -> &'static str {
    match end {
        End::Send(_) => "send",
        End::Receive => "recv",
        End::Probe => "probe",
    }
}

/// Returns the function's name that need not be said.
fn usual_name(action: &Action) -> &'static str {
    match action {
        Action::Begin { .. } => "init",
        Action::BeginThreaded { .. } => "init_thread",
        Action::Tries { .. } => "test",
        Action::Several(_) | Action::Together { .. } => "startall",
        Action::Wait { .. } => "waitall",
        action => keyword(action),
    }
}

/// Returns what a row says of a call of MPI behind the thread's name, but for what all rows may say; with the fields that
/// come behind that.
pub(super) fn text(trace: &Trace, message: &Message) -> (String, String) {
    let mut text = keyword(&message.action).to_owned();
    let mut fields = String::new();
    let mut comm = |number: u32| {
        if number > 0 {
            let name = word(&trace.communicators[number as usize].name);
            let _ = write!(fields, " comm={name}");
        }
    };
    let (mut request, mut mode) = (None, SendMode::Standard);
    match &message.action {
        Action::Begin { rank, ranks } => add(&mut text, &[rank, ranks]),
        Action::BeginThreaded {
            rank,
            ranks,
            asked,
            granted,
            own_threads,
        } => {
            let levels = [asked.name(), granted.name()];
            add(
                &mut text,
                &[rank, ranks, &levels[0], &levels[1], own_threads],
            );
        }
        Action::Span { bytes: count } | Action::Tries { count } => add(&mut text, &[count]),
        Action::Point(point) => {
            text += &triple(point);
            comm(point.communicator);
            request = point.request;
            if let End::Send(own) = point.end {
                mode = own;
            }
        }
        Action::Exchange { sent, received } => {
            text += &triple(sent);
            text += &triple(received);
            comm(sent.communicator);
        }
        Action::Several(_) | Action::Exchanges(_) | Action::Together { .. } => {
            let points = message.action.points().map(|point| packed(trace, point));
            let operations = message.action.collectives();
            for packed in points.chain(operations.map(|call| packed_operation(trace, call))) {
                text.push(' ');
                text += &word(&packed);
            }
        }
        Action::Wait { requests } => {
            for request in requests {
                add(&mut text, &[request]);
            }
        }
        Action::Collective(call) => {
            let root = number_or_none(call.root);
            add(&mut text, &[&root, &call.given, &call.got]);
            comm(call.communicator);
            request = call.request;
        }
    }
    if let Some(request) = request {
        let _ = write!(fields, " request={request}");
    }
    if mode != SendMode::Standard {
        let _ = write!(fields, " mode={}", mode.name());
    }
    if message.name != usual_name(&message.action) {
        let _ = write!(fields, " call={}", word(&message.name));
    }
    (text, fields)
}

/// Adds words, each behind a blank.
fn add(text: &mut String, words: &[&dyn std::fmt::Display]) {
    for word in words {
        // Writing to a string cannot fail.
        let _ = write!(text, " {word}");
    }
}

fn peer_word(peer: Peer) -> String {
    match peer {
        Peer::Nobody => "nobody".to_owned(),
        Peer::Rank(rank) => rank.to_string(),
        Peer::Any(None) => "any".to_owned(),
        Peer::Any(Some(rank)) => format!("any:{rank}"),
    }
}

fn tag_word(tag: Option<u32>) -> String {
    tag.map_or("any".to_owned(), |tag| tag.to_string())
}

fn triple(point: &Point) -> String {
    let (peer, tag) = (peer_word(point.peer), tag_word(point.tag));
    format!(" {peer} {} {tag}", point.bytes)
}

fn packed(trace: &Trace, point: &Point) -> String {
    let mode = match point.end {
        End::Send(mode) => mode.name(),
        _ => "-",
    };
    let (end, peer, tag) = (
        end_word(point.end),
        peer_word(point.peer),
        tag_word(point.tag),
    );
    // A peer may hold a colon, so it stands last.
    format!(
        "{end}:{}:{tag}:{}:{}:{mode}:{peer}",
        point.bytes,
        trace.communicators[point.communicator as usize].name,
        number_or_none(point.request),
    )
}

fn packed_operation(trace: &Trace, call: &Collective) -> String {
    format!(
        "{}:{}:{}:{}:{}:{}",
        call.kind.name(),
        call.given,
        call.got,
        trace.communicators[call.communicator as usize].name,
        number_or_none(call.request),
        number_or_none(call.root),
    )
}

/// Returns a number, or what stands for none.
fn number_or_none(number: Option<u32>) -> String {
    number.map_or("-".to_owned(), |number| number.to_string())
}

/// Reads what a call of MPI did; `None` where the row is something else.
pub(super) fn action(
    name: &Token<'_>,
    words: &mut Words<'_, '_>,
    tables: &Tables,
) -> Result<Option<Action>, Problem> {
    let name = name.text.as_ref();
    if let Some(kind) = CollectiveKind::ALL
        .into_iter()
        .find(|kind| kind.name() == name)
    {
        return collective(kind, words, tables).map(Some);
    }
    Ok(Some(match name {
        "send" if is_message(words, tables) => {
            Action::Point(point(End::Send(SendMode::Standard), words, tables)?)
        }
        "recv" => Action::Point(point(End::Receive, words, tables)?),
        "probe" => Action::Point(point(End::Probe, words, tables)?),
        "sendrecv" => Action::Exchange {
            sent: point(End::Send(SendMode::Standard), words, tables)?,
            received: point(End::Receive, words, tables)?,
        },
        "exchange" => {
            let mut points = Vec::new();
            while let Some(token) = words.optional() {
                points.push(unpacked(token, tables)?);
            }
            Action::Exchanges(points)
        }
        "start" => started(words, tables)?,
        "await" => {
            let mut requests = Vec::new();
            while let Some(token) = words.optional() {
                requests.push(number(token, "a request's number")?);
            }
            Action::Wait { requests }
        }
        "tries" => Action::Tries {
            count: count(words, "how many times")?,
        },
        "span" => Action::Span {
            bytes: count(words, "a number of bytes")?,
        },
        "begin" => begin(words)?,
        _ => return Ok(None),
    }))
}

fn begin(words: &mut Words<'_, '_>) -> Result<Action, Problem> {
    let token = words.required("a rank")?;
    let rank = number(token, "a rank")?;
    let ranks = count(words, "how many ranks there are")?;
    if rank >= ranks {
        let remedy = "ranks count from 0: correct it, or how many there are";
        return Err(token.not(format!("a rank of {ranks}"), remedy));
    }
    let Some(token) = words.optional() else {
        return Ok(Action::Begin { rank, ranks });
    };
    let asked = level(token)?;
    let granted = level(words.required("a level of threads")?)?;
    Ok(Action::BeginThreaded {
        rank,
        ranks,
        asked,
        granted,
        own_threads: count(words, "how many threads the library made")?,
    })
}

fn level(token: &Token<'_>) -> Result<ThreadLevel, Problem> {
    let known = ThreadLevel::ALL
        .into_iter()
        .find(|level| level.name() == token.text);
    known.ok_or_else(|| {
        let expected = "one of single, funneled, serialized, multiple";
        token.not(expected, "correct the word")
    })
}

fn started(words: &mut Words<'_, '_>, tables: &Tables) -> Result<Action, Problem> {
    let (mut points, mut collectives) = (Vec::new(), Vec::new());
    while let Some(token) = words.optional() {
        let first = token.text.split(':').next();
        let kind = CollectiveKind::ALL
            .into_iter()
            .find(|kind| Some(kind.name()) == first);
        match kind {
            Some(kind) => collectives.push(unpacked_operation(kind, token, tables)?),
            None => points.push(unpacked(token, tables)?),
        }
    }
    if collectives.is_empty() {
        return Ok(Action::Several(points));
    }
    Ok(Action::Together {
        points,
        collectives,
    })
}

fn unpacked_operation(
    kind: CollectiveKind,
    token: &Token<'_>,
    tables: &Tables,
) -> Result<Collective, Problem> {
    let wrong = || {
        token.not(
            "an operation such as `bcast:800:800:world:2:0`",
            "write KIND:GIVEN:GOT:COMMUNICATOR:REQUEST:ROOT",
        )
    };
    let parts: Vec<&str> = token.text.splitn(6, ':').collect();
    let &[_, given, got, communicator, request, root] = parts.as_slice() else {
        return Err(wrong());
    };
    let number_or_none = |text: &str| match text {
        "-" => Ok(None),
        number => number.parse().map(Some).map_err(|_| wrong()),
    };
    Ok(Collective {
        kind,
        root: number_or_none(root)?,
        given: given.parse().map_err(|_| wrong())?,
        got: got.parse().map_err(|_| wrong())?,
        communicator: tables.communicator(communicator).ok_or_else(wrong)?,
        request: number_or_none(request)?,
    })
}

/// Tells `send PEER BYTES TAG` from `send EVENT PROCESS OUTCOME` of abstract processes, whose names may be numbers.
fn is_message(words: &Words<'_, '_>, tables: &Tables) -> bool {
    let is_number = |word: &str| word.parse::<u64>().is_ok();
    let mut left = words.left().skip(1);
    match (left.next(), left.next()) {
        (Some(bytes), Some(tag)) => is_number(bytes) && (is_number(tag) || tag == "any"),
        (Some(bytes), None) => is_number(bytes) && tables.rank_named(bytes).is_none(),
        _ => false,
    }
}

fn count<T: std::str::FromStr>(words: &mut Words<'_, '_>, expected: &str) -> Result<T, Problem> {
    number(words.required(expected)?, expected)
}

fn collective(
    kind: CollectiveKind,
    words: &mut Words<'_, '_>,
    tables: &Tables,
) -> Result<Action, Problem> {
    let root = match words.optional() {
        None => None,
        Some(token) if token.text == "-" => None,
        Some(token) => Some(rank(token, &token.text, tables)?),
    };
    let mut bytes = || match words.optional() {
        None => Ok(0),
        Some(token) => number(token, "a number of bytes"),
    };
    let given = bytes()?;
    let got = bytes()?;
    Ok(Action::Collective(Collective {
        kind,
        root,
        given,
        got,
        communicator: 0,
        request: None,
    }))
}

fn point(end: End, words: &mut Words<'_, '_>, tables: &Tables) -> Result<Point, Problem> {
    let token = words.required("a rank, `any` or `nobody`")?;
    let peer = peer(token, &token.text, tables)?;
    let bytes = count(words, "a number of bytes")?;
    let tag = match words.optional() {
        None => Some(0),
        Some(token) => tag(token, &token.text)?,
    };
    Ok(Point {
        end,
        peer,
        tag,
        bytes,
        communicator: 0,
        request: None,
    })
}

fn rank(token: &Token<'_>, text: &str, tables: &Tables) -> Result<u32, Problem> {
    text.parse()
        .ok()
        .or_else(|| tables.rank_named(text))
        .ok_or_else(|| {
            token.not(
                "a rank: its number, or the name of its thread",
                "number ranks from 0, in the order of the `process` lines",
            )
        })
}

fn peer(token: &Token<'_>, text: &str, tables: &Tables) -> Result<Peer, Problem> {
    match text {
        "nobody" => Ok(Peer::Nobody),
        "any" => Ok(Peer::Any(None)),
        other => match other.strip_prefix("any:") {
            Some(known) => Ok(Peer::Any(Some(rank(token, known, tables)?))),
            None => Ok(Peer::Rank(rank(token, other, tables)?)),
        },
    }
}

fn tag(token: &Token<'_>, text: &str) -> Result<Option<u32>, Problem> {
    if text == "any" {
        return Ok(None);
    }
    let wrong = || token.not("a tag: a number, or `any`", "correct the tag");
    text.parse().map(Some).map_err(|_| wrong())
}

/// Reads a send's mode.
pub(super) fn mode(token: &Token<'_>) -> Result<SendMode, Problem> {
    let known = MODES.into_iter().find(|mode| mode.name() == token.text);
    known.ok_or_else(|| {
        let expected = "one of standard, synchronous, buffered, ready";
        token.not(expected, "correct the word")
    })
}

fn unpacked(token: &Token<'_>, tables: &Tables) -> Result<Point, Problem> {
    let wrong = || {
        token.not(
            "a message such as `send:800:7:world:2:standard:3`",
            "write END:BYTES:TAG:COMMUNICATOR:REQUEST:MODE:PEER",
        )
    };
    let parts: Vec<&str> = token.text.splitn(7, ':').collect();
    let &[end, bytes, tag_text, communicator, request, mode, other] = parts.as_slice() else {
        return Err(wrong());
    };
    let end = match end {
        "send" => {
            let known = MODES.into_iter().find(|known| known.name() == mode);
            End::Send(known.ok_or_else(wrong)?)
        }
        "recv" => End::Receive,
        "probe" => End::Probe,
        _ => return Err(wrong()),
    };
    Ok(Point {
        end,
        peer: peer(token, other, tables)?,
        tag: tag(token, tag_text)?,
        bytes: bytes.parse().map_err(|_| wrong())?,
        communicator: tables.communicator(communicator).ok_or_else(wrong)?,
        request: match request {
            "-" => None,
            number => Some(number.parse().map_err(|_| wrong())?),
        },
    })
}
