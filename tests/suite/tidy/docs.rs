//! Rules on documents: what they name exists, and the commands that they give are the ones that are run.

use cutegen_build::plan::Plan;
use cutegen_spec::edition::{Document, manifest, spec_file};
use cutegen_spec::key::Question;
use cutegen_spec::record::GATE;
use cutegen_spec::settings::Settings;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::target::Target;

use super::Finding;
use super::tree::File;

/// Documents whose paths are promises, besides the pages of `docs/`.
const CHECKED: &[&str] =
    &["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "STYLE.md", "results/README.md"];

/// What a path in a document may leave out: CONTRIBUTING.md says so above its table.
const ROOTS: &[&str] = &["", "cutegen-build/src/"];

/// First components of paths in a user's package or in build output: not ours to have.
const ELSEWHERE: &[&str] =
    &["OUT_DIR", "target", "src", "v1", "cutegen-store", "cutegen-runs", "~", ".", ".."];

/// Comments in README.md after which `.ci/run` takes the next fenced block.
const MARKERS: &[&str] = &["<!-- ci:test -->", "<!-- ci:run -->"];

/// Each path that a document names, in backticks or as a link, is in the tree.
pub(super) fn paths_exist(files: &[File]) -> Vec<String> {
    let documents = files.iter().filter(|file| is_checked(&file.path));
    documents.flat_map(|document| missing(document, files)).collect()
}

fn is_checked(path: &str) -> bool {
    CHECKED.contains(&path) || is_page(path)
}

/// A page of `docs/`; those of `docs/errors/` have a test of their own.
fn is_page(path: &str) -> bool {
    path.strip_prefix("docs/").is_some_and(|name| name.ends_with(".md") && !name.contains('/'))
}

/// Documents that say which revision the gate has, and the words before it.
const REVISIONS: &[(&str, &str)] = &[
    ("docs/formats.md", "| gate | revision "),
    ("CHANGELOG.md", "store layout v1, gate revision "),
    ("docs/gate.md", "as of gate revision "),
];

/// The gate's revision is what documents say.
pub(super) fn revisions(files: &[File]) -> Vec<String> {
    let said = |path: &str, before: &str| {
        let text = &files.iter().find(|file| file.path == path)?.text;
        let digits = text.split_once(before)?.1.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<u32>().ok()
    };
    let wrong = REVISIONS.iter().filter(|(path, before)| said(path, before) != Some(GATE));
    wrong.map(|(path, before)| format!("{path}: `{before}` is not followed by {GATE}")).collect()
}

fn missing(document: &File, files: &[File]) -> Vec<String> {
    let is_there = |path: &str| {
        let folder = format!("{path}/");
        files.iter().any(|file| file.path == path || file.path.starts_with(&folder))
    };
    let exists = |path: &str| ROOTS.iter().any(|root| is_there(&format!("{root}{path}")));
    let mut findings = Vec::new();
    let mut fenced = false;
    for (index, line) in document.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let links = links(line).into_iter().filter_map(link_path);
        let links = links.map(|path| beside(&document.path, path)).filter(|path| !is_there(path));
        let spans = code_spans(line).into_iter().filter_map(span_path).filter(|path| !exists(path));
        let gone = spans.map(str::to_owned).chain(links);
        findings.extend(gone.map(|path| format!("{}:{}: no `{path}` in the tree", document.path, index + 1)));
    }
    findings
}

/// The text between pairs of backticks.
fn code_spans(line: &str) -> Vec<&str> {
    line.split('`').skip(1).step_by(2).collect()
}

/// The targets of `[text](target)`.
fn links(line: &str) -> Vec<&str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect()
}

/// The path that a code span names, up to its first placeholder; none when it's no path of ours.
fn span_path(span: &str) -> Option<&str> {
    let plain = span.find(['*', '<', '{', '[', '$', '…']).map_or(span, |at| &span[..at]);
    let cut = if plain.len() == span.len() { span } else { plain.rsplit_once('/')?.0 };
    let path = cut.trim_end_matches('/');
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let first = path.split('/').next()?;
    let file = path.rsplit('/').next()?;
    let has_extension = file.rsplit_once('.').is_some_and(|(_, end)| EXTENSIONS.contains(&end));
    let is_root_document = !path.contains('/') && file.ends_with(".md");
    let is_path = span.contains('/') && (has_extension || span.ends_with('/') || cut.len() < span.len());
    let ours = path.chars().all(is_name)
        && !path.is_empty()
        && !path.starts_with('/')
        && !ELSEWHERE.contains(&first);
    (ours && (is_path || is_root_document)).then_some(path)
}

