//! Waiting by looking again and again, for libraries that keep the one CPU while they wait.
//!
//! Open MPI gives way where it is told to, and MPICH where it looks for messages through UCX ([`progress`](super::progress)). Of
//! other libraries, a call that blocks is made as one that does not and looks whether it is over, with room for others
//! between two looks. Operations of all ranks must be made alike by all, so that they agree on it when MPI begins.

use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use foretrace_mpi::{Family, MOST_VERSION_BYTES, Predefined, SUCCESS};
use foretrace_trace::journal::mpi::{Class, Ends, FUNCTIONS, Sends, Waits, position};

use super::arguments::Arguments;
use super::library::{self, Service, constants};
use super::requests::with_words;
use super::{collectives, neighbours, progress};
use crate::next;

/// Whether the library keeps the CPU while it waits.
static NEEDED: AtomicBool = AtomicBool::new(false);

static TEST: Service = Service::new(c"PMPI_Test");
static LIBRARY_VERSION: Service = Service::new(c"PMPI_Get_library_version");
static ALLREDUCE: Service = Service::new(c"PMPI_Allreduce");

/// Finds out whether the library keeps the CPU while it waits. All ranks call this when MPI has begun.
pub fn decide(ranks: usize) {
    let family = constants().family;
    if ranks < 2 || family == Family::OpenMpi || is_open_mpi() {
        return;
    }
    // One that looks through UCX did so while it began.
    let mut alone = c_int::from(!progress::was_called());
    let mut any: c_int = 0;
    let agreed = ALLREDUCE.call_with([
        &raw mut alone as usize,
        &raw mut any as usize,
        1,
        family.handle(Predefined::Int, library::data),
        family.handle(Predefined::Max, library::data),
        constants().comm_world,
        0,
    ]);
    NEEDED.store(agreed == SUCCESS && any != 0, Ordering::Relaxed);
}

/// Returns whether the standard ABI is Open MPI's.
fn is_open_mpi() -> bool {
    with_words(MOST_VERSION_BYTES / 8, |words| {
        let text = words.as_mut_ptr().cast::<c_char>();
        let mut length: c_int = 0;
        LIBRARY_VERSION.call([text as usize, &raw mut length as usize, 0, 0, 0]);
        let length = usize::try_from(length).unwrap_or(0).min(words.len() * 8);
        // SAFETY: the words that were filled in.
        let text = unsafe { core::slice::from_raw_parts(text.cast::<u8>(), length) };
        text.windows(8).any(|part| part == b"Open MPI")
    })
}

/// Makes a call that may block.
pub fn complete(arguments: &Arguments) -> c_int {
    if NEEDED.load(Ordering::Relaxed)
        && let Some(result) = by_looking(arguments)
    {
        return result;
    }
    arguments.forward()
}

/// Makes a call by one that does not block; `None` where there is none, or nothing to wait for.
fn by_looking(arguments: &Arguments) -> Option<c_int> {
    let function = FUNCTIONS.get(usize::from(arguments.position))?;
    let nobody = constants().family.proc_null();
    let ignore = constants().family.status_ignore();
    match function.class {
        Class::Send(Sends::Buffered, _) => None,
        Class::Send(_, Ends::Itself) => begun(arguments, 6, ignore),
        Class::Receive(Ends::Itself) if arguments.int(3) != nobody => {
            begun(arguments, 6, arguments.word(6))
        }
        Class::SendReceive {
            replaces: true,
            ends: Ends::Itself,
        } if arguments.int(5) != nobody => begun(arguments, 8, arguments.word(8)),
        Class::SendReceive {
            replaces: false,
            ends: Ends::Itself,
        } => Some(exchanged(arguments, function.is_wide)),
        Class::Probe { tries: false, takes } => Some(found(arguments, takes)),
        Class::Wait {
            waits,
            tries: false,
        } => Some(waited(arguments, waits)),
        Class::Collective(sort, Ends::Itself) => {
            begun(arguments, collectives::request_place(sort), ignore)
        }
        Class::Neighbours(sort, Ends::Itself) => {
            begun(arguments, neighbours::request_place(sort), ignore)
        }
        _ if matches!(arguments.position, position::Mrecv | position::Mrecv_c) => {
            begun(arguments, 4, arguments.word(4))
        }
        _ => None,
    }
}

/// The functions that do not block, by those that do; one more than their positions, and 1 less than none.
static TWINS: [AtomicU16; FUNCTIONS.len()] = [const { AtomicU16::new(0) }; FUNCTIONS.len()];

const NO_TWIN: u16 = u16::MAX;

/// Returns the function that does the same and does not block, where the library has it.
fn twin(position: u16) -> Option<u16> {
    let place = TWINS.get(usize::from(position))?;
    let known = place.load(Ordering::Relaxed);
    let twin = if known == 0 {
        let found = look_for_twin(position).map_or(NO_TWIN, |twin| twin + 1);
        place.store(found, Ordering::Relaxed);
        found
    } else {
        known
    };
    (twin != NO_TWIN).then(|| twin - 1)
}

