//! The gate before the compiler: a candidate may use the language, CuTe, CUDA and a few standard headers.
//!
//! Works on allow-lists, so that what is unknown is refused. Not a judge of what the kernel does when it runs.
//! Invariant: no file but an allow-listed header is opened, or probed, because a candidate asks for it.

use super::allowed::{
    ASSEMBLER_DIRECTIVES, ATTRIBUTES, CUDA_HEADERS, DIRECTIVES, FOLDERS, HOST_HEADERS, HOST_RESERVED,
    HOST_RESERVED_PREFIXES, INTERNAL_PREFIXES, STANDARD_HEADERS, WORDS,
};
use super::job::CompileFor;
use super::lexer::{self, Kind, Place, Token, Unreadable};

/// One thing the guard refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardViolation {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// Which rule.
    pub rule: Rule,
    /// What stands there.
    pub found: String,
}

/// The guard's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The text cannot be read, or is written to be misread.
    Text,
    /// The source is too long.
    Length,
    /// Only allow-listed headers, in angle brackets.
    Include,
    /// Only common directives.
    Directive,
    /// Only macros whose use means what it seems to.
    Define,
    /// Only pragmas on loops.
    Pragma,
    /// No word that probes files, tells the time or reaches the assembler.
    Word,
    /// No pasting of tokens.
    Paste,
    /// Only known attributes.
    Attribute,
    /// No inline assembly on the host, no assembler directives on the GPU.
    Assembly,
}

/// Whose rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Device code for NVRTC.
    Cuda,
    /// C++ for the CPU.
    Host,
}

const SOURCE_BYTES_MAX: usize = 1 << 20;

/// Every violation in a source; none means that a compiler may read it.
pub fn check(source: &str, language: Language) -> Vec<GuardViolation> {
    let start = Place { line: 1, column: 1 };
    if source.len() > SOURCE_BYTES_MAX {
        return vec![violation(Rule::Length, start, format!("{} bytes", source.len()))];
    }
    match lexer::tokens(source) {
        Ok(tokens) => scan(&tokens, language),
        Err(Unreadable { place, what }) => vec![violation(Rule::Text, place, what)],
    }
}

impl Language {
    /// The language of a target.
    pub fn of(compile_for: &CompileFor) -> Language {
        match compile_for {
            CompileFor::Cuda { .. } => Language::Cuda,
            CompileFor::Host { .. } => Language::Host,
        }
    }
}

fn scan(tokens: &[Token], language: Language) -> Vec<GuardViolation> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let rest = &tokens[at + 1..];
        let bad = match (token.kind, token.text.as_str()) {
            (Kind::Punctuation, "#") if token.starts_line => directive(rest, language),
            (Kind::Punctuation, "##") => Some((Rule::Paste, "##".to_owned())),
            (Kind::Word, "__attribute__" | "__attribute") => attributes(rest),
            (Kind::Word, "asm" | "__asm" | "__asm__") => assembly(rest, language),
            (Kind::Word, "_Pragma") => pragma_operator(rest),
            (Kind::Word, word) if is_reserved(word, language) => Some((Rule::Word, word.to_owned())),
            _ => None,
        };
        found.extend(bad.map(|(rule, what)| violation(rule, token.place, what)));
    }
    found.extend(assembler_text(tokens));
    found
}

type Bad = Option<(Rule, String)>;

fn directive(rest: &[Token], language: Language) -> Bad {
    let line: Vec<&Token> = rest.iter().take_while(|token| !token.starts_line).collect();
    let (name, arguments) = line.split_first()?;
    match name.text.as_str() {
        "include" => include(arguments, language),
        "pragma" => pragma(arguments),
        "define" => definition(arguments),
        known if name.kind == Kind::Word && DIRECTIVES.contains(&known) => None,
        other => Some((Rule::Directive, format!("#{other}"))),
    }
}

fn include(arguments: &[&Token], language: Language) -> Bad {
    match arguments {
        [header] if header.kind == Kind::HeaderName && is_allowed(&header.text, language) => None,
        _ => Some((Rule::Include, format!("#include {}", joined(arguments)))),
    }
}

fn is_allowed(header: &str, language: Language) -> bool {
    let plain = header.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte));
    let tidy = !header.split('/').any(|part| part.is_empty() || part.starts_with('.'));
    let listed = FOLDERS.iter().any(|folder| header.starts_with(folder))
        || CUDA_HEADERS.contains(&header)
        || STANDARD_HEADERS.contains(&header)
        || (language == Language::Host && HOST_HEADERS.contains(&header));
    plain && tidy && listed
}

fn is_reserved(word: &str, language: Language) -> bool {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| word.starts_with(prefix));
    let reserved = word.starts_with("__")
        || (word.starts_with('_') && word[1..].starts_with(|c: char| c.is_ascii_uppercase()));
    let host_knows = HOST_RESERVED.contains(&word) || starts(HOST_RESERVED_PREFIXES);
    WORDS.contains(&word)
        || starts(INTERNAL_PREFIXES)
        || (language == Language::Host && reserved && !host_knows)
}

