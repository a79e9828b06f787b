//! [`Question`]: what a cache key hashes. Canonical, length-prefixed and versioned.
//!
//! In it: normalised math, tensors, axes with full ranges, scalars, precision, intermediates, tolerance,
//! determinism, declared buckets, target. Not in it: any name, workloads, peers, instructions, buckets found by search,
//! generator, budget, toolchain, gate revision, paths, driver. Those are evidence, recorded beside the answer.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::axis::{Axis, Extent};
use crate::digest::CacheKey;
use crate::spec::KernelSpec;
use crate::target::Target;

/// Version of the canonical form; a change here changes every key.
pub const VERSION: &str = "cutegen question v1";

/// The question that an entry answers, field by field, in readable text.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Question {
    fields: BTreeMap<String, String>,
}

impl Question {
    /// The question that `spec` asks of `target`, over the whole declared domain.
    #[must_use]
    pub fn new(spec: &KernelSpec, target: &Target) -> Self {
        let fields = [
            ("math", spec.math.canonical()),
            ("axes", lines(&spec.axes, axis)),
            ("buckets", lines(&spec.axes, buckets)),
            ("tensors", lines(&spec.tensors, tensor)),
            ("scalars", lines(&spec.scalars, |scalar| scalar.dtype.to_string())),
            ("precision", precision(spec)),
            ("tolerance", tolerance(spec)),
            ("deterministic", spec.deterministic.to_string()),
            ("target", target.to_string()),
        ];
        Self { fields: fields.into_iter().map(|(name, text)| (name.to_owned(), text)).collect() }
    }

    /// The key: blake3 over the version and every field with its length.
    #[must_use]
    pub fn key(&self) -> CacheKey {
        let mut canonical = Vec::new();
        let mut put = |text: &str| {
            canonical.extend_from_slice(&(text.len() as u64).to_le_bytes());
            canonical.extend_from_slice(text.as_bytes());
        };
        put(VERSION);
        for (name, text) in &self.fields {
            put(name);
            put(text);
        }
        CacheKey::of(&canonical)
    }

    /// Names of the fields that differ from `other`: what moved since an entry was made.
    #[must_use]
    pub fn moved<'a>(&'a self, other: &'a Question) -> Vec<&'a str> {
        let names = self.fields.keys().chain(other.fields.keys());
        let mut moved: Vec<&str> = names
            .filter(|name| self.fields.get(*name) != other.fields.get(*name))
            .map(String::as_str)
            .collect();
        moved.sort_unstable();
        moved.dedup();
        moved
    }

    /// The text of one field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }
}

fn lines<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    let texts: Vec<String> = items.iter().map(text).collect();
    texts.join("; ")
}

fn axis(axis: &Axis) -> String {
    match &axis.extent {
        Extent::Const(value) => value.to_string(),
        Extent::Range { lo, hi, multiple_of, .. } => format!("{lo}..={hi} by {multiple_of}"),
        Extent::Derived(expr) => expr.to_string(),
    }
}

fn buckets(axis: &Axis) -> String {
    match &axis.extent {
        Extent::Range { buckets, .. } => format!("{buckets:?}"),
        Extent::Const(_) | Extent::Derived(_) => "-".to_owned(),
    }
}

fn tensor(tensor: &crate::tensor::Tensor) -> String {
    let mut text =
        format!("{} {}[{}]", tensor.role.table(), tensor.dtype, lines(&tensor.dims, ToString::to_string));
    if tensor.constant {
        text.push_str(" constant");
    }
    if let Some(strides) = &tensor.strides {
        let _ = write!(text, " strides [{}]", lines(strides, ToString::to_string));
    }
    if let Some(range) = &tensor.range {
        let _ = write!(text, " range {}..{}", range.from, range.to);
    }
    if tensor.unique {
        text.push_str(" unique");
    }
    text
}

fn precision(spec: &KernelSpec) -> String {
    let precision = &spec.precision;
    let mut text = format!("accumulate {}, multiply {}", precision.accumulate, precision.multiply.name());
    let _ = write!(text, ", fast-math {}", precision.fast_math);
    text
}

fn tolerance(spec: &KernelSpec) -> String {
    match &spec.tolerance {
        None => "derived".to_owned(),
        Some(t) => format!("relative {:?}, absolute {:?}", t.relative, t.absolute),
    }
}

#[cfg(test)]
mod tests {
    use super::Question;
    use crate::digest::CacheKey;
    use crate::edition::spec_file;
    use crate::settings::Settings;
    use crate::spec::KernelSpec;
    use crate::target::Target;

