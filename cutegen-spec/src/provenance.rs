//! [`Provenance`]: where a kernel comes from that no template of ours wrote, as a record's `origin` says it in one line. It
//! never enters a key. Text of others is last in the line, so that it cannot pass for a field.

use std::fmt;

/// The longest word.
const LONGEST: usize = 64;

/// What origins of our own say: a template with its parameters, or the printer of naive kernels.
const TEMPLATE: &str = "template ";
const PRINTED: &str = "printed from the math";

/// Where a foreign kernel comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// How it came: `submitted`, `exchange`, `command`.
    pub generator: Word,
    /// What it is: the first half of the digest of body, contract, eligibility and kit.
    pub identity: Short,
    /// The version of the prompt that was answered, such as `window-2`.
    pub prompt: Option<Word>,
    /// The run.
    pub run: Option<Word>,
    /// Its sequence in the run.
    pub candidate: Option<u32>,
    /// The start of the digest of the answer, as it came.
    pub reply: Option<Short>,
    /// The model or person, as given.
    pub model: Option<String>,
}

/// A word: lower-case letters, digits, `-`, `_` and `.`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Word(String);

/// The first 16 hex digits of a digest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Short(String);

/// Whether an origin is that of a source which no template and no printer of ours wrote. What is not known is foreign.
#[must_use]
pub fn is_foreign(origin: &str) -> bool {
    !origin.starts_with(TEMPLATE) && origin != PRINTED
}

impl Provenance {
    /// Of a kernel that came by `generator`, with all else unknown.
    #[must_use]
    pub fn new(generator: Word, identity: Short) -> Self {
        Self { generator, identity, prompt: None, run: None, candidate: None, reply: None, model: None }
    }

    /// Reads an origin; none where it says something else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (head, model) = match text.split_once(", by ") {
            Some((head, model)) => (head, Some(model)),
            None => (text, None),
        };
        let mut fields = head.split(", ");
        let mut read = Self::new(Word::parse(fields.next()?)?, Short::parse(fields.next()?)?);
        for field in fields {
            let (name, value) = field.split_once(' ')?;
            match name {
                "prompt" => read.prompt = Some(Word::parse(value)?),
                "run" => read.run = Some(Word::parse(value)?),
                "candidate" => read.candidate = Some(value.parse().ok()?),
                "reply" => read.reply = Some(Short::parse(value)?),
                _ => return None,
            }
        }
        read.model = model.map(str::to_owned);
        // one line for one value: no field twice, none out of order
        (read.is_foreign() && read.to_string() == text).then_some(read)
    }

    /// Whether its source is foreign: so is every one that has a provenance.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        is_foreign(&self.to_string())
    }

    /// What is known, as labels with values.
    #[must_use]
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let run = self.run.as_ref().map(|run| match self.candidate {
            Some(candidate) => format!("{run}, candidate {candidate}"),
            None => run.to_string(),
        });
        let lone = self.candidate.filter(|_| self.run.is_none()).map(|candidate| candidate.to_string());
        let known = [
            ("came as", Some(self.generator.to_string())),
            ("by", self.model.clone()),
            ("prompt", self.prompt.as_ref().map(Word::to_string)),
            ("run", run),
            ("candidate", lone),
            ("identity", Some(self.identity.to_string())),
            ("reply", self.reply.as_ref().map(Short::to_string)),
        ];
        known.into_iter().filter_map(|(label, value)| Some((label, value?))).collect()
    }
}

impl Word {
    /// Reads a word; none for another text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
        let is_word = !text.is_empty() && text.len() <= LONGEST && text.chars().all(allowed);
        is_word.then(|| Self(text.to_owned()))
    }
}

impl Short {
    /// The start of a digest in hex digits; none for a text that is shorter, or no digest.
    #[must_use]
    pub fn of(digest: &str) -> Option<Self> {
        digest.get(..16).and_then(Self::parse)
    }

