//! Rules on commits: what a subject may be, since the commit from which on it is held to that. CONTRIBUTING.md has the
//! rules in words, and the only list of areas.

use std::path::Path;
use std::process::{Command, Output};

use super::tree::File;

/// Subjects after this commit are checked.
const SINCE: &str = "281e8a34d0e397f5fade96baa8ba1dd3a847a908";
/// Characters of a subject, at most.
const LENGTH_MAX: usize = 72;
/// Where CONTRIBUTING.md lists the areas: the backticked words from here to the next blank line.
const AREAS: &str = "<!-- areas -->\n";

/// First words that no imperative begins with: articles, pronouns, prepositions, question words and numbers.
const NO_VERBS: &[&str] = &[
    "a", "after", "all", "also", "an", "and", "as", "at", "before", "both", "but", "by", "each", "every",
    "few", "fewer", "first", "for", "from", "how", "if", "in", "it", "its", "last", "less", "more", "most",
    "new", "no", "not", "now", "of", "on", "one", "only", "or", "other", "our", "some", "such", "than",
    "that", "the", "their", "there", "these", "they", "those", "three", "to", "two", "what", "when", "where",
    "which", "who", "whom", "whose", "why", "with", "without",
];
/// Past tenses that do not end in `ed`.
const PAST: &[&str] = &[
    "became", "began", "broke", "brought", "built", "came", "caught", "chose", "did", "drew", "fell", "gave",
    "got", "grew", "had", "held", "kept", "knew", "left", "lost", "made", "meant", "ran", "said", "sent",
    "shown", "taught", "threw", "told", "took", "went", "were", "won", "wrote",
];
/// Imperatives that end as other forms do.
const VERBS: &[&str] = &["alias", "bias", "canvas", "embed", "focus"];

/// A commit that is no merge.
struct Commit {
    id: String,
    subject: String,
}

/// The areas that CONTRIBUTING.md lists.
fn areas(contributing: &str) -> Vec<&str> {
    let list = contributing.split_once(AREAS).map_or("", |(_, after)| after);
    let list = list.split("\n\n").next().unwrap_or_default();
    list.split('`').skip(1).step_by(2).collect()
}

/// What is wrong with a subject, or nothing.
fn wrong(subject: &str, areas: &[&str]) -> Option<String> {
    let length = subject.chars().count();
    let Some((area, change)) = subject.split_once(": ") else {
        return Some("is not `area: change`".to_owned());
    };
    let first = change.split(' ').next().unwrap_or_default();
    if !areas.contains(&area) {
        Some(format!("has the area `{area}`, which CONTRIBUTING.md does not list"))
    } else if length > LENGTH_MAX {
        Some(format!("has {length} characters, more than {LENGTH_MAX}"))
    } else if subject.contains(';') {
        Some("has a `;`: make it two commits".to_owned())
    } else if subject.ends_with('.') {
        Some("ends with a full stop".to_owned())
    } else {
        not_imperative(first).map(|why| format!("begins with `{first}`, which is {why}: say what to do"))
    }
}

/// Why a word is no imperative, as far as its form tells.
fn not_imperative(word: &str) -> Option<&'static str> {
    let has_vowel = |stem: &str| stem.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    let ends = |end: &str| word.strip_suffix(end).is_some_and(has_vowel);
    if VERBS.contains(&word) {
        None
    } else if word.is_empty() || !word.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
        Some("no word in small letters")
    } else if NO_VERBS.contains(&word) {
        Some("no verb")
    } else if PAST.contains(&word) || (ends("ed") && !word.ends_with("eed")) {
        Some("a past tense")
    } else if ends("ing") {
        Some("a gerund")
    } else if word.len() > 2 && word.ends_with('s') && !word.ends_with("ss") {
        Some("a third person or a plural")
    } else {
        None
    }
}

/// Commits of `folder`'s history after `since`, merges left out; why they cannot be told, where they cannot.
fn history(folder: &Path, since: &str) -> Result<Vec<Commit>, String> {
    let top = git(folder, &["rev-parse", "--show-toplevel"])?;
    if Path::new(top.trim()).canonicalize().ok() != folder.canonicalize().ok() {
        return Err("this tree is no git repository".to_owned());
    }
    git(folder, &["merge-base", "--is-ancestor", since, "HEAD"])
        .map_err(|_| format!("the history does not reach back to {since}: fetch all of it"))?;
    let range = format!("{since}..HEAD");
    let log = git(folder, &["log", "--no-merges", "--format=%h %s", &range])?;
    let commit = |line: &str| {
        let (id, subject) = line.split_once(' ').unwrap_or((line, ""));
        Commit { id: id.to_owned(), subject: subject.to_owned() }
    };
    Ok(log.lines().map(commit).collect())
}

/// What git prints, knowing nothing of a hook that runs this.
fn git(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(arguments);
    command.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE");
    let Output { status, stdout, stderr } = command.output().map_err(|error| format!("no git: {error}"))?;
    if status.success() {
        Ok(String::from_utf8_lossy(&stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&stderr).trim().to_owned())
    }
}

/// The commits, or nothing where it is no fault that they cannot be told. CI has them.
fn known(history: Result<Vec<Commit>, String>, in_ci: bool) -> Result<Vec<Commit>, String> {
    match history {
        Err(reason) if !in_ci => {
            println!("skipped: commits are not checked: {reason}");
            Ok(Vec::new())
        }
        history => history,
    }
}

