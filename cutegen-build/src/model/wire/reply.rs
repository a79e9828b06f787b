//! [`Reply`]: what an endpoint answered, gathered from parts. Thought is counted and not kept.

use super::refusal::Refusal;

/// How a model's thought begins and ends where it stands in its text.
const THINK: [&str; 2] = ["<think>", "</think>"];

/// What a message of the wire says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A piece of the answer.
    Text(String),
    /// So many bytes of thought.
    Thought(u64),
    /// Why the model stopped.
    Finish(Finish),
    /// Tokens so far; what is left out stays.
    Usage {
        /// Read.
        input: Option<u64>,
        /// Written.
        output: Option<u64>,
    },
    /// A sign of life.
    Ping,
    /// Nothing follows.
    End,
    /// The endpoint failed.
    Error(Refusal),
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// It was at the end.
    Whole,
    /// It reached the limit of tokens.
    Length,
    /// It declines to answer.
    Refused,
}

/// Where numbers of tokens come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Usage {
    /// The endpoint says so.
    Reported {
        /// Tokens read.
        input: u64,
        /// Tokens written.
        output: u64,
    },
    /// The endpoint says nothing: bytes of request and reply.
    Estimated {
        /// Bytes sent.
        input: u64,
        /// Bytes received.
        output: u64,
    },
    /// No reply came, or a part of one.
    Unknown,
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its text, without thought.
    pub text: String,
    /// Why it ends.
    pub finish: Finish,
    /// What it took.
    pub usage: Usage,
}

/// A reply on its way.
#[derive(Debug, Default)]
pub struct Gathered {
    text: String,
    thought: u64,
    finish: Option<Finish>,
    input: Option<u64>,
    output: Option<u64>,
    has_ended: bool,
}

impl Gathered {
    /// Takes a part; what the endpoint failed with, if it is that.
    ///
    /// # Errors
    /// The endpoint failed.
    pub fn take(&mut self, part: Part) -> Result<(), Refusal> {
        match part {
            Part::Text(text) => self.text.push_str(&text),
            Part::Thought(bytes) => self.thought = self.thought.saturating_add(bytes),
            // a refusal is followed by the word for a plain end
            Part::Finish(_) if self.finish == Some(Finish::Refused) => {}
            Part::Finish(finish) => self.finish = Some(finish),
            Part::Usage { input, output } => {
                self.input = self.input.max(input);
                self.output = self.output.max(output);
            }
            Part::Ping => {}
            Part::End => self.has_ended = true,
            Part::Error(refusal) => return Err(refusal),
        }
        Ok(())
    }

    /// Bytes of text and thought so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.thought.saturating_add(self.text.len() as u64)
    }

    /// Whether nothing follows.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The reply, where it is whole. Some servers leave out the stream's end, none the reason to stop.
    #[must_use]
    pub fn reply(self, sent: u64) -> Option<Reply> {
        let finish = match (self.finish, self.has_ended) {
            (Some(finish), _) => finish,
            (None, true) => Finish::Whole,
            (None, false) => return None,
        };
        let usage = self.usage(sent);
        Some(Reply { text: without_thought(&self.text).to_owned(), finish, usage })
    }

    /// A report of nothing for something is none.
    fn usage(&self, sent: u64) -> Usage {
        match (self.input, self.output) {
            (Some(input), Some(output)) if input > 0 && (output > 0 || self.bytes() == 0) => {
                Usage::Reported { input, output }
            }
            _ => Usage::Estimated { input: sent, output: self.bytes() },
        }
    }
}

impl Usage {
    /// Tokens that were reported.
    #[must_use]
    pub fn reported(self) -> Option<[u64; 2]> {
        match self {
            Self::Reported { input, output } => Some([input, output]),
            Self::Estimated { .. } | Self::Unknown => None,
        }
    }

    /// Its word: `reported`, `estimated` or `unknown`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Reported { .. } => "reported",
            Self::Estimated { .. } => "estimated",
            Self::Unknown => "unknown",
        }
    }
}

/// A text without the thought before it. Some servers leave out the word that begins it.
#[must_use]
pub fn without_thought(text: &str) -> &str {
    let [begin, end] = THINK;
    let is_thought = |before: &str| before.trim_start().starts_with(begin) || !before.contains(begin);
    match text.split_once(end) {
        Some((before, after)) if is_thought(before) => without_thought(after),
        None if text.trim_start().starts_with(begin) => "",
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(parts: Vec<Part>) -> Gathered {
        let mut gathered = Gathered::default();
        parts.into_iter().for_each(|part| gathered.take(part).expect("no error"));
        gathered
    }

    #[test]
    fn thought_is_stripped() {
        let cases = [
            ("an answer", "an answer"),
            ("<think>why</think>an answer", "an answer"),
            ("\n <think>\nwhy\n</think>\n\nan answer", "\n\nan answer"),
            ("<think>a</think><think>b</think>c", "c"),
            ("why\n</think>an answer", "an answer"),
            ("<think>without end", ""),
            ("a `<think>` in the text", "a `<think>` in the text"),
            ("a <think>b</think> c", "a <think>b</think> c"),
            ("", ""),
        ];
        for (text, kept) in cases {
            assert_eq!(without_thought(text), kept, "{text:?}");
        }
    }

    #[test]
    fn what_is_cut_off_is_no_reply() {
        let text = || Part::Text("a".to_owned());
        assert_eq!(gathered(vec![text()]).reply(1), None);
        assert_eq!(gathered(vec![]).reply(1), None);
        for end in [Part::End, Part::Finish(Finish::Whole)] {
            assert_eq!(gathered(vec![text(), end]).reply(1).map(|reply| reply.finish), Some(Finish::Whole));
        }
        let refused = vec![Part::Finish(Finish::Refused), Part::Finish(Finish::Whole)];
        assert_eq!(gathered(refused).reply(1).map(|reply| reply.finish), Some(Finish::Refused));
    }

    #[test]
    fn usage_is_reported_or_estimated_from_bytes() {
        let usage = |input, output| Part::Usage { input, output };
        let with = |parts: Vec<Part>| {
            let all = [vec![Part::Text("abc".to_owned()), Part::Thought(5), Part::End], parts].concat();
            gathered(all).reply(100).expect("whole").usage
        };
        let estimated = Usage::Estimated { input: 100, output: 8 };
        assert_eq!(
            with(vec![usage(Some(7), None), usage(None, Some(2))]),
            Usage::Reported { input: 7, output: 2 }
        );
        // counts only rise
        assert_eq!(
            with(vec![usage(Some(7), Some(9)), usage(Some(0), Some(2))]),
            Usage::Reported { input: 7, output: 9 }
        );
        for parts in
            [vec![], vec![usage(Some(7), None)], vec![usage(Some(0), Some(0))], vec![usage(Some(7), Some(0))]]
        {
            assert_eq!(with(parts), estimated);
        }
        assert_eq!((estimated.word(), estimated.reported()), ("estimated", None));
    }
}
