//! [`Ordered`]: work on all cores, whose results come in the order in which the work was given. Knows nothing of what is
//! done.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::Scope;

/// Results of numbered work: each comes as soon as it and those before it are done.
pub(super) struct Ordered<T> {
    finished: mpsc::Receiver<(usize, T)>,
    early: BTreeMap<usize, T>,
    wanted: usize,
    /// How many there are.
    pub(super) of: usize,
}

/// Starts `work` for the numbers below `count`, a thread a core. Numbers that no thread has begun when the value is
/// dropped are left out.
pub(super) fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    count: usize,
    work: impl Fn(usize) -> T + Clone + Send + 'scope,
) -> Ordered<T> {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(count);
    let next = Arc::new(AtomicUsize::new(0));
    let (done, finished) = mpsc::channel();
    for _ in 0..threads {
        let (done, next, work) = (done.clone(), Arc::clone(&next), work.clone());
        scope.spawn(move || {
            let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
            for at in numbers.take_while(|at| *at < count) {
                if done.send((at, work(at))).is_err() {
                    break;
                }
            }
        });
    }
    Ordered { finished, early: BTreeMap::new(), wanted: 0, of: count }
}

impl<T> Iterator for Ordered<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        while !self.early.contains_key(&self.wanted) {
            let (at, result) = self.finished.recv().ok()?;
            self.early.insert(at, result);
        }
        self.wanted += 1;
        self.early.remove(&(self.wanted - 1))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::start;

    #[test]
    fn results_come_in_order_and_each_once() {
        let begun = Mutex::new(Vec::new());
        let results: Vec<usize> = std::thread::scope(|scope| {
            let work = |at: usize| {
                begun.lock().expect("unpoisoned").push(at);
                (0..(100 - at) * 1000).map(std::hint::black_box).sum::<usize>();
                at * at
            };
            start(scope, 100, work).collect()
        });
        assert_eq!(results, (0..100).map(|at| at * at).collect::<Vec<_>>());
        let mut begun = begun.into_inner().expect("unpoisoned");
        begun.sort_unstable();
        assert_eq!(begun, (0..100).collect::<Vec<_>>());
        std::thread::scope(|scope| assert_eq!(start(scope, 0, |at| at).count(), 0));
    }
}
