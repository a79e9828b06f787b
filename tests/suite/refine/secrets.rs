//! Secrets in any writing: themselves, in reverse, hexadecimal, base64, with percent signs, and as JSON escapes them. Files of a folder are
//! searched for pieces of them.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// Characters of a secret in a row that give it away.
const LEAK: usize = 12;

/// Pieces of secrets by their length.
pub(super) struct Pieces {
    by_length: BTreeMap<usize, HashSet<Vec<u8>>>,
}

impl Pieces {
    pub(super) fn of(secrets: &[&str]) -> Self {
        let mut by_length: BTreeMap<usize, HashSet<Vec<u8>>> = BTreeMap::new();
        for secret in secrets {
            for writing in writings(secret) {
                let length = LEAK * (writing.len() / secret.len()).max(1);
                let pieces = writing.as_bytes().windows(length).map(<[u8]>::to_vec);
                by_length.entry(length).or_default().extend(pieces);
            }
        }
        Self { by_length }
    }

    /// Files below a folder that hold one.
    pub(super) fn held_below(&self, folder: &Path) -> Vec<String> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                found.extend(self.held_below(&path));
            } else if std::fs::read(&path).is_ok_and(|bytes| self.are_in(&bytes)) {
                found.push(path.display().to_string());
            }
        }
        found
    }

    fn are_in(&self, bytes: &[u8]) -> bool {
        self.by_length
            .iter()
            .any(|(length, pieces)| bytes.windows(*length).any(|window| pieces.contains(window)))
    }
}

/// All writings of a secret.
pub(super) fn writings(secret: &str) -> Vec<String> {
    let each = |write: fn(u8) -> String| secret.bytes().map(write).collect::<String>();
    let mut all = vec![secret.to_owned(), secret.chars().rev().collect()];
    all.extend([each(|byte| format!("{byte:02x}")), each(|byte| format!("{byte:02X}"))]);
    all.extend([each(|byte| format!("%{byte:02X}")), each(|byte| format!("\\u{byte:04x}"))]);
    all.push(secret.replace('/', "%2F").replace('+', "%2B"));
    for before in ["", "x", "xy"] {
        let text = base64(format!("{before}{secret}").as_bytes());
        // the first and the last digits are not the secret's alone
        all.push(text[4..text.len() - 4].to_owned());
    }
    all
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = |group: &[u8]| {
        let all = group.iter().chain(&[0, 0]).take(3).fold(0, |all, byte| all << 8 | usize::from(*byte));
        let text: String = [18, 12, 6, 0].map(|shift| char::from(DIGITS[all >> shift & 63])).iter().collect();
        format!("{:=<4}", &text[..=group.len()])
    };
    bytes.chunks(3).map(digits).collect()
}

#[test]
fn every_writing_is_found_where_it_is() {
    let secret = "sk-one/Zq83+vNw0pLr5tYx2bH";
    assert_eq!(base64(b"Bearer"), "QmVhcmVy");
    let (pieces, folder) = (Pieces::of(&[secret]), cutegen_tests::scratch("secrets"));
    cutegen_tests::write(&folder.join("none"), "sk-one/Zq83 and nothing else");
    assert_eq!(pieces.held_below(&folder), [""; 0]);
    for (number, writing) in writings(secret).iter().enumerate() {
        cutegen_tests::write(&folder.join(format!("in/{number}")), &format!("key: {writing}."));
    }
    assert_eq!(pieces.held_below(&folder).len(), writings(secret).len());
}
