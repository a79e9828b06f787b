//! What is said of many kernels that cannot be replayed: those that are merely not locked share one message, as one command
//! locks them all; every other has its own.

use super::replay::{Cause, ReplayError};

/// Names that a message shows, before it counts the rest.
const SHOWN: usize = 4;

/// Messages of all these.
#[must_use]
pub fn told(errors: &[ReplayError]) -> Vec<String> {
    let (unlocked, others): (Vec<_>, Vec<_>) = errors.iter().partition(|error| is_unlocked(error));
    let together = match unlocked[..] {
        [] => None,
        [one] => Some(one.to_string()),
        [one, ..] => Some(together(one, &unlocked, others.is_empty())),
    };
    together.into_iter().chain(others.iter().map(ToString::to_string)).collect()
}

/// Whether `lock` takes nothing from it.
fn is_unlocked(error: &ReplayError) -> bool {
    matches!(*error.cause, Cause::NotLocked { .. }) && !error.is_searched
}

/// Where something else is wrong too, the command names kernels: without names it would take other kernels along.
fn together(one: &ReplayError, unlocked: &[&ReplayError], is_all: bool) -> String {
    let mut names: Vec<&str> = unlocked.iter().map(|error| error.kernel.as_str()).collect();
    names.dedup();
    let what = match names.len() {
        1 => format!("a kernel is not in {} for {} targets", one.lock.display(), unlocked.len()),
        kernels if kernels == unlocked.len() => {
            format!("{kernels} kernels are not in {}", one.lock.display())
        }
        kernels => {
            format!(
                "{kernels} kernels are not in {}, {} with their targets",
                one.lock.display(),
                unlocked.len()
            )
        }
    };
    let of_all = is_all && names.len() > SHOWN;
    let named = if of_all { String::new() } else { format!(" {}", names.join(" ")) };
    format!("{what}: {}\nrun: cargo cutegen lock", abbreviated(&names)) + &named
}

/// The first of some names, and how many more there are.
#[must_use]
pub fn abbreviated(names: &[&str]) -> String {
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use cutegen_spec::lock::State;

    use super::told;
    use crate::store::replay::{Cause, ReplayError};

    fn error(kernel: &str, target: &str, cause: Cause) -> ReplayError {
        ReplayError {
            kernel: kernel.to_owned(),
            target: target.to_owned(),
            lock: PathBuf::from("cutegen.lock"),
            locked: None,
            cause: Box::new(cause),
            is_searched: false,
        }
    }

    fn unlocked(kernel: &str, target: &str) -> ReplayError {
        error(kernel, target, Cause::NotLocked { elsewhere: Vec::new() })
    }

    #[test]
    fn many_that_are_not_locked_share_a_message() {
        let names = ["a", "b", "c", "d", "e"];
        let both = |name: &&str| [unlocked(name, "host"), unlocked(name, "sm_90a")];
        let mut errors: Vec<ReplayError> = names.iter().flat_map(both).collect();
        let head = "5 kernels are not in cutegen.lock, 10 with their targets: a, b, c, d and 1 more\n";
        assert_eq!(told(&errors), [format!("{head}run: cargo cutegen lock")]);

        let moved = Cause::KeyMoved { fields: Vec::new(), state: State::Tuned };
        errors.push(error("f", "host", moved));
        let told_of = told(&errors);
        assert_eq!(told_of[0], format!("{head}run: cargo cutegen lock a b c d e"), "`f` stays tuned");
        assert!(told_of.len() == 2 && told_of[1].starts_with("kernel `f` for host"), "{told_of:?}");
    }

    #[test]
    fn targets_of_one_kernel_share_a_message() {
        let errors = [unlocked("a", "host"), unlocked("a", "sm_90a")];
        let message = "a kernel is not in cutegen.lock for 2 targets: a\nrun: cargo cutegen lock a";
        assert_eq!(told(&errors), [message]);
    }

    #[test]
    fn one_and_what_a_search_left_are_told_as_ever() {
        let mut errors = vec![unlocked("a", "host")];
        assert_eq!(told(&errors), [errors[0].to_string()]);
        errors.push(unlocked("b", "host"));
        errors[1].is_searched = true;
        assert_eq!(told(&errors), [errors[0].to_string(), errors[1].to_string()]);
    }
}
