//! Parallel regions: what a team runs, between the token that each member waits for and the barrier at the end.

use core::cell::Cell;
use core::ffi::{c_uint, c_void};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use foretrace_recorder::{
    Kind, OUTCOME_BUSY, OUTCOME_PENDING, OUTCOME_SUCCESS, SITES, ThreadState, clock, record,
    record_extended, returned,
};

use super::functions::{self, Body};
use super::{is_told_to_sleep, pass, recording, tasks};

/// Where in a barrier's address its size stands: above all addresses of programs.
pub const SIZE_SHIFT: u32 = 48;

/// Set in the addresses of teams that the user, not foretrace, told to sleep where they wait: on any number of CPUs they do.
const SLEEPING: u64 = 1 << 63;

/// Set in what is kept with a task of LLVM's library, beside its team's barrier, if whoever makes it has to do it at once: it is a part
/// of what makes it.
pub const AT_ONCE: u64 = 1 << 62;

/// Set in a region's site if a hook began it for LLVM's library.
pub const BY_HOOK: u64 = 1 << 63;

/// The depths in regions that are told apart: states of threads are aligned to so many bytes.
const DEPTHS: u64 = align_of::<ThreadState>() as u64;

/// A team's name, which stays the same from region to region: the state of its master, and how deep in regions the
/// master was.
#[derive(Clone, Copy)]
pub struct Team(u64);

impl Team {
    /// The team that the calling thread begins a region with, which is in `depth` others.
    pub fn of_current(depth: u32) -> Self {
        let state = core::ptr::from_ref(ThreadState::current());
        Self(state as u64 + u64::from(depth) % DEPTHS)
    }

    /// The team that a barrier is of; `None` for 0.
    pub fn of_barrier(address: u64) -> Option<Self> {
        Self::named(address & ((1 << SIZE_SHIFT) - 1))
    }

    /// The team of that name; `None` for 0.
    pub fn named(name: u64) -> Option<Self> {
        (name != 0).then_some(Self(name))
    }

    pub fn name(self) -> u64 {
        self.0
    }

    fn depth(self) -> usize {
        (self.0 % DEPTHS) as usize
    }

    /// How many regions a region is in that a member of it begins.
    pub fn depth_within(self) -> u32 {
        self.depth() as u32 + 1
    }

    /// The address of its barrier when it has that many members.
    pub fn barrier(self, size: u32) -> u64 {
        let told = if is_told_to_sleep() { SLEEPING } else { 0 };
        self.0 | (u64::from(size) << SIZE_SHIFT) | told
    }

    /// The members that a team has whose barrier has this address.
    pub fn size_by(barrier: u64) -> u32 {
        ((barrier & !SLEEPING & !AT_ONCE) >> SIZE_SHIFT) as u32
    }

    /// The address of its semaphore, which also stands for its tasks.
    pub fn semaphore(self) -> u64 {
        self.barrier(1)
    }

    /// Forgets the loops of the region before that the calling thread was in.
    pub fn begin_loops(self) {
        let state = ThreadState::current();
        state.loops[self.depth() % SITES].set(0);
        state.piece_began.set(0);
    }

    fn state(self) -> *const ThreadState {
        (self.0 - self.0 % DEPTHS) as *const ThreadState
    }

