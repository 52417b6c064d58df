//! Waiting by looking again and again, for libraries that keep the one CPU while they wait.
//!
//! Open MPI and Intel MPI give way where they are told to, and MPICH where it looks for messages through UCX
//! ([`progress`](super::progress)). Of other libraries, a call that blocks is made as one that does not and looks whether it is over, with room for others
//! between two looks. Operations of all ranks must be made alike by all, so that they agree on it when MPI begins.

use core::ffi::{CStr, c_char, c_int};
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

/// Finds out whether the library keeps the CPU while it waits, unless the user says so. All ranks call this when MPI has begun.
pub fn decide(ranks: usize) {
    if ranks < 2 {
        return;
    }
    let needed = asked().unwrap_or_else(|| {
        // One that looks through UCX does so while its ranks come together, the latest.
        !yields_when_told()
            && any_rank(false).is_some()
            && any_rank(!progress::was_called()) == Some(true)
    });
    NEEDED.store(needed, Ordering::Relaxed);
}

/// As [`decide`], where ranks cannot ask each other.
pub fn decide_alone() {
    let needed = asked().unwrap_or_else(|| version_tells(INTEL) && !yields_when_told());
    NEEDED.store(needed, Ordering::Relaxed);
}

/// Returns what the user says, by `FORETRACE_MPI_YIELD`.
fn asked() -> Option<bool> {
    switch(c"FORETRACE_MPI_YIELD")
}

/// Returns whether a variable is set to something else than 0; `None` where it is not set.
fn switch(name: &CStr) -> Option<bool> {
    // SAFETY: reads the environment, which programs do not change while MPI begins.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: a string, whose end is read at the latest.
    Some(unsafe { value.read() } != b'0'.cast_signed())
}

/// What Intel MPI's version begins with.
const INTEL: &[u8] = b"Intel(R) MPI";

/// Returns whether the library gives way since it is told to: Open MPI, by whatever ABI, and Intel MPI.
fn yields_when_told() -> bool {
    constants().family == Family::OpenMpi
        || version_tells(b"Open MPI")
        || switch(c"I_MPI_WAIT_MODE") == Some(true) && version_tells(INTEL)
}

/// Returns whether something holds in a rank.
fn any_rank(holds: bool) -> Option<bool> {
    let family = constants().family;
    let mut own = c_int::from(holds);
    let mut any: c_int = 0;
    let result = ALLREDUCE.call_with([
        &raw mut own as usize,
        &raw mut any as usize,
        1,
        family.handle(Predefined::Int, library::data),
        family.handle(Predefined::Max, library::data),
        constants().comm_world,
        0,
    ]);
    (result == SUCCESS).then_some(any != 0)
}