/// A macro may not rename an attribute, nor hold half a pair of brackets: what is checked must be what is compiled.
fn definition(arguments: &[&Token]) -> Bad {
    let refused = |what: String| Some((Rule::Define, what));
    let (name, rest) = arguments.split_first()?;
    let parameters = rest.iter().take_while(|token| token.text != ")").filter(|_| rest[0].text == "(");
    let renames = |token: &&Token| ATTRIBUTES.contains(&token.text.trim_matches('_'));
    if let Some(token) = std::iter::once(*name).chain(parameters.copied()).find(renames) {
        return refused(format!("#define of `{}`", token.text));
    }
    let mut open = Vec::new();
    for token in rest.iter().filter(|token| token.kind == Kind::Punctuation) {
        match token.text.as_str() {
            "(" => open.push(")"),
            "[" => open.push("]"),
            "{" => open.push("}"),
            close @ (")" | "]" | "}") if open.pop() != Some(close) => {
                return refused(format!("`{close}` in #define {}", name.text));
            }
            _ => {}
        }
    }
    open.pop().and_then(|close| refused(format!("no `{close}` in #define {}", name.text)))
}

/// `_Pragma("...")` with exactly one of the texts that [`pragma`] would allow: how a macro can hold one.
fn pragma_operator(rest: &[Token]) -> Bad {
    const TEXTS: [&str; 2] = ["GCC ivdep", "GCC unroll 32"];
    match rest {
        [open, text, close, ..]
            if open.text == "("
                && text.kind == Kind::Text
                && close.text == ")"
                && TEXTS.contains(&text.text.as_str()) =>
        {
            None
        }
        _ => Some((Rule::Pragma, "_Pragma".to_owned())),
    }
}

fn pragma(arguments: &[&Token]) -> Bad {
    let words: Vec<&str> = arguments.iter().take(2).map(|token| token.text.as_str()).collect();
    let harmless =
        arguments.iter().all(|token| matches!(token.kind, Kind::Word | Kind::Number | Kind::Punctuation));
    match words.as_slice() {
        ["unroll", ..] | ["GCC", "unroll" | "ivdep"] if harmless => None,
        _ => Some((Rule::Pragma, format!("#pragma {}", joined(arguments)))),
    }
}

/// `((name, name(arguments), ...))`, each name on the list.
fn attributes(rest: &[Token]) -> Bad {
    let refused = |what: &str| Some((Rule::Attribute, what.to_owned()));
    let [open, inner, rest @ ..] = rest else { return refused("__attribute__") };
    if open.text != "(" || inner.text != "(" {
        return refused("__attribute__ without ((");
    }
    let mut depth = 2;
    for token in rest {
        match (token.kind, token.text.as_str()) {
            (Kind::Punctuation, "(") => depth += 1,
            (Kind::Punctuation, ")") => depth -= 1,
            (Kind::Word, name) if depth == 2 && !ATTRIBUTES.contains(&name.trim_matches('_')) => {
                return refused(name);
            }
            _ => {}
        }
        if depth == 0 {
            return None;
        }
    }
    refused("__attribute__ that does not end")
}

fn assembly(rest: &[Token], language: Language) -> Bad {
    let first = rest.iter().find(|token| {
        !matches!(token.text.as_str(), "volatile" | "__volatile__" | "__volatile" | "inline" | "goto")
    });
    match language {
        Language::Host => Some((Rule::Assembly, "asm".to_owned())),
        Language::Cuda if first.is_some_and(|token| token.text == "(") => None,
        Language::Cuda => Some((Rule::Assembly, "asm without (".to_owned())),
    }
}

/// Adjacent strings count as one: `".inc" "bin"` is a directive.
fn assembler_text(tokens: &[Token]) -> Vec<GuardViolation> {
    let mut found = Vec::new();
    for run in tokens.chunk_by(|a, b| a.kind == Kind::Text && b.kind == Kind::Text) {
        let text: String =
            run.iter().filter(|token| token.kind == Kind::Text).map(|token| token.text.as_str()).collect();
        let named = ASSEMBLER_DIRECTIVES.iter().find(|directive| has_word(&text, directive));
        found.extend(named.map(|directive| violation(Rule::Assembly, run[0].place, (*directive).to_owned())));
    }
    found
}

/// The directive itself, not an instruction's suffix such as `.file_cached`.
fn has_word(text: &str, directive: &str) -> bool {
    let continues = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(directive).any(|(at, _)| {
        let suffix = text[..at].ends_with(continues);
        !suffix && !text[at + directive.len()..].starts_with(continues)
    })
}

fn joined(tokens: &[&Token]) -> String {
    let text: String = tokens.iter().map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ");
    text.chars().take(80).collect()
}

fn violation(rule: Rule, place: Place, found: String) -> GuardViolation {
    GuardViolation { line: place.line, column: place.column, rule, found }
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
