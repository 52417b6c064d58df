//! The library that is preloaded into a recorded program.
//!
//! It exports functions of the C library, and of OpenMP libraries, under their own names ("hooks"). Each records what the program asked for and
//! what came of it, and calls the next function of that name. The table below is all that it exports.
//!
//! # Rules for hooks
//!
//! 1. Do what the next function would have done, nothing else: same result, same `errno`, same cancellation points.
//! 2. No allocation, no lock, no standard I/O; nothing that could come back into a hook.
//! 3. A hook may run before any constructor, in a signal handler, after the thread's destructors.
//! 4. Hooks that may be cancelled are unwound by the C library: they are `extern "C-unwind"`, and what must happen
//!    then is done by a `Drop`.
//! 5. What lets others go on (unlock, post, signal) is recorded before it is done, what was gained after, so that in
//!    the order of the records nobody gains what was not given yet.
//! 6. Never print. A recording that cannot go on stops; the program does not.
//!
//! Deliberately absent: buffers, clocks, files: those are in `foretrace-recorder`.
#![expect(
    unsafe_code,
    reason = "hooks take pointers from C and call the C library with them"
)]

mod adopted;
mod affinity;
mod barrier;
mod blocking;
mod c11;
mod characters;
mod children;
mod closing;
mod cond;
mod confine;
mod cpus;
mod defined;
mod dynamic;
mod environment;
mod exit;
mod file_locks;
mod files;
mod filter;
mod foreign;
mod futex;
mod hook;
mod init;
mod io;
mod jump;
mod lent;
mod libraries;
mod mapping;
mod memory;
mod mpi;
mod mutex;
mod next;
mod once;
mod openmp;
mod pipes;
mod poll;
mod queues;
mod rwlock;
mod semaphore;
mod shell;
mod sleep;
mod sockets;
mod spin;
mod stdio;
mod successors;
mod thread;
mod unwinding;
mod words;
mod yields;

/// Exports hooks. Each entry is the exported name, its number of arguments, and the function that does the work,
/// which gets the caller's address as one argument more.
///
/// The exported function is a few instructions that add that argument, since only they can see where the caller
/// stands on the stack, and note the caller's frame pointer, from which call stacks are found; they leave no frame.
macro_rules! export {
    (@register 0) => { "rdi" };
    (@register 1) => { "rsi" };
    (@register 2) => { "rdx" };
    (@register 3) => { "rcx" };
    (@register 4) => { "r8" };
    (@register 5) => { "r9" };
    ($($name:ident / $arguments:tt => $work:path;)*) => {
        $(export!(@hook $name / $arguments => $work, (), ());)*
    };
    // The same for names that a library of the program's may have a function by.
    (words: $($name:ident / $arguments:tt => $work:path;)*) => {
        $(export!(
            @hook $name / $arguments => $work,
            ("cmp qword ptr [rip + {other}], 0", "jne 2f",),
            ("2:", "jmp qword ptr [rip + {other}]",)
            other = sym names::$name,
        );)*

        #[expect(non_upper_case_globals, reason = "named as the functions are")]
        mod names {
            use crate::words::Word;

            $(pub static $name: Word = Word::new(
                match core::ffi::CStr::from_bytes_with_nul(
                    concat!(stringify!($name), "\0").as_bytes()
                ) {
                    Ok(name) => name,
                    Err(_) => panic!("a name ends where its NUL is"),
                },
            );)*

            pub static ALL: &[&Word] = &[$(&$name),*];
        }
    };
    (
        @hook $name:ident / $arguments:tt => $work:path,
        ($($before:literal,)*), ($($behind:literal,)*) $($operands:tt)*
    ) => {
        #[doc = concat!("Stands in for the C library's `", stringify!($name), "`.")]
        ///
        /// # Safety
        ///
        /// As the C library's.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                // Whoever unwinds from a signal that came here must know of the frame.
                ".cfi_startproc",
                $($before,)*
                concat!("mov ", export!(@register $arguments), ", qword ptr [rsp]"),
                "mov r11, qword ptr [rip + foretrace_thread_state@GOTTPOFF]",
                "mov qword ptr fs:[r11 + {frame}], rbp",
                "jmp {work}",
                $($behind,)*
                ".cfi_endproc",
                frame = const foretrace_recorder::FRAME_OFFSET,
                work = sym $work,
                $($operands)*
            )
        }
    };
}