const EXTENSIONS: &[&str] =
    &["rs", "toml", "md", "lock", "cu", "cpp", "hpp", "in", "py", "sh", "json", "jsonl", "svg"];

fn link_path(target: &str) -> Option<&str> {
    let path = target.split('#').next()?.trim_end_matches('/');
    (!path.is_empty() && !path.contains(':')).then_some(path)
}

/// The path in the tree that a link in this document leads to.
fn beside(document: &str, target: &str) -> String {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// Documents that stay short, by what they may have at most: the first screen of a stranger, and ten minutes.
const SHORT: &[(&str, &str, usize)] = &[("README.md", "lines", 150), ("ARCHITECTURE.md", "words", 1300)];

/// A short document stays short. What does not fit is a page of its own.
pub(super) fn short(path: &str, text: &str) -> Vec<Finding> {
    let has =
        |unit: &str| if unit == "lines" { text.lines().count() } else { text.split_whitespace().count() };
    let limits = SHORT.iter().filter(|(short, ..)| *short == path);
    let over = limits.filter(|(_, unit, most)| has(unit) > *most);
    over.map(|(_, unit, most)| Finding::new(1, format!("{} {unit}, of {most} at most", has(unit)))).collect()
}

/// Documents that the other rules read, or that a published crate must carry.
const REQUIRED: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "STYLE.md",
];

/// Each of [`REQUIRED`] is there: a rule over a missing document would hold in vain.
pub(super) fn documents_exist(files: &[File]) -> Vec<String> {
    let missing = REQUIRED.iter().filter(|path| !files.iter().any(|file| file.path == **path));
    missing.map(|path| format!("no {path}")).collect()
}

/// CHANGELOG.md has a section for what is not released yet.
pub(super) fn changelog(path: &str, text: &str) -> Vec<Finding> {
    let unreleased = |line: &str| matches!(line.trim(), "## [Unreleased]" | "## Unreleased");
    if path != "CHANGELOG.md" || text.lines().any(unreleased) {
        return Vec::new();
    }
    vec![Finding::new(1, "no `## [Unreleased]` section")]
}

/// After each marker in README.md comes a fenced block with at least one command.
pub(super) fn readme_commands(path: &str, text: &str) -> Vec<Finding> {
    if path != "README.md" {
        return Vec::new();
    }
    let has_command = |marker: &str| {
        let mut lines = text.lines().skip_while(|line| line.trim() != marker).skip(1);
        let opens = lines.find(|line| !line.trim().is_empty()).is_some_and(|line| line.starts_with("```"));
        opens && lines.next().is_some_and(|line| !line.trim().is_empty() && !line.starts_with("```"))
    };
    let bare = MARKERS.iter().filter(|marker| !has_command(marker));
    bare.map(|marker| Finding::new(1, format!("no commands in a fenced block after `{marker}`"))).collect()
}

/// Documents whose `toml` blocks are specs that a reader copies; those of docs/errors/ have a test of their own.
fn shows_specs(path: &str) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    path.ends_with(".md") && ["", "docs", "kernel-specs"].contains(&folder)
}

/// The documents of which every `toml` block is a whole spec file.
const ALL_SPECS: &[&str] = &["docs/tour.md", "docs/math.md", "docs/cookbook.md", "docs/templates.md"];

/// Each kernel that a document shows is one: the reader takes it, and its family is the one that it asserts. Where
/// `kernel-specs/` has a kernel of that name, one shown in a spec file asks the same question.
pub(super) fn shown_kernels(files: &[File]) -> Vec<String> {
    let library: Vec<KernelSpec> = files
        .iter()
        .filter(|file| file.path.starts_with("kernel-specs/") && file.path.ends_with(".toml"))
        .flat_map(|file| spec_file(&file.text, &Settings::default()).kernels)
        .collect();
    let documents = files.iter().filter(|file| shows_specs(&file.path));
    documents.flat_map(|document| wrong_kernels(document, &library)).collect()
}

