//! `manifest.toml`: what was emitted, for people and tools that ask which bytes a build links. Data only.

use cutegen_spec::digest::{ArtifactDigest, CacheKey};
use cutegen_spec::record::{Kind, Variant};
use cutegen_spec::symbol;
use serde::Serialize;

use super::{EmitKernel, Error, Package};

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Manifest<'a> {
    cutegen: &'a str,
    package: &'a str,
    package_version: &'a str,
    triple: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    library: Option<&'a str>,
    kernel: Vec<Kernel<'a>>,
}

#[derive(Serialize)]
struct Kernel<'a> {
    name: &'a str,
    target: String,
    key: CacheKey,
    variant: Vec<Linked<'a>>,
}

#[derive(Serialize)]
struct Linked<'a> {
    name: &'a str,
    kind: Kind,
    artifact: ArtifactDigest,
    stored: ArtifactDigest,
    symbols: Vec<String>,
}

/// The manifest's text.
pub(super) fn print(
    package: &Package<'_>,
    kernels: &[EmitKernel<'_>],
    library: Option<&str>,
) -> Result<String, Error> {
    let manifest = Manifest {
        cutegen: env!("CARGO_PKG_VERSION"),
        package: package.name,
        package_version: package.version,
        triple: package.triple,
        library,
        kernel: kernels.iter().map(|kernel| listed(package, kernel)).collect(),
    };
    toml::to_string(&manifest).map_err(|error| Error::Internal(error.to_string()))
}

fn listed<'a>(package: &Package<'_>, kernel: &EmitKernel<'a>) -> Kernel<'a> {
    let EmitKernel { plan, record, .. } = *kernel;
    let linked = |variant: &'a Variant| Linked {
        name: &variant.name,
        kind: variant.kind,
        artifact: variant.artifact.artifact,
        stored: variant.artifact.stored,
        symbols: if plan.target.is_host() {
            variant.contract.steps.iter().map(|step| step.entry.clone()).collect()
        } else {
            vec![symbol::blob(package.name, package.version, &variant.artifact.stored)]
        },
    };
    Kernel {
        name: plan.spec.name.as_str(),
        target: plan.target.to_string(),
        key: record.key,
        variant: record.variants.iter().map(linked).collect(),
    }
}
