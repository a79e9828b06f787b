//! Discover: where a project's kernels are declared, and where its lock and store lie. Reads files, judges nothing:
//! every bad spec of a project is reported in one run.

mod error;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cutegen_spec::diagnostic::{Diagnostic, NAME};
use cutegen_spec::edition::{self, Document, Package};
use cutegen_spec::lock;
use cutegen_spec::settings::Settings;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::symbol;

use crate::render::Rendering;

pub use error::ProjectError;

/// A package, or a library of specs with a store of its own.
#[derive(Clone, Debug)]
pub struct Project {
    /// The folder that everything below is relative to.
    pub root: PathBuf,
    /// Name and version; none for a library of specs.
    pub package: Option<Package>,
    /// Settings of the package.
    pub settings: Settings,
    /// Every kernel, Cargo.toml's first, then spec files by path.
    pub specs: Vec<KernelSpec>,
    /// The lock file.
    pub lock: PathBuf,
    /// The store.
    pub store: PathBuf,
    /// Files and folders that the specs were read from.
    pub sources: Vec<PathBuf>,
    /// Rendered warnings.
    pub warnings: Vec<String>,
}

impl Project {
    /// The package whose Cargo.toml lies in `root`.
    pub fn package(root: &Path) -> Result<Self, ProjectError> {
        let manifest = root.join("Cargo.toml");
        let mut reader = Reader::new(root);
        let document = reader.file(&manifest, edition::manifest)?;
        let mut specs = document.kernels;
        if let Some(folder) = &document.settings.specs {
            specs.extend(reader.folder(&root.join(folder), &document.settings)?);
        }
        let store = root.join(&document.settings.store);
        reader.finish(document.package, document.settings, specs, root.join(lock::FILE), store)
    }

    /// The library of spec files under `specs`, with lock and store in `cache`.
    pub fn library(specs: &Path, cache: &Path) -> Result<Self, ProjectError> {
        let settings = Settings::default();
        let mut reader = Reader::new(specs);
        let kernels = reader.folder(specs, &settings)?;
        reader.finish(None, settings, kernels, cache.join(lock::FILE), cache.to_path_buf())
    }

    /// How messages name this project.
    #[must_use]
    pub fn title(&self) -> String {
        self.package.as_ref().map_or_else(|| self.root.display().to_string(), |package| package.name.clone())
    }
}

/// A link may lead anywhere, and out of the published package.
fn irregular(path: &Path) -> String {
    let path = path.display();
    format!(
        "error: {path} is a link or no regular file; kernels are read from regular files only\nrun: ls -l {path}"
    )
}

struct Reader<'a> {
    root: &'a Path,
    rendering: Rendering,
    errors: Vec<String>,
    warnings: Vec<String>,
    sources: Vec<PathBuf>,
    /// File and line of each kernel.
    declared: BTreeMap<String, String>,
}

impl<'a> Reader<'a> {
    fn new(root: &'a Path) -> Self {
        let (errors, warnings, sources) = (Vec::new(), Vec::new(), Vec::new());
        let (rendering, declared) = (Rendering::default(), BTreeMap::new());
        Self { root, rendering, errors, warnings, sources, declared }
    }

    fn file(&mut self, path: &Path, parse: impl Fn(&str) -> Document) -> Result<Document, ProjectError> {
        let text = std::fs::read_to_string(path).map_err(|source| ProjectError::read(path, source))?;
        let document = parse(&text);
        let shown = path.strip_prefix(self.root).unwrap_or(path);
        let rendering = &mut self.rendering;
        self.errors.extend(document.errors.iter().map(|error| rendering.error(shown, &text, error)));
        self.warnings
            .extend(document.warnings.iter().map(|warning| rendering.warning(shown, &text, warning)));
        self.sources.push(path.to_path_buf());
        self.declare(shown, &text, &document);
        Ok(document)
    }

    /// Notes where the document's kernels are declared; an error for those that another file declares too.
    fn declare(&mut self, shown: &Path, text: &str, document: &Document) {
        for (spec, span) in document.kernels.iter().zip(&document.names) {
            let line = 1 + text.bytes().take(span.start).filter(|byte| *byte == b'\n').count();
            let here = format!("{}:{line}", shown.display());
            let Some(first) = self.declared.get(spec.name.as_str()) else {
                self.declared.insert(spec.name.to_string(), here);
                continue;
            };
            let message = format!("kernel `{}` is declared in two files", spec.name);
            let again = Diagnostic::new(NAME, span.clone(), message, "again here");
            let again = again.help(format!("first declared at {first}"));
            self.errors.push(self.rendering.error(shown, text, &again));
        }
    }

    /// Every `*.toml` under `folder`, by path.
    fn folder(&mut self, folder: &Path, settings: &Settings) -> Result<Vec<KernelSpec>, ProjectError> {
        let mut specs = Vec::new();
        self.sources.push(folder.to_path_buf());
        for item in walkdir::WalkDir::new(folder).sort_by_file_name() {
            let item = item.map_err(|error| ProjectError::read(folder, error.into()))?;
            if item.path().extension().is_none_or(|e| e != "toml") || item.file_type().is_dir() {
                continue;
            }
            if item.file_type().is_file() {
                specs.extend(self.file(item.path(), |text| edition::spec_file(text, settings))?.kernels);
            } else {
                self.errors.push(irregular(item.path()));
            }
        }
        Ok(specs)
    }

    fn finish(
        self,
        package: Option<Package>,
        settings: Settings,
        specs: Vec<KernelSpec>,
        lock: PathBuf,
        store: PathBuf,
    ) -> Result<Project, ProjectError> {
        let mut errors = self.errors;
        if package.is_some() && errors.is_empty() {
            let specs: Vec<&KernelSpec> = specs.iter().collect();
            errors.extend(symbol::collisions(&specs).iter().map(|collision| format!("error: {collision}")));
        }
        if !errors.is_empty() {
            return Err(ProjectError::Specs(errors));
        }
        let root = self.root.to_path_buf();
        Ok(Project {
            root,
            package,
            settings,
            specs,
            lock,
            store,
            sources: self.sources,
            warnings: self.warnings,
        })
    }
}
