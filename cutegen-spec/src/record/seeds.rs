//! [`Seeds`]: what was drawn from which seed, read from a table or from the one number that older records hold.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Seeds of all that was drawn while a variant was judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Seeds {
    /// Of the inputs that were judged.
    pub judging: u64,
    /// Of the inputs that were timed, and of their order; none when nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<u64>,
}

impl Seeds {
    /// One seed for everything, as gate 1 had.
    #[must_use]
    pub fn one(seed: u64) -> Self {
        Self { judging: seed, timing: Some(seed) }
    }
}

/// `7`, or `7 judging, 9 timing`
impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.timing {
            Some(timing) if timing != self.judging => write!(f, "{} judging, {timing} timing", self.judging),
            Some(_) | None => write!(f, "{}", self.judging),
        }
    }
}

impl<'de> Deserialize<'de> for Seeds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Both {
    judging: u64,
    timing: Option<u64>,
}

struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = Seeds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a seed, or a table of `judging` and `timing`")
    }

    fn visit_i64<E: Error>(self, seed: i64) -> Result<Seeds, E> {
        u64::try_from(seed).map(Seeds::one).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, seed: u64) -> Result<Seeds, E> {
        Ok(Seeds::one(seed))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Seeds, A::Error> {
        let Both { judging, timing } = Both::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Seeds { judging, timing })
    }
}
