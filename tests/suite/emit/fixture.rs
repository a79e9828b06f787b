//! Answers for the emitter, made here: naive host kernels compiled with the system's compiler, cubins that are only
//! bytes, and crates that include what was emitted.

use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_build::emit::{EmitKernel, Package};
use cutegen_build::inspect;
use cutegen_build::plan::Plan;
use cutegen_build::print::naive;
use cutegen_spec::contract::Contract;
use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::edition;
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::record::{Artifact, Evidence, Kind, Record, Source, VERSION, Variant};
use cutegen_spec::settings::Settings;
use cutegen_spec::target::{DEFAULT_TRIPLE, Target};
use cutegen_tests::{cargo_outside, must, scratch, workspace, write};
use object::write::{Object, StandardSection, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SymbolFlags, SymbolKind, SymbolScope};

/// A kernel on a target with its answer.
#[derive(Clone)]
pub(super) struct Answered {
    pub(super) plan: Plan,
    pub(super) record: Record,
    pub(super) artifacts: Vec<Vec<u8>>,
}

pub(super) const PACKAGE: Package<'static> =
    Package { name: "example-app", version: "0.1.0", triple: DEFAULT_TRIPLE, host: DEFAULT_TRIPLE };

impl Answered {
    /// As the pipeline hands it over.
    pub(super) fn emit(&self) -> EmitKernel<'_> {
        EmitKernel { plan: &self.plan, record: &self.record, artifacts: &self.artifacts }
    }

    /// Puts a variant before all others.
    pub(super) fn prefer(mut self, variant: Variant, bytes: Vec<u8>) -> Self {
        self.record.variants.insert(0, variant);
        self.artifacts.insert(0, bytes);
        self
    }
}

/// The plans of a spec file's kernels, the first line being implied.
pub(super) fn plans(text: &str) -> Vec<Plan> {
    let kernels = edition::spec_file(&format!("edition = 1\n{text}"), &Settings::default())
        .into_kernels()
        .expect("right specs");
    Plan::all(&kernels)
}

/// The plans of the example's kernels.
pub(super) fn example_plans() -> Vec<Plan> {
    let text = std::fs::read_to_string(workspace().join("example-app/Cargo.toml")).expect("the example");
    let kernels = edition::manifest(&text).into_kernels().expect("right specs");
    Plan::all(&kernels)
}

/// An answer of the naive kernel alone; its bytes are a stand-in, on `host` an object that does nothing, see [`compile`].
pub(super) fn untuned(plan: Plan) -> Answered {
    let printed = naive::print(&plan);
    let mut bytes = printed.source.clone().into_bytes();
    let entry = format!("cutegen_{}", &ArtifactDigest::of(&bytes).to_string()[..16]);
    if plan.target.is_host() {
        bytes = returning(&entry);
    }
    let mut contract = printed.contract;
    for step in &mut contract.steps {
        step.entry = step.entry.replace("@ENTRY@", &entry);
    }
    let variant = variant(&plan.target, "naive", Kind::Naive, contract, &bytes);
    let record =
        Record { version: VERSION, key: plan.key, question: plan.question.clone(), variants: vec![variant] };
    Answered { plan, record, artifacts: vec![bytes] }
}

/// A variant of these bytes, eligible and preferred everywhere.
pub(super) fn variant(target: &Target, name: &str, kind: Kind, contract: Contract, bytes: &[u8]) -> Variant {
    let digest = ArtifactDigest::of(bytes);
    let (object, source) = if target.is_host() { ("o", "cpp") } else { ("cubin", "cu") };
    let tuned_on = (kind == Kind::Tuned).then(|| evidence(target));
    Variant {
        name: name.to_owned(),
        kind,
        eligibility: Eligibility::default(),
        prefer: Eligibility::default(),
        tiles: Vec::new(),
        origin: "test".to_owned(),
        toolchain: "test".to_owned(),
        min_driver: (!target.is_host()).then_some(580),
        shared_memory: None,
        artifact: Artifact {
            file: format!("{name}.{object}"),
            artifact: digest,
            stored: digest,
            bytes: bytes.len() as u64,
        },
        source: Source { file: format!("{name}.{source}"), digest },
        contract,
        evidence: tuned_on,
    }
}

fn evidence(target: &Target) -> Evidence {
    let device = if target.is_host() { "host x86_64" } else { "NVIDIA H200, driver 580" };
    Evidence {
        gate: 1,
        device: device.to_owned(),
        sanitizer: "not run: test".to_owned(),
        ..Evidence::default()
    }
}

