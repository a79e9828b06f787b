//! A compiler's log as data: what it says about the candidate, and nothing any other file contains.
//!
//! Excerpts are dropped, paths become `<cute/layout.hpp>`, and a remark about a file that is neither the candidate
//! nor a header is reduced to the fact: it may quote that file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One remark of a compiler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Line of the candidate, if it is about one.
    pub line: Option<u32>,
    /// Column of the candidate, if the compiler tells it.
    pub column: Option<u32>,
    /// How bad.
    pub severity: Severity,
    /// Such as `177-D`, `-Wunused-variable`, `C7510`.
    pub code: Option<String>,
    /// In the compiler's words, paths scrubbed.
    pub message: String,
    /// Where in a header it was noticed, such as `<cute/layout.hpp>:73`.
    pub header: Option<String>,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Severity {
    /// Nothing was compiled.
    Error,
    /// The code generator gave up a wanted optimisation (C75xx): counts as failed.
    Advisory,
    /// The candidate compiles.
    Warning,
}

const DIAGNOSTICS_MAX: usize = 64;
const MESSAGE_CHARS_MAX: usize = 600;

/// Reads a log of NVRTC, GCC or Clang.
pub fn parse(log: &str, header_roots: &[PathBuf]) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut required_from = None;
    for line in log.lines() {
        if let Some(at) = instantiation_line(line) {
            attribute(&mut found, &mut required_from, line, at);
        } else if let Some(diagnostic) =
            ptxas(line).or_else(|| remark(line, header_roots, &mut required_from))
        {
            found.push(diagnostic);
        }
    }
    found.dedup();
    found.truncate(DIAGNOSTICS_MAX);
    found
}

/// Where the text before the message points.
enum Place {
    Candidate { line: u32, column: Option<u32> },
    Header(String),
    Elsewhere,
}

fn remark(line: &str, roots: &[PathBuf], required_from: &mut Option<u32>) -> Option<Diagnostic> {
    let (place, rest) =
        nvrtc_place(line, roots).or_else(|| gcc_place(line, roots)).unwrap_or((Place::Elsewhere, line));
    let (severity, code, message) = verdict(rest)?;
    let (code, message) = trailing_flag(code, message);
    let message: String = scrub(message, roots).chars().take(MESSAGE_CHARS_MAX).collect();
    let mut diagnostic = Diagnostic { line: None, column: None, severity, code, message, header: None };
    match place {
        Place::Candidate { line, column } => (diagnostic.line, diagnostic.column) = (Some(line), column),
        Place::Header(header) => (diagnostic.header, diagnostic.line) = (Some(header), required_from.take()),
        Place::Elsewhere => "in a file outside of the headers".clone_into(&mut diagnostic.message),
    }
    Some(diagnostic)
}

/// `kernel.cu(3): error: ...`
fn nvrtc_place<'a>(line: &'a str, roots: &[PathBuf]) -> Option<(Place, &'a str)> {
    let (before, rest) = line.split_once("): ")?;
    let (file, number) = before.rsplit_once('(')?;
    Some((place(file, number.parse().ok()?, None, roots), rest))
}

/// `kernel.cpp:3:7: error: ...`
fn gcc_place<'a>(line: &'a str, roots: &[PathBuf]) -> Option<(Place, &'a str)> {
    let (before, rest) = line.split_once(": ")?;
    let mut parts = before.rsplitn(3, ':');
    let (last, middle, first) = (parts.next()?, parts.next()?, parts.next());
    match first {
        Some(file) => Some((place(file, middle.parse().ok()?, Some(last.parse().ok()?), roots), rest)),
        None => Some((place(middle, last.parse().ok()?, None, roots), rest)),
    }
}

fn place(file: &str, line: u32, column: Option<u32>, roots: &[PathBuf]) -> Place {
    if is_candidate(file) {
        return Place::Candidate { line, column };
    }
    header_name(file, roots).map_or(Place::Elsewhere, |name| Place::Header(format!("<{name}>:{line}")))
}

