//! In which loop that waits for memory to change a sample of a process is: told by the loop's code alone (`loops.rs`), or by running that on from the sample
//! (`loops/rehearsal.rs`).

use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, File},
    ops::RangeInclusive,
    os::unix::fs::FileExt as _,
};

use super::{
    loops::{
        processor::Memory,
        rehearsal::{MOST_STEPS, Round, rehearse},
        waiting_loop,
    },
    samples::{Registers, Seen, Sight},
};

/// As many bytes on both sides of a sample are looked at.
const AROUND: u64 = 128;

/// From samples of one instruction, code is run so often in vain: what was waited for may have come since.
const TRIES: u8 = 8;

/// Of each thread so many samples are run on from, those that were taken last: before that, it may have waited for what has come since.
const RUN_ON: usize = 2;

/// So many of each thread's last samples are looked for on the way.
const LAST: usize = 8;

/// So many steps may be run for samples that are taken together.
const STEPS: u32 = 4 * MOST_STEPS;

/// Where a loop is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub module: String,
    /// Its first instruction's offset in that file.
    pub offset: u64,
    /// Whether it goes on by itself when it has waited long enough.
    pub is_bounded: bool,
    /// Whether it was told by running its code on, with memory that may not have been the thread's at the sample.
    pub is_likely: bool,
}

/// What is known of instructions, by process and address.
#[derive(Debug, Default)]
pub struct Loops {
    known: BTreeMap<(u32, u64), Known>,
    /// From where to where loops go that were told by running their code on, by process.
    found: Vec<(u32, RangeInclusive<u64>, usize)>,
}

#[derive(Clone, Copy, Debug)]
enum Known {
    /// It is in this loop.
    In(usize),
    /// Nothing was found in so many tries.
    Tried(u8),
}

impl Loops {
    /// Finds loops that waited when these samples were taken, which are the last ones; `number` numbers them.
    pub fn find(&mut self, sights: &[Sight], mut number: impl FnMut(Place) -> usize) {
        let mut last: BTreeMap<(u32, u32), Vec<Registers>> = BTreeMap::new();
        for sight in sights.iter().rev() {
            let Seen::At(address) = sight.seen else {
                continue;
            };
            let found = self.at((sight.pid, address), &mut number);
            let of_thread = last.entry((sight.pid, sight.tid)).or_default();
            if found.is_none() && of_thread.len() < LAST {
                of_thread.extend(sight.registers);
            }
        }
        let mut steps = STEPS;
        for ((pid, _), samples) in last {
            for (place, registers) in samples.iter().enumerate().take(RUN_ON) {
                let known = self.known.get_mut(&(pid, registers.instruction));
                let Some(Known::Tried(tries)) = known.filter(|_| steps > 0) else {
                    continue;
                };
                if *tries < TRIES {
                    *tries += 1;
                    if let Some(round) = round_of(pid, &samples, place, &mut steps) {
                        self.note(pid, &round, &mut number);
                    }
                }
            }
        }
    }

    /// Returns the number of the loop that an address of a process is in.
    pub fn at(
        &mut self,
        (pid, address): (u32, u64),
        mut number: impl FnMut(Place) -> usize,
    ) -> Option<usize> {
        let known = self.known.entry((pid, address)).or_insert_with(|| {
            let around = self
                .found
                .iter()
                .find(|(process, around, _)| *process == pid && around.contains(&address));
            let known = around.map(|(_, _, loop_number)| *loop_number);
            let known = known.or_else(|| by_code(pid, address).map(&mut number));
            known.map_or(Known::Tried(0), Known::In)
        });
        match known {
            Known::In(loop_number) => Some(*loop_number),
            Known::Tried(_) => None,
        }
    }

