//! What is said of a run: which variant it was, and how far its results are from what they are compared with.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use cutegen_build::evaluate::judge::compare::Compared;
use cutegen_build::evaluate::judge::{element, user_launch};
use cutegen_build::evaluate::{Launched, Ran};
use cutegen_build::generate::template;
use cutegen_build::plan::Plan;
use cutegen_build::store::Entry;
use cutegen_build::store::trust::extents;
use cutegen_spec::dtype::DType;
use cutegen_spec::record::Kind;
use cutegen_spec::tensor::{Role, Tensor};
use serde::Serialize;

use super::deviation::{Deviation, Value, deviation};
use super::{Subject, tensors, values};
use crate::args::{Compare, Run, With};
use crate::failure::Failure;

/// A run, for `--json`.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Told {
    kernel: String,
    target: String,
    key: String,
    with: &'static str,
    /// What was launched; none where the reference alone was computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<Variant>,
    /// Why the naive kernel was launched where a tuned one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_naive: Option<String>,
    axes: BTreeMap<String, i64>,
    scalars: BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    out: Option<PathBuf>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compared: Vec<Row>,
    /// Elements of what the reference gives for which any value is right, by tensor.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    not_judged: BTreeMap<String, usize>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Variant {
    name: String,
    is_tuned: bool,
    digest: String,
    device: String,
    not_enforced: Vec<String>,
}

/// One result against what it is compared with.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Row {
    tensor: String,
    against: &'static str,
    #[serde(flatten)]
    deviation: Deviation,
    /// Where that element is.
    index: Vec<i64>,
    elements: usize,
    /// By the gate's rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<Bound>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Bound {
    /// Largest error as a share of its bound.
    worst_share: f64,
    judged: u64,
    not_judged: u64,
    /// The first element outside it, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    wrong: Option<String>,
}

impl Told {
    pub(super) fn new(
        subject: &Subject,
        verb: &Run,
        entry: &Entry,
        ran: &Ran,
        folder: &Path,
    ) -> Result<Self, Failure> {
        let spec = &subject.plan.spec;
        let launched = ran.launched.first().filter(|_| verb.with != With::Reference);
        let run_time = spec.run_time_axes().map(|i| (spec.axes[i].name.clone(), subject.axes[i]));
        let scalars = spec.scalars.iter().zip(&subject.scalars);
        Ok(Self {
            kernel: spec.name.to_string(),
            target: subject.plan.target.to_string(),
            key: subject.plan.key.to_string(),
            with: verb.with.name(),
            why_naive: launched
                .filter(|_| verb.with == With::Tuned)
                .and_then(|one| why_naive(&subject.plan, entry, one)),
            variant: launched.map(|launched| variant(entry, launched)),
            axes: run_time.collect(),
            scalars: scalars.map(|(scalar, value)| (scalar.name.clone(), value.value())).collect(),
            out: verb.out.clone(),
            compared: match verb.compare {
                None => Vec::new(),
                Some(against) => rows(subject, verb.with, against, launched, folder)?,
            },
            not_judged: match verb.with {
                With::Reference => not_judged(&spec.tensors, folder)?,
                With::Tuned | With::Naive => BTreeMap::new(),
            },
        })
    }

