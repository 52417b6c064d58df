//! The collectives of SimGrid's time-independent traces.

use foretrace_messages::Collective;
use foretrace_network::CollectiveKind;

/// What a floating-point operation takes, in picoseconds.
pub(super) const PICOS_PER_FLOP: f64 = 1_000.0;

/// The sizes of the datatypes, by their numbers.
pub(super) const SIZES: [u64; 41] = [
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8, 8,
    16, 16, 8, 8, 8, 16, 16, 4, 4, 8,
];

/// The arguments of an action.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'a> {
    pub numbers: &'a [f64],
    /// The size of what counts are of where nothing is said.
    pub unit: u64,
    pub ranks: usize,
}

impl Arguments<'_> {
    fn number(&self, index: usize) -> Option<f64> {
        self.numbers.get(index).copied()
    }

    /// Returns a count's bytes, whose datatype stands at a place, if anywhere.
    fn bytes(&self, count: Option<f64>, datatype: usize) -> Option<u64> {
        let unit = match self.number(datatype) {
            None => self.unit,
            #[expect(clippy::cast_sign_loss, reason = "what was read is not negative")]
            Some(number) => *SIZES.get(number as usize)?,
        };
        #[expect(clippy::cast_sign_loss, reason = "what was read is not negative")]
        let bytes = (count? * unit as f64).round() as u64;
        Some(bytes)
    }

    fn root(&self, index: usize) -> u32 {
        #[expect(clippy::cast_sign_loss, reason = "what was read is not negative")]
        let root = self.number(index).unwrap_or(0.0) as u32;
        root
    }

    /// Returns the sum of as many numbers as there are ranks.
    fn sum(&self, from: usize) -> Option<f64> {
        let all = self.numbers.get(from..from + self.ranks)?;
        Some(all.iter().sum())
    }

    fn mean(&self, from: usize) -> Option<f64> {
        self.sum(from).map(|all| all / self.ranks as f64)
    }

    /// Returns the collective that an action is; `None` where it is none, or arguments are missing.
    pub fn collective(&self, action: &str) -> Option<Collective> {
        let (kind, sent, received) = self.sizes(action)?;
        let (root, flops) = match action {
            "bcast" => (self.root(1), None),
            "reduce" => (self.root(2), Some(self.number(1)?)),
            "allreduce" | "scan" | "exscan" => (0, Some(self.number(1)?)),
            "gather" | "scatter" => (self.root(2), None),
            "gatherv" | "scatterv" => (self.root(1 + self.ranks), None),
            "reducescatter" => (0, Some(self.number(self.ranks)?)),
            _ => (0, None),
        };
        #[expect(clippy::cast_sign_loss, reason = "what was read is not negative")]
        let work = (flops.unwrap_or(0.0) * PICOS_PER_FLOP).round() as u64;
        Some(Collective {
            kind,
            root,
            sent,
            received,
            work,
        })
    }

    /// Returns what an action is, and the bytes that a rank gives and gets.
    fn sizes(&self, action: &str) -> Option<(CollectiveKind, u64, u64)> {
        use CollectiveKind as Kind;
        let after = 1 + self.ranks;
        let none = usize::MAX;
        let same = |kind, datatype| {
            let bytes = self.bytes(self.number(0), datatype)?;
            Some((kind, bytes, bytes))
        };
        let both = |kind, sent: (Option<f64>, usize), received: (Option<f64>, usize)| {
            Some((
                kind,
                self.bytes(sent.0, sent.1)?,
                self.bytes(received.0, received.1)?,
            ))
        };
        let (first, second) = (self.number(0), self.number(1));
        match action {
            "barrier" => Some((Kind::Barrier, 0, 0)),
            "bcast" => same(Kind::Bcast, 2),
            "reduce" => same(Kind::Reduce, 3),
            "allreduce" => same(Kind::Allreduce, 2),
            "scan" | "exscan" => same(Kind::Scan, 2),
            "alltoall" => both(Kind::Alltoall, (first, 2), (second, 3)),
            "allgather" => both(Kind::Allgather, (first, 2), (second, 3)),
            "gather" => both(Kind::Gather, (first, 3), (second, 4)),
            "scatter" => both(Kind::Scatter, (first, 3), (second, 4)),
            "gatherv" => both(Kind::Gather, (first, after + 1), (self.mean(1), after + 2)),
            "scatterv" => {
                let received = (self.number(self.ranks), after + 2);
                both(Kind::Scatter, (self.mean(0), after + 1), received)
            }
            "allgatherv" => both(Kind::Allgather, (first, none), (self.mean(1), none)),
            "alltoallv" => both(
                Kind::Alltoall,
                (self.mean(1), none),
                (self.mean(self.ranks + 2), none),
            ),
            "reducescatter" => {
                let bytes = self.bytes(self.sum(0), self.ranks + 1)?;
                Some((Kind::ReduceScatter, bytes, bytes / self.ranks.max(1) as u64))
            }
            _ => None,
        }
    }
}

/// Writes the action that a collective is.
pub(super) fn called(call: &Collective, ranks: u32) -> String {
    let Collective {
        root,
        sent,
        received,
        ..
    } = *call;
    let flops = call.work as f64 / PICOS_PER_FLOP;
    match call.kind {
        CollectiveKind::Barrier => "barrier".to_owned(),
        CollectiveKind::Bcast => format!("bcast {sent} {root}"),
        CollectiveKind::Reduce => format!("reduce {sent} {flops} {root}"),
        CollectiveKind::Allreduce => format!("allreduce {sent} {flops}"),
        CollectiveKind::Scan => format!("scan {sent} {flops}"),
        CollectiveKind::Alltoall => format!("alltoall {sent} {received}"),
        CollectiveKind::Allgather => format!("allgather {sent} {received}"),
        CollectiveKind::Gather => format!("gather {sent} {received} {root}"),
        CollectiveKind::Scatter => format!("scatter {sent} {received} {root}"),
        CollectiveKind::ReduceScatter => {
            let each = vec![(sent / u64::from(ranks)).to_string(); ranks as usize].join(" ");
            format!("reducescatter {each} {flops}")
        }
    }
}
