//! From a file to a machine.

use std::{
    fs,
    path::{Path, PathBuf},
};

use foretrace_program::Program;
use foretrace_sim::Machine;

use crate::{
    error::{Fault, MachineError},
    file::File,
};

/// What is known of a machine; what is not said is as it is natural for the program.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// Where it came from, and its text, for messages.
    source: Option<(PathBuf, String)>,
    file: File,
}

impl Description {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, or says what is not possible: with the line and what to do.
    pub fn load(path: &Path) -> Result<Self, MachineError> {
        let text = fs::read_to_string(path).map_err(|source| MachineError::Read {
            path: path.display().to_string(),
            source,
        })?;
        Self::parse(&text, path)
    }

    /// Reads a file's text; `path` is for messages.
    ///
    /// # Errors
    ///
    /// Where it says what is not possible: with the line and what to do.
    pub fn parse(text: &str, path: &Path) -> Result<Self, MachineError> {
        let file: File =
            toml::from_str(text).map_err(|error| Fault::from(error).in_file(path, text))?;
        Ok(Self {
            source: Some((path.to_owned(), text.to_owned())),
            file,
        })
    }

    /// Returns the file that it was read from.
    pub fn path(&self) -> Option<&Path> {
        self.source.as_ref().map(|(path, _)| path.as_path())
    }

    /// Makes the machine with so many CPUs that a program is to be replayed on.
    ///
    /// # Errors
    ///
    /// Where that is not possible: with the line and what to do.
    pub fn machine(&self, cpus: u32, program: &Program) -> Result<Machine, MachineError> {
        let mut machine = Machine::new(cpus, program);
        if let Some(handover) = self.file.locks.handover {
            machine.handover = handover.into();
        }
        let table = &self.file.costs;
        let costs = &mut machine.costs;
        for (value, said) in [
            (&mut costs.wake_latency, table.wake_latency),
            (&mut costs.wake_cost, table.wake_cost),
            (&mut costs.block_cost, table.block_cost),
        ] {
            if let Some(time) = said {
                *value = time.0;
            }
        }
        Ok(machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        match Description::parse(text, "m.toml".as_ref()) {
            Ok(description) => panic!("{description:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_cannot_be_is_told_with_its_line_and_the_remedy() {
        for (text, said) in [
            (
                "[costs]\n\nwake_latancy = \"3us\"\n",
                "m.toml, line 3: `wake_latancy` is not a key here; did you mean `wake_latency`?",
            ),
            (
                "[cost]\n",
                "m.toml, line 1: `cost` is not a key here; did you mean `costs`?",
            ),
            (
                "[costs]\nwake_cost = \"-1us\"\n",
                "m.toml, line 2: `-1us` is negative; write 0us where something takes no time",
            ),
            (
                "[costs]\nwake_cost = 15\n",
                "m.toml, line 2: invalid type: integer `15`, expected a string",
            ),
            (
                "[locks]\nhandover = \"fifo\"\n",
                "m.toml, line 2: `fifo` is not known here; known are barging, first-come",
            ),
        ] {
            assert_eq!(error(text), said);
        }
    }
}
