//! Tokens to formatted text. A parser and a general formatter took most of a build script's time and of its own
//! compilation; wrappers need no more than statements on lines of their own and lists that break when they are long.
//! Any Rust comes out as the same Rust; only the kind that wrappers print comes out pretty. Doc attributes become doc
//! comments, those of safety comments become comments.

use std::fmt::{self, Write as _};

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

const WIDTH: usize = 100;
const STEP: usize = 4;

/// A token or a group, with what the layout needs to know of it.
enum Node {
    /// Text, and whether it clings to its left and right neighbours.
    Word(Text, bool, bool),
    Group(Group),
}

struct Group {
    delimiter: Delimiter,
    nodes: Vec<Node>,
    shape: Shape,
    clings: bool,
    /// Characters on one line; none where it can't be on one.
    flat: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Items between commas.
    List,
    /// Imported names between commas.
    Imports,
    /// Statements.
    Block,
    /// Arms of a match.
    Arms,
}

/// The text of `tokens`, which are items or statements.
pub(super) fn print(tokens: TokenStream) -> String {
    let nodes = nodes(tokens);
    let mut printer = Printer { out: String::new(), column: 0 };
    printer.statements(&nodes, 0);
    printer.out
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "as" | "const"
            | "dyn"
            | "else"
            | "fn"
            | "for"
            | "if"
            | "impl"
            | "in"
            | "let"
            | "match"
            | "mod"
            | "move"
            | "mut"
            | "pub"
            | "raw"
            | "ref"
            | "return"
            | "static"
            | "struct"
            | "unsafe"
            | "use"
            | "where"
            | "while"
    )
}

/// A token's text, in place where it is short: most are, and an allocation for each took longer than the rest.
enum Text {
    Short(u8, [u8; Text::SHORT]),
    Long(String),
}

impl Text {
    const SHORT: usize = 30;

    fn of(value: &impl fmt::Display) -> Self {
        let mut text = Text::Short(0, [0; Text::SHORT]);
        // Writing to it cannot fail.
        let _ = write!(text, "{value}");
        text
    }

    fn as_str(&self) -> &str {
        match self {
            Text::Short(len, bytes) => std::str::from_utf8(&bytes[..usize::from(*len)]).unwrap_or_default(),
            Text::Long(text) => text,
        }
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        match self {
            Text::Short(len, bytes) if usize::from(*len) + more.len() <= Text::SHORT => {
                let start = usize::from(*len);
                bytes[start..start + more.len()].copy_from_slice(more.as_bytes());
                *len += more.len() as u8;
            }
            Text::Short(..) => *self = Text::Long(format!("{}{more}", self.as_str())),
            Text::Long(text) => text.push_str(more),
        }
        Ok(())
    }
}

fn nodes(tokens: TokenStream) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let node = match token {
            TokenTree::Group(group) => Node::Group(group_node(group, nodes.last())),
            TokenTree::Ident(ident) => Node::Word(Text::of(&ident), false, false),
            TokenTree::Literal(literal) => Node::Word(Text::of(&literal), false, false),
            TokenTree::Punct(punct) => {
                let mut text = Text::of(&punct.as_char());
                let mut spacing = punct.spacing();
                while spacing == Spacing::Joint {
                    match tokens.peek() {
                        Some(TokenTree::Punct(next)) if joins(text.as_str(), next.as_char()) => {
                            let _ = text.write_char(next.as_char());
                            spacing = next.spacing();
                            tokens.next();
                        }
                        Some(TokenTree::Ident(name)) if text.as_str() == "'" => {
                            let _ = write!(text, "{name}");
                            tokens.next();
                            break;
                        }
                        _ => break,
                    }
                }
                let before_group = matches!(tokens.peek(), Some(TokenTree::Group(_)));
                operator(text, nodes.last(), before_group)
            }
        };
        nodes.push(node);
    }
    nodes
}

