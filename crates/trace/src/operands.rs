//! Which objects an operation is about, and of which kind they must be.

use crate::{ObjectId, ObjectKind, Operation, Outcome, SiteId};

/// The objects of an operation, each with the kind that it must have.
pub(crate) type Operands = [Option<(ObjectId, ObjectKind)>; 2];

/// Returns the objects of an operation, in the order in which a text trace names them.
pub(crate) fn operands(operation: Operation) -> Operands {
    let second = match operation {
        Operation::CondWait { mutex, .. } | Operation::CondTimedWait { mutex, .. } => {
            Some((mutex, ObjectKind::Mutex))
        }
        _ => None,
    };
    [operation.object().zip(kind(operation)), second]
}

/// Returns the kind of the object that [`Operation::object`] names.
fn kind(operation: Operation) -> Option<ObjectKind> {
    match operation {
        Operation::Create(_)
        | Operation::Join(_)
        | Operation::Detach(_)
        | Operation::Cancel(_)
        | Operation::Terminate
        | Operation::Return
        | Operation::Bind { .. }
        | Operation::Io { .. }
        | Operation::Sleep
        | Operation::SleepFor(_)
        | Operation::SleepPast(_)
        | Operation::Spin(_)
        | Operation::Linger(_)
        | Operation::Message(_) => None,
        Operation::Send { .. } | Operation::Wait(_) => Some(ObjectKind::Event),
        Operation::Lock(_)
        | Operation::TryLock(_)
        | Operation::TimedLock(_)
        | Operation::Unlock(_)
        | Operation::LockSections { .. }
        | Operation::TryLocks { .. } => Some(ObjectKind::Mutex),
        Operation::CondWait { .. }
        | Operation::CondTimedWait { .. }
        | Operation::CondSignal(_)
        | Operation::CondBroadcast(_) => Some(ObjectKind::Cond),
        Operation::SemWait(_)
        | Operation::SemTryWait(_)
        | Operation::SemTimedWait(_)
        | Operation::SemPost(_) => Some(ObjectKind::Semaphore),
        Operation::ReadLock(_)
        | Operation::TryReadLock(_)
        | Operation::TimedReadLock(_)
        | Operation::WriteLock(_)
        | Operation::TryWriteLock(_)
        | Operation::TimedWriteLock(_)
        | Operation::RwUnlock(_) => Some(ObjectKind::Rwlock),
        Operation::BarrierWait(_) => Some(ObjectKind::Barrier),
        Operation::SpinLock(_) | Operation::SpinTryLock(_) | Operation::SpinUnlock(_) => {
            Some(ObjectKind::Spin)
        }
        Operation::Once(_) => Some(ObjectKind::Once),
        Operation::FutexWait(_) | Operation::FutexTimedWait(_) | Operation::FutexWake { .. } => {
            Some(ObjectKind::Futex)
        }
        Operation::QueueSend(_) | Operation::QueueReceive(_) => Some(ObjectKind::Queue),
        Operation::DoacrossWait { .. } | Operation::DoacrossPost { .. } => {
            Some(ObjectKind::Doacross)
        }
        Operation::PipeWrite { .. } | Operation::PipeRead { .. } => Some(ObjectKind::Pipe),
    }
}

/// Returns the call site that an operation names besides its call's.
pub(crate) fn second_site(operation: Operation) -> Option<SiteId> {
    match operation {
        Operation::LockSections { unlock, .. } => unlock,
        _ => None,
    }
}

/// Returns how often an operation was done, where an event of it says so.
pub(crate) fn count(operation: Operation) -> Option<u64> {
    match operation {
        Operation::LockSections { count, .. } | Operation::TryLocks { count, .. } => Some(count),
        _ => None,
    }
}

/// Returns the number that an operation names besides its object: an iteration's, or how many bytes.
pub(crate) fn number(operation: Operation) -> Option<u64> {
    match operation {
        Operation::DoacrossWait { iteration, .. } | Operation::DoacrossPost { iteration, .. } => {
            Some(iteration)
        }
        Operation::PipeWrite { bytes, .. } | Operation::PipeRead { bytes, .. } => {
            Some(bytes.into())
        }
        _ => None,
    }
}

/// Returns whether the operation only tries, so that a listing must say what came of it.
pub(crate) fn only_tries(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::TryLock(_)
            | Operation::SemTryWait(_)
            | Operation::TryReadLock(_)
            | Operation::TryWriteLock(_)
            | Operation::SpinTryLock(_)
            | Operation::TryLocks { .. }
    )
}

/// Returns the lock that the operation acquires when it succeeds.
pub(crate) fn acquired(operation: Operation) -> Option<ObjectId> {
    match operation {
        Operation::Lock(object)
        | Operation::TryLock(object)
        | Operation::TimedLock(object)
        | Operation::ReadLock(object)
        | Operation::TryReadLock(object)
        | Operation::TimedReadLock(object)
        | Operation::WriteLock(object)
        | Operation::TryWriteLock(object)
        | Operation::TimedWriteLock(object)
        | Operation::SpinLock(object)
        | Operation::SpinTryLock(object) => Some(object),
        _ => None,
    }
}

/// Returns the lock that the operation gives up.
pub(crate) fn released(operation: Operation) -> Option<ObjectId> {
    match operation {
        Operation::Unlock(object) | Operation::RwUnlock(object) | Operation::SpinUnlock(object) => {
            Some(object)
        }
        _ => None,
    }
}

/// Returns whether the call had its effect.
pub(crate) fn took_effect(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Success | Outcome::Chosen | Outcome::OwnerDied
    )
}
