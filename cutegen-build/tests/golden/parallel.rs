//! Work on all cores.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `work` of every item, in order.
pub(crate) fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let run = || {
        while let Some((position, item)) = take(items, &next) {
            let result = work(item);
            done.lock().expect("no thread panicked").push((position, result));
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        (0..threads).for_each(|_| drop(scope.spawn(run)));
    });
    let mut done = done.into_inner().expect("no thread panicked");
    done.sort_by_key(|(position, _)| *position);
    done.into_iter().map(|(_, result)| result).collect()
}

fn take<'a, T>(items: &'a [T], next: &AtomicUsize) -> Option<(usize, &'a T)> {
    let position = next.fetch_add(1, Ordering::Relaxed);
    items.get(position).map(|item| (position, item))
}
