//! [`Failed`]: why a program gave no answer, and what to do about it. A failure is no answer: the same may be asked again.

use std::fmt;

/// Why there is no answer.
#[derive(Debug)]
pub enum Failed {
    /// There is no such program, or the system says no.
    NotStarted {
        /// The program.
        program: String,
        /// The system's word.
        error: std::io::Error,
    },
    /// It did not end in time.
    TimedOut {
        /// The program.
        program: String,
        /// The limit.
        seconds: u32,
        /// The end of its standard error.
        said: String,
    },
    /// Its answer is longer than one may be.
    TooLong {
        /// The program.
        program: String,
        /// The limit.
        bytes: usize,
        /// The end of its standard error.
        said: String,
    },
    /// It ended with a code other than 0.
    Exit {
        /// The program.
        program: String,
        /// The code.
        code: i32,
        /// The end of its standard error.
        said: String,
    },
    /// A signal ended it.
    Signal {
        /// The program.
        program: String,
        /// The signal's number.
        signal: i32,
        /// The end of its standard error.
        said: String,
    },
    /// Its answer is no UTF-8.
    NotText {
        /// The program.
        program: String,
        /// The first byte that is none, from 0.
        at: usize,
        /// The end of its standard error.
        said: String,
    },
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = |said: &String| match said.trim_end() {
            "" => "; it said nothing of why".to_owned(),
            said => format!("; it said:\n  {}", said.replace('\n', "\n  ")),
        };
        match self {
            Self::NotStarted { program, error } => write!(
                f,
                "`{program}` cannot be started: {error}\ninstall it, or give the path of another program"
            ),
            Self::TimedOut { program, seconds, said } => write!(
                f,
                "`{program}` did not answer within {seconds} s{}\nask again, or allow it more seconds",
                told(said)
            ),
            Self::TooLong { program, bytes, said } => write!(
                f,
                "`{program}` answered with more than {bytes} bytes{}\nask again, or have it print the answer alone",
                told(said)
            ),
            Self::Exit { program, code, said } => write!(
                f,
                "`{program}` ended with code {code}{}\nrun it by hand with a prompt on its standard input",
                told(said)
            ),
            Self::Signal { program, signal, said } => write!(
                f,
                "`{program}` was ended by signal {signal}{}\nrun it by hand with a prompt on its standard input",
                told(said)
            ),
            Self::NotText { program, at, said } => write!(
                f,
                "`{program}` answered with what is no UTF-8 from byte {at}{}\nhave it print text",
                told(said)
            ),
        }
    }
}

impl std::error::Error for Failed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotStarted { error, .. } => Some(error),
            Self::TimedOut { .. }
            | Self::TooLong { .. }
            | Self::Exit { .. }
            | Self::Signal { .. }
            | Self::NotText { .. } => None,
        }
    }
}
