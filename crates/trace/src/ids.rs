//! Ids: positions in the tables of a [`Trace`](crate::Trace).

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl $name {
            /// Returns the id as a position in its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// Makes the id of a position in its table.
            ///
            /// # Panics
            ///
            /// When `index` is above `u32::MAX`; no table grows that large.
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("a table holds at most 2^32 entries"))
            }
        }
    };
}

id! {
    /// A thread (or abstract process): a position in `Trace::threads`.
    ThreadId
}
id! {
    /// An operating-system process: a position in `Trace::processes`.
    ProcessId
}
id! {
    /// A synchronization object: a position in `Trace::objects`.
    ObjectId
}
id! {
    /// A place in the program that made calls: a position in `Trace::sites`.
    SiteId
}
id! {
    /// A file mapped into a recorded process: a position in `Trace::modules`.
    ModuleId
}
id! {
    /// A distinct call (who did what to which object from where, with which outcome): a position in `Trace::calls`.
    CallId
}
id! {
    /// A distinct call of MPI: a position in `Trace::messages`.
    MessageId
}
