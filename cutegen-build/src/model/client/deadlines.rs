//! [`Deadlines`]: when a request is given up. A ping is life, not progress: it extends the wait for the next byte, and not the
//! one for the first event.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

/// Longest waits of one request, each written in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Deadlines {
    /// For a connection.
    #[serde(deserialize_with = "seconds")]
    pub connect: Duration,
    /// For the first event of the reply: a model may think before it.
    #[serde(deserialize_with = "seconds")]
    pub first: Duration,
    /// From byte to byte after that.
    #[serde(deserialize_with = "seconds")]
    pub idle: Duration,
    /// For all of it.
    #[serde(deserialize_with = "seconds")]
    pub total: Duration,
}

/// A deadline that passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// No event came.
    First,
    /// Nothing more came.
    Idle,
    /// It took too long in all.
    Total,
}

impl Default for Deadlines {
    fn default() -> Self {
        let [connect, first, idle, total] = [10, 600, 120, 1800].map(Duration::from_secs);
        Self { connect, first, idle, total }
    }
}

fn seconds<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(from)?;
    let duration = Duration::try_from_secs_f64(seconds).ok().filter(|it| it.as_secs() < 86_400);
    duration.ok_or_else(|| serde::de::Error::custom("a deadline has 0 to 86400 seconds"))
}

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::First => "no event came in time (`deadlines.first`)",
            Self::Idle => "the reply stood still (`deadlines.idle`)",
            Self::Total => "the reply took too long (`deadlines.total`)",
        })
    }
}
