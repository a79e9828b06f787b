//! `docs/cookbook.md` and `docs/templates.md`: every block is read, what the line under it says of templates is what
//! `check` says, and naive kernels compute what `expected` does, from the inputs alone, in plain loops.

mod expected;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use cutegen_tests::safetensors::{Contents, read};
use cutegen_tests::{Ran, cutegen, install_toolchain, must, run, scratch, workspace, write};
use expected::{Given, Tensor};

/// The pages, from the workspace's root.
const PAGES: [&str; 2] = ["docs/cookbook.md", "docs/templates.md"];

/// A block and the line under it, with the page and line that a failure names.
struct Shown {
    place: String,
    spec: String,
    claim: String,
}

/// Every block of TOML of a page.
fn blocks(page: &str, text: &str) -> Vec<Shown> {
    let mut shown = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        if line != "```toml" {
            continue;
        }
        let spec: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        let claim = lines.by_ref().map(|(_, line)| line).find(|line| !line.is_empty()).unwrap_or_default();
        let place = format!("{page}:{}", at + 1);
        shown.push(Shown { place, spec: spec.join("\n"), claim: claim.to_owned() });
    }
    shown
}

fn shown() -> Vec<Shown> {
    let text = |page: &str| std::fs::read_to_string(workspace().join(page)).expect("the page");
    PAGES.iter().flat_map(|page| blocks(page, &text(page))).collect()
}

/// The kernel of a block; a block has one.
fn kernel(spec: &str) -> &str {
    let names: Vec<&str> = spec.lines().filter_map(|line| line.strip_prefix("[kernels.")).collect();
    let [name] = names[..] else { panic!("one kernel a block: {spec}") };
    name.trim_end_matches(']')
}

/// What a page says of a kernel that has a template on these of its two targets.
fn claim(on_device: bool, on_host: bool) -> String {
    let word = |has: bool| if has { "template" } else { "naive" };
    let first = if on_device { "Template" } else { "Naive" };
    format!("{first} on `sm_90a`, {} on `host`.", word(on_host))
}

/// A library of blocks, a file each.
struct Library {
    folder: PathBuf,
}

impl Library {
    fn new(name: &str, shown: &[Shown]) -> Self {
        let library = Library { folder: scratch(name) };
        for block in shown {
            let file = library.folder.join("specs").join(format!("{}.toml", kernel(&block.spec)));
            assert!(!file.exists(), "{}: a second kernel of that name", block.place);
            write(&file, &block.spec);
        }
        write(&library.folder.join("cache/README.md"), "for a lock and a store\n");
        library
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = cutegen(&workspace().join("target/suite/cookbook-home"));
        let [specs, cache] = ["specs", "cache"].map(|name| self.folder.join(name));
        command.args(args).arg("--specs").arg(specs).arg("--cache").arg(cache);
        command
    }

    /// What `check` says of each kernel: whether a template fills it on the device, and on the host.
    fn filled(&self) -> BTreeMap<String, [bool; 2]> {
        let checked: Ran = run(&mut self.command(&["check", "--json"]));
        let mut filled: BTreeMap<String, [bool; 2]> = BTreeMap::new();
        for line in checked.stdout.lines() {
            let row: serde_json::Value = serde_json::from_str(line).expect("a JSON value a line");
            let (Some(name), Some(target)) = (row["kernel"].as_str(), row["target"].as_str()) else {
                continue;
            };
            let has = row["why-general"].is_null() && row["why-unfilled"].is_null();
            filled.entry(name.to_owned()).or_default()[usize::from(target.starts_with("host"))] = has;
        }
        filled
    }

    /// Inputs and outputs of the naive kernel at these extents, on inputs that the command draws.
    fn naive(&self, name: &str, args: &[&str]) -> [Contents; 2] {
        let files = ["in", "out"].map(|end| self.folder.join(format!("{name}.{end}.safetensors")));
        let [given, out] = files.each_ref().map(|file| file.to_str().expect("a path in UTF-8"));
        let fixed = ["--target", "host", "--with", "naive", "--random", "7"];
        let into = ["--keep-inputs", given, "--out", out];
        must(self.command(&["run", name]).args(fixed).args(into).args(args));
        files.each_ref().map(|file| read(file))
    }
}