    fn sites(self) -> &'static [AtomicU64; SITES] {
        // SAFETY: the master's state lives while its region does, and the sites in it are atomic.
        unsafe { &(*self.state()).region_sites }
    }

    /// Which of its regions it is in, as a number.
    fn regions(self) -> &'static AtomicU32 {
        // SAFETY: as above.
        unsafe { &(&(*self.state()).regions)[self.depth() % SITES] }
    }

    /// Returns which of its regions it is in, as a number.
    pub fn region(self) -> u32 {
        self.regions().load(Ordering::Relaxed)
    }

    /// Remembers where its region was begun.
    pub fn set_site(self, site: u64) {
        self.sites()[self.depth() % SITES].store(site, Ordering::Relaxed);
    }

    /// Where its region was begun.
    pub fn site(self) -> u64 {
        self.sites()[self.depth() % SITES].load(Ordering::Relaxed) & !BY_HOOK
    }

    /// Returns whether its region was begun by a hook, so that what LLVM's library takes for call sites are none.
    pub fn is_begun_by_hook(self) -> bool {
        self.sites()[self.depth() % SITES].load(Ordering::Relaxed) & BY_HOOK != 0
    }

    /// Records that a region begins, whose team has at most `limit` members. What the library does until its master [starts](Self::start) is to
    /// call the others: it wakes them, and may spin until all are there.
    pub fn begin(self, limit: u32, site: u64) {
        self.regions().fetch_add(1, Ordering::Relaxed);
        self.initialize(limit, site);
        for _ in 1..limit {
            record(Kind::SemPost, self.semaphore(), OUTCOME_SUCCESS, site);
        }
        record(Kind::SemTimedWait, self.semaphore(), OUTCOME_PENDING, site);
    }

    /// Records that its master, which has called the others, does its part. The team came out with so many members, where it might have had
    /// `limit`: nobody else will take the other tokens.
    pub fn start(self, members: u32, limit: u32, site: u64) {
        if limit > 1 {
            returned(Kind::SemTimedWait, self.semaphore(), OUTCOME_BUSY);
        }
        for _ in members..limit {
            record(Kind::SemTryWait, self.semaphore(), OUTCOME_SUCCESS, site);
        }
    }

    /// Makes the semaphore and the barriers that it may need, those that were not made before.
    fn initialize(self, limit: u32, site: u64) {
        let state = ThreadState::current();
        let made: Option<&Cell<u16>> = state.teams.get(self.depth());
        let before = made.map_or(0, Cell::get).max(1);
        let most = u16::try_from(limit).unwrap_or(u16::MAX);
        if before == 1 {
            let semaphore = self.semaphore();
            record_extended(Kind::SemInit, semaphore, OUTCOME_SUCCESS, site, (0, 0));
        }
        for size in before.saturating_add(1)..=most {
            let operands = (u64::from(size), 0);
            let barrier = self.barrier(u32::from(size));
            record_extended(Kind::BarrierInit, barrier, OUTCOME_SUCCESS, site, operands);
        }
        if let Some(made) = made {
            made.set(before.max(most));
        }
    }

    /// Records that the calling thread, which is not its master, was called.
    pub fn enter(self, site: u64) {
        come_back();
        // It slept in the library until now.
        clock::may_have_blocked(ThreadState::current());
        record(Kind::SemWait, self.semaphore(), OUTCOME_SUCCESS, site);
    }
}

/// A region under way. It lies on its master's stack: the library's call returns when all members are through.
#[repr(C)]
struct Region {
    /// What the library reads through the pointer that it is given, if it does: the first word of the program's data.
    first_word: u64,
    body: Body,
    data: *mut c_void,
    /// Where the region was begun.
    site: u64,
    team: Team,
    /// The most members that it may have, for which there are tokens.
    limit: u32,
    /// The members that it has, once its master is among them.
    size: AtomicU32,
    /// How many barriers in it some member is back from.
    passed: AtomicU32,
}

/// A thread's part in a region.
pub struct Member {
    /// The barrier's address.
    barrier: u64,
    /// The members of the team.
    size: u32,
    /// How many regions the thread is in.
    depth: u32,
    /// How many barriers of the region it came to.
    barriers: Cell<u32>,
    /// How many of these some member is back from; null where the team has no other members.
    passed: *const AtomicU32,
    /// Where the thread waits, doing nothing else yet; null if it does not.
    waits_at: Cell<*const AtBarrier>,
    outer: *const Member,
}

/// A wait at a barrier in a region. The library lets a thread that has not noticed yet that all have come do tasks that others made since.
pub struct AtBarrier {
    /// The barrier's address.
    address: u64,
    /// Which of the region's barriers it is, from 1.
    number: u32,
    /// How many some member is back from.
    passed: *const AtomicU32,
    /// Whether it is recorded that the wait is over.
    is_over: Cell<bool>,
}

impl AtBarrier {
    /// Returns one for the next barrier that the calling thread comes to; `None` where its team has no other members, or it does a task.
    pub fn next() -> Option<Self> {
        let member = Member::current()?;
        let does_task = ThreadState::current().task_barrier.get() != 0;
        if member.size < 2 || member.passed.is_null() || does_task {
            return None;
        }
        let number = member.barriers.get() + 1;
        member.barriers.set(number);
        Some(Self {
            address: member.barrier,
            number,
            passed: member.passed,
            is_over: Cell::new(false),
        })
    }

