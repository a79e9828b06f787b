//! Every message of the reader: `tests/bad/NAME.toml` is a wrong spec, and `NAME.txt` beside it all that a user sees
//! of it. `UPDATE_GOLDEN=1` writes the messages of now. Files named `cargo_*` are read as a Cargo.toml.

mod names;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cutegen_build::render::Rendering;
use cutegen_spec::diagnostic::{CODES, Code};
use cutegen_spec::edition::{Document, manifest, spec_file};
use cutegen_spec::settings::Settings;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/bad")
}

/// Wrong specs by name.
fn specs() -> Vec<(String, String)> {
    let files =
        fs::read_dir(folder()).expect("tests/bad is a folder").map(|file| file.expect("listed").path());
    let mut specs: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| {
            let name = path.file_stem().expect("a file").to_string_lossy().into_owned();
            (name, fs::read_to_string(path).expect("text"))
        })
        .collect();
    specs.sort();
    specs
}

fn is_cargo(name: &str) -> bool {
    name.starts_with("cargo_")
}

fn read(name: &str, text: &str) -> Document {
    if is_cargo(name) { manifest(text) } else { spec_file(text, &Settings::default()) }
}

/// What a build prints of one file.
fn rendered(name: &str, text: &str) -> String {
    let shown = if is_cargo(name) { "Cargo.toml".to_owned() } else { format!("{name}.toml") };
    let (document, mut rendering) = (read(name, text), Rendering::default());
    let path = Path::new(&shown);
    let errors: Vec<String> = document.errors.iter().map(|e| rendering.error(path, text, e)).collect();
    let warnings = document.warnings.iter().map(|e| rendering.warning(path, text, e));
    let all: Vec<String> = errors.into_iter().chain(warnings).collect();
    format!("{}\n", all.join("\n\n"))
}

#[test]
fn messages_are_the_golden_ones() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut wrong = Vec::new();
    for (name, text) in specs() {
        let golden = folder().join(format!("{name}.txt"));
        let now = rendered(&name, &text);
        if update {
            fs::write(&golden, &now).expect("written");
        } else if fs::read_to_string(&golden).unwrap_or_default() != now {
            wrong.push(format!("{name}:\n{now}"));
        }
    }
    assert!(wrong.is_empty(), "UPDATE_GOLDEN=1 rewrites\n{}", wrong.join("\n"));
}

/// Names with `several` in them hold more than one mistake.
#[test]
fn one_mistake_is_one_message() {
    for (name, text) in specs() {
        let found = read(&name, &text).errors;
        let several = name.contains("several");
        assert!(if several { found.len() > 2 } else { found.len() == 1 }, "{name}: {found:#?}");
    }
}

#[test]
fn every_code_is_seen() {
    let seen: BTreeSet<Code> =
        specs().iter().flat_map(|(name, text)| read(name, text).errors).map(|error| error.code).collect();
    let unseen: Vec<&Code> = CODES.iter().filter(|code| !seen.contains(code)).collect();
    assert!(unseen.is_empty(), "{unseen:?}");
}

#[test]
fn messages_are_lower_case_and_point_somewhere() {
    for (name, text) in specs() {
        for error in read(&name, &text).errors {
            for line in [Some(&error.message), Some(&error.label), error.help.as_ref()].into_iter().flatten()
            {
                assert!(!line.starts_with(char::is_uppercase) || line.starts_with("TOML"), "{name}: {line}");
                assert!(!line.trim().is_empty() && !line.ends_with('.'), "{name}: {line}");
            }
            assert!(error.span.end <= text.len() && text.get(error.span.clone()).is_some(), "{name}");
        }
    }
}

/// What is too long for a file.
#[test]
fn what_is_too_much_is_named() {
    let many = |n: usize, one: &dyn Fn(usize) -> String| (0..n).map(one).collect::<String>();
    let kernel = |axes: &str, inputs: &str, rest: &str| {
        format!(
            "edition = 1\n[kernels.k]\naxes = {{ m = '1..=64', {axes} }}\ninputs = {{ x = 'f32[m]', {inputs} }}\n\
             outputs = {{ y = 'f32[m]' }}\n{rest}"
        )
    };
    let math = "math = 'y[m] = x[m]'";
    let cases = [
        (
            kernel("", "", &format!("math = 'y[m] = x[m]{}'", " ".repeat(65_536))),
            "math is longer than 64 KiB",
        ),
        (kernel(&many(300, &|i| format!("a{i} = 1,")), "", math), "at most 256 axes, found 301"),
        (kernel("", &many(300, &|i| format!("a{i} = 'f32[m]',")), math), "at most 256 inputs, found 301"),
        (
            kernel("", "", &format!("scalars = {{ {} }}\n{math}", many(300, &|i| format!("a{i} = 'f32',")))),
            "at most 256 scalars, found 300",
        ),
        (
            kernel("", "", &format!("workloads = [{}]\n{math}", "{ m = 1 },".repeat(300))),
            "at most 256 workloads, found 300",
        ),
    ];
    for (text, message) in cases {
        let errors = spec_file(&text, &Settings::default()).errors;
        assert!(errors.len() == 1 && errors[0].message.ends_with(message), "{errors:#?}");
    }
}

#[test]
fn no_message_is_left_over() {
    let names: BTreeSet<String> = specs().into_iter().map(|(name, _)| name).collect();
    for file in fs::read_dir(folder()).expect("a folder") {
        let path = file.expect("listed").path();
        let name = path.file_stem().expect("a file").to_string_lossy().into_owned();
        assert!(names.contains(&name), "{name}.txt has no spec");
    }
    assert!(names.len() >= 300);
}
