//! Random changes of a text: bytes, tokens and lines of it.

/// Splitmix64.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`, which is not 0.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(super) fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    /// True once in `n`.
    pub(super) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

const TOKENS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "7",
    "0.5",
    "1e-30",
    "1e308",
    "9223372036854775807",
    "-9223372036854775808",
    "1099511627776",
    "18446744073709551616",
    "inf",
    "nan",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    "=",
    "==",
    "<",
    "<=",
    ">",
    ">=",
    "!=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "and",
    "or",
    "not",
    "\n",
    "\"",
    "'",
    "\"\"\"",
    "\\",
    "\\u0041",
    "sum(",
    "prod(",
    "max(",
    "min(",
    "mean(",
    "argmax(",
    "softmax(",
    "layer_norm(",
    "rms_norm(",
    "pad(",
    "where(",
    "cast(i8, ",
    "cast(bf16, ",
    "len(",
    "pow(",
    "floor(",
    "exp(",
    "f64",
    "f32",
    "f16",
    "bf16",
    "f8e4m3",
    "f8e5m2",
    "i8",
    "u8",
    "i32",
    "i64",
    "bool",
    "i4",
    "u4",
    "..",
    "..=",
    "range",
    "unique",
    "strides",
    "constant",
    "m",
    "n",
    "c",
    "d",
    "k",
    "x",
    "y",
    "t",
    "é",
    "\u{0}",
    "axes",
    "inputs",
    "outputs",
    "inout",
    "math",
    "scalars",
    "intermediates",
    "workloads",
    "true",
    "false",
    "1979-05-27",
    "0x10",
    "ceil_div(",
];

/// A changed piece of the corpus.
pub(super) fn any(corpus: &[String], random: &mut Random) -> String {
    let mut text = corpus[random.below(corpus.len())].clone();
    if text.len() > 20_000 {
        text = window(&text, random);
    }
    for _ in 0..=random.below(6) {
        text = match random.below(6) {
            0 | 1 => bytes(text, random),
            2..=4 => tokens(&text, random),
            _ => lines(&text, corpus, random),
        };
    }
    text
}

fn window(text: &str, random: &mut Random) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let start = random.below(lines.len());
    lines[start..(start + 400).min(lines.len())].join("\n")
}

fn bytes(text: String, random: &mut Random) -> String {
    let mut bytes = text.into_bytes();
    if bytes.is_empty() {
        return "=".to_owned();
    }
    let at = random.below(bytes.len());
    match random.below(4) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => drop(bytes.remove(at)),
        2 => bytes.insert(at, random.next() as u8),
        _ => bytes.truncate(at),
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Words, numbers and single signs, spaces beside them.
fn split(text: &str) -> Vec<&str> {
    let (mut tokens, mut start) = (Vec::new(), 0);
    let mut last = ' ';
    for (at, c) in text.char_indices() {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        if at > 0 && !(word(c) && word(last)) {
            tokens.push(&text[start..at]);
            start = at;
        }
        last = c;
    }
    tokens.push(&text[start..]);
    tokens
}

/// Replaces, removes, repeats or swaps tokens.
pub(super) fn tokens(text: &str, random: &mut Random) -> String {
    let mut tokens = split(text);
    let (at, other) = (random.below(tokens.len()), random.below(tokens.len()));
    match random.below(7) {
        0 => tokens[at] = random.one(TOKENS),
        1 => drop(tokens.remove(at)),
        2 => tokens.insert(at, random.one(TOKENS)),
        3 => tokens[at] = tokens[other],
        4 => tokens.swap(at, other),
        5 => {
            let end = (at + random.below(12)).min(tokens.len());
            let piece = tokens[at..end].concat();
            let times = if random.once_in(20) { 2000 } else { 1 + random.below(8) };
            let long = piece.repeat(times);
            return [tokens[..at].concat(), long, tokens[at..].concat()].concat();
        }
        _ => tokens.insert(at, tokens[other]),
    }
    tokens.concat()
}

fn lines(text: &str, corpus: &[String], random: &mut Random) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let other = &corpus[random.below(corpus.len())];
    let donor: Vec<&str> = other.lines().collect();
    if lines.is_empty() || donor.is_empty() {
        return other.chars().take(20_000).collect();
    }
    let at = random.below(lines.len());
    match random.below(3) {
        0 => drop(lines.remove(at)),
        1 => lines[at] = donor[random.below(donor.len())],
        _ => lines.insert(at, donor[random.below(donor.len())]),
    }
    lines.join("\n")
}