    /// Records that the calling thread's wait at a barrier is over, if another member is back from that: what it does from now on is not done
    /// before all have come.
    pub fn leave_if_passed() {
        // SAFETY: null, or set by `aside`, which waits in a frame below this one.
        let here = Member::current().and_then(|member| unsafe { member.waits_at.get().as_ref() });
        let Some(here) = here else {
            return;
        };
        // SAFETY: the region lasts until all its members are through.
        let passed = unsafe { &*here.passed }.load(Ordering::Acquire);
        if passed >= here.number && !here.is_over.replace(true) {
            returned(Kind::BarrierWait, here.address, OUTCOME_SUCCESS);
        }
    }

    /// Waits, and returns whether it is recorded already that the wait is over.
    pub fn during<T>(&self, call: impl FnOnce() -> T) -> (T, bool) {
        let result = aside(self, call);
        // SAFETY: as above.
        unsafe { &*self.passed }.fetch_max(self.number, Ordering::AcqRel);
        (result, self.is_over.get())
    }
}

/// Calls a function while the calling thread waits at this barrier; where it is null, at none that it may leave meanwhile.
pub fn aside<T>(waits_at: *const AtBarrier, call: impl FnOnce() -> T) -> T {
    /// Restores what was before, however the call is left.
    struct Guard<'m>(&'m Member, *const AtBarrier);
    impl Drop for Guard<'_> {
        fn drop(&mut self) {
            self.0.waits_at.set(self.1);
        }
    }
    let member = Member::current();
    let guard = member.map(|member| Guard(member, member.waits_at.replace(waits_at)));
    let result = call();
    drop(guard);
    result
}

impl Member {
    /// Calls a function with the calling thread being a member.
    fn during<T>(
        (barrier, size): (u64, u32),
        passed: *const AtomicU32,
        call: impl FnOnce() -> T,
    ) -> T {
        /// Restores what was before, however the call is left.
        struct Guard(*const Member, u64);
        impl Drop for Guard {
            fn drop(&mut self) {
                let state = ThreadState::current();
                state.member.set(self.0.cast());
                state.task_barrier.set(self.1);
            }
        }
        let state = ThreadState::current();
        let outer: *const Self = state.member.get().cast();
        let member = Self {
            barrier,
            size,
            depth: depth() + 1,
            barriers: Cell::new(0),
            passed,
            waits_at: Cell::new(core::ptr::null()),
            outer,
        };
        // A task may begin a region.
        let guard = Guard(member.outer, state.task_barrier.replace(0));
        state.member.set((&raw const member).cast());
        state.loops[(member.depth as usize - 1) % SITES].set(0);
        state.piece_began.set(0);
        let result = call();
        drop(guard);
        result
    }

    /// Returns the address of the barrier of the calling thread's team; `None` where it has no other members.
    pub fn barrier() -> Option<u64> {
        let state = ThreadState::current();
        // It may do a task at a region's end, of which it is a member no more.
        let of_task = state.task_barrier.get();
        if of_task != 0 {
            return Some(of_task);
        }
        Self::current()
            .filter(|member| member.size > 1)
            .map(|member| member.barrier)
    }

    /// Returns the calling thread's part in its innermost region.
    fn current<'m>() -> Option<&'m Self> {
        let member: *const Self = ThreadState::current().member.get().cast();
        // SAFETY: null, or set by `during`, which waits in a frame below this one.
        unsafe { member.as_ref() }
    }
}

/// Returns how many regions the calling thread is in.
fn depth() -> u32 {
    Member::current().map_or(0, |member| member.depth)
}

/// Returns the most members that the library may give a team.
fn limit(asked: c_uint, site: u64) -> u32 {
    if asked == 1 {
        return 1;
    }
    // SAFETY: these look at settings of the calling thread.
    let (level, levels) = unsafe {
        (
            functions::omp_get_active_level(site),
            functions::omp_get_max_active_levels(site),
        )
    };
    if level >= levels {
        return 1;
    }
    if asked > 0 {
        return asked;
    }
    // SAFETY: as above.
    let most = unsafe { functions::omp_get_max_threads(site) };
    u32::try_from(most).unwrap_or(1)
}

