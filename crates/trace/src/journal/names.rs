//! What bytes and paths are called in a trace.

use super::layout::{
    Kind, OUTCOME_BUSY, OUTCOME_CHOSEN, OUTCOME_FAILED, OUTCOME_OWNER_DIED, OUTCOME_PENDING,
    OUTCOME_SUCCESS, OUTCOME_TIMED_OUT,
};
use crate::{ObjectId, Operation, Outcome};

/// Names at most a few.
pub(super) fn list(names: &[String]) -> String {
    match names {
        [first, second, third, _, ..] => {
            format!("{first}, {second}, {third} and {} others", names.len() - 3)
        }
        names => names.join(", "),
    }
}

/// Returns a program's name: its path's last part, without what a text trace could not hold in a word.
pub(super) fn program_name(path: &str) -> String {
    let last = path.rsplit('/').next().unwrap_or(path);
    let name: String = last
        .chars()
        .map(|c| {
            if c.is_whitespace() || c.is_control() {
                '_'
            } else {
                c
            }
        })
        .collect();
    if name.is_empty() {
        "program".to_owned()
    } else {
        name
    }
}

/// Returns what an outcome byte says.
pub(super) fn outcome(byte: u8) -> Outcome {
    match byte {
        OUTCOME_BUSY => Outcome::Busy,
        OUTCOME_TIMED_OUT => Outcome::TimedOut,
        OUTCOME_CHOSEN => Outcome::Chosen,
        OUTCOME_OWNER_DIED => Outcome::OwnerDied,
        // At the call itself: its return says more.
        OUTCOME_SUCCESS | OUTCOME_PENDING => Outcome::Success,
        byte => Outcome::Failed(u16::from(byte.saturating_sub(OUTCOME_FAILED))),
    }
}

/// Returns a wait for a condition.
pub(super) fn wait_operation(kind: Kind, cond: ObjectId, mutex: ObjectId) -> Operation {
    if kind == Kind::CondWait {
        Operation::CondWait { cond, mutex }
    } else {
        Operation::CondTimedWait { cond, mutex }
    }
}

/// Returns a wake-up of a futex's waiters, `woken` of them.
pub(super) fn wake_operation(futex: ObjectId, woken: u64) -> Operation {
    let woken = u32::try_from(woken).unwrap_or(u32::MAX);
    Operation::FutexWake { futex, woken }
}

/// Returns an operation on one object; `None` for kinds that are no operations.
pub(super) fn object_operation(kind: Kind, object: ObjectId) -> Option<Operation> {
    let operation = match kind {
        Kind::MutexLock => Operation::Lock,
        Kind::MutexTryLock => Operation::TryLock,
        Kind::MutexTimedLock => Operation::TimedLock,
        Kind::MutexUnlock => Operation::Unlock,
        Kind::CondSignal => Operation::CondSignal,
        Kind::CondBroadcast => Operation::CondBroadcast,
        Kind::SemWait | Kind::SetTake => Operation::SemWait,
        Kind::SemTryWait => Operation::SemTryWait,
        Kind::SemTimedWait => Operation::SemTimedWait,
        Kind::SemPost | Kind::SetGive => Operation::SemPost,
        Kind::ReadLock => Operation::ReadLock,
        Kind::TryReadLock => Operation::TryReadLock,
        Kind::TimedReadLock => Operation::TimedReadLock,
        Kind::WriteLock => Operation::WriteLock,
        Kind::TryWriteLock => Operation::TryWriteLock,
        Kind::TimedWriteLock => Operation::TimedWriteLock,
        Kind::RwUnlock => Operation::RwUnlock,
        Kind::BarrierWait => Operation::BarrierWait,
        Kind::SpinLock => Operation::SpinLock,
        Kind::SpinTryLock => Operation::SpinTryLock,
        Kind::SpinUnlock => Operation::SpinUnlock,
        Kind::Once => Operation::Once,
        Kind::FutexWait => Operation::FutexWait,
        Kind::FutexTimedWait => Operation::FutexTimedWait,
        Kind::QueueSend => Operation::QueueSend,
        Kind::QueueReceive => Operation::QueueReceive,
        _ => return None,
    };
    Some(operation(object))
}
