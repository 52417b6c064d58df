//! Messages from one rank to another.

use core::ffi::c_int;

use foretrace_mpi::MOST_STATUS_BYTES;
use foretrace_recorder::message;
use foretrace_trace::journal::mpi::{ANY, Ends, InWindow, NOBODY, envelope, position};

use super::arguments::Arguments;
use super::library::{Service, constants};
use super::requests::{failed, named};
use super::{blocking, finish, immediate};

/// Returns a rank as journals have it.
pub fn rank(rank: c_int) -> u32 {
    let family = constants().family;
    match u32::try_from(rank) {
        Ok(rank) => rank,
        Err(_) if rank == family.any_source() => ANY,
        Err(_) => NOBODY,
    }
}

fn tag(tag: c_int) -> u32 {
    u32::try_from(tag).unwrap_or(ANY)
}

/// Returns a count of elements in bytes.
pub fn bytes(count: usize, datatype: usize) -> u64 {
    static TYPE_SIZE: Service = Service::new(c"PMPI_Type_size");
    let mut size: c_int = 0;
    TYPE_SIZE.call([datatype, &raw mut size as usize, 0, 0, 0]);
    u64::try_from(size).unwrap_or(0) * count as u64
}

/// A status, or room for one.
#[repr(C, align(8))]
pub struct Status([u8; MOST_STATUS_BYTES]);

impl Status {
    /// Makes room.
    pub const fn new() -> Self {
        Self([0; MOST_STATUS_BYTES])
    }

    /// Returns its address.
    pub fn address(&mut self) -> usize {
        self.0.as_mut_ptr() as usize
    }
}

/// Returns the envelope of a status at an address.
pub fn envelope_at(address: usize) -> u64 {
    let layout = constants().status;
    // SAFETY: the library filled in a status there.
    let read = |offset: usize| unsafe { ((address + offset) as *const c_int).read_unaligned() };
    envelope(rank(read(layout.source)), tag(read(layout.tag)))
}

/// Returns from whom a message came that was waited for, as the status at an address says; nobody where it was cancelled.
pub fn envelope_of_wait(address: usize) -> u64 {
    let is_cancelled = constants().status.cancelled.is_some_and(|(offset, bits)| {
        // SAFETY: the library filled in a status there.
        let word = unsafe { ((address + offset) as *const c_int).read_unaligned() };
        word & bits != 0
    });
    if is_cancelled {
        return envelope(NOBODY, ANY);
    }
    envelope_at(address)
}

/// Returns whether an argument says that nobody wants to know the status.
pub fn ignores(status: usize) -> bool {
    status == constants().family.status_ignore()
}

/// The words of a message's call whose arguments are buffer, count, type, rank, tag, communicator.
fn words(arguments: &Arguments) -> [u64; 3] {
    [
        envelope(rank(arguments.int(3)), tag(arguments.int(4))),
        bytes(arguments.count(1), arguments.handle(2)),
        arguments.handle(5) as u64,
    ]
}

/// Records a send. What does not block is recorded after, since its request is known then.
pub fn send(arguments: &Arguments, ends: Ends) -> c_int {
    let words = words(arguments);
    match ends {
        Ends::Itself => blocking(arguments, &words, |_| 0),
        Ends::ByRequest | Ends::Persistent => with_request(arguments, &words, 6),
    }
}

/// Makes a call that gives a request in an argument.
pub fn with_request(arguments: &Arguments, words: &[u64], place: usize) -> c_int {
    immediate(arguments, words, |returned| {
        returned[0] = named(arguments.handle_at(place));
        1
    })
}

/// Records a receive, with the sender that it got its message from.
pub fn receive(arguments: &Arguments, ends: Ends) -> c_int {
    let words = words(arguments);
    match ends {
        Ends::Itself => with_status(arguments, &words, 6),
        Ends::ByRequest | Ends::Persistent => with_request(arguments, &words, 6),
    }
}

/// Makes a call that blocks and fills in a status.
fn with_status(arguments: &Arguments, words: &[u64], place: usize) -> c_int {
    let mut own = Status::new();
    let given = arguments.word(place);
    if ignores(given) {
        let address = own.address();
        return blocking(&arguments.with(place, address), words, |returned| {
            returned[0] = envelope_at(address);
            1
        });
    }
    blocking(arguments, words, |returned| {
        returned[0] = envelope_at(given);
        1
    })
}

