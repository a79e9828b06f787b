//! A proposal's text with the kit's headers in it, and the way back from its lines.
//!
//! Headers stand before the body, each once, so the body stays in one piece: where it includes the kit, a line is blank.

use std::fmt;

use cutegen_spec::target::Target;

use super::{Header, headers, includes};

/// Stands between the fixed block and the rest, so that the body's own includes do not lengthen the block.
const END_OF_BLOCK: &str = "namespace kit {}\n";

/// Standard headers whose names NVRTC does not know, because it has their types and functions without any.
pub const BUILT_IN: &[&str] = &["cstdint", "cstddef", "cmath", "cstring"];

/// A source that needs no kit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flattened {
    /// What a compiler reads, after the guard.
    pub source: String,
    /// Where its lines come from.
    pub lines: LineMap,
}

/// Where the lines of a flattened source come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineMap {
    /// Pieces in order, each with its number of lines; the body is behind the last.
    pieces: Vec<(Option<&'static str>, u32)>,
}

/// Where a line of a flattened source comes from. Lines count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The fixed block.
    Block,
    /// A header of the kit.
    Kit {
        /// Its name, such as `kit/reduce.cuh`.
        header: &'static str,
        /// The line in it.
        line: u32,
    },
    /// The body.
    Body {
        /// The line in it.
        line: u32,
    },
}

/// Includes of headers that the kit does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KitError {
    /// Line of the body and name, of each.
    pub unknown: Vec<(u32, String)>,
    /// What there is for the target.
    pub known: Vec<&'static str>,
}

/// Puts the headers that a body includes, and those that they include, before it. Other includes stay.
pub fn flatten(body: &str, target: &Target) -> Result<Flattened, KitError> {
    let all = headers(target);
    let mut chosen: Vec<Header> = Vec::new();
    let mut unknown = Vec::new();
    for (line, name) in (1..).zip(body.lines()).filter_map(|(line, text)| Some((line, kit_include(text)?))) {
        match all.iter().find(|header| header.name == name) {
            Some(header) => choose(header, all, &mut chosen),
            None => unknown.push((line, name.to_owned())),
        }
    }
    if !unknown.is_empty() {
        return Err(KitError { unknown, known: all.iter().map(|header| header.name).collect() });
    }
    Ok(joined(body, &chosen, target))
}

/// The body of a flattened source, behind an include of each header that stood before it. What this kit did not flatten is its
/// own body.
#[must_use]
pub fn body(source: &str, target: &Target) -> String {
    let block = format!("{}{END_OF_BLOCK}", includes(target));
    let Some(mut rest) = source.strip_prefix(&block) else { return source.to_owned() };
    let mut named = String::new();
    let texts: Vec<(&str, String)> =
        headers(target).iter().map(|header| (header.name, without_kit(header.text))).collect();
    while let Some((name, behind)) =
        texts.iter().find_map(|(name, text)| Some((*name, rest.strip_prefix(text.as_str())?)))
    {
        named.push_str(&format!("#include <{name}>\n"));
        rest = behind;
    }
    named + rest.trim_start_matches('\n')
}

impl LineMap {
    /// The origin of a line of the flattened source.
    #[must_use]
    pub fn origin(&self, line: u32) -> Origin {
        let mut rest = line;
        for (header, lines) in &self.pieces {
            if rest <= *lines {
                return header.map_or(Origin::Block, |header| Origin::Kit { header, line: rest });
            }
            rest -= lines;
        }
        Origin::Body { line: rest }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Block => f.write_str("the kit's fixed includes"),
            Origin::Kit { header, line } => write!(f, "{header}:{line}"),
            Origin::Body { line } => write!(f, "line {line}"),
        }
    }
}

impl fmt::Display for KitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unknown: Vec<String> =
            self.unknown.iter().map(|(line, name)| format!("line {line}: no header <{name}>")).collect();
        write!(f, "{}; the kit has <{}>", unknown.join("; "), self.known.join(">, <"))
    }
}

