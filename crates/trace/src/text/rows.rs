//! The rows: one event each.

use super::{
    lex::Token,
    messages,
    nearest::hint,
    problem::Problem,
    quantity::{Unit, number},
    tables::Tables,
    words::{self, Words, set, unknown_field},
};
use crate::{
    Call, CollectiveKind, Event, FileKind, IoKind, MessageId, Nanos, ObjectId, ObjectKind,
    Operation, Outcome, ThreadId, operands,
};

type OnObject = fn(ObjectId) -> Operation;

/// The operations on one object.
const ON_ONE_OBJECT: [(ObjectKind, OnObject); 27] = [
    (ObjectKind::Event, Operation::Wait),
    (ObjectKind::Mutex, Operation::Lock),
    (ObjectKind::Mutex, Operation::TryLock),
    (ObjectKind::Mutex, Operation::TimedLock),
    (ObjectKind::Mutex, Operation::Unlock),
    (ObjectKind::Cond, Operation::CondSignal),
    (ObjectKind::Cond, Operation::CondBroadcast),
    (ObjectKind::Semaphore, Operation::SemWait),
    (ObjectKind::Semaphore, Operation::SemTryWait),
    (ObjectKind::Semaphore, Operation::SemTimedWait),
    (ObjectKind::Semaphore, Operation::SemPost),
    (ObjectKind::Rwlock, Operation::ReadLock),
    (ObjectKind::Rwlock, Operation::TryReadLock),
    (ObjectKind::Rwlock, Operation::TimedReadLock),
    (ObjectKind::Rwlock, Operation::WriteLock),
    (ObjectKind::Rwlock, Operation::TryWriteLock),
    (ObjectKind::Rwlock, Operation::TimedWriteLock),
    (ObjectKind::Rwlock, Operation::RwUnlock),
    (ObjectKind::Barrier, Operation::BarrierWait),
    (ObjectKind::Spin, Operation::SpinLock),
    (ObjectKind::Spin, Operation::SpinTryLock),
    (ObjectKind::Spin, Operation::SpinUnlock),
    (ObjectKind::Once, Operation::Once),
    (ObjectKind::Futex, Operation::FutexWait),
    (ObjectKind::Futex, Operation::FutexTimedWait),
    (ObjectKind::Queue, Operation::QueueSend),
    (ObjectKind::Queue, Operation::QueueReceive),
];

/// The operations on a thread.
const ON_A_THREAD: [fn(ThreadId) -> Operation; 4] = [
    Operation::Create,
    Operation::Join,
    Operation::Detach,
    Operation::Cancel,
];

/// The names of the other operations.
const OTHERS: [&str; 14] = [
    "terminate",
    "return",
    "send",
    "cond_wait",
    "cond_timedwait",
    "futex_wake",
    "bind",
    "io",
    "sleep",
    "spin",
    "lock_sections",
    "trylocks",
    "doacross_wait",
    "doacross_post",
];

/// The fields of a row.
const FIELDS: [&str; 13] = [
    "cpu", "from", "site", "outcome", "asked", "late", "looked", "held", "unlock", "comm",
    "request", "mode", "call",
];

