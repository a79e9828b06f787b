//! The one thread that speaks over sockets, with a runtime of its own. Callers wait for it; nothing else here is async.

use std::io;
use std::sync::mpsc;
use std::thread::JoinHandle;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::exchange::{Came, Loss, Sending, exchange};

/// A request, and where its end is told.
type Job = (Sending, mpsc::Sender<Came>);

/// The thread. It ends with this value.
pub(super) struct Runtime {
    jobs: Option<UnboundedSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Runtime {
    /// Starts it.
    pub(super) fn start() -> io::Result<Self> {
        // of two in one process the first has its way, and both are this one
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (jobs, received) = unbounded_channel();
        let serve = move || {
            runtime.block_on(serve(received));
            // a resolver that hangs is not waited for
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("cutegen-model".to_owned()).spawn(serve)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Has a request sent, and waits for its end.
    pub(super) fn exchange(&self, sending: Sending) -> Came {
        let (told, end) = mpsc::channel();
        let is_taken = self.jobs.as_ref().is_some_and(|jobs| jobs.send((sending, told)).is_ok());
        if !is_taken {
            return Came::NotSent("the thread for requests has ended".to_owned());
        }
        end.recv().unwrap_or_else(|_| Came::Lost(Loss::CutOff("the request's task has ended".to_owned())))
    }
}

async fn serve(mut jobs: UnboundedReceiver<Job>) {
    while let Some((sending, told)) = jobs.recv().await {
        tokio::spawn(async move {
            // a caller that is gone wants no answer
            let _ = told.send(exchange(sending).await);
        });
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