    fn parse(text: &str) -> Option<Self> {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == 16 && text.bytes().all(is_hex)).then(|| Self(text.to_owned()))
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.generator, self.identity)?;
        let field = |f: &mut fmt::Formatter<'_>, name: &str, value: Option<&dyn fmt::Display>| match value {
            Some(value) => write!(f, ", {name} {value}"),
            None => Ok(()),
        };
        field(f, "prompt", self.prompt.as_ref().map(|value| value as &dyn fmt::Display))?;
        field(f, "run", self.run.as_ref().map(|value| value as &dyn fmt::Display))?;
        field(f, "candidate", self.candidate.as_ref().map(|value| value as &dyn fmt::Display))?;
        field(f, "reply", self.reply.as_ref().map(|value| value as &dyn fmt::Display))?;
        field(f, "by", self.model.as_ref().map(|value| value as &dyn fmt::Display))
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDENTITY: &str = "1234567890abcdef";
    const FULL: &str = "exchange, 1234567890abcdef, prompt window-2, run pool-1, candidate 12, reply fedcba0987654321, by \
                        Some Model, v1, reply x";

    fn word(text: &str) -> Option<Word> {
        Some(Word::parse(text).expect("a word"))
    }

    fn full() -> Provenance {
        Provenance {
            generator: Word::parse("exchange").expect("a word"),
            identity: Short::of(IDENTITY).expect("hex digits"),
            prompt: word("window-2"),
            run: word("pool-1"),
            candidate: Some(12),
            reply: Short::of("fedcba0987654321"),
            model: Some("Some Model, v1, reply x".to_owned()),
        }
    }

    #[test]
    fn it_is_one_line_and_reads_back() {
        assert_eq!(full().to_string(), FULL);
        // every set of the five fields that may be missing
        for set in 0..32_u32 {
            let has = |bit: u32| set & 1 << bit != 0;
            let mut some = full();
            some.prompt = some.prompt.filter(|_| has(0));
            some.run = some.run.filter(|_| has(1));
            some.candidate = some.candidate.filter(|_| has(2));
            some.reply = some.reply.filter(|_| has(3));
            some.model = some.model.filter(|_| has(4));
            assert_eq!(Provenance::parse(&some.to_string()), Some(some));
        }
    }

    #[test]
    fn the_form_of_before_reads() {
        let bare = Provenance::parse("submitted, 1234567890abcdef").expect("a provenance");
        assert_eq!(bare, Provenance::new(Word::parse("submitted").expect("a word"), full().identity));
        let by = "submitted, 1234567890abcdef, by a, b, by c";
        let named = Provenance::parse(by).expect("a provenance");
        assert_eq!((named.model.as_deref(), named.to_string().as_str()), (Some("a, b, by c"), by));
        assert_eq!(named.identity, bare.identity);
    }

    #[test]
    fn other_texts_are_none() {
        for text in [
            "",
            "submitted",
            "test",
            "printed from the math",
            "template sm90a/rowwise t4",
            "template, 1234567890abcdef, luck 3",
            "submitted, 1234567890abcde",
            "submitted, 1234567890ABCDEF",
            "submitted, 1234567890abcdef0",
            "submitted,1234567890abcdef",
            "Submitted, 1234567890abcdef",
            "submitted, 1234567890abcdef,",
            "submitted, 1234567890abcdef, run a, prompt b",
            "submitted, 1234567890abcdef, run a, run b",
            "submitted, 1234567890abcdef, run a b",
            "submitted, 1234567890abcdef, candidate 007",
            "submitted, 1234567890abcdef, candidate -1",
            "submitted, 1234567890abcdef, reply 12",
        ] {
            assert_eq!(Provenance::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_text_of_others_cannot_pass_for_a_field() {
        for model in ["x, run other", "x, reply 0000000000000000", "x, by y", ""] {
            let given = Provenance { run: None, reply: None, model: Some(model.to_owned()), ..full() };
            let read = Provenance::parse(&given.to_string()).expect("a provenance");
            assert_eq!((read.run, read.reply, read.model.as_deref()), (None, None, Some(model)));
        }
        for text in ["a b", "a,b", "A", "", "a\n", "\u{e4}"] {
            assert_eq!(Word::parse(text), None, "{text:?}");
        }
        assert!(Word::parse(&"a".repeat(64)).is_some() && Word::parse(&"a".repeat(65)).is_none());
    }

    #[test]
    fn what_no_template_wrote_is_foreign() {
        assert!(full().is_foreign());
        for ours in ["printed from the math", "template host/rows", "template sm90a/scan t"] {
            assert!(!is_foreign(ours), "{ours}");
        }
        for foreign in
            [FULL, "submitted, 1234567890abcdef, by template host/rows", "a model", "", "templates"]
        {
            assert!(is_foreign(foreign), "{foreign}");
        }
    }

    #[test]
    fn fields_have_labels() {
        let fields = full().fields();
        let lines: Vec<String> = fields.iter().map(|(label, value)| format!("{label}: {value}")).collect();
        let expected = [
            "came as: exchange",
            "by: Some Model, v1, reply x",
            "prompt: window-2",
            "run: pool-1, candidate 12",
            "identity: 1234567890abcdef",
            "reply: fedcba0987654321",
        ];
        assert_eq!(lines, expected);
        let lone = Provenance { run: None, ..full() }.fields();
        assert!(lone.contains(&("candidate", "12".to_owned())));
        assert_eq!(Short::of("12"), None);
        assert_eq!(Short::of(&IDENTITY.repeat(4)), Some(full().identity));
    }
}
