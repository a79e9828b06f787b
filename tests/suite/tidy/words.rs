//! Plain words: doc comments in short sentences, and names without what the glossary has a better word for.
//!
//! `tests/suite/tidy/sentences.txt` has the files whose doc comments are longer than [`MOST`] words a sentence in the
//! mean, each with its mean. None may rise, and no file may join them. `CUTEGEN_SENTENCES=1` prints those of all files.

use std::collections::BTreeMap;

use super::Finding;
use super::source::{is_generated, is_shipped, line_of, mask};
use super::tree::File;

/// Words of a sentence in the mean of a file, phrases beside names and fields among them. STYLE.md asks for 20 at most.
const MOST: f64 = 12.0;
/// The files that had more when the rule came.
const LONGER: &str = include_str!("sentences.txt");
/// What a mean may differ by from what is written down of it.
const ROUNDED: f64 = 0.05;

/// Words that neither names nor doc comments have: private ones, and people in the place of threads, kernels or files.
const BANNED: &[&str] =
    &["nobody", "whom", "errand", "trespass", "spoilt", "dice", "desk", "heat", "team", "mend"];

/// No file's sentences got longer.
pub(super) fn sentences(files: &[File]) -> Vec<String> {
    let listed: BTreeMap<&str, f64> = LONGER.lines().filter_map(listed).collect();
    let means = files.iter().filter_map(|file| Some((file.path.as_str(), mean_of(&file.path, &file.text)?)));
    let means: BTreeMap<&str, f64> = means.collect();
    if std::env::var_os("CUTEGEN_SENTENCES").is_some() {
        means.iter().for_each(|(path, mean)| println!("{mean:.1} {path}"));
    }
    let mut found = judged(&means, &listed);
    let gone = listed.keys().filter(|path| !means.contains_key(*path));
    found.extend(gone.map(|path| format!("{path}: is listed in sentences.txt, and is not there")));
    found
}

fn listed(line: &str) -> Option<(&str, f64)> {
    let (mean, path) = line.split_once(' ')?;
    Some((path, mean.parse().ok()?))
}

fn judged(means: &BTreeMap<&str, f64>, listed: &BTreeMap<&str, f64>) -> Vec<String> {
    let one = |(path, mean): (&&str, &f64)| match listed.get(path) {
        None if *mean > MOST => Some(format!("{path}: {mean:.1} words a sentence, {MOST} at most")),
        Some(before) if *mean > before + ROUNDED => {
            Some(format!("{path}: {mean:.1} words a sentence, and had {before}"))
        }
        Some(before) if *mean < before - 0.5 || *mean <= MOST => {
            Some(format!("{path}: {mean:.1} words a sentence now: write that down in sentences.txt"))
        }
        None | Some(_) => None,
    };
    means.iter().filter_map(one).collect()
}

/// Words a sentence in the doc comments of a file that ships; none where it has none.
fn mean_of(path: &str, text: &str) -> Option<f64> {
    if !is_shipped(path) || is_generated(path, text) {
        return None;
    }
    let lengths = lengths(&docs(text));
    let words: usize = lengths.iter().sum();
    (!lengths.is_empty()).then(|| words as f64 / lengths.len() as f64)
}

/// The doc comments of a text, a line for each paragraph; no code blocks and no tables.
fn docs(text: &str) -> String {
    let (mut found, mut is_code) = (String::new(), false);
    for line in text.lines() {
        let line = line.trim_start();
        let said = ["//!", "///"].iter().find_map(|mark| line.strip_prefix(mark));
        let Some(said) = said.map(str::trim) else {
            found.push('\n');
            continue;
        };
        is_code ^= said.starts_with("```");
        let is_text = !is_code && !["```", "|", "#"].iter().any(|mark| said.starts_with(mark));
        match said {
            _ if !is_text => {}
            "" => found.push('\n'),
            _ if said.starts_with("- ") => found.push_str(&format!("\n{said} ")),
            _ => found.push_str(&format!("{said} ")),
        }
    }
    found
}

/// Words of each sentence: it ends behind a full stop, or with its paragraph.
fn lengths(docs: &str) -> Vec<usize> {
    let ends = |word: &&str| word.trim_end_matches(['`', ')', '"', '*']).ends_with(['.', '?', '!', ':']);
    let mut found = Vec::new();
    for paragraph in docs.lines() {
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        let sentences = words.split_inclusive(ends).map(<[&str]>::len);
        found.extend(sentences.filter(|length| *length > 0));
    }
    found
}

/// No name and no doc comment has a banned word.
pub(super) fn banned(path: &str, text: &str) -> Vec<Finding> {
    if !path.ends_with(".rs") || path.starts_with("tests/suite/tidy") || is_generated(path, text) {
        return Vec::new();
    }
    let names = mask(text);
    let mut found = words(&names);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if line.starts_with("//!") || line.starts_with("///") {
            found.extend(words(line).into_iter().map(|(_, word)| (number + 1, word)));
        }
    }
    found.into_iter().map(|(line, word)| Finding::new(line, format!("`{word}` is banned"))).collect()
}

/// Banned words by line: alone, as a part of a name, in the plural.
fn words(text: &str) -> Vec<(usize, &'static str)> {
    let lower = text.to_lowercase();
    let mut found = Vec::new();
    for word in BANNED {
        for (at, _) in lower.match_indices(word) {
            let before = &text[..at];
            let after = text[at + word.len()..].trim_start_matches('s');
            let is_camel = text[at..].starts_with(char::is_uppercase);
            let opens = is_camel || !before.ends_with(char::is_alphabetic);
            if opens && !after.starts_with(|c: char| c.is_lowercase()) {
                found.push((line_of(text, at), *word));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_that_grew_is_found() {
        let means = BTreeMap::from([("a.rs", 12.4), ("b.rs", 16.0), ("c.rs", 14.0), ("d.rs", 13.0)]);
        let listed = BTreeMap::from([("b.rs", 15.9), ("c.rs", 15.0), ("d.rs", 13.0)]);
        let found = judged(&means, &listed);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("a.rs: 12.4 words") && found[1].starts_with("b.rs: 16.0 words"));
        assert!(found[2].contains("write that down"), "{found:?}");
    }

    #[test]
    fn sentences_are_those_of_doc_comments() {
        let text = "//! One two. Three four\n//! five.\n//!\n//! Six\n\n/// - seven `eight.` nine\n/// ```\n/// no code\n/// ```\n// no\nfn f() {}\n";
        assert_eq!(lengths(&docs(text)), [2, 3, 1, 3, 1]);
        let mean = mean_of("x/src/a.rs", text).expect("sentences");
        assert!((mean - 2.0).abs() < 1e-9, "{mean}");
        assert_eq!(mean_of("x/tests/a.rs", text), None);
    }

    #[test]
    fn a_banned_word_is_found_in_names_and_docs() {
        let found = |text: &str| banned("x/src/a.rs", text).len();
        for text in ["fn a_heat() {}\n", "struct Desks;\n", "let hostDesk = 1;\n", "/// Nobody waits.\n"] {
            assert_eq!(found(text), 1, "{text}");
        }
        for text in ["fn commend(teamwork: T) {}\n", "// nobody\n", "let a = \"desk\";\n", "struct Heater;\n"]
        {
            assert_eq!(found(text), 0, "{text}");
        }
    }
}