    /// What a file says of itself; `what` it holds.
    pub(super) fn metadata(&self, what: &str) -> HashMap<String, String> {
        let mut said = HashMap::from([
            ("kernel".to_owned(), self.kernel.clone()),
            ("target".to_owned(), self.target.clone()),
            ("key".to_owned(), self.key.clone()),
            ("with".to_owned(), what.to_owned()),
            ("axes".to_owned(), extents(&self.axes)),
            ("cutegen".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ]);
        if let Some(variant) = self.variant.as_ref().filter(|_| what == self.with) {
            said.insert("variant".to_owned(), variant.name.clone());
            said.insert("digest".to_owned(), format!("sha256:{}", variant.digest));
        }
        said
    }

    pub(super) fn text(&self) -> String {
        let what = match &self.variant {
            None => "the f64 reference".to_owned(),
            Some(v) if v.is_tuned => {
                format!("{} (tuned), sha256 {}, on {}", v.name, &v.digest[..16], v.device)
            }
            Some(v) => format!("{}, sha256 {}, on {}", v.name, &v.digest[..16], v.device),
        };
        let at = if self.axes.is_empty() { String::new() } else { format!(" at {}", extents(&self.axes)) };
        let mut lines = vec![format!("{}{at}: {what}", self.kernel)];
        lines.extend(self.why_naive.iter().map(|why| format!("   {why}")));
        lines.extend(self.compared.iter().map(Row::text));
        lines.extend(self.not_judged.iter().map(|(name, count)| {
            format!("   {name}: {count} elements are not judged, any value is right there: see `{name}.not_judged` in what is written")
        }));
        lines.extend(self.out.as_ref().map(|out| format!("   written: {}", out.display())));
        lines.join("\n")
    }

    /// A failure where a result is outside the gate's bound.
    pub(super) fn verdict(&self) -> Result<(), Failure> {
        let wrong = |row: &Row| row.bound.as_ref().and_then(|bound| bound.wrong.clone());
        let wrong: Vec<String> = self.compared.iter().filter_map(wrong).collect();
        if wrong.is_empty() {
            return Ok(());
        }
        let (kernel, told) = (&self.kernel, wrong.join("\n"));
        Err(Failure::Disagreement(format!(
            "{told}\nrun: cargo cutegen verify {kernel} --target {}",
            self.target
        )))
    }
}

fn not_judged(tensors: &[Tensor], folder: &Path) -> Result<BTreeMap<String, usize>, Failure> {
    let mut found = BTreeMap::new();
    for (t, tensor) in tensors.iter().enumerate().filter(|(_, tensor)| tensor.role != Role::Input) {
        let open = tensors::load(&user_launch::unjudged(folder, t))?;
        let count = open.iter().filter(|is_open| **is_open == 1).count();
        if count > 0 {
            found.insert(tensor.name.clone(), count);
        }
    }
    Ok(found)
}

fn variant(entry: &Entry, launched: &Launched) -> Variant {
    let variant = &entry.record.variants[launched.variant];
    Variant {
        name: variant.name.clone(),
        is_tuned: variant.kind == Kind::Tuned,
        digest: variant.artifact.artifact.to_string(),
        device: launched.device.clone(),
        not_enforced: launched.not_enforced.clone(),
    }
}

fn why_naive(plan: &Plan, entry: &Entry, launched: &Launched) -> Option<String> {
    match (entry.record.variants[launched.variant].kind, entry.record.is_tuned()) {
        (Kind::Tuned | Kind::Predicted, _) => None,
        (Kind::Naive, true) => Some("no tuned variant is eligible at these extents".to_owned()),
        (Kind::Naive, false) => Some(match template::unfilled(plan) {
            Some(why) => format!("nothing is tuned: no template fills this: {why}"),
            None => format!("nothing is tuned yet; to search: cargo cutegen tune {}", plan.spec.name),
        }),
    }
}

fn rows(
    subject: &Subject,
    with: With,
    against: Compare,
    launched: Option<&Launched>,
    folder: &Path,
) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for (t, tensor) in subject.plan.spec.tensors.iter().enumerate() {
        if tensor.role == Role::Input {
            continue;
        }
        let elements = tensor.elements(&subject.axes).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let exact = || Ok((DType::F64, tensors::load(&user_launch::exact(folder, t))?));
        let left = |launch| Ok((tensor.dtype, tensors::load(&user_launch::left(folder, launch, t))?));
        // the naive kernel is launched behind what it is compared with, and alone behind the reference
        let (found, other) = match (with, against) {
            (With::Reference, Compare::Naive) => (exact()?, left(0)?),
            (With::Reference, Compare::Reference) => (exact()?, exact()?),
            (With::Tuned | With::Naive, Compare::Naive) => (left(0)?, left(1)?),
            (With::Tuned | With::Naive, Compare::Reference) => (left(0)?, exact()?),
        };
        let value = |(dtype, bytes): &(DType, Vec<u8>), at| {
            if dtype.is_float() {
                Value::Real(element::read(*dtype, bytes, at))
            } else {
                Value::Integer(values::integer(*dtype, bytes, at))
            }
        };
        let deviation = deviation(elements, |at| value(&found, at), |at| value(&other, at));
        let index = index(tensor, &subject.axes, deviation.element);
        let compared = launched.and_then(|launched| launched.compared.get(t).copied().flatten());
        let bound = compared.map(|compared| bound(tensor, &compared));
        rows.push(Row {
            tensor: tensor.name.clone(),
            against: against.name(),
            deviation,
            index,
            elements,
            bound,
        });
    }
    Ok(rows)
}

fn bound(tensor: &Tensor, compared: &Compared) -> Bound {
    let wrong = compared.wrong.map(|wrong| wrong.told(&tensor.name));
    let Compared { worst_share, judged, not_judged, .. } = *compared;
    Bound { worst_share, judged, not_judged, wrong }
}

/// Where an element lies, counted row by row.
fn index(tensor: &Tensor, axes: &[i64], element: usize) -> Vec<i64> {
    let mut rest = element as i64;
    let mut index = Vec::with_capacity(tensor.dims.len());
    for dim in tensor.dims.iter().rev() {
        let extent = dim.eval_axes(axes).unwrap_or(1).max(1);
        index.push(rest % extent);
        rest /= extent;
    }
    index.reverse();
    index
}

impl Row {
    fn text(&self) -> String {
        let Deviation { absolute, relative, differing, not_told, .. } = &self.deviation;
        let against = match self.against {
            "naive" => "the naive kernel",
            _ => "the f64 reference",
        };
        let verdict = self.bound.as_ref().map(|bound| format!("{}; ", bound.text())).unwrap_or_default();
        let mut text = format!("   {} against {against}: {verdict}", self.tensor);
        text += &match differing {
            0 => format!("equal in all {} elements", self.elements),
            _ => format!(
                "{differing} of {} elements differ, at most {absolute:.3e} absolute (at {:?}), {relative:.3e} relative",
                self.elements, self.index
            ),
        };
        if *not_told > 0 {
            text += &format!(", as far as f64 tells: {not_told} are integers of 2^53 and more");
        }
        text
    }
}

impl Bound {
    /// `within bound: 6.5 %`
    fn text(&self) -> String {
        let Bound { worst_share, judged, not_judged, wrong } = self;
        let share = match (wrong, judged) {
            (Some(_), _) => "outside its bound".to_owned(),
            (None, 0) => "not judged: no element has a usable bound".to_owned(),
            (None, _) => format!("within bound: {:.1} %", 100.0 * worst_share),
        };
        match not_judged {
            0 => share,
            _ if *judged == 0 => share,
            open => format!("{share} ({open} of {} elements have no usable bound)", judged + open),
        }
    }
}
