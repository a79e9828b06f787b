//! Signs and keywords of other languages that stand in the math.

const POWER: &str = "a power is `pow(x, 2)`, and a square `x * x`";
const CHOICE: &str = "`where(c, x, y)` is `x` where condition `c` holds, else `y`";
const ONCE: &str = "a name is assigned once; a running total is a reduction, as in `sum(k, x[m, k])`";
const COMMENT: &str = "math has no comments: write them outside of the string";

/// Characters that are no part of the language.
const CHARACTERS: &[(&str, &str)] = &[
    ("^", POWER),
    ("²³", POWER),
    ("#", COMMENT),
    ("&", "conditions are joined by `and`"),
    ("|", "conditions are joined by `or`"),
    ("!~", "a condition is negated by `not`"),
    ("@", "a product of matrices is a sum: `sum(k, x[m, k] * w[n, k])`"),
    ("?", CHOICE),
    (":", "an index is one position and no slice: name an axis, as in `x[m, k]`"),
    ("'", "a transposed tensor is read with its axes exchanged: `x[k, m]`"),
    ("{}", "expressions are put in parentheses, indices in brackets"),
    ("−–—", "minus is the ASCII `-`"),
    ("×·∙⋅∗", "a product is `*`"),
    ("÷", "a quotient is `/`"),
    ("≤", "write `<=`"),
    ("≥", "write `>=`"),
    ("≠", "write `!=`"),
    ("∧", "conditions are joined by `and`"),
    ("∨", "conditions are joined by `or`"),
    ("¬", "a condition is negated by `not`"),
    ("√", "a square root is `sqrt(x)`"),
    ("∞", "infinity is `inf`"),
    ("π", "write `3.141592653589793`"),
    ("Σ∑", "a sum over an axis is `sum(k, x[m, k])`"),
    ("Π∏", "a product over an axis is `prod(k, x[m, k])`"),
    ("←", "an assignment is `=`"),
];

/// Pairs of signs that others write without a blank.
const PAIRS: &[(&str, &str)] = &[
    ("**", POWER),
    (
        "//",
        "`/` rounds down inside of brackets, and `floor(x / y)` outside; comments stand outside of the string",
    ),
    ("/*", COMMENT),
    ("+=", ONCE),
    ("-=", ONCE),
    ("*=", ONCE),
    ("/=", ONCE),
    ("%=", ONCE),
    ("++", ONCE),
    ("=<", "write `<=`"),
    ("=>", "write `>=`"),
    ("<>", "write `!=`"),
    ("<-", "an assignment is `=`"),
    ("->", "an assignment is `name[axes] = expression`"),
    ("<<", "integers have no bits here: a shift to the left is `* 16`"),
    (">>", "integers have no bits here: a shift to the right is `/ 16`, in an index"),
];

/// Words that begin something else in other languages.
const KEYWORDS: &[(&str, &str)] = &[
    ("if else elif then when case match switch", CHOICE),
    (
        "for while loop do foreach",
        "loops have no statement: the left side runs over its axes, and `sum(k, x[m, k])` over `k`",
    ),
    ("return yield", "a result is assigned to an output: `y[m] = x[m]`"),
    ("let const auto def fn float int double mut", "an assignment has no keyword: `name[axes] = expression`"),
    ("lambda import in is class", "math is assignments `name[axes] = expression` and nothing else"),
    ("xor", "of conditions `(a or b) and not (a and b)`"),
    ("mod", "of integers `i % 4`, never negative"),
];

/// What stands for a character.
#[must_use]
pub fn character(found: char) -> Option<&'static str> {
    CHARACTERS.iter().find(|(signs, _)| signs.contains(found)).map(|(_, text)| *text)
}

/// What stands for two signs side by side.
#[must_use]
pub fn pair(first: &str, second: &str) -> Option<(&'static str, &'static str)> {
    let is = |pair: &str| pair.strip_prefix(first) == Some(second);
    PAIRS.iter().find(|(pair, _)| is(pair)).copied()
}

/// What stands for a keyword.
#[must_use]
pub fn keyword(word: &str) -> Option<&'static str> {
    KEYWORDS.iter().find(|(words, _)| words.split(' ').any(|one| one == word)).map(|(_, text)| *text)
}
