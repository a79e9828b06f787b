//! Text to tokens. Newlines and `;` separate assignments, except inside brackets.

use std::ops::Range;

use crate::diagnostic::{Diagnostic, SIZE, SYNTAX};
use crate::hint;

/// Longest math that is read: far above any kernel, low enough that nothing blows up.
pub const MAX_BYTES: usize = 64 * 1024;

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A name or keyword.
    Word(String),
    /// A literal.
    Number(Number),
    /// Punctuation or an operator.
    Sign(&'static str),
    /// A newline or `;` outside brackets.
    Separator,
    /// After the last character.
    End,
}

/// A literal, as a real and, where it is whole, as an integer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// The nearest f64.
    pub value: f64,
    /// The integer, exactly.
    pub whole: Option<i128>,
}

/// A token and its byte range in the math.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it is.
    pub span: Range<usize>,
}

const SIGNS: [&str; 19] =
    ["<=", ">=", "==", "!=", "<", ">", "=", "+", "-", "*", "/", "%", "(", ")", "[", "]", ",", "{", "}"];

/// Splits `text`; the last token is [`Kind::End`].
pub fn lex(text: &str) -> Result<Vec<Token>, Diagnostic> {
    if text.len() > MAX_BYTES {
        return Err(Diagnostic::new(SIZE, 0..1, "math is longer than 64 KiB", "starts here"));
    }
    let (mut tokens, mut at, mut depth) = (Vec::new(), 0, 0_usize);
    while let Some(c) = text[at..].chars().next() {
        let start = at;
        let kind = match c {
            '\n' | ';' if depth == 0 => advance(&mut at, 1, Kind::Separator),
            ';' => return Err(unexpected(c, start)),
            _ if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '.' if !text[at + 1..].starts_with(|c: char| c.is_ascii_digit()) => return Err(dot(text, at)),
            _ if c.is_ascii_digit() || c == '.' => number(text, &mut at)?,
            _ if c.is_ascii_alphabetic() || c == '_' => {
                let end = end_of(text, at, |c| c.is_ascii_alphanumeric() || c == '_');
                advance(&mut at, end - start, Kind::Word(text[start..end].to_owned()))
            }
            _ => sign(text, &mut at).ok_or_else(|| unexpected(c, start))?,
        };
        match kind {
            Kind::Sign("(" | "[") => depth += 1,
            Kind::Sign(")" | "]") => depth = depth.saturating_sub(1),
            Kind::Sign(_) | Kind::Word(_) | Kind::Number(_) | Kind::Separator | Kind::End => {}
        }
        tokens.push(Token { kind, span: start..at });
    }
    let end = text.trim_end().len(); // blank lines after the last assignment are no place to look at
    tokens.push(Token { kind: Kind::End, span: end..end });
    Ok(tokens)
}

fn advance(at: &mut usize, by: usize, kind: Kind) -> Kind {
    *at += by;
    kind
}

fn end_of(text: &str, from: usize, keep: impl Fn(char) -> bool) -> usize {
    text[from..].find(|c| !keep(c)).map_or(text.len(), |n| from + n)
}

fn sign(text: &str, at: &mut usize) -> Option<Kind> {
    let found = SIGNS.into_iter().find(|sign| text[*at..].starts_with(sign))?;
    *at += found.len();
    Some(Kind::Sign(found))
}

/// Digits, an optional fraction, an optional exponent.
fn number(text: &str, at: &mut usize) -> Result<Kind, Diagnostic> {
    let start = *at;
    let digits = |from| end_of(text, from, |c: char| c.is_ascii_digit() || c == '_');
    *at = digits(*at);
    if text[*at..].starts_with('.') {
        *at = digits(*at + 1);
    }
    if text[*at..].starts_with(['e', 'E']) {
        let sign = usize::from(text[*at + 1..].starts_with(['+', '-']));
        *at = digits(*at + 1 + sign);
    }
    let literal = text[start..*at].replace('_', "");
    let error = |message| Diagnostic::new(SYNTAX, start..*at, message, "expected a decimal literal");
    match literal.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Kind::Number(Number { value, whole: whole(&literal, value) })),
        Ok(_) => Err(error(format!("`{literal}` is larger than every f64")).help("infinity is `inf`")),
        Err(_) => Err(error(format!("`{literal}` is no number"))),
    }
}

/// The integer that a literal is: of digits alone exactly, else as far as an f64 tells integers apart.
fn whole(literal: &str, value: f64) -> Option<i128> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let is_told = value.fract() == 0.0 && value.abs() <= EXACT;
    literal.parse().ok().or(is_told.then_some(value as i128))
}

/// A dot that begins no number.
fn dot(text: &str, at: usize) -> Diagnostic {
    let error = unexpected('.', at);
    let named = text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ']' | ')'));
    if named {
        error.help("functions have plain names: `exp(x)`, not `torch.exp(x)` or `x.exp()`")
    } else {
        error
    }
}

fn unexpected(c: char, at: usize) -> Diagnostic {
    let message = format!("unexpected character `{c}` in math");
    let error = Diagnostic::new(SYNTAX, at..at + c.len_utf8(), message, "not part of the language");
    Diagnostic { help: hint::character(c).map(str::to_owned), ..error }
}
