//! A thread that samples in the background until it is stopped.

use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use crate::error::{Error, Result};

/// Dropping it stops the thread and loses the samples.
#[derive(Debug)]
pub(crate) struct Background<T> {
    /// The sampled quantity, for errors.
    what: &'static str,
    stop: Sender<()>,
    thread: JoinHandle<Result<T>>,
}

impl<T: Send + 'static> Background<T> {
    /// Runs `sample` in a thread; it must return when its receiver gets a message or is disconnected.
    pub(crate) fn start(
        name: &str,
        what: &'static str,
        sample: impl FnOnce(&Receiver<()>) -> Result<T> + Send + 'static,
    ) -> Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || sample(&stopped))
            .map_err(|source| Error::Sampler { what: what.to_owned(), source })?;
        Ok(Self { what, stop, thread })
    }

    /// Ends the thread and returns its result.
    pub(crate) fn stop(self) -> Result<T> {
        // Fails only if the thread has already ended; the reason is in its result.
        let _ = self.stop.send(());
        self.thread.join().unwrap_or_else(|_| {
            let source = io::Error::other("the sampling thread panicked");
            Err(Error::Sampler { what: self.what.to_owned(), source })
        })
    }
}
