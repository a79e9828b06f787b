//! Tables of a Cargo.toml that look like kernels, or like our settings, and lie where nothing reads them: a slip of the pen
//! must not declare nothing in silence. Tables of other tools are none of ours, so a name alone says nothing.

use std::ops::Range;

use super::keys;
use super::value::{Key, Table};
use crate::diagnostic::{Diagnostic, SCHEMA, nearest};

/// Keys that make a table a kernel.
const PARTS: [&str; 5] = ["axes", "inputs", "outputs", "inout", "math"];

/// Where kernels and settings are read.
const READ: [&[&str]; 3] =
    [&["package", "metadata", "kernels"], &["package", "metadata", "cutegen"], &["kernels"]];

/// A table on the way down.
struct Place<'a> {
    path: Vec<&'a str>,
    /// Of the keys of `path`.
    spans: Vec<Range<usize>>,
}

/// Adds an error for each; what else was said of their keys is said better by it.
pub(super) fn report(root: &Table<'_>, errors: &mut Vec<Diagnostic>) {
    let mut found = Vec::new();
    walk(root, &Place { path: Vec::new(), spans: Vec::new() }, &mut found);
    errors.retain(|error| !found.iter().any(|(place, _)| place.spans.contains(&error.span)));
    errors.extend(found.iter().map(|(place, right)| place.diagnostic(right)));
}

/// Whether a table holds what a kernel does, name apart.
pub(super) fn is_kernel(table: &Table<'_>) -> bool {
    let has = |part: &&str| table.get(part).is_some();
    has(&"math") && PARTS.iter().filter(|part| has(part)).count() > 1
}

fn walk<'a>(table: &Table<'a>, place: &Place<'a>, found: &mut Vec<(Place<'a>, String)>) {
    for (key, value) in table.entries() {
        let (Some(table), below) = (value.table(), place.below(&key)) else { continue };
        match below.expected(&table) {
            Some(right) => found.push((below, right)),
            None if below.is_read_whole() => {}
            None => walk(&table, &below, found),
        }
    }
}

impl<'a> Place<'a> {
    fn below(&self, key: &Key<'a>) -> Self {
        let path = self.path.iter().copied().chain([key.text()]).collect();
        let spans = self.spans.iter().cloned().chain([key.span()]).collect();
        Self { path, spans }
    }

    /// Every table in it is read, or refused where it is.
    fn is_read_whole(&self) -> bool {
        READ.iter().any(|read| self.path == *read && !self.path.ends_with(&["cutegen"]))
    }

    /// Where the table should lie, if it is one of ours in a wrong place.
    fn expected(&self, table: &Table<'_>) -> Option<String> {
        if READ.contains(&&self.path[..]) {
            return None;
        }
        let has = |keys: &[&str]| keys.iter().any(|key| table.get(key).is_some());
        let is_near = |name: &str, word| nearest(&name.to_lowercase(), [word]).is_some();
        match self.path[..] {
            ["package", "metadata", name] if is_near(name, "cutegen") && has(&keys::SETTINGS) => {
                Some("package.metadata.cutegen".to_owned())
            }
            ["package", "metadata", name] if is_kernel(table) && is_near(name, "kernels") => {
                Some("package.metadata.kernels.NAME".to_owned())
            }
            ["package", "metadata", near, name] if is_near(near, "kernels") && has(&PARTS) => {
                Some(format!("package.metadata.kernels.{name}"))
            }
            [.., name] if is_kernel(table) => Some(format!("package.metadata.kernels.{name}")),
            _ => None,
        }
    }

    fn diagnostic(&self, right: &str) -> Diagnostic {
        let span = self.spans.last().cloned().unwrap_or_default();
        let message = format!("nothing reads `[{}]`", self.path.join("."));
        Diagnostic::new(SCHEMA, span, message, format!("expected `[{right}]`"))
    }
}

#[cfg(test)]
mod tests {
    use crate::edition::manifest;

    const BODY: &str = "axes = { n = 8 }\ninputs = { x = \"f32[n]\" }\noutputs = { y = \"f32[n]\" }\n\
                        math = \"y[n] = x[n]\"\n";

    fn told(table: &str, body: &str) -> Vec<(String, String)> {
        let text = format!("[package]\nname = \"a\"\n\n[{table}]\n{body}");
        manifest(&text).errors.into_iter().map(|error| (error.message, error.label)).collect()
    }

    fn stray(found: &str, right: &str) -> Vec<(String, String)> {
        vec![(format!("nothing reads `[{found}]`"), format!("expected `[{right}]`"))]
    }

    #[test]
    fn a_kernel_in_a_wrong_place_names_the_right_one() {
        for found in [
            "package.metadata.kernel.norm",
            "package.metadata.kernals.norm",
            "package.metadata.Kernels.norm",
            "package.metadata.cutegen.kernels.norm",
            "package.metadata.cutegen.norm",
            "package.metadata.cutegen-kernels.norm",
            "package.metadata.norm",
            "package.kernels.norm",
            "metadata.kernels.norm",
            "workspace.metadata.kernels.norm",
            "kernel.norm",
        ] {
            assert_eq!(told(found, BODY), stray(found, "package.metadata.kernels.norm"), "{found}");
        }
        let unnamed = "package.metadata.kernel";
        assert_eq!(told(unnamed, BODY), stray(unnamed, "package.metadata.kernels.NAME"));
        let half = "package.metadata.kernel.norm";
        let body = BODY.replace("math", "maths");
        assert_eq!(told(half, &body), stray(half, "package.metadata.kernels.norm"), "a slip is enough");
    }

    #[test]
    fn a_kernel_without_a_name_is_told_once() {
        let told = told("package.metadata.kernels", BODY);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].1.contains("[package.metadata.kernels.NAME]"), "{told:?}");
    }

    #[test]
    fn settings_under_a_near_name_are_told() {
        let found = "package.metadata.cute-gen";
        let told = told(found, "targets = [\"host\"]\n");
        assert_eq!(told, stray(found, "package.metadata.cutegen"));
    }

    #[test]
    fn tables_of_other_tools_are_let_be() {
        for (table, body) in [
            ("package.metadata.kernel", "targets = [\"x86\"]\n"),
            ("package.metadata.kernel.linux", "version = 6\n"),
            ("package.metadata.docs.rs", "targets = [\"x86_64-unknown-linux-gnu\"]\n"),
            ("package.metadata.plot", "axes = [\"x\"]\n"),
            ("package.metadata.latex", "math = true\n"),
        ] {
            assert_eq!(told(table, body), [], "{table}");
        }
    }
}
