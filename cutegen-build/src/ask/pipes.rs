//! The three pipes of a program, each served by a thread, so that none of them waits for another. Knows no limit of time.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How much of the standard error is kept: its end.
const SAID_MAX: usize = 2048;

/// How often, and how long each time, the rest of it is waited for. A process that left the group may keep it open.
const LOOKS: u32 = 200;
const LOOK: Duration = Duration::from_millis(5);

/// What was read of a program so far.
pub(super) struct Pipes {
    answer: Arc<Mutex<Read>>,
    said: Arc<Mutex<VecDeque<u8>>>,
    stderr: Option<JoinHandle<()>>,
}

/// How far the answer was read.
#[derive(Clone)]
pub(super) enum Read {
    /// There may be more.
    Open,
    /// This is all.
    Whole(Vec<u8>),
    /// There is more than there may be.
    TooLong,
}

impl Pipes {
    /// Takes the child's pipes. The threads end with the last process that holds the other ends.
    pub(super) fn begin(child: &mut Child, prompt: &str, bytes_max: usize) -> Self {
        let mut pipes = Self { answer: Arc::new(Mutex::new(Read::Open)), said: Arc::default(), stderr: None };
        if let Some(mut stdin) = child.stdin.take() {
            let prompt = prompt.to_owned();
            // a program that does not read its prompt may answer all the same
            std::thread::spawn(move || drop(stdin.write_all(prompt.as_bytes())));
        }
        if let Some(stdout) = child.stdout.take() {
            let answer = Arc::clone(&pipes.answer);
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                let read = stdout.take(bytes_max as u64 + 1).read_to_end(&mut bytes);
                let is_whole = read.is_ok() && bytes.len() <= bytes_max;
                *held(&answer) = if is_whole { Read::Whole(bytes) } else { Read::TooLong };
            });
        }
        if let Some(mut stderr) = child.stderr.take() {
            let said = Arc::clone(&pipes.said);
            pipes.stderr = Some(std::thread::spawn(move || {
                let mut buffer = [0; 1024];
                while let Ok(count @ 1..) = stderr.read(&mut buffer) {
                    let mut said = held(&said);
                    said.extend(&buffer[..count]);
                    let excess = said.len().saturating_sub(SAID_MAX);
                    said.drain(..excess);
                }
            }));
        }
        pipes
    }

    /// How far the answer was read.
    pub(super) fn read(&self) -> Read {
        held(&self.answer).clone()
    }

    /// The end of the standard error, once the program's group has ended.
    pub(super) fn said(&self) -> String {
        let is_open = || self.stderr.as_ref().is_some_and(|thread| !thread.is_finished());
        (0..LOOKS).take_while(|_| is_open()).for_each(|_| std::thread::sleep(LOOK));
        let bytes: Vec<u8> = held(&self.said).iter().copied().collect();
        // the cut may fall into a character
        let whole = bytes.iter().position(|byte| byte & 0xc0 != 0x80).unwrap_or_default();
        String::from_utf8_lossy(&bytes[whole..]).into_owned()
    }
}

/// A lock of a thread that panicked holds what was there before.
fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
