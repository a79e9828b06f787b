//! Sources that no template wrote: the headers that prompts name are there, and what repeats a header of the toolchain is refused on
//! each way to the compiler. Nothing is judged here.

use cutegen_build::event::Silent;
use cutegen_build::generate::proposal::Proposal;
use cutegen_build::generate::{answers, prompt};
use cutegen_build::kit;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{self, Candidate, Content, Digest, Entry, Log, Outcome, RunId, Start};
use cutegen_build::search::{Refusal, Searcher, Submitted};
use cutegen_build::toolchain::header_files;
use cutegen_spec::edition::spec_file;
use cutegen_spec::provenance::{Provenance, Short, Word};

use crate::setup::toolchain;

pub(crate) const TESTS: &[crate::Test] = &[
    ("foreign::headers_that_prompts_name_are_there", headers_that_prompts_name_are_there),
    ("foreign::lines_of_headers_are_refused", lines_of_headers_are_refused),
];

const SPEC: &str = "edition = 1\n[kernels.twice]\naxes = { n = '1..=4096' }\ninputs = { x = 'f32[n]' }\n\
                    outputs = { y = 'f32[n]' }\nmath = 'y[n] = x[n] * 2'\nworkloads = [{ n = 4096 }]\n\
                    targets = ['sm_90a']\n";

const SOURCE: &str = "// contract:\n// steps = [{ entry = '@ENTRY@', grid = ['ceil_div(n, 128)'], block = [128], \
                      args = ['ptr(x)', 'ptr(y)', 'axis(n)'] }]\n#include <cstdint>\n\
                      extern \"C\" __global__ void @ENTRY@(float const* x, float* y, int64_t n) {\n\
                      int64_t i = blockIdx.x * int64_t(128) + threadIdx.x;\nif (i < n) y[i] = x[i] * 2;\n}\n";

fn plan() -> Plan {
    let kernels = spec_file(SPEC, &Default::default()).into_kernels().expect("a right text");
    Plan::all(&kernels).remove(0)
}

/// Each of them in a source of its own, as proposals bring it to the compiler.
fn headers_that_prompts_name_are_there() {
    let (plan, searcher) = (plan(), Searcher::new().expect("a toolchain"));
    let text = prompt::proposal(&plan, "").text;
    let (_, list) = text.split_once("and these:").expect("a list");
    let (list, _) = list.split_once(". No other one").expect("its end");
    let headers: Vec<&str> = list.split(',').map(str::trim).chain(["cuda/std/limits"]).collect();
    assert!(headers.len() > 10 && headers.contains(&"cstdint") && headers.contains(&"mma.h"), "{headers:?}");
    let with = |header: &str| SOURCE.replace("<cstdint>", &format!("<{header}>\n#include <cstdint>"));
    let compiles =
        |header: &str| !matches!(submitted(&searcher, &plan, &with(header)), Submitted::Refused(_));
    let lacking: Vec<&&str> = headers.iter().filter(|header| !compiles(header)).collect();
    assert!(lacking.is_empty(), "there is no {lacking:?}");
    assert!(!compiles("cfloat"), "the guard takes it, and no compiler has it");
}

/// One line more than may be, and as many as may be, behind the preprocessor: by `propose`, and in a run.
fn lines_of_headers_are_refused() {
    let (plan, searcher) = (plan(), Searcher::new().expect("a toolchain"));
    let long = format!("{SOURCE}#if 0\n{}\n#endif\n", header_lines(13).join("\n"));
    let short = format!("{SOURCE}#if 0\n{}\n#endif\n", header_lines(12).join("\n"));
    match submitted(&searcher, &plan, &long) {
        Submitted::Refused(refusal) => match *refusal {
            Refusal::Borrowed(borrowed) => assert_eq!(borrowed.lines, 13, "{borrowed}"),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
    assert!(!matches!(submitted(&searcher, &plan, &short), Submitted::Refused(_)));
    let (outcome, line) = built(&searcher, &plan, &long);
    assert_eq!((outcome, line), (Outcome::Refused, Some(9)), "the first of those lines");
    assert_eq!(built(&searcher, &plan, &short), (Outcome::Compiled, None));
}

/// So many lines in a row that count, of a header of CuTe.
fn header_lines(count: usize) -> Vec<String> {
    let headers = header_files(&toolchain()).expect("headers");
    let header = headers.iter().find(|header| header.relative.ends_with("cute/stride.hpp")).expect("CuTe's");
    let text = std::fs::read_to_string(&header.source).expect("a text");
    let from = text.find("template <class Coord, class Shape, class Stride>").expect("its first declaration");
    let is_code = |line: &&str| line.contains(|c: char| c.is_alphanumeric());
    text[from..].lines().filter(is_code).take(count).map(str::to_owned).collect()
}

fn submitted(searcher: &Searcher, plan: &Plan, source: &str) -> Submitted {
    let proposal = Proposal::read(plan, source, None).expect("a proposal");
    let generator = Word::parse("submitted").expect("lower-case letters");
    let identity = Short::of(&proposal.identity.to_string()).expect("64 hex digits");
    let toolchain = searcher.fingerprint(&plan.target).expect("words");
    let candidate = proposal.candidate(&toolchain, &Provenance::new(generator, identity).to_string());
    searcher.submit(plan, None, candidate, &mut Silent).expect("it compiles or does not")
}

/// What becomes of it in a run, and the line that is named.
fn built(searcher: &Searcher, plan: &Plan, source: &str) -> (Outcome, Option<u32>) {
    let mut log = Log::new(Start {
        version: run_log::VERSION,
        run: RunId::parse("lines").expect("a name"),
        kernel: plan.spec.name.to_string(),
        target: plan.target.to_string(),
        key: plan.key.to_string(),
        strategy: "submitted".to_owned(),
        prompts: prompt::VERSION,
        kit: Digest(kit::digest()),
        gate: 8,
        settings: Default::default(),
        bank: Vec::new(),
        experience: None,
    });
    let content = answers::read(plan, &log, None, source);
    assert!(matches!(content, Content::Kernel(_)), "{content:?}");
    let (by, text) = ("a test".to_owned(), source.to_owned());
    let at = log.push(Entry::Candidate(Candidate::new(None, by, text, content)));
    let verdict = searcher.build(plan, &log, at).expect("it compiles or does not");
    (verdict.outcome, verdict.facts.diagnostics.first().and_then(|said| said.line))
}
