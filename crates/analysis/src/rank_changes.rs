//! What a change of a program that passes messages, or of its network, would be worth.

use std::collections::HashSet;

use foretrace_network::Ease;
use foretrace_schedule::{Marks, Schedule, SimTime};

use crate::{
    path_shares::PathShare,
    rank_places::RankPlaces,
    spots::{Places, Step, Stretch, Walk},
    what_if::{Change, faster_code},
};

/// Returns the changes that may be worth something where ranks pass messages, by what a prediction's critical path goes through.
pub fn worth_a_try_of_ranks(schedule: &Schedule, path: &[PathShare]) -> Vec<Change> {
    let eases = [
        Ease::NoLatency,
        Ease::AnyBandwidth,
        Ease::NoWaiting,
        Ease::Free,
    ];
    let others = std::iter::once(Change::EvenWork).chain(eases.map(Change::Network));
    faster_code(schedule, path).chain(others).collect()
}

/// The time that work takes after a change, by its position and its time before, in picoseconds.
pub type WorkTime<'c> = Box<dyn FnMut(usize, u64) -> u64 + 'c>;

impl Change {
    /// Returns the times that ranks' work takes after the change, where it is one of those; `marks` are all that ranks do in the prediction.
    pub fn work_of_ranks<'c>(
        &self,
        places: &'c RankPlaces<'_>,
        marks: &Marks,
    ) -> Option<WorkTime<'c>> {
        match self {
            Self::TwiceAsFast(stretch) => {
                let faster = code_in(places, marks, *stretch);
                Some(Box::new(move |position, time| {
                    let is_faster = faster.contains(&(position as u32));
                    if is_faster { time / 2 } else { time }
                }))
            }
            Self::EvenWork => {
                let work = places.work();
                let working = work.iter().filter(|work| **work > SimTime::ZERO).count();
                let sum: u128 = work.iter().map(|work| u128::from(work.0)).sum();
                let mean = sum / working.max(1) as u128;
                Some(Box::new(move |position, time| {
                    let own = u128::from(work[places.rank_of(position)].0).max(1);
                    u64::try_from(u128::from(time) * mean / own).unwrap_or(u64::MAX)
                }))
            }
            _ => None,
        }
    }

    /// Returns in which way it makes the network better, where it does.
    pub fn ease(&self) -> Option<Ease> {
        match self {
            Self::Network(ease) => Some(*ease),
            _ => None,
        }
    }
}

