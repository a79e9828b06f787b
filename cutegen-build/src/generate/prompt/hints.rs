//! What a prompt says of hints of the experience library. They were checked when they were read, so they stand outside of quotes.

use super::filled;
use crate::experience::Hint;

/// Hints as a section, or nothing.
pub(super) fn section(hints: &[Hint]) -> String {
    if hints.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = hints.iter().map(line).collect();
    filled(include_str!("hints.md"), &[("hints", lines.join("\n"))])
}

/// How an answer says which it used, or nothing.
pub(super) fn cite(hints: &[Hint]) -> String {
    if hints.is_empty() { String::new() } else { include_str!("cite.md").to_owned() }
}

fn line(hint: &Hint) -> String {
    format!("- {}: {} ({})", hint.id, hint.hint, known(hint))
}

/// What came of it.
fn known(hint: &Hint) -> String {
    let Hint { uses, wins, timed, mean_gain, .. } = hint;
    let gain = if *timed > 0 { format!(", {mean_gain:.2}x on average") } else { String::new() };
    if *uses == 0 { "not tried yet".to_owned() } else { format!("{wins} of {uses} uses gained{gain}") }
}

#[cfg(test)]
mod tests {
    use super::{cite, section};
    use crate::experience::Library;

    #[test]
    fn hints_are_told_with_their_ids_and_what_came_of_them() {
        let text = "edition = 1\n[[hint]]\nid = 'h1'\ntrigger = ['memory']\nhint = 'Read less.'\nuses = 3\nwins = 2\ntimed = 3\n\
                    mean-gain = 1.126\n[[hint]]\nid = 'h2'\ntrigger = ['memory']\nhint = 'Read {{base}}.'\n";
        let library = Library::read(&text.replace("{{base}}", "once")).expect("a library");
        let told = section(&library.hints);
        assert!(told.starts_with("\n# Hints\n") && told.ends_with(".\n") || told.ends_with(")\n"), "{told}");
        assert!(told.contains("- h1: Read less. (2 of 3 uses gained, 1.13x on average)\n"), "{told}");
        assert!(told.contains("- h2: Read once. (not tried yet)\n"), "{told}");
        assert!(cite(&library.hints).contains("Hints: none"));
        assert_eq!((section(&[]), cite(&[])), (String::new(), String::new()));
        assert!(Library::read(text).is_err(), "a hint fills no template");
    }
}
