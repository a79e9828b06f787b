//! Projects that tests make up.

use cutegen_build::discover::Project;
use tempfile::TempDir;

/// A library of kernels with these targets.
pub(crate) fn library(kernels: &[(&str, &str)]) -> (TempDir, Project) {
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = |(name, targets): &(&str, &str)| {
        format!(
            "[kernels.{name}]\naxes = {{ n = 8 }}\ninputs = {{ x = \"f32[n]\" }}\noutputs = {{ y = \"f32[n]\" }}\n\
             math = \"y[n] = 2 * x[n]\"\ntargets = [{targets}]\n"
        )
    };
    let text = format!("edition = 1\n{}", kernels.iter().map(kernel).collect::<String>());
    std::fs::write(folder.path().join("specs.toml"), text).expect("written");
    let project = Project::library(folder.path(), folder.path()).expect("a library");
    (folder, project)
}