    /// Notes a round that threads of a process wait in.
    fn note(&mut self, pid: u32, round: &Round, mut number: impl FnMut(Place) -> usize) {
        if let Some((module, offset)) = module_at(pid, round.begin) {
            let loop_number = number(Place {
                module,
                offset,
                is_bounded: false,
                is_likely: true,
            });
            let around = round.begin..=round.end;
            let there = (pid, *around.start())..=(pid, *around.end());
            for (_, known) in self.known.range_mut(there) {
                *known = Known::In(loop_number);
            }
            self.found.push((pid, around, loop_number));
            let all = round.addresses.iter();
            let known = all.map(|&address| ((pid, address), Known::In(loop_number)));
            self.known.extend(known);
        }
    }
}

/// Runs a thread of a process on from one of its samples, for no more than so many steps, of which those that it takes are taken away. Returns the round that it
/// goes through without an end, where another of its samples is on the way.
fn round_of(pid: u32, samples: &[Registers], place: usize, steps: &mut u32) -> Option<Round> {
    let mut pages = Pages::of(pid)?;
    let (round, taken) = rehearse(samples[place], &mut pages, MOST_STEPS.min(*steps));
    *steps = steps.saturating_sub(taken);
    let (before, after) = samples.split_at(place);
    let mut others = before.iter().chain(&after[1..]);
    round.filter(|round| others.any(|other| round.comes_to(other)))
}

/// The pages of a process that were read.
struct Pages {
    memory: File,
    read: HashMap<u64, Option<Box<[u8; PAGE]>>>,
}

const PAGE: usize = 4096;

impl Pages {
    fn of(pid: u32) -> Option<Self> {
        Some(Self {
            memory: memory_of(pid)?,
            read: HashMap::new(),
        })
    }
}

impl Memory for Pages {
    fn byte(&mut self, address: u64) -> Option<u8> {
        let number = address / PAGE as u64;
        let page = self.read.entry(number).or_insert_with(|| {
            let mut page = Box::new([0; PAGE]);
            let read = self.memory.read_exact_at(&mut *page, number * PAGE as u64);
            read.is_ok().then_some(page)
        });
        let page = page.as_ref()?;
        page.get(address as usize % PAGE).copied()
    }
}

fn memory_of(pid: u32) -> Option<File> {
    File::open(format!("/proc/{pid}/mem")).ok()
}

/// Returns the waiting loop that an instruction of a process is in, as far as its code tells.
fn by_code(pid: u32, address: u64) -> Option<Place> {
    let first = address.checked_sub(AROUND)?;
    let mut code = [0; 2 * AROUND as usize];
    let length = memory_of(pid)?.read_at(&mut code, first).ok()?;
    let found = waiting_loop(&code[..length], AROUND as usize)?;
    let (module, offset) = module_at(pid, first + found.begin as u64)?;
    Some(Place {
        module,
        offset,
        is_bounded: found.is_bounded,
        is_likely: false,
    })
}

/// Returns the file that a process has at an address, and the offset in it.
fn module_at(pid: u32, address: u64) -> Option<(String, u64)> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    maps.lines().find_map(|line| module_of(line, address))
}

/// Takes a line such as `55d0-55d4 r-xp 00002000 fe:01 1234  /usr/bin/prog`.
fn module_of(line: &str, address: u64) -> Option<(String, u64)> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = (number(start)?, number(end)?);
    let offset = number(fields.nth(1)?)?;
    let path = fields.last()?.trim_start();
    (path.starts_with('/') && (start..end).contains(&address))
        .then(|| (path.to_owned(), address - start + offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_the_file_that_was_mapped_there() {
        let line = "55d000-55d400 r-xp 00002000 fe:01 1234                       /usr/bin/my prog";
        let found = module_of(line, 0x55_d010);
        assert_eq!(found, Some(("/usr/bin/my prog".to_owned(), 0x2010)));
        assert_eq!(module_of(line, 0x55_d400), None);
        assert_eq!(module_of("7ff000-7ff400 rw-p 0 00:00 0 ", 0x7f_f010), None);
    }
}