/// Records a send and a receive in one.
pub fn send_receive(arguments: &Arguments, replaces: bool, ends: Ends) -> c_int {
    let sent = bytes(arguments.count(1), arguments.handle(2));
    let to = envelope(rank(arguments.int(3)), tag(arguments.int(4)));
    let (received, from) = if replaces { (1, 5) } else { (6, 8) };
    let received = bytes(arguments.count(received), arguments.handle(received + 1));
    let envelope = envelope(rank(arguments.int(from)), tag(arguments.int(from + 1)));
    let communicator = arguments.handle(from + 2) as u64;
    let words = [to, sent, envelope, received, communicator];
    match ends {
        Ends::Itself => with_status(arguments, &words, from + 3),
        Ends::ByRequest | Ends::Persistent => with_request(arguments, &words, from + 3),
    }
}

/// Records the making of a persistent request for a message that comes in partitions.
pub fn partitioned(arguments: &Arguments) -> c_int {
    let partitions = arguments.count(1);
    let words = [
        envelope(rank(arguments.int(4)), tag(arguments.int(5))),
        bytes(partitions * arguments.wide_count(2), arguments.handle(3)),
        arguments.handle(6) as u64,
        partitions as u64,
    ];
    with_request(arguments, &words, 8)
}

/// Records that partitions may be sent.
pub fn ready(arguments: &Arguments) -> c_int {
    let (request, partitions) = match arguments.position {
        position::Pready_range => {
            let (first, last) = (arguments.int(0), arguments.int(1));
            (
                2,
                u64::try_from(last.saturating_sub(first)).map_or(0, |further| further + 1),
            )
        }
        position::Pready_list => (2, arguments.count(0) as u64),
        _ => (1, 1),
    };
    let words = [named(arguments.handle(request)), partitions];
    immediate(arguments, &words, |_| 0)
}

/// Records a look whether a partition was received.
pub fn arrived(arguments: &Arguments) -> c_int {
    look(arguments, &[named(arguments.handle(0))], 2)
}

/// Records a look for something, of which the argument at this place tells whether it is there.
pub fn look(arguments: &Arguments, words: &[u64], flag: usize) -> c_int {
    let tsc = message::begin();
    let result = message::trying(|| arguments.forward());
    if result == foretrace_mpi::SUCCESS && arguments.int_at(flag) == 0 {
        failed(tsc, arguments, words);
        return result;
    }
    message::put_call(tsc, arguments.position, arguments.site, words);
    finish(arguments, result, |_| 0);
    result
}

/// Records a call that moves data which nobody receives or sends; and whose window it is, where it is one's.
pub fn transfer(
    arguments: &Arguments,
    (count, datatype): (Option<u8>, u8),
    window: Option<InWindow>,
) -> c_int {
    let count = count.map_or(1, |count| arguments.count(usize::from(count)));
    let bytes = bytes(count, arguments.handle(usize::from(datatype)));
    let Some(window) = window else {
        return blocking(arguments, &[bytes], |_| 0);
    };
    let whose = u64::from(rank(arguments.int(usize::from(window.rank))));
    let window = arguments.handle(usize::from(window.window)) as u64;
    blocking(arguments, &[bytes, whose, window], |_| 0)
}

/// Records a wait for a message, or a look for one.
pub fn probe(arguments: &Arguments, tries: bool) -> c_int {
    let tsc = message::begin();
    let words = [
        envelope(rank(arguments.int(0)), tag(arguments.int(1))),
        arguments.handle(2) as u64,
    ];
    let flag = 3;
    let status = match arguments.position {
        position::Probe => 3,
        position::Improbe => 5,
        _ => 4,
    };
    if !tries {
        return with_status(arguments, &words, status);
    }
    let mut own = Status::new();
    let given = arguments.word(status);
    let address = if ignores(given) { own.address() } else { given };
    let arguments = arguments.with(status, address);
    let result = message::trying(|| arguments.forward());
    if result == foretrace_mpi::SUCCESS && arguments.int_at(flag) == 0 {
        failed(tsc, &arguments, &words);
        return result;
    }
    message::put_call(tsc, arguments.position, arguments.site, &words);
    finish(&arguments, result, |returned| {
        returned[0] = envelope_at(address);
        1
    });
    result
}
