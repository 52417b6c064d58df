//! The ways out of a process that pass by us. Signals do not; the journal is whole even so.

use core::ffi::c_int;

use foretrace_recorder::process;

use crate::next;

/// Runs among the last destructors of an orderly exit.
pub extern "C" fn at_exit() {
    process::finish();
}

pub unsafe extern "C-unwind" fn exit_now(status: c_int, _site: u64) {
    process::finish();
    // SAFETY: the program's own call, which does not return.
    unsafe { next::_exit(status) };
}

pub unsafe extern "C-unwind" fn quick_exit(status: c_int, _site: u64) {
    // Its handlers may still record; what is noted now is what there is if they do not.
    process::finish();
    // SAFETY: the program's own call, which does not return.
    unsafe { next::quick_exit(status) };
}
