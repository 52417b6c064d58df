//! What a reader of a recording must know: what is missing, and what had to be taken for granted.

use super::build::Builder;
use super::file::Journal;
use super::limits;
use super::names::list;
use crate::oddities::UNSEEN_ENDS;

/// So many times a second of its CPU time a process may give memory back before it is told.
const REMAPS_A_SECOND: u64 = 2_000;

/// Fewer are not worth telling.
const LEAST_REMAPS: u64 = 1_000;

/// Returns whether a process gave memory back often enough that its threads slow each other down so, on several CPUs.
fn remaps_often(journal: &Journal) -> bool {
    let expected = u128::from(journal.exit_cpu) * u128::from(REMAPS_A_SECOND) / 1_000_000_000;
    journal.remaps >= LEAST_REMAPS && u128::from(journal.remaps) > expected
}

impl Builder<'_> {
    /// Adds it to the trace's warnings.
    pub fn warn(&mut self) {
        let by_other_means = [
            limits::futexes(&self.trace),
            self.spins.warnings(&self.trace),
        ];
        let warnings = &mut self.trace.warnings;
        for journal in self.journals {
            warnings.extend(journal.damage.iter().cloned());
            let program = &journal.program;
            if journal.holes > 0 {
                warnings.push(format!(
                    "{program}: {} events were cut short and are missing",
                    journal.holes
                ));
            }
            if journal.stopped || journal.lost_events > 0 {
                warnings.push(format!(
                    "{program}: recording stopped for want of space, or of a number for its file (ulimit -n), or as the program gave up the system calls that recording needs: {} events are missing",
                    journal.lost_events
                ));
            }
            if journal.is_clock_undecided {
                warnings.push(format!(
                    "{program}: its CPU times are less exact than they could be, since the machine was so busy when it began that \
                     the best clock could not be tried out (rseq): record it again while less else runs"
                ));
            }
            if journal.has_tasks {
                warnings.push(format!(
                    "{program}: it has OpenMP tasks with much data, of loops in hundreds of parts (taskloop), or that another thread ends (detach): each counts where it was run, since they are not seen one by one"
                ));
            }
            if remaps_often(journal) {
                warnings.push(format!(
                    "{program}: {} times it gave memory back, or changed what it may do with it (munmap, mprotect, madvise), while it had \
                     several threads: on several CPUs each interrupts those that run the others, for microseconds, which predictions spread \
                     over all that it works (remap_cost in docs/machine.md)",
                    journal.remaps
                ));
            }
            if let Some(library) = &journal.bypassing {
                warnings.push(format!(
                    "{program}: it opened {library:?} with RTLD_DEEPBIND or dlmopen, so that this library calls the C \
                     library past foretrace: what it locks, waits for and creates may be missing (as of any library that \
                     it opened so later); without that flag it would be recorded"
                ));
            }
        }
        let bound = self
            .trace
            .threads
            .iter()
            .filter(|thread| thread.cpu.is_some());
        if let threads @ 1.. = bound.count() {
            let (noun, verb) = if threads == 1 {
                ("thread", "is")
            } else {
                ("threads", "are")
            };
            warnings.push(format!(
                "{threads} {noun} {verb} bound to one CPU by the program itself, and so in predictions; those of CPU K on a \
                 machine of N run on CPU K modulo N (--bind free lets them go)"
            ));
        }
        warnings.extend(by_other_means.into_iter().flatten());
        if !self.endless.is_empty() {
            warnings.push(format!(
                "{UNSEEN_ENDS}{} were not seen (killed, or still running): their last CPU times are those of their last events",
                list(&self.endless)
            ));
        }
        let begun = self.trace.ranks();
        let alone = begun.iter().filter(|(_, _, ranks)| *ranks == 1);
        if let processes @ 2.. = alone.count() {
            self.trace.warnings.push(format!(
                "{processes} processes that use MPI were each the only rank of their program: start them with the launcher of the \
                 implementation that they are linked to (mpirun of Open MPI and of MPICH do not know each other's ranks)"
            ));
        }
        let warnings = &mut self.trace.warnings;
        if self.messages.unclear > 0 {
            warnings.push(format!(
                "{} calls of MPI were cut short or name communicators that were not seen being made, and are missing",
                self.messages.unclear
            ));
        }
        if self.unrecorded > 0 {
            warnings.push(format!(
                "{} processes that were started were not recorded (static, setuid, without the environment's LD_PRELOAD, or ended before they began): waits for them take as long as they took",
                self.unrecorded
            ));
        }
        if self.unknown_threads > 0 {
            warnings.push(format!(
                "{} calls were about threads that were not seen being created, and are missing",
                self.unknown_threads
            ));
        }
    }
}
