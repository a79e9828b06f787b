//! How many parameters a function has. An anonymous tuple is no way to have more: each of its elements counts.

use super::Finding;
use super::source::{is_generated, is_shipped, line_of, shipped};

/// The limit of clippy's `too_many_arguments`, which counts a tuple once.
const MOST: usize = 7;

/// No function that ships has more than [`MOST`] parameters.
pub(super) fn parameters(path: &str, text: &str) -> Vec<Finding> {
    if !is_shipped(path) || is_generated(path, text) {
        return Vec::new();
    }
    // an arrow closes no list of type parameters
    let code = shipped(text).replace("->", "  ");
    let heads = code.match_indices("fn ").filter(|(at, _)| !code[..*at].ends_with(is_of_a_name));
    let counted = heads.filter_map(|(at, head)| Some((at, counted(&code[at + head.len()..])?)));
    let many = counted.filter(|(_, (_, count))| *count > MOST);
    let told = many.map(|(at, (name, count))| {
        let what = format!("`{name}` has {count} parameters, more than {MOST}: name what belongs together");
        Finding::new(line_of(&code, at), what)
    });
    told.collect()
}

/// The name of a function that starts behind `fn`, and how many parameters it has.
fn counted(text: &str) -> Option<(&str, usize)> {
    let (name, rest) = text.split_at(text.find(|c| !is_of_a_name(c))?);
    let rest = if rest.starts_with('<') { bracketed(rest)?.1 } else { rest };
    let (list, _) = bracketed(rest.strip_prefix('(').map(|_| rest)?)?;
    let count = |parameter: &str| parts(parameter, ':').into_iter().map(elements).max();
    (!name.is_empty()).then(|| (name, parts(list, ',').into_iter().filter_map(count).sum()))
}

/// Elements of a pattern or type: of a tuple, those of its elements together.
fn elements(text: &str) -> usize {
    let mut text = text.trim_start_matches('&');
    if text.starts_with('\'') {
        text = text.split_once(' ').map_or("", |(_, behind)| behind);
    }
    let text = text.trim_start_matches("mut ");
    let list = text.starts_with('(').then(|| bracketed(text)).flatten();
    list.map_or(1, |(list, _)| parts(list, ',').into_iter().map(elements).sum::<usize>().max(1))
}

/// What stands in the bracket that `text` starts with, and what is behind it.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    let end = text.char_indices().find(|(_, c)| {
        depth += nesting(*c);
        depth == 0
    })?;
    Some((&text[1..end.0], &text[end.0 + 1..]))
}

/// What `separator` parts, outside of brackets.
fn parts(text: &str, separator: char) -> Vec<&str> {
    let mut depth = 0;
    let parted = text.split(|c| {
        depth += nesting(c);
        depth == 0 && c == separator
    });
    parted.map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn nesting(c: char) -> i32 {
    i32::from("([{<".contains(c)) - i32::from(")]}>".contains(c))
}

fn is_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(list: &str) -> Vec<String> {
        let text = format!("impl X {{\n    pub(super) fn f<'a, F: Fn(A, B) -> C>({list}) -> D {{}}\n}}\n");
        parameters("a/src/b.rs", &text)
            .into_iter()
            .map(|Finding { line, what }| format!("{line}: {what}"))
            .collect()
    }

    #[test]
    fn parameters_in_tuples_are_counted() {
        let many = ["2: `f` has 8 parameters, more than 7: name what belongs together"];
        assert_eq!(found("&mut self, a: A, (b, c): Two, (d, (e, f)): (D, (E, F)), g: G"), many);
        assert_eq!(found("a: &'a (A, B, C, D), b: (&mut E, crate::F), c: C, d: D"), many);
        assert_eq!(found("a: A, b: A, c: A, d: A,\n    e: A, f: A, g: A, h: &dyn Fn(A, B) -> (C, D),"), many);
    }

    #[test]
    fn what_has_a_name_counts_once() {
        let few =
            "&self, Case { a, b, c }: Case, [d, e]: [D; 2], f: Fn(A, B, C), g: m::G<A, B>, (h, i): (H, I)";
        assert_eq!(found(few), [""; 0]);
        assert_eq!(parameters("a/src/b.rs", "type F = fn(A, A, A, A, A, A, A, A);\n"), []);
        assert_eq!(parameters("a/tests/b.rs", "fn f(a: (A, A, A, A, A, A, A, A)) {}\n"), []);
    }
}
