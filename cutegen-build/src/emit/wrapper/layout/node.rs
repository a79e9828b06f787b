//! Tokens as the layout sees them: text that knows whether it clings to its neighbours, groups that know what they hold
//! and how wide they are on one line, and where statements, arms and items end. Knows nothing of indentation.

use std::fmt::{self, Write as _};

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// A token or a group, with what the layout needs to know of it.
pub(super) enum Node {
    /// Text, and whether it clings to its left and right neighbours.
    Word(Text, bool, bool),
    Group(Group),
}

pub(super) struct Group {
    pub(super) delimiter: Delimiter,
    pub(super) nodes: Vec<Node>,
    pub(super) shape: Shape,
    clings: bool,
    /// Characters on one line; none where it can't be on one.
    pub(super) flat: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Items between commas.
    List,
    /// Imported names between commas.
    Imports,
    /// Statements.
    Block,
    /// Arms of a match.
    Arms,
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
pub(super) enum Text {
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

    /// Compared and measured without a look at whether it is UTF-8.
    fn as_bytes(&self) -> &[u8] {
        match self {
            Text::Short(len, bytes) => &bytes[..usize::from(*len)],
            Text::Long(text) => text.as_bytes(),
        }
    }

    pub(super) fn as_str(&self) -> &str {
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

pub(super) fn nodes(tokens: TokenStream) -> Vec<Node> {
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
                operator(text, nodes.last(), tokens.peek())
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

fn operator(text: Text, before: Option<&Node>, next: Option<&TokenTree>) -> Node {
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
        "!" => match next {
            Some(TokenTree::Group(group)) => (after_operand, group.delimiter() != Delimiter::Brace),
            _ => (false, true),
        },
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
    let in_macro = before_text == "!" && !has(&nodes, ";");
    let may_be_flat = match shape {
        Shape::List | Shape::Imports => !has(&nodes, "#") && !begins(&nodes, "pub"),
        Shape::Block => nodes.is_empty() || in_macro,
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

pub(super) fn has(nodes: &[Node], text: &str) -> bool {
    nodes.iter().any(|node| is(node, text))
}

pub(super) fn is(node: &Node, text: &str) -> bool {
    matches!(node, Node::Word(word, ..) if word.as_bytes() == text.as_bytes())
}

/// Whether a space stands between two neighbours.
pub(super) fn spaced(before: &Node, node: &Node) -> bool {
    let clings_right = matches!(before, Node::Word(_, _, true));
    let clings_left = match node {
        Node::Word(_, left, _) => *left,
        Node::Group(group) => group.clings,
    };
    !clings_right && !clings_left
}

/// Characters on one line.
pub(super) fn width(nodes: &[Node]) -> Option<usize> {
    let mut sum = 0;
    for (i, node) in nodes.iter().enumerate() {
        sum += usize::from(i > 0 && spaced(&nodes[i - 1], node));
        sum += match node {
            Node::Word(word, ..) => word.as_bytes().len(),
            Node::Group(group) => group.flat?,
        };
    }
    Some(sum)
}
impl Group {
    pub(super) fn ends(&self) -> (&'static str, &'static str) {
        match self.delimiter {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::Brace => ("{", "}"),
            Delimiter::None => ("", ""),
        }
    }

    pub(super) fn is_padded(&self) -> bool {
        self.delimiter == Delimiter::Brace && self.shape != Shape::Imports && !self.nodes.is_empty()
    }
}
pub(super) fn between_commas(nodes: &[Node]) -> Vec<&[Node]> {
    let mut depth = 0_usize; // of generic arguments
    let split = nodes.split(|node| {
        match node {
            Node::Word(word, ..) if word.as_bytes() == b"<" => depth += 1,
            Node::Word(word, ..) if word.as_bytes() == b">" => depth = depth.saturating_sub(1),
            Node::Word(..) | Node::Group(_) => {}
        }
        depth == 0 && is(node, ",")
    });
    split.filter(|item| !item.is_empty()).collect()
}

/// Arms end at a comma, or at a block without one.
pub(super) fn arms(nodes: &[Node]) -> Vec<&[Node]> {
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

pub(super) fn begins(nodes: &[Node], word: &str) -> bool {
    opening(nodes).first().is_some_and(|first| is(first, word))
}

/// Items that a blank line sets apart.
pub(super) fn begins_item(nodes: &[Node]) -> bool {
    let words = ["pub", "impl", "static", "use", "mod", "unsafe_extern", "unsafe_fn"];
    let has_signature = begins(nodes, "fn") && matches!(nodes.last(), Some(Node::Group(_)));
    has_signature || words.iter().any(|word| begins(nodes, word))
}

/// How many nodes the first statement has.
pub(super) fn end_of_statement(nodes: &[Node]) -> usize {
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
