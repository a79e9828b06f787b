//! [`Id`]: what an agent calls a candidate by: its run and its place there, `mcp-squares-1a2b3c4d/1`.

use std::fmt;

use cutegen_build::run_log::{RunId, Sequence, digest};

/// The longest part of a kernel's name in a run's.
const NAME_LONGEST: usize = 48;

/// A candidate of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) run: RunId,
    pub(super) candidate: Sequence,
}

impl Id {
    /// Reads what [`fmt::Display`] writes.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let parsed = text.rsplit_once('/').and_then(|(run, candidate)| {
            Some(Self { run: RunId::parse(run).ok()?, candidate: candidate.parse().ok()? })
        });
        parsed.ok_or_else(|| {
            format!("`{text}` is no id such as `mcp-squares-1a2b3c4d/1`\nnext: `propose` returns one, and `history` lists all")
        })
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.run, self.candidate)
    }
}

/// The name of a server's run for a kernel. `when` differs between servers, and the key between a kernel's targets.
pub(super) fn run(kernel: &str, key: &str, when: &str) -> RunId {
    let name: String = kernel.chars().take(NAME_LONGEST).map(lower).collect();
    let hash = digest(&format!("{key} {when}")).to_string();
    RunId::parse(&format!("mcp-{name}-{}", &hash[..8])).expect("letters, digits and dashes, 64 at most")
}

fn lower(c: char) -> char {
    if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }
}

#[cfg(test)]
mod tests {
    use super::{Id, run};

    #[test]
    fn ids_are_read_as_they_are_written() {
        let id = Id { run: run("rms_norm", "key", "now"), candidate: 12 };
        assert!(id.to_string().starts_with("mcp-rms-norm-") && id.to_string().ends_with("/12"), "{id}");
        assert_eq!(Id::parse(&id.to_string()), Ok(id));
        for wrong in ["", "12", "mcp-x", "mcp-x/", "mcp-x/y", "../mcp-x/1", "Mcp/1", "mcp-x/-1"] {
            assert!(Id::parse(wrong).is_err_and(|why| why.contains("`history`")), "{wrong}");
        }
    }

    #[test]
    fn each_server_and_target_has_a_run_of_its_own() {
        let first = run("squares", "key", "1 2");
        assert_ne!(first, run("squares", "key", "2 2"));
        assert_ne!(first, run("squares", "other", "1 2"));
        assert_eq!(run(&"Long_name".repeat(20), "key", "1").as_str().len(), 4 + 48 + 1 + 8);
    }
}
