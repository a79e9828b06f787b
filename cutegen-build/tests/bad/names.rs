//! Names that PyTorch, NumPy and CUDA have, in specs: `tests/golden/hints/KIND.txt` has a name and the help that a user
//! gets for it on every line. `UPDATE_GOLDEN=1` writes the helps of now beside the names that are there.

use std::fs;
use std::path::{Path, PathBuf};

use cutegen_spec::diagnostic::Diagnostic;
use cutegen_spec::edition::spec_file;
use cutegen_spec::hint::same_dtype;
use cutegen_spec::settings::Settings;

/// What a name without a help has; a name that is right has no error.
const SILENT: &str = "-";
const RIGHT: &str = "right";

fn file(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/golden/hints/{kind}.txt"))
}

/// A spec of this dtype, function of an element, targets, and one more line.
fn spec(dtype: &str, function: &str, line: &str) -> String {
    format!(
        "edition = 1\n[kernels.k]\naxes = {{ m = '1..=64', c = 8 }}\ninputs = {{ x = '{dtype}[m, c]' }}\n\
         outputs = {{ y = 'f32[m, c]' }}\nmath = 'y[m, c] = {function}(x[m, c])'\n{line}\n"
    )
}

/// Names of a kind with their helps: those of the file, and those of now.
fn helps(kind: &str, spec_of: impl Fn(&str) -> String) -> Vec<(String, String, String)> {
    let golden = file(kind);
    let text = fs::read_to_string(&golden).expect("a list of names");
    let one = |line: &str| {
        // a name may hold colons, but none before a blank
        let (name, help) = line.split_once(": ").unwrap_or((line.strip_suffix(':').unwrap_or(line), ""));
        (name.to_owned(), help.to_owned(), told(&spec_of(name)))
    };
    let helps: Vec<_> = text.lines().map(one).collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let lines: String = helps.iter().map(|(name, _, now)| format!("{name}: {now}\n")).collect();
        fs::write(golden, lines).expect("written");
    }
    helps
}

/// The help of a spec's first error.
fn told(text: &str) -> String {
    match spec_file(text, &Settings::default()).errors.into_iter().next() {
        None => RIGHT.to_owned(),
        Some(Diagnostic { help, .. }) => help.unwrap_or_else(|| SILENT.to_owned()),
    }
}

fn golden(kind: &str, helps: &[(String, String, String)]) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return;
    }
    let moved: Vec<_> = helps.iter().filter(|(_, then, now)| then != now).collect();
    assert!(moved.is_empty(), "{kind}; UPDATE_GOLDEN=1 rewrites {moved:#?}");
}

/// A name that another library has is meant: no neighbour in spelling is suggested for it.
#[test]
fn functions_of_others_are_no_slips() {
    let helps = helps("functions", |name| spec("f32", name, ""));
    golden("functions", &helps);
    for (name, _, now) in &helps {
        assert!(!now.starts_with("did you mean"), "{name}: {now}");
    }
}

#[test]
fn dtypes_of_others_are_theirs() {
    let helps = helps("dtypes", |name| spec(name, "exp", ""));
    golden("dtypes", &helps);
    for (name, _, now) in &helps {
        let same = same_dtype(name).map(|dtype| format!("did you mean `{dtype}`?"));
        let is_slip = ["bf61", "f46", "bool_"].contains(&name.as_str());
        assert!(is_slip || !now.starts_with("did you mean") || Some(now) == same.as_ref(), "{name}: {now}");
    }
}

#[test]
fn targets_of_others_are_told() {
    let helps = helps("targets", |name| spec("f32", "exp", &format!("targets = ['{name}']")));
    golden("targets", &helps);
    for (name, _, now) in &helps {
        assert!(now != SILENT || name.contains(':') || name.contains("09"), "{name} is met with silence");
    }
}

#[test]
fn keys_of_others_are_told() {
    golden("keys", &helps("keys", |name| spec("f32", "exp", &format!("{name} = 1"))));
}
