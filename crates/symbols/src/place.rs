//! What is known of a place in a program.

use crate::names;

/// A function at a place, and where in the source that is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The function's name, demangled, without its parameters.
    pub function: Option<String>,
    /// How many bytes behind the function's beginning the place lies; only where the symbol table is all there is.
    pub offset: Option<u64>,
    /// The source file, as the compiler knew it.
    pub file: Option<String>,
    /// The line in that file, from 1.
    pub line: Option<u32>,
}

/// A place in a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The functions, the innermost inlined one first, the one that was really called last; none where nothing is known.
    pub frames: Vec<Frame>,
    /// The path of the file that holds the code.
    pub module: String,
    /// The offset in that file, as the trace has it.
    pub offset: u64,
}

impl Place {
    /// Returns the frame to show: the innermost one that is not of a system header or a standard library, such as the
    /// caller of `std::mutex::lock`; else the innermost.
    ///
    /// ```
    /// use foretrace_symbols::{Frame, Place};
    ///
    /// let frame = |function: &str, file: &str| Frame {
    ///     function: Some(function.to_owned()),
    ///     file: Some(file.to_owned()),
    ///     ..Frame::default()
    /// };
    /// let place = Place {
    ///     frames: vec![frame("std::mutex::lock", "/usr/include/c++/14/mutex"), frame("Pool::push", "/home/me/pool.cpp")],
    ///     module: "/home/me/pool".to_owned(),
    ///     offset: 0x1234,
    /// };
    /// assert_eq!(place.name(), "Pool::push");
    /// ```
    pub fn frame(&self) -> Option<&Frame> {
        let own = |frame: &&Frame| {
            frame
                .file
                .as_deref()
                .is_some_and(|file| !names::is_of_the_system(file))
        };
        self.frames.iter().find(own).or(self.frames.first())
    }

    /// Returns the function's name; `name+0xoffset` where only the symbol table tells, `file+0xoffset` where nothing does.
    pub fn name(&self) -> String {
        match self.frame() {
            Some(Frame {
                function: Some(name),
                offset: None | Some(0),
                ..
            }) => name.clone(),
            Some(Frame {
                function: Some(name),
                offset: Some(offset),
                ..
            }) => format!("{name}+{offset:#x}"),
            _ => {
                let file = self.module.rsplit('/').next().unwrap_or(&self.module);
                format!("{file}+{:#x}", self.offset)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(frames: Vec<Frame>) -> Place {
        Place {
            frames,
            module: "/usr/bin/program".to_owned(),
            offset: 0x1020,
        }
    }

    fn frame(function: &str, file: &str) -> Frame {
        Frame {
            function: Some(function.to_owned()),
            file: Some(file.to_owned()),
            ..Frame::default()
        }
    }

    #[test]
    fn names_fall_back_from_functions_to_offsets() {
        let symbol = |offset| Frame {
            function: Some("work".to_owned()),
            offset: Some(offset),
            ..Frame::default()
        };
        assert_eq!(place(vec![frame("work", "a.c")]).name(), "work");
        assert_eq!(place(vec![symbol(0x20)]).name(), "work+0x20");
        assert_eq!(place(vec![symbol(0)]).name(), "work");
        assert_eq!(place(Vec::new()).name(), "program+0x1020");
    }

    #[test]
    fn headers_of_the_system_are_shown_only_where_there_is_nothing_else() {
        let header = frame("lock", "/usr/include/c++/14/mutex");
        let own = frame("push", "/home/me/pool.cpp");
        assert_eq!(place(vec![header.clone(), own]).name(), "push");
        assert_eq!(place(vec![header]).name(), "lock");
    }
}
