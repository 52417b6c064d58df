//! A model of any master/slave program, from eight numbers.

/// The numbers. Times are in seconds, and the means of exponential distributions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers {
    /// The number of slaves.
    pub slaves: u32,
    /// The results that the master's buffer holds.
    pub buffer: u32,
    /// The time to send a task.
    pub send: f64,
    /// The time to compute a result.
    pub compute: f64,
    /// The time to send a result back.
    pub transmit: f64,
    /// The time for the master to take a result in.
    pub evaluate: f64,
    /// The results that a task gives, at least 1.
    pub packs: f64,
    /// The time from when the master has nothing left to hand out to the next run.
    pub restart: f64,
}

/// Returns the model's text, under a line that says where it comes from.
///
/// # Source
///
/// The generic model with a buffer of Baldo and others, "Performance models for master/slave parallel programs", sections 3.1
/// and 5.1.
pub fn text(numbers: &Numbers, about: &str) -> String {
    let Numbers {
        slaves,
        buffer,
        send,
        compute,
        transmit,
        evaluate,
        packs,
        restart,
    } = numbers;
    let packs = packs.max(1.0);
    let head: String = about.lines().flat_map(|line| ["# ", line, "\n"]).collect();
    format!(
        "{head}# The master hands a task to each slave that has none; results wait for it in a buffer.

param slaves = {slaves};
param buffer = {buffer};          # results that it holds
param send = {send:?};           # seconds to send a task
param compute = {compute:?};     # seconds to compute a result
param transmit = {transmit:?};   # seconds to send a result back
param evaluate = {evaluate:?};   # seconds for the master to take a result in
param packs = {packs:?};         # results of a task, at least 1
param restart = {restart:?};     # seconds from a run's end to the next one's begin
{MODEL}"
    )
}

const MODEL: &str = "
let more = (packs - 1) / packs;                 # a task's result is not its last one
let working = nb [Slave[1..slaves]] idle == 0;  # no slave waits for a task

event up rate 1 / (send * slaves);
event down rate 1 / restart;
event hand[1..slaves] rate 1 / send;
event take rate 1 / evaluate;
event done[1..slaves] rate 1 / compute;
event deliver[1..slaves] rate 1 / transmit;

automaton Master {
  state starting { up -> receiving; }
  state receiving {
    take -> receiving prob working;
    take -> sending prob 1 - working;
  }
  state sending {
    hand[1..slaves] -> receiving;
    down -> starting;
  }
}

automaton Buffer {
  state b in 0..buffer {
    deliver[1..slaves] -> b + 1 if b < buffer;
    take -> b - 1 if b > 0;
    down -> 0;
  }
}

automaton Slave[i in 1..slaves] {
  state idle {
    up -> computing;
    hand[i] -> computing;
    down -> idle;
  }
  state computing {
    done[i] -> transmitting;
    down -> idle;
  }
  state transmitting {
    deliver[i] -> computing prob more;
    deliver[i] -> idle prob 1 - more;
    down -> idle;
  }
}

result tasks_per_second = (st Master == receiving) * (st Buffer > 0) / (evaluate * packs);
result slaves_idle = nb [Slave[1..slaves]] idle / slaves;
result slaves_computing = nb [Slave[1..slaves]] computing / slaves;
result slaves_transmitting = nb [Slave[1..slaves]] transmitting / slaves;
result master_sending = st Master == sending;
result buffer_mean = st Buffer;
result buffer_full = st Buffer == buffer;
";
