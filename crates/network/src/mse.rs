//! MSE's extension of LogGPS: an overhead that grows with the number of processes.
//!
//! # Source
//!
//! Y. Mizutani, F. Ino, K. Hagihara, *An Emulation System for Predicting Master/Slave Program Performance*, 2003, section
//! 2.3: o = `o_a` + `o_b` P + O k. The split between sending and receiving is what its section 3.1 asks for.

use foretrace_schedule::SimTime;

use crate::{LogGps, Overhead, Pair, PerByte, Protocol};

/// An overhead o = a + b P + O k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growing {
    /// a.
    pub constant: SimTime,
    /// b: more for every process of the program.
    pub per_process: SimTime,
    /// O.
    pub per_byte: PerByte,
}

impl Growing {
    fn at(self, processes: u32) -> Overhead {
        let growth = self.per_process.0.saturating_mul(u64::from(processes));
        Overhead {
            constant: self.constant + SimTime(growth),
            per_byte: self.per_byte,
        }
    }
}

/// LogGPS with growing overheads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mse {
    /// Everything but the overheads' constants, which are taken from below.
    pub base: LogGps,
    /// The sender's and the receiver's overhead.
    pub overheads: Pair<[Growing; 2]>,
}

impl Mse {
    /// Returns the model as it is for so many processes: then it is LogGPS.
    pub fn at(&self, processes: u32) -> LogGps {
        let resolve = |protocol: Protocol, [send, receive]: [Growing; 2]| Protocol {
            send: send.at(processes),
            receive: receive.at(processes),
            ..protocol
        };
        LogGps(Pair {
            between: resolve(self.base.0.between, self.overheads.between),
            within: resolve(self.base.0.within, self.overheads.within),
        })
    }
}
