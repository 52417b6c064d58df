//! Networks that are better in one way than others, to tell what that would be worth.

use foretrace_schedule::SimTime;

use crate::{
    Growth, Handshake, Limits, Link, LogGopSim, Network, NetworkModel, PerByte, ReceiveRule,
};

/// In which way a network is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ease {
    /// Messages are not later for the way that they go.
    NoLatency,
    /// Messages take no longer than those of a byte do, however large they are and however many go at the same time.
    AnyBandwidth,
    /// No message waits for its receiver, however large it is; but those that shall wait.
    NoWaiting,
    /// Messages take no time at all, nor do the calls that send and receive them.
    Free,
}

impl Network {
    /// Returns the network as it would be if it were better in some way.
    #[must_use]
    pub fn eased(self, ease: Ease) -> Self {
        let model: Box<dyn NetworkModel> = match self.model.loggopsim() {
            Some(own) => Box::new(of_loggopsim(*own, ease)),
            None => Box::new(Eased {
                model: self.model,
                ease,
            }),
        };
        let topology = self.topology.filter(|_| !ease.is_wide());
        Self {
            model,
            topology,
            ..self
        }
    }
}

impl Ease {
    /// Returns whether messages are not in each other's way.
    fn is_wide(self) -> bool {
        matches!(self, Self::AnyBandwidth | Self::Free)
    }
}

fn of_loggopsim(model: LogGopSim, ease: Ease) -> LogGopSim {
    match ease {
        Ease::NoLatency => LogGopSim {
            latency: SimTime::ZERO,
            ..model
        },
        Ease::AnyBandwidth => LogGopSim {
            gap_per_byte: PerByte::ZERO,
            overhead_per_byte: PerByte::ZERO,
            ..model
        },
        Ease::NoWaiting => LogGopSim {
            rendezvous_above: None,
            ..model
        },
        Ease::Free => LogGopSim {
            latency: SimTime::ZERO,
            overhead: SimTime::ZERO,
            gap: SimTime::ZERO,
            gap_per_byte: PerByte::ZERO,
            overhead_per_byte: PerByte::ZERO,
            rendezvous_above: None,
        },
    }
}

/// A model whose messages take less.
#[derive(Debug)]
struct Eased {
    model: Box<dyn NetworkModel>,
    ease: Ease,
}

impl Eased {
    /// Returns as many bytes as a message seems to have.
    fn bytes(&self, bytes: u64) -> u64 {
        match self.ease {
            Ease::AnyBandwidth => bytes.min(1),
            _ => bytes,
        }
    }

    fn unless_free(&self, time: impl FnOnce() -> SimTime) -> SimTime {
        match self.ease {
            Ease::Free => SimTime::ZERO,
            _ => time(),
        }
    }

    fn handshake_of(&self, link: Link, own: Handshake) -> Handshake {
        match self.ease {
            Ease::NoLatency => {
                let latency = self.model.transit(link, 1);
                Handshake {
                    request: own.request.since(latency).max(own.busy),
                    answer: own.answer.since(latency),
                    ..own
                }
            }
            Ease::Free => Handshake {
                busy: SimTime::ZERO,
                request: SimTime::ZERO,
                answer: SimTime::ZERO,
                ..own
            },
            _ => own,
        }
    }
}

impl NetworkModel for Eased {
    fn name(&self) -> &'static str {
        self.model.name()
    }

    fn send_overhead(&self, link: Link, bytes: u64) -> SimTime {
        self.unless_free(|| self.model.send_overhead(link, self.bytes(bytes)))
    }

    fn receive_overhead(&self, link: Link, bytes: u64) -> SimTime {
        self.unless_free(|| self.model.receive_overhead(link, self.bytes(bytes)))
    }

    fn transit(&self, link: Link, bytes: u64) -> SimTime {
        let all = self.unless_free(|| self.model.transit(link, self.bytes(bytes)));
        match self.ease {
            Ease::NoLatency => all.since(self.model.transit(link, bytes.min(1))),
            _ => all,
        }
    }

    fn receive_rule(&self) -> ReceiveRule {
        self.model.receive_rule()
    }

    fn handshake(&self, link: Link, bytes: u64) -> Option<Handshake> {
        if matches!(self.ease, Ease::NoWaiting | Ease::Free) {
            return None;
        }
        let own = self.model.handshake(link, bytes)?;
        Some(self.handshake_of(link, own))
    }

    fn forced_handshake(&self, link: Link) -> Handshake {
        self.handshake_of(link, self.model.forced_handshake(link))
    }

    fn needs_calls(&self) -> bool {
        self.ease != Ease::Free && self.model.needs_calls()
    }

    fn is_uniform(&self) -> bool {
        self.model.is_uniform()
    }

    fn process_creation(&self) -> SimTime {
        self.model.process_creation()
    }

    fn limits(&self) -> Option<Limits> {
        self.model.limits().filter(|_| !self.ease.is_wide())
    }

    fn collective(
        &self,
        growth: Growth,
        nodes: u32,
        members_per_node: u32,
        bytes: (u64, u64),
    ) -> Option<SimTime> {
        let of = |bytes| {
            self.model
                .collective(growth, nodes, members_per_node, bytes)
        };
        let own = of(bytes)?;
        Some(match self.ease {
            Ease::NoLatency => own.since(of((0, 0))?),
            Ease::AnyBandwidth => of((0, 0))?,
            Ease::NoWaiting => own,
            Ease::Free => SimTime::ZERO,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Description, PRESETS};

    const LINK: Link = Link { from: 0, to: 1 };

    /// The times of a message, from the begin of its send to the end of its receive.
    fn message(network: &Network, bytes: u64) -> u64 {
        let model = &network.model;
        let times = [
            model.send_overhead(LINK, bytes),
            model.transit(LINK, bytes),
            model.receive_overhead(LINK, bytes),
        ];
        times.iter().map(|time| time.0).sum()
    }

    #[test]
    fn every_network_can_be_better_in_each_way() {
        for (name, _) in PRESETS {
            let network = || {
                let preset = Description::preset(name).unwrap().unwrap();
                preset.resolve(2).unwrap()
            };
            let own = message(&network(), 1_000_000);
            let with = |ease| message(&network().eased(ease), 1_000_000);
            assert!(with(Ease::NoLatency) < own, "{name}");
            assert!(with(Ease::AnyBandwidth) < own, "{name}");
            assert_eq!(
                with(Ease::AnyBandwidth),
                message(&network(), 1),
                "{name}: as a message of a byte"
            );
            assert_eq!(with(Ease::NoWaiting), own, "{name}");
            assert_eq!(with(Ease::Free), 0, "{name}");
            for ease in [Ease::NoWaiting, Ease::Free] {
                let eased = network().eased(ease);
                assert_eq!(eased.model.handshake(LINK, 1 << 40), None, "{name}");
            }
            assert!(network().eased(Ease::AnyBandwidth).topology.is_none());
        }
    }
}
