//! `explain`: what a diagnostic's code means, or how a kernel's locked variants were judged and timed.

mod kernel;
mod page;
mod speed;
mod variant;

use crate::args::{Command, Explain};
use crate::failure::Failure;
use crate::output::Output;

/// Prints one page, the list of codes, or what is known of a kernel.
pub(crate) fn run(command: &Command, verb: &Explain, out: &Output) -> Result<(), Failure> {
    match &verb.word {
        None => {
            page::list(out);
            Ok(())
        }
        Some(word) if page::is_code(word) => page::print(word, out),
        Some(name) => kernel::print(command, name, verb.target.as_deref(), out),
    }
}

#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod tests;