/// The exports.
pub mod exports {
    use super::{
        affinity, barrier, c11, characters, children, closing, cond, cpus, exit, file_locks, io,
        mutex, once, openmp, pipes, poll, queues, rwlock, semaphore, sleep, sockets, spin, stdio,
        thread, words, yields,
    };

    export! {
        pthread_create / 4 => thread::create;
        pthread_join / 2 => thread::join;
        pthread_tryjoin_np / 2 => thread::try_join;
        pthread_timedjoin_np / 3 => thread::timed_join;
        pthread_clockjoin_np / 4 => thread::clock_join;
        pthread_detach / 1 => thread::detach;
        pthread_cancel / 1 => thread::cancel;

        pthread_mutex_init / 2 => mutex::init;
        pthread_mutex_destroy / 1 => mutex::destroy;
        pthread_mutex_lock / 1 => mutex::lock;
        pthread_mutex_trylock / 1 => mutex::try_lock;
        pthread_mutex_timedlock / 2 => mutex::timed_lock;
        pthread_mutex_clocklock / 3 => mutex::clock_lock;
        pthread_mutex_unlock / 1 => mutex::unlock;

        pthread_cond_init / 2 => cond::init;
        pthread_cond_destroy / 1 => cond::destroy;
        pthread_cond_wait / 2 => cond::wait;
        pthread_cond_timedwait / 3 => cond::timed_wait;
        pthread_cond_clockwait / 4 => cond::clock_wait;
        pthread_cond_signal / 1 => cond::signal;
        pthread_cond_broadcast / 1 => cond::broadcast;

        sem_init / 3 => semaphore::init;
        sem_destroy / 1 => semaphore::destroy;
        sem_open / 4 => semaphore::open;
        sem_wait / 1 => semaphore::wait;
        sem_trywait / 1 => semaphore::try_wait;
        sem_timedwait / 2 => semaphore::timed_wait;
        sem_clockwait / 3 => semaphore::clock_wait;
        sem_post / 1 => semaphore::post;

        pthread_rwlock_init / 2 => rwlock::init;
        pthread_rwlock_destroy / 1 => rwlock::destroy;
        pthread_rwlock_rdlock / 1 => rwlock::read_lock;
        pthread_rwlock_tryrdlock / 1 => rwlock::try_read_lock;
        pthread_rwlock_timedrdlock / 2 => rwlock::timed_read_lock;
        pthread_rwlock_clockrdlock / 3 => rwlock::clock_read_lock;
        pthread_rwlock_wrlock / 1 => rwlock::write_lock;
        pthread_rwlock_trywrlock / 1 => rwlock::try_write_lock;
        pthread_rwlock_timedwrlock / 2 => rwlock::timed_write_lock;
        pthread_rwlock_clockwrlock / 3 => rwlock::clock_write_lock;
        pthread_rwlock_unlock / 1 => rwlock::unlock;

        pthread_barrier_init / 3 => barrier::init;
        pthread_barrier_destroy / 1 => barrier::destroy;
        pthread_barrier_wait / 1 => barrier::wait;

        pthread_spin_init / 2 => spin::init;
        pthread_spin_destroy / 1 => spin::destroy;
        pthread_spin_lock / 1 => spin::lock;
        pthread_spin_trylock / 1 => spin::try_lock;
        pthread_spin_unlock / 1 => spin::unlock;

        pthread_once / 2 => once::once;

        sched_yield / 0 => yields::yield_now;
        pthread_yield / 0 => yields::yield_now;
        thrd_yield / 0 => yields::yield_now;

        thrd_create / 3 => c11::create;
        thrd_join / 2 => c11::join;
        thrd_detach / 1 => c11::detach;
        mtx_init / 2 => c11::mutex_init;
        mtx_destroy / 1 => c11::mutex_destroy;
        mtx_lock / 1 => c11::mutex_lock;
        mtx_trylock / 1 => c11::mutex_try_lock;
        mtx_timedlock / 2 => c11::mutex_timed_lock;
        mtx_unlock / 1 => c11::mutex_unlock;
        cnd_init / 1 => c11::cond_init;
        cnd_destroy / 1 => c11::cond_destroy;
        cnd_wait / 2 => c11::cond_wait;
        cnd_timedwait / 3 => c11::cond_timed_wait;
        cnd_signal / 1 => c11::cond_signal;
        cnd_broadcast / 1 => c11::cond_broadcast;
        call_once / 2 => c11::call_once;

        readv / 3 => io::readv;
        writev / 3 => io::writev;
        pread / 4 => io::pread;
        pread64 / 4 => io::pread64;
        pwrite / 4 => io::pwrite;
        pwrite64 / 4 => io::pwrite64;
        preadv / 4 => io::preadv;
        preadv64 / 4 => io::preadv64;
        pwritev / 4 => io::pwritev;
        pwritev64 / 4 => io::pwritev64;
        preadv2 / 5 => io::preadv2;
        pwritev2 / 5 => io::pwritev2;
        __read_chk / 4 => io::__read_chk;
        __pread_chk / 5 => io::__pread_chk;
        __pread64_chk / 5 => io::__pread64_chk;
        recvmsg / 3 => io::recvmsg;
        recvmmsg / 5 => io::recvmmsg;
        eventfd_read / 2 => io::eventfd_read;
        eventfd_write / 2 => io::eventfd_write;
        __recv_chk / 5 => io::__recv_chk;
        sendmsg / 3 => io::sendmsg;
        sendmmsg / 4 => io::sendmmsg;
        sendfile / 4 => io::sendfile;
        sendfile64 / 4 => io::sendfile64;
        fsync / 1 => io::fsync;
        fdatasync / 1 => io::fdatasync;
        syncfs / 1 => io::syncfs;
        msync / 3 => io::msync;

        ppoll / 4 => poll::ppoll;
        __poll_chk / 4 => poll::__poll_chk;
        __ppoll_chk / 5 => poll::__ppoll_chk;
        epoll_wait / 4 => poll::epoll_wait;
        epoll_pwait / 5 => poll::epoll_pwait;
        epoll_pwait2 / 5 => poll::epoll_pwait2;
        sigsuspend / 1 => poll::sigsuspend;
        sigwait / 2 => poll::sigwait;
        sigwaitinfo / 2 => poll::sigwaitinfo;
        sigtimedwait / 3 => poll::sigtimedwait;

        lockf64 / 3 => file_locks::lockf64;
        fcntl / 3 => file_locks::fcntl;
        fcntl64 / 3 => file_locks::fcntl64;

        fclose / 1 => closing::fclose;
        close_range / 3 => closing::close_range;
        closefrom / 1 => closing::closefrom;
        dup / 1 => closing::dup;
        dup2 / 2 => closing::dup2;
        dup3 / 3 => closing::dup3;

        fread / 4 => stdio::fread;
        fread_unlocked / 4 => stdio::fread_unlocked;
        __fread_chk / 5 => stdio::__fread_chk;
        __fread_unlocked_chk / 5 => stdio::__fread_unlocked_chk;
        fgets / 3 => stdio::fgets;
        fgets_unlocked / 3 => stdio::fgets_unlocked;
        __fgets_chk / 4 => stdio::__fgets_chk;
        __fgets_unlocked_chk / 4 => stdio::__fgets_unlocked_chk;
        getdelim / 4 => stdio::getdelim;
        __getdelim / 4 => stdio::__getdelim;
        __uflow / 1 => stdio::__uflow;
        fwrite / 4 => stdio::fwrite;
        fwrite_unlocked / 4 => stdio::fwrite_unlocked;
        fputs / 2 => stdio::fputs;
        fputs_unlocked / 2 => stdio::fputs_unlocked;
        fflush / 1 => stdio::fflush;
        fflush_unlocked / 1 => stdio::fflush_unlocked;
        __overflow / 2 => stdio::__overflow;
        puts / 1 => stdio::puts;

        getc / 1 => characters::getc;
        fgetc / 1 => characters::getc;
        _IO_getc / 1 => characters::getc;
        getchar / 0 => characters::getchar;
        getc_unlocked / 1 => characters::getc_unlocked;
        fgetc_unlocked / 1 => characters::getc_unlocked;
        getchar_unlocked / 0 => characters::getchar_unlocked;
        fgetwc / 1 => characters::fgetwc;
        getwc / 1 => characters::fgetwc;
        getwchar / 0 => characters::getwchar;
        fgetws / 3 => characters::fgetws;
        vfscanf / 3 => characters::vfscanf;
        __isoc99_vfscanf / 3 => characters::__isoc99_vfscanf;
        __isoc23_vfscanf / 3 => characters::__isoc23_vfscanf;
        vscanf / 2 => characters::vscanf;
        __isoc99_vscanf / 2 => characters::__isoc99_vscanf;
        __isoc23_vscanf / 2 => characters::__isoc23_vscanf;

        nanosleep / 2 => sleep::nanosleep;
        clock_nanosleep / 4 => sleep::clock_nanosleep;
        usleep / 1 => sleep::usleep;
        thrd_sleep / 2 => sleep::thrd_sleep;

        pipe2 / 2 => pipes::pipe2;
        socketpair / 4 => pipes::socketpair;
        eventfd / 2 => pipes::eventfd;

        accept4 / 4 => sockets::accept4;

        mq_send / 4 => queues::mq_send;
        mq_timedsend / 5 => queues::mq_timedsend;
        mq_receive / 4 => queues::mq_receive;
        mq_timedreceive / 5 => queues::mq_timedreceive;
        msgsnd / 4 => queues::msgsnd;
        msgrcv / 5 => queues::msgrcv;
        semop / 3 => queues::semop;
        semtimedop / 4 => queues::semtimedop;

        _Fork / 0 => children::fork_without_handlers;
        popen / 2 => children::popen;
        pclose / 1 => children::pclose;
        waitpid / 3 => children::waitpid;
        wait3 / 3 => children::wait3;
        wait4 / 4 => children::wait4;
        waitid / 4 => children::waitid;

        _exit / 1 => exit::exit_now;
        _Exit / 1 => exit::exit_now;
        quick_exit / 1 => exit::quick_exit;

        sched_getaffinity / 3 => affinity::sched_getaffinity;
        pthread_getaffinity_np / 3 => affinity::pthread_getaffinity;
        sched_setaffinity / 3 => affinity::sched_setaffinity;
        pthread_setaffinity_np / 3 => affinity::pthread_setaffinity;
        sysconf / 1 => cpus::sysconf;
        get_nprocs / 0 => cpus::get_nprocs;
        get_nprocs_conf / 0 => cpus::get_nprocs_conf;
        sched_getcpu / 0 => cpus::sched_getcpu;
        getcpu / 2 => cpus::getcpu;

        GOMP_parallel / 4 => openmp::region::parallel;
        GOMP_parallel_reductions / 4 => openmp::region::parallel_reductions;
        GOMP_parallel_sections / 5 => openmp::region::parallel_sections;
        GOMP_taskwait / 0 => openmp::barrier::taskwait;
        GOMP_taskgroup_end / 0 => openmp::barrier::taskgroup_end;
        GOMP_barrier / 0 => openmp::barrier::barrier;
        GOMP_barrier_cancel / 0 => openmp::barrier::barrier_cancel;
        GOMP_loop_end / 0 => openmp::barrier::loop_end;
        GOMP_loop_end_cancel / 0 => openmp::barrier::loop_end_cancel;
        GOMP_loop_dynamic_next / 2 => openmp::pieces::gomp::GOMP_loop_dynamic_next;
        GOMP_loop_guided_next / 2 => openmp::pieces::gomp::GOMP_loop_guided_next;
        GOMP_loop_nonmonotonic_dynamic_next / 2 => openmp::pieces::gomp::GOMP_loop_nonmonotonic_dynamic_next;
        GOMP_loop_nonmonotonic_guided_next / 2 => openmp::pieces::gomp::GOMP_loop_nonmonotonic_guided_next;
        GOMP_loop_ull_dynamic_next / 2 => openmp::pieces::gomp::GOMP_loop_ull_dynamic_next;
        GOMP_loop_ull_guided_next / 2 => openmp::pieces::gomp::GOMP_loop_ull_guided_next;
        GOMP_loop_ull_nonmonotonic_dynamic_next / 2 => openmp::pieces::gomp::GOMP_loop_ull_nonmonotonic_dynamic_next;
        GOMP_loop_ull_nonmonotonic_guided_next / 2 => openmp::pieces::gomp::GOMP_loop_ull_nonmonotonic_guided_next;
        GOMP_sections_next / 0 => openmp::pieces::sections_next;
        GOMP_sections_end / 0 => openmp::barrier::sections_end;
        GOMP_sections_end_cancel / 0 => openmp::barrier::sections_end_cancel;
        GOMP_single_copy_start / 0 => openmp::barrier::single_copy_start;
        GOMP_single_copy_end / 1 => openmp::barrier::single_copy_end;
        GOMP_workshare_task_reduction_unregister / 1 => openmp::barrier::reduction_end;

        GOMP_critical_start / 0 => openmp::locks::critical_start;
        GOMP_critical_end / 0 => openmp::locks::critical_end;
        GOMP_critical_name_start / 1 => openmp::locks::critical_name_start;
        GOMP_critical_name_end / 1 => openmp::locks::critical_name_end;
        GOMP_ordered_start / 0 => openmp::sections::ordered_start;
        GOMP_ordered_end / 0 => openmp::sections::ordered_end;
        GOMP_atomic_start / 0 => openmp::locks::atomic_start;
        GOMP_atomic_end / 0 => openmp::locks::atomic_end;

        ompt_start_tool / 2 => openmp::ompt::start_tool;
        __kmpc_critical / 3 => openmp::sections::critical;
        __kmpc_critical_with_hint / 4 => openmp::sections::critical_with_hint;
        __kmpc_end_critical / 3 => openmp::sections::end_critical;
        GOMP_doacross_post / 1 => openmp::doacross::gomp_post;
        GOMP_doacross_ull_post / 1 => openmp::doacross::gomp_post_ull;
        __kmpc_doacross_init / 4 => openmp::doacross::kmpc_init;
        __kmpc_doacross_post / 3 => openmp::doacross::kmpc_post;
        __kmpc_doacross_wait / 3 => openmp::doacross::kmpc_wait;
        __kmpc_end_ordered / 2 => openmp::sections::end_ordered;

        omp_init_lock / 1 => openmp::locks::c::init;
        omp_destroy_lock / 1 => openmp::locks::c::destroy;
        omp_set_lock / 1 => openmp::locks::c::set;
        omp_unset_lock / 1 => openmp::locks::c::unset;
        omp_test_lock / 1 => openmp::locks::c::test;
        omp_init_nest_lock / 1 => openmp::locks::c::init_nest;
        omp_destroy_nest_lock / 1 => openmp::locks::c::destroy_nest;
        omp_set_nest_lock / 1 => openmp::locks::c::set_nest;
        omp_unset_nest_lock / 1 => openmp::locks::c::unset_nest;
        omp_test_nest_lock / 1 => openmp::locks::c::test_nest;

        // Fortran's names, whose locks may be pointers to locks.
        omp_init_lock_ / 1 => openmp::locks::fortran::init;
        omp_destroy_lock_ / 1 => openmp::locks::fortran::destroy;
        omp_set_lock_ / 1 => openmp::locks::fortran::set;
        omp_unset_lock_ / 1 => openmp::locks::fortran::unset;
        omp_test_lock_ / 1 => openmp::locks::fortran::test;
        omp_init_nest_lock_ / 1 => openmp::locks::fortran::init_nest;
        omp_destroy_nest_lock_ / 1 => openmp::locks::fortran::destroy_nest;
        omp_set_nest_lock_ / 1 => openmp::locks::fortran::set_nest;
        omp_unset_nest_lock_ / 1 => openmp::locks::fortran::unset_nest;
        omp_test_nest_lock_ / 1 => openmp::locks::fortran::test_nest;
    }

