//! [`Proposal`]: a kernel that a person or a program submits as one text: its contract in a comment at the top, then the
//! source. Reads text alone: whether a compiler may see it is the guard's to say, whether it is right the judge's.

mod header;
mod reply;
mod sweep;
mod text;

use cutegen_spec::axis::{Axis, Extent};
use cutegen_spec::contract::Contract;
use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::record::Kind;

use super::{Candidate, ENTRY, name_entry};
use crate::kit::{self, Flattened, Origin};
use crate::plan::Plan;
pub use header::Problem;
pub use reply::{Block, block, source};
pub use text::text;

/// The longest text, in bytes. What is longer is no kernel, and costs a compiler minutes.
pub const BYTES_MAX: usize = 256 * 1024;

/// A submitted kernel whose contract was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The text, as it was submitted; of a point, with its values.
    pub text: String,
    /// The text, as it was submitted, with the kit's headers that it names in front.
    flat: Flattened,
    /// How it is launched; symbols have [`ENTRY`] in place of what is derived.
    pub contract: Contract,
    /// Launches for which it claims to be right.
    pub eligibility: Eligibility,
    /// Tile extents per axis position.
    pub tiles: Vec<(usize, i64)>,
    /// The digest of all of these, comments above the source apart.
    pub identity: ArtifactDigest,
    /// What it has of the constants that the text sweeps.
    pub values: Vec<(String, i64)>,
}

impl Proposal {
    /// Reads every point of a text that sweeps constants, as `// sweep: TILE_M = 64 | 128` has it; of another text the one that it
    /// is. A point's values are tile extents of each axis that has a range: what the code does may change at them.
    ///
    /// # Errors
    /// Everything that is wrong with the sweeps, or with the first point that cannot be read, with lines of the text, from 1.
    pub fn points(plan: &Plan, text: &str, contract: Option<&str>) -> Result<Vec<Self>, Vec<Problem>> {
        let points = sweep::points(text, contract)?.into_iter();
        let read = |point: sweep::Point| {
            let proposal = Self::read(plan, &point.text, point.contract.as_deref())?;
            Ok(proposal.at(plan, point.values))
        };
        points.map(read).collect()
    }

    /// The same as the point of these values, at whose edges it is judged too.
    #[must_use]
    pub fn at(mut self, plan: &Plan, values: Vec<(String, i64)>) -> Self {
        for (axis, extent) in edges(plan, &values) {
            if !self.tiles.contains(&(axis, extent)) {
                self.tiles.push((axis, extent));
            }
        }
        Self { values, ..self }
    }

    /// Reads a text for the kernel of `plan`; with `contract`, the text of a file, that is in place of the comment.
    ///
    /// # Errors
    /// Everything that is wrong with it, with lines of the text, from 1; a sweep too, whose points [`Self::points`] reads.
    pub fn read(plan: &Plan, text: &str, contract: Option<&str>) -> Result<Self, Vec<Problem>> {
        let spec = &plan.spec;
        if text.len() > BYTES_MAX {
            return Err(vec![Problem::whole(format!("{} bytes; at most {BYTES_MAX} are read", text.len()))]);
        }
        if let Some(line) = sweep::first(text) {
            let message = "a sweep: one source is read here, so give the constant one value".to_owned();
            return Err(vec![Problem { line: Some(line), message }]);
        }
        let (block, body) = header::split(text);
        let header = match contract {
            Some(toml) => header::read(spec, toml, 1)?,
            None => {
                let block = block.ok_or_else(|| vec![Problem::whole(header::MISSING.to_owned())])?;
                header::read(spec, &block.toml, block.line)?
            }
        };
        let problems = entries(&header.contract, body);
        if !problems.is_empty() {
            return Err(problems);
        }
        let flat =
            kit::flatten(text, &plan.target).map_err(|error| vec![Problem::whole(error.to_string())])?;
        let (contract, eligibility, tiles) = (header.contract, header.eligibility, header.tiles);
        let identity = identity(body, &contract, &eligibility);
        let text = text.to_owned();
        Ok(Self { text, flat, contract, eligibility, tiles, identity, values: Vec::new() })
    }

    /// Its name in a search: ours, so that no name of a proposer becomes a path.
    #[must_use]
    pub fn name(&self) -> String {
        format!("m-{}", &self.identity.to_string()[..8])
    }

    /// Where a line of the candidate's source comes from.
    #[must_use]
    pub fn origin(&self, line: u32) -> Origin {
        self.flat.lines.origin(line)
    }

    /// The candidate; `toolchain` is the fingerprint of what will compile it, `origin` what is said of its proposer.
    #[must_use]
    pub fn candidate(&self, toolchain: &str, origin: &str) -> Candidate {
        let (source, contract) = name_entry(&self.flat.source, &self.contract, toolchain);
        Candidate {
            name: self.name(),
            kind: Kind::Tuned,
            origin: origin.to_owned(),
            source,
            contract,
            eligibility: self.eligibility.clone(),
            tiles: self.tiles.clone(),
            cost_features: None,
        }
    }
}