fn wrong_kernels(document: &File, library: &[KernelSpec]) -> Vec<String> {
    let mut findings = Vec::new();
    for (line, block) in toml_blocks(&document.text) {
        let mut find = |what: String| findings.push(format!("{}:{line}: {what}", document.path));
        let Some(shown) = shown(&block) else {
            if ALL_SPECS.contains(&document.path.as_str()) {
                find("not a spec file: no `edition = 1`, or no kernel".to_owned());
            }
            continue;
        };
        shown.errors.iter().for_each(|error| find(format!("{}: {}", error.code, error.message)));
        for spec in &shown.kernels {
            let plan = Plan::new(spec, &Target::host());
            let known = library.iter().find(|known| known.name == spec.name && !is_manifest(&block));
            if known.is_some_and(|known| Question::new(known, &plan.target) != plan.question) {
                find(format!("`{}` is another kernel in kernel-specs/", spec.name));
            }
            if spec.family.as_ref().is_some_and(|word| !plan.family.is(word)) {
                find(format!("`{}` is `{}`", spec.name, plan.family.name()));
            }
        }
    }
    findings
}

/// What a block declares, if it declares kernels.
fn shown(block: &str) -> Option<Document> {
    if is_manifest(block) {
        return Some(manifest(block));
    }
    block.contains("[kernels.").then(|| spec_file(block, &Settings::default()))
}

fn is_manifest(block: &str) -> bool {
    block.contains("[package.metadata.kernels.")
}

/// The first line and the text of each fenced block of TOML.
fn toml_blocks(text: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (index, line) in text.lines().enumerate() {
        match &mut open {
            Some(_) if line.starts_with("```") => blocks.extend(open.take()),
            Some((_, block)) => {
                block.push_str(line);
                block.push('\n');
            }
            None if line == "```toml" => open = Some((index + 2, String::new())),
            None => {}
        }
    }
    blocks
}

/// The justfile has one recipe per step of `.ci/run`, by the same name.
pub(super) fn recipes(files: &[File]) -> Vec<String> {
    let text = |path: &str| files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str());
    let steps: Vec<&str> =
        text(".ci/run").lines().filter_map(|line| line.strip_prefix("step_")?.split('(').next()).collect();
    let recipes: Vec<&str> =
        text("justfile").lines().filter_map(recipe).filter(|name| *name != "ci").collect();
    let lacking = |of: &[&str], from: &[&str], place: &str| {
        let names = from.iter().filter(|name| !of.contains(name));
        names.map(|name| format!("{place} has no `{name}`")).collect::<Vec<_>>()
    };
    if steps.is_empty() {
        return vec![".ci/run has no steps".to_owned()];
    }
    [lacking(&recipes, &steps, "justfile"), lacking(&steps, &recipes, ".ci/run")].concat()
}

