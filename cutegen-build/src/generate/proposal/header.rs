//! The comment at the top of a proposal: a contract, eligibility and tiles in TOML, by the names of the spec.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use cutegen_spec::contract::tensor_map::Base;
use cutegen_spec::contract::{Arg, Contract, Initial, Step, WorkspacePart};
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::int_expr::{IntExpr, Names as _};
use cutegen_spec::spec::KernelSpec;
use serde::Deserialize;
use toml::Spanned;

/// What is said where there is no contract.
pub(super) const MISSING: &str = "no contract: a comment that begins with `// contract:` says how the kernel is launched, \
                                  as `docs/proposals.md` shows";
const STEPS_MAX: usize = 16;

/// Something wrong with a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line of the text, from 1; none where it is about all of it.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl Problem {
    pub(super) fn whole(message: String) -> Self {
        Self { line: None, message }
    }

    /// The same of a text whose line 1 is line `first` of a file.
    #[must_use]
    pub fn below(self, first: usize) -> Self {
        Self { line: self.line.map(|line| line + first - 1), ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// The TOML of a comment, and the line at which it begins.
pub(super) struct Block {
    pub(super) toml: String,
    pub(super) line: usize,
}

/// What the comment says, in positions.
pub(super) struct Header {
    pub(super) contract: Contract,
    pub(super) eligibility: Eligibility,
    pub(super) tiles: Vec<(usize, i64)>,
}

/// The contract's comment, if there is one, and the source below the comments at the top.
pub(super) fn split(text: &str) -> (Option<Block>, &str) {
    let is_comment = |line: &&str| line.trim_start().starts_with("//");
    let lines = || text.split_inclusive('\n');
    let blank = lines().take_while(|line| line.trim().is_empty()).count();
    let top: Vec<&str> = lines().take(blank + lines().skip(blank).take_while(is_comment).count()).collect();
    let body = &text[top.iter().map(|line| line.len()).sum()..];
    let inner = |line: &&str| line.trim_start().trim_start_matches('/').to_owned();
    let marker = top.iter().position(|line| inner(line).trim() == "contract:");
    let block = marker.map(|at| Block { toml: top[at + 1..].iter().map(inner).collect(), line: at + 2 });
    (block, body)
}

/// Reads TOML that begins at this line of a text.
pub(super) fn read(spec: &KernelSpec, toml: &str, line: usize) -> Result<Header, Vec<Problem>> {
    let place = |span: Range<usize>| line + toml[..span.start.min(toml.len())].matches('\n').count();
    let written: Written = toml::from_str(toml).map_err(|error| {
        vec![Problem { line: error.span().map(place), message: error.message().to_owned() }]
    })?;
    let mut reader = Reader { spec, place: &place, problems: Vec::new() };
    let header = reader.header(&written);
    if reader.problems.is_empty() { Ok(header) } else { Err(reader.problems) }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    steps: Spanned<Vec<WrittenStep>>,
    #[serde(default)]
    workspace: Vec<WrittenPart>,
    eligibility: Option<Spanned<String>>,
    #[serde(default)]
    tiles: BTreeMap<String, Spanned<Vec<i64>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenStep {
    entry: String,
    #[serde(default)]
    grid: Vec<Spanned<Number>>,
    #[serde(default)]
    block: Vec<Spanned<Number>>,
    #[serde(default)]
    cluster: Vec<Spanned<Number>>,
    smem: Option<Spanned<Number>>,
    args: Vec<Spanned<String>>,
    #[serde(default)]
    pdl: bool,
    #[serde(default)]
    co_resident: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenPart {
    bytes: Spanned<Number>,
    initial: Initial,
}

/// A number, or an expression over axes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Int(i64),
    Text(String),
}

/// Turns names into positions, and collects what is wrong.
struct Reader<'a> {
    spec: &'a KernelSpec,
    place: &'a dyn Fn(Range<usize>) -> usize,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn header(&mut self, written: &Written) -> Header {
        let count = written.steps.get_ref().len();
        if count == 0 || count > STEPS_MAX {
            self.wrong::<()>(written.steps.span(), format!("{count} steps: there are 1 to {STEPS_MAX}"));
        }
        let part =
            |part: &WrittenPart| WorkspacePart { bytes: self.number(&part.bytes), initial: part.initial };
        let workspace: Vec<WorkspacePart> = written.workspace.iter().map(part).collect();
        let steps = written.steps.get_ref().iter().map(|step| self.step(step, workspace.len())).collect();
        let eligibility = written.eligibility.as_ref().map(|text| {
            let read = Eligibility::parse(text.get_ref(), self.spec);
            read.unwrap_or_else(|error| self.wrong(text.span(), error))
        });
        let tiles = written.tiles.iter().flat_map(|(axis, extents)| self.tiles(axis, extents)).collect();
        Header {
            contract: Contract { workspace, steps },
            eligibility: eligibility.unwrap_or_default(),
            tiles,
        }
    }

    fn step(&mut self, step: &WrittenStep, parts: usize) -> Step {
        Step {
            entry: step.entry.clone(),
            grid: self.three(&step.grid),
            block: self.three(&step.block),
            cluster: self.three(&step.cluster),
            smem: step.smem.as_ref().map_or(IntExpr::Const(0), |smem| self.number(smem)),
            args: step.args.iter().filter_map(|arg| self.arg(arg, parts)).collect(),
            pdl: step.pdl,
            co_resident: step.co_resident,
        }
    }

    /// One to three extents; those that are not written are 1.
    fn three(&mut self, written: &[Spanned<Number>]) -> [IntExpr; 3] {
        if let Some(fourth) = written.get(3) {
            self.wrong::<()>(fourth.span(), "more than three dimensions".to_owned());
        }
        [0, 1, 2].map(|at| written.get(at).map_or(IntExpr::Const(1), |number| self.number(number)))
    }

    fn number(&mut self, written: &Spanned<Number>) -> IntExpr {
        match written.get_ref() {
            Number::Int(number) => IntExpr::Const(*number),
            Number::Text(text) => {
                let read = IntExpr::parse(text, &|name| self.spec.axis(name));
                read.unwrap_or_else(|error| {
                    self.wrong::<()>(written.span(), error);
                    IntExpr::Const(1)
                })
            }
        }
    }

    fn arg(&mut self, written: &Spanned<String>, parts: usize) -> Option<Arg> {
        let arg = match Arg::parse(written.get_ref(), self.spec) {
            Ok(arg) => arg,
            Err(error) => return self.wrong(written.span(), error),
        };
        let part = match &arg {
            Arg::Workspace(part) => Some(*part),
            Arg::Map(map) => {
                if let Base::Workspace(part) = map.base {
                    Some(part)
                } else {
                    None
                }
            }
            Arg::Ptr(_) | Arg::Axis(_) | Arg::Scalar(_) | Arg::Int(_) => None,
        };
        match part.filter(|part| *part >= parts) {
            Some(part) => self.wrong(written.span(), format!("workspace has no part w{part}")),
            None => Some(arg),
        }
    }

    fn tiles(&mut self, axis: &str, extents: &Spanned<Vec<i64>>) -> Vec<(usize, i64)> {
        match self.spec.axis(axis) {
            Some(at) => extents.get_ref().iter().map(|extent| (at, *extent)).collect(),
            None => self.wrong(extents.span(), format!("`{axis}` is no axis of the spec")),
        }
    }

    fn wrong<T: Default>(&mut self, span: Range<usize>, message: String) -> T {
        self.problems.push(Problem { line: Some((self.place)(span)), message });
        T::default()
    }
}
