//! Hooks that leave no trace of themselves: the function that they stand in for finds its arguments and its caller as
//! if it had been called directly.

/// The arguments of a call that are in registers, as a hook has put them aside.
#[repr(C)]
pub struct Arguments {
    pub sixth: core::ffi::c_long,
    pub fifth: core::ffi::c_long,
    pub fourth: core::ffi::c_long,
    pub third: core::ffi::c_long,
    pub second: core::ffi::c_long,
    pub first: core::ffi::c_long,
}

impl Arguments {
    /// Returns the place of the argument behind the first one that is null, which is not the call's first. Further ones are on the stack.
    ///
    /// # Safety
    ///
    /// There are both, and they are those of a hook that [`jump`] defines, while it is in our function.
    pub unsafe fn behind_null(&mut self) -> *mut core::ffi::c_long {
        let mut index = 1;
        // SAFETY: by the caller's promise there is a null.
        while unsafe { self.place(index).read() } != 0 {
            index += 1;
        }
        self.place(index + 1)
    }

    /// Returns the arguments from the second one to the one before the first null.
    ///
    /// # Safety
    ///
    /// As above.
    pub unsafe fn strings(&mut self) -> impl Iterator<Item = *mut core::ffi::c_char> {
        // SAFETY: by the caller's promise there is a null, which is not gone past.
        let all = (1..).map(|index| unsafe { self.place(index).read() });
        all.take_while(|&argument| argument != 0)
            .map(|argument| argument as *mut core::ffi::c_char)
    }

    /// Returns the place of an argument.
    fn place(&mut self, index: usize) -> *mut core::ffi::c_long {
        // From the last in a register; behind the first is the caller's address.
        const IN_REGISTERS: usize = 6;
        let last: *mut core::ffi::c_long = &raw mut self.sixth;
        if index < IN_REGISTERS {
            last.wrapping_add(IN_REGISTERS - 1 - index)
        } else {
            last.wrapping_add(index + 1)
        }
    }
}

/// Defines a hook that calls a function of ours, which gets the first arguments and returns an address, and then
/// jumps to that address with all arguments as they were.
///
/// With `arguments` our function may change them. With `first_and_caller` our function gets the first argument and the caller's address, with `third_and_caller` the third and that. `local` makes one that is only jumped to from another hook; with `caller` our function gets the caller's address
/// instead of the arguments.
macro_rules! jump {
    (caller $name:ident, $before:path) => {
        #[doc = concat!("Stands in for the library's `", stringify!($name), "`.")]
        ///
        /// # Safety
        ///
        /// As the library's.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            $crate::jump::jump!(@body $before, "mov rdi, qword ptr [rsp + 48]",)
        }
    };
    (arguments $name:ident, $before:path) => {
        #[doc = concat!("Stands in for the C library's `", stringify!($name), "`.")]
        ///
        /// # Safety
        ///
        /// As the C library's.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            $crate::jump::jump!(@body $before, "mov rdi, rsp",)
        }
    };
    (first_and_caller $name:ident, $before:path) => {
        #[doc = concat!("Stands in for the library's `", stringify!($name), "`.")]
        ///
        /// # Safety
        ///
        /// As the library's.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            $crate::jump::jump!(@body $before, "mov rsi, qword ptr [rsp + 48]",)
        }
    };
    (third_and_caller $name:ident, $before:path) => {
        #[doc = concat!("Stands in for the library's `", stringify!($name), "`.")]
        ///
        /// # Safety
        ///
        /// As the library's.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            $crate::jump::jump!(@body $before, "mov rdi, rdx", "mov rsi, qword ptr [rsp + 48]",)
        }
    };
    (local $name:ident, $before:path) => {
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            $crate::jump::jump!(@body $before)
        }
    };
    ($name:ident, $before:path) => {
        #[doc = concat!("Stands in for the C library's `", stringify!($name), "`.")]
        ///
        /// # Safety
        ///
        /// As the C library's.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            $crate::jump::jump!(@body $before)
        }
    };
    (@body $before:path $(, $($arranged:literal,)+)?) => {
        core::arch::naked_asm!(
            // Whoever unwinds from a signal, or from our function, must know of the frame.
            ".cfi_startproc",
            "push rdi",
            ".cfi_adjust_cfa_offset 8",
            "push rsi",
            ".cfi_adjust_cfa_offset 8",
            "push rdx",
            ".cfi_adjust_cfa_offset 8",
            "push rcx",
            ".cfi_adjust_cfa_offset 8",
            "push r8",
            ".cfi_adjust_cfa_offset 8",
            "push r9",
            ".cfi_adjust_cfa_offset 8",
            // The caller's address lies above these.
            $($($arranged,)+)?
            // Calls want the stack aligned to 16 bytes.
            "sub rsp, 8",
            ".cfi_adjust_cfa_offset 8",
            "call {before}",
            "add rsp, 8",
            ".cfi_adjust_cfa_offset -8",
            "pop r9",
            ".cfi_adjust_cfa_offset -8",
            "pop r8",
            ".cfi_adjust_cfa_offset -8",
            "pop rcx",
            ".cfi_adjust_cfa_offset -8",
            "pop rdx",
            ".cfi_adjust_cfa_offset -8",
            "pop rsi",
            ".cfi_adjust_cfa_offset -8",
            "pop rdi",
            ".cfi_adjust_cfa_offset -8",
            "jmp rax",
            ".cfi_endproc",
            before = sym $before,
        )
    };
}

pub(crate) use jump;
