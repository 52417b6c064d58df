//! The library of MPI, opened at run time and called through pointers: no `mpi.h`, no compiler.

#![expect(
    unsafe_code,
    reason = "functions of a library that is opened at run time are unsafe to call; each block holds one call"
)]

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    mem, ptr,
};

use foretrace_mpi::{Family, LIBRARIES, MOST_STATUS_BYTES, MOST_VERSION_BYTES, Predefined};

use super::NetworkCalibrationError;

type Init = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char) -> c_int;
type Finalize = unsafe extern "C" fn() -> c_int;
type CommNumber = unsafe extern "C" fn(usize, *mut c_int) -> c_int;
type Send = unsafe extern "C" fn(*const c_void, c_int, usize, c_int, c_int, usize) -> c_int;
type Recv =
    unsafe extern "C" fn(*mut c_void, c_int, usize, c_int, c_int, usize, *mut c_void) -> c_int;
type Iprobe = unsafe extern "C" fn(c_int, c_int, usize, *mut c_int, *mut c_void) -> c_int;
type ReduceLocal = unsafe extern "C" fn(*const c_void, *mut c_void, c_int, usize, usize) -> c_int;
type Version = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
type AbiVersion = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;

/// A process of a running MPI program.
pub(crate) struct Mpi {
    family: Family,
    comm_world: usize,
    byte: usize,
    double: usize,
    sum: usize,
    send: Send,
    recv: Recv,
    iprobe: Iprobe,
    /// Libraries from before MPI 2.2 do not have it.
    reduce_local: Option<ReduceLocal>,
    finalize: Finalize,
    /// This process's rank.
    pub rank: u32,
    /// How many there are.
    pub size: u32,
    /// What the library calls itself.
    pub version: String,
}

/// A status that the library writes into, aligned as it may need it.
#[repr(align(16))]
struct Status([u8; MOST_STATUS_BYTES]);

impl Mpi {
    /// Opens the first of these libraries that there is, and joins the program.
    ///
    /// # Errors
    ///
    /// Where none can be opened, or one is no library of MPI.
    pub fn join(libraries: &[String]) -> Result<Self, NetworkCalibrationError> {
        open(libraries)?;
        let family = Family::detect(lookup, abi_major);
        let functions = (
            function(c"MPI_Init")?,
            function(c"MPI_Comm_rank")?,
            function(c"MPI_Comm_size")?,
        );
        // SAFETY: the library's function of this name has this signature, by the standard.
        let init = unsafe { mem::transmute::<usize, Init>(functions.0) };
        // SAFETY: as above.
        let comm_rank = unsafe { mem::transmute::<usize, CommNumber>(functions.1) };
        // SAFETY: as above.
        let comm_size = unsafe { mem::transmute::<usize, CommNumber>(functions.2) };
        // SAFETY: no arguments are allowed since MPI 2.
        check("MPI_Init", unsafe {
            init(ptr::null_mut(), ptr::null_mut())
        })?;
        let comm_world = family.comm_world(lookup);
        let number = |name, function: CommNumber| {
            let mut number: c_int = 0;
            // SAFETY: the communicator is the library's, and the number outlives the call.
            check(name, unsafe { function(comm_world, &raw mut number) })?;
            Ok(u32::try_from(number).unwrap_or_default())
        };
        Ok(Self {
            family,
            comm_world,
            byte: family.byte(lookup),
            double: family.handle(Predefined::Double, lookup),
            sum: family.handle(Predefined::Sum, lookup),
            // SAFETY: the library's function of this name has this signature, by the standard.
            send: unsafe { mem::transmute::<usize, Send>(function(c"MPI_Send")?) },
            // SAFETY: as above.
            recv: unsafe { mem::transmute::<usize, Recv>(function(c"MPI_Recv")?) },
            // SAFETY: as above.
            iprobe: unsafe { mem::transmute::<usize, Iprobe>(function(c"MPI_Iprobe")?) },
            reduce_local: function(c"MPI_Reduce_local").ok().map(|address| {
                // SAFETY: as above.
                unsafe { mem::transmute::<usize, ReduceLocal>(address) }
            }),
            // SAFETY: as above.
            finalize: unsafe { mem::transmute::<usize, Finalize>(function(c"MPI_Finalize")?) },
            rank: number("MPI_Comm_rank", comm_rank)?,
            size: number("MPI_Comm_size", comm_size)?,
            version: version()?,
        })
    }

    /// Sends bytes.
    #[inline]
    pub fn send(&self, to: u32, tag: i32, bytes: &[u8]) {
        // SAFETY: the buffer holds that many bytes, and the handles are the library's. What goes wrong ends the program, as
        // long as nobody says otherwise.
        unsafe {
            (self.send)(
                bytes.as_ptr().cast(),
                count(bytes),
                self.byte,
                to.cast_signed(),
                tag,
                self.comm_world,
            )
        };
    }