/// Whether a text sweeps constants.
#[must_use]
pub fn is_swept(text: &str) -> bool {
    sweep::first(text).is_some()
}

/// What is wrong with the symbols: each begins with [`ENTRY`], and the source defines it.
fn entries(contract: &Contract, body: &str) -> Vec<Problem> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let wrong = |entry: &String| match entry.strip_prefix(ENTRY) {
        Some(rest) if !rest.chars().all(is_word) => {
            Some(format!("entry `{entry}`: letters, digits and `_` may follow {ENTRY}"))
        }
        Some(_) if body.contains(entry.as_str()) => None,
        Some(_) => Some(format!("entry `{entry}` is not in the source")),
        None => Some(format!("entry `{entry}` must begin with {ENTRY}, which stands for a symbol of ours")),
    };
    contract.steps.iter().filter_map(|step| wrong(&step.entry)).map(Problem::whole).collect()
}

/// Values that may be extents of tiles, of axes that have a range around them.
fn edges(plan: &Plan, values: &[(String, i64)]) -> Vec<(usize, i64)> {
    let has_edge = |axis: &Axis, value: i64| match axis.extent {
        Extent::Range { hi, .. } => 1 < value && value <= hi,
        Extent::Const(_) | Extent::Derived(_) => false,
    };
    let axes = plan.spec.axes.iter().enumerate();
    let of = |(at, axis)| {
        values.iter().filter(move |(_, value)| has_edge(axis, *value)).map(move |(_, value)| (at, *value))
    };
    axes.flat_map(of).collect()
}