    const BASE: &str = "edition = 1
[kernels.a]
axes = { m = '1..=64', d = 8 }
inputs = { x = 'f32[m, d]', w = 'f32[d]' }
outputs = { y = 'f32[m, d]' }
scalars = { eps = 'f32' }
intermediates = { r = 'bf16' }
math = 'r[m] = sum(d, x[m, d]) + eps; y[m, d] = x[m, d] * w[d] * r[m]'
workloads = [{ m = 8 }]
";

    fn spec(text: &str) -> KernelSpec {
        let kernels = spec_file(text, &Settings::default()).into_kernels().expect("right specs");
        kernels.into_iter().next().expect("one kernel")
    }

    fn key(text: &str) -> CacheKey {
        Question::new(&spec(text), &Target::host()).key()
    }

    /// Each pair edits one field of the question; the name is the field that must be said to have moved.
    const MOVES: [(&str, &str, &str); 13] = [
        ("math", "sum(d,", "max(d,"),
        ("math", "x[m, d] * w[d] * r", "w[d] * x[m, d] * r"),
        ("math", "'bf16' }\nmath", "'f16' }\nmath"),
        ("axes", "1..=64", "1..=65"),
        ("axes", "1..=64", "2..=64"),
        ("axes", "d = 8", "d = 9"),
        ("axes", "m = '1..=64'", "m = { range = '2..=64', multiple-of = 2 }"),
        ("buckets", "m = '1..=64'", "m = { range = '1..=64', buckets = [8] }"),
        ("tensors", "x = 'f32", "x = 'f16"),
        ("tensors", "w = 'f32[d]'", "w = { type = 'f32[d]', constant = true }"),
        ("scalars", "eps = 'f32'", "eps = 'f64'"),
        ("precision", "workloads", "precision = { accumulate = 'f64' }\nworkloads"),
        ("tolerance", "workloads", "tolerance = { relative = 1e-3, reason = 'r' }\nworkloads"),
    ];

    #[test]
    fn every_field_moves_the_key_and_is_named() {
        let base = Question::new(&spec(BASE), &Target::host());
        for (field, from, to) in MOVES {
            let other = Question::new(&spec(&BASE.replacen(from, to, 1)), &Target::host());
            assert_ne!(base.key(), other.key(), "{to}");
            assert!(base.moved(&other).contains(&field), "{to}: {:?}", base.moved(&other));
        }
        let loose = Question::new(&spec(&format!("{BASE}deterministic = false")), &Target::host());
        assert_eq!(base.moved(&loose), ["deterministic"]);
        let cuda = Target::parse("sm_90a").expect("a target");
        assert_eq!(base.moved(&Question::new(&spec(BASE), &cuda)), ["target"]);
    }

    #[test]
    fn every_field_has_a_test() {
        let base = Question::new(&spec(BASE), &Target::host());
        let tested: Vec<&str> = MOVES.iter().map(|(f, ..)| *f).chain(["deterministic", "target"]).collect();
        for field in base.fields.keys() {
            assert!(tested.contains(&field.as_str()), "no edit moves `{field}`");
        }
    }

    #[test]
    fn what_is_not_asked_does_not_move_the_key() {
        let renamed = BASE
            .replace("kernels.a", "kernels.other")
            .replace("x[", "input[")
            .replace("x = ", "input = ")
            .replace("eps", "epsilon")
            .replace("r[m]", "rr[m]")
            .replace("r = ", "rr = ");
        let edits = [
            renamed,
            BASE.replace("m = 8", "m = 9"),
            BASE.replace("\n[kernels.a]", " # a comment\n# another\n\n[kernels.a]"),
            BASE.replace("; y", "\n; y")
                .replace('\'', "\"")
                .replace("\"r[m]", "'''r[m]")
                .replace("r[m]\"", "r[m]'''"),
            format!("{BASE}peers = {{ torch = 'x' }}\nfamily = 'rowwise'\naccept = {{ min-speedup = 2 }}"),
            format!("{BASE}instructions = 'Try one warp for each row.'"),
            format!("{BASE}search = {{ generators = ['template', 'model'] }}"),
            format!("{BASE}targets = ['sm_90a']\n# the end"),
        ];
        for edit in edits {
            assert_eq!(key(BASE), key(&edit), "{edit}");
        }
    }

    #[test]
    fn fields_cannot_run_into_each_other() {
        let mut a = Question::new(&spec(BASE), &Target::host());
        let mut b = a.clone();
        a.fields.insert("x".into(), "1y2".into());
        b.fields.insert("x".into(), "1".into());
        b.fields.insert("y".into(), "2".into());
        assert_ne!(a.key(), b.key());
    }
}
