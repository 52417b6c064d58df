//! Language runtimes that do by themselves what others ask the C library for. Programs on them can be recorded, but not
//! all that they do: they are told so before they run.

/// A runtime of which only a part can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// Go's, in a program that is dynamically linked (it calls C).
    Go,
    /// A Java virtual machine.
    Java,
}

impl Runtime {
    /// Says what is recorded of the program, what is not, and how to get the nearest thing.
    pub fn limits(self, program: &str) -> String {
        match self {
            Self::Go => format!(
                "`{program}` is a Go program: recorded are its threads' CPU times and what its C code locks and waits for; \
                 not its goroutines, channels and mutexes, which Go's runtime handles by itself, so a prediction takes the \
                 threads to be independent of each other. Go asks the kernel itself for CPUs and finds one: GOMAXPROCS says how many \
                 it is to use. The nearest thing for goroutines is Go's own runtime/trace, on \
                 as many CPUs as there are"
            ),
            Self::Java => format!(
                "`{program}` runs on a Java virtual machine: recorded are its threads (its compilers' and collectors' \
                 among them), and its waits at monitors, locks and LockSupport.park, as far as a thread had to wait; not a \
                 monitor or a lock of java.util.concurrent that was free, and not virtual threads, so a prediction knows \
                 too little of contention that did not show on one CPU. The nearest thing: a run so long that starting and \
                 compiling count for little, with -XX:+UseSerialGC, and without virtual threads"
            ),
        }
    }
}