/// Reads a row, whose first word is `time`.
pub(super) fn row(
    time: &Token<'_>,
    words: &mut Words<'_, '_>,
    tables: &mut Tables,
    unit: Unit,
    line: usize,
) -> Result<Event, Problem> {
    let at = unit.time(time)?;
    if let Some(last) = tables.trace.events.last().map(|last| last.time)
        && at < last
    {
        let expected = format!("a time not before that of the row above, {} ns", last.0);
        return Err(time.not(expected, "put the rows in the order of their times"));
    }
    let thread = tables.thread(words.required("a thread's name")?, line)?;
    let name = words.required("an event, such as `lock` or `terminate`")?;
    let mut row = Row {
        words,
        tables,
        line,
    };
    let message = messages::action(name, row.words, row.tables)?;
    let mut operation = match message {
        Some(_) => Operation::Message(MessageId(0)),
        None => row.operation(name)?,
    };
    let mut of_message = messages::Fields::default();
    let mut outcome = match row.words.optional() {
        Some(token) => Some(words::outcome(token)?),
        None => None,
    };
    let (mut cpu, mut from, mut site) = (None, None, None);
    let (mut held_long, mut unlocked_at) = (None, None);
    let (mut asked, mut late, mut looked) = (None, None, None);
    while let Some((key, token)) = row.words.field()? {
        match key {
            "cpu" => set(&mut cpu, unit.time(token)?, token)?,
            "from" => set(&mut from, row.tables.thread(token, line)?, token)?,
            "site" => set(&mut site, row.tables.site(token)?, token)?,
            "outcome" => set(&mut outcome, words::outcome(token)?, token)?,
            "asked" => set(&mut asked, unit.time(token)?, token)?,
            "late" => set(&mut late, unit.time(token)?, token)?,
            "looked" => set(&mut looked, unit.time(token)?, token)?,
            "held" => set(&mut held_long, unit.time(token)?, token)?,
            "unlock" => set(&mut unlocked_at, row.tables.site(token)?, token)?,
            "comm" => {
                let known = row.tables.communicator(&token.text);
                let known = known.ok_or_else(|| {
                    let remedy = "declare it in the header: `communicator NAME RANK...`";
                    token.not("a communicator", remedy)
                })?;
                set(&mut of_message.communicator, known, token)?;
            }
            "request" => {
                let request = number(token, "a request's number")?;
                set(&mut of_message.request, request, token)?;
            }
            "mode" => set(&mut of_message.mode, messages::mode(token)?, token)?,
            "call" => set(&mut of_message.name, token.text.to_string(), token)?,
            _ => return Err(unknown_field(token, key, &FIELDS)),
        }
    }
    if let Some(action) = message {
        operation = Operation::Message(row.tables.message(of_message.complete(action)));
    } else if of_message.is_any() {
        let expected = "fields `comm`, `request`, `mode` and `call` with messages only";
        return Err(name.not(expected, "remove the field"));
    }
    if let Operation::LockSections { held, unlock, .. } = &mut operation {
        *held = held_long.take().unwrap_or_default();
        *unlock = unlocked_at.take();
    }
    if operation == Operation::Sleep
        && let Some(asked) = asked.take()
    {
        operation = Operation::SleepFor(asked);
    }
    if operation == Operation::Sleep
        && let Some(late) = late.take()
    {
        operation = Operation::SleepPast(late);
    }
    if let Operation::Spin(time) | Operation::Linger(time) = &mut operation {
        *time = looked.take().unwrap_or_default();
    }
    if asked.is_some() || late.is_some() || looked.is_some() {
        let expected = "one of the fields `asked` and `late` with `sleep` only, and `looked` with `spin` and `linger`";
        return Err(name.not(expected, "remove the field"));
    }
    if held_long.is_some() || unlocked_at.is_some() {
        let remedy = "remove the field, or name the event that it belongs to";
        let expected = "fields `held` and `unlock` with `lock_sections` only";
        return Err(name.not(expected, remedy));
    }
    if outcome.is_none() && operands::only_tries(operation) {
        let remedy = "say what came of the try behind the object's name";
        let expected = format!("`ok` or `busy` for {}", operation.name());
        return Err(Problem::new(name.offset, expected, "neither", remedy));
    }
    let call = tables.call(Call {
        thread,
        operation,
        outcome: outcome.unwrap_or(Outcome::Success),
        from,
        site,
    });
    Ok(Event::new(at, cpu, call))
}

/// A row that is being read.
struct Row<'w, 'l, 'a> {
    words: &'w mut Words<'l, 'a>,
    tables: &'w mut Tables,
    line: usize,
}

