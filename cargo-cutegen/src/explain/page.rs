//! The pages of `docs/errors/`, one per code of a diagnostic, which this command carries.

use cutegen_spec::diagnostic::{self, Code};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;

/// A code and its page.
pub(super) struct Page {
    pub(super) code: Code,
    pub(super) text: &'static str,
}

/// `errors` is a link to `docs/errors`, so that the published crate holds the pages.
pub(super) const PAGES: [Page; 15] = [
    Page { code: diagnostic::TOML, text: include_str!("../../errors/CG001.md") },
    Page { code: diagnostic::SCHEMA, text: include_str!("../../errors/CG002.md") },
    Page { code: diagnostic::NAME, text: include_str!("../../errors/CG003.md") },
    Page { code: diagnostic::AXIS, text: include_str!("../../errors/CG004.md") },
    Page { code: diagnostic::TENSOR, text: include_str!("../../errors/CG005.md") },
    Page { code: diagnostic::SETTING, text: include_str!("../../errors/CG006.md") },
    Page { code: diagnostic::SYNTAX, text: include_str!("../../errors/CG010.md") },
    Page { code: diagnostic::UNDECLARED, text: include_str!("../../errors/CG011.md") },
    Page { code: diagnostic::ACCESS, text: include_str!("../../errors/CG012.md") },
    Page { code: diagnostic::ASSIGN, text: include_str!("../../errors/CG013.md") },
    Page { code: diagnostic::RESERVED, text: include_str!("../../errors/CG014.md") },
    Page { code: diagnostic::KIND, text: include_str!("../../errors/CG015.md") },
    Page { code: diagnostic::RANGE, text: include_str!("../../errors/CG016.md") },
    Page { code: diagnostic::COLLIDE, text: include_str!("../../errors/CG017.md") },
    Page { code: diagnostic::SIZE, text: include_str!("../../errors/CG018.md") },
];

/// A page as programs get it.
#[derive(Serialize)]
struct Row<'a> {
    code: String,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

/// Prints the list of codes.
pub(super) fn list(out: &Output) {
    for page in &PAGES {
        let row = Row { code: page.code.to_string(), title: page.title(), text: None };
        out.result(&format!("{}  {}", row.code, row.title), &row);
    }
}

/// Prints the page of the code that `word` names.
pub(super) fn print(word: &str, out: &Output) -> Result<(), Failure> {
    let page = find(word).map_err(Failure::Usage)?;
    let row = Row { code: page.code.to_string(), title: page.title(), text: Some(page.text) };
    out.result(page.text.trim_end(), &row);
    Ok(())
}

/// Whether `word` is meant as a code: `CG012`, in any case, or only its number. No kernel is named by a number.
pub(super) fn is_code(word: &str) -> bool {
    let word = word.trim().to_uppercase();
    let number = word.strip_prefix("CG").unwrap_or(&word);
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

impl Page {
    /// The heading, without the code.
    pub(super) fn title(&self) -> &'static str {
        let heading = self.text.lines().next().unwrap_or_default();
        heading.split_once(": ").map_or(heading, |(_, title)| title)
    }
}

/// The page that `word` names.
pub(super) fn find(word: &str) -> Result<&'static Page, String> {
    let word = word.trim().to_uppercase();
    let number = word.strip_prefix("CG").unwrap_or(&word).parse().map(Code);
    if let Some(page) = PAGES.iter().find(|page| number == Ok(page.code)) {
        return Ok(page);
    }
    Err(format!("there is no code `{word}`\nrun: cargo cutegen explain"))
}
