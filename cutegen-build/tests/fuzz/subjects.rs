//! What is tried: readers of specs, all that is printed of a spec, readers of records and locks.

use std::path::Path;

use cutegen_build::plan::Plan;
use cutegen_build::plan::{cost, roofline};
use cutegen_build::print::{fallback, naive, reference};
use cutegen_build::render::Rendering;
use cutegen_spec::axis;
use cutegen_spec::contract::Contract;
use cutegen_spec::edition::{Document, manifest, spec_file};
use cutegen_spec::key::Question;
use cutegen_spec::lock::Lock;
use cutegen_spec::record::Record;
use cutegen_spec::settings::Settings;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::target::Target;

use super::mutate::{self, Random};
use super::{grammar, shapes};

/// Something that takes text.
pub(super) struct Subject {
    pub(super) name: &'static str,
    /// Folders of the workspace, and how names of their files end.
    pub(super) corpus: &'static [(&'static str, &'static str)],
    /// Inputs that are always tried.
    pub(super) fixed: fn() -> Vec<String>,
    pub(super) next: fn(&[String], &mut Random) -> String,
    /// Whether the text is accepted.
    pub(super) try_one: fn(&str) -> bool,
}

const SPECS: &[(&str, &str)] = &[("kernel-specs", ".toml"), ("tests/bad", ".toml"), ("docs", ".md")];

pub(super) const ALL: &[Subject] = &[
    Subject { name: "reader", corpus: SPECS, fixed: shapes::all, next: any, try_one: read },
    Subject { name: "plan", corpus: SPECS, fixed: shapes::all, next: mostly_right, try_one: plan },
    Subject {
        name: "record",
        corpus: &[
            ("cache", "record.toml"),
            ("tests/golden/explain", "record.toml"),
            ("cache", "cutegen.lock"),
            ("example-app", "cutegen.lock"),
        ],
        fixed: Vec::new,
        next: mutate::any,
        try_one: record,
    },
];

fn any(corpus: &[String], random: &mut Random) -> String {
    if random.once_in(5) { mostly_right(corpus, random) } else { mutate::any(corpus, random) }
}

fn mostly_right(corpus: &[String], random: &mut Random) -> String {
    let text = match random.below(3) {
        0 => corpus[random.below(corpus.len())].clone(),
        _ => grammar::spec(random),
    };
    if random.once_in(3) { mutate::tokens(&text, random) } else { text }
}

fn read(text: &str) -> bool {
    let documents = [spec_file(text, &Settings::default()), manifest(text)];
    for document in &documents {
        shown(document, text);
        for spec in &document.kernels {
            let _ = Question::new(spec, &Target::host()).key();
        }
    }
    documents.iter().any(|document| !document.kernels.is_empty())
}

/// What a user sees of the first errors; each points into the text.
fn shown(document: &Document, text: &str) {
    let mut rendering = Rendering::default();
    for error in document.errors.iter().chain(&document.warnings).take(5) {
        assert!(text.get(error.span.clone()).is_some(), "{error:?}");
        assert!(!error.message.contains('\n'), "{error:?}");
        if text.len() < 100_000 {
            drop(rendering.error(Path::new("k.toml"), text, error));
        }
    }
}

fn plan(text: &str) -> bool {
    let kernels = spec_file(text, &Settings::default()).kernels;
    kernels.iter().take(20).for_each(printed);
    !kernels.is_empty()
}

fn printed(spec: &KernelSpec) {
    for target in [Target::host(), Target::parse("sm_90a").expect("a target")] {
        let plan = Plan::new(spec, &target);
        if let Some(axes) = axis::largest(&spec.axes) {
            let _ = cost::cost(spec, &plan.schedule, &axes);
        }
        let _ = (plan.family.name(), roofline::unit(&plan));
        drop((fallback::print(&plan), reference::print(&plan)));
        reread(&naive::print(&plan).contract);
    }
}

/// A contract is stored: what is written must be readable.
fn reread(contract: &Contract) {
    let text = toml::to_string(contract).expect("it can be written");
    let again: Contract = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(&again, contract);
}

fn record(text: &str) -> bool {
    let record = Record::parse(text);
    if let Ok(record) = &record {
        let _ = record.choose(&[64; 8], &[0; 8]);
        assert_eq!(Record::parse(&record.to_toml().expect("text")).as_ref(), Ok(record));
    }
    let lock = Lock::parse(text);
    if let Ok(lock) = &lock {
        assert_eq!(Lock::parse(&lock.to_toml().expect("text")).as_ref(), Ok(lock));
    }
    record.is_ok() || lock.is_ok()
}
