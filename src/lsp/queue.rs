//! Answers that wait to be fetched. It knows no server.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Answer, Found};
use crate::core::facts::Trouble;

/// Answers in the order they came, and how whoever waits for them is woken.
pub(crate) struct Queue {
    answers: Mutex<Vec<Answer>>,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Queue {
    pub(crate) fn new(wake: Box<dyn Fn() + Send + Sync>) -> Self {
        Self { answers: Mutex::default(), wake }
    }

    fn push(&self, answer: Answer) {
        let was_empty = {
            let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            answers.push(answer);
            answers.len() == 1
        };
        // The lock is gone: whoever is woken may take it at once.
        if was_empty {
            (self.wake)();
        }
    }

    pub(crate) fn take(&self) -> Vec<Answer> {
        std::mem::take(&mut *self.answers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Who waits for an answer. One that is forgotten, be it by a panic, is told so.
pub(crate) struct Asker {
    token: u64,
    queue: Option<Arc<Queue>>,
}

impl Asker {
    pub(crate) fn new(token: u64, queue: Arc<Queue>) -> Self {
        Self { token, queue: Some(queue) }
    }

    pub(crate) fn tell(mut self, outcome: Result<Found, Trouble>) {
        self.send(outcome);
    }

    fn send(&mut self, outcome: Result<Found, Trouble>) {
        if let Some(queue) = self.queue.take() {
            queue.push(Answer { token: self.token, outcome });
        }
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.send(Err(trouble("busy", "the language server has just ended")));
    }
}

/// Trouble with a code of the protocol; what may pass says so.
pub(crate) fn trouble(code: &str, reason: impl Into<String>) -> Trouble {
    let retry = matches!(code, "starting" | "busy" | "timeout");
    Trouble { code: code.into(), reason: reason.into(), retry }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn woken_once_for_all_that_waits() {
        let n_woken = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&n_woken);
        let queue = Arc::new(Queue::new(Box::new(move || {
            counter.fetch_add(1, Ordering::SeqCst);
        })));
        Asker::new(1, Arc::clone(&queue)).tell(Ok(Found::default()));
        drop(Asker::new(2, Arc::clone(&queue)));
        assert_eq!(n_woken.load(Ordering::SeqCst), 1);
        let answers = queue.take();
        assert_eq!(answers.iter().map(|a| a.token).collect::<Vec<_>>(), [1, 2]);
        assert!(answers[1].outcome.is_err());
        Asker::new(3, Arc::clone(&queue)).tell(Err(trouble("busy", "x")));
        assert_eq!(n_woken.load(Ordering::SeqCst), 2);
    }
}
