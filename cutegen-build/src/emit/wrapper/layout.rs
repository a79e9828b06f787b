//! Tokens to formatted text. A parser and a general formatter took most of a build script's time and of its own
//! compilation; wrappers need no more than statements on lines of their own and lists that break when they are long.
//! Any Rust comes out as the same Rust; only the kind that wrappers print comes out pretty. Doc attributes become doc
//! comments, those of safety comments become comments.

mod node;

use proc_macro2::{Delimiter, TokenStream};

use node::{
    Group, Node, Shape, arms, begins, begins_item, between_commas, end_of_statement, has, is, nodes, spaced,
    width,
};

const WIDTH: usize = 100;
const STEP: usize = 4;

/// The text of `tokens`, which are items or statements.
pub(super) fn print(tokens: TokenStream) -> String {
    let nodes = nodes(tokens);
    let mut printer = Printer { out: String::new(), column: 0 };
    printer.statements(&nodes, 0);
    printer.out
}
struct Printer {
    out: String,
    column: usize,
}

impl Printer {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.len();
    }

    fn newline(&mut self, indent: usize) {
        while self.out.ends_with(' ') {
            self.out.pop();
        }
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.column = indent;
    }

    /// Statements or items, each from a new line; a blank line around items that have bodies.
    fn statements(&mut self, nodes: &[Node], indent: usize) {
        let mut rest = nodes;
        let mut before: Option<&[Node]> = None;
        while !rest.is_empty() {
            let (statement, left) = rest.split_at(end_of_statement(rest));
            if let Some(before) = before {
                self.newline(0);
                if begins_item(statement) && !(begins(before, "use") && begins(statement, "use")) {
                    self.newline(0);
                }
            }
            self.out.truncate(self.out.trim_end_matches(' ').len());
            self.out.extend(std::iter::repeat_n(' ', indent));
            self.column = indent;
            self.statement(statement, indent);
            before = Some(statement);
            rest = left;
        }
    }

    /// Attributes on lines of their own, then what they are of.
    fn statement(&mut self, nodes: &[Node], indent: usize) {
        let mut rest = nodes;
        while let [hash, Node::Group(group), left @ ..] = rest {
            if !is(hash, "#") {
                break;
            }
            match group.nodes.as_slice() {
                [doc, _, Node::Word(text, ..)] if is(doc, "doc") => self.comment(text.as_str()),
                _ => {
                    self.push("#[");
                    self.flat(&group.nodes);
                    self.push("]");
                }
            }
            self.newline(indent);
            rest = left;
        }
        self.nodes(rest, indent);
    }

    /// A doc comment from its literal, plain or raw.
    fn comment(&mut self, literal: &str) {
        let text = match literal.strip_prefix('r') {
            Some(raw) => raw.trim_matches('#').trim_matches('"').to_owned(),
            None => literal.trim_matches('"').replace("\\\"", "\"").replace("\\'", "'").replace("\\\\", "\\"),
        };
        let slashes = if text.starts_with(" SAFETY:") { "//" } else { "///" };
        self.push(slashes);
        self.push(&text);
    }

    fn flat(&mut self, nodes: &[Node]) {
        for (i, node) in nodes.iter().enumerate() {
            if i > 0 && spaced(&nodes[i - 1], node) {
                self.push(" ");
            }
            match node {
                Node::Word(word, ..) => self.push(word.as_str()),
                Node::Group(group) => {
                    let (open, close) = group.ends();
                    let pad = if group.is_padded() { " " } else { "" };
                    self.push(open);
                    self.push(pad);
                    self.flat(&group.nodes);
                    self.push(pad);
                    self.push(close);
                }
            }
        }
    }

    /// Nodes that begin on this line; groups that don't fit it are broken.
    fn nodes(&mut self, nodes: &[Node], indent: usize) {
        let mut is_long = false; // a condition over several lines sets its block apart
        for (i, node) in nodes.iter().enumerate() {
            if i > 0 && spaced(&nodes[i - 1], node) {
                self.push(" ");
            }
            match node {
                Node::Word(word, ..) => {
                    if is(node, "&&") && self.column + until_break(&nodes[i + 1..], WIDTH) > WIDTH {
                        self.newline(indent + STEP);
                        is_long = true;
                    }
                    self.push(word.as_str());
                }
                Node::Group(group) => match group.flat {
                    Some(flat) if self.column + flat + until_break(&nodes[i + 1..], flat) <= WIDTH => {
                        self.flat(std::slice::from_ref(node));
                    }
                    Some(_) | None => {
                        if std::mem::take(&mut is_long) && group.shape == Shape::Block {
                            self.newline(indent);
                        }
                        self.broken(group, indent);
                    }
                },
            }
        }
    }

    fn broken(&mut self, group: &Group, indent: usize) {
        let (open, close) = group.ends();
        self.push(open);
        match group.shape {
            Shape::Block => {
                self.newline(0);
                self.statements(&group.nodes, indent + STEP);
                self.newline(indent);
            }
            Shape::Arms => self.items(&arms(&group.nodes), indent, Shape::Arms),
            Shape::Imports => self.fill(&group.nodes, indent),
            Shape::List if has(&group.nodes, ";") => self.nodes(&group.nodes, indent), // an array's type
            Shape::List => {
                let items = between_commas(&group.nodes);
                let hugs = |item: &[Node]| matches!(item.last(), Some(Node::Group(last)) if last.flat.is_none() || last.nodes.len() > 1);
                match items.as_slice() {
                    [only] if group.delimiter != Delimiter::Brace && hugs(only) => self.nodes(only, indent),
                    // after a lone item a comma would make a tuple of a parenthesis
                    [only] if group.delimiter != Delimiter::Brace => self.lone(only, indent),
                    _ => self.items(&items, indent, Shape::List),
                }
            }
        }
        self.push(close);
    }

    fn lone(&mut self, item: &[Node], indent: usize) {
        self.newline(indent + STEP);
        self.nodes(item, indent + STEP);
        self.newline(indent);
    }

    /// One item a line, or all on the next line where they fit it.
    fn items(&mut self, items: &[&[Node]], indent: usize, shape: Shape) {
        let arms = shape == Shape::Arms;
        let widths: Option<usize> = items.iter().map(|item| width(item).map(|w| w + 2)).sum();
        let fields = items.first().is_some_and(|item| begins(item, "pub"));
        let together = !arms && !fields && widths.is_some_and(|sum| indent + STEP + sum <= WIDTH + 1);
        self.newline(indent + STEP);
        for (i, item) in items.iter().enumerate() {
            if i > 0 && together {
                self.push(" ");
            } else if i > 0 {
                self.newline(indent + STEP);
            }
            self.statement(item, indent + STEP);
            let is_rest = matches!(item.first(), Some(first) if is(first, ".."));
            let is_block =
                arms && matches!(item.last(), Some(Node::Group(g)) if g.delimiter == Delimiter::Brace);
            if !is_rest && !is_block {
                self.push(",");
            }
        }
        self.newline(indent);
    }

    /// As many names on a line as fit it.
    fn fill(&mut self, nodes: &[Node], indent: usize) {
        self.newline(indent + STEP);
        for (i, item) in between_commas(nodes).into_iter().enumerate() {
            if i > 0 && self.column + width(item).unwrap_or(WIDTH) + 2 > WIDTH {
                self.newline(indent + STEP);
            } else if i > 0 {
                self.push(" ");
            }
            self.flat(item);
            self.push(",");
        }
        self.newline(indent);
    }
}
/// Characters up to the next group that breaks rather than one of `flat` characters, or the end.
fn until_break(nodes: &[Node], flat: usize) -> usize {
    let breaks =
        |node: &Node| matches!(node, Node::Group(group) if group.flat.is_none_or(|other| other > flat));
    let end = nodes.iter().position(breaks).unwrap_or(nodes.len());
    let opening = if end < nodes.len() { 2 } else { 0 };
    let next_and = nodes[..end].iter().position(|node| is(node, "&&")).unwrap_or(end);
    width(&nodes[..next_and]).unwrap_or(0) + opening
}
#[cfg(test)]
mod tests {
    use super::print;
    use proc_macro2::TokenStream;
    use quote::quote;