    /// Receives into a buffer from a rank, or from anybody; returns from whom.
    #[inline]
    pub fn receive(&self, from: Option<u32>, tag: i32, into: &mut [u8]) -> u32 {
        let mut status = Status([0; MOST_STATUS_BYTES]);
        let source = from.map_or(self.family.any_source(), u32::cast_signed);
        // SAFETY: the buffer holds that many bytes, the status is larger than any family's, and the handles are the library's.
        unsafe {
            (self.recv)(
                into.as_mut_ptr().cast(),
                count(into),
                self.byte,
                source,
                tag,
                self.comm_world,
                (&raw mut status).cast(),
            )
        };
        let source = self.family.status().source_of(&status.0);
        source
            .and_then(|rank| u32::try_from(rank).ok())
            .unwrap_or_default()
    }

    /// Returns whether a message of a rank is there.
    pub fn is_there(&self, from: u32, tag: i32) -> bool {
        let mut status = Status([0; MOST_STATUS_BYTES]);
        let mut flag: c_int = 0;
        // SAFETY: flag and status outlive the call, and the communicator is the library's.
        unsafe {
            (self.iprobe)(
                from.cast_signed(),
                tag,
                self.comm_world,
                &raw mut flag,
                (&raw mut status).cast(),
            )
        };
        flag != 0
    }

    /// Adds numbers of eight bytes to others, as reductions do with what they receive; returns whether the library can.
    pub fn combine(&self, numbers: &[u8], to: &mut [u8]) -> bool {
        let count = numbers.len().min(to.len()) / size_of::<f64>();
        let count = c_int::try_from(count).unwrap_or(c_int::MAX);
        let Some(reduce_local) = self.reduce_local else {
            return false;
        };
        // SAFETY: both buffers hold that many numbers, and the handles are the library's.
        let code = unsafe {
            reduce_local(
                numbers.as_ptr().cast(),
                to.as_mut_ptr().cast(),
                count,
                self.double,
                self.sum,
            )
        };
        code == foretrace_mpi::SUCCESS
    }

    /// Leaves the program.
    pub fn leave(self) {
        // SAFETY: nothing is under way any more.
        unsafe { (self.finalize)() };
    }
}

/// As many bytes as a count can tell: buffers here are far smaller.
#[inline]
fn count(bytes: &[u8]) -> c_int {
    c_int::try_from(bytes.len()).unwrap_or(c_int::MAX)
}

/// Opens the first library that there is, and after those that were asked for, one that goes by a known name.
fn open(libraries: &[String]) -> Result<(), NetworkCalibrationError> {
    let asked = libraries
        .iter()
        .filter_map(|path| CString::new(path.as_str()).ok());
    let known = LIBRARIES.iter().map(|(name, _)| CString::from(*name));
    let mut reasons = Vec::new();
    for name in asked.chain(known) {
        // SAFETY: what a library of MPI does when it is loaded is what any program that is linked with it lets it do.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if !handle.is_null() {
            return Ok(());
        }
        // SAFETY: it takes nothing; it returns null, or text that stays until the next call.
        let reason = unsafe { libc::dlerror() };
        if !reason.is_null() {
            // SAFETY: as above.
            let text = unsafe { CStr::from_ptr(reason) };
            reasons.push(text.to_string_lossy().into_owned());
        }
    }
    Err(NetworkCalibrationError::NoLibrary {
        reason: reasons.into_iter().next().unwrap_or_default(),
    })
}

/// Finds a symbol in all that is loaded; 0 where it is not there.
fn lookup(name: &CStr) -> usize {
    // SAFETY: the name ends with a zero, and looking it up only reads.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) as usize }
}

fn function(name: &'static CStr) -> Result<usize, NetworkCalibrationError> {
    match lookup(name) {
        0 => Err(NetworkCalibrationError::NotMpi {
            function: name.to_string_lossy().into_owned(),
        }),
        address => Ok(address),
    }
}

fn check(call: &'static str, code: c_int) -> Result<(), NetworkCalibrationError> {
    if code == foretrace_mpi::SUCCESS {
        Ok(())
    } else {
        Err(NetworkCalibrationError::Call { call, code })
    }
}

fn abi_major(address: usize) -> Option<i32> {
    // SAFETY: the library's function of this name has this signature, by the standard.
    let tell = unsafe { mem::transmute::<usize, AbiVersion>(address) };
    let [mut major, mut minor]: [c_int; 2] = [0; 2];
    // SAFETY: both numbers outlive the call, which is allowed before MPI_Init.
    let code = unsafe { tell(&raw mut major, &raw mut minor) };
    (code == foretrace_mpi::SUCCESS).then_some(major)
}

fn version() -> Result<String, NetworkCalibrationError> {
    let address = function(c"MPI_Get_library_version")?;
    // SAFETY: the library's function of this name has this signature, by the standard.
    let tell = unsafe { mem::transmute::<usize, Version>(address) };
    let mut text = vec![0_u8; MOST_VERSION_BYTES + 1];
    let mut length: c_int = 0;
    // SAFETY: the buffer is as large as any family may need, and outlives the call.
    let code = unsafe { tell(text.as_mut_ptr().cast(), &raw mut length) };
    check("MPI_Get_library_version", code)?;
    let text = String::from_utf8_lossy(&text);
    let line = text.split(['\0', '\n']).next().unwrap_or_default();
    // Open MPI goes on with who built it and when, after a comma.
    let line = line.split(", package").next().unwrap_or_default();
    Ok(line.split_whitespace().collect::<Vec<_>>().join(" "))
}
