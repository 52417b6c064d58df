//! One prediction made several ways: from several recordings of a program, and with ties broken by several seeds.

use foretrace_trace::Trace;

use crate::core::{Extent, Prediction, Study};

/// A recording and what is predicted from it.
pub struct Recorded {
    /// The recording, without its events.
    pub trace: Trace,
    /// How long it is.
    pub extent: Extent,
    /// Its program.
    pub study: Study,
}

/// One way in which a prediction was made.
pub struct Way {
    /// Which recording it was made from.
    pub recording: usize,
    /// What ties were broken by; nothing where they were not broken by chance.
    pub seed: Option<u64>,
    /// The predictions, one for each number of CPUs.
    pub predictions: Vec<Prediction>,
}

/// What all ways say of one number of CPUs.
pub struct Answer<'a> {
    /// The way whose speed-up is in the middle; where no way has one, the first.
    pub middle: &'a Way,
    /// All ways with this number of CPUs: the lowest speed-up first, those without one last.
    pub ways: Vec<(&'a Way, &'a Prediction)>,
    /// The prediction of the one in the middle.
    pub prediction: &'a Prediction,
}

impl<'a> Answer<'a> {
    /// Puts together what all ways say of the number of CPUs that stands at `index` in each.
    pub fn new(ways: &'a [Way], index: usize) -> Option<Self> {
        let at_index = |way: &'a Way| Some((way, way.predictions.get(index)?));
        let mut ways: Vec<_> = ways.iter().filter_map(at_index).collect();
        ways.sort_by(|(_, one), (_, other)| {
            // Whatever is a speed-up comes before none.
            let key = |prediction| speedup(prediction).unwrap_or(f64::INFINITY);
            let order = key(one).total_cmp(&key(other));
            order.then_with(|| makespan(one).cmp(&makespan(other)))
        });
        let known = ways.iter().filter(|(_, p)| speedup(p).is_some()).count();
        let &(middle, prediction) = ways.get(known.saturating_sub(1) / 2)?;
        Some(Self {
            middle,
            ways,
            prediction,
        })
    }

    /// Returns the lowest and the highest speed-up; nothing where there is none.
    pub fn speedups(&self) -> Option<(f64, f64)> {
        let mut known = self.ways.iter().filter_map(|(_, p)| speedup(p));
        let lowest = known.next()?;
        Some((lowest, known.next_back().unwrap_or(lowest)))
    }

    /// Returns the shortest and the longest makespan; nothing where there is none.
    pub fn makespans(&self) -> Option<(u64, u64)> {
        let makespans = || {
            let ways = self.ways.iter();
            ways.filter_map(|(_, p)| makespan(p))
        };
        Some((makespans().min()?, makespans().max()?))
    }
}

fn speedup(prediction: &Prediction) -> Option<f64> {
    let answered = prediction.answered()?;
    Some(prediction.speedup(&answered.run))
}

fn makespan(prediction: &Prediction) -> Option<u64> {
    Some(prediction.answered()?.run.end.as_nanos())
}
