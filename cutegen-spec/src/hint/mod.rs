//! What authors of PyTorch, NumPy and CUDA write, and what stands for it here.
//!
//! A word of these lists is answered from them and never by a neighbour in spelling: `tan` and `tanh` are one letter
//! apart, and a kernel with the wrong one compiles. This module knows words only; where they stand, its callers know.

mod dtypes;
mod functions;
mod keys;
mod signs;
mod targets;

pub use dtypes::{dtype, dtypes, same_dtype};
pub use functions::{FUNCTIONS, constant, function};
pub use keys::key;
pub use signs::{character, keyword, pair};
pub use targets::target;

use crate::diagnostic::{folded, nearest};

/// What stands for a word of another language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instead {
    /// The same, by its name here.
    Called(&'static str),
    /// An expression of the arguments in order, `x`, `y` and `z`, with the same value.
    Written(&'static str),
    /// How it is said here, or that it cannot be.
    Said(&'static str),
}

/// Words that mean one thing, with blanks between them, and what stands for it.
pub type Row = (&'static str, Instead);

impl Instead {
    /// The help line.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Instead::Called(name) => format!("it is called `{name}` here"),
            Instead::Written(expression) => format!("write `{expression}`"),
            Instead::Said(text) => text.to_owned(),
        }
    }
}

/// The help line for a slip of the pen.
#[must_use]
pub fn meant<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|near| format!("did you mean `{near}`?"))
}

/// The help line for an axis that is not among `axes`.
#[must_use]
pub fn declare_axis(axes: &[&str]) -> String {
    match axes {
        [] => "declare it: `axes = { m = \"1..=8192\", k = 4096 }`".to_owned(),
        axes => format!("declare it under `axes`; there are: {}", axes.join(", ")),
    }
}

/// The row of `rows` that has `word`, in any case and with or without underscores.
fn find(rows: &[Row], word: &str) -> Option<Instead> {
    let word = folded(word);
    rows.iter().find(|(words, _)| words.split(' ').any(|one| one == word)).map(|(_, instead)| *instead)
}

#[cfg(test)]
mod tests;
