//! Requests: beginning persistent ones, waiting, looking whether they are over.

use core::ffi::c_int;

use foretrace_recorder::message;
use foretrace_trace::journal::mpi::{NO_REQUEST, Waits, position};

use super::arguments::Arguments;
use super::library::constants;
use super::messages::{envelope_of_wait, ignores};
use super::{blocking, immediate, outcome, waiting};
use crate::next;

/// As many words as most calls need: room for more takes time to clear.
const FEW: usize = 16;

/// As many words as are kept on the stack.
const MANY: usize = 96;

/// Returns a request as journals name it.
pub fn named(handle: usize) -> u64 {
    if handle == constants().request_null {
        NO_REQUEST
    } else {
        handle as u64
    }
}

/// Does something with room for so many words.
pub fn with_words<T>(count: usize, work: impl FnOnce(&mut [u64]) -> T) -> T {
    let mut few = [0; FEW];
    match few.get_mut(..count) {
        Some(words) => work(words),
        None => with_many_words(count, work),
    }
}

#[inline(never)]
fn with_many_words<T>(count: usize, work: impl FnOnce(&mut [u64]) -> T) -> T {
    let mut many = [0; MANY];
    if let Some(words) = many.get_mut(..count) {
        return work(words);
    }
    let bytes = count * size_of::<u64>();
    // SAFETY: fresh memory of our own.
    let memory = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return work(&mut []);
    }
    // SAFETY: so many words were mapped, zeroed and aligned to a page.
    let words = unsafe { core::slice::from_raw_parts_mut(memory.cast(), count) };
    let result = work(words);
    // SAFETY: mapped above, and no longer used.
    unsafe { libc::munmap(memory, bytes) };
    result
}

/// Records the beginning of persistent requests.
pub fn start(arguments: &Arguments) -> c_int {
    let (first, count) = match arguments.position {
        position::Startall => (1, arguments.count(0)),
        _ => (0, 1),
    };
    with_words(count, |words| {
        copy_requests(arguments, first, words);
        immediate(arguments, words, |_| 0)
    })
}

/// Records that a request is given up.
pub fn free(arguments: &Arguments) -> c_int {
    immediate(arguments, &[named(arguments.handle_at(0))], |_| 0)
}

fn copy_requests(arguments: &Arguments, place: usize, words: &mut [u64]) {
    for (index, word) in words.iter_mut().enumerate() {
        *word = named(arguments.handle_in(place, index));
    }
}

/// Where the arguments of a function that waits are.
struct Places {
    /// The requests.
    requests: usize,
    /// How many there are.
    count: usize,
    /// Whether they are over.
    flag: Option<usize>,
    /// Which one is over, or how many.
    index: Option<usize>,
    /// Which of them.
    indices: Option<usize>,
    /// The status, or the statuses.
    status: usize,
}

fn places(arguments: &Arguments, waits: Waits, tries: bool) -> Places {
    let next = usize::from(tries);
    match waits {
        Waits::One => Places {
            requests: 0,
            count: 1,
            flag: tries.then_some(1),
            index: None,
            indices: None,
            status: 1 + next,
        },
        Waits::All => Places {
            requests: 1,
            count: arguments.count(0),
            flag: tries.then_some(2),
            index: None,
            indices: None,
            status: 2 + next,
        },
        Waits::Any => Places {
            requests: 1,
            count: arguments.count(0),
            flag: tries.then_some(3),
            index: Some(2),
            indices: None,
            status: 3 + next,
        },
        Waits::Some => Places {
            requests: 1,
            count: arguments.count(0),
            flag: None,
            index: Some(2),
            indices: Some(3),
            status: 4,
        },
    }
}