#[cold]
fn look_for_twin(position: u16) -> Option<u16> {
    let [first, rest @ ..] = FUNCTIONS[usize::from(position)].name.as_bytes() else {
        return None;
    };
    let is_twin = |name: &[u8]| match name {
        [b'I', second, others @ ..] => *second == first.to_ascii_lowercase() && others == rest,
        _ => false,
    };
    let found = FUNCTIONS
        .iter()
        .position(|function| is_twin(function.name.as_bytes()))?;
    let found = u16::try_from(found).ok()?;
    library::function_of_library(found).map(|_| found)
}

/// Looks whether something is over until it is.
fn until(mut is_over: impl FnMut() -> Result<bool, c_int>) -> c_int {
    loop {
        match is_over() {
            Ok(true) => return SUCCESS,
            // SAFETY: it takes nothing.
            Ok(false) => unsafe {
                next::sched_yield();
            },
            Err(result) => return result,
        }
    }
}

/// Returns whether a call succeeded and what it looked for is there.
fn answer(result: c_int, flag: c_int) -> Result<bool, c_int> {
    match result {
        SUCCESS => Ok(flag != 0),
        failed => Err(failed),
    }
}

/// Looks whether a request is over.
fn test(request: &mut usize, status: usize) -> Result<bool, c_int> {
    let mut flag: c_int = 0;
    let request = core::ptr::from_mut(request) as usize;
    let result = TEST.call([request, &raw mut flag as usize, status, 0, 0]);
    answer(result, flag)
}

/// Begins what a call is to do, with a request in an argument, and waits for it.
fn begun(arguments: &Arguments, place: usize, status: usize) -> Option<c_int> {
    let mut request: usize = 0;
    let address = &raw mut request as usize;
    let begins = arguments.with(place, address).of(twin(arguments.position)?);
    let result = begins.forward();
    if result != SUCCESS {
        return Some(result);
    }
    Some(until(|| test(&mut request, status)))
}

/// Sends and receives.
fn exchanged(arguments: &Arguments, is_wide: bool) -> c_int {
    let (receive, send, receive_now) = if is_wide {
        (position::Irecv_c, position::Isend_c, position::Recv_c)
    } else {
        (position::Irecv, position::Isend, position::Recv)
    };
    let (mut sent, mut received): (usize, usize) = (0, 0);
    let status = arguments.word(11);
    let is_nobody = arguments.int(8) == constants().family.proc_null();
    let of_receive = arguments.taken([5, 6, 7, 8, 9, 10]);
    let result = if is_nobody {
        of_receive.with(6, status).of(receive_now).forward()
    } else {
        let address = &raw mut received as usize;
        of_receive.with(6, address).of(receive).forward()
    };
    if result != SUCCESS {
        return result;
    }
    let address = &raw mut sent as usize;
    let result = arguments.with(6, address);
    let result = result.with(5, arguments.word(10)).of(send).forward();
    if result != SUCCESS {
        return result;
    }
    let (mut is_sent, mut is_received) = (false, is_nobody);
    until(|| {
        is_received = is_received || test(&mut received, status)?;
        is_sent = is_sent || test(&mut sent, constants().family.status_ignore())?;
        Ok(is_sent && is_received)
    })
}

/// Looks for a message until there is one.
fn found(arguments: &Arguments, takes: bool) -> c_int {
    let mut flag: c_int = 0;
    let address = &raw mut flag as usize;
    let looks = if takes {
        let looks = arguments.taken([0, 1, 2, 3, 3, 4]);
        looks.with(3, address).of(position::Improbe)
    } else {
        let looks = arguments.taken([0, 1, 2, 3, 3, 3]);
        looks.with(3, address).of(position::Iprobe)
    };
    let flag = &raw const flag;
    until(|| {
        let result = looks.forward();
        // SAFETY: our own, which the library wrote.
        answer(result, unsafe { flag.read() })
    })
}

/// Looks whether requests are over until they are.
fn waited(arguments: &Arguments, waits: Waits) -> c_int {
    let mut flag: c_int = 0;
    let address = &raw mut flag as usize;
    let looks = match waits {
        Waits::One => arguments
            .taken([0, 1, 1, 1, 1, 1])
            .with(1, address)
            .of(position::Test),
        Waits::All => arguments
            .taken([0, 1, 2, 2, 2, 2])
            .with(2, address)
            .of(position::Testall),
        Waits::Any => arguments
            .taken([0, 1, 2, 3, 3, 3])
            .with(3, address)
            .of(position::Testany),
        Waits::Some => arguments.taken([0, 1, 2, 3, 4, 4]).of(position::Testsome),
    };
    let flag = &raw const flag;
    until(|| {
        let result = looks.forward();
        let some = match waits {
            Waits::Some => arguments.int_at(2),
            // SAFETY: our own, which the library wrote.
            _ => unsafe { flag.read() },
        };
        answer(result, some)
    })
}
