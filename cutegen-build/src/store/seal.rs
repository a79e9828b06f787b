//! The seal of `record.toml`: a first line, a comment to TOML, with the SHA-256 of all lines below it.
//!
//! The record carries the digests of every other file, but no parser notices a flipped digit in a grid or a timing;
//! the seal does. It guards against rot and stray edits, not against an author: the lock and review do that.

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::record::Record;
use cutegen_spec::unread::Unread;

use super::Reason;

const PREFIX: &str = "# sha256 of the lines below: ";

/// The text of `record.toml` for a record's TOML.
pub(super) fn seal(body: &str) -> String {
    format!("{PREFIX}{}\n{body}", ArtifactDigest::of(body.as_bytes()))
}

/// The record under an intact seal.
pub(super) fn open(text: &str) -> Result<Record, Reason> {
    open_as(text, Record::parse)
}

/// As [`open`], also of version 1.
pub(super) fn open_old(text: &str) -> Result<Record, Reason> {
    open_as(text, Record::parse_old)
}

fn open_as(text: &str, parse: fn(&str) -> Result<Record, Unread>) -> Result<Record, Reason> {
    let Some((digest, body)) = text.strip_prefix(PREFIX).and_then(|rest| rest.split_once('\n')) else {
        return Err(unsealed(text));
    };
    let expected = ArtifactDigest::parse(digest).map_err(Reason::Seal)?;
    let found = ArtifactDigest::of(body.as_bytes());
    if found != expected {
        let detail = format!("edited or damaged: its lines have SHA-256 {found}, its seal says {expected}");
        return Err(Reason::Seal(detail));
    }
    parse(body).map_err(Reason::Record)
}

/// A foreign version is the better news of the two.
fn unsealed(text: &str) -> Reason {
    match Record::parse(text) {
        Err(error) => Reason::Record(error),
        Ok(_) => Reason::Seal("its first line is no seal".to_owned()),
    }
}