/// Whether a character goes on with the operator begun.
fn joins(text: &str, next: char) -> bool {
    const OPERATORS: [&str; 17] = [
        "::", "->", "=>", "==", "!=", "<=", ">=", "&&", "||", "..", "..=", "+=", "-=", "*=", "/=", "%=", "<<",
    ];
    OPERATORS.iter().any(|op| op.starts_with(text) && op[text.len()..].starts_with(next))
}

fn operator(text: Text, before: Option<&Node>, before_group: bool) -> Node {
    let after_operand = match before {
        Some(Node::Word(word, ..)) => {
            let word = word.as_str();
            let ends = |c: char| c.is_alphanumeric() || "_\"'?>".contains(c);
            word.ends_with(ends) && !is_keyword(word) && !matches!(word, "->" | "=>" | ">=")
        }
        Some(Node::Group(_)) => true,
        None => false,
    };
    let (left, right) = match text.as_str() {
        "," | ";" | "?" | ":" | ">" => (true, false),
        "." | "<" => (true, true),
        "::" | ".." | "..=" => (after_operand, true),
        "!" => (after_operand && before_group, true),
        "#" => (false, true),
        "&" | "*" | "-" => (false, !after_operand),
        _ => (false, false),
    };
    Node::Word(text, left, right)
}

fn group_node(group: proc_macro2::Group, before: Option<&Node>) -> Group {
    let (delimiter, stream) = (group.delimiter(), group.stream());
    drop(group); // or the tokens would be shared, and copied below
    let mut nodes = nodes(stream);
    let before_text = match before {
        Some(Node::Word(word, ..)) => word.as_str(),
        Some(Node::Group(_)) => ")",
        None => "",
    };
    let shape = shape(delimiter, &nodes, before_text);
    let is_callee = !before_text.is_empty()
        && before_text.ends_with(|c: char| c.is_alphanumeric() || "_)>".contains(c))
        && !is_keyword(before_text)
        && !matches!(before_text, "->" | "=>");
    let clings = delimiter != Delimiter::Brace && is_callee;
    let is_one_tuple = !clings && nodes.iter().filter(|node| is(node, ",")).count() == 1;
    if shape == Shape::List && !is_one_tuple && nodes.last().is_some_and(|last| is(last, ",")) {
        nodes.pop();
    }
    let unsafe_expression = before_text == "unsafe" && !has(&nodes, ";");
    let may_be_flat = match shape {
        Shape::List | Shape::Imports => !has(&nodes, "#") && !begins(&nodes, "pub"),
        Shape::Block => nodes.is_empty() || unsafe_expression,
        Shape::Arms => false,
    };
    let padding =
        if delimiter == Delimiter::Brace && shape != Shape::Imports && !nodes.is_empty() { 2 } else { 0 };
    let flat = if may_be_flat { width(&nodes).map(|inner| inner + 2 + padding) } else { None };
    Group { delimiter, nodes, shape, clings, flat }
}

fn shape(delimiter: Delimiter, nodes: &[Node], before: &str) -> Shape {
    match delimiter {
        Delimiter::Brace if before == "::" => Shape::Imports,
        Delimiter::Brace if has(nodes, "=>") => Shape::Arms,
        Delimiter::Brace if !has_fields(nodes) => Shape::Block,
        Delimiter::Brace | Delimiter::Parenthesis | Delimiter::Bracket | Delimiter::None => Shape::List,
    }
}

/// `name: ..`, with or without `pub`: the fields of a struct or of its literal.
fn has_fields(nodes: &[Node]) -> bool {
    match opening(nodes) {
        [public, _, colon, ..] if is(public, "pub") => is(colon, ":"),
        [_, colon, ..] => is(colon, ":"),
        [_] | [] => false,
    }
}

fn has(nodes: &[Node], text: &str) -> bool {
    nodes.iter().any(|node| is(node, text))
}

fn is(node: &Node, text: &str) -> bool {
    matches!(node, Node::Word(word, ..) if word.as_str() == text)
}

/// Whether a space stands between two neighbours.
fn spaced(before: &Node, node: &Node) -> bool {
    let clings_right = matches!(before, Node::Word(_, _, true));
    let clings_left = match node {
        Node::Word(_, left, _) => *left,
        Node::Group(group) => group.clings,
    };
    !clings_right && !clings_left
}

