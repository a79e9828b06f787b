//! Programs by name: the command lines of language models. Their flags are those of their public documentation; neither was
//! run here.

use super::{Limits, Program};

/// The command line `claude`, without tools: it answers from the prompt alone. Not run here.
#[must_use]
pub fn claude(model: Option<&str>) -> Program {
    // tools of its own, and those of servers that a person configured
    let head = ["claude", "-p", "--output-format", "text", "--tools", "", "--strict-mcp-config"];
    let env = ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"];
    program(&head, model.map(|model| ["--model", model]), &[], &env)
}

/// The command line `codex`, in its sandbox that only reads. Not run here.
#[must_use]
pub fn codex(model: Option<&str>) -> Program {
    let head = ["codex", "exec", "--skip-git-repo-check", "--sandbox", "read-only"];
    program(&head, model.map(|model| ["-m", model]), &["-"], &["CODEX_API_KEY", "CODEX_HOME"])
}

fn program(head: &[&str], model: Option<[&str; 2]>, tail: &[&str], env: &[&str]) -> Program {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let argv = [owned(head), owned(model.as_ref().map_or(&[], <[&str; 2]>::as_slice)), owned(tail)].concat();
    Program { argv, limits: Limits::default(), env: owned(env) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claude_has_no_tools() {
        let words = "claude|-p|--output-format|text|--tools||--strict-mcp-config";
        assert_eq!(claude(None).argv.join("|"), words);
        assert_eq!(claude(Some("some-model")).argv.join("|"), format!("{words}|--model|some-model"));
    }

    #[test]
    fn codex_only_reads() {
        let words = "codex exec --skip-git-repo-check --sandbox read-only";
        assert_eq!(codex(None).argv.join(" "), format!("{words} -"));
        assert_eq!(codex(Some("some-model")).argv.join(" "), format!("{words} -m some-model -"));
    }

    #[test]
    fn a_name_of_a_model_is_one_argument() {
        assert!(claude(Some("a b; c")).argv.contains(&"a b; c".to_owned()));
        assert!(codex(Some("a b; c")).argv.contains(&"a b; c".to_owned()));
    }
}
