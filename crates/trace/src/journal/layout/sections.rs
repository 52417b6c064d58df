//! Records of several calls: a lock with its unlock, and many of these, or of failed tries.

use super::Kind;

/// A lock that its thread gave up undisturbed, as its next call: the record of the acquisition, changed in place when
/// the release is recorded.
///
/// It keeps the acquisition's call site. The kind becomes [`Kind::Section`], the outcome byte the acquisition's kind.
/// The upper 16 bits of the object, which user addresses leave empty, hold the release's call site less the
/// acquisition's. The upper 16 bits of `tsc` are changed by exclusive or with the ticks in between, which are not 0.
///
/// `tsc`, object and tail are stored in this order. A program that is killed in between leaves an acquisition whose
/// upper bits a reader must restore: those of the counter are the ones that bring it nearest to the record before,
/// and where they differ from the ones stored, the object's are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The release's call site less the acquisition's.
    pub distance: i16,
    /// The ticks from the acquisition to the release; not 0.
    pub held: u16,
}

/// How far addresses and the certain bits of a section's counter reach.
pub const SECTION_BITS: u32 = 48;

impl Section {
    /// Returns the section of an acquisition and its release; `None` where it does not fit.
    #[inline]
    pub const fn new(object: u64, sites: (u64, u64), held: u64) -> Option<Self> {
        let distance = sites.1.wrapping_sub(sites.0).cast_signed();
        if object >> SECTION_BITS != 0
            || held.wrapping_sub(1) >= u16::MAX as u64
            || distance != distance as i16 as i64
        {
            return None;
        }
        Some(Self {
            distance: distance as i16,
            held: held as u16,
        })
    }

    /// Returns what the object's place holds.
    #[inline]
    pub const fn object(self, object: u64) -> u64 {
        object | (self.distance.cast_unsigned() as u64) << SECTION_BITS
    }

    /// Returns what the counter's place holds; from that, the counter.
    #[inline]
    pub const fn tsc(self, tsc: u64) -> u64 {
        tsc ^ (self.held as u64) << SECTION_BITS
    }
}

/// Returns the whole counter of an acquisition whose upper bits may have been changed: the one nearest to a moment.
#[inline]
pub const fn section_tsc(stored: u64, near: u64) -> u64 {
    let above = u64::BITS - SECTION_BITS;
    let difference = (stored.wrapping_sub(near) << above).cast_signed() >> above;
    near.wrapping_add(difference.cast_unsigned())
}

/// What follows more than this many equal sections, or failed tries, without anything else in between is counted; and what follows as many
/// sections quickly that were like one of the few before.
pub const REPETITIONS_RECORDED: u32 = 256;

/// Many sections alike, or failed tries, of one mutex, or readers-writer lock, at one place, that a thread did one after the other within one undisturbed stretch, and nothing else
/// but sections of a few others, or at other places, in between. Those are counted likewise, in repetitions that stand side by side: a streak. What is
/// repeated was recorded one by one before, or was like what was.
///
/// It is two records. The first is as of the first section, but for the kind and but for `tsc`, which is the first
/// acquisition's; of failed tries the outcome byte is [`OUTCOME_BUSY`](super::OUTCOME_BUSY). In the second, an [`Kind::Extension`], `tsc`
/// is the counter at the last release or try for which it was read, and the object's place holds the ticks of the sections for which it was read. Of the bits above the kind's byte, 40 tell how
/// many sections or tries there were, the next 14 for how many of the sections the counter was read, 0 for all, the next whether they are of the same streak as the ones of the repetition right before, and the uppermost whether a further section has begun. In this order they are stored.
///
/// The acquisition of a section for which the counter is read is recorded behind them as always, and becomes an extension that belongs to nothing when its
/// release was counted. A program that is killed in between leaves one that is older than the last release: it was
/// counted. Of others nothing is written but the second record's last eight bytes; where the uppermost bit stays set, something else came before the release.
#[derive(Clone, Copy, Debug)]
pub struct Repetition;

impl Repetition {
    /// How many sections are counted one after the other without reading the counter. With the one for which it is read, so many that this is not always
    /// the same one of two, three or four in turn.
    pub const MOST_UNTIMED: u32 = 6;

    /// For how many the counter is said to have been read, at most.
    pub const MOST_TIMED: u64 = (1 << 14) - 1;

    /// Added to the second record's last eight bytes, counts one more.
    pub const COUNTED: u64 = 1 << 8;

    /// Says that the counter was read for one more.
    pub const TIMED: u64 = 1 << 48;

    /// Says that its sections are of the same streak as those of the repetition right before it.
    pub const JOINED: u64 = 1 << 62;

    /// Says that a further section has begun.
    pub const ACQUIRED: u64 = 1 << 63;

    /// Says that it has ended, which counts.
    pub const RELEASED: u64 = Self::ACQUIRED.wrapping_add(Self::COUNTED);

    /// Stands where a section was recorded that was counted then: an extension that belongs to nothing.
    pub const NOTHING: u64 = Self::tail(0);

    /// Returns the last eight bytes of the second record, of so many.
    #[inline]
    pub const fn tail(count: u64) -> u64 {
        (Kind::Extension as u64) | count << 8
    }

    /// Returns how many there were, of the second record's last eight bytes.
    #[inline]
    pub const fn count(tail: u64) -> u64 {
        (tail % Self::TIMED) >> 8
    }

    /// Returns for how many sections the counter was read; 0 for all.
    #[inline]
    pub const fn timed(tail: u64) -> u64 {
        (tail / Self::TIMED) & Self::MOST_TIMED
    }

    /// Returns whether it is of the same streak as the one before.
    #[inline]
    pub const fn is_joined(tail: u64) -> bool {
        tail & Self::JOINED != 0
    }

    /// Returns whether a further section has begun.
    #[inline]
    pub const fn has_begun(tail: u64) -> bool {
        tail & Self::ACQUIRED != 0
    }
}

/// Returns the kinds, first and last, of the acquisitions that a release may be merged with.
#[inline]
pub const fn acquisitions(release: Kind) -> Option<(Kind, Kind)> {
    match release {
        Kind::MutexUnlock => Some((Kind::MutexLock, Kind::MutexTimedLock)),
        Kind::RwUnlock => Some((Kind::ReadLock, Kind::TimedWriteLock)),
        Kind::SpinUnlock => Some((Kind::SpinLock, Kind::SpinTryLock)),
        _ => None,
    }
}

/// Returns the release that ends a section which an acquisition began.
pub const fn release_of(acquisition: Kind) -> Option<Kind> {
    match acquisition {
        Kind::MutexLock | Kind::MutexTryLock | Kind::MutexTimedLock => Some(Kind::MutexUnlock),
        Kind::ReadLock
        | Kind::TryReadLock
        | Kind::TimedReadLock
        | Kind::WriteLock
        | Kind::TryWriteLock
        | Kind::TimedWriteLock => Some(Kind::RwUnlock),
        Kind::SpinLock | Kind::SpinTryLock => Some(Kind::SpinUnlock),
        _ => None,
    }
}
