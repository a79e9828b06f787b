//! Secrets that must be nowhere: a key in this process's environment and a token in a header of the config. Endpoints echo them in
//! every way, and they are looked for in all that was written.

use std::fs;
use std::path::{Path, PathBuf};

/// The variable that holds it.
pub(crate) const VARIABLE: &str = "CUTEGEN_TEST_MODEL_KEY";
/// The key.
pub(crate) const KEY: &str = "sk-canary/7Qz+Wm9Lr4Tx=Vb2Kp8Jd";
/// A token that stands in a header of the config.
pub(crate) const TOKEN: &str = "gw-canary_5Hn+Xc3/Uf8Ys=Dg6Rk1Q";
/// The variable that names the folder of all that is written.
pub(crate) const FOLDER: &str = "CUTEGEN_TEST_MODEL_FOLDER";

/// Characters in a row that give it away.
const LEAK: usize = 10;

pub(crate) fn folder() -> PathBuf {
    std::env::var_os(FOLDER).map(PathBuf::from).expect("main sets it")
}

/// Writings of both.
pub(crate) fn writings() -> Vec<String> {
    [KEY, TOKEN].into_iter().flat_map(writings_of).collect()
}

/// Writings of a secret: itself, in reverse, hexadecimal, base64 behind 0, 1 and 2 bytes, percent signs, escapes.
fn writings_of(key: &str) -> Vec<String> {
    let each = |write: fn(u8) -> String| key.bytes().map(write).collect::<String>();
    let mut all = vec![key.to_owned(), key.chars().rev().collect(), key.to_uppercase(), key.to_lowercase()];
    all.extend([each(|byte| format!("{byte:02x}")), each(|byte| format!("{byte:02X}"))]);
    all.extend([each(|byte| format!("%{byte:02X}")), each(|byte| format!("\\u{byte:04x}"))]);
    all.push(key.replace('/', "%2F").replace('+', "%2B").replace('=', "%3D"));
    for before in ["", "x", "xy"] {
        let text = base64(format!("{before}{key}").as_bytes());
        // the first and the last digits are not the key's alone
        all.push(text[4..text.len() - 4].to_owned());
        all.push(text[4..text.len() - 4].replace('+', "-").replace('/', "_"));
    }
    all
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = |group: &[u8]| {
        let all = group.iter().chain(&[0, 0]).take(3).fold(0, |all, byte| all << 8 | usize::from(*byte));
        let text: String = [18, 12, 6, 0].map(|shift| char::from(DIGITS[all >> shift & 63])).iter().collect();
        format!("{:=<4}", &text[..=group.len()])
    };
    bytes.chunks(3).map(digits).collect()
}

/// Where a text has a piece of a secret in any writing.
pub(crate) fn leak(text: &str) -> Option<String> {
    let writings = writings();
    let pieces = writings.iter().flat_map(|writing| {
        // both have as many characters
        let width = (writing.len() / KEY.len()).max(1) * LEAK;
        writing.as_bytes().windows(width).map(|piece| String::from_utf8_lossy(piece).into_owned())
    });
    pieces.into_iter().find(|piece| text.contains(piece))
}

/// What is wrong with the files that all tests before wrote.
pub(crate) fn nowhere() -> Vec<String> {
    let (mut files, mut wrong) = (0, Vec::new());
    walk(&folder(), &mut |path, bytes| {
        files += 1;
        let text = String::from_utf8_lossy(bytes);
        wrong.extend(leak(&text).map(|piece| format!("{}: {piece}", path.display())));
    });
    println!("  {files} files");
    // the search itself finds what is there
    let planted = writings().iter().filter(|writing| leak(&format!("x{writing}x")).is_none()).count();
    wrong.extend((planted > 0).then(|| format!("{planted} writings are not found where they are")));
    wrong.extend((files < 50).then(|| format!("{files} files are too few")));
    wrong
}

fn walk(folder: &Path, look: &mut impl FnMut(&Path, &[u8])) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            walk(&path, look);
        } else {
            look(&path, &fs::read(&path).expect("a file"));
        }
    }
}
