//! Diagnostics as text: file, line, column, caret, what was expected. Plain, because cargo prints it line by line.

pub mod command;

use std::collections::BTreeSet;
use std::path::Path;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use cutegen_spec::diagnostic::{Code, Diagnostic};

/// Renders the diagnostics of one run: the first of each code ends with the command that explains the code.
/// Errors and warnings count apart, because warnings are not shown beside errors.
#[derive(Debug, Default)]
pub struct Rendering {
    errors: BTreeSet<Code>,
    warnings: BTreeSet<Code>,
}

impl Rendering {
    /// As [`error`], with the command on the first of its code.
    pub fn error(&mut self, path: &Path, text: &str, diagnostic: &Diagnostic) -> String {
        let first = self.errors.insert(diagnostic.code);
        render(Level::ERROR, path, text, diagnostic, first.then(|| command(diagnostic.code)))
    }

    /// As [`warning`], with the command on the first of its code.
    pub fn warning(&mut self, path: &Path, text: &str, diagnostic: &Diagnostic) -> String {
        let first = self.warnings.insert(diagnostic.code);
        render(Level::WARNING, path, text, diagnostic, first.then(|| command(diagnostic.code)))
    }
}

/// `diagnostic` of the file `path` (as shown to the user) with content `text`.
#[must_use]
pub fn error(path: &Path, text: &str, diagnostic: &Diagnostic) -> String {
    render(Level::ERROR, path, text, diagnostic, None)
}

/// The same as a warning.
#[must_use]
pub fn warning(path: &Path, text: &str, diagnostic: &Diagnostic) -> String {
    render(Level::WARNING, path, text, diagnostic, None)
}

fn command(code: Code) -> String {
    format!("cargo cutegen explain {code}")
}

fn render(
    level: Level<'_>,
    path: &Path,
    text: &str,
    diagnostic: &Diagnostic,
    command: Option<String>,
) -> String {
    let path = path.display().to_string();
    let start = diagnostic.span.start.min(text.len());
    let end = diagnostic.span.end.clamp(start, text.len());
    let annotation = AnnotationKind::Primary.span(start..end).label(&diagnostic.label);
    let id = diagnostic.code.to_string();
    let title = level.primary_title(&diagnostic.message).id(&id);
    let mut group = title.element(Snippet::source(text).path(&path).annotation(annotation));
    for help in diagnostic.help.iter().chain(&command) {
        group = group.element(Level::HELP.message(help));
    }
    Renderer::plain().decor_style(DecorStyle::Ascii).render(&[group])
}

#[cfg(test)]
mod tests {
    use super::{Rendering, error};
    use cutegen_spec::edition::manifest;
    use std::path::Path;

    #[test]
    fn shows_the_place_inside_a_string_of_cargo_toml() {
        let text = "[package]\nname = \"a\"\n\n[package.metadata.kernels.soft]\naxes = { m = 4, c = 8 }\n\
                    inputs = { x = \"f32[m, c]\" }\noutputs = { y = \"f32[m, c]\" }\n\
                    math = \"y[m, c] = sofmax(c, x[m, c])\"\n";
        let errors = manifest(text).errors;
        let rendered = error(Path::new("Cargo.toml"), text, &errors[0]);
        let expected = "\
error[CG011]: `sofmax` is no function
 --> Cargo.toml:8:19
  |
8 | math = \"y[m, c] = sofmax(c, x[m, c])\"
  |                   ^^^^^^ not in the language
  |
  = help: did you mean `softmax`?";
        assert_eq!(rendered, expected, "\n{rendered}");
    }

    #[test]
    fn names_the_explaining_command_once_per_code() {
        let text = "[package]\nname = \"a\"\n\n[package.metadata.kernels.soft]\naxes = { m = 4 }\nmat = 1\nmax = 2\n\
                    inputs = { x = \"f31[m]\" }\n";
        let errors = manifest(text).errors;
        let mut rendering = Rendering::default();
        let rendered: Vec<String> =
            errors.iter().map(|one| rendering.error(Path::new("Cargo.toml"), text, one)).collect();
        let explained: Vec<&str> =
            rendered.iter().filter_map(|text| text.lines().find(|line| line.contains("explain"))).collect();
        assert_eq!(explained.len(), 2, "{rendered:#?}");
        assert!(rendered[0].ends_with("  = help: cargo cutegen explain CG002"), "{}", rendered[0]);
        let warned = rendering.warning(Path::new("Cargo.toml"), text, &errors[0]);
        assert!(warned.ends_with("explain CG002"), "{warned}");
    }
}
