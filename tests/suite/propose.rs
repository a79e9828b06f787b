//! `propose` as its users meet it: a kernel written by hand goes from a file to a verdict, a wrong one is told why, and what is
//! accepted is what `accept` brings into the package.

use std::path::PathBuf;

use cutegen_tests::{Ran, cutegen, install_toolchain, run, scratch, write};
use serde_json::Value;

pub(crate) const SPEC: &str = r#"
edition = 1
[kernels.squares]
axes = { m = "1..=512", k = "8..=512" }
inputs = { x = "f32[m, k]" }
outputs = { y = "f32[m]" }
math = "y[m] = sum(k, x[m, k] * x[m, k])"
workloads = [{ m = 512, k = 512 }]
targets = ["host"]
"#;

/// Sums of squares of rows, in so many lanes; the loop begins at the first element.
pub(crate) const SOURCE: &str = r#"// contract:
// steps = [{ entry = "@ENTRY@", args = ["ptr(x)", "ptr(y)", "axis(m)", "axis(k)"] }]
#include <cstdint>
extern "C" __attribute__((visibility("default"), externally_visible)) void @ENTRY@(void** params) {
  const float* x = *static_cast<const float**>(params[0]);
  float* y = *static_cast<float**>(params[1]);
  const int64_t m = *static_cast<const int64_t*>(params[2]), k = *static_cast<const int64_t*>(params[3]);
  for (int64_t i = 0; i < m; ++i) {
    float lanes[32] = {}, sum = 0;
    const float* row = x + i * k;
    int64_t at = 0;
    for (; at + 32 <= k; at += 32)
      for (int lane = 0; lane < 32; ++lane) lanes[lane] += row[at + lane] * row[at + lane];
    for (; at < k; ++at) sum += row[at] * row[at];
    for (int lane = 0; lane < 32; ++lane) sum += lanes[lane];
    y[i] = sum;
  }
}
"#;

/// Everything that it printed.
fn all(ran: &Ran) -> String {
    format!("{}\n{}", ran.stdout, ran.stderr)
}

/// What its search had compiled, and what the cache answered.
fn compiles(ran: &Ran) -> [Option<u64>; 2] {
    let lines = ran.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut ranked = lines.filter(|line| line["event"] == "ranked").map(|mut line| line["compiles"].take());
    let compiles = ranked.next_back().unwrap_or_default();
    ["made", "cached"].map(|count| compiles[count].as_u64())
}

struct Library {
    folder: PathBuf,
}

impl Library {
    fn new(name: &str) -> Self {
        install_toolchain();
        let folder = scratch(name);
        write(&folder.join("specs/squares.toml"), SPEC);
        Self { folder }
    }

    fn command(&self, args: &[&str]) -> Ran {
        let mut command = cutegen(&self.folder.join("home"));
        command.current_dir(&self.folder).args(args).args(["--specs", "specs", "--cache", "cache"]);
        run(&mut command)
    }

    fn propose(&self, text: &str) -> (Ran, Value) {
        let (ran, mut verdicts) = self.propose_points(text);
        (ran, verdicts.pop().unwrap_or(Value::Null))
    }

    /// A verdict a point.
    fn propose_points(&self, text: &str) -> (Ran, Vec<Value>) {
        write(&self.folder.join("reply.md"), text);
        let ran = self.command(&["propose", "squares", "--source", "reply.md", "--by", "a test", "--json"]);
        let lines = ran.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let verdicts = lines.filter(|line| line.get("verdict").is_some()).collect();
        (ran, verdicts)
    }
}

#[test]
fn a_kernel_by_hand_goes_from_a_file_to_the_package() {
    let library = Library::new("propose-accepted");
    let (ran, verdict) = library.propose(&format!("Here it is:\n\n```cpp\n{SOURCE}```\n"));
    assert_eq!((ran.code, verdict["verdict"].as_str()), (Some(0), Some("accepted")), "{}", all(&ran));
    let name = verdict["candidate"].as_str().expect("a name").to_owned();
    assert!(
        name.starts_with("m-") && verdict["speedup"].as_f64().is_some_and(|times| times > 1.01),
        "{verdict}"
    );
    assert_eq!(
        compiles(&ran),
        [Some(1), Some(1)],
        "the naive kernel; what was submitted had been compiled before"
    );
    let digest = library.is_accepted_by_digest(&name);
    let explained = library.command(&["explain", "squares"]);
    let lines = [
        "   came as       submitted\n".to_owned(),
        "   by            a test\n".to_owned(),
        format!("   identity      {}", &name["m-".len()..]),
        format!("   source        sha256 {digest}\n"),
    ];
    for line in lines {
        assert!(explained.stdout.contains(&line), "no {line} in\n{}", all(&explained));
    }
    library.is_checked_by_digest(&name, &digest);
    is_checked_by_metadata(&library, &name, &digest);
    let rebuilt = library.command(&["verify", "--rebuild"]);
    assert_eq!(rebuilt.code, Some(0), "what is stored needs no kit: {}", all(&rebuilt));
}

