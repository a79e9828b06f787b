//! Tokens to a tree with spans: the whole grammar of edition 1.
//!
//! `assignment = name [ "[" exprs "]" ] "=" expr`; precedence from loose to tight: `or`, `and`, `not`, comparison
//! (which does not chain), `+ -`, `* / %`, sign. Nothing here knows which names exist.

use std::ops::Range;

use super::lexer::{Kind, Number, Token, lex};
use crate::diagnostic::{Diagnostic, SIZE, SYNTAX};
use crate::hint;

/// Deepest nesting that is read.
const MAX_DEPTH: usize = 96;
/// Most levels of a tree: a long chain of operators is deep, too.
const MAX_LEVELS: usize = 256;

/// `target[indices] = value`
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The assigned name.
    pub target: Name,
    /// The expressions in brackets; empty for a value without axes.
    pub indices: Vec<Node>,
    /// The right side.
    pub value: Node,
}

/// A name and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// The text.
    pub text: String,
    /// The place.
    pub span: Range<usize>,
}

/// An expression and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// The place.
    pub span: Range<usize>,
    /// Levels of the tree below and with this.
    levels: usize,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// A literal.
    Number(Number),
    /// A name alone.
    Name(String),
    /// `name[indices]`
    Access(Name, Vec<Node>),
    /// `name(arguments)`
    Call(Name, Vec<Node>),
    /// `-x` or `not x`
    Prefix(&'static str, Box<Node>),
    /// `a op b`
    Infix(&'static str, Box<Node>, Box<Node>),
    /// `(a, b, ...)`: the axes of a reduction over several.
    Tuple(Vec<Node>),
}

/// Parses the assignments of `text`.
pub fn parse(text: &str) -> Result<Vec<Statement>, Diagnostic> {
    let mut parser = Parser { tokens: lex(text)?, at: 0, depth: 0 };
    let mut statements = Vec::new();
    loop {
        while parser.eat(&Kind::Separator) {}
        if parser.peek().kind == Kind::End {
            break;
        }
        statements.push(parser.statement()?);
        if !matches!(parser.peek().kind, Kind::Separator | Kind::End) {
            return Err(parser.expected("an operator, or a newline or `;` before the next assignment"));
        }
    }
    if statements.is_empty() {
        return Err(Diagnostic::new(SYNTAX, 0..0, "math is empty", "expected `name[axes] = expression`"));
    }
    Ok(statements)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at]
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn eat(&mut self, kind: &Kind) -> bool {
        let found = self.peek().kind == *kind;
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, sign: &'static str) -> Result<Range<usize>, Diagnostic> {
        let span = self.peek().span.clone();
        if self.eat(&Kind::Sign(sign)) { Ok(span) } else { Err(self.expected(&format!("`{sign}`"))) }
    }

    fn expected(&self, what: &str) -> Diagnostic {
        let token = self.peek();
        let label = format!("expected {what}");
        if let Some((pair, start, text)) = self.pair() {
            let span = start..start + pair.len();
            return Diagnostic::new(SYNTAX, span, format!("found `{pair}`"), label).help(text);
        }
        let found = match &token.kind {
            Kind::Word(word) => format!("`{word}`"),
            Kind::Number(number) => format!("`{}`", number.value),
            Kind::Sign(sign) => format!("`{sign}`"),
            Kind::Separator => "the end of the assignment".to_owned(),
            Kind::End => "the end of the math".to_owned(),
        };
        let end = if token.kind == Kind::Separator { token.span.start } else { token.span.end };
        let error = Diagnostic::new(SYNTAX, token.span.start..end, format!("found {found}"), label);
        Diagnostic { help: self.mistake().map(str::to_owned), ..error }
    }

    /// Two signs without a blank that are one operator elsewhere: the token with its neighbour.
    fn pair(&self) -> Option<(&'static str, usize, &'static str)> {
        let sides = [self.at.checked_sub(1).zip(Some(self.at)), Some((self.at, self.at + 1))];
        sides.into_iter().flatten().find_map(|(first, second)| {
            let (first, second) = (self.tokens.get(first)?, self.tokens.get(second)?);
            let (Kind::Sign(a), Kind::Sign(b)) = (&first.kind, &second.kind) else { return None };
            let (pair, text) = hint::pair(a, b)?;
            (first.span.end == second.span.start).then_some((pair, first.span.start, text))
        })
    }

    /// What was meant by the token that does not fit, or by the keyword before it.
    fn mistake(&self) -> Option<&'static str> {
        let before = self.at.checked_sub(1).map(|at| &self.tokens[at].kind);
        let word = |kind: &Kind| match kind {
            Kind::Word(word) => hint::keyword(word),
            Kind::Number(_) | Kind::Sign(_) | Kind::Separator | Kind::End => None,
        };
        word(&self.peek().kind).or_else(|| word(before?)).or(match (before?, &self.peek().kind) {
            (Kind::Number(_), Kind::Word(_) | Kind::Sign("(")) => Some("a product has its sign: `2 * x`"),
            (Kind::Sign("]"), Kind::Sign("[")) => {
                Some("all indices stand in one pair of brackets: `x[m, k]`")
            }
            (_, Kind::Sign("=")) => {
                Some("an assignment has one `=`; `==` compares, and arguments have no names")
            }
            (_, Kind::Sign("{" | "}")) => hint::character('{'),
            _ => None,
        })
    }

    fn statement(&mut self) -> Result<Statement, Diagnostic> {
        let target = self.name()?;
        let indices = if self.eat(&Kind::Sign("[")) { self.list("]")?.0 } else { Vec::new() };
        self.expect("=")?;
        Ok(Statement { target, indices, value: self.expression()? })
    }

    fn name(&mut self) -> Result<Name, Diagnostic> {
        match self.peek().kind.clone() {
            Kind::Word(text) => Ok(Name { text, span: self.next().span }),
            Kind::Number(_) | Kind::Sign(_) | Kind::Separator | Kind::End => Err(self.expected("a name")),
        }
    }

    /// Comma-separated expressions up to `close`; an empty list is allowed.
    fn list(&mut self, close: &'static str) -> Result<(Vec<Node>, Range<usize>), Diagnostic> {
        let mut nodes = Vec::new();
        if self.peek().kind != Kind::Sign(close) {
            nodes.push(self.expression()?);
            while self.eat(&Kind::Sign(",")) {
                nodes.push(self.expression()?);
            }
        }
        let end = self.expect(close)?;
        Ok((nodes, end))
    }

    fn expression(&mut self) -> Result<Node, Diagnostic> {
        self.deeper()?;
        let node = self.infix(0);
        self.depth -= 1;
        node
    }

    fn deeper(&mut self) -> Result<(), Diagnostic> {
        self.depth += 1;
        if self.depth <= MAX_DEPTH {
            return Ok(());
        }
        let span = self.peek().span.clone();
        Err(Diagnostic::new(
            SIZE,
            span,
            format!("math nests deeper than {MAX_DEPTH} levels"),
            "too deep here",
        ))
    }

    /// Binary operators by level, left-associative; comparisons do not chain.
    fn infix(&mut self, level: usize) -> Result<Node, Diagnostic> {
        const COMPARISONS: &[&str] = &["<=", ">=", "==", "!=", "<", ">"];
        const LEVELS: [&[&str]; 5] = [&["or"], &["and"], COMPARISONS, &["+", "-"], &["*", "/", "%"]];
        let Some(operators) = LEVELS.get(level) else { return self.sign() };
        if level == 2 && self.is_operator("not") {
            return self.prefix("not", |parser| parser.infix(2));
        }
        let mut left = self.infix(level + 1)?;
        while let Some(op) = operators.iter().find(|op| self.is_operator(op)) {
            if level == 2 && matches!(left.kind, NodeKind::Infix(op, ..) if COMPARISONS.contains(&op)) {
                return Err(self.expected("`and` between two comparisons"));
            }
            self.next();
            let right = self.infix(level + 1)?;
            let span = left.span.start..right.span.end;
            left = node(NodeKind::Infix(op, Box::new(left), Box::new(right)), span)?;
        }
        Ok(left)
    }

    fn is_operator(&self, op: &str) -> bool {
        match &self.peek().kind {
            Kind::Sign(sign) => *sign == op,
            Kind::Word(word) => word == op,
            Kind::Number(_) | Kind::Separator | Kind::End => false,
        }
    }

    fn sign(&mut self) -> Result<Node, Diagnostic> {
        if self.is_operator("-") { self.prefix("-", Parser::sign) } else { self.atom() }
    }

    fn prefix(
        &mut self,
        op: &'static str,
        operand: impl Fn(&mut Self) -> Result<Node, Diagnostic>,
    ) -> Result<Node, Diagnostic> {
        let start = self.next().span.start;
        self.deeper()?;
        let operand = operand(self)?;
        self.depth -= 1;
        let span = start..operand.span.end;
        node(NodeKind::Prefix(op, Box::new(operand)), span)
    }

    fn atom(&mut self) -> Result<Node, Diagnostic> {
        match self.peek().kind.clone() {
            Kind::Number(number) => node(NodeKind::Number(number), self.next().span),
            Kind::Word(_) => self.word(),
            Kind::Sign("(") => {
                let start = self.next().span.start;
                let (mut nodes, end) = self.list(")")?;
                let span = start..end.end;
                match nodes.len() {
                    1 => Ok(Node { span, ..nodes.remove(0) }),
                    0 => Err(Diagnostic::new(SYNTAX, span, "empty parentheses", "expected an expression")),
                    _ => node(NodeKind::Tuple(nodes), span),
                }
            }
            Kind::Sign(_) | Kind::Separator | Kind::End => Err(self.expected("a number, a name or `(`")),
        }
    }

    fn word(&mut self) -> Result<Node, Diagnostic> {
        let name = self.name()?;
        let start = name.span.start;
        if self.eat(&Kind::Sign("[")) {
            let (indices, end) = self.list("]")?;
            return node(NodeKind::Access(name, indices), start..end.end);
        }
        if self.eat(&Kind::Sign("(")) {
            let (arguments, end) = self.list(")")?;
            return node(NodeKind::Call(name, arguments), start..end.end);
        }
        node(NodeKind::Name(name.text), name.span)
    }
}

/// A node over its children, refused when the tree becomes too deep for what walks it.
fn node(kind: NodeKind, span: Range<usize>) -> Result<Node, Diagnostic> {
    let below = match &kind {
        NodeKind::Number(_) | NodeKind::Name(_) => 0,
        NodeKind::Access(_, nodes) | NodeKind::Call(_, nodes) | NodeKind::Tuple(nodes) => {
            nodes.iter().map(|node| node.levels).max().unwrap_or(0)
        }
        NodeKind::Prefix(_, operand) => operand.levels,
        NodeKind::Infix(_, a, b) => a.levels.max(b.levels),
    };
    if below < MAX_LEVELS {
        return Ok(Node { kind, span, levels: below + 1 });
    }
    let message = format!("more than {MAX_LEVELS} operators stand inside each other");
    Err(Diagnostic::new(SIZE, span, message, "too deep").help("name parts of it in assignments of their own"))
}
