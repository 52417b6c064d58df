//! Sockets, by raw system calls.

use core::mem::{MaybeUninit, size_of};

use super::{Errno, Fd, check, syscall};

/// Room for the address of a socket of any family.
pub const ADDRESS_BYTES: usize = size_of::<libc::sockaddr_storage>();

/// Returns a socket's own address and how many bytes of it there are, as the kernel writes them.
///
/// # Errors
///
/// The `errno`.
pub fn own_address(fd: Fd) -> Result<([u8; ADDRESS_BYTES], usize), Errno> {
    address(libc::SYS_getsockname, fd)
}

/// Returns the address of the socket that a socket is connected to, likewise.
///
/// # Errors
///
/// The `errno`; `ENOTCONN` where it is connected to none.
pub fn peer_address(fd: Fd) -> Result<([u8; ADDRESS_BYTES], usize), Errno> {
    address(libc::SYS_getpeername, fd)
}

fn address(call: i64, fd: Fd) -> Result<([u8; ADDRESS_BYTES], usize), Errno> {
    let mut address = [0; ADDRESS_BYTES];
    let mut length = ADDRESS_BYTES as u32;
    // SAFETY: the kernel writes no more of an address than it is told that there is room for.
    check(unsafe {
        syscall(
            call,
            [
                fd.0 as usize,
                address.as_mut_ptr() as usize,
                (&raw mut length) as usize,
                0,
                0,
                0,
            ],
        )
    })?;
    Ok((address, (length as usize).min(ADDRESS_BYTES)))
}

/// Returns whether what is sent through a socket arrives in its order, by a connection.
pub fn is_stream(fd: Fd) -> bool {
    let kind: Option<i32> = option(fd, libc::SO_TYPE);
    kind.is_some_and(|kind| matches!(kind, libc::SOCK_STREAM | libc::SOCK_SEQPACKET))
}

/// Returns the number of the process that a socket of this system alone was connected by; 0 where it is not to be seen from here.
pub fn peer_process(fd: Fd) -> u32 {
    let peer: Option<[u32; 3]> = option(fd, libc::SO_PEERCRED);
    peer.map_or(0, |[process, ..]| process)
}

/// Returns one of the options that all sockets have; any bytes have to be a `T`.
fn option<T: Copy>(fd: Fd, name: i32) -> Option<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut length = size_of::<T>() as u32;
    // SAFETY: the kernel writes no more than it is told that there is room for.
    check(unsafe {
        syscall(
            libc::SYS_getsockopt,
            [
                fd.0 as usize,
                libc::SOL_SOCKET as usize,
                name as usize,
                value.as_mut_ptr() as usize,
                (&raw mut length) as usize,
                0,
            ],
        )
    })
    .ok()?;
    // SAFETY: the callers ask for numbers, which any bytes are.
    Some(unsafe { value.assume_init() })
}
