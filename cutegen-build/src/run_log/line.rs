//! What a line of a log is: JSON that reads back as the value that was written. Knows no file.
//!
//! JSON escapes every end of a line inside a string, so a value is one line, whatever texts it holds.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Log, Start, VERSION};

/// A line, counted from 1, and what is wrong with it.
pub(super) type Wrong = (usize, String);

/// A value as a line with its end.
///
/// # Errors
/// It would not read back as it is, such as a number that is not finite, which JSON does not have.
pub(super) fn written<T: Serialize + DeserializeOwned + PartialEq>(value: &T) -> Result<String, String> {
    let text = serde_json::to_string(value).map_err(|error| error.to_string())?;
    let read = serde_json::from_str::<T>(&text);
    if read.is_ok_and(|read| read == *value) {
        return Ok(format!("{text}\n"));
    }
    Err("the entry would not read back as it is: a number in it is not finite".to_owned())
}

/// The bytes up to the last end of a line. What follows was torn as it was written.
pub(super) fn whole(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    &bytes[..end]
}

/// The log that whole lines hold.
pub(super) fn read(bytes: &[u8]) -> Result<Log, Wrong> {
    let mut lines = (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n'));
    let (_, first) = lines.next().ok_or_else(|| (1, "the log is empty".to_owned()))?;
    let mut log = Log::new(start(first).map_err(|why| (1, why))?);
    for (number, line) in lines {
        log.push(serde_json::from_slice(line).map_err(|error| (number, error.to_string()))?);
    }
    Ok(log)
}

/// The first line. Its version is read before what the version decides on.
fn start(line: &[u8]) -> Result<Start, String> {
    let value: serde_json::Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    match value.get("version").and_then(serde_json::Value::as_u64) {
        Some(version) if version != u64::from(VERSION) => {
            Err(format!("version {version}; this program reads {VERSION}"))
        }
        _ => serde_json::from_value(value).map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_read_back_bit_by_bit() {
        // of many numbers, some are read wrongly by a parser that is only nearly right
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = f64::from_bits(state);
            if number.is_finite() {
                let line = written(&number).expect("a finite number");
                let read: f64 = serde_json::from_str(&line).expect("a number");
                assert_eq!(read.to_bits(), number.to_bits(), "{line}");
            }
        }
    }

    #[test]
    fn what_is_not_finite_is_no_line() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(written(&number).is_err_and(|why| why.contains("not finite")));
            assert!(written(&Some(number)).is_err(), "none would be read in its place");
            assert!(written(&vec![1.0, number]).is_err());
        }
    }

    #[test]
    fn a_text_with_ends_of_lines_is_one_line() {
        let text = "a\nb\r\nc\rd\u{2028}e\u{2029}f\u{85}g\u{b}h\u{c}i\0".to_owned();
        let line = written(&text).expect("a text");
        assert_eq!(line.bytes().filter(|byte| *byte == b'\n').count(), 1, "{line:?}");
        assert!(line.ends_with("\"\n") && !line.contains('\r'), "{line:?}");
        assert_eq!(serde_json::from_str::<String>(&line).expect("a text"), text);
    }

    #[test]
    fn what_follows_the_last_end_is_torn() {
        assert_eq!(whole(b""), b"");
        assert_eq!(whole(b"torn"), b"");
        assert_eq!(whole(b"a\nb\n"), b"a\nb\n");
        assert_eq!(whole(b"a\nb"), b"a\n");
        assert_eq!(whole(b"a\n\xc3"), b"a\n", "half a character");
    }
}