fn recipe(line: &str) -> Option<&str> {
    let name = line.split([':', ' ']).next()?;
    let named =
        name.starts_with(|c: char| c.is_ascii_lowercase()) && line.contains(':') && !line.contains(":=");
    named.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<String> {
        let tree = [
            File::planted("README.md", text),
            File::planted("cutegen-spec/src/key.rs", ""),
            File::planted("kernel-specs/gemm/linear.toml", ""),
        ];
        paths_exist(&tree)
    }

    #[test]
    fn a_path_that_is_gone_is_found() {
        for text in [
            "see `cutegen-spec/src/gone.rs`",
            "see [it](cutegen-spec/src/gone.rs#L1)",
            "`kernel-spec/**/*.toml`",
            "the folder `caches/`",
            "`GONE.md`",
        ] {
            assert_eq!(named(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn what_is_no_path_of_ours_passes() {
        for text in [
            "`cutegen-spec/src/key.rs` and `cutegen-spec/` and [x](kernel-specs/gemm) and `kernel-specs/**/*.toml`",
            "`OUT_DIR/cutegen/kernels.rs`, `src/main.rs`, `record.toml`, `h / 4`, `and/or`, `v1/<key[0..2]>/<key>/`",
            "[web](https://example.org/x.md) and [here](#there)",
            "```\n`gone/gone.rs`\n```",
        ] {
            assert_eq!(named(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn an_older_gate_in_a_document_is_found() {
        let tree = |revision: u32| -> Vec<File> {
            let file =
                |(path, before): &(&str, &str)| File::planted(path, &format!("{before}{revision}, and\n"));
            REVISIONS.iter().map(file).collect()
        };
        assert!(revisions(&tree(GATE)).is_empty());
        assert_eq!(revisions(&tree(GATE - 1)).len(), REVISIONS.len());
    }

    #[test]
    fn links_of_a_page_start_at_its_folder() {
        let tree = |page: &str| {
            let page = File::planted("docs/a.md", page);
            paths_exist(&[page, File::planted("docs/b.md", ""), File::planted("README.md", "")])
        };
        assert!(tree("[b](b.md#there), [home](../README.md), `docs/b.md`").is_empty());
        for gone in ["[c](c.md)", "[b](docs/b.md)", "[x](../b.md)", "`docs/c.md`"] {
            assert_eq!(tree(gone).len(), 1, "{gone}");
        }
    }

    #[test]
    fn a_document_that_grows_is_found() {
        for (path, unit, most) in SHORT {
            let of = |count: usize| if *unit == "lines" { "x\n".repeat(count) } else { "x ".repeat(count) };
            assert_eq!(short(path, &of(*most)), []);
            assert_eq!(short(path, &of(*most + 1)).len(), 1, "{path}");
        }
        assert_eq!(short("CHANGELOG.md", &"x\n".repeat(9999)), []);
    }

    #[test]
    fn a_missing_document_is_found() {
        let tree: Vec<File> = REQUIRED.iter().map(|path| File::planted(path, "")).collect();
        assert!(documents_exist(&tree).is_empty());
        assert_eq!(documents_exist(&tree[1..]).len(), 1);
    }

    #[test]
    fn a_changelog_without_unreleased_is_found() {
        assert_eq!(changelog("CHANGELOG.md", "# Changelog\n\n## [0.1.0]\n").len(), 1);
        assert_eq!(changelog("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n"), []);
    }

    #[test]
    fn a_readme_without_commands_is_found() {
        let both = "<!-- ci:test -->\n\n```sh\ncargo test\n```\n<!-- ci:run -->\n```sh\ncargo run\n```\n";
        assert_eq!(readme_commands("README.md", both), []);
        assert_eq!(readme_commands("README.md", &both.replace("<!-- ci:run -->", "")).len(), 1);
        assert_eq!(readme_commands("README.md", &both.replace("cargo run\n", "")).len(), 1);
    }

    #[test]
    fn a_shown_kernel_that_is_none_is_found() {
        let kernel = |name: &str, dtype: &str, math: &str| {
            format!(
                "edition = 1\n[kernels.{name}]\naxes = {{ n = 8 }}\ninputs = {{ x = \"{dtype}[n]\" }}\n\
                 outputs = {{ y = \"f32[n]\" }}\nmath = \"{math}\"\n"
            )
        };
        let found = |path: &str, block: &str| {
            let text = format!("Text.\n\n```toml\n{block}```\n");
            let library = File::planted("kernel-specs/a.toml", &kernel("double", "f32", "y[n] = 2 * x[n]"));
            shown_kernels(&[File::planted(path, &text), library]).len()
        };
        let right = kernel("double", "f32", "y[n] = 2 * x[n]");
        assert_eq!(found("docs/tour.md", &right), 0);
        assert_eq!(found("docs/tour.md", &right.replace("2 * x", "2 * z")), 1, "not read");
        assert_eq!(found("docs/tour.md", &right.replace("2 *", "3 *")), 1, "another question");
        assert_eq!(found("docs/tour.md", &format!("{right}family = \"scan\"\n")), 1, "another family");
        assert_eq!(found("docs/tour.md", &kernel("triple", "f16", "y[n] = 3 * x[n]")), 0);
        assert_eq!(found("docs/tour.md", "relative = 1\n"), 1, "no kernel");
        assert_eq!(found("docs/spec.md", "relative = 1\n"), 0);
        assert_eq!(found("docs/errors/CG001.md", &right.replace("2 *", "3 *")), 0);
    }

    #[test]
    fn recipes_and_steps_that_differ_are_found() {
        let tree = |just: &str| {
            [File::planted(".ci/run", "step_fmt() {\nstep_doc() {\n"), File::planted("justfile", just)]
        };
        assert!(recipes(&tree("set shell := [\"x\"]\nci:\n    x\nfmt:\n    x\ndoc:\n    x\n")).is_empty());
        assert_eq!(recipes(&tree("fmt:\n    x\n")).len(), 1);
        assert_eq!(recipes(&tree("fmt:\ndoc:\nextra:\n")).len(), 1);
        assert_eq!(recipes(&[]).len(), 1);
    }
}