impl std::error::Error for KitError {}

/// Adds a header behind those that it includes, unless it is there.
fn choose(header: &Header, all: &[Header], chosen: &mut Vec<Header>) {
    if chosen.contains(header) {
        return;
    }
    let needed = header.text.lines().filter_map(kit_include);
    for needed in needed.filter_map(|name| all.iter().find(|header| header.name == name)) {
        choose(needed, all, chosen);
    }
    chosen.push(*header);
}

fn joined(body: &str, chosen: &[Header], target: &Target) -> Flattened {
    let mut source = format!("{}{END_OF_BLOCK}", includes(target));
    let mut pieces = vec![(None, lines(&source))];
    for header in chosen {
        let text = without_kit(header.text);
        pieces.push((Some(header.name), lines(&text)));
        source.push_str(&text);
    }
    let body = if target.is_host() { without_kit(body) } else { without_built_in(&without_kit(body)) };
    source.push_str(&body);
    Flattened { source, lines: LineMap { pieces } }
}

/// The text with a blank line for each include of the kit.
fn without_kit(text: &str) -> String {
    without(text, |line| kit_include(line).is_some())
}

/// The same for includes of what NVRTC has built in.
fn without_built_in(text: &str) -> String {
    without(text, |line| include(line).is_some_and(|name| BUILT_IN.contains(&name)))
}

fn without(text: &str, is_blank: impl Fn(&str) -> bool) -> String {
    let kept = text.lines().map(|line| if is_blank(line) { "" } else { line });
    kept.flat_map(|line| [line, "\n"]).collect()
}

fn lines(text: &str) -> u32 {
    u32::try_from(text.lines().count()).unwrap_or(u32::MAX)
}

/// The name of the kit's header in a line that includes it.
fn kit_include(line: &str) -> Option<&str> {
    include(line).filter(|name| name.starts_with("kit/"))
}

