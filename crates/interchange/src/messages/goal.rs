//! GOAL, the text form that LogGOPSim's schedules are written in.
//!
//! # Source
//!
//! `src/LogGOPSim/txt2bin.re` of LogGOPSim. Its times are taken as nanoseconds.

use std::{collections::HashMap, io};

use foretrace_messages::{ANY, GraphBuilder, Task, TaskGraph, TaskKind};
use foretrace_trace::Error;

use super::{
    MessageFormat, Messages,
    cursor::{Cursor, Sums},
    has_suffix, utf8,
};

/// GOAL.
pub(crate) struct Goal;

/// As many operations that need each other are named.
const MOST_NAMED: usize = 8;

const STATEMENTS: &str = "write for instance `l1: send 8b to 1 tag 0`, `l1: recv 8b from 0`, `l1: calc 100` or `l2 requires l1`";

impl MessageFormat for Goal {
    fn name(&self) -> &'static str {
        "goal"
    }

    fn about(&self) -> &'static str {
        "A schedule of LogGOPSim: GOAL text"
    }

    fn recognizes(&self, name: &str, start: &[u8]) -> bool {
        has_suffix(name, "goal") || start.trim_ascii_start().starts_with(b"num_ranks")
    }

    fn import(
        &self,
        bytes: &[u8],
        source: &str,
        _read: &dyn Fn(&str) -> io::Result<Vec<u8>>,
    ) -> Result<Messages, Error> {
        parse(utf8(bytes, source)?, source).map(Messages::Graph)
    }
}

struct Reader<'a> {
    source: &'a str,
    graph: Option<GraphBuilder>,
    ranks: u32,
    /// The rank that is being read, and the line that it began in.
    rank: Option<(u32, usize)>,
    labels: HashMap<String, u32>,
    /// Of the rank that is being read: how its operations are called, and where they stand.
    names: Vec<String>,
    /// Which of them needs which, and where that stands.
    needs: Vec<(u32, u32, Cursor<'a>)>,
    seen: Vec<bool>,
    sums: Option<Sums>,
}

fn parse(text: &str, source: &str) -> Result<TaskGraph, Error> {
    let text = without_comments(text);
    let mut reader = Reader {
        source,
        graph: None,
        ranks: 0,
        rank: None,
        labels: HashMap::new(),
        names: Vec::new(),
        needs: Vec::new(),
        seen: Vec::new(),
        sums: None,
    };
    let mut last = 1;
    for (number, line) in text.lines().enumerate() {
        last = number + 1;
        let mut cursor = Cursor::new(source, last, line);
        cursor.spaces();
        if !cursor.rest.trim_end().is_empty() {
            reader.line(&mut cursor)?;
        }
    }
    let end = Cursor::new(source, last, "");
    if let Some((rank, line)) = reader.rank {
        return Err(end.error(
            format!("`}}` for rank {rank}, which began in line {line}"),
            "the file is cut short; write it again",
        ));
    }
    let missing = reader.seen.iter().position(|seen| !seen);
    let Some(graph) = reader.graph else {
        return Err(end.error(
            "`num_ranks`",
            "begin with the number of ranks, as in num_ranks 4",
        ));
    };
    match missing {
        Some(rank) => Err(end.error(
            format!("rank {rank}"),
            format!(
                "num_ranks says {}; write each, also those that do nothing",
                reader.ranks
            ),
        )),
        None => Ok(graph.finish(source)),
    }
}

/// Puts spaces in place of comments, so that columns stay.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let (mut in_line, mut in_block) = (false, false);
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        match (letter, next) {
            ('\n', _) => in_line = false,
            ('/', Some('/')) if !in_block => in_line = true,
            ('/', Some('*')) if !in_line => in_block = true,
            ('*', Some('/')) if in_block => {
                letters.next();
                out.push_str("  ");
                in_block = false;
                continue;
            }
            _ => {}
        }
        out.push(if letter == '\n' || !(in_line || in_block) {
            letter
        } else {
            ' '
        });
    }
    out
}