/// What every member runs in place of the program's function.
unsafe extern "C-unwind" fn run(region: *mut c_void) {
    // SAFETY: `begin` passed a region that lives until all members have returned from here.
    let region = unsafe { &*region.cast::<Region>() };
    // SAFETY: these look at the calling thread's team.
    let (number, size) = unsafe {
        (
            functions::omp_get_thread_num(region.site),
            functions::omp_get_num_threads(region.site),
        )
    };
    let size = u32::try_from(size).unwrap_or(1);
    if number == 0 {
        region.size.store(size, Ordering::Relaxed);
        region.team.start(size, region.limit, region.site);
    } else {
        region.team.enter(region.site);
    }
    let barrier = region.team.barrier(size);
    Member::during((barrier, size), &raw const region.passed, || {
        // SAFETY: the program's own function, with what it asked for.
        unsafe { (region.body)(region.data) }
    });
    if size < 2 {
        return;
    }
    record(Kind::BarrierWait, barrier, OUTCOME_PENDING, region.site);
    let state = ThreadState::current();
    // The master is seen coming back. The others wait for the end and for a next region in one.
    if number != 0 {
        state.region_end.set(barrier);
    }
}

/// Records that the calling thread is back from the barrier at the end of a region, if it was last seen there: what it
/// does from now on is not done while it waits.
pub fn come_back() {
    let state = ThreadState::current();
    let barrier = state.region_end.replace(0);
    if barrier != 0 {
        tasks::mark_unseen(barrier);
        returned(Kind::BarrierWait, barrier, OUTCOME_SUCCESS);
    }
}

/// Records a region that `call` has run by a team, with the function and the data that it is given.
pub unsafe fn begin<T>(
    (body, data): (Body, *mut c_void),
    asked: c_uint,
    first_word: u64,
    site: u64,
    call: impl FnOnce(Body, *mut c_void) -> T,
) -> T {
    if !recording(site) {
        return pass(site, || call(body, data));
    }
    let limit = limit(asked, site);
    if limit <= 1 {
        // Barriers in there are for this thread alone.
        return Member::during((0, 1), core::ptr::null(), || call(body, data));
    }
    let team = Team::of_current(depth());
    let region = Region {
        first_word,
        body,
        data,
        site,
        team,
        limit,
        size: AtomicU32::new(0),
        passed: AtomicU32::new(0),
    };
    team.begin(limit, site);
    let result = call(run, (&raw const region).cast_mut().cast());
    let members = region.size.load(Ordering::Relaxed);
    if members > 1 {
        let barrier = team.barrier(members);
        tasks::mark_unseen(barrier);
        returned(Kind::BarrierWait, barrier, OUTCOME_SUCCESS);
    }
    result
}

pub unsafe extern "C-unwind" fn parallel(
    body: Body,
    data: *mut c_void,
    threads: c_uint,
    flags: c_uint,
    site: u64,
) {
    // SAFETY: the program's own call, perhaps with a function that runs the program's.
    unsafe {
        begin((body, data), threads, 0, site, |body, data| {
            functions::GOMP_parallel(body, data, threads, flags, site);
        });
    }
}

pub unsafe extern "C-unwind" fn parallel_reductions(
    body: Body,
    data: *mut c_void,
    threads: c_uint,
    flags: c_uint,
    site: u64,
) -> c_uint {
    // SAFETY: the library reads the word too.
    let first_word = unsafe { data.cast::<u64>().read() };
    // SAFETY: as above.
    unsafe {
        begin((body, data), threads, first_word, site, |body, data| {
            functions::GOMP_parallel_reductions(body, data, threads, flags, site)
        })
    }
}

pub unsafe extern "C-unwind" fn parallel_sections(
    body: Body,
    data: *mut c_void,
    threads: c_uint,
    count: c_uint,
    flags: c_uint,
    site: u64,
) {
    // SAFETY: as above.
    unsafe {
        begin((body, data), threads, 0, site, |body, data| {
            functions::GOMP_parallel_sections(body, data, threads, count, flags, site);
        });
    }
}