impl Library {
    /// `accept` shows the source and asks for its digest, by which it takes the kernel; the digest.
    fn is_accepted_by_digest(&self, name: &str) -> String {
        let refused = self.command(&["accept", "squares"]);
        assert_eq!(refused.code, Some(1), "{}", all(&refused));
        assert!(refused.stdout.contains("for (; at + 32 <= k; at += 32)\n"), "{}", all(&refused));
        let told = "no template wrote this host source";
        assert!(refused.stderr.contains(told) && refused.stderr.contains("by a test"), "{}", all(&refused));
        let next = refused.stderr.lines().find_map(|line| {
            line.strip_prefix("run: cargo cutegen accept squares --target host --host-source ")
        });
        let digest = next.and_then(|rest| rest.strip_suffix(" --specs specs --cache cache"));
        let digest = digest.unwrap_or_else(|| panic!("no command in {}", all(&refused))).to_owned();
        let wrong = format!("{:064x}", 7);
        for args in [&["accept"][..], &["accept", "squares", "--host-source", &wrong]] {
            let refused = self.command(args);
            assert_eq!(refused.code, Some(1), "{}", all(&refused));
        }
        assert!(!self.folder.join("cutegen.lock").exists() && !self.folder.join("cache").exists());
        let short = self.command(&["accept", "squares", "--host-source", &digest[..15]]);
        assert_eq!(short.code, Some(2), "{}", all(&short));
        let accepted = self.command(&["accept", "squares", "--host-source", &digest[..16]]);
        assert!(accepted.code == Some(0) && accepted.stdout.contains(name), "{}", all(&accepted));
        let told = format!("cargo cutegen check --host-source {digest} --specs specs --cache cache");
        assert!(accepted.stderr.contains(&told), "{}", all(&accepted));
        digest
    }

    /// A folder of specs has no metadata: its digests come on the command line.
    fn is_checked_by_digest(&self, name: &str, digest: &str) {
        let next = format!("run: cargo cutegen check --host-source {digest} --specs specs --cache cache");
        for args in [&["check"][..], &["check", "--host-source", "0123456789abcdef"]] {
            let failed = self.command(args);
            assert_eq!(failed.code, Some(1), "{}", all(&failed));
            let told = ["no template wrote this host source", name, next.as_str()];
            told.iter()
                .for_each(|told| assert!(failed.stderr.contains(told), "no {told} in\n{}", all(&failed)));
        }
        for digest in [digest, &digest[..16]] {
            let passed = self.command(&["check", "--host-source", digest]);
            assert_eq!(passed.code, Some(0), "{}", all(&passed));
        }
    }
}

/// A package lists the digests in its metadata; the line to add is the one that `check` prints.
fn is_checked_by_metadata(library: &Library, name: &str, digest: &str) {
    let package = scratch("propose-package");
    let kernel = SPEC.replace("edition = 1\n", "").replace("[kernels.", "[package.metadata.kernels.");
    let sets = |line: &str| {
        let head = "[package]\nname = \"squares\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        let settings = format!("[package.metadata.cutegen]\ntargets = [\"host\"]\n{line}\n");
        write(&package.join("Cargo.toml"), &format!("{head}{settings}{kernel}"));
    };
    let command = |args: &[&str]| {
        let mut command = cutegen(&library.folder.join("home"));
        run(command.current_dir(&package).args(args))
    };
    sets("");
    let flag = command(&["check", "--host-source", digest]);
    assert_eq!(flag.code, Some(2), "a package lists them itself: {}", all(&flag));
    assert_eq!(command(&["accept", "squares"]).code, Some(1));
    let line = format!("  host-sources = [\"{digest}\"]\n");
    let accepted = command(&["accept", "squares", "--host-source", digest]);
    assert!(accepted.code == Some(0) && accepted.stderr.contains(&line), "{}", all(&accepted));
    let failed = command(&["check"]);
    assert_eq!(failed.code, Some(1), "{}", all(&failed));
    for told in ["no template wrote this host source", name, digest, &line] {
        assert!(failed.stderr.contains(told), "no {told} in\n{}", all(&failed));
    }
    let other = "0123456789abcdef";
    sets(&format!("host-sources = [\"{other}\"]"));
    let failed = command(&["check"]);
    let both = format!("  host-sources = [\"{other}\", \"{digest}\"]\n");
    assert!(failed.code == Some(1) && failed.stderr.contains(&both), "{}", all(&failed));
    sets(both.trim());
    let passed = command(&["check"]);
    assert_eq!(passed.code, Some(0), "{}", all(&passed));
    // what is listed needs no flag
    for made in ["cutegen.lock", "cutegen-store"] {
        let made = package.join(made);
        if made.is_dir() { std::fs::remove_dir_all(made) } else { std::fs::remove_file(made) }
            .expect("removed");
    }
    let again = command(&["accept", "squares"]);
    assert!(again.code == Some(0) && !again.stderr.contains("host-sources"), "{}", all(&again));
}

