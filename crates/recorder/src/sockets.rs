//! Which sockets of the recorded processes are connected to which.
//!
//! What one end of a connection writes the other waits for, so that both ends have to be named alike, be they in one process or in
//! two, and only where both are recorded: a server whose clients nobody records would pay for what tells nothing. So the processes of
//! a recording share a table, a mapped file beside their journals, of what they listen at, which connections they make, and which
//! sockets these are. Programs without sockets do not have it.
//!
//! Who connects says so before, since whoever accepts may be back first: a connection by the network is known by both ends'
//! addresses, one within the system by who connects to what, and how many times it did before.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

use foretrace_trace::journal::layout::{SOCKET, SOCKETS_FILE};

use crate::{file, process, sys};

/// How many entries the table has: two for each connection, one for each address that somebody listens at.
const ENTRIES: usize = 4096;

/// How many places of the table an entry may be at. Where all are taken it takes the place of another, whose connection is
/// likely to be over.
const PLACES: usize = 8;

const BYTES: usize = ENTRIES * size_of::<Entry>();

/// Something that two sockets, or two processes, have to agree about.
#[repr(C)]
struct Entry {
    /// What it is about, hashed; 0 for nothing yet.
    key: AtomicU64,
    values: [AtomicU64; 2],
}

/// What an entry is about.
#[derive(Clone, Copy)]
#[repr(u64)]
enum About {
    /// A socket, by inode: the names of what is read from it and written to it.
    Socket = 1,
    /// An address that somebody listens at: 1, and how many are connecting to it just now.
    Listener,
    /// A connection by the network that was made here, by its ends: 1; one within this system: whether it failed.
    Connection,
    /// Connections of a process to an address of this system: how many it made, and how many of them were accepted.
    Counts,
}

static TABLE: AtomicPtr<[Entry; ENTRIES]> = AtomicPtr::new(core::ptr::null_mut());

/// Whether this process has looked for a table that another has made.
static LOOKED: AtomicU32 = AtomicU32::new(0);

/// What is done to have the table where this process does not have it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effort {
    /// Whether another has made it is looked up once: for what happens often.
    LookOnce,
    /// It is looked up again: who connects may have tried before the other listened.
    Look,
    /// It is made.
    Make,
}

/// Returns the table; `None` where there is none.
fn table(effort: Effort) -> Option<&'static [Entry; ENTRIES]> {
    // SAFETY: null or a mapping that is never undone, made of atomics.
    let known = unsafe { TABLE.load(Relaxed).as_ref() };
    if known.is_some() || process::confined() || !process::recording() {
        return known;
    }
    if LOOKED.swap(1, Relaxed) != 0 && effort == Effort::LookOnce {
        return None;
    }
    let make = if effort == Effort::Make {
        libc::O_CREAT
    } else {
        0
    };
    let flags = libc::O_RDWR | libc::O_CLOEXEC | make;
    let table = file::map_beside(SOCKETS_FILE, flags, BYTES)?.cast();
    TABLE.store(table, Relaxed);
    // SAFETY: as above; a mapped file is zeroed, and of so many bytes.
    unsafe { table.as_ref() }
}

/// Mixes numbers into one; the same for all processes.
fn hash(about: About, numbers: impl IntoIterator<Item = u64>) -> u64 {
    let mix = |hash: u64, number: u64| {
        let mixed = (hash ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    };
    let hash = numbers.into_iter().fold(about as u64, mix);
    mix(hash, 0).max(1)
}

impl Entry {
    fn find(table: &[Self; ENTRIES], key: u64) -> Option<&Self> {
        places(table, key).find(|entry| entry.key.load(Relaxed) == key)
    }

    /// Returns the entry of a key, or a fresh one.
    fn claim(table: &[Self; ENTRIES], key: u64) -> &Self {
        if let Some(entry) = Self::find(table, key) {
            return entry;
        }
        let is_free = |entry: &&Self| {
            let free = entry.key.compare_exchange(0, key, Relaxed, Relaxed);
            free.is_ok()
        };
        if let Some(entry) = places(table, key).find(is_free) {
            return entry;
        }
        let place = (key >> 32) as usize % PLACES;
        let entry = &table[(key as usize + place) % ENTRIES];
        entry.set([0, 0]);
        entry.key.store(key, Relaxed);
        entry
    }

    fn set(&self, values: [u64; 2]) {
        for (place, value) in self.values.iter().zip(values) {
            place.store(value, Relaxed);
        }
    }
}

fn places(table: &[Entry; ENTRIES], key: u64) -> impl Iterator<Item = &Entry> {
    (0..PLACES).map(move |place| &table[(key as usize + place) % ENTRIES])
}

/// An address, as both ends write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Address {
    /// Of the network: a host, as IPv6 writes it, and a port.
    Network([u64; 2], u16),
    /// Of this system alone, hashed.
    Local(u64),
}