/// Returns the events of the code that lies in a stretch.
fn code_in(places: &RankPlaces<'_>, marks: &Marks, stretch: Stretch) -> HashSet<u32> {
    let mut found = HashSet::new();
    for lane in 0..marks.lanes() {
        let mut walk = Walk::new(places);
        let mut code: Vec<u32> = Vec::new();
        for event in &marks.lane(lane).events {
            let passed = walk.go_to(*event);
            if places.step(*event) == Step::Code {
                code.push(*event);
                continue;
            }
            if passed == Some(stretch) {
                found.extend(&code);
            }
            code.clear();
        }
        if walk.until_end() == Some(stretch) {
            found.extend(&code);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use foretrace_messages::{Builder, Noted, Operation, Program, course, replay};
    use foretrace_network::{Description, Network};
    use foretrace_schedule::WaitKind;

    use super::*;
    use crate::{
        path_shares::{OnPath, path_shares},
        predicted_waits::predicted_waits,
        spots::{END, Spot},
    };

    const MICRO: u64 = 1_000_000;

    fn network(name: &str) -> Network {
        let preset = Description::preset(name).unwrap().unwrap();
        preset.resolve(2).unwrap()
    }

    /// Rank 0 works for 100 us and sends to rank 1, which works for 300 before it receives and 50 after that.
    fn pair(bytes: u64) -> Program {
        let mut builder = Builder::new(2);
        builder.push(0, Operation::work(100 * MICRO));
        builder.push(0, Operation::send(1, 0, bytes));
        builder.push(1, Operation::work(300 * MICRO));
        builder.push(1, Operation::receive(0, 0, bytes));
        builder.push(1, Operation::work(50 * MICRO));
        builder.finish("pair")
    }

    fn code(from: Spot, to: Spot) -> OnPath {
        OnPath::Code(Stretch { from, to })
    }

    const SEND: Spot = Spot::Call("send", None);
    const RECEIVE: Spot = Spot::Call("recv", None);

    #[test]
    fn a_late_receiver_is_what_the_end_and_the_sender_wait_for() {
        for bytes in [8, 10_000_000] {
            let program = pair(bytes);
            let network = network("infiniband");
            let places = RankPlaces::of_program(&program, None);
            let course = course(&program, &network, None, Noted::Everything, &|_, _| true);
            let mut course = course.unwrap();
            course.schedule.wakes = course.causes;
            let path = path_shares(&places, &course.schedule, &course.marks);
            let all: u64 = path.iter().map(|share| share.time.0).sum();
            assert_eq!(SimTime(all), course.schedule.end);
            let time = |what: OnPath| {
                let share = path.iter().find(|share| share.what == what);
                share.map_or(0, |share| share.time.0 / MICRO)
            };
            assert_eq!(time(code(Spot::Begin, RECEIVE)), 300, "{path:?}");
            assert_eq!(time(code(RECEIVE, END)), 50, "{path:?}");
            assert_eq!(time(code(Spot::Begin, SEND)), 0, "{path:?}");
            let waits = predicted_waits(&places, &course.schedule, &course.marks);
            let sender = waits.iter().find(|wait| wait.spot == Some(SEND));
            let ended = sender.map(|wait| wait.ended_by);
            let is_large = bytes > 8;
            assert_eq!(ended, is_large.then_some(Some(RECEIVE)), "{waits:?}");
        }
    }

    #[test]
    fn a_late_sender_is_what_the_receiver_waits_for() {
        let mut builder = Builder::new(2);
        builder.push(0, Operation::work(100 * MICRO));
        builder.push(0, Operation::send(1, 0, 800));
        builder.push(1, Operation::receive(0, 0, 800));
        let program = builder.finish("late");
        let network = network("infiniband");
        let places = RankPlaces::of_program(&program, None);
        let course = course(&program, &network, None, Noted::Everything, &|_, _| true).unwrap();
        let path = path_shares(&places, &course.schedule, &course.marks);
        let told: Vec<OnPath> = path.iter().map(|share| share.what).collect();
        assert_eq!(
            told[..2],
            [
                code(Spot::Begin, SEND),
                OnPath::Message(Some(SEND), Some(RECEIVE))
            ]
        );
    }

    #[test]
    fn of_a_collective_in_the_background_the_rank_is_told_that_it_waits_for() {
        let call = foretrace_messages::Collective {
            kind: foretrace_network::CollectiveKind::Allreduce,
            root: 0,
            sent: 8,
            received: 8,
            work: 0,
        };
        for name in ["infiniband", "loggps-fast-ethernet", "dimemas"] {
            let mut builder = Builder::new(4);
            for rank in 0..4 {
                builder.push(rank, Operation::work(u64::from(rank) * 100 * MICRO));
                builder.collective(rank, 0, 0, call);
                builder.push(rank, Operation::work(10 * MICRO));
                builder.push(rank, Operation::wait(0));
                let last = if rank == 0 { 500 } else { 1 };
                builder.push(rank, Operation::work(last * MICRO));
            }
            let program = builder.finish("background");
            let preset = Description::preset(name).unwrap().unwrap();
            let network = preset.resolve(4).unwrap();
            let places = RankPlaces::of_program(&program, None);
            let course = course(&program, &network, None, Noted::Everything, &|_, _| true).unwrap();
            let schedule = Schedule {
                wakes: course.causes,
                ..course.schedule
            };
            let path = path_shares(&places, &schedule, &course.marks);
            let allreduce = Spot::Call("allreduce", None);
            let alone = path
                .iter()
                .find(|share| share.what == code(Spot::Begin, allreduce));
            let alone = alone.map(|share| (share.time.0 / MICRO, share.lanes.contains(&3)));
            assert_eq!(alone, Some((300, true)), "{name}: {path:?}");
            let waits = predicted_waits(&places, &schedule, &course.marks);
            assert_eq!(waits[0].kind, WaitKind::Barrier, "{name}");
            assert_eq!(waits[0].ended_by, Some(allreduce), "{name}");
        }
    }

    #[test]
    fn work_that_takes_less_or_is_shared_evenly_is_worth_what_a_replay_says() {
        let program = pair(8);
        let network = network("infiniband");
        let places = RankPlaces::of_program(&program, None);
        let course = course(&program, &network, None, Noted::Everything, &|_, _| true).unwrap();
        let run = |program: &Program| {
            let model = course.attempts[0].model;
            replay(program, &network, model).end.0 / MICRO
        };
        let after = |change: &Change| {
            let work = change.work_of_ranks(&places, &course.marks);
            run(&program.with_work(work.unwrap()))
        };
        let before = run(&program);
        let stretch = |from, to| Change::TwiceAsFast(Stretch { from, to });
        assert_eq!(after(&stretch(Spot::Begin, RECEIVE)), before - 150);
        assert_eq!(after(&stretch(RECEIVE, END)), before - 25);
        assert_eq!(after(&stretch(Spot::Begin, SEND)), before);
        // Both work for 225; of that of rank 1 a seventh comes after the message.
        let even = after(&Change::EvenWork);
        assert!((257..270).contains(&even), "{even}");
        let path = path_shares(&places, &course.schedule, &course.marks);
        let changes = worth_a_try_of_ranks(&course.schedule, &path);
        assert_eq!(changes[0], stretch(Spot::Begin, RECEIVE));
        assert!(changes.contains(&Change::Network(Ease::NoLatency)));
    }
}