impl<'a> Reader<'a> {
    fn line(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Error> {
        let start = *cursor;
        if cursor.has("}") {
            if self.rank.take().is_none() {
                return Err(start.error("`rank`", "there is no rank to end here"));
            }
            self.check_needs()?;
            return cursor.end();
        }
        match cursor.word() {
            "num_ranks" => self.num_ranks(cursor),
            "rank" => self.begin_rank(cursor),
            word @ ("send" | "recv" | "calc") => self.operation(cursor, word, &start).map(|_| ()),
            "" => Err(start.error("a statement", STATEMENTS)),
            label => self.labelled(cursor, label, &start),
        }
    }

    fn num_ranks(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        cursor.spaces();
        let before = *cursor;
        self.ranks = cursor.integer("the number of ranks")?;
        if self.ranks == 0 || self.ranks > 1 << 20 {
            return Err(before.error(
                "a number of ranks from 1 to 1048576",
                "write how many ranks follow",
            ));
        }
        self.seen = vec![false; self.ranks as usize];
        self.graph = Some(GraphBuilder::new(self.ranks));
        self.sums = Some(Sums::new(self.ranks));
        cursor.end()
    }

    fn begin_rank(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        cursor.spaces();
        let before = *cursor;
        let rank: u32 = cursor.integer("a rank's number")?;
        if rank >= self.ranks {
            return Err(before.error(
                format!("a rank below {}", self.ranks),
                "num_ranks, at the beginning, says how many there are",
            ));
        }
        if std::mem::replace(&mut self.seen[rank as usize], true) {
            return Err(before.error("another rank", format!("rank {rank} stands above already")));
        }
        cursor.spaces();
        cursor.expect("{", "write `rank 0 {`")?;
        self.rank = Some((rank, cursor.line));
        self.labels.clear();
        self.names.clear();
        self.needs.clear();
        cursor.end()
    }

    fn labelled(
        &mut self,
        cursor: &mut Cursor<'a>,
        label: &str,
        start: &Cursor<'a>,
    ) -> Result<(), Error> {
        cursor.spaces();
        if cursor.has(":") {
            cursor.spaces();
            let at = *cursor;
            let word = cursor.word();
            if !matches!(word, "send" | "recv" | "calc") {
                return Err(at.error("`send`, `recv` or `calc`", STATEMENTS));
            }
            let number = self.operation(cursor, word, start)?;
            label.clone_into(&mut self.names[number as usize]);
            if self.labels.insert(label.to_owned(), number).is_some() {
                return Err(start.error("another label", format!("{label} stands above already")));
            }
            return Ok(());
        }
        let at = *cursor;
        let begin = match cursor.word() {
            "requires" => false,
            "irequires" => true,
            _ => return Err(at.error("`:`, `requires` or `irequires`", STATEMENTS)),
        };
        cursor.spaces();
        let second = *cursor;
        let needed = cursor.word();
        let find = |label: &str, at: &Cursor<'_>| {
            let number = self.labels.get(label).copied();
            number.ok_or_else(|| {
                at.error(
                    "a label of this rank",
                    format!("no operation above is called {label}"),
                )
            })
        };
        let (task, needed) = (find(label, start)?, find(needed, &second)?);
        let rank = self.current(start)?;
        if let Some(graph) = &mut self.graph {
            graph.require(rank, task, needed, begin);
        }
        self.needs.push((task, needed, *start));
        cursor.end()
    }

