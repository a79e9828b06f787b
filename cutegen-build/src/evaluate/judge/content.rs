//! [`Content`]: what a tensor holds before a launch, either its bytes or what they are drawn from, for a backend that draws
//! for itself. Both are the same bytes. It must not know of backends.

use std::borrow::Cow;

use super::inputs::{Request, reals};
use crate::outcome::Distribution;

/// What one tensor holds before a launch.
#[derive(Clone, Debug)]
pub(in crate::evaluate) enum Content {
    /// Its memory.
    Bytes(Vec<u8>),
    /// Floats without gaps, not drawn yet.
    Drawn(Distribution, Request),
}

/// Contents of every tensor, by position; none for what a kernel writes.
pub(in crate::evaluate) type Contents = Vec<Option<Content>>;

/// The same, all drawn.
pub(in crate::evaluate) type Bytes = Vec<Option<Vec<u8>>>;

impl Content {
    /// Its bytes, drawn here if they are not.
    pub(in crate::evaluate) fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Content::Bytes(bytes) => Cow::Borrowed(bytes),
            Content::Drawn(distribution, request) => Cow::Owned(reals(*distribution, request)),
        }
    }

    /// The same, without a copy.
    fn into_bytes(self) -> Vec<u8> {
        match self {
            Content::Bytes(bytes) => bytes,
            Content::Drawn(distribution, request) => reals(distribution, &request),
        }
    }

    /// How many bytes that are.
    pub(in crate::evaluate) fn len(&self) -> usize {
        match self {
            Content::Bytes(bytes) => bytes.len(),
            Content::Drawn(_, request) => request.bytes(),
        }
    }
}

/// All of them drawn.
pub(in crate::evaluate) fn drawn(contents: Contents) -> Bytes {
    contents.into_iter().map(|content| content.map(Content::into_bytes)).collect()
}
