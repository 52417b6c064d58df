//! MSE's extension of LogGPS: an overhead that grows with the number of processes.
//!
//! # Source
//!
//! Y. Mizutani, F. Ino, K. Hagihara, *An Emulation System for Predicting Master/Slave Program Performance*, 2003, section
//! 2.3: o = `o_a` + `o_b` P + O k. The split between sending and receiving is what its section 3.1 asks for.

use foretrace_schedule::SimTime;

use crate::{LogGps, Pair, Protocol};

/// LogGPS with growing overheads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mse {
    /// The network, with the overheads' part that does not grow (`o_a`).
    pub base: LogGps,
    /// By how much sending and receiving take longer for every process of the program (`o_b`).
    pub per_process: Pair<[SimTime; 2]>,
}

impl Mse {
    /// Returns the model as it is for so many processes: then it is LogGPS.
    pub fn at(&self, processes: u32) -> LogGps {
        let resolve = |protocol: &Protocol, [send, receive]: [SimTime; 2]| {
            let growth = |time: SimTime| SimTime(time.0.saturating_mul(u64::from(processes)));
            let mut protocol = protocol.clone();
            for line in std::iter::once(&mut protocol.base).chain(&mut protocol.larger) {
                line.send.constant = line.send.constant + growth(send);
                line.receive.constant = line.receive.constant + growth(receive);
            }
            protocol
        };
        let Pair { between, within } = &self.base.protocols;
        LogGps {
            protocols: Pair {
                between: resolve(between, self.per_process.between),
                within: resolve(within, self.per_process.within),
            },
            ..self.base
        }
    }
}
