//! Lanes: numbered work side by side, until a deadline. Knows nothing of kernels.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Does `work` for each of `numbers`, in that order, on so many `lanes`; `tell` gets what came of each as soon as it is done,
/// on the thread of the caller. None is begun once `is_over`; the numbers that were not are given back.
pub(super) fn run<T: Send>(
    lanes: usize,
    numbers: &[usize],
    is_over: &(impl Fn() -> bool + Sync),
    work: &(impl Fn(usize) -> T + Sync),
    mut tell: impl FnMut(usize, T),
) -> Vec<usize> {
    let (next, mut begun) = (AtomicUsize::new(0), BTreeSet::new());
    let (done, finished) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..lanes.min(numbers.len()) {
            let (done, next) = (done.clone(), &next);
            scope.spawn(move || {
                while !is_over() {
                    let Some(&number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    if done.send((number, work(number))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(done);
        for (number, came) in finished {
            begun.insert(number);
            tell(number, came);
        }
    });
    numbers.iter().copied().filter(|number| !begun.contains(number)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Mutex, mpsc};
    use std::time::Duration;

    use super::run;

    #[test]
    fn each_is_done_once_and_so_many_at_a_time() {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |number: usize| {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(5));
            running.fetch_sub(1, Ordering::SeqCst);
            number * number
        };
        let numbers: Vec<usize> = (0..20).rev().collect();
        let mut told = Vec::new();
        assert_eq!(run(3, &numbers, &|| false, &work, |number, came| told.push((number, came))), [0; 0]);
        told.sort_unstable();
        assert_eq!(told, (0..20).map(|number| (number, number * number)).collect::<Vec<_>>());
        assert!(most.load(Ordering::SeqCst) <= 3);
    }

    /// Each of the two is done only once the other has begun.
    #[test]
    fn lanes_are_side_by_side() {
        let ((one, heard_one), (two, heard_two)) = (mpsc::channel(), mpsc::channel());
        let ends = Mutex::new(vec![(one, heard_two), (two, heard_one)]);
        let work = |_| {
            let (said, heard) = ends.lock().expect("unpoisoned").pop().expect("two");
            said.send(()).expect("heard");
            heard.recv_timeout(Duration::from_secs(60)).is_ok()
        };
        let mut met = Vec::new();
        run(2, &[0, 1], &|| false, &work, |_, has_met| met.push(has_met));
        assert_eq!(met, [true, true]);
    }

    #[test]
    fn behind_the_deadline_none_is_begun() {
        let begun = AtomicUsize::new(0);
        let work = |_| {
            begun.fetch_add(1, Ordering::SeqCst);
        };
        let is_over = || begun.load(Ordering::SeqCst) >= 2;
        let mut told = Vec::new();
        let left = run(1, &[4, 3, 2, 1], &is_over, &work, |number, ()| told.push(number));
        assert_eq!((told, left), (vec![4, 3], vec![2, 1]));
        assert_eq!(run(8, &[1, 2], &|| true, &work, |_, ()| panic!("begun")), [1, 2]);
    }
}