fn is_candidate(file: &str) -> bool {
    matches!(file, "kernel.cu" | "kernel.cpp")
}

/// The path below a header root, as an `#include` would name it.
fn header_name(file: &str, roots: &[PathBuf]) -> Option<String> {
    let system = ["/usr/include/c++/", "/usr/lib/gcc/"].map(PathBuf::from);
    if file.contains("/../") {
        return None;
    }
    let below =
        |root: &PathBuf| Path::new(file).strip_prefix(root).ok().map(|rest| rest.display().to_string());
    // the longest root wins: one root may lie in another
    roots.iter().chain(&system).filter_map(below).min_by_key(String::len)
}

/// Splits `error #20-D: text`, `fatal error: text`, `warning: text`.
fn verdict(text: &str) -> Option<(Severity, Option<String>, &str)> {
    let (head, message) = text.split_once(": ")?;
    let (word, code) = match head.split_once(" #") {
        Some((word, code)) => (word, Some(code.to_owned())),
        None => (head, None),
    };
    let severity = match word {
        "error" | "fatal error" | "catastrophic error" | "internal error" | "internal compiler error" => {
            Severity::Error
        }
        "warning" => Severity::Warning,
        _ => return None,
    };
    Some((severity, code, message))
}

/// GCC's `[-Wflag]` at the end.
fn trailing_flag(code: Option<String>, message: &str) -> (Option<String>, &str) {
    match message.strip_suffix(']').and_then(|rest| rest.rsplit_once(" [")) {
        Some((rest, flag)) if flag.starts_with("-W") => (code.or_else(|| Some(flag.to_owned())), rest),
        _ => (code, message),
    }
}

/// `ptxas info : (C7510) Potential ...`, `ptxas fatal : Unresolved ...`. It sees no file but the generated PTX.
fn ptxas(line: &str) -> Option<Diagnostic> {
    let (head, message) = line.strip_prefix("ptxas")?.split_once(" : ")?;
    let (code, message) = match message.trim_start().strip_prefix('(').and_then(|rest| rest.split_once(") "))
    {
        Some((code, rest)) if code.starts_with('C') => (Some(code.to_owned()), rest),
        _ => (None, message),
    };
    let severity = match head.split_whitespace().last()? {
        _ if code.as_ref().is_some_and(|code| code.starts_with("C75")) => Severity::Advisory,
        "error" | "fatal" => Severity::Error,
        "warning" | "info" => Severity::Warning,
        _ => return None,
    };
    let message = scrub(message.trim(), &[]).chars().take(MESSAGE_CHARS_MAX).collect();
    Some(Diagnostic { line: None, column: None, severity, code, message, header: None })
}

/// The candidate's line in a note on how a template came to be instantiated.
fn instantiation_line(line: &str) -> Option<u32> {
    // NVRTC: `... at line 12 of kernel.cu` or, inside the same file, `... at line 12`
    let nvrtc = line.rsplit_once(" at line ").filter(|_| line.starts_with(' '));
    if let Some((_, rest)) = nvrtc {
        let (number, file) = rest.split_once(" of ").unwrap_or((rest, "kernel.cu"));
        return number.trim().parse().ok().filter(|_| is_candidate(file.trim()));
    }
    // GCC: `kernel.cpp:12:3:   required from here`
    let (before, _) = line.split_once("   required from")?;
    let mut parts = before.trim_end_matches(':').split(':');
    let (file, number) = (parts.next()?, parts.next()?);
    number.parse().ok().filter(|_| is_candidate(file))
}

/// NVRTC tells the origin after its error, GCC before it.
fn attribute(found: &mut [Diagnostic], required_from: &mut Option<u32>, line: &str, at: u32) {
    if !line.starts_with(' ') {
        *required_from = Some(at);
        return;
    }
    if let Some(last) = found.last_mut().filter(|last| last.header.is_some()) {
        last.line = Some(at);
    }
}