/// The conditions that `text` says.
pub(super) fn conditions(text: &str) -> Eligibility {
    Eligibility::parse_positional(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A host object with this entry, which returns: enough for what is only emitted.
pub(super) fn returning(entry: &str) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let section = object.section_id(StandardSection::Text);
    let ret = object.append_section_data(section, &[0xc3], 16);
    object.add_symbol(Symbol {
        name: entry.as_bytes().to_vec(),
        value: ret,
        size: 1,
        kind: SymbolKind::Text,
        scope: SymbolScope::Dynamic,
        weak: false,
        section: SymbolSection::Section(section),
        flags: SymbolFlags::None,
    });
    canonical(&object.write().expect("an object"), entry)
}

/// The form in which objects are stored; what has none stays as it is.
fn canonical(bytes: &[u8], entry: &str) -> Vec<u8> {
    inspect::object::canonical(bytes, &[entry.to_owned()]).unwrap_or_else(|_| bytes.to_vec())
}

/// Compiles the naive host kernel of an [`untuned`] answer to the object that it names.
pub(super) fn compile(answered: Answered, folder: &Path) -> Answered {
    let entry = answered.record.variants[0].contract.steps[0].entry.clone();
    let source = naive::print(&answered.plan).source.replace("@ENTRY@", &entry);
    built(answered, &source, folder)
}

/// The same from this source.
pub(super) fn built(mut answered: Answered, source: &str, folder: &Path) -> Answered {
    let entry = &answered.record.variants[0].contract.steps[0].entry;
    let (cpp, object) = (folder.join(format!("{entry}.cpp")), folder.join(format!("{entry}.o")));
    write(&cpp, source);
    let flags = ["-std=c++17", "-O1", "-fPIC", "-fno-exceptions", "-fno-rtti", "-ffp-contract=off", "-c"];
    must(Command::new("c++").args(flags).arg(&cpp).arg("-o").arg(&object));
    let bytes = canonical(&std::fs::read(&object).expect("an object"), entry);
    let variant = &mut answered.record.variants[0];
    let digest = ArtifactDigest::of(&bytes);
    variant.artifact.artifact = digest;
    variant.artifact.stored = digest;
    variant.artifact.bytes = bytes.len() as u64;
    answered.artifacts = vec![bytes];
    answered
}

/// A workspace of crates outside ours, with our lock file and a target folder that stays.
pub(super) struct Crates {
    pub(super) folder: PathBuf,
    members: Vec<String>,
    excluded: Vec<String>,
}

impl Crates {
    pub(super) fn new(name: &str) -> Self {
        Self { folder: scratch(&format!("emit-{name}")), members: Vec::new(), excluded: Vec::new() }
    }

    /// Adds a member. `dependencies` are lines of TOML; the build script puts `emitted` where `include_kernels!`
    /// looks for it, and links what lies there.
    pub(super) fn member(
        &mut self,
        name: &str,
        manifest: &str,
        files: &[(&str, &str)],
        emitted: Option<&Path>,
    ) {
        let folder = self.folder.join(name);
        write(&folder.join("Cargo.toml"), manifest);
        for (path, text) in files {
            write(&folder.join(path), text);
        }
        if let Some(emitted) = emitted {
            write(&folder.join("build.rs"), &BUILD.replace("EMITTED", &format!("{emitted:?}")));
        }
        self.members.push(name.to_owned());
    }

    /// Takes a member out of the workspace, which holds no two packages of one name.
    pub(super) fn exclude(&mut self, name: &str) {
        self.members.retain(|member| member != name);
        self.excluded.push(name.to_owned());
    }

    /// Cargo over the workspace, its manifest and lock written.
    pub(super) fn cargo(&self, args: &[&str]) -> Command {
        let text = format!(
            "[workspace]\nresolver = \"3\"\nmembers = {:?}\nexclude = {:?}\n",
            self.members, self.excluded
        );
        write(&self.folder.join("Cargo.toml"), &text);
        let mut command = cargo_outside(&self.folder);
        command.args(args).arg("--offline");
        command
    }
}

/// Dependencies on the runtime and on `half`, as lines of a manifest.
pub(super) fn runtime_dependency(features: &str) -> String {
    let runtime = workspace().join("cutegen-runtime");
    format!("cutegen-runtime = {{ path = {runtime:?}, features = [{features}] }}\nhalf = \"2\"\n")
}

/// A manifest of a package.
pub(super) fn manifest(name: &str, version: &str, dependencies: &str) -> String {
    format!(
        "[package]\nname = {name:?}\nversion = {version:?}\nedition = \"2024\"\n\n[dependencies]\n{dependencies}"
    )
}

/// What cutegen-build prints, from a folder that was emitted before.
const BUILD: &str = r#"//! Links what was emitted.
use std::path::Path;
fn main() {
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    let (from, to) = (Path::new(EMITTED), Path::new(&out).join("cutegen"));
    std::fs::create_dir_all(&to).expect("made");
    std::fs::copy(from.join("kernels.rs"), to.join("kernels.rs")).expect("copied");
    println!("cargo::rerun-if-changed={}", from.display());
    println!("cargo::rustc-env=CUTEGEN_KERNELS={}", to.join("kernels.rs").display());
    println!("cargo::rustc-link-search=native={}", from.display());
    for file in std::fs::read_dir(from).expect("a folder") {
        let name = file.expect("a file").file_name().to_string_lossy().into_owned();
        if let Some(library) = name.strip_prefix("lib").and_then(|name| name.strip_suffix(".a")) {
            println!("cargo::rustc-link-lib=static={library}");
            println!("cargo::rustc-link-lib=m");
        }
    }
}
"#;