impl Address {
    /// Reads what the kernel or a program wrote; `None` for other families, and for sockets of this system that have no name.
    fn read(bytes: &[u8]) -> Option<Self> {
        let number = |from: usize| Some(u16::from_be_bytes(*bytes.get(from..)?.first_chunk()?));
        let word = |from: usize| Some(u64::from_be_bytes(*bytes.get(from..)?.first_chunk()?));
        let family = i32::from(u16::from_ne_bytes(*bytes.first_chunk()?));
        match family {
            libc::AF_INET => {
                let host = u32::from_be_bytes(*bytes.get(4..)?.first_chunk()?);
                Some(Self::Network(
                    [0, 0xffff_0000_0000 | u64::from(host)],
                    number(2)?,
                ))
            }
            libc::AF_INET6 => Some(Self::Network([word(8)?, word(16)?], number(2)?)),
            libc::AF_UNIX => {
                let name = &bytes[2..];
                let length = match name {
                    [] => return None,
                    // Names that are none of files may hold any bytes.
                    [0, ..] => name.len(),
                    _ => name
                        .iter()
                        .position(|&byte| byte == 0)
                        .unwrap_or(name.len()),
                };
                let bytes = name[..length].iter().map(|&byte| u64::from(byte));
                Some(Self::Local(hash(About::Listener, bytes)))
            }
            _ => None,
        }
    }

    /// Returns the key of the address as one that somebody listens at. Which of its hosts' addresses it listens at does not matter.
    fn listener(self) -> u64 {
        match self {
            Self::Network(_, port) => hash(About::Listener, [u64::from(port)]),
            Self::Local(name) => hash(About::Listener, [name]),
        }
    }

    /// Returns the name of what a listener is told by those who connect.
    fn arrivals(self) -> u64 {
        SOCKET | self.listener() >> 2
    }
}

/// Returns the names of both directions of something, by a hash of it: of what who connected reads, and of what it writes.
fn directions(connection: u64) -> [u64; 2] {
    [0, 1].map(|direction| SOCKET | (connection >> 2 & !1) | direction)
}

/// A connection by the network within this host, seen from one end.
struct Connection {
    host: [u64; 2],
    own: u16,
    peer: u16,
}

impl Connection {
    /// Returns that of a socket, which may still be on the way to where it is being connected to; `None` where that is another host.
    fn of(fd: i32, goal: Option<Address>) -> Option<Self> {
        let peer = read(sys::peer_address(sys::Fd(fd))).or(goal)?;
        match (read(sys::own_address(sys::Fd(fd)))?, peer) {
            (Address::Network(host, own), Address::Network(there, peer)) => {
                (host == there).then_some(Self { host, own, peer })
            }
            _ => None,
        }
    }

    /// Returns its key, by who connected and who accepted.
    fn key(&self, from: u16, to: u16) -> u64 {
        let [high, low] = self.host;
        hash(About::Connection, [high, low, from.into(), to.into()])
    }
}

fn read(address: Result<([u8; sys::ADDRESS_BYTES], usize), sys::Errno>) -> Option<Address> {
    let (bytes, length) = address.ok()?;
    Address::read(&bytes[..length])
}

fn name_socket(table: &[Entry; ENTRIES], fd: i32, [reads, writes]: [u64; 2]) {
    if let Ok((_, inode)) = sys::identity(sys::Fd(fd)) {
        Entry::claim(table, hash(About::Socket, [inode])).set([reads, writes]);
    }
}

/// Returns the names of what is read from a socket and of what is written to it, by its inode; `None` where nobody who is recorded
/// is at the other end.
pub(crate) fn names(inode: u64) -> Option<(u64, u64)> {
    let entry = Entry::find(table(Effort::LookOnce)?, hash(About::Socket, [inode]))?;
    let [reads, writes] = [0, 1].map(|place: usize| entry.values[place].load(Relaxed));
    (reads != 0).then_some((reads, writes))
}

/// Notes that two sockets were made as a pair.
pub(crate) fn made_pair(ends: [i32; 2]) {
    let Some(table) = table(Effort::Make) else {
        return;
    };
    let Ok((_, inode)) = sys::identity(sys::Fd(ends[0])) else {
        return;
    };
    let [one, other] = directions(hash(About::Socket, [inode]));
    name_socket(table, ends[0], [one, other]);
    name_socket(table, ends[1], [other, one]);
}