/// Absolute paths in a message: those of headers shortened, all others struck out.
fn scrub(message: &str, roots: &[PathBuf]) -> String {
    let is_path = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    let mut out = String::new();
    let mut rest = message;
    while let Some(at) = rest.find('/') {
        let end = rest[at..].find(|c| !is_path(c)).map_or(rest.len(), |length| at + length);
        let path = &rest[at..end];
        let starts_word = !rest[..at].ends_with(is_path);
        out.push_str(&rest[..at]);
        if starts_word && path.len() > 2 {
            out.push_str(
                &header_name(path, roots)
                    .map_or_else(|| "<elsewhere>".to_owned(), |name| format!("<{name}>")),
            );
        } else {
            out.push_str(path);
        }
        rest = &rest[end..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(log: &str) -> Vec<(Option<u32>, Severity, Option<String>, String)> {
        let roots = ["/home/me/tc/include".into(), "/home/me/tc/include/cccl".into()];
        parse(log, &roots).into_iter().map(|d| (d.line, d.severity, d.code, d.message)).collect()
    }

    #[test]
    fn candidates_errors_keep_line_and_code() {
        let log = "kernel.cu(3): error: identifier \"foo\" is undefined\n      foo();\n      ^\n\
                   kernel.cu(9): warning #177-D: variable \"x\" was declared but never referenced\n";
        let found = check(log);
        assert_eq!(found[0], (Some(3), Severity::Error, None, "identifier \"foo\" is undefined".into()));
        assert_eq!((found[1].0, found[1].2.as_deref()), (Some(9), Some("177-D")));
    }

    #[test]
    fn gccs_form_is_read_too() {
        let found = parse("kernel.cpp:4:7: warning: unused variable 'x' [-Wunused-variable]\n", &[]);
        assert_eq!(
            (found[0].line, found[0].column, found[0].code.as_deref()),
            (Some(4), Some(7), Some("-Wunused-variable"))
        );
    }

    #[test]
    fn header_errors_point_to_the_candidates_line() {
        let log = "/home/me/tc/include/cute/layout.hpp(73): error: static assertion failed with \"rank\"\n\
                   \x20         detected during:\n\
                   \x20           instantiation of \"f\" at line 90 of /home/me/tc/include/cute/tensor.hpp\n\
                   \x20           instantiation of \"g\" at line 12 of kernel.cu\n";
        let found = parse(log, &["/home/me/tc/include".into()]);
        assert_eq!(found[0].header.as_deref(), Some("<cute/layout.hpp>:73"));
        assert_eq!(found[0].line, Some(12));
    }

    #[test]
    fn other_files_are_not_quoted() {
        for log in [
            "/etc/passwd(1): error: identifier \"root\" is undefined\n  root:x:0:0:root:/root:/bin/bash\n  ^\n",
            "In file included from kernel.cpp:1:\n/etc/passwd:1:1: error: 'root' does not name a type\n    1 | root:x:0:0\n",
            "/home/me/tc/include/../secret.h(1): error: identifier \"root\" is undefined\n",
        ] {
            let found = check(log);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(!format!("{found:?}").contains("root"), "{found:?}");
        }
    }

    #[test]
    fn paths_in_messages_are_scrubbed() {
        let found = check(
            "kernel.cu(1): catastrophic error: cannot open \"/home/me/x.h\" from /home/me/tc/include/cute/a.hpp\n",
        );
        assert_eq!(found[0].3, "cannot open \"<elsewhere>\" from <cute/a.hpp>");
    }

    #[test]
    fn code_generators_advisory_is_its_own_severity() {
        let found = check(
            "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async are serialized in 'k'\n",
        );
        assert_eq!((found[0].1, found[0].2.as_deref()), (Severity::Advisory, Some("C7510")));
        let found = check("ptxas fatal   : Unresolved extern function 'elsewhere'\n");
        assert_eq!(
            (found[0].1, found[0].3.as_str()),
            (Severity::Error, "Unresolved extern function 'elsewhere'")
        );
    }
}