    export! {
        words:
        getline / 3 => stdio::getline;
        read / 3 => io::read;
        write / 3 => io::write;
        recv / 4 => io::recv;
        send / 4 => io::send;
        sync / 0 => io::sync;
        poll / 3 => poll::poll;
        select / 5 => poll::select;
        pause / 0 => poll::pause;
        flock / 2 => file_locks::flock;
        lockf / 3 => file_locks::lockf;
        close / 1 => closing::close;
        sleep / 1 => sleep::sleep;
        pipe / 1 => pipes::pipe;
        listen / 2 => sockets::listen;
        accept / 3 => sockets::accept;
        connect / 3 => sockets::connect;
        fork / 0 => children::fork;
        system / 1 => children::system;
        wait / 1 => children::wait;
    }

    /// Finds out whose functions have the names that others may have, too.
    pub fn look_up_words() {
        words::look_up(names::ALL);
    }

    pub use crate::openmp::doacross::{
        GOMP_doacross_ull_wait, GOMP_doacross_wait, GOMP_loop_doacross_dynamic_start,
        GOMP_loop_doacross_guided_start, GOMP_loop_doacross_runtime_start,
        GOMP_loop_doacross_start, GOMP_loop_doacross_static_start,
        GOMP_loop_ull_doacross_dynamic_start, GOMP_loop_ull_doacross_guided_start,
        GOMP_loop_ull_doacross_runtime_start, GOMP_loop_ull_doacross_start,
        GOMP_loop_ull_doacross_static_start,
    };
    pub use crate::openmp::pieces::{
        __kmpc_dispatch_init_4, __kmpc_dispatch_init_4u, __kmpc_dispatch_init_8,
        __kmpc_dispatch_init_8u, __kmpc_dispatch_next_4, __kmpc_dispatch_next_4u,
        __kmpc_dispatch_next_8, __kmpc_dispatch_next_8u, GOMP_loop_dynamic_start,
        GOMP_loop_guided_start, GOMP_loop_maybe_nonmonotonic_runtime_next,
        GOMP_loop_nonmonotonic_dynamic_start, GOMP_loop_nonmonotonic_guided_start,
        GOMP_loop_nonmonotonic_runtime_next, GOMP_loop_ordered_dynamic_next,
        GOMP_loop_ordered_guided_next, GOMP_loop_ordered_runtime_next, GOMP_loop_runtime_next,
        GOMP_loop_ull_dynamic_start, GOMP_loop_ull_guided_start,
        GOMP_loop_ull_maybe_nonmonotonic_runtime_next, GOMP_loop_ull_nonmonotonic_dynamic_start,
        GOMP_loop_ull_nonmonotonic_guided_start, GOMP_loop_ull_nonmonotonic_runtime_next,
        GOMP_loop_ull_ordered_dynamic_next, GOMP_loop_ull_ordered_guided_next,
        GOMP_loop_ull_ordered_runtime_next, GOMP_loop_ull_runtime_next, GOMP_sections_start,
    };
    // These are jumped to.
    pub use crate::openmp::taskloops::{GOMP_taskloop, GOMP_taskloop_ull};
    pub use crate::openmp::tasks::GOMP_task;
    // These have more arguments than registers, or would with the caller's address.
    pub use crate::children::wide::exports::{posix_spawn, posix_spawnp};
    pub use crate::io::wide::{__recvfrom_chk, copy_file_range, recvfrom, sendto, splice};
    pub use crate::openmp::loops::{
        GOMP_parallel_loop_dynamic, GOMP_parallel_loop_guided,
        GOMP_parallel_loop_maybe_nonmonotonic_runtime, GOMP_parallel_loop_nonmonotonic_dynamic,
        GOMP_parallel_loop_nonmonotonic_guided, GOMP_parallel_loop_nonmonotonic_runtime,
        GOMP_parallel_loop_runtime, GOMP_parallel_loop_static,
    };
    pub use crate::poll::wide::pselect;

    pub use crate::mpi::exports::*;
    pub use crate::mpi::{setsid, ucp_worker_progress};

    // These have as many arguments as there are places to write to.
    pub use crate::characters::exports::{
        __isoc23_fscanf, __isoc23_scanf, __isoc99_fscanf, __isoc99_scanf, fscanf, scanf,
    };

    // This comes back twice.
    pub use crate::children::exports::vfork;

    // These are not called from here but jumped to: see `jump`.
    pub use crate::children::exec::{
        execl, execle, execlp, execv, execve, execveat, execvp, execvpe, fexecve,
    };
    pub use crate::confine::{prctl, syscall};
    pub use crate::files::{
        __open_2, __open64_2, __openat_2, __openat64_2, access, faccessat, fopen, fopen64, fstatat,
        fstatat64, getxattr, lgetxattr, lstat, lstat64, open, open64, openat, openat64, opendir,
        scandir, scandir64, stat, stat64, statx,
    };
    pub use crate::libraries::{dlclose, dlmopen, dlopen, dlsym};
    pub use crate::mapping::{mmap, mmap64, shmat};
}
