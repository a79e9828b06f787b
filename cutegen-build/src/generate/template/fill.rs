//! Filling a template: placeholders `@NAME@`, and the lines of its configuration.

/// A template's text with every placeholder replaced. A placeholder without a block stays, for the next filling.
#[must_use]
pub(super) fn fill(template: &str, blocks: &[(&str, &str)]) -> String {
    blocks.iter().fold(template.to_owned(), |text, (name, block)| text.replace(&format!("@{name}@"), block))
}

/// `constexpr` lines of a configuration.
#[must_use]
pub(super) fn config(values: &[(&str, i64)], flags: &[(&str, bool)]) -> String {
    let values = values.iter().map(|(name, value)| format!("constexpr int {name} = {value};"));
    let flags = flags.iter().map(|(name, value)| format!("constexpr bool {name} = {value};"));
    values.chain(flags).collect::<Vec<_>>().join("\n")
}