/// The sums in `LANES` lanes, of which the first `FIRST` are left out.
fn swept(sweeps: &str) -> String {
    let body = SOURCE.replace("32", "LANES").replace(
        "int lane = 0; lane < LANES; ++lane) lanes",
        "int lane = FIRST; lane < LANES; ++lane) lanes",
    );
    body.replace("#include", &format!("{sweeps}#include"))
}

#[test]
fn points_of_a_sweep_are_judged_in_one_search() {
    let library = Library::new("propose-sweep");
    let sweeps = "// sweep: LANES = 1 | 32\n// sweep: FIRST = 0 | 1\n";
    let (ran, verdicts) = library.propose_points(&format!("```cpp\n{}```\n", swept(sweeps)));
    assert_eq!(ran.code, Some(0), "{}", all(&ran));
    let points: Vec<_> = verdicts.iter().map(|v| (&v["point"]["LANES"], &v["point"]["FIRST"])).collect();
    assert_eq!(
        points,
        [(&1.into(), &0.into()), (&1.into(), &1.into()), (&32.into(), &0.into()), (&32.into(), &1.into())]
    );
    let words: Vec<&str> = verdicts.iter().filter_map(|verdict| verdict["verdict"].as_str()).collect();
    assert_eq!(words, ["too-slow", "wrong", "accepted", "wrong"], "{}", all(&ran));
    assert_eq!(verdicts[0]["reason"], "right, and another point is faster");
    let name = verdicts[2]["candidate"].as_str().expect("a name");
    let refused = library.command(&["accept", "squares"]);
    assert!(refused.stdout.contains("constexpr int LANES = 32;\n"), "{}", all(&refused));
    assert!(all(&refused).contains(name), "{}", all(&refused));
}

#[test]
fn values_of_a_sweep_are_extents_that_are_judged() {
    let library = Library::new("propose-sweep-edge");
    // 131 and 389 are no extents that a judge would try for a reason of its own
    let wrong = swept("// sweep: LANES = 32\n// sweep: FIRST = 0\n// sweep: EDGE = 131 | 389\n")
        .replace("y[i] = sum;", "y[i] = k == EDGE ? 0 : sum;");
    let (ran, verdicts) = library.propose_points(&wrong);
    assert_eq!(ran.code, Some(1), "{}", all(&ran));
    let words: Vec<&str> = verdicts.iter().filter_map(|verdict| verdict["verdict"].as_str()).collect();
    assert_eq!(words, ["wrong", "wrong"], "{}", all(&ran));
    assert!(ran.stderr.contains("none of 2 points is accepted"), "{}", all(&ran));
}

#[test]
fn what_is_wrong_is_told_and_nothing_is_accepted() {
    let library = Library::new("propose-wrong");
    let told = |from: &str, to: &str| {
        assert!(SOURCE.contains(from), "{from}");
        let (ran, verdict) = library.propose(&format!("```\n{}```\n", SOURCE.replacen(from, to, 1)));
        assert_eq!(ran.code, Some(1), "{}", all(&ran));
        (all(&ran), verdict)
    };
    // a compiler's line is that of the reply: line 1 is the fence
    let (said, verdict) = told("float lanes[32] = {}, sum = 0;", "float lanes[32] = {}, sum = zero;");
    assert_eq!(verdict["diagnostics"][0]["line"], 10, "{said}");
    let (said, verdict) = told("#include <cstdint>", "#include <fstream>");
    assert_eq!(
        (verdict["verdict"].as_str(), verdict["diagnostics"][0]["line"].as_u64()),
        (Some("refused"), Some(4)),
        "{said}"
    );
    let (said, verdict) = told("for (; at < k; ++at) sum", "for (; at < k - 1; ++at) sum");
    assert_eq!(verdict["verdict"], "wrong", "{said}");
    let (said, verdict) = told("ptr(x)", "ptr(z)");
    assert!(said.contains("line 3: `ptr(z)` is no argument") && verdict.is_null(), "{said}");
    let explained = library.command(&["explain", "squares"]);
    assert!(!all(&explained).contains("submitted"), "{}", all(&explained));
}

#[test]
fn a_prompt_is_written_for_who_is_to_answer() {
    let library = Library::new("propose-prompt");
    let ran = library.command(&["propose", "squares", "--prompt", "prompt.md"]);
    assert!(ran.ok, "{}", all(&ran));
    let prompt = std::fs::read_to_string(library.folder.join("prompt.md")).expect("a prompt");
    for told in [
        "y[m] = sum(k, x[m, k] * x[m, k])",
        "axis m = 1..=512",
        "void @ENTRY@(void** params)",
        "kit/host.hpp",
    ] {
        assert!(prompt.contains(told), "no {told} in\n{prompt}");
    }
}