/// Notes that the program listens at a socket, or is about to; one that has no address yet is not noted.
pub fn listening(fd: i32) {
    if process::confined() {
        return;
    }
    if let Some(address) = read(sys::own_address(sys::Fd(fd)))
        && !matches!(address, Address::Network(_, 0))
        && let Some(table) = table(Effort::Make)
    {
        Entry::claim(table, address.listener()).values[0].store(1, Relaxed);
    }
}

/// A connection that is about to be made to somebody who is recorded.
#[derive(Debug)]
pub struct Connecting {
    listener: &'static AtomicU64,
    address: Address,
    /// The name of what the listener is told.
    pub arrivals: u64,
    /// Of one within this system, how many its process made, which of them it is, and its key.
    local: Option<(&'static AtomicU64, u64, u64)>,
}

/// The value of a connection within this system that did not come about, where its process had begun a further one by then.
const FAILED: u64 = 2;

/// Says that a socket is about to be connected to an address, as the program gives it; `None` where nobody who is recorded listens
/// there.
pub fn connecting(fd: i32, address: &[u8]) -> Option<Connecting> {
    if process::confined() {
        return None;
    }
    let address = Address::read(address)?;
    let table = table(Effort::Look)?;
    let listener = Entry::find(table, address.listener())?;
    if !sys::is_stream(sys::Fd(fd)) {
        return None;
    }
    let local = match address {
        Address::Network(..) => None,
        Address::Local(name) => {
            let counts = hash(About::Counts, [name, u64::from(sys::getpid())]);
            let made = &Entry::claim(table, counts).values[0];
            let count = made.fetch_add(1, Relaxed);
            let connection = hash(About::Connection, [counts, count]);
            Some((made, count, connection))
        }
    };
    let under_way = &listener.values[1];
    under_way.fetch_add(1, Relaxed);
    Some(Connecting {
        listener: under_way,
        address,
        arrivals: address.arrivals(),
        local,
    })
}

impl Connecting {
    /// Says what came of it.
    pub fn done(self, fd: i32, is_connected: bool) {
        if let Some(table) = table(Effort::LookOnce) {
            match self.local {
                Some((.., key)) if is_connected => name_socket(table, fd, directions(key)),
                Some((made, count, key)) => {
                    let is_last = made.compare_exchange(count + 1, count, Relaxed, Relaxed);
                    if is_last.is_err() {
                        Entry::claim(table, key).values[0].store(FAILED, Relaxed);
                    }
                }
                None if is_connected => {
                    if let Some(connection) = Connection::of(fd, Some(self.address)) {
                        let key = connection.key(connection.own, connection.peer);
                        Entry::claim(table, key).values[0].store(1, Relaxed);
                        name_socket(table, fd, directions(key));
                    }
                }
                None => {}
            }
        }
    }
}

impl Drop for Connecting {
    fn drop(&mut self) {
        self.listener.fetch_sub(1, Relaxed);
    }
}

/// Notes that a connection was accepted, and returns the name of what its listener is told by those who connect; `None` where
/// nobody who is recorded made it.
pub fn accepted(fd: i32) -> Option<u64> {
    if process::confined() {
        return None;
    }
    let table = table(Effort::Look)?;
    let address = read(sys::own_address(sys::Fd(fd)))?;
    let key = match address {
        Address::Network(..) => {
            let connection = Connection::of(fd, None)?;
            let key = connection.key(connection.peer, connection.own);
            let is_connecting = || {
                let listener = Entry::find(table, address.listener());
                listener.is_some_and(|listener| listener.values[1].load(Relaxed) > 0)
            };
            if Entry::find(table, key).is_none() && !is_connecting() {
                return None;
            }
            key
        }
        Address::Local(name) => {
            let process = u64::from(sys::peer_process(sys::Fd(fd)));
            let counts = hash(About::Counts, [name, process]);
            let [made, accepted] = &Entry::find(table, counts)?.values;
            loop {
                let count = accepted.fetch_add(1, Relaxed);
                if count >= made.load(Relaxed) {
                    return None;
                }
                let key = hash(About::Connection, [counts, count]);
                let entry = Entry::find(table, key);
                if entry.is_none_or(|entry| entry.values[0].load(Relaxed) != FAILED) {
                    break key;
                }
            }
        }
    };
    let [one, other] = directions(key);
    name_socket(table, fd, [other, one]);
    Some(address.arrivals())
}