/// Records a wait, or a look. The library overwrites the requests, so they are copied before.
pub fn wait(arguments: &Arguments, waits: Waits, tries: bool) -> c_int {
    // What this hook does before the call is not the program's.
    let tsc = message::begin();
    let places = places(arguments, waits, tries);
    let statuses = match waits {
        Waits::One | Waits::Any => 1,
        Waits::All | Waits::Some => places.count,
    };
    let status_words = if ignores(arguments.word(places.status)) {
        (statuses * constants().status.bytes).div_ceil(size_of::<u64>())
    } else {
        0
    };
    // The requests, the words of the return, the statuses.
    let answers = 2 * places.count.max(1);
    with_words(places.count + answers + status_words, |all| {
        if all.is_empty() {
            // There is no memory for what would be recorded.
            return blocking(arguments, &[], |_| 0);
        }
        let (requests, rest) = all.split_at_mut(places.count);
        let (returned, own) = rest.split_at_mut(answers);
        copy_requests(arguments, places.requests, requests);
        let arguments = if status_words > 0 {
            &arguments.with(places.status, own.as_mut_ptr() as usize)
        } else {
            arguments
        };
        wait_with(
            arguments,
            (tsc, &places),
            (waits, tries),
            requests,
            returned,
        )
    })
}

fn wait_with(
    arguments: &Arguments,
    (tsc, places): (u64, &Places),
    (waits, tries): (Waits, bool),
    requests: &[u64],
    returned: &mut [u64],
) -> c_int {
    if !tries {
        message::put_call(tsc, arguments.position, arguments.site, requests);
    }
    let result = if tries {
        message::trying(|| arguments.forward())
    } else {
        waiting::complete(arguments)
    };
    if tries {
        let found_none = match (places.flag, waits) {
            (Some(flag), _) => arguments.int_at(flag) == 0,
            (None, _) => places
                .index
                .is_some_and(|index| arguments.int_at(index) == 0),
        };
        if found_none && result == foretrace_mpi::SUCCESS {
            failed(tsc, arguments, requests);
            return result;
        }
        message::put_call(tsc, arguments.position, arguments.site, requests);
    }
    let failed = result != foretrace_mpi::SUCCESS && result != constants().family.error_in_status();
    let count = if failed {
        0
    } else {
        answer(arguments, places, waits, requests, returned)
    };
    let words = returned.get(..count).unwrap_or_default();
    message::put_return(arguments.position, outcome(result), words);
    result
}

/// Fills in the words of a return, and says how many there are.
fn answer(
    arguments: &Arguments,
    places: &Places,
    waits: Waits,
    requests: &[u64],
    returned: &mut [u64],
) -> usize {
    let status = |index: usize| {
        envelope_of_wait(arguments.word(places.status) + index * constants().status.bytes)
    };
    match waits {
        Waits::One | Waits::All => {
            let answers = returned.iter_mut().zip(requests).enumerate();
            for (index, (word, &request)) in answers {
                *word = if request == NO_REQUEST {
                    0
                } else {
                    status(index)
                };
            }
            requests.len()
        }
        Waits::Any => {
            let index = places.index.map_or(-1, |index| arguments.int_at(index));
            let Ok(index) = usize::try_from(index) else {
                return 0;
            };
            returned[0] = index as u64;
            returned[1] = status(0);
            2
        }
        Waits::Some => {
            let count = places.index.map_or(0, |index| arguments.count_at(index));
            let indices = places.indices.unwrap_or(0);
            for (place, pair) in returned.chunks_exact_mut(2).take(count).enumerate() {
                pair[0] = u64::try_from(arguments.int_in(indices, place)).unwrap_or(u64::MAX);
                pair[1] = status(place);
            }
            2 * count.min(returned.len() / 2)
        }
    }
}

/// Measures what hooks take, by a look and a call that do nothing.
pub fn measure() {
    let (request, index, flag) = (0_usize, -1, 0);
    let look = Arguments::of_nothing(&[
        1,
        &raw const request as usize,
        &raw const index as usize,
        &raw const flag as usize,
    ]);
    let call = Arguments::of_nothing(&[]);
    message::measure(
        || {
            wait(&look, Waits::Any, true);
        },
        || {
            blocking(&call, &[0], |_| 0);
        },
    );
}

/// Records a look that found nothing, and lets others run after many of them.
pub fn failed(tsc: u64, arguments: &Arguments, words: &[u64]) {
    if message::put_failed_try(tsc, arguments.position, arguments.site, words) {
        // SAFETY: it takes nothing.
        unsafe { next::sched_yield() };
        message::let_others_run();
    }
}