    /// Refuses operations of a rank that need each other, of which none could ever begin.
    fn check_needs(&self) -> Result<(), Error> {
        let mut left = vec![0_u32; self.names.len()];
        let mut dependents: Vec<Vec<u32>> = vec![Vec::new(); self.names.len()];
        for &(task, needed, _) in &self.needs {
            left[task as usize] += 1;
            dependents[needed as usize].push(task);
        }
        let all = 0..self.names.len() as u32;
        let mut free: Vec<u32> = all.filter(|task| left[*task as usize] == 0).collect();
        while let Some(task) = free.pop() {
            for &dependent in &dependents[task as usize] {
                left[dependent as usize] -= 1;
                if left[dependent as usize] == 0 {
                    free.push(dependent);
                }
            }
        }
        // Each that is left needs one that is left: whoever follows that comes back to where it was.
        let next = |task: u32| {
            let mut needs = self.needs.iter();
            needs.rfind(|(of, needed, _)| *of == task && left[*needed as usize] > 0)
        };
        let Some(first) = left.iter().position(|left| *left > 0) else {
            return Ok(());
        };
        let mut path: Vec<&(u32, u32, Cursor<'a>)> = Vec::new();
        let mut on_path = vec![false; self.names.len()];
        let mut task = first as u32;
        while !std::mem::replace(&mut on_path[task as usize], true) {
            let Some(step) = next(task) else {
                return Ok(());
            };
            path.push(step);
            task = step.1;
        }
        let begin = path.iter().position(|(of, ..)| *of == task).unwrap_or(0);
        let cycle = &path[begin..];
        let names: Vec<&str> = cycle
            .iter()
            .map(|(of, ..)| self.names[*of as usize].as_str())
            .collect();
        let last = cycle.iter().max_by_key(|(.., at)| at.line);
        let Some((.., at)) = last else {
            return Ok(());
        };
        let shown: Vec<&str> = names.iter().take(MOST_NAMED).copied().collect();
        let more = if names.len() > MOST_NAMED {
            ", ..."
        } else {
            ""
        };
        Err(at.error(
            "operations that do not need each other",
            format!(
                "each of these needs the next, and the last one the first, so that none can begin: {}{more}",
                shown.join(", ")
            ),
        ))
    }

    fn current(&self, at: &Cursor<'_>) -> Result<u32, Error> {
        let rank = self.rank.map(|(rank, _)| rank);
        rank.ok_or_else(|| at.error("`rank`", "operations stand within a rank, as in `rank 0 {`"))
    }

    fn operation(
        &mut self,
        cursor: &mut Cursor<'_>,
        word: &str,
        start: &Cursor<'_>,
    ) -> Result<u32, Error> {
        let rank = self.current(start)?;
        cursor.spaces();
        let before = *cursor;
        let mut task = Task {
            value: cursor.integer("a number")?,
            peer: 0,
            tag: 0,
            kind: TaskKind::Work,
            cpu: 0,
            nic: 0,
        };
        if word == "calc" {
            let picos = task.value.checked_mul(1_000);
            let picos = picos.ok_or_else(|| before.too_long())?;
            if let Some(sums) = &mut self.sums {
                task.value = sums.add(rank, picos, &before)?;
            }
        } else {
            self.ends(cursor, word, &mut task)?;
        }
        loop {
            cursor.spaces();
            let at = *cursor;
            match cursor.word() {
                "" => break,
                "tag" if word != "calc" => {
                    cursor.spaces();
                    task.tag = cursor.tag(word == "recv")?;
                }
                "cpu" => {
                    cursor.spaces();
                    task.cpu = cursor.integer("a CPU from 0 to 255")?;
                }
                "nic" => {
                    cursor.spaces();
                    // Work uses none: the grammar lets it name one all the same.
                    task.nic = cursor.integer("an interface from 0 to 255")?;
                }
                _ => return Err(at.error("`tag`, `cpu`, `nic` or the end of the line", STATEMENTS)),
            }
        }
        cursor.end()?;
        let graph = self.graph.as_mut();
        let number = graph.map(|graph| graph.push(rank, task));
        self.names.push(format!("the one in line {}", start.line));
        number.ok_or_else(|| {
            start.error(
                "`num_ranks`",
                "begin with the number of ranks, as in num_ranks 4",
            )
        })
    }

    /// Reads the unit and the other rank.
    fn ends(&self, cursor: &mut Cursor<'_>, word: &str, task: &mut Task) -> Result<(), Error> {
        cursor.spaces();
        cursor.expect("b", "sizes are in bytes, as in 8b")?;
        cursor.spaces();
        let (preposition, kind) = match word {
            "send" => ("to", TaskKind::Send),
            _ => ("from", TaskKind::Receive),
        };
        task.kind = kind;
        cursor.expect(preposition, STATEMENTS)?;
        cursor.spaces();
        if kind == TaskKind::Receive && cursor.has("-1") {
            task.peer = ANY;
            return Ok(());
        }
        let before = *cursor;
        task.peer = cursor.integer("a rank")?;
        if task.peer >= self.ranks {
            let remedy = format!("{}: num_ranks says how many there are", self.source);
            return Err(before.error(format!("a rank below {}", self.ranks), remedy));
        }
        Ok(())
    }
}
