//! A page about the kit, as long as a prompt bears, read from the headers' own text, so that it says what they do.
//!
//! A header's first line is its summary; the comment behind it is a paragraph. `///` stands before what a source may use:
//! its signature is printed with it. What has no `///` is the kit's own affair.

use cutegen_spec::target::Target;

use super::{Header, headers};

const RULES: &str = "Include by name: `#include <kit/NAME>`. All is in namespace `kit`. `<...>` before a function are template \
                     parameters.";

/// What a source for a target may use.
#[must_use]
pub fn reference(target: &Target) -> String {
    reference_without(target, &[])
}

/// The same without some headers, by name: what a prompt has no use for.
#[must_use]
pub fn reference_without(target: &Target, left_out: &[&str]) -> String {
    let shown = headers(target).iter().filter(|header| !left_out.contains(&header.name));
    let pages: Vec<Page> = shown.map(Page::of).filter(|page| !page.items.is_empty()).collect();
    let mut text: String = pages.iter().map(|page| format!("- {}\n", page.summary)).collect();
    text.push_str(&format!("\n{RULES}\n"));
    for page in &pages {
        text.push_str(&format!("\n### {}\n\n", page.name));
        text.push_str(&page.about);
        text.push_str(if page.about.is_empty() { "" } else { "\n\n" });
        text.extend(page.items.iter().map(|item| format!("- `{}`: {}\n", item.signature, item.says)));
    }
    text
}

/// What a header says of itself.
struct Page<'a> {
    name: &'a str,
    summary: String,
    about: String,
    items: Vec<Item>,
}

struct Item {
    signature: String,
    says: String,
}

impl<'a> Page<'a> {
    fn of(header: &'a Header) -> Page<'a> {
        let mut lines = header.text.lines();
        let summary = comment(lines.next().unwrap_or_default()).unwrap_or_default().to_owned();
        let about: Vec<&str> = lines.map_while(comment).filter(|line| !line.is_empty()).collect();
        Page { name: header.name, summary, about: about.join(" "), items: items(header.text) }
    }
}

fn comment(line: &str) -> Option<&str> {
    line.strip_prefix("//").map(str::trim)
}

fn items(text: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut lines = text.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix("/// ") else { continue };
        let mut says = first.to_owned();
        while let Some(more) = lines.next_if(|line| line.starts_with("/// ")) {
            says.push_str(&more[3..]);
        }
        items.push(Item { signature: signature(&declaration(&mut lines)), says });
    }
    items
}

/// The lines up to a declaration's body or end.
fn declaration<'a>(lines: &mut impl Iterator<Item = &'a str>) -> String {
    let mut declared = String::new();
    for line in lines {
        declared.push_str(line);
        if line.contains(['{', ';']) {
            break;
        }
        declared.push(' ');
    }
    declared
}

/// What a caller must know of a declaration: all before its body, without what every function of the kit has and without
/// the types that a call deduces.
fn signature(declaration: &str) -> String {
    const OF_ALL: [&str; 6] =
        ["__device__ ", "__forceinline__ ", "inline ", "static ", "constexpr ", "typename "];
    let head = before_body(declaration);
    let is_type = ["struct ", "using "].iter().any(|word| head.contains(word));
    let head = if is_type { head.to_owned() } else { without_deduced(head) };
    OF_ALL.iter().fold(head, |text, word| text.replace(word, ""))
}

/// All before the body or the end; braces of a default argument are no body.
fn before_body(declaration: &str) -> &str {
    let mut depth = 0;
    let body = declaration.find(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0 && matches!(c, '{' | ';')
    });
    declaration[..body.unwrap_or(declaration.len())].trim()
}

/// A function's `template <...>` without types that a call deduces, where it deduces all of them. `typename Op::State` deduces
/// no `Op`.
fn without_deduced(head: &str) -> String {
    let Some((list, rest)) = head.strip_prefix("template <").and_then(|list| list.split_once("> ")) else {
        return head.to_owned();
    };
    let arguments = rest.split_once('(').map_or("", |(_, arguments)| arguments);
    let is_deduced = |name: &str| {
        let deduces =
            |at: usize| is_word(arguments, at, name.len()) && !arguments[at + name.len()..].starts_with("::");
        arguments.match_indices(name).any(|(at, _)| deduces(at))
    };
    let names: Vec<&str> = list.split(", ").collect();
    let types = names.iter().filter_map(|name| name.strip_prefix("class "));
    let all = types.map(|name| name.split(' ').next().unwrap_or(name)).all(is_deduced);
    let is_shown = |name: &&str| !all || !name.starts_with("class ");
    let named: Vec<&str> = names.into_iter().filter(is_shown).collect();
    if named.is_empty() { rest.to_owned() } else { format!("<{}> {rest}", named.join(", ")) }
}