/// Characters on one line.
fn width(nodes: &[Node]) -> Option<usize> {
    let mut sum = 0;
    for (i, node) in nodes.iter().enumerate() {
        sum += usize::from(i > 0 && spaced(&nodes[i - 1], node));
        sum += match node {
            Node::Word(word, ..) => word.as_str().len(),
            Node::Group(group) => group.flat?,
        };
    }
    Some(sum)
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
                    if word.as_str() == "&&" && self.column + until_break(&nodes[i + 1..], WIDTH) > WIDTH {
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

impl Group {
    fn ends(&self) -> (&'static str, &'static str) {
        match self.delimiter {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::Brace => ("{", "}"),
            Delimiter::None => ("", ""),
        }
    }

    fn is_padded(&self) -> bool {
        self.delimiter == Delimiter::Brace && self.shape != Shape::Imports && !self.nodes.is_empty()
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

fn between_commas(nodes: &[Node]) -> Vec<&[Node]> {
    let mut depth = 0_usize; // of generic arguments
    let split = nodes.split(|node| {
        match node {
            Node::Word(word, ..) if word.as_str() == "<" => depth += 1,
            Node::Word(word, ..) if word.as_str() == ">" => depth = depth.saturating_sub(1),
            Node::Word(..) | Node::Group(_) => {}
        }
        depth == 0 && is(node, ",")
    });
    split.filter(|item| !item.is_empty()).collect()
}

/// Arms end at a comma, or at a block without one.
fn arms(nodes: &[Node]) -> Vec<&[Node]> {
    let mut arms = Vec::new();
    let mut start = 0;
    for (i, node) in nodes.iter().enumerate() {
        let is_comma = is(node, ",");
        let is_block = matches!(node, Node::Group(g) if g.delimiter == Delimiter::Brace)
            && i > 0
            && is(&nodes[i - 1], "=>");
        if is_comma || is_block {
            let end = if is_comma { i } else { i + 1 };
            arms.extend((end > start).then(|| &nodes[start..end]));
            start = i + 1;
        }
    }
    arms.extend((start < nodes.len()).then(|| &nodes[start..]));
    arms
}

/// The words that a statement begins with, after attributes.
fn opening(nodes: &[Node]) -> &[Node] {
    match nodes {
        [hash, Node::Group(_), rest @ ..] if is(hash, "#") => opening(rest),
        _ => nodes,
    }
}

fn begins(nodes: &[Node], word: &str) -> bool {
    opening(nodes).first().is_some_and(|first| is(first, word))
}

/// Items that a blank line sets apart.
fn begins_item(nodes: &[Node]) -> bool {
    let is_extern =
        matches!(opening(nodes), [first, second, ..] if is(first, "unsafe") && is(second, "extern"));
    let is_unsafe_fn =
        matches!(opening(nodes), [first, second, ..] if is(first, "unsafe") && is(second, "fn"));
    let words = ["pub", "impl", "static", "use", "mod"];
    let has_signature = begins(nodes, "fn") && matches!(nodes.last(), Some(Node::Group(_)));
    is_extern || is_unsafe_fn || has_signature || words.iter().any(|word| begins(nodes, word))
}

/// How many nodes the first statement has.
fn end_of_statement(nodes: &[Node]) -> usize {
    let start = nodes.len() - opening(nodes).len();
    let to_semicolon = ["let", "static", "use", "return"].iter().any(|word| begins(nodes, word));
    for (i, node) in nodes.iter().enumerate().skip(start) {
        let is_brace = matches!(node, Node::Group(group) if group.delimiter == Delimiter::Brace);
        let goes_on = |next: &Node| ["else", ";", "?", "."].iter().any(|word| is(next, word));
        let ends = is_brace && !to_semicolon && !nodes.get(i + 1).is_some_and(goes_on);
        if is(node, ";") || ends {
            return i + 1;
        }
    }
    nodes.len()
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
                    let d = unsafe { call(x, &mut params![a, b]) };
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
        let d = unsafe { call(x, &mut params![a, b]) };
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