fn identity(body: &str, contract: &Contract, eligibility: &Eligibility) -> ArtifactDigest {
    let kit = kit::digest();
    let text = format!("{}\n{body}\n{contract:?}\n{eligibility}\n{kit}", body.len());
    ArtifactDigest::of(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;

    use super::{BYTES_MAX, Proposal};
    use crate::kit::Origin;
    use crate::plan::Plan;

    const TEXT: &str = "\
// A softmax by hand.
// contract:
// steps = [{ entry = '@ENTRY@', grid = ['ceil_div(m, 4)'], block = [128], smem = 'd * 4',
//            args = ['ptr(x)', 'ptr(y)', 'axis(m)', 'scalar(scale)', 'workspace(w0)'] }]
// workspace = [{ bytes = 'm * 8', initial = 'zeroed' }]
// eligibility = 'd % 8 == 0 and x aligned 16'
// tiles = { m = [4] }
#include <cuda_bf16.h>
extern \"C\" __global__ void @ENTRY@(const float* x) {}
";

    fn plan() -> Plan {
        let text = "edition = 1\n[kernels.k]\naxes = { m = '1..=64', d = '8..=512' }\ninputs = { x = 'f32[m, d]' }\n\
                    scalars = { scale = 'f32' }\noutputs = { y = 'f32[m, d]' }\nmath = 'y[m, d] = x[m, d] * scale'\n\
                    targets = ['sm_90a']\n";
        Plan::all(&spec_file(text, &Default::default()).into_kernels().expect("a right text")).remove(0)
    }

    fn read(text: &str) -> Result<Proposal, Vec<String>> {
        let told = |problems: Vec<super::Problem>| problems.iter().map(ToString::to_string).collect();
        Proposal::read(&plan(), text, None).map_err(told)
    }

    #[test]
    fn names_become_positions() {
        let proposal = read(TEXT).expect("right");
        let step = &proposal.contract.steps[0];
        assert_eq!(step.grid.each_ref().map(ToString::to_string), ["ceil_div(a0, 4)", "1", "1"]);
        assert_eq!(step.block.each_ref().map(ToString::to_string), ["128", "1", "1"]);
        assert_eq!(step.smem.to_string(), "(a1 * 4)");
        let args: Vec<String> = step.args.iter().map(ToString::to_string).collect();
        assert_eq!(args, ["ptr(t0)", "ptr(t1)", "axis(a0)", "scalar(s0)", "workspace(w0)"]);
        assert_eq!(proposal.eligibility.to_string(), "a1 % 8 == 0 and t0 aligned 16");
        assert_eq!((proposal.tiles, proposal.contract.workspace.len()), (vec![(0, 4)], 1));
    }

    #[test]
    fn points_of_a_sweep_are_proposals_of_their_own() {
        let text = TEXT.replace("#include", "// sweep: ROWS = 4 | 32 | 1024\n#include");
        let swept = text.replace("ceil_div(m, 4)", "ceil_div(m, ROWS)").replace("d * 4", "ROWS * 1024");
        let of = |text: &str, contract: Option<&str>| Proposal::points(&plan(), text, contract);
        let points = of(&swept, None).expect("right");
        let values: Vec<i64> = points.iter().map(|point| point.values[0].1).collect();
        assert_eq!(values, [4, 32, 1024]);
        assert_eq!(points[1].contract.steps[0].grid[0].to_string(), "ceil_div(a0, 32)");
        assert_eq!(
            points[1].candidate("a compiler", "submitted").source.matches("constexpr int ROWS = 32;").count(),
            1
        );
        assert!(points[0].identity != points[1].identity);
        // m has a range to 64, d one from 8 to 512; the contract has 4 of m
        assert_eq!(
            points.iter().map(|point| point.tiles.clone()).collect::<Vec<_>>(),
            [vec![(0, 4), (1, 4)], vec![(0, 4), (0, 32), (1, 32)], vec![(0, 4)],]
        );
        assert_eq!(
            read(&swept).expect_err("no one source"),
            ["line 8: a sweep: one source is read here, so give the constant one value"]
        );
        let told = of(&swept.replace("axis(m)", "axis(x)"), None).expect_err("wrong");
        assert_eq!(told.len(), 1, "what is wrong with one point is told once");
        assert_eq!(of(TEXT, None).expect("right"), [read(TEXT).expect("right")]);
    }

    #[test]
    fn the_symbol_is_derived_and_the_name_is_ours() {
        let proposal = read(TEXT).expect("right");
        let candidate = proposal.candidate("a compiler", "submitted");
        let symbol = &candidate.contract.steps[0].entry;
        assert!(symbol.starts_with("cutegen_") && candidate.source.contains(&format!("void {symbol}(")));
        assert!(!candidate.source.contains("@ENTRY@"));
        assert!(candidate.name.len() == 10 && candidate.name.starts_with("m-"), "{}", candidate.name);
    }

    #[test]
    fn headers_of_the_kit_come_by_name() {
        let text = TEXT.replace("#include <cuda_bf16.h>", "#include <kit/reduce.cuh>");
        let proposal = read(&text).expect("right");
        let candidate = proposal.candidate("a compiler", "submitted");
        assert!(candidate.source.contains("warp_reduce") && !candidate.source.contains("<kit/"));
        let is_kernel = |(_, line): &(u32, &str)| line.contains("__global__ void cutegen_");
        let (line, _) = (1..).zip(candidate.source.lines()).find(is_kernel).expect("the kernel");
        assert_eq!(proposal.origin(line), Origin::Body { line: 9 });
        let none = read(&text.replace("reduce.cuh", "redu.cuh")).expect_err("no such header").join("; ");
        assert!(none.contains("redu.cuh") && none.contains("reduce.cuh"), "{none}");
    }

    #[test]
    fn identity_is_that_of_source_and_contract() {
        let of = |text: &str| read(text).expect("right").identity;
        let same = TEXT.replace("A softmax by hand.", "Another remark.");
        assert_eq!(of(TEXT), of(&same));
        for other in [
            ("128", "256"),
            ("% 8", "% 4"),
            ("const float* x", "const float* z"),
            ("'zeroed'", "'undefined'"),
            ("'zeroed'", "'kept-zero'"),
        ] {
            assert_ne!(of(TEXT), of(&TEXT.replace(other.0, other.1)), "{other:?}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_told_with_its_line() {
        let told = |from: &str, to: &str| read(&TEXT.replace(from, to)).expect_err("wrong").join("; ");
        assert!(told("// contract:", "//").contains("no contract"));
        assert!(told("ptr(x)", "ptr(z)").contains("`ptr(z)` is no argument"));
        assert!(told("axis(m)", "axis(x)").contains("`axis(x)` is no argument"));
        assert!(told("workspace(w0)", "workspace(w1)").contains("no part w1"));
        assert!(told("d % 8 == 0", "d % 8 == 1").contains("EXPR % N == 0"));
        assert!(told("m = [4]", "k = [4]").contains("`k` is no axis"));
        assert!(told("'d * 4'", "'d * q'").starts_with("line 3: "));
        assert!(told("block = [128]", "blok = [128]").starts_with("line 3: "));
        assert!(told("// tiles = { m = [4] }", "// tiles = { m = [4").starts_with("line 7: "));
        assert!(told("entry = '@ENTRY@'", "entry = 'main'").contains("must begin with @ENTRY@"));
        assert!(told("entry = '@ENTRY@'", "entry = '@ENTRY@_b'").contains("is not in the source"));
        assert!(told("entry = '@ENTRY@'", "entry = '@ENTRY@(/*'").contains("may follow"));
        assert!(read(&format!("{TEXT}{}", " ".repeat(BYTES_MAX))).is_err());
    }
}