/// Whether so many bytes of a text are a whole word of it.
fn is_word(text: &str, at: usize, length: usize) -> bool {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    !text[..at].ends_with(is_of_word) && !text[at + length..].starts_with(is_of_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS_MOST: usize = 2400;

    fn targets() -> [Target; 2] {
        [Target::parse("sm_90a").expect("a target"), Target::host()]
    }

    #[test]
    fn page_has_the_length_of_a_prompt_and_begins_with_a_line_a_header() {
        for target in targets() {
            let page = reference(&target);
            let words = page.split_whitespace().count();
            println!("{words} words");
            assert!(words <= WORDS_MOST, "{words} words");
            let shown = headers(&target).iter().filter(|header| header.text.contains("///"));
            for (line, header) in page.lines().zip(shown) {
                assert!(line.starts_with(&format!("- {}: ", header.name)), "{line}");
            }
        }
    }

    #[test]
    fn items_have_signature_and_text() {
        let text = "// kit/x.cuh: things.\n//\n// More of\n// them.\n#include <kit/y.cuh>\n/// Adds\n/// one.\n\
                    template <class T>\n__device__ __forceinline__ T plus(T x) {\n  return x + 1;\n}\n\\
                    /// Next.\ntemplate <class Op, int N, class X> S of(X x) {\n}\n// hidden\nint own();\n\
                    /// Last.\ntemplate <int V, class X>\nvoid last(X const& x = {}) {\n}\n";
        let header = Header { name: "kit/x.cuh", text };
        let page = Page::of(&header);
        assert_eq!((page.summary.as_str(), page.about.as_str()), ("kit/x.cuh: things.", "More of them."));
        let items: Vec<(&str, &str)> =
            page.items.iter().map(|item| (item.signature.as_str(), item.says.as_str())).collect();
        let [plus, of, last] = [
            ("T plus(T x)", "Adds one."),
            ("<class Op, int N, class X> S of(X x)", "Next."),
            ("<int V> void last(X const& x = {})", "Last."),
        ];
        assert_eq!(items, [plus, of, last]);
    }

    #[test]
    fn what_a_call_names_and_a_launch_asks_for_is_told() {
        let page = reference(&Target::parse("sm_90a").expect("a target"));
        for told in [
            "- `<class T, class F> Gathered<T, F> gathered(F value)`: ",
            "- `template <class T, int D, int KV, int WARPS, int STAGES = 2, int P_PARTS = 1> using WgmmaAttention = ",
            "BYTES = STAGES (M + N) K sizeof(T) of shared memory",
            "BYTES = (ROWS + 2 STAGES KV) D sizeof(T) of shared memory",
            "PASS_BYTES = 64 WARPS_M (N + 8) of shared memory",
            "After const& after = {})`: ",
        ] {
            assert!(page.contains(told), "no {told}");
        }
    }

    /// What is meant for callers has no name of the kit's own.
    #[test]
    fn every_documented_declaration_has_a_signature() {
        for target in targets() {
            for page in headers(&target).iter().map(Page::of) {
                assert!(page.summary.starts_with(&format!("{}: ", page.name)), "{}", page.summary);
                let bad = page
                    .items
                    .iter()
                    .find(|item| item.signature.is_empty() || item.signature.contains("ptx_"));
                assert!(bad.is_none(), "{}: {:?}", page.name, bad.map(|item| &item.says));
            }
        }
    }

    #[test]
    fn docs_have_the_page_of_now() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/kit.md");
        let [cuda, host] = targets().map(|target| reference(&target));
        let page = format!(
            "# The kit\n\nHeaders that a proposed source may include. A stored source has their text and needs no kit. This page is \
             printed from them; the first part is for GPUs, the second for `host`. A prompt shows the headers that serve its class and target.\n\n\
             ## sm_90a\n\n{cuda}\n## host\n\n{host}"
        );
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(file, &page).expect("it can be written");
        }
        let written = std::fs::read_to_string(file).unwrap_or_default();
        assert!(written == page, "docs/kit.md differs; UPDATE_GOLDEN=1 rewrites it");
    }
}
