//! Work off the window's thread.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        mpsc::{self, Receiver, TryRecvError},
    },
    thread,
};

use crate::source::Progress;

/// Work under way on a thread of its own. Dropping it cancels it.
#[derive(Debug)]
pub struct Job<T> {
    progress: Arc<Progress>,
    result: Receiver<Result<T, String>>,
}

impl<T: Send + 'static> Job<T> {
    /// Begins it; `on_end` is called when there is a result to be fetched.
    pub fn start(
        work: impl FnOnce(&Progress) -> Result<T, String> + Send + 'static,
        on_end: impl FnOnce() + Send + 'static,
    ) -> Self {
        let progress = Arc::new(Progress::default());
        let (send, result) = mpsc::channel();
        let theirs = Arc::clone(&progress);
        let failed = send.clone();
        let body = move || {
            let done = catch_unwind(AssertUnwindSafe(|| work(&theirs)));
            // Whoever asked may have gone.
            let _ = send.send(done.unwrap_or_else(|_| Err(BUG.to_owned())));
            on_end();
        };
        if let Err(error) = thread::Builder::new()
            .name("prediction".to_owned())
            .spawn(body)
        {
            let _ = failed.send(Err(format!("cannot start a thread: {error}")));
        }
        Self { progress, result }
    }

    /// Returns the result where it is there.
    pub fn poll(&self) -> Option<Result<T, String>> {
        match self.result.try_recv() {
            Ok(result) => Some(result),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(BUG.to_owned())),
        }
    }

    /// Returns how far it has come.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }
}

/// What is said of work that panicked.
const BUG: &str = "this is a bug in foretrace: the work ended unexpectedly. The standard error says more; please report it";

impl<T> Drop for Job<T> {
    fn drop(&mut self) {
        self.progress.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc::channel, time::Duration};

    use super::*;

    #[test]
    fn a_job_gives_its_result_when_it_has_ended() {
        let (ended, wait) = channel();
        let job = Job::start(|_| Ok(7), move || ended.send(()).unwrap());
        wait.recv_timeout(Duration::from_mins(1)).unwrap();
        assert_eq!(job.poll(), Some(Ok(7)));
    }

    #[test]
    fn a_job_that_panics_is_an_error() {
        let (ended, wait) = channel();
        let job: Job<u32> = Job::start(|_| panic!("for the test"), move || ended.send(()).unwrap());
        wait.recv_timeout(Duration::from_mins(1)).unwrap();
        assert!(job.poll().unwrap().unwrap_err().contains("bug"));
    }

    #[test]
    fn a_job_that_nobody_waits_for_is_cancelled() {
        let (told, hear) = channel();
        let job: Job<()> = Job::start(
            move |progress| {
                while progress.tell(1, 2) {
                    thread::yield_now();
                }
                told.send(()).unwrap();
                Err(String::new())
            },
            || (),
        );
        drop(job);
        hear.recv_timeout(Duration::from_mins(1)).unwrap();
    }
}