/// Returns whether the library's version has a text in it.
fn version_tells(wanted: &[u8]) -> bool {
    with_words(MOST_VERSION_BYTES / size_of::<u64>(), |words| {
        let text = words.as_mut_ptr().cast::<c_char>();
        let mut length: c_int = 0;
        LIBRARY_VERSION.call([text as usize, &raw mut length as usize, 0, 0, 0]);
        let most = size_of_val(words);
        let length = usize::try_from(length).unwrap_or(0).min(most);
        // SAFETY: the words that were filled in.
        let text = unsafe { core::slice::from_raw_parts(text.cast::<u8>(), length) };
        text.windows(wanted.len()).any(|part| part == wanted)
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
        } => replaced(arguments, function.is_wide),
        Class::SendReceive {
            replaces: false,
            ends: Ends::Itself,
        } => Some(exchanged(
            arguments,
            &arguments.taken([5, 6, 7, 8, 9, 10]),
            (arguments.word(11), function.is_wide),
        )),
        Class::Probe {
            tries: false,
            takes,
        } => Some(found(arguments, takes)),
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

/// Looks whether the request at an address is over.
fn test(request: usize, status: usize) -> Result<bool, c_int> {
    let mut flag: c_int = 0;
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
    Some(until(|| test(address, status)))
}

/// Sends and receives: the first five arguments of a send, and the first six of a receive, with the communicator of both.
fn exchanged(
    of_send: &Arguments,
    of_receive: &Arguments,
    (status, is_wide): (usize, bool),
) -> c_int {
    let (receive, send, receive_now) = if is_wide {
        (position::Irecv_c, position::Isend_c, position::Recv_c)
    } else {
        (position::Irecv, position::Isend, position::Recv)
    };
    let (mut outgoing, mut incoming): (usize, usize) = (0, 0);
    let (at_sent, at_received) = (&raw mut outgoing as usize, &raw mut incoming as usize);
    // What is received from nobody is there at once, and has a status of its own.
    let is_nobody = of_receive.int(3) == constants().family.proc_null();
    let result = if is_nobody {
        of_receive.with(6, status).of(receive_now).forward()
    } else {
        of_receive.with(6, at_received).of(receive).forward()
    };
    if result != SUCCESS {
        return result;
    }
    let of_send = of_send.with(5, of_receive.word(5)).with(6, at_sent);
    let result = of_send.of(send).forward();
    if result != SUCCESS {
        return result;
    }
    let (mut is_sent, mut is_received) = (false, is_nobody);
    until(|| {
        is_received = is_received || test(at_received, status)?;
        is_sent = is_sent || test(at_sent, constants().family.status_ignore())?;
        Ok(is_sent && is_received)
    })
}

/// Sends from a copy, and receives over it. The library's own function for it (`MPI_Isendrecv_replace`) tells a wrong sender in MPICH 5.0.2 and
/// Intel MPI 2021.19.
fn replaced(arguments: &Arguments, is_wide: bool) -> Option<c_int> {
    static PACK_SIZE: Service = Service::new(c"PMPI_Pack_size");
    static PACK: Service = Service::new(c"PMPI_Pack");
    if is_wide {
        return None;
    }
    let (count, datatype) = (arguments.word(1), arguments.word(2));
    let communicator = arguments.word(7);
    let mut bytes: c_int = 0;
    let asked = [count, datatype, communicator, &raw mut bytes as usize, 0];
    if PACK_SIZE.call(asked) != SUCCESS {
        return None;
    }
    let room = usize::try_from(bytes).ok()?;
    with_words(room.div_ceil(size_of::<u64>()).max(1), |copy| {
        if copy.is_empty() {
            return None;
        }
        let copy = copy.as_mut_ptr() as usize;
        let mut packed: c_int = 0;
        let packing = [
            arguments.word(0),
            count,
            datatype,
            copy,
            room,
            &raw mut packed as usize,
            communicator,
        ];
        if PACK.call_with(packing) != SUCCESS {
            return None;
        }
        let of_packed = constants().family.handle(Predefined::Packed, library::data);
        let of_send = arguments
            .with(0, copy)
            .with(1, usize::try_from(packed).unwrap_or(0))
            .with(2, of_packed);
        let of_receive = arguments.taken([0, 1, 2, 5, 6, 7]);
        let status = (arguments.word(8), false);
        Some(exchanged(&of_send, &of_receive, status))
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
        Waits::All => return waited_for_all(arguments),
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

/// Looks for each request in turn: in MPICH 4.0, `MPI_Testall` fails for persistent collective operations.
fn waited_for_all(arguments: &Arguments) -> c_int {
    let family = constants().family;
    let layout = constants().status;
    let (requests, statuses) = (arguments.word(1), arguments.word(2));
    let status = |place: usize| {
        if statuses == family.status_ignore() {
            statuses
        } else {
            statuses + place * layout.bytes
        }
    };
    let put_error = |place: usize, error: c_int| {
        if statuses != family.status_ignore() {
            let address = (status(place) + layout.error) as *mut c_int;
            // SAFETY: of the program's own statuses, as many as requests.
            unsafe { address.write_unaligned(error) };
        }
    };
    let mut has_failed = false;
    for place in 0..arguments.count(0) {
        let request = requests + place * family.handle_bytes();
        let result = until(|| test(request, status(place)));
        if result != SUCCESS && !has_failed {
            has_failed = true;
            (0..place).for_each(|earlier| put_error(earlier, SUCCESS));
        }
        if has_failed {
            put_error(place, result);
        }
    }
    if has_failed {
        family.error_in_status()
    } else {
        SUCCESS
    }
}
