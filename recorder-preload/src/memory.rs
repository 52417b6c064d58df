//! Functions of memory and strings that the compiler calls for what the code says otherwise, for this library alone.
//!
//! Programs have their own of these names, and find the C library's by `dlsym` at their first call. Were they called in our `dlsym`, or before
//! they are ready, as in a program with a sanitizer, they would call themselves without end, or nothing.

use core::arch::global_asm;

/// Defines functions that only this library sees.
macro_rules! own {
    ($($name:ident: $($instruction:literal)+;)*) => {
        $(
            global_asm!(
                ".pushsection .text.foretrace_memory,\"ax\",@progbits",
                concat!(".globl ", stringify!($name)),
                concat!(".hidden ", stringify!($name)),
                concat!(".type ", stringify!($name), ", @function"),
                concat!(stringify!($name), ":"),
                ".cfi_startproc",
                $($instruction,)+
                ".cfi_endproc",
                concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
                ".popsection",
            );
        )*
    };
}

own! {
    memcpy:
        "mov rax, rdi"
        "mov rcx, rdx"
        "rep movsb"
        "ret";
    memmove:
        "mov rax, rdi"
        "mov rcx, rdx"
        "mov rdx, rdi"
        "sub rdx, rsi"
        // Only where the copy begins within what is copied the last byte goes first.
        "cmp rdx, rcx"
        "jb 2f"
        "rep movsb"
        "ret"
        "2:"
        "test rcx, rcx"
        "jz 3f"
        "mov dl, byte ptr [rsi + rcx - 1]"
        "mov byte ptr [rdi + rcx - 1], dl"
        "dec rcx"
        "jmp 2b"
        "3:"
        "ret";
    memset:
        "mov r8, rdi"
        "mov eax, esi"
        "mov rcx, rdx"
        "rep stosb"
        "mov rax, r8"
        "ret";
    memcmp:
        "xor ecx, ecx"
        "2:"
        "cmp rcx, rdx"
        "je 3f"
        "movzx eax, byte ptr [rdi + rcx]"
        "movzx r8d, byte ptr [rsi + rcx]"
        "inc rcx"
        "sub eax, r8d"
        "jz 2b"
        "ret"
        "3:"
        "xor eax, eax"
        "ret";
    bcmp:
        "jmp memcmp";
    strlen:
        "xor eax, eax"
        "2:"
        "cmp byte ptr [rdi + rax], 0"
        "je 3f"
        "inc rax"
        "jmp 2b"
        "3:"
        "ret";
}
