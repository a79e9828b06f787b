//! Diagnostics as text: file, line, column, caret, what was expected. Plain, because cargo prints it line by line.

use std::path::Path;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use cutegen_spec::diagnostic::Diagnostic;

/// `diagnostic` of the file `path` (as shown to the user) with content `text`.
#[must_use]
pub fn error(path: &Path, text: &str, diagnostic: &Diagnostic) -> String {
    render(Level::ERROR, path, text, diagnostic)
}

/// The same as a warning.
#[must_use]
pub fn warning(path: &Path, text: &str, diagnostic: &Diagnostic) -> String {
    render(Level::WARNING, path, text, diagnostic)
}

fn render(level: Level<'_>, path: &Path, text: &str, diagnostic: &Diagnostic) -> String {
    let path = path.display().to_string();
    let start = diagnostic.span.start.min(text.len());
    let end = diagnostic.span.end.clamp(start, text.len());
    let annotation = AnnotationKind::Primary.span(start..end).label(&diagnostic.label);
    let id = diagnostic.code.to_string();
    let title = level.primary_title(&diagnostic.message).id(&id);
    let mut group = title.element(Snippet::source(text).path(&path).annotation(annotation));
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help));
    }
    Renderer::plain().decor_style(DecorStyle::Ascii).render(&[group])
}

#[cfg(test)]
mod tests {
    use super::error;
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
}
