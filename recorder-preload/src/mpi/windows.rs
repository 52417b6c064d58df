//! When some ranks may use each other's parts of a window, and no longer.

use core::ffi::c_int;

use foretrace_trace::journal::mpi::{Epochs, position};

use super::arguments::Arguments;
use super::communicators::{group_size, tell_group};
use super::requests::with_words;
use super::{blocking, messages};

/// Records that such a time begins, with whom, or that it ends.
pub fn epoch(arguments: &Arguments, sort: Epochs) -> c_int {
    match sort {
        Epochs::Post | Epochs::Start => {
            let (group, window) = (arguments.handle(0), arguments.handle(2));
            let members = group_size(group);
            with_words(1 + members, |words| {
                if let Some(first) = words.first_mut() {
                    *first = window as u64;
                }
                let count = tell_group(words, 1, group, members);
                blocking(arguments, words.get(..count).unwrap_or_default(), |_| 0)
            })
        }
        Epochs::Complete | Epochs::Wait => {
            let words = [arguments.handle(0) as u64];
            if arguments.position == position::Win_test {
                return messages::look(arguments, &words, 1);
            }
            blocking(arguments, &words, |_| 0)
        }
    }
}
