//! Good answers with random cuts and bytes: reading never panics, and a kernel's source is what the answer says.

use super::{DIAGNOSE, FIRST, OPTIMISE, PARENT, PATCH, SOURCE, WHOLE, edit, edits, fenced, log, plan, read};
use crate::run_log::{Content, Log, Sequence};

/// As many changed answers are read for each good one.
const ROUNDS: usize = 1500;

/// Xorshift: the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % end.max(1)
    }
}

fn good() -> Vec<(Sequence, String)> {
    let source = SOURCE.replace("128", "256");
    let said = format!("Hypothesis: wider\nPredicted: 1.1x\n\n{}Done.\n", fenced(&source));
    let pair = "  __syncthreads();\n  __syncthreads();\n";
    let two = edit("#include <cstdint>\n", "#include <cstdint>\n#include <cmath>\n") + &edit(pair, "");
    vec![
        (FIRST, source.clone()),
        (OPTIMISE, said.clone()),
        (WHOLE, said.replace('\n', "\r\n")),
        (PATCH, format!("Hypothesis: no barrier\n{}", edits(&two))),
        (DIAGNOSE, "The barrier is missing.".to_owned()),
    ]
}

/// Cuts, swaps, copies and changes bytes of a text.
fn changed(text: &str, random: &mut Random) -> String {
    const BYTES: &[u8] = b"\0\r\n`<=>/*\"'\\ x7@\xe2\x80\xae\xff";
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        let (one, other) = (random.below(bytes.len()), random.below(bytes.len()));
        match random.below(6) {
            0 => bytes.truncate(one),
            1 => drop(bytes.drain(..one.min(8))),
            2 if !bytes.is_empty() => bytes.swap(one, other),
            3 if !bytes.is_empty() => bytes[one] = BYTES[random.below(BYTES.len())],
            4 => bytes.insert(one, BYTES[random.below(BYTES.len())]),
            _ => {
                let range = one.min(other)..one.max(other).min(one.min(other) + 60);
                let copy: Vec<u8> = bytes[range].to_vec();
                bytes.splice(one..one, copy);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What the answer says, read another way: lines of the block, or the parent with each old text replaced.
fn said(log: &Log, text: &str, first: Option<u32>) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let is_fence = |line: &&str| line.trim_start().starts_with("```");
    if let Some(first) = first {
        let below = text.split_inclusive('\n').skip(first as usize - 1);
        return below.take_while(|line| !is_fence(line)).collect();
    }
    let mut source = log.kernel(PARENT).expect("a kernel").source.clone();
    for part in text.split("<<<<<<< old").skip(1) {
        let (_, part) = part.split_once('\n').expect("a marker's line");
        let (old, new) = part.split_once("\n=======").expect("a marker");
        let new = new.split_once('\n').expect("a marker's line").1;
        let new = new.split(">>>>>>> new").next().expect("a first part");
        let wanted: Vec<&str> = old.split('\n').map(str::trim_end).collect();
        let lines: Vec<&str> = source.lines().collect();
        let stands = |at: &usize| lines[*at..].iter().zip(&wanted).all(|(line, old)| line.trim_end() == *old);
        let at = (0..=lines.len() - wanted.len()).find(stands).expect("the old text");
        let kept = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        source = kept(&lines[..at]) + new + &kept(&lines[at + wanted.len()..]);
    }
    source
}

#[test]
fn a_changed_answer_is_read_as_what_it_says() {
    let plan = plan();
    let log = log(&plan);
    let mut random = Random(0x5eed);
    let (mut kernels, mut unreadable) = (0, 0);
    for (request, text) in good() {
        for _ in 0..ROUNDS {
            let text = changed(&text, &mut random);
            match read(&plan, &log, Some(request), &text) {
                Content::Kernel(kernel) => {
                    assert_eq!(kernel.source, said(&log, &text, kernel.first_line), "{text}");
                    assert!(
                        kernel.source.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t')),
                        "{text}"
                    );
                    kernels += 1;
                }
                Content::Unreadable(told) => {
                    let lines = text.split('\n').count();
                    let is_there =
                        |line: Option<u32>| line.is_some_and(|line| (1..=lines as u32).contains(&line));
                    assert!(
                        told.iter().all(|told| is_there(told.line) && !told.message.is_empty()),
                        "{told:?}\n{text}"
                    );
                    unreadable += 1;
                }
                Content::Words | Content::Ideas(_) | Content::Sweep(_) | Content::Repeat { .. } => {}
            }
        }
    }
    assert!(kernels > ROUNDS / 2 && unreadable > ROUNDS, "{kernels} kernels, {unreadable} unreadable");
}