    #[test]
    fn statements_get_lines_and_lists_break_when_long() {
        let tokens = quote! {
            use ::a::{B, C};
            #[doc = " Says \"why\"."]
            #[derive(Debug)]
            pub struct S<'a> { pub x: View<'a, f32, 2>, pub n: usize }
            impl S<'_> {
                fn f(&self, a: &[u8], mut b: usize) -> Result<(), Error> {
                    let c = -1 + a[b] * 2;
                    if !g(a)? && b == 3 { return Ok(()); } else { h(&mut b); }
                    #[doc = " SAFETY: fine."]
                    let d = unsafe_block! { call(x, &mut params![a, b]) };
                    let e = E { first: one_long_argument(a, b), second: another_long_argument(c), ..E::default() };
                    for i in 0..b { a.put([i], c); }
                    match b { 0 => g(a), _ => { h(b); Ok(()) } }
                }
            }
        };
        let expected = "\
use ::a::{B, C};

/// Says \"why\".
#[derive(Debug)]
pub struct S<'a> {
    pub x: View<'a, f32, 2>,
    pub n: usize,
}

impl S<'_> {
    fn f(&self, a: &[u8], mut b: usize) -> Result<(), Error> {
        let c = -1 + a[b] * 2;
        if !g(a)? && b == 3 {
            return Ok(());
        } else {
            h(&mut b);
        }
        // SAFETY: fine.
        let d = unsafe_block! { call(x, &mut params![a, b]) };
        let e = E {
            first: one_long_argument(a, b), second: another_long_argument(c), ..E::default()
        };
        for i in 0..b {
            a.put([i], c);
        }
        match b {
            0 => g(a),
            _ => {
                h(b);
                Ok(())
            }
        }
    }
}";
        let text = print(tokens.clone());
        assert_eq!(text, expected, "\n{text}");
        same(tokens, &text);
    }

    /// Token by token, but for commas before a closing bracket.
    fn same(tokens: TokenStream, text: &str) {
        let again: TokenStream = text.parse().expect("lexes");
        let plain = |tokens: TokenStream| {
            let text: String = tokens.to_string().split_whitespace().collect();
            text.replace(",}", "}").replace(",]", "]").replace(",)", ")").replace("r\"", "\"")
        };
        assert_eq!(plain(tokens).replace("#[doc=\"SAFETY:fine.\"]", ""), plain(again), "\n{text}");
    }

    #[test]
    fn what_is_too_long_stays_the_same_rust() {
        let long = quote! {
            fn f() {
                let x = ((((aaaaaaaaaaaaaaaaaaaaaaaa + bbbbbbbbbbbbbbbbbbbbbbb) * cccccccccccccccccccccccccc) - d) + eeeeeee) * f;
                let y = (((math::rsqrt((aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa + bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb) / ccccccccc))));
                let z: [aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb] = [0; 1];
                let (a,) = ((((a)),),);
                let v = vec![0.0_f64; aaaaaaaaaaaaaaaaaaaaaaaaaaaa * bbbbbbbbbbbbbbbbbbbbbbbbbbbb * ccccccccccccccccccccccc];
                *w = -1 - -x & !y; a[b][c] += &*d.e.0; for v0 in 0..a0 { let mut r = 0.0; r = r + { let e: f64 = 1.0; e }; }
                return match x { 1 | 2 => {} 3..=4 => a?, _ if b == c => { d } };
            }
        };
        same(long.clone(), &print(long));
    }
}