/// Each subject since [`SINCE`] follows the rules.
pub(super) fn subjects(files: &[File]) -> Vec<String> {
    let contributing = files.iter().find(|file| file.path == "CONTRIBUTING.md");
    let areas = areas(contributing.map_or("", |file| &file.text));
    let in_ci = std::env::var("CI").as_deref() == Ok("true");
    match known(history(&cutegen_tests::workspace(), SINCE), in_ci) {
        Ok(commits) => found(&commits, &areas),
        Err(reason) => vec![format!("commits cannot be checked: {reason}")],
    }
}

fn found(commits: &[Commit], areas: &[&str]) -> Vec<String> {
    let told = |Commit { id, subject }: &Commit| {
        wrong(subject, areas).map(|wrong| format!("commit {id} `{subject}` {wrong}"))
    };
    commits.iter().filter_map(told).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use cutegen_tests::{scratch, write};

    use super::*;

    const LIST: &[&str] = &["spec", "store", "docs"];

    #[test]
    fn subjects_that_say_what_to_do_are_right() {
        for change in [
            "reject empty ranges",
            "embed the version",
            "bring the naive kernel back",
            "feed the runner fewer inputs",
            "process one kernel at a time",
            "bias the cost estimate",
            "re-verify the committed entries",
        ] {
            assert_eq!(wrong(&format!("spec: {change}"), LIST), None);
        }
    }

    #[test]
    fn every_planted_subject_is_found() {
        let long = format!("spec: reject {}", "x".repeat(60));
        for (subject, why) in [
            ("reject empty ranges", "is not `area: change`"),
            ("spec:reject empty ranges", "is not `area: change`"),
            ("mend: refuse links", "the area `mend`"),
            ("simpler: share one load", "the area `simpler`"),
            ("wip: try a lock", "the area `wip`"),
            ("spec/math: reject empty ranges", "the area `spec/math`"),
            (&long, "has 73 characters"),
            ("store: check digests; update the docs", "has a `;`"),
            ("store: check digests.", "ends with a full stop"),
            ("store: checks both digests", "a third person or a plural"),
            ("store: entries are whole", "a third person or a plural"),
            ("store: checked both digests", "a past tense"),
            ("store: made entries whole", "a past tense"),
            ("store: checking both digests", "a gerund"),
            ("docs: of check --min-gate", "no verb"),
            ("docs: the new words", "no verb"),
            ("docs: Describe the lock", "no word in small letters"),
            ("docs: README has the glossary", "no word in small letters"),
        ] {
            let found = wrong(subject, LIST).unwrap_or_default();
            assert!(found.contains(why), "`{subject}`: {found}");
        }
        assert_eq!(wrong(&long[..LENGTH_MAX], LIST), None);
    }

    #[test]
    fn areas_are_read_from_their_list() {
        let text =
            format!("- Title `area: change`.\n{AREAS}`spec` `store`,\nor `docs`.\n\n`mend` is none.\n");
        assert_eq!(areas(&text), LIST);
        assert!(areas("no list").is_empty(), "then every subject is wrong");
    }

    /// A repository with a first commit, a wrong one on a branch, and their merge.
    fn repository(name: &str) -> (PathBuf, String) {
        let folder = scratch(name);
        let run = |arguments: &[&str]| {
            let us = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"];
            git(&folder, &[&us, arguments].concat()).expect("git works")
        };
        run(&["init", "--quiet", "--initial-branch=main"]);
        let commit = |file: &str, subject: &str| {
            write(&folder.join(file), subject);
            run(&["add", "."]);
            run(&["commit", "--quiet", "--message", subject]);
        };
        commit("a", "before: anything; went");
        let first = run(&["rev-parse", "HEAD"]).trim().to_owned();
        run(&["checkout", "--quiet", "-b", "side"]);
        commit("b", "mend: things");
        run(&["checkout", "--quiet", "main"]);
        commit("c", "store: check both digests");
        run(&["merge", "--quiet", "--no-ff", "--message", "Merge branch side", "side"]);
        (folder, first)
    }

    #[test]
    fn a_wrong_commit_is_found_and_a_merge_is_not() {
        let (folder, first) = repository("commits-history");
        let found = found(&history(&folder, &first).expect("a history"), LIST);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("`mend: things`"), "{found:?}");
    }

    #[test]
    fn a_history_that_is_missing_fails_in_ci_alone() {
        let (folder, first) = repository("commits-missing");
        let shallow = scratch("commits-shallow");
        let from = format!("file://{}", folder.display());
        let to = shallow.display().to_string();
        git(&folder, &["clone", "--quiet", "--depth", "1", &from, &to]).expect("cloned");
        let unpacked = scratch("commits-unpacked");
        for (folder, why) in [(&shallow, "does not reach back"), (&unpacked, "no git repository")] {
            let reason = history(folder, &first).map(|commits| commits.len()).expect_err("no history");
            assert!(reason.contains(why), "{reason}");
            assert!(known(history(folder, &first), true).is_err(), "{why}");
            assert!(known(history(folder, &first), false).is_ok_and(|commits| commits.is_empty()), "{why}");
        }
    }
}