impl Row<'_, '_, '_> {
    fn operation(&mut self, name: &Token<'_>) -> Result<Operation, Problem> {
        let word = name.text.as_ref();
        // Any id serves to learn an operation's name.
        let object = ON_ONE_OBJECT
            .iter()
            .find(|(_, operation)| operation(ObjectId(0)).name() == word);
        if let Some(&(kind, operation)) = object {
            return self.on_one_object(kind, operation);
        }
        if let Some(operation) = ON_A_THREAD
            .iter()
            .find(|operation| operation(ThreadId(0)).name() == word)
        {
            return Ok(operation(self.thread()?));
        }
        match word {
            "terminate" => Ok(Operation::Terminate),
            "return" => Ok(Operation::Return),
            "sleep" => Ok(Operation::Sleep),
            "spin" => Ok(Operation::Spin(Nanos(0))),
            "linger" => Ok(Operation::Linger(Nanos(0))),
            "io" => self.io(),
            "send" => Ok(Operation::Send {
                event: self.object(ObjectKind::Event)?,
                to: self.thread()?,
            }),
            "cond_wait" => Ok(Operation::CondWait {
                cond: self.object(ObjectKind::Cond)?,
                mutex: self.object(ObjectKind::Mutex)?,
            }),
            "cond_timedwait" => Ok(Operation::CondTimedWait {
                cond: self.object(ObjectKind::Cond)?,
                mutex: self.object(ObjectKind::Mutex)?,
            }),
            "futex_wake" => {
                let futex = self.object(ObjectKind::Futex)?;
                let what = "the number of threads that were woken";
                let woken = number(self.words.required(what)?, what)?;
                Ok(Operation::FutexWake { futex, woken })
            }
            "doacross_wait" => {
                let (loops, iteration) = self.iteration()?;
                Ok(Operation::DoacrossWait { loops, iteration })
            }
            "doacross_post" => {
                let (loops, iteration) = self.iteration()?;
                Ok(Operation::DoacrossPost { loops, iteration })
            }
            "pipe_write" => {
                let (pipe, bytes) = self.pipe()?;
                Ok(Operation::PipeWrite { pipe, bytes })
            }
            "pipe_read" => {
                let (pipe, bytes) = self.pipe()?;
                Ok(Operation::PipeRead { pipe, bytes })
            }
            "bind" => {
                let thread = self.thread()?;
                let cpus = words::cpus(self.words.required("CPUs, such as 0-3,6")?)?;
                Ok(Operation::Bind { thread, cpus })
            }
            "lock_sections" => Ok(Operation::LockSections {
                mutex: self.object(ObjectKind::Mutex)?,
                count: self.count()?,
                held: Nanos(0),
                unlock: None,
            }),
            "trylocks" => Ok(Operation::TryLocks {
                mutex: self.object(ObjectKind::Mutex)?,
                count: self.count()?,
            }),
            _ => Err(unknown(name)),
        }
    }

    fn iteration(&mut self) -> Result<(ObjectId, u64), Problem> {
        let loops = self.object(ObjectKind::Doacross)?;
        let what = "the number of an iteration";
        Ok((loops, number(self.words.required(what)?, what)?))
    }

    fn pipe(&mut self) -> Result<(ObjectId, u32), Problem> {
        let pipe = self.object(ObjectKind::Pipe)?;
        let what = "a number of bytes";
        Ok((pipe, number(self.words.required(what)?, what)?))
    }

    fn io(&mut self) -> Result<Operation, Problem> {
        let known = IoKind::ALL.map(IoKind::name);
        let expected = format!("one of {}", known.join(", "));
        let word = self.words.required(&expected)?;
        let kind = IoKind::ALL
            .into_iter()
            .find(|kind| kind.name() == word.text);
        let Some(kind) = kind else {
            let remedy = format!("correct the word{}", hint(&word.text, known));
            return Err(word.not(expected, remedy));
        };
        let named = |token: &Token<'_>| {
            FileKind::ALL
                .into_iter()
                .find(|file| file.name() == token.text)
        };
        let file = self.words.peek().and_then(named);
        if file.is_some() {
            self.words.optional();
        }
        let file = file.unwrap_or(FileKind::None);
        Ok(Operation::Io { kind, file })
    }

    fn on_one_object(
        &mut self,
        kind: ObjectKind,
        operation: OnObject,
    ) -> Result<Operation, Problem> {
        let object = self.object(kind)?;
        let size = self.words.peek().filter(|token| {
            kind == ObjectKind::Barrier && token.text.starts_with(|c: char| c.is_ascii_digit())
        });
        if let Some(token) = size {
            self.words.optional();
            let size = number(token, "the number of threads that the barrier waits for")?;
            self.tables.set_barrier_size(object, size, token)?;
        }
        Ok(operation(object))
    }

    fn object(&mut self, kind: ObjectKind) -> Result<ObjectId, Problem> {
        let name = self
            .words
            .required(&format!("the name of a {}", kind.name()))?;
        self.tables.object(name, kind, self.line)
    }

    fn count(&mut self) -> Result<u64, Problem> {
        let expected = "how many times";
        number(self.words.required(expected)?, expected)
    }

    fn thread(&mut self) -> Result<ThreadId, Problem> {
        let name = self.words.required("a thread's name")?;
        self.tables.thread(name, self.line)
    }
}

fn unknown(name: &Token<'_>) -> Problem {
    let objects = ON_ONE_OBJECT
        .iter()
        .map(|(_, operation)| operation(ObjectId(0)).name());
    let threads = ON_A_THREAD
        .iter()
        .map(|operation| operation(ThreadId(0)).name());
    let collectives = CollectiveKind::ALL.map(CollectiveKind::name);
    let known = objects.chain(threads).chain(OTHERS);
    let known = known.chain(messages::NAMES).chain(collectives);
    let hint = hint(&name.text, known);
    let remedy = if hint.is_empty() {
        "events are listed in the documentation of text traces; this version knows no others"
            .to_owned()
    } else {
        format!("correct the event's name{hint}")
    };
    name.not(
        "an event such as create, lock, cond_wait or terminate",
        remedy,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_on_one_object_states_the_kind_that_it_needs() {
        for (kind, operation) in ON_ONE_OBJECT {
            let object = ObjectId(7);
            let expected = [Some((object, kind)), None];
            assert_eq!(operands::operands(operation(object)), expected);
        }
    }
}
