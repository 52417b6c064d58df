//! How a command ends: exit codes.

use foretrace_trace::ExitStatus;

use crate::{launch, output::ClosedPipe};

/// All is well.
pub const FINE: u8 = 0;
/// foretrace failed.
pub const FAILED: u8 = 1;
/// The command line makes no sense.
pub const USAGE: u8 = 2;
/// The program that foretrace ran failed.
pub const PROGRAM_FAILED: u8 = 3;
/// A gate did not hold.
pub const GATE_FAILED: u8 = 4;

/// The exit codes, for `--help`.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  fine
  1  foretrace failed
  2  the command line makes no sense
  3  the recorded program failed (`record` itself ends as the program did)
  4  a gate did not hold";

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// All is well.
    Fine,
    /// Well, but what was asked for as a gate does not hold.
    GateFailed,
    /// As the recorded program did.
    AsProgram(ExitStatus),
}

/// A command line that makes no sense, found after it was parsed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// The program that foretrace ran failed.
#[derive(Debug, thiserror::Error)]
#[error("the program failed: {}", launch::exit_text(*.0))]
pub struct ProgramFailed(pub ExitStatus);

/// Returns the exit code for an error.
pub fn code_of(error: &anyhow::Error) -> u8 {
    if error.is::<ClosedPipe>() {
        FINE
    } else if error.is::<Usage>() {
        USAGE
    } else if error.is::<ProgramFailed>() {
        PROGRAM_FAILED
    } else {
        FAILED
    }
}

/// Returns an error with its causes in one line, like `{:#}`, but without repeating a cause that the error above it
/// already spells out.
pub fn message(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain() {
        let text = cause.to_string();
        if message.ends_with(&text) {
            continue;
        }
        if !message.is_empty() {
            message.push_str(": ");
        }
        message.push_str(&text);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let cause = anyhow::anyhow!("no such file");
        let error = cause
            .context("a.ftrace: no such file")
            .context("cannot read");
        assert_eq!(message(&error), "cannot read: a.ftrace: no such file");
    }

    #[test]
    fn errors_choose_the_exit_code() {
        assert_eq!(code_of(&anyhow::anyhow!("anything")), FAILED);
        assert_eq!(code_of(&Usage("--cpu 9".to_owned()).into()), USAGE);
        assert_eq!(code_of(&ClosedPipe.into()), FINE);
        let killed = ProgramFailed(ExitStatus::Signal(11));
        assert_eq!(killed.to_string(), "the program failed: SIGSEGV");
        assert_eq!(code_of(&killed.into()), PROGRAM_FAILED);
    }
}
