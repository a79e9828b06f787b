//! What of a prompt may be left out where an endpoint finds it too long, by what it is worth to an answer. The whole prompt is what a
//! log has the digest of; it must not know who shortens one.

use std::ops::Range;

/// What such a text is worth, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Worth {
    /// A kernel of another computation, for its form.
    Example,
    /// Kernels to look at.
    OtherKernels,
    /// What is known to work for a class.
    Advice,
    /// Hints, and how an answer cites them.
    Hints,
    /// What was tried.
    Attempts,
    /// The page of headers. All prompts have it.
    Headers,
}

/// Of a prompt's text, what may be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Optional {
    /// What it is worth.
    pub worth: Worth,
    /// Its bytes.
    pub range: Range<usize>,
}

impl Worth {
    /// Of what a template calls so; none of what stays.
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "example" => Self::Example,
            "bank" | "beside" => Self::OtherKernels,
            "advice" => Self::Advice,
            "hints" | "cite" => Self::Hints,
            "log" => Self::Attempts,
            "kit" => Self::Headers,
            _ => return None,
        })
    }
}

/// Of the places of a template's values, in their order, those that may go.
pub(super) fn of(places: Vec<(&str, Range<usize>)>) -> Vec<Optional> {
    let known = places.into_iter().filter(|(_, range)| !range.is_empty());
    known.filter_map(|(name, range)| Some(Optional { worth: Worth::of(name)?, range })).collect()
}
