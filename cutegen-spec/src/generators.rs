//! [`Generators`]: kinds of generators in the order in which a kernel's search asks them. It must not know what a kind does, nor
//! which program or endpoint stands for it: that is the user's to say.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind of generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GeneratorKind {
    /// Sources of ours with parameters.
    Template,
    /// A language model or a program, by a run.
    Model,
}

/// An order of kinds, the cheapest first: at least one, and none twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generators(Vec<GeneratorKind>);

impl GeneratorKind {
    /// Every kind.
    pub const ALL: [GeneratorKind; 2] = [GeneratorKind::Template, GeneratorKind::Model];

    /// Its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            GeneratorKind::Template => "template",
            GeneratorKind::Model => "model",
        }
    }

    /// The kind of this word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == word)
    }
}

impl Generators {
    /// This order.
    ///
    /// # Errors
    /// It is empty, or has a kind twice.
    pub fn new(kinds: Vec<GeneratorKind>) -> Result<Self, String> {
        if kinds.is_empty() {
            return Err("no kind of generator".to_owned());
        }
        match (1..kinds.len()).find(|at| kinds[..*at].contains(&kinds[*at])) {
            Some(again) => Err(format!("`{}` twice", kinds[again].name())),
            None => Ok(Self(kinds)),
        }
    }

    /// Reads `template,model`.
    ///
    /// # Errors
    /// A word is no kind, or those of [`Self::new`].
    pub fn parse(text: &str) -> Result<Self, String> {
        let kind = |word: &str| {
            let known = GeneratorKind::ALL.map(GeneratorKind::name).join(", ");
            GeneratorKind::named(word).ok_or_else(|| format!("no kind `{word}`; there are: {known}"))
        };
        Self::new(text.split(',').map(kind).collect::<Result<_, _>>()?)
    }

    /// The kinds in order.
    #[must_use]
    pub fn kinds(&self) -> &[GeneratorKind] {
        &self.0
    }

    /// Whether this kind is among them.
    #[must_use]
    pub fn has(&self, kind: GeneratorKind) -> bool {
        self.0.contains(&kind)
    }

    /// Whether it is the default.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Generators {
    /// Templates alone.
    fn default() -> Self {
        Self(vec![GeneratorKind::Template])
    }
}

impl fmt::Display for Generators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|kind| kind.name()).collect();
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::Generators;

    #[test]
    fn an_order_has_known_kinds_once() {
        for text in ["template", "model", "template,model", "model,template"] {
            assert_eq!(Generators::parse(text).expect("an order").to_string(), text);
        }
        let wrong = |text: &str| Generators::parse(text).expect_err("no order");
        assert_eq!(wrong("template,template"), "`template` twice");
        assert_eq!(wrong("template,command"), "no kind `command`; there are: template, model");
        assert_eq!(wrong(""), "no kind ``; there are: template, model");
        assert!(Generators::default().is_default() && !Generators::parse("model").expect("one").is_default());
    }
}