/// The name in a line that is an include and nothing else but a comment.
fn include(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    let close = match rest.chars().next()? {
        '<' => '>',
        '"' => '"',
        _ => return None,
    };
    let (name, behind) = rest[1..].split_once(close)?;
    let behind = behind.trim();
    (behind.is_empty() || behind.starts_with("//")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuda() -> Target {
        Target::parse("sm_90a").expect("a target")
    }

    const BODY: &str = "// first\n#include <kit/reduce.cuh>  // sums\n#include <cute/tensor.hpp>\n  # include \"kit/math.cuh\"\n\
                        int last;\n";

    #[test]
    fn a_body_comes_back_with_its_includes() {
        let flat = flatten(BODY, &cuda()).expect("known headers").source;
        let back = body(&flat, &cuda());
        assert!(back.starts_with("#include <kit/") && back.ends_with("int last;\n"), "{back}");
        assert!(back.contains("#include <kit/reduce.cuh>\n") && back.len() < flat.len() / 2, "{back}");
        assert_eq!(flatten(&back, &cuda()).expect("known headers").source.matches("int last;").count(), 1);
        for other in ["int a;\n", BODY] {
            assert_eq!(body(other, &cuda()), other, "what was not flattened");
        }
        let older = flat.replace("int lanes", "int lane");
        assert!(body(&older, &cuda()).ends_with("int last;\n"), "of a header that changed nothing is taken");
    }

    /// Each line of the flattened source is the line that the map names.
    fn assert_mapped(body: &str, target: &Target) -> Flattened {
        let flat = flatten(body, target).expect("known headers");
        for (number, text) in (1..).zip(flat.source.lines()) {
            let from = |whole: &str, line: u32| {
                let line = whole.lines().nth(line as usize - 1).expect("a line").to_owned();
                if kit_include(&line).is_some() { String::new() } else { line }
            };
            let expected = match flat.lines.origin(number) {
                Origin::Block => format!("{}{END_OF_BLOCK}", includes(target))
                    .lines()
                    .nth(number as usize - 1)
                    .expect("in the block")
                    .to_owned(),
                Origin::Kit { header, line } => {
                    from(headers(target).iter().find(|h| h.name == header).expect("a header").text, line)
                }
                Origin::Body { line } => from(body, line),
            };
            assert_eq!(text, expected, "line {number}");
        }
        flat
    }

    #[test]
    fn what_nvrtc_has_built_in_is_not_looked_for() {
        let body = "#include <cstdint>\n# include <cmath> // pi\n#include <cute/tensor.hpp>\nint64_t last;\n";
        let on_device = flatten(body, &cuda()).expect("no kit").source;
        assert!(on_device.ends_with("\n\n\n#include <cute/tensor.hpp>\nint64_t last;\n"), "{on_device}");
        let on_host = flatten(body, &Target::parse("host").expect("a target")).expect("no kit").source;
        assert!(on_host.ends_with(body), "{on_host}");
    }

    #[test]
    fn headers_stand_before_the_body_each_once_behind_what_they_need() {
        let flat = assert_mapped(BODY, &cuda());
        assert!(flat.source.starts_with(includes(&cuda())));
        let at = |name: &str| {
            let first = format!("// {name}: ");
            assert_eq!(flat.source.matches(&first).count(), 1, "{name}");
            flat.source.find(&first).expect("it is there")
        };
        assert!(at("kit/ptx.cuh") < at("kit/math.cuh") && at("kit/math.cuh") < at("kit/reduce.cuh"));
        assert!(at("kit/reduce.cuh") < flat.source.find("#include <cute/tensor.hpp>").expect("it stays"));
        assert!(!flat.source.contains("kit/vector.cuh: "), "none that nothing asks for");
        let last = lines(&flat.source);
        assert_eq!(flat.lines.origin(last), Origin::Body { line: 5 });
        assert_eq!(flat.lines.origin(last).to_string(), "line 5");
        assert_eq!(flat, flatten(BODY, &cuda()).expect("known"), "the same twice");
    }

    #[test]
    fn every_line_of_every_header_is_mapped() {
        for target in [cuda(), Target::host()] {
            let all: String = headers(&target).iter().map(|h| format!("#include <{}>\n", h.name)).collect();
            let flat = assert_mapped(&all, &target);
            let first = lines(includes(&target)) + 2;
            let header = headers(&target)[0].name;
            assert_eq!(flat.lines.origin(first), Origin::Kit { header, line: 1 });
            assert_eq!(flat.lines.origin(first).to_string(), format!("{header}:1"));
        }
    }

    #[test]
    fn body_without_the_kit_has_the_block_alone() {
        let flat = assert_mapped("#include <cute/tensor.hpp>\nint x;", &cuda());
        let expected = "namespace kit {}\n#include <cute/tensor.hpp>\nint x;\n";
        assert_eq!(flat.source, format!("{}{expected}", includes(&cuda())));
    }

    #[test]
    fn unknown_headers_are_all_named_with_what_there_is() {
        let body = "#include <kit/gemm.cuh>\n\n#include <kit/reduce.cuh>\n#include \"kit/host.hpp\"\n";
        let error = flatten(body, &cuda()).expect_err("two are unknown");
        assert_eq!(error.unknown, [(1, "kit/gemm.cuh".to_owned()), (4, "kit/host.hpp".to_owned())]);
        let text = error.to_string();
        assert!(text.starts_with("line 1: no header <kit/gemm.cuh>; line 4: "), "{text}");
        assert!(headers(&cuda()).iter().all(|header| text.contains(header.name)), "{text}");
    }

    #[test]
    fn what_is_no_include_of_the_kit_stays() {
        for line in [
            "#include <kits/a.cuh>",
            "// #include <kit/x.cuh>",
            "#include <kit/reduce.cuh> int x;",
            "#define kit",
        ] {
            assert_eq!(kit_include(line), None, "{line}");
        }
    }
}