/// All blocks, locked for the host once.
fn locked() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        install_toolchain();
        let library = Library::new("cookbook-locked", &shown());
        must(&mut library.command(&["lock", "--target", "host"]));
        library
    })
}

/// Blocks whose line is not what `check` says of them.
fn wrong(name: &str, shown: &[Shown]) -> Vec<String> {
    let filled = Library::new(name, shown).filled();
    let said = |block: &Shown| {
        let found = filled.get(kernel(&block.spec)).map(|[on_device, on_host]| claim(*on_device, *on_host));
        (found.as_deref() != Some(&block.claim))
            .then(|| format!("{}: `{}`, and it is {found:?}", block.place, block.claim))
    };
    shown.iter().filter_map(said).collect()
}

#[test]
fn each_block_has_the_templates_that_its_page_says() {
    let shown = shown();
    assert!(shown.len() > 20, "only {} blocks: are they looked for as they are written?", shown.len());
    let found = wrong("cookbook-claims", &shown);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_wrong_line_under_a_block_is_found() {
    let mut shown = shown();
    shown.truncate(2);
    shown[0].claim = claim(false, true);
    shown[1].spec = shown[1].spec.replace("softmax(s,", "softmax(z,");
    let found = wrong("cookbook-planted", &shown);
    assert_eq!(found.len(), 2, "{found:?}");
}

/// Compares every output of the naive kernel with what is expected of its inputs, within this share.
fn compare(name: &str, args: &[&str], share: f64, expected: impl Fn(&Given) -> Vec<(&'static str, Tensor)>) {
    let [given, out] = locked().naive(name, args).map(Given::from);
    let expected = expected(&given);
    let mut compared = 0;
    for (output, wanted) in &expected {
        let found = &out[output];
        assert_eq!(found.shape, wanted.shape, "{name}: {output}");
        for (at, (found, wanted)) in found.values.iter().zip(&wanted.values).enumerate() {
            let near = (found - wanted).abs() <= share * wanted.abs() + 1e-6;
            assert!(near, "{name}: {output} at {at}: {found}, not {wanted}");
            compared += 1;
        }
    }
    assert!(
        compared > 0 && expected.len() == out.len(),
        "{name}: {} of {} outputs",
        expected.len(),
        out.len()
    );
}

/// Shares of a value: an f32 computation of a few hundred terms, and one stored as bf16.
const F32: f64 = 1e-4;
const BF16: f64 = 1.0 / 128.0;

#[test]
fn softmaxes() {
    compare("causal_softmax", &["--axes", "b=2,s=7", "--scalar", "scale=0.5"], F32, expected::causal_softmax);
    compare("length_softmax", &["--axes", "b=5,s=19"], F32, expected::length_softmax);
    compare("bounded_softmax", &["--axes", "b=5,s=19"], F32, expected::length_softmax);
}

#[test]
fn top_k() {
    compare("top2", &["--axes", "m=33"], F32, expected::top2);
}

#[test]
fn rotations() {
    compare("rope", &["--axes", "t=3,p=11"], BF16, expected::rope);
    compare("rope_pairs", &["--axes", "t=3,p=11"], BF16, expected::rope_pairs);
}

#[test]
fn pages() {
    compare("paged_append", &["--axes", "t=5,pages=16"], 0.0, expected::paged_append);
    compare("paged_gather", &["--axes", "b=3,n=2,pages=9"], 0.0, expected::paged_gather);
}

#[test]
fn blocks_of_gguf() {
    compare("dequant_q8_0", &["--axes", "n=2"], F32, expected::dequant_q8_0);
    compare("dequant_q4_0", &["--axes", "n=2"], F32, expected::dequant_q4_0);
    compare("unpack_u4", &["--axes", "n=2"], F32, expected::unpack_u4);
}

#[test]
fn parts_of_qkv() {
    compare("q_norm", &["--axes", "t=3"], BF16, expected::q_norm);
    compare("kv_split", &["--axes", "t=3"], BF16, expected::kv_split);
}

#[test]
fn restated_math() {
    compare("causal_max_bounded", &["--axes", "s=17"], 0.0, expected::causal_max);
    compare("causal_max_masked", &["--axes", "s=17"], 0.0, expected::causal_max);
    compare("cumsum_columns", &["--axes", "m=5"], F32, expected::cumsum_columns);
    compare("count_positive", &["--axes", "m=5"], 0.0, expected::count_positive);
}
