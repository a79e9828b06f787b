//! [`Number`]: a value that a kernel wrote, or should have. JSON has no NaN and no infinities, so a log has words for those.

use cutegen_spec::figures;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Any value, NaN and infinities too. It equals itself, NaN or not.
#[derive(Clone, Copy, Debug)]
pub struct Number(pub f64);

/// Either form that a log has.
#[derive(Deserialize)]
#[serde(untagged)]
enum Form {
    Finite(f64),
    Word(String),
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || (self.0.is_nan() && other.0.is_nan())
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(value) = self;
        if value.is_finite() { to.serialize_f64(*value) } else { to.serialize_str(&figures::value(*value)) }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let word = match Form::deserialize(from)? {
            Form::Finite(value) => return Ok(Self(value)),
            Form::Word(word) => word,
        };
        let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        let found = special.into_iter().find(|value| figures::value(*value) == word);
        found.map(Self).ok_or_else(|| serde::de::Error::custom(format!("`{word}` is no number")))
    }
}

#[cfg(test)]
mod tests {
    use super::Number;

    #[test]
    fn what_json_cannot_hold_is_a_word() {
        let values = [(1.5, "1.5"), (f64::NAN, "\"NaN\""), (f64::NEG_INFINITY, "\"-inf\"")];
        for (value, text) in values {
            assert_eq!(serde_json::to_string(&Number(value)).expect("JSON"), text);
            assert_eq!(serde_json::from_str::<Number>(text).expect("a number"), Number(value));
        }
        assert!(serde_json::from_str::<Number>("\"1.5\"").is_err() && Number(0.0) != Number(f64::NAN));
        assert_eq!(Number(-f64::NAN), Number(f64::NAN), "what is read back is what was written");
    }
}
